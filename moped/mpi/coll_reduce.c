// SPDX-License-Identifier: Apache-2.0 OR MIT
// Reductions. Operands keep the order of ranks: a op b has a from the lower rank, as operations that
// do not commute require.

#include "coll.h"

// `mine` has the operand of this rank and later the result; `other` is room for another operand.
// Binomial tree to rank 0.
static int reduce_to_first(unsigned char *mine, unsigned char *other, size_t count, struct mb_type *type,
                           struct mb_op *op, struct mb_comm *comm)
{
    for (int bit = 1; bit < comm->size; bit *= 2) {
        if (comm->rank & bit) return mb_coll_send(mine, count, type, comm->rank - bit, MB_TAG_REDUCE, comm);
        if (comm->rank + bit >= comm->size) continue;
        const int error = mb_coll_recv(other, count, type, comm->rank + bit, MB_TAG_REDUCE, comm);
        if (error != MPI_SUCCESS) return error;
        // mine op other; the operation leaves its result in its second operand.
        mb_apply(op, mine, other, count, type);
        mb_copy(other, count, type, mine, count, type);
    }
    return MPI_SUCCESS;
}

static int reduce(const void *sent, void *received, size_t count, struct mb_type *type, struct mb_op *op, int root,
                  struct mb_comm *comm)
{
    void *mine_base, *other_base;
    unsigned char *mine = mb_temporary(type, count, &mine_base), *other = mb_temporary(type, count, &other_base);
    mb_copy(sent == MPI_IN_PLACE ? received : sent, count, type, mine, count, type);
    int error = MPI_SUCCESS;
    if (op->commutes) {
        // The tree with the root in the place of rank 0 saves the last message.
        const int relative = (comm->rank - root + comm->size) % comm->size;
        int bit = 1;
        for (; bit < comm->size && !(relative & bit) && error == MPI_SUCCESS; bit *= 2) {
            if (relative + bit >= comm->size) continue;
            error = mb_coll_recv(other, count, type, (relative + bit + root) % comm->size, MB_TAG_REDUCE, comm);
            if (error == MPI_SUCCESS) mb_apply(op, other, mine, count, type);
        }
        if (relative != 0 && error == MPI_SUCCESS)
            error = mb_coll_send(mine, count, type, (relative - bit + root) % comm->size, MB_TAG_REDUCE, comm);
    } else {
        error = reduce_to_first(mine, other, count, type, op, comm);
        if (error == MPI_SUCCESS && root != 0) {
            if (comm->rank == 0) error = mb_coll_send(mine, count, type, root, MB_TAG_REDUCE, comm);
            if (comm->rank == root) error = mb_coll_recv(mine, count, type, 0, MB_TAG_REDUCE, comm);
        }
    }
    if (comm->rank == root) mb_copy(mine, count, type, received, count, type);
    free(mine_base);
    free(other_base);
    return error;
}

// Recursive doubling. With a number of ranks that is no power of two, the first ranks work in pairs.
int mb_allreduce(const void *sent, void *received, size_t count, struct mb_type *type, struct mb_op *op,
                 struct mb_comm *comm)
{
    if (!op->commutes) {
        const int error = reduce(sent, received, count, type, op, 0, comm);
        return error != MPI_SUCCESS ? error : mb_bcast(received, count, type, 0, comm);
    }
    if (sent != MPI_IN_PLACE) mb_copy(sent, count, type, received, count, type);
    void *base;
    unsigned char *other = mb_temporary(type, count, &base);
    int power = 1, error = MPI_SUCCESS;
    while (2 * power <= comm->size)
        power *= 2;
    const int pairs = comm->size - power, rank = comm->rank;
    int position = rank < 2 * pairs ? rank / 2 : rank - pairs;
    if (rank < 2 * pairs && rank % 2 == 0) {
        error = mb_coll_send(received, count, type, rank + 1, MB_TAG_REDUCE, comm);
        position = -1;
    } else if (rank < 2 * pairs) {
        error = mb_coll_recv(other, count, type, rank - 1, MB_TAG_REDUCE, comm);
        if (error == MPI_SUCCESS) mb_apply(op, other, received, count, type);
    }
    for (int bit = 1; bit < power && position >= 0 && error == MPI_SUCCESS; bit *= 2) {
        const int there = position ^ bit, peer = there < pairs ? 2 * there + 1 : there + pairs;
        error = mb_coll_sendrecv(received, count, type, peer, other, count, type, peer, MB_TAG_REDUCE, comm);
        if (error == MPI_SUCCESS) mb_apply(op, other, received, count, type);
    }
    if (rank < 2 * pairs && error == MPI_SUCCESS) {
        error = rank % 2 == 0 ? mb_coll_recv(received, count, type, rank + 1, MB_TAG_REDUCE, comm)
                              : mb_coll_send(received, count, type, rank - 1, MB_TAG_REDUCE, comm);
    }
    free(base);
    return error;
}

// Checks the arguments of a reduction.
static int check(const char *call, MPI_Comm comm, int count, MPI_Datatype type, MPI_Op op, struct mb_comm **c,
                 struct mb_type **t, struct mb_op **o)
{
    const int error = mb_coll_check(call, comm, c);
    if (error != MPI_SUCCESS) return error;
    *t = mb_get(type, MB_TYPE);
    *o = mb_get(op, MB_OP);
    if (count < 0) return mb_fail(*c, call, MPI_ERR_COUNT, "count %d; expected at least 0", count);
    if (*t == NULL) return mb_fail(*c, call, MPI_ERR_TYPE, "handle 0x%x; expected a datatype", (unsigned)type);
    if (*o == NULL) return mb_fail(*c, call, MPI_ERR_OP, "handle 0x%x; expected an operation", (unsigned)op);
    if (!mb_op_accepts(*o, *t))
        return mb_fail(*c, call, MPI_ERR_OP, "the operation is not defined for %s",
                       (*t)->name[0] ? (*t)->name : "a derived datatype");
    return MPI_SUCCESS;
}

int MPI_Reduce(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
{
    struct mb_comm *c;
    struct mb_type *t;
    struct mb_op *o;
    int error = check(__func__, comm, count, type, op, &c, &t, &o);
    if (error == MPI_SUCCESS) error = mb_coll_check_root(__func__, c, root);
    if (error != MPI_SUCCESS) return error;
    return mb_coll_result(__func__, c, reduce(sent, received, (size_t)count, t, o, root, c));
}

int MPI_Allreduce(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    struct mb_comm *c;
    struct mb_type *t;
    struct mb_op *o;
    const int error = check(__func__, comm, count, type, op, &c, &t, &o);
    if (error != MPI_SUCCESS) return error;
    return mb_coll_result(__func__, c, mb_allreduce(sent, received, (size_t)count, t, o, c));
}

// Recursive doubling: `partial` has the operands of this rank and `bit - 1` or fewer lower ones.
static int scan(const void *sent, void *received, size_t count, struct mb_type *type, struct mb_op *op,
                struct mb_comm *comm, int is_exclusive)
{
    void *partial_base, *other_base, *result_base;
    unsigned char *partial = mb_temporary(type, count, &partial_base), *other = mb_temporary(type, count, &other_base);
    unsigned char *result = mb_temporary(type, count, &result_base);
    mb_copy(sent == MPI_IN_PLACE ? received : sent, count, type, partial, count, type);
    int has_result = !is_exclusive, error = MPI_SUCCESS;
    if (has_result) mb_copy(partial, count, type, result, count, type);
    for (int bit = 1; bit < comm->size && error == MPI_SUCCESS; bit *= 2) {
        const int to = comm->rank + bit < comm->size ? comm->rank + bit : MPI_PROC_NULL;
        const int from = comm->rank >= bit ? comm->rank - bit : MPI_PROC_NULL;
        error = mb_coll_sendrecv(partial, count, type, to, other, count, type, from, MB_TAG_SCAN, comm);
        if (error != MPI_SUCCESS || from == MPI_PROC_NULL) continue;
        mb_apply(op, other, partial, count, type);
        if (has_result) {
            mb_apply(op, other, result, count, type);
        } else {
            mb_copy(other, count, type, result, count, type);
            has_result = 1;
        }
    }
    if (has_result) mb_copy(result, count, type, received, count, type);
    free(partial_base);
    free(other_base);
    free(result_base);
    return error;
}

int MPI_Scan(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    struct mb_comm *c;
    struct mb_type *t;
    struct mb_op *o;
    const int error = check(__func__, comm, count, type, op, &c, &t, &o);
    if (error != MPI_SUCCESS) return error;
    return mb_coll_result(__func__, c, scan(sent, received, (size_t)count, t, o, c, 0));
}

int MPI_Exscan(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    struct mb_comm *c;
    struct mb_type *t;
    struct mb_op *o;
    const int error = check(__func__, comm, count, type, op, &c, &t, &o);
    if (error != MPI_SUCCESS) return error;
    return mb_coll_result(__func__, c, scan(sent, received, (size_t)count, t, o, c, 1));
}

// Pairwise exchange: in step k each rank sends the block of the rank k further on, and reduces its own.
// Operations that do not commute are reduced to rank 0 and scattered.
static int reduce_scatter(const void *sent, void *received, const int *counts, struct mb_type *type, struct mb_op *op,
                          struct mb_comm *comm)
{
    size_t *first = mb_allocate((size_t)(comm->size + 1) * sizeof *first);
    first[0] = 0;
    for (int i = 0; i < comm->size; i++)
        first[i + 1] = first[i] + (size_t)counts[i];
    const size_t mine = (size_t)counts[comm->rank], total = first[comm->size];
    void *base;
    int error = MPI_SUCCESS;
    // The operands may lie in the buffer of the result.
    unsigned char *all = mb_temporary(type, total, &base);
    mb_copy(sent == MPI_IN_PLACE ? received : sent, total, type, all, total, type);
    if (op->commutes) {
        void *other_base, *result_base;
        unsigned char *other = mb_temporary(type, mine, &other_base), *result = mb_temporary(type, mine, &result_base);
        mb_copy(mb_element(all, type, (ptrdiff_t)first[comm->rank]), mine, type, result, mine, type);
        for (int k = 1; k < comm->size && error == MPI_SUCCESS; k++) {
            const int to = (comm->rank + k) % comm->size, from = (comm->rank - k + comm->size) % comm->size;
            error = mb_coll_sendrecv(mb_element(all, type, (ptrdiff_t)first[to]), (size_t)counts[to], type, to, other,
                                     mine, type, from, MB_TAG_REDUCE, comm);
            if (error == MPI_SUCCESS) mb_apply(op, other, result, mine, type);
        }
        mb_copy(result, mine, type, received, mine, type);
        free(other_base);
        free(result_base);
    } else {
        error = reduce(MPI_IN_PLACE, all, total, type, op, 0, comm);
        for (int i = 1; i < comm->size && comm->rank == 0 && error == MPI_SUCCESS; i++)
            error = mb_coll_send(mb_element(all, type, (ptrdiff_t)first[i]), (size_t)counts[i], type, i, MB_TAG_SCATTER,
                                 comm);
        if (comm->rank == 0) {
            mb_copy(all, mine, type, received, mine, type);
        } else if (error == MPI_SUCCESS) {
            error = mb_coll_recv(received, mine, type, 0, MB_TAG_SCATTER, comm);
        }
    }
    free(base);
    free(first);
    return error;
}

int MPI_Reduce_scatter(const void *sent, void *received, const int counts[], MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm)
{
    struct mb_comm *c;
    struct mb_type *t;
    struct mb_op *o;
    const int error = check(__func__, comm, 0, type, op, &c, &t, &o);
    if (error != MPI_SUCCESS) return error;
    for (int i = 0; i < c->size; i++)
        MB_CHECK_COUNT(counts[i], c);
    return mb_coll_result(__func__, c, reduce_scatter(sent, received, counts, t, o, c));
}

int MPI_Reduce_scatter_block(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    struct mb_comm *c;
    struct mb_type *t;
    struct mb_op *o;
    const int error = check(__func__, comm, count, type, op, &c, &t, &o);
    if (error != MPI_SUCCESS) return error;
    int *counts = mb_allocate((size_t)c->size * sizeof *counts);
    for (int i = 0; i < c->size; i++)
        counts[i] = count;
    const int result = reduce_scatter(sent, received, counts, t, o, c);
    free(counts);
    return mb_coll_result(__func__, c, result);
}
