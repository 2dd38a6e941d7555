// SPDX-License-Identifier: Apache-2.0 OR MIT
// Groups: lists of ranks in MPI_COMM_WORLD.

#include "internal.h"

struct mb_group *mb_group_new(int size)
{
    struct mb_group *group = mb_allocate_zeroed(sizeof *group + (size_t)size * sizeof group->world[0]);
    group->size = size;
    group->refs = 1;
    return group;
}

int mb_rank_of(const struct mb_group *group, int world)
{
    for (int i = 0; i < group->size; i++) {
        if (group->world[i] == world) return i;
    }
    return MPI_UNDEFINED;
}

struct mb_group *mb_group_finish(struct mb_group *group)
{
    group->rank = mb_rank_of(group, mb.rank);
    group->handle = mb_add_handle(MB_GROUP, group);
    return group;
}

void mb_group_release(struct mb_group *group)
{
    if (group == mb.empty || --group->refs > 0) return;
    mb_remove_handle(group->handle);
    free(group);
}

// Of a group with at most `size` members that was filled so far: the handle, MPI_GROUP_EMPTY if it is empty.
static MPI_Group made_of(struct mb_group *group, int size)
{
    group->size = size;
    if (size > 0) return mb_group_finish(group)->handle;
    free(group);
    return MPI_GROUP_EMPTY;
}

int MPI_Group_size(MPI_Group group, int *size)
{
    MB_CHECK_GROUP(g, group);
    *size = g->size;
    return MPI_SUCCESS;
}

int MPI_Group_rank(MPI_Group group, int *rank)
{
    MB_CHECK_GROUP(g, group);
    *rank = g->rank;
    return MPI_SUCCESS;
}

int MPI_Group_translate_ranks(MPI_Group group, int count, const int ranks[], MPI_Group other, int translated[])
{
    MB_CHECK_GROUP(g, group);
    MB_CHECK_GROUP(o, other);
    for (int i = 0; i < count; i++) {
        if (ranks[i] != MPI_PROC_NULL && (ranks[i] < 0 || ranks[i] >= g->size))
            return mb_fail(NULL, __func__, MPI_ERR_RANK, "rank %d; expected 0 to %d", ranks[i], g->size - 1);
        translated[i] = ranks[i] == MPI_PROC_NULL ? MPI_PROC_NULL : mb_rank_of(o, g->world[ranks[i]]);
    }
    return MPI_SUCCESS;
}

int MPI_Group_compare(MPI_Group a, MPI_Group b, int *result)
{
    MB_CHECK_GROUP(x, a);
    MB_CHECK_GROUP(y, b);
    *result = x->size == y->size ? MPI_IDENT : MPI_UNEQUAL;
    for (int i = 0; i < x->size && *result != MPI_UNEQUAL; i++) {
        const int there = mb_rank_of(y, x->world[i]);
        if (there == MPI_UNDEFINED) {
            *result = MPI_UNEQUAL;
        } else if (there != i) {
            *result = MPI_SIMILAR;
        }
    }
    return MPI_SUCCESS;
}

int MPI_Group_union(MPI_Group a, MPI_Group b, MPI_Group *made)
{
    MB_CHECK_GROUP(x, a);
    MB_CHECK_GROUP(y, b);
    struct mb_group *group = mb_group_new(x->size + y->size);
    int n = x->size;
    for (int i = 0; i < n; i++)
        group->world[i] = x->world[i];
    for (int i = 0; i < y->size; i++) {
        if (mb_rank_of(x, y->world[i]) == MPI_UNDEFINED) group->world[n++] = y->world[i];
    }
    *made = made_of(group, n);
    return MPI_SUCCESS;
}

// The members of `x` that are in `y`, or that are not.
static MPI_Group filter(const struct mb_group *x, const struct mb_group *y, int wanted)
{
    struct mb_group *group = mb_group_new(x->size);
    int n = 0;
    for (int i = 0; i < x->size; i++) {
        if ((mb_rank_of(y, x->world[i]) != MPI_UNDEFINED) == wanted) group->world[n++] = x->world[i];
    }
    return made_of(group, n);
}

int MPI_Group_intersection(MPI_Group a, MPI_Group b, MPI_Group *made)
{
    MB_CHECK_GROUP(x, a);
    MB_CHECK_GROUP(y, b);
    *made = filter(x, y, 1);
    return MPI_SUCCESS;
}

int MPI_Group_difference(MPI_Group a, MPI_Group b, MPI_Group *made)
{
    MB_CHECK_GROUP(x, a);
    MB_CHECK_GROUP(y, b);
    *made = filter(x, y, 0);
    return MPI_SUCCESS;
}

// How often each rank is listed; NULL after an error, which `*error` has.
static int *count_ranks(const char *call, const struct mb_group *group, int count, const int *ranks, int *error)
{
    int *listed = mb_allocate_zeroed((size_t)group->size * sizeof *listed);
    *error = MPI_SUCCESS;
    for (int i = 0; i < count && *error == MPI_SUCCESS; i++) {
        if (ranks[i] < 0 || ranks[i] >= group->size || listed[ranks[i]]++ > 0)
            *error = mb_fail(NULL, call, MPI_ERR_RANK, "rank %d; expected each of 0 to %d at most once", ranks[i],
                             group->size - 1);
    }
    if (*error == MPI_SUCCESS) return listed;
    free(listed);
    return NULL;
}

int MPI_Group_incl(MPI_Group group, int count, const int ranks[], MPI_Group *made)
{
    MB_CHECK_GROUP(g, group);
    int error, *listed = count_ranks(__func__, g, count, ranks, &error);
    if (listed == NULL) return error;
    struct mb_group *chosen = mb_group_new(count);
    for (int i = 0; i < count; i++)
        chosen->world[i] = g->world[ranks[i]];
    *made = made_of(chosen, count);
    free(listed);
    return MPI_SUCCESS;
}

int MPI_Group_excl(MPI_Group group, int count, const int ranks[], MPI_Group *made)
{
    MB_CHECK_GROUP(g, group);
    int error, *listed = count_ranks(__func__, g, count, ranks, &error), n = 0;
    if (listed == NULL) return error;
    struct mb_group *rest = mb_group_new(g->size);
    for (int i = 0; i < g->size; i++) {
        if (listed[i] == 0) rest->world[n++] = g->world[i];
    }
    *made = made_of(rest, n);
    free(listed);
    return MPI_SUCCESS;
}

static int in_range(int rank, const int range[3])
{
    return range[2] > 0 ? rank <= range[1] : rank >= range[1];
}

static int expand(int count, int ranges[][3], int capacity, int *ranks)
{
    int n = 0;
    for (int i = 0; i < count; i++) {
        if (ranges[i][2] == 0) return -1;
        for (int rank = ranges[i][0]; in_range(rank, ranges[i]); rank += ranges[i][2]) {
            if (n == capacity) return -1;
            ranks[n++] = rank;
        }
    }
    return n;
}

static int by_ranges(const char *call, MPI_Group group, int count, int ranges[][3], MPI_Group *made,
                     int (*make)(MPI_Group, int, const int *, MPI_Group *))
{
    struct mb_group *g = mb_get(group, MB_GROUP);
    if (g == NULL) return mb_fail(NULL, call, MPI_ERR_GROUP, "handle 0x%x; expected a group", (unsigned)group);
    int *ranks = mb_allocate((size_t)g->size * sizeof *ranks);
    const int n = expand(count, ranges, g->size, ranks);
    const int error = n < 0 ? mb_fail(NULL, call, MPI_ERR_ARG, "the ranges have stride 0 or more than %d ranks",
                                      g->size)
                            : make(group, n, ranks, made);
    free(ranks);
    return error;
}

int MPI_Group_range_incl(MPI_Group group, int count, int ranges[][3], MPI_Group *made)
{
    return by_ranges(__func__, group, count, ranges, made, MPI_Group_incl);
}

int MPI_Group_range_excl(MPI_Group group, int count, int ranges[][3], MPI_Group *made)
{
    return by_ranges(__func__, group, count, ranges, made, MPI_Group_excl);
}

int MPI_Group_free(MPI_Group *group)
{
    MB_CHECK_GROUP(g, *group);
    mb_group_release(g);
    *group = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}
