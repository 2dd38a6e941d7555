// SPDX-License-Identifier: Apache-2.0 OR MIT
// The three forms of MPI_Alltoall: pairwise exchange, in step k with the ranks k before and behind.

#include "coll.h"

// One block of each form.
struct block {
    const void *at;
    size_t count;
    struct mb_type *type;
};

// The arguments of one side.
struct side {
    const void *buffer;
    int count;
    const int *counts, *displacements;
    MPI_Datatype type;
    const MPI_Datatype *types; // displacements are in bytes
};

static struct block block_of(const struct side *side, int rank)
{
    struct block block = {side->buffer, (size_t)side->count, mb_get(side->types ? side->types[rank] : side->type,
                                                                    MB_TYPE)};
    if (block.type == NULL) return block;
    if (side->counts != NULL) block.count = (size_t)side->counts[rank];
    if (side->types != NULL) {
        block.at = (const unsigned char *)side->buffer + side->displacements[rank];
    } else {
        const ptrdiff_t index = side->counts != NULL ? side->displacements[rank] : (ptrdiff_t)rank * side->count;
        block.at = mb_element(side->buffer, block.type, index);
    }
    return block;
}

// The block of a rank is sent from a copy and then overwritten. Both ranks of a pair come to it in
// the same order: in step s those whose ranks sum to s, modulo their number.
static int exchange_in_place(const struct side *in, struct mb_comm *comm)
{
    int error = MPI_SUCCESS;
    for (int sum = 0; sum < comm->size && error == MPI_SUCCESS; sum++) {
        const int peer = (sum - comm->rank + comm->size) % comm->size;
        if (peer == comm->rank) continue;
        const struct block block = block_of(in, peer);
        const size_t bytes = block.count * block.type->size;
        unsigned char *copy = mb_allocate(bytes);
        mb_pack(block.type, block.count, block.at, 0, copy, bytes);
        error = mb_coll_sendrecv(copy, bytes, mb_basic(MPI_BYTE), peer, (void *)block.at, block.count, block.type, peer,
                                 MB_TAG_ALLTOALL, comm);
        free(copy);
    }
    return error;
}

static int exchange(const char *call, MPI_Comm comm, const struct side *out, const struct side *in)
{
    struct mb_comm *c;
    int error = mb_coll_check(call, comm, &c);
    if (error != MPI_SUCCESS) return error;
    const int is_in_place = out->buffer == MPI_IN_PLACE;
    for (int i = 0; i < c->size; i++) {
        const struct block received = block_of(in, i), sent = is_in_place ? received : block_of(out, i);
        if (received.type == NULL || sent.type == NULL)
            return mb_fail(c, call, MPI_ERR_TYPE, "no datatype for rank %d", i);
        if (received.count > 0x7fffffff || sent.count > 0x7fffffff)
            return mb_fail(c, call, MPI_ERR_COUNT, "the count for rank %d is negative", i);
    }
    if (is_in_place) return mb_coll_result(call, c, exchange_in_place(in, c));
    for (int k = 0; k < c->size && error == MPI_SUCCESS; k++) {
        const int to = (c->rank + k) % c->size, from = (c->rank - k + c->size) % c->size;
        const struct block sent = block_of(out, to), received = block_of(in, from);
        if (k == 0) {
            mb_copy(sent.at, sent.count, sent.type, (void *)received.at, received.count, received.type);
        } else {
            error = mb_coll_sendrecv(sent.at, sent.count, sent.type, to, (void *)received.at, received.count,
                                     received.type, from, MB_TAG_ALLTOALL, c);
        }
    }
    return mb_coll_result(call, c, error);
}

int MPI_Alltoall(const void *sent, int sent_count, MPI_Datatype sent_type, void *received, int received_count,
                 MPI_Datatype received_type, MPI_Comm comm)
{
    const struct side out = {.buffer = sent, .count = sent_count, .type = sent_type};
    const struct side in = {.buffer = received, .count = received_count, .type = received_type};
    return exchange(__func__, comm, &out, &in);
}

int MPI_Alltoallv(const void *sent, const int sent_counts[], const int sent_displacements[], MPI_Datatype sent_type,
                  void *received, const int received_counts[], const int received_displacements[],
                  MPI_Datatype received_type, MPI_Comm comm)
{
    const struct side out = {
        .buffer = sent, .counts = sent_counts, .displacements = sent_displacements, .type = sent_type};
    const struct side in = {
        .buffer = received, .counts = received_counts, .displacements = received_displacements, .type = received_type};
    return exchange(__func__, comm, &out, &in);
}

int MPI_Alltoallw(const void *sent, const int sent_counts[], const int sent_displacements[],
                  const MPI_Datatype sent_types[], void *received, const int received_counts[],
                  const int received_displacements[], const MPI_Datatype received_types[], MPI_Comm comm)
{
    const struct side out = {
        .buffer = sent, .counts = sent_counts, .displacements = sent_displacements, .types = sent_types};
    const struct side in = {
        .buffer = received, .counts = received_counts, .displacements = received_displacements,
            .types = received_types};
    return exchange(__func__, comm, &out, &in);
}
