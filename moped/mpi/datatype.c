// SPDX-License-Identifier: Apache-2.0 OR MIT
// Basic datatypes, sizes and extents.

#include <complex.h>
#include <stdbool.h>

#include "classes.h"
#include "datatype.h"

#define WHOLE(handle, c, type) {handle, #handle, MB_CLASS_##c, sizeof(type), sizeof(type), 0, 0}
#define SIGNED(handle, type) {handle, #handle, INTEGER_SIGNED, sizeof(type), sizeof(type), 0, 0}
#define UNSIGNED(handle, type) {handle, #handle, INTEGER_UNSIGNED, sizeof(type), sizeof(type), 0, 0}
#define COMPLEX(handle, c, part)                                                                                       \
    {handle, #handle, MB_CLASS_COMPLEX_##c, 2 * sizeof(part), sizeof(part), 0, 0}
#define PAIR(handle, c, type, value_type, index_type)                                                                  \
    {handle, #handle, MB_CLASS_##c, sizeof(type), sizeof(value_type), sizeof(index_type), offsetof(type, index)}

enum { INTEGER_SIGNED = -1, INTEGER_UNSIGNED = -2 };

static const struct basic {
    MPI_Datatype handle;
    const char *name;
    int class;
    size_t extent, element;
    size_t second, second_at; // of a pair
} basics[] = {
    SIGNED(MPI_CHAR, char),
    SIGNED(MPI_SIGNED_CHAR, signed char),
    UNSIGNED(MPI_UNSIGNED_CHAR, unsigned char),
    WHOLE(MPI_BYTE, BYTE, char),
    WHOLE(MPI_WCHAR, NONE, wchar_t),
    SIGNED(MPI_SHORT, short),
    UNSIGNED(MPI_UNSIGNED_SHORT, unsigned short),
    SIGNED(MPI_INT, int),
    UNSIGNED(MPI_UNSIGNED, unsigned),
    SIGNED(MPI_LONG, long),
    UNSIGNED(MPI_UNSIGNED_LONG, unsigned long),
    SIGNED(MPI_LONG_LONG, long long),
    UNSIGNED(MPI_UNSIGNED_LONG_LONG, unsigned long long),
    WHOLE(MPI_FLOAT, FLOAT, float),
    WHOLE(MPI_DOUBLE, DOUBLE, double),
    WHOLE(MPI_LONG_DOUBLE, LONG_DOUBLE, long double),
    WHOLE(MPI_PACKED, NONE, char),
    SIGNED(MPI_INT8_T, int8_t),
    SIGNED(MPI_INT16_T, int16_t),
    SIGNED(MPI_INT32_T, int32_t),
    SIGNED(MPI_INT64_T, int64_t),
    UNSIGNED(MPI_UINT8_T, uint8_t),
    UNSIGNED(MPI_UINT16_T, uint16_t),
    UNSIGNED(MPI_UINT32_T, uint32_t),
    UNSIGNED(MPI_UINT64_T, uint64_t),
    WHOLE(MPI_C_BOOL, BOOL, bool),
    COMPLEX(MPI_C_FLOAT_COMPLEX, FLOAT, float),
    COMPLEX(MPI_C_DOUBLE_COMPLEX, DOUBLE, double),
    COMPLEX(MPI_C_LONG_DOUBLE_COMPLEX, LONG_DOUBLE, long double),
    SIGNED(MPI_AINT, MPI_Aint),
    SIGNED(MPI_COUNT, MPI_Count),
    SIGNED(MPI_OFFSET, MPI_Offset),
    WHOLE(MPI_CXX_BOOL, BOOL, bool),
    COMPLEX(MPI_CXX_FLOAT_COMPLEX, FLOAT, float),
    COMPLEX(MPI_CXX_DOUBLE_COMPLEX, DOUBLE, double),
    COMPLEX(MPI_CXX_LONG_DOUBLE_COMPLEX, LONG_DOUBLE, long double),
    PAIR(MPI_FLOAT_INT, FLOAT_INT, struct mb_float_int, float, int),
    PAIR(MPI_DOUBLE_INT, DOUBLE_INT, struct mb_double_int, double, int),
    PAIR(MPI_LONG_INT, LONG_INT, struct mb_long_int, long, int),
    PAIR(MPI_2INT, 2INT, struct mb_2int, int, int),
    PAIR(MPI_SHORT_INT, SHORT_INT, struct mb_short_int, short, int),
    PAIR(MPI_LONG_DOUBLE_INT, LONG_DOUBLE_INT, struct mb_long_double_int, long double, int),
    WHOLE(MPI_CHARACTER, NONE, char),
    WHOLE(MPI_LOGICAL, LOGICAL, int),
    SIGNED(MPI_INTEGER, int),
    WHOLE(MPI_REAL, FLOAT, float),
    WHOLE(MPI_DOUBLE_PRECISION, DOUBLE, double),
    COMPLEX(MPI_COMPLEX, FLOAT, float),
    COMPLEX(MPI_DOUBLE_COMPLEX, DOUBLE, double),
    SIGNED(MPI_INTEGER1, int8_t),
    SIGNED(MPI_INTEGER2, int16_t),
    SIGNED(MPI_INTEGER4, int32_t),
    SIGNED(MPI_INTEGER8, int64_t),
    WHOLE(MPI_REAL4, FLOAT, float),
    WHOLE(MPI_REAL8, DOUBLE, double),
    // No C type of the host has the format of this one on all machines: it is moved, not computed with.
    {MPI_REAL16, "MPI_REAL16", MB_CLASS_NONE, 16, 16, 0, 0},
    COMPLEX(MPI_COMPLEX8, FLOAT, float),
    COMPLEX(MPI_COMPLEX16, DOUBLE, double),
    PAIR(MPI_2INTEGER, 2INT, struct mb_2int, int, int),
    PAIR(MPI_2REAL, 2FLOAT, struct mb_2float, float, float),
    PAIR(MPI_2DOUBLE_PRECISION, 2DOUBLE, struct mb_2double, double, double),
};
enum { BASICS = sizeof basics / sizeof *basics };

struct mb_type *mb_type_new(void)
{
    struct mb_type *type = mb_allocate_zeroed(sizeof *type);
    type->refs = 1;
    type->align = 1;
    return type;
}

static void append_block(struct mb_type *type, ptrdiff_t at, size_t bytes, size_t element)
{
    if (bytes == 0) return;
    struct mb_block *last = type->blocks > 0 ? &type->block[type->blocks - 1] : NULL;
    if (last != NULL && last->element == element && last->at + (ptrdiff_t)last->bytes == at) {
        last->bytes += bytes;
    } else {
        if (type->blocks == type->capacity) {
            type->capacity = type->capacity ? 2 * type->capacity : 2;
            struct mb_block *more = mb_allocate((size_t)type->capacity * sizeof *more);
            if (type->blocks > 0) memcpy(more, type->block, (size_t)type->blocks * sizeof *more);
            free(type->block);
            type->block = more;
        }
        type->block[type->blocks++] = (struct mb_block){at, bytes, element, type->size};
    }
    type->size += bytes;
}

void mb_type_append(struct mb_type *type, const struct mb_type *old, ptrdiff_t at, size_t count)
{
    const ptrdiff_t extent = mb_extent(old);
    if (count == 0) return;
    if (old->is_dense) {
        append_block(type, at + old->block[0].at, count * old->size, old->block[0].element);
    } else {
        for (size_t i = 0; i < count; i++) {
            for (int k = 0; k < old->blocks; k++)
                append_block(type, at + (ptrdiff_t)i * extent + old->block[k].at, old->block[k].bytes,
                             old->block[k].element);
        }
    }
    const ptrdiff_t span = (ptrdiff_t)(count - 1) * extent;
    const ptrdiff_t low = at + old->lb + (span < 0 ? span : 0), high = at + old->ub + (span > 0 ? span : 0);
    if (!type->is_bounded || low < type->lb) type->lb = low;
    if (!type->is_bounded || high > type->ub) type->ub = high;
    type->is_bounded = 1;
    if (old->align > type->align) type->align = old->align;
}

MPI_Datatype mb_type_finish(struct mb_type *type)
{
    type->true_lb = type->true_ub = 0;
    for (int i = 0; i < type->blocks; i++) {
        const ptrdiff_t low = type->block[i].at, high = low + (ptrdiff_t)type->block[i].bytes;
        if (i == 0 || low < type->true_lb) type->true_lb = low;
        if (i == 0 || high > type->true_ub) type->true_ub = high;
    }
    type->is_dense = type->blocks == 1 && (ptrdiff_t)type->size == mb_extent(type);
    return type->handle = mb_add_handle(MB_TYPE, type);
}

void mb_type_release(struct mb_type *type)
{
    if (type->is_predefined || --type->refs > 0) return;
    mb_remove_handle(type->handle);
    free(type->block);
    free(type);
}

static int class_of(const struct basic *basic)
{
    if (basic->class != INTEGER_SIGNED && basic->class != INTEGER_UNSIGNED) return basic->class;
    const int is_signed = basic->class == INTEGER_SIGNED;
    switch (basic->extent) {
        case 1: return is_signed ? MB_CLASS_INT8 : MB_CLASS_UINT8;
        case 2: return is_signed ? MB_CLASS_INT16 : MB_CLASS_UINT16;
        case 4: return is_signed ? MB_CLASS_INT32 : MB_CLASS_UINT32;
        default: return is_signed ? MB_CLASS_INT64 : MB_CLASS_UINT64;
    }
}

void mb_types_start(void)
{
    mb_reserve_handles(MB_TYPE, BASICS + 1);
    for (int i = 0; i < BASICS; i++) {
        const struct basic *basic = &basics[i];
        struct mb_type *type = mb_type_new();
        type->is_predefined = 1;
        type->class = class_of(basic);
        append_block(type, 0, basic->second ? basic->element : basic->extent, basic->element);
        if (basic->second) append_block(type, (ptrdiff_t)basic->second_at, basic->second, basic->second);
        type->ub = (ptrdiff_t)basic->extent;
        type->true_ub = basic->second ? (ptrdiff_t)(basic->second_at + basic->second) : type->ub;
        type->align = basic->element;
        type->is_dense = type->blocks == 1;
        type->handle = basic->handle;
        snprintf(type->name, sizeof type->name, "%s", basic->name);
        mb_set_handle(basic->handle, type);
    }
}

int MPI_Type_commit(MPI_Datatype *type)
{
    MB_CHECK_TYPE(t, *type, NULL);
    return MPI_SUCCESS;
}

int MPI_Type_free(MPI_Datatype *type)
{
    MB_CHECK_TYPE(t, *type, NULL);
    if (t->is_predefined) return mb_fail(NULL, __func__, MPI_ERR_TYPE, "%s; expected a derived datatype", t->name);
    mb_type_release(t);
    *type = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}

int MPI_Type_size(MPI_Datatype type, int *size)
{
    MB_CHECK_TYPE(t, type, NULL);
    *size = t->size > 0x7fffffff ? MPI_UNDEFINED : (int)t->size;
    return MPI_SUCCESS;
}

int MPI_Type_size_x(MPI_Datatype type, MPI_Count *size)
{
    MB_CHECK_TYPE(t, type, NULL);
    *size = (MPI_Count)t->size;
    return MPI_SUCCESS;
}

int MPI_Type_get_extent(MPI_Datatype type, MPI_Aint *lb, MPI_Aint *extent)
{
    MB_CHECK_TYPE(t, type, NULL);
    *lb = t->lb;
    *extent = mb_extent(t);
    return MPI_SUCCESS;
}

int MPI_Type_get_true_extent(MPI_Datatype type, MPI_Aint *lb, MPI_Aint *extent)
{
    MB_CHECK_TYPE(t, type, NULL);
    *lb = t->true_lb;
    *extent = t->true_ub - t->true_lb;
    return MPI_SUCCESS;
}

int MPI_Type_extent(MPI_Datatype type, MPI_Aint *extent)
{
    MPI_Aint lb;
    return MPI_Type_get_extent(type, &lb, extent);
}

int MPI_Type_lb(MPI_Datatype type, MPI_Aint *lb)
{
    MPI_Aint extent;
    return MPI_Type_get_extent(type, lb, &extent);
}

int MPI_Type_ub(MPI_Datatype type, MPI_Aint *ub)
{
    MB_CHECK_TYPE(t, type, NULL);
    *ub = t->ub;
    return MPI_SUCCESS;
}

int MPI_Type_set_name(MPI_Datatype type, const char *name)
{
    MB_CHECK_TYPE(t, type, NULL);
    snprintf(t->name, sizeof t->name, "%s", name);
    return MPI_SUCCESS;
}

int MPI_Type_get_name(MPI_Datatype type, char *name, int *length)
{
    MB_CHECK_TYPE(t, type, NULL);
    *length = snprintf(name, MPI_MAX_OBJECT_NAME, "%s", t->name);
    return MPI_SUCCESS;
}
