// SPDX-License-Identifier: Apache-2.0 OR MIT
// Constructors of derived datatypes.

#include "datatype.h"

int MPI_Type_contiguous(int count, MPI_Datatype old, MPI_Datatype *made)
{
    MB_CHECK_TYPE(t, old, NULL);
    MB_CHECK_COUNT(count, NULL);
    struct mb_type *type = mb_type_new();
    mb_type_append(type, t, 0, (size_t)count);
    *made = mb_type_finish(type);
    return MPI_SUCCESS;
}

static int vector(const char *call, int count, int length, MPI_Aint stride, struct mb_type *old, MPI_Datatype *made)
{
    if (count < 0 || length < 0)
        return mb_fail(NULL, call, MPI_ERR_COUNT, "%d blocks of %d elements; expected at least 0", count, length);
    struct mb_type *type = mb_type_new();
    for (int i = 0; i < count; i++)
        mb_type_append(type, old, i * stride, (size_t)length);
    *made = mb_type_finish(type);
    return MPI_SUCCESS;
}

int MPI_Type_vector(int count, int length, int stride, MPI_Datatype old, MPI_Datatype *made)
{
    MB_CHECK_TYPE(t, old, NULL);
    return vector(__func__, count, length, stride * mb_extent(t), t, made);
}

int MPI_Type_create_hvector(int count, int length, MPI_Aint stride, MPI_Datatype old, MPI_Datatype *made)
{
    MB_CHECK_TYPE(t, old, NULL);
    return vector(__func__, count, length, stride, t, made);
}

// Displacements are in extents of the old datatype or, if that array is NULL, in bytes. Without lengths every
// block has `length`.
static int indexed(const char *call, int count, const int *lengths, int length, const int *displacements,
                   const MPI_Aint *byte_displacements, struct mb_type *old, MPI_Datatype *made)
{
    MB_CHECK_COUNT(count, NULL);
    struct mb_type *type = mb_type_new();
    for (int i = 0; i < count; i++) {
        const int n = lengths != NULL ? lengths[i] : length;
        if (n < 0) {
            free(type->block);
            free(type);
            return mb_fail(NULL, call, MPI_ERR_ARG, "block %d has length %d; expected at least 0", i, n);
        }
        const ptrdiff_t at = displacements != NULL ? displacements[i] * mb_extent(old) : byte_displacements[i];
        mb_type_append(type, old, at, (size_t)n);
    }
    *made = mb_type_finish(type);
    return MPI_SUCCESS;
}

int MPI_Type_indexed(int count, const int lengths[], const int displacements[], MPI_Datatype old, MPI_Datatype *made)
{
    MB_CHECK_TYPE(t, old, NULL);
    return indexed(__func__, count, lengths, 0, displacements, NULL, t, made);
}

int MPI_Type_create_hindexed(int count, const int lengths[], const MPI_Aint displacements[], MPI_Datatype old,
                             MPI_Datatype *made)
{
    MB_CHECK_TYPE(t, old, NULL);
    return indexed(__func__, count, lengths, 0, NULL, displacements, t, made);
}

int MPI_Type_create_indexed_block(int count, int length, const int displacements[], MPI_Datatype old,
                                  MPI_Datatype *made)
{
    MB_CHECK_TYPE(t, old, NULL);
    return indexed(__func__, count, NULL, length, displacements, NULL, t, made);
}

int MPI_Type_create_hindexed_block(int count, int length, const MPI_Aint displacements[], MPI_Datatype old,
                                   MPI_Datatype *made)
{
    MB_CHECK_TYPE(t, old, NULL);
    return indexed(__func__, count, NULL, length, NULL, displacements, t, made);
}

int MPI_Type_create_struct(int count, const int lengths[], const MPI_Aint displacements[], const MPI_Datatype types[],
                           MPI_Datatype *made)
{
    MB_CHECK_COUNT(count, NULL);
    for (int i = 0; i < count; i++) {
        MB_CHECK_TYPE(t, types[i], NULL);
        if (lengths[i] < 0)
            return mb_fail(NULL, __func__, MPI_ERR_ARG, "block %d has length %d; expected at least 0", i, lengths[i]);
    }
    struct mb_type *type = mb_type_new();
    for (int i = 0; i < count; i++)
        mb_type_append(type, mb_basic(types[i]), displacements[i], (size_t)lengths[i]);
    // The extent is padded as a C compiler pads a structure of the basic elements (MPI 3.1, 4.1.6).
    const ptrdiff_t align = (ptrdiff_t)type->align, rest = mb_extent(type) % align;
    if (rest != 0) type->ub += align - rest;
    *made = mb_type_finish(type);
    return MPI_SUCCESS;
}

int MPI_Type_create_resized(MPI_Datatype old, MPI_Aint lb, MPI_Aint extent, MPI_Datatype *made)
{
    MB_CHECK_TYPE(t, old, NULL);
    struct mb_type *type = mb_type_new();
    mb_type_append(type, t, 0, 1);
    type->lb = lb;
    type->ub = lb + extent;
    *made = mb_type_finish(type);
    return MPI_SUCCESS;
}

int MPI_Type_dup(MPI_Datatype old, MPI_Datatype *made)
{
    MB_CHECK_TYPE(t, old, NULL);
    struct mb_type *type = mb_type_new();
    mb_type_append(type, t, 0, 1);
    type->lb = t->lb;
    type->ub = t->ub;
    type->class = t->class;
    *made = mb_type_finish(type);
    return MPI_SUCCESS;
}

int MPI_Type_create_subarray(int dimensions, const int sizes[], const int subsizes[], const int starts[], int order,
                             MPI_Datatype old, MPI_Datatype *made)
{
    MB_CHECK_TYPE(t, old, NULL);
    if (dimensions < 1) return mb_fail(NULL, __func__, MPI_ERR_ARG, "%d dimensions; expected at least 1", dimensions);
    if (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN)
        return mb_fail(NULL, __func__, MPI_ERR_ARG, "order %d; expected MPI_ORDER_C or MPI_ORDER_FORTRAN", order);
    ptrdiff_t whole = mb_extent(t);
    for (int i = 0; i < dimensions; i++) {
        if (subsizes[i] < 1 || starts[i] < 0 || starts[i] > sizes[i] - subsizes[i])
            return mb_fail(NULL, __func__, MPI_ERR_ARG, "dimension %d: %d elements from %d on of %d", i, subsizes[i],
                           starts[i], sizes[i]);
        whole *= sizes[i];
    }
    // From the fastest dimension on: the datatype so far, repeated at the stride of the dimension.
    struct mb_type *part = mb_type_new();
    mb_type_append(part, t, 0, 1);
    mb_type_finish(part);
    ptrdiff_t stride = mb_extent(t), start = 0;
    for (int i = 0; i < dimensions; i++) {
        const int d = order == MPI_ORDER_C ? dimensions - 1 - i : i;
        struct mb_type *next = mb_type_new();
        for (int k = 0; k < subsizes[d]; k++)
            mb_type_append(next, part, k * stride, 1);
        start += starts[d] * stride;
        stride *= sizes[d];
        mb_type_finish(next);
        mb_type_release(part);
        part = next;
    }
    struct mb_type *type = mb_type_new();
    mb_type_append(type, part, start, 1);
    mb_type_release(part);
    type->lb = 0;
    type->ub = whole;
    *made = mb_type_finish(type);
    return MPI_SUCCESS;
}

int MPI_Type_hvector(int count, int length, MPI_Aint stride, MPI_Datatype old, MPI_Datatype *made)
{
    return MPI_Type_create_hvector(count, length, stride, old, made);
}

int MPI_Type_hindexed(int count, int lengths[], MPI_Aint displacements[], MPI_Datatype old, MPI_Datatype *made)
{
    return MPI_Type_create_hindexed(count, lengths, displacements, old, made);
}

int MPI_Type_struct(int count, int lengths[], MPI_Aint displacements[], MPI_Datatype types[], MPI_Datatype *made)
{
    return MPI_Type_create_struct(count, lengths, displacements, types, made);
}
