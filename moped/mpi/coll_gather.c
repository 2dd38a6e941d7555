// SPDX-License-Identifier: Apache-2.0 OR MIT
// Gather, scatter and allgather.

#include "coll.h"

// Binomial tree: a rank collects the packed blocks of the ranks above it, relative to the root.
static int gather(const void *sent, size_t sent_count, struct mb_type *sent_type, void *received, size_t received_count,
                  struct mb_type *received_type, int root, struct mb_comm *comm)
{
    const int size = comm->size, relative = (comm->rank - root + size) % size, is_root = relative == 0;
    const int is_in_place = is_root && sent == MPI_IN_PLACE;
    const size_t block = is_root ? received_count * received_type->size : sent_count * sent_type->size;
    struct mb_type *byte = mb_basic(MPI_BYTE);
    unsigned char *packed = mb_allocate((size_t)size * block);
    if (!is_root) mb_pack(sent_type, sent_count, sent, 0, packed, block);
    int error = MPI_SUCCESS, bit = 1;
    for (; bit < size && !(relative & bit) && error == MPI_SUCCESS; bit *= 2) {
        if (relative + bit >= size) continue;
        const int blocks = relative + 2 * bit <= size ? bit : size - relative - bit;
        error = mb_coll_recv(packed + (size_t)bit * block, (size_t)blocks * block, byte, (relative + bit + root) % size,
                             MB_TAG_GATHER, comm);
    }
    if (!is_root && error == MPI_SUCCESS) {
        const int blocks = relative + bit <= size ? bit : size - relative;
        error = mb_coll_send(packed, (size_t)blocks * block, byte, (relative - bit + root) % size, MB_TAG_GATHER, comm);
    }
    for (int i = 1; i < size && is_root && error == MPI_SUCCESS; i++) {
        const ptrdiff_t at = (ptrdiff_t)((i + root) % size) * (ptrdiff_t)received_count;
        mb_unpack(received_type, received_count, mb_element(received, received_type, at), 0, packed + (size_t)i * block,
                  block);
    }
    if (is_root && !is_in_place)
        mb_copy(sent, sent_count, sent_type,
                mb_element(received, received_type, (ptrdiff_t)root * (ptrdiff_t)received_count), received_count,
                received_type);
    free(packed);
    return error;
}

static int scatter(const void *sent, size_t sent_count, struct mb_type *sent_type, void *received,
                   size_t received_count,
                   struct mb_type *received_type, int root, struct mb_comm *comm)
{
    const int size = comm->size, relative = (comm->rank - root + size) % size, is_root = relative == 0;
    const size_t block = is_root ? sent_count * sent_type->size : received_count * received_type->size;
    struct mb_type *byte = mb_basic(MPI_BYTE);
    unsigned char *packed = mb_allocate((size_t)size * block);
    int error = MPI_SUCCESS, bit = 1;
    for (int i = 1; i < size && is_root; i++) {
        const ptrdiff_t at = (ptrdiff_t)((i + root) % size) * (ptrdiff_t)sent_count;
        mb_pack(sent_type, sent_count, mb_element(sent, sent_type, at), 0, packed + (size_t)i * block, block);
    }
    while (bit < size && !(relative & bit))
        bit *= 2;
    if (!is_root) {
        const int blocks = relative + bit <= size ? bit : size - relative;
        error = mb_coll_recv(packed, (size_t)blocks * block, byte, (relative - bit + root) % size, MB_TAG_SCATTER,
                             comm);
    }
    for (bit /= 2; bit > 0 && error == MPI_SUCCESS; bit /= 2) {
        if (relative + bit >= size) continue;
        const int blocks = relative + 2 * bit <= size ? bit : size - relative - bit;
        error = mb_coll_send(packed + (size_t)bit * block, (size_t)blocks * block, byte, (relative + bit + root) % size,
                             MB_TAG_SCATTER, comm);
    }
    if (!is_root && error == MPI_SUCCESS) mb_unpack(received_type, received_count, received, 0, packed, block);
    if (is_root && received != MPI_IN_PLACE)
        mb_copy(mb_element(sent, sent_type, (ptrdiff_t)root * (ptrdiff_t)sent_count), sent_count, sent_type, received,
                received_count, received_type);
    free(packed);
    return error;
}

// Recursive doubling if the number of ranks is a power of two, a ring otherwise.
int mb_allgather(const void *sent, size_t sent_count, struct mb_type *sent_type, void *received, size_t received_count,
                 struct mb_type *received_type, struct mb_comm *comm)
{
    const int size = comm->size, rank = comm->rank;
    const ptrdiff_t block = (ptrdiff_t)received_count;
    int error = MPI_SUCCESS;
    if (sent != MPI_IN_PLACE)
        mb_copy(sent, sent_count, sent_type, mb_element(received, received_type, rank * block), received_count,
                received_type);
    if ((size & (size - 1)) == 0) {
        for (int bit = 1; bit < size && error == MPI_SUCCESS; bit *= 2) {
            const int peer = rank ^ bit;
            const ptrdiff_t mine = rank / bit * bit * block, other = peer / bit * bit * block;
            error = mb_coll_sendrecv(mb_element(received, received_type, mine), (size_t)bit * received_count,
                                     received_type, peer, mb_element(received, received_type, other),
                                     (size_t)bit * received_count, received_type, peer, MB_TAG_ALLGATHER, comm);
        }
        return error;
    }
    const int to = (rank + 1) % size, from = (rank - 1 + size) % size;
    for (int k = 0; k < size - 1 && error == MPI_SUCCESS; k++) {
        const ptrdiff_t out = (rank - k + size) % size * block, in = (rank - k - 1 + size) % size * block;
        error = mb_coll_sendrecv(mb_element(received, received_type, out), received_count, received_type, to,
                                 mb_element(received, received_type, in), received_count, received_type, from,
                                 MB_TAG_ALLGATHER, comm);
    }
    return error;
}

int MPI_Gather(const void *sent, int sent_count, MPI_Datatype sent_type, void *received, int received_count,
               MPI_Datatype received_type, int root, MPI_Comm comm)
{
    struct mb_comm *c;
    int error = mb_coll_check(__func__, comm, &c);
    if (error == MPI_SUCCESS) error = mb_coll_check_root(__func__, c, root);
    if (error != MPI_SUCCESS) return error;
    const int is_root = c->rank == root;
    MB_CHECK_TYPE(out, sent == MPI_IN_PLACE ? received_type : sent_type, c);
    MB_CHECK_TYPE(in, is_root ? received_type : sent_type, c);
    if (sent != MPI_IN_PLACE) MB_CHECK_COUNT(sent_count, c);
    if (is_root) MB_CHECK_COUNT(received_count, c);
    return mb_coll_result(__func__, c, gather(sent, (size_t)sent_count, out, received, (size_t)received_count, in,
                                              root, c));
}

int MPI_Scatter(const void *sent, int sent_count, MPI_Datatype sent_type, void *received, int received_count,
                MPI_Datatype received_type, int root, MPI_Comm comm)
{
    struct mb_comm *c;
    int error = mb_coll_check(__func__, comm, &c);
    if (error == MPI_SUCCESS) error = mb_coll_check_root(__func__, c, root);
    if (error != MPI_SUCCESS) return error;
    const int is_root = c->rank == root;
    MB_CHECK_TYPE(out, is_root ? sent_type : received_type, c);
    MB_CHECK_TYPE(in, received == MPI_IN_PLACE ? sent_type : received_type, c);
    if (is_root) MB_CHECK_COUNT(sent_count, c);
    if (received != MPI_IN_PLACE) MB_CHECK_COUNT(received_count, c);
    return mb_coll_result(__func__, c,
                          scatter(sent, (size_t)sent_count, out, received, (size_t)received_count, in, root, c));
}

int MPI_Gatherv(const void *sent, int sent_count, MPI_Datatype sent_type, void *received, const int counts[],
                const int displacements[], MPI_Datatype received_type, int root, MPI_Comm comm)
{
    struct mb_comm *c;
    int error = mb_coll_check(__func__, comm, &c);
    if (error == MPI_SUCCESS) error = mb_coll_check_root(__func__, c, root);
    if (error != MPI_SUCCESS) return error;
    if (c->rank != root) {
        MB_CHECK_TYPE(t, sent_type, c);
        MB_CHECK_COUNT(sent_count, c);
        return mb_coll_result(__func__, c, mb_coll_send(sent, (size_t)sent_count, t, root, MB_TAG_GATHER, c));
    }
    MB_CHECK_TYPE(in, received_type, c);
    struct mb_request **request = mb_allocate_zeroed((size_t)c->size * sizeof *request);
    for (int i = 0; i < c->size; i++) {
        if (i == root) continue;
        request[i] = mb_new_receive(mb_element(received, in, displacements[i]), (size_t)counts[i], in, i,
                                    MB_TAG_GATHER, c, 1);
        mb_start(request[i]);
    }
    struct mb_type *out = mb_get(sent_type, MB_TYPE);
    if (sent != MPI_IN_PLACE && out != NULL)
        mb_copy(sent, (size_t)sent_count, out, mb_element(received, in, displacements[root]), (size_t)counts[root], in);
    for (int i = 0; i < c->size; i++) {
        const int failed = request[i] != NULL ? mb_finish(request[i], MPI_STATUS_IGNORE) : MPI_SUCCESS;
        if (failed != MPI_SUCCESS) error = failed;
    }
    free(request);
    return mb_coll_result(__func__, c, error);
}

int MPI_Scatterv(const void *sent, const int counts[], const int displacements[], MPI_Datatype sent_type,
                 void *received, int received_count, MPI_Datatype received_type, int root, MPI_Comm comm)
{
    struct mb_comm *c;
    int error = mb_coll_check(__func__, comm, &c);
    if (error == MPI_SUCCESS) error = mb_coll_check_root(__func__, c, root);
    if (error != MPI_SUCCESS) return error;
    if (c->rank != root) {
        MB_CHECK_TYPE(t, received_type, c);
        MB_CHECK_COUNT(received_count, c);
        return mb_coll_result(__func__, c, mb_coll_recv(received, (size_t)received_count, t, root, MB_TAG_SCATTER, c));
    }
    MB_CHECK_TYPE(out, sent_type, c);
    struct mb_request **request = mb_allocate_zeroed((size_t)c->size * sizeof *request);
    for (int i = 0; i < c->size; i++) {
        if (i == root) continue;
        request[i] = mb_new_send(mb_element(sent, out, displacements[i]), (size_t)counts[i], out, i, MB_TAG_SCATTER,
                                 c, 1,
                                 MB_STANDARD);
        mb_start(request[i]);
    }
    struct mb_type *in = mb_get(received_type, MB_TYPE);
    if (received != MPI_IN_PLACE && in != NULL)
        mb_copy(mb_element(sent, out, displacements[root]), (size_t)counts[root], out, received,
                (size_t)received_count, in);
    for (int i = 0; i < c->size; i++) {
        if (request[i] != NULL) mb_finish(request[i], MPI_STATUS_IGNORE);
    }
    free(request);
    return mb_coll_result(__func__, c, error);
}

int MPI_Allgather(const void *sent, int sent_count, MPI_Datatype sent_type, void *received, int received_count,
                  MPI_Datatype received_type, MPI_Comm comm)
{
    struct mb_comm *c;
    const int error = mb_coll_check(__func__, comm, &c);
    if (error != MPI_SUCCESS) return error;
    MB_CHECK_TYPE(out, sent == MPI_IN_PLACE ? received_type : sent_type, c);
    MB_CHECK_TYPE(in, received_type, c);
    MB_CHECK_COUNT(received_count, c);
    return mb_coll_result(__func__, c,
                          mb_allgather(sent, (size_t)sent_count, out, received, (size_t)received_count, in, c));
}

int MPI_Allgatherv(const void *sent, int sent_count, MPI_Datatype sent_type, void *received, const int counts[],
                   const int displacements[], MPI_Datatype received_type, MPI_Comm comm)
{
    struct mb_comm *c;
    int error = mb_coll_check(__func__, comm, &c);
    if (error != MPI_SUCCESS) return error;
    MB_CHECK_TYPE(out, sent == MPI_IN_PLACE ? received_type : sent_type, c);
    MB_CHECK_TYPE(in, received_type, c);
    const int size = c->size, to = (c->rank + 1) % size, from = (c->rank - 1 + size) % size;
    if (sent != MPI_IN_PLACE)
        mb_copy(sent, (size_t)sent_count, out, mb_element(received, in, displacements[c->rank]),
                (size_t)counts[c->rank], in);
    for (int k = 0; k < size - 1 && error == MPI_SUCCESS; k++) {
        const int o = (c->rank - k + size) % size, i = (c->rank - k - 1 + size) % size;
        error = mb_coll_sendrecv(mb_element(received, in, displacements[o]), (size_t)counts[o], in, to,
                                 mb_element(received, in, displacements[i]), (size_t)counts[i], in, from,
                                 MB_TAG_ALLGATHER, c);
    }
    return mb_coll_result(__func__, c, error);
}
