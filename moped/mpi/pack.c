// SPDX-License-Identifier: Apache-2.0 OR MIT
// Between a buffer of a datatype and its packed form.

#include "internal.h"

// The block of the datatype that holds byte `offset` of its packed form.
static int block_at(const struct mb_type *type, size_t offset)
{
    int low = 0, high = type->blocks - 1;
    while (low < high) {
        const int middle = (low + high + 1) / 2;
        if (type->block[middle].before <= offset) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

static void move(const struct mb_type *type, size_t count, unsigned char *buffer, size_t position,
                 unsigned char *packed, size_t bytes, int is_packing)
{
    if (bytes == 0) return;
    if (mb_is_contiguous(type, count)) {
        unsigned char *at = buffer + type->block[0].at + position;
        memcpy(is_packing ? packed : at, is_packing ? at : packed, bytes);
        return;
    }
    size_t element = position / type->size, offset = position % type->size;
    int k = block_at(type, offset);
    offset -= type->block[k].before;
    while (bytes > 0) {
        const struct mb_block *block = &type->block[k];
        const size_t rest = block->bytes - offset, n = rest < bytes ? rest : bytes;
        unsigned char *at = buffer + (ptrdiff_t)element * mb_extent(type) + block->at + (ptrdiff_t)offset;
        memcpy(is_packing ? packed : at, is_packing ? at : packed, n);
        packed += n;
        bytes -= n;
        offset = 0;
        if (++k == type->blocks) {
            k = 0;
            element++;
        }
    }
}

void mb_pack(const struct mb_type *type, size_t count, const void *buffer, size_t position, void *to, size_t bytes)
{
    move(type, count, (unsigned char *)buffer, position, to, bytes, 1);
}

void mb_unpack(const struct mb_type *type, size_t count, void *buffer, size_t position, const void *from, size_t bytes)
{
    move(type, count, buffer, position, (unsigned char *)from, bytes, 0);
}

void mb_copy(const void *from, size_t from_count, const struct mb_type *from_type, void *to, size_t to_count,
             const struct mb_type *to_type)
{
    const size_t room = to_count * to_type->size;
    size_t bytes = from_count * from_type->size;
    if (bytes > room) bytes = room;
    if (bytes == 0) return;
    if (mb_is_contiguous(from_type, from_count)) {
        mb_unpack(to_type, to_count, to, 0, mb_first(from_type, (void *)from), bytes);
    } else if (mb_is_contiguous(to_type, to_count)) {
        mb_pack(from_type, from_count, from, 0, mb_first(to_type, to), bytes);
    } else {
        unsigned char *packed = mb_allocate(bytes);
        mb_pack(from_type, from_count, from, 0, packed, bytes);
        mb_unpack(to_type, to_count, to, 0, packed, bytes);
        free(packed);
    }
}

void *mb_temporary(const struct mb_type *type, size_t count, void **base)
{
    const ptrdiff_t extent = mb_extent(type) > 0 ? mb_extent(type) : -mb_extent(type);
    const ptrdiff_t shift = mb_extent(type) < 0 && count > 0 ? (ptrdiff_t)(count - 1) * extent : 0;
    // Zeroed: gaps are copied by some operations of users.
    *base = mb_allocate_zeroed(count * (size_t)extent + (size_t)(type->true_ub - type->true_lb));
    return (unsigned char *)*base - type->true_lb + shift;
}

// Complete basic elements in the first `bytes` of the packed form; -1 if the last one is not complete.
MPI_Count mb_elements(const struct mb_type *type, size_t bytes)
{
    if (type->size == 0) return 0;
    MPI_Count per_type = 0, elements = 0;
    for (int k = 0; k < type->blocks; k++)
        per_type += (MPI_Count)(type->block[k].bytes / type->block[k].element);
    elements = (MPI_Count)(bytes / type->size) * per_type;
    size_t rest = bytes % type->size;
    for (int k = 0; rest > 0; k++) {
        const size_t n = rest < type->block[k].bytes ? rest : type->block[k].bytes;
        if (n % type->block[k].element != 0) return -1;
        elements += (MPI_Count)(n / type->block[k].element);
        rest -= n;
    }
    return elements;
}

int MPI_Pack_size(int count, MPI_Datatype type, MPI_Comm comm, int *bytes)
{
    MB_CHECK_COMM(c, comm);
    MB_CHECK_TYPE(t, type, c);
    MB_CHECK_COUNT(count, c);
    *bytes = (int)((size_t)count * t->size);
    return MPI_SUCCESS;
}

int MPI_Pack(const void *from, int count, MPI_Datatype type, void *to, int bytes, int *position, MPI_Comm comm)
{
    MB_CHECK_COMM(c, comm);
    MB_CHECK_TYPE(t, type, c);
    MB_CHECK_COUNT(count, c);
    const size_t n = (size_t)count * t->size;
    if (*position < 0 || n > (size_t)bytes || (size_t)*position > (size_t)bytes - n)
        return mb_fail(c, __func__, MPI_ERR_TRUNCATE, "%zu bytes at %d do not fit into %d", n, *position, bytes);
    mb_pack(t, (size_t)count, from, 0, (unsigned char *)to + *position, n);
    *position += (int)n;
    return MPI_SUCCESS;
}

int MPI_Unpack(const void *from, int bytes, int *position, void *to, int count, MPI_Datatype type, MPI_Comm comm)
{
    MB_CHECK_COMM(c, comm);
    MB_CHECK_TYPE(t, type, c);
    MB_CHECK_COUNT(count, c);
    const size_t n = (size_t)count * t->size;
    if (*position < 0 || n > (size_t)bytes || (size_t)*position > (size_t)bytes - n)
        return mb_fail(c, __func__, MPI_ERR_TRUNCATE, "%zu bytes at %d are not in %d", n, *position, bytes);
    mb_unpack(t, (size_t)count, to, 0, (const unsigned char *)from + *position, n);
    *position += (int)n;
    return MPI_SUCCESS;
}
