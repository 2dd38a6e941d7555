// SPDX-License-Identifier: Apache-2.0 OR MIT
// What collectives share, barrier and broadcast.
//
// Collectives use the communicator's second context. Each uses one tag: the messages of two calls
// between two ranks match in the order of the calls.

#include "coll.h"

int mb_coll_send(const void *buffer, size_t count, struct mb_type *type, int dest, int tag, struct mb_comm *comm)
{
    struct mb_request *request = mb_new_send(buffer, count, type, dest, tag, comm, 1, MB_STANDARD);
    mb_start(request);
    return mb_finish(request, MPI_STATUS_IGNORE);
}

int mb_coll_recv(void *buffer, size_t count, struct mb_type *type, int source, int tag, struct mb_comm *comm)
{
    struct mb_request *request = mb_new_receive(buffer, count, type, source, tag, comm, 1);
    mb_start(request);
    return mb_finish(request, MPI_STATUS_IGNORE);
}

int mb_coll_sendrecv(const void *sent, size_t sent_count, struct mb_type *sent_type, int dest, void *received,
                     size_t received_count, struct mb_type *received_type, int source, int tag, struct mb_comm *comm)
{
    struct mb_request *in = mb_new_receive(received, received_count, received_type, source, tag, comm, 1);
    struct mb_request *out = mb_new_send(sent, sent_count, sent_type, dest, tag, comm, 1, MB_STANDARD);
    mb_start(in);
    mb_start(out);
    const int error = mb_finish(in, MPI_STATUS_IGNORE);
    mb_finish(out, MPI_STATUS_IGNORE);
    return error;
}

int mb_coll_check(const char *call, MPI_Comm handle, struct mb_comm **comm)
{
    *comm = mb_get(handle, MB_COMM);
    if (*comm == NULL)
        return mb_fail(NULL, call, MPI_ERR_COMM, "handle 0x%x; expected a communicator", (unsigned)handle);
    if ((*comm)->local_comm != NULL)
        return mb_fail(*comm, call, MPI_ERR_COMM, "collectives on intercommunicators are not supported");
    return MPI_SUCCESS;
}

int mb_coll_check_root(const char *call, struct mb_comm *comm, int root)
{
    if (root >= 0 && root < comm->size) return MPI_SUCCESS;
    return mb_fail(comm, call, MPI_ERR_ROOT, "root %d; expected 0 to %d", root, comm->size - 1);
}

int mb_coll_result(const char *call, struct mb_comm *comm, int error)
{
    if (error == MPI_SUCCESS) return error;
    return mb_raise(comm, call, error, "a rank sent more than another one expects");
}

// Dissemination: in step k each rank tells the one 2^k further on.
int mb_barrier(struct mb_comm *comm)
{
    struct mb_type *byte = mb_basic(MPI_BYTE);
    for (int distance = 1; distance < comm->size; distance *= 2) {
        const int to = (comm->rank + distance) % comm->size, from = (comm->rank - distance + comm->size) % comm->size;
        const int error = mb_coll_sendrecv(NULL, 0, byte, to, NULL, 0, byte, from, MB_TAG_BARRIER, comm);
        if (error != MPI_SUCCESS) return error;
    }
    return MPI_SUCCESS;
}

int MPI_Barrier(MPI_Comm comm)
{
    struct mb_comm *c = mb_get(comm, MB_COMM);
    if (c != NULL && c->local_comm != NULL) {
        // Both sides arrive, their first ranks meet, both sides leave.
        int error = mb_barrier(c->local_comm);
        struct mb_type *byte = mb_basic(MPI_BYTE);
        if (error == MPI_SUCCESS && c->rank == 0)
            error = mb_coll_sendrecv(NULL, 0, byte, 0, NULL, 0, byte, 0, MB_TAG_BARRIER, c);
        if (error == MPI_SUCCESS) error = mb_barrier(c->local_comm);
        return mb_coll_result(__func__, c, error);
    }
    const int error = mb_coll_check(__func__, comm, &c);
    return error != MPI_SUCCESS ? error : mb_coll_result(__func__, c, mb_barrier(c));
}

// Binomial tree: a rank receives from the one without its lowest bit, and sends to those below that bit.
int mb_bcast(void *buffer, size_t count, struct mb_type *type, int root, struct mb_comm *comm)
{
    const int relative = (comm->rank - root + comm->size) % comm->size;
    int bit = 1;
    while (bit < comm->size && !(relative & bit))
        bit *= 2;
    if (relative != 0) {
        const int from = (relative - bit + root) % comm->size;
        const int error = mb_coll_recv(buffer, count, type, from, MB_TAG_BCAST, comm);
        if (error != MPI_SUCCESS) return error;
    }
    for (bit /= 2; bit > 0; bit /= 2) {
        if (relative + bit >= comm->size) continue;
        const int error = mb_coll_send(buffer, count, type, (relative + bit + root) % comm->size, MB_TAG_BCAST, comm);
        if (error != MPI_SUCCESS) return error;
    }
    return MPI_SUCCESS;
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    struct mb_comm *c;
    int error = mb_coll_check(__func__, comm, &c);
    if (error == MPI_SUCCESS) error = mb_coll_check_root(__func__, c, root);
    if (error != MPI_SUCCESS) return error;
    MB_CHECK_TYPE(t, type, c);
    MB_CHECK_COUNT(count, c);
    return mb_coll_result(__func__, c, mb_bcast(buffer, (size_t)count, t, root, c));
}

// ---- MPI_Ibarrier: the same steps, taken when progress is made ----

static struct mb_request *barriers;

// Starts the messages of a step; the last step completes the request.
static void begin_step(struct mb_request *barrier)
{
    struct mb_comm *comm = barrier->comm;
    struct mb_type *byte = mb_basic(MPI_BYTE);
    const int distance = 1 << barrier->step;
    barrier->inner = barrier->inner2 = NULL;
    if (distance >= comm->size) return;
    barrier->inner = mb_new_receive(NULL, 0, byte, (comm->rank - distance + comm->size) % comm->size, barrier->tag,
                                    comm, 1);
    barrier->inner2 = mb_new_send(NULL, 0, byte, (comm->rank + distance) % comm->size, barrier->tag, comm, 1,
                                  MB_STANDARD);
    mb_start(barrier->inner);
    mb_start(barrier->inner2);
}

void mb_barrier_progress(void)
{
    for (struct mb_request **link = &barriers; *link != NULL;) {
        struct mb_request *barrier = *link;
        while (barrier->inner != NULL && barrier->inner->is_complete && barrier->inner2->is_complete) {
            mb_request_release(barrier->inner);
            mb_request_release(barrier->inner2);
            barrier->step++;
            begin_step(barrier);
        }
        if (barrier->inner != NULL) {
            link = &barrier->next;
            continue;
        }
        *link = barrier->next;
        mb_complete(barrier);
    }
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    struct mb_comm *c;
    const int error = mb_coll_check(__func__, comm, &c);
    if (error != MPI_SUCCESS) return error;
    struct mb_request *barrier = mb_request_new(MB_BARRIER, c, NULL);
    barrier->is_active = 1;
    // Barriers of one communicator that overlap have different tags.
    barrier->tag = MB_TAG_IBARRIER + (int)(c->barriers++ & 0xffff);
    barrier->next = barriers;
    barriers = barrier;
    begin_step(barrier);
    *request = mb_request_handle(barrier);
    return MPI_SUCCESS;
}
