// SPDX-License-Identifier: Apache-2.0 OR MIT
// Reduction operations.

#include <complex.h>
#include <stdbool.h>

#include "classes.h"
#include "internal.h"

typedef void function(const void *in, void *inout, size_t count);

#define FUNCTION(name, type, expression)                                                                               \
    static void name(const void *in, void *inout, size_t count)                                                        \
    {                                                                                                                  \
        const type *x = in;                                                                                            \
        type *y = inout;                                                                                               \
        for (size_t i = 0; i < count; i++) {                                                                           \
            const type a = x[i], b = y[i];                                                                             \
            y[i] = (type)(expression);                                                                                 \
        }                                                                                                              \
    }

#define ORDER(name, type)                                                                                              \
    FUNCTION(max_##name, type, a > b ? a : b)                                                                          \
    FUNCTION(min_##name, type, a < b ? a : b)
#define ARITHMETIC(name, type, computed)                                                                               \
    FUNCTION(sum_##name, type, (computed)a + (computed)b)                                                              \
    FUNCTION(prod_##name, type, (computed)a *(computed)b)
#define LOGIC(name, type)                                                                                              \
    FUNCTION(land_##name, type, a && b)                                                                                \
    FUNCTION(lor_##name, type, a || b)                                                                                 \
    FUNCTION(lxor_##name, type, !a != !b)
#define BITS(name, type)                                                                                               \
    FUNCTION(band_##name, type, a &b)                                                                                  \
    FUNCTION(bor_##name, type, a | b)                                                                                  \
    FUNCTION(bxor_##name, type, a ^ b)
// Sums and products wrap around: they are computed without a sign.
#define INTEGER(name, type)                                                                                            \
    ORDER(name, type) ARITHMETIC(name, type, uint64_t) LOGIC(name, type) BITS(name, type)
#define REAL(name, type) ORDER(name, type) ARITHMETIC(name, type, type)
// The lower index of equal values.
#define LOCATION(name, type)                                                                                           \
    static void maxloc_##name(const void *in, void *inout, size_t count)                                               \
    {                                                                                                                  \
        const type *x = in;                                                                                            \
        type *y = inout;                                                                                               \
        for (size_t i = 0; i < count; i++) {                                                                           \
            const int is_equal = x[i].value == y[i].value;                                                             \
            if (x[i].value > y[i].value || (is_equal && x[i].index < y[i].index)) y[i] = x[i];                         \
        }                                                                                                              \
    }                                                                                                                  \
    static void minloc_##name(const void *in, void *inout, size_t count)                                               \
    {                                                                                                                  \
        const type *x = in;                                                                                            \
        type *y = inout;                                                                                               \
        for (size_t i = 0; i < count; i++) {                                                                           \
            const int is_equal = x[i].value == y[i].value;                                                             \
            if (x[i].value < y[i].value || (is_equal && x[i].index < y[i].index)) y[i] = x[i];                         \
        }                                                                                                              \
    }

INTEGER(int8, int8_t)
INTEGER(int16, int16_t)
INTEGER(int32, int32_t)
INTEGER(int64, int64_t)
INTEGER(uint8, uint8_t)
INTEGER(uint16, uint16_t)
INTEGER(uint32, uint32_t)
INTEGER(uint64, uint64_t)
LOGIC(bool, bool)
REAL(float, float)
REAL(double, double)
REAL(long_double, long double)
ARITHMETIC(complex_float, float complex, float complex)
ARITHMETIC(complex_double, double complex, double complex)
ARITHMETIC(complex_long_double, long double complex, long double complex)
LOCATION(float_int, struct mb_float_int)
LOCATION(double_int, struct mb_double_int)
LOCATION(long_int, struct mb_long_int)
LOCATION(2int, struct mb_2int)
LOCATION(short_int, struct mb_short_int)
LOCATION(long_double_int, struct mb_long_double_int)
LOCATION(2float, struct mb_2float)
LOCATION(2double, struct mb_2double)

enum { MAX, MIN, SUM, PROD, LAND, BAND, LOR, BOR, LXOR, BXOR, MINLOC, MAXLOC, REPLACE, NO_OP, PREDEFINED };

#define INTEGER_ROW(name)                                                                                              \
    {max_##name, min_##name, sum_##name, prod_##name, land_##name, band_##name, lor_##name, bor_##name, lxor_##name,   \
     bxor_##name}
#define REAL_ROW(name) {[MAX] = max_##name, [MIN] = min_##name, [SUM] = sum_##name, [PROD] = prod_##name}
#define COMPLEX_ROW(name) {[SUM] = sum_##name, [PROD] = prod_##name}
#define LOCATION_ROW(name) {[MINLOC] = minloc_##name, [MAXLOC] = maxloc_##name}

static function *const functions[MB_CLASSES][PREDEFINED] = {
    [MB_CLASS_BYTE] = {[BAND] = band_uint8, [BOR] = bor_uint8, [BXOR] = bxor_uint8},
    [MB_CLASS_INT8] = INTEGER_ROW(int8),
    [MB_CLASS_INT16] = INTEGER_ROW(int16),
    [MB_CLASS_INT32] = INTEGER_ROW(int32),
    [MB_CLASS_INT64] = INTEGER_ROW(int64),
    [MB_CLASS_UINT8] = INTEGER_ROW(uint8),
    [MB_CLASS_UINT16] = INTEGER_ROW(uint16),
    [MB_CLASS_UINT32] = INTEGER_ROW(uint32),
    [MB_CLASS_UINT64] = INTEGER_ROW(uint64),
    [MB_CLASS_BOOL] = {[LAND] = land_bool, [LOR] = lor_bool, [LXOR] = lxor_bool},
    [MB_CLASS_LOGICAL] = {[LAND] = land_int32, [LOR] = lor_int32, [LXOR] = lxor_int32},
    [MB_CLASS_FLOAT] = REAL_ROW(float),
    [MB_CLASS_DOUBLE] = REAL_ROW(double),
    [MB_CLASS_LONG_DOUBLE] = REAL_ROW(long_double),
    [MB_CLASS_COMPLEX_FLOAT] = COMPLEX_ROW(complex_float),
    [MB_CLASS_COMPLEX_DOUBLE] = COMPLEX_ROW(complex_double),
    [MB_CLASS_COMPLEX_LONG_DOUBLE] = COMPLEX_ROW(complex_long_double),
    [MB_CLASS_FLOAT_INT] = LOCATION_ROW(float_int),
    [MB_CLASS_DOUBLE_INT] = LOCATION_ROW(double_int),
    [MB_CLASS_LONG_INT] = LOCATION_ROW(long_int),
    [MB_CLASS_2INT] = LOCATION_ROW(2int),
    [MB_CLASS_SHORT_INT] = LOCATION_ROW(short_int),
    [MB_CLASS_LONG_DOUBLE_INT] = LOCATION_ROW(long_double_int),
    [MB_CLASS_2FLOAT] = LOCATION_ROW(2float),
    [MB_CLASS_2DOUBLE] = LOCATION_ROW(2double),
};

void mb_ops_start(void)
{
    mb_reserve_handles(MB_OP, PREDEFINED + 1);
    for (int i = 0; i < PREDEFINED; i++) {
        struct mb_op *op = mb_allocate_zeroed(sizeof *op);
        op->refs = 1;
        op->commutes = i != REPLACE && i != NO_OP;
        op->predefined = i + 1;
        op->handle = MPI_MAX + i;
        mb_set_handle(op->handle, op);
    }
}

int mb_op_accepts(const struct mb_op *op, const struct mb_type *type)
{
    if (op->predefined == 0 || op->predefined - 1 >= REPLACE) return 1;
    return functions[type->class][op->predefined - 1] != NULL;
}

int mb_apply(struct mb_op *op, const void *in, void *inout, size_t count, struct mb_type *type)
{
    if (op->predefined == 0) {
        int n = (int)count;
        MPI_Datatype handle = type->handle;
        op->function((void *)in, inout, &n, &handle);
    } else if (op->predefined - 1 == REPLACE) {
        mb_copy(in, count, type, inout, count, type);
    } else if (op->predefined - 1 != NO_OP) {
        functions[type->class][op->predefined - 1](in, inout, count);
    }
    return MPI_SUCCESS;
}

int MPI_Op_create(MPI_User_function *user, int commutes, MPI_Op *op)
{
    struct mb_op *made = mb_allocate_zeroed(sizeof *made);
    made->refs = 1;
    made->commutes = commutes != 0;
    made->function = user;
    *op = made->handle = mb_add_handle(MB_OP, made);
    return MPI_SUCCESS;
}

int MPI_Op_free(MPI_Op *op)
{
    MB_CHECK_OP(o, *op, NULL);
    if (o->predefined) return mb_fail(NULL, __func__, MPI_ERR_OP, "a predefined operation cannot be freed");
    mb_remove_handle(o->handle);
    free(o);
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
}

int MPI_Op_commutative(MPI_Op op, int *commutes)
{
    MB_CHECK_OP(o, op, NULL);
    *commutes = o->commutes;
    return MPI_SUCCESS;
}

int MPI_Reduce_local(const void *in, void *inout, int count, MPI_Datatype type, MPI_Op op)
{
    MB_CHECK_TYPE(t, type, NULL);
    MB_CHECK_OP(o, op, NULL);
    MB_CHECK_COUNT(count, NULL);
    if (!mb_op_accepts(o, t)) return mb_fail(NULL, __func__, MPI_ERR_OP, "the operation is not defined for %s",
                                             t->name);
    return mb_apply(o, in, inout, (size_t)count, t);
}
