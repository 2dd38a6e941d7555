// SPDX-License-Identifier: Apache-2.0 OR MIT
// Tables of objects and memory.

#include "internal.h"

struct mb_state mb;
struct mb_table mb_table[MB_KINDS];

void *mb_allocate(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    if (memory == NULL) mb_panic("out of memory: %zu bytes are needed", bytes);
    return memory;
}

void *mb_allocate_zeroed(size_t bytes)
{
    return memset(mb_allocate(bytes), 0, bytes);
}

static void grow(struct mb_table *table, int capacity)
{
    void **item = mb_allocate((size_t)capacity * sizeof *item);
    int *free_index = mb_allocate((size_t)capacity * sizeof *free_index);
    memset(item, 0, (size_t)capacity * sizeof *item);
    if (table->capacity > 0) memcpy(item, table->item, (size_t)table->capacity * sizeof *item);
    // The lowest index is used first.
    for (int i = capacity - 1; i >= table->capacity; i--)
        free_index[table->frees++] = i;
    free(table->item);
    free(table->free_index);
    table->item = item;
    table->free_index = free_index;
    table->capacity = capacity;
}

// Keeps the first `count` indices for predefined objects.
void mb_reserve_handles(int kind, int count)
{
    struct mb_table *table = &mb_table[kind];
    grow(table, 2 * count + 16);
    table->frees -= count;
}

int mb_add_handle(int kind, void *object)
{
    struct mb_table *table = &mb_table[kind];
    if (table->frees == 0) {
        if (table->capacity > MB_INDEX_MASK / 2) mb_panic("more than %d objects of one kind", MB_INDEX_MASK / 2);
        grow(table, 2 * table->capacity);
    }
    const int index = table->free_index[--table->frees];
    table->item[index] = object;
    return kind << MB_KIND_SHIFT | index;
}

void mb_remove_handle(int handle)
{
    struct mb_table *table = &mb_table[handle >> MB_KIND_SHIFT];
    table->item[handle & MB_INDEX_MASK] = NULL;
    table->free_index[table->frees++] = handle & MB_INDEX_MASK;
}

void mb_set_handle(int handle, void *object)
{
    mb_table[handle >> MB_KIND_SHIFT].item[handle & MB_INDEX_MASK] = object;
}
