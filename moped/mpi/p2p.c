// SPDX-License-Identifier: Apache-2.0 OR MIT
// The calls that send and receive. Each checks its arguments, makes a request, and starts it.

#include "internal.h"

static int check(const char *call, struct mb_comm *comm, int count, MPI_Datatype type, int peer, int tag,
                 int is_receive,
                 struct mb_type **t)
{
    *t = mb_get(type, MB_TYPE);
    const int size = comm->remote->size;
    if (count < 0) return mb_fail(comm, call, MPI_ERR_COUNT, "count %d; expected at least 0", count);
    if (*t == NULL) return mb_fail(comm, call, MPI_ERR_TYPE, "handle 0x%x; expected a datatype", (unsigned)type);
    if ((peer < 0 || peer >= size) && peer != MPI_PROC_NULL && !(is_receive && peer == MPI_ANY_SOURCE))
        return mb_fail(comm, call, MPI_ERR_RANK, "rank %d; expected 0 to %d, MPI_PROC_NULL%s", peer, size - 1,
                       is_receive ? " or MPI_ANY_SOURCE" : "");
    if ((tag < 0 || tag > MB_TAG_MAX) && !(is_receive && tag == MPI_ANY_TAG))
        return mb_fail(comm, call, MPI_ERR_TAG, "tag %d; expected 0 to %d%s", tag, MB_TAG_MAX,
                       is_receive ? " or MPI_ANY_TAG" : "");
    return MPI_SUCCESS;
}

// What a completed blocking call returns.
static int returned(const char *call, struct mb_comm *comm, int error)
{
    if (error == MPI_SUCCESS) return error;
    return mb_raise(comm, call, error,
                    error == MPI_ERR_TRUNCATE ? "the message does not fit into the buffer" : "failed");
}

static int send(const char *call, const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
                int mode)
{
    struct mb_comm *c = mb_get(comm, MB_COMM);
    struct mb_type *t;
    if (c == NULL) return mb_fail(NULL, call, MPI_ERR_COMM, "handle 0x%x; expected a communicator", (unsigned)comm);
    const int error = check(call, c, count, type, dest, tag, 0, &t);
    if (error != MPI_SUCCESS || dest == MPI_PROC_NULL) return error;
    struct mb_request *request = mb_new_send(buffer, (size_t)count, t, dest, tag, c, 0, mode);
    c->refs++;
    mb_start(request);
    const int result = returned(call, c, mb_finish(request, MPI_STATUS_IGNORE));
    mb_comm_release(c);
    return result;
}

// A request that is started, or a persistent one.
static int begin_send(const char *call, const void *buffer, int count, MPI_Datatype type, int dest, int tag,
                      MPI_Comm comm, int mode, int is_persistent, MPI_Request *made)
{
    struct mb_comm *c = mb_get(comm, MB_COMM);
    struct mb_type *t;
    *made = MPI_REQUEST_NULL;
    if (c == NULL) return mb_fail(NULL, call, MPI_ERR_COMM, "handle 0x%x; expected a communicator", (unsigned)comm);
    int error = check(call, c, count, type, dest, tag, 0, &t);
    if (error != MPI_SUCCESS) return error;
    struct mb_request *request = mb_new_send(buffer, (size_t)count, t, dest, tag, c, 0, mode);
    request->is_persistent = (unsigned char)is_persistent;
    if (!is_persistent) {
        mb_start(request);
        error = request->mode == MB_BUFFERED ? request->error : MPI_SUCCESS;
        if (error != MPI_SUCCESS) {
            mb_request_release(request);
            return error;
        }
    }
    *made = mb_request_handle(request);
    return MPI_SUCCESS;
}

#define SEND_MODE(name, mode)                                                                                          \
    int MPI_##name##end(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)            \
    {                                                                                                                  \
        return send(__func__, buffer, count, type, dest, tag, comm, mode);                                             \
    }                                                                                                                  \
    int MPI_##name##end_init(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,       \
                             MPI_Request *request)                                                                     \
    {                                                                                                                  \
        return begin_send(__func__, buffer, count, type, dest, tag, comm, mode, 1, request);                           \
    }
#define ISEND_MODE(name, mode)                                                                                         \
    int MPI_I##name##end(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,           \
                         MPI_Request *request)                                                                         \
    {                                                                                                                  \
        return begin_send(__func__, buffer, count, type, dest, tag, comm, mode, 0, request);                           \
    }
SEND_MODE(S, MB_STANDARD)
SEND_MODE(Ss, MB_SYNCHRONOUS)
SEND_MODE(Rs, MB_READY)
SEND_MODE(Bs, MB_BUFFERED)
ISEND_MODE(s, MB_STANDARD)
ISEND_MODE(ss, MB_SYNCHRONOUS)
ISEND_MODE(rs, MB_READY)
ISEND_MODE(bs, MB_BUFFERED)

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    MB_CHECK_COMM(c, comm);
    struct mb_type *t;
    const int error = check(__func__, c, count, type, source, tag, 1, &t);
    if (error != MPI_SUCCESS) return error;
    struct mb_request *request = mb_new_receive(buffer, (size_t)count, t, source, tag, c, 0);
    c->refs++;
    mb_start(request);
    const int result = returned(__func__, c, mb_finish(request, status));
    mb_comm_release(c);
    return result;
}

static int begin_receive(const char *call, void *buffer, int count, MPI_Datatype type, int source, int tag,
                         MPI_Comm comm, int is_persistent, MPI_Request *made)
{
    struct mb_comm *c = mb_get(comm, MB_COMM);
    struct mb_type *t;
    *made = MPI_REQUEST_NULL;
    if (c == NULL) return mb_fail(NULL, call, MPI_ERR_COMM, "handle 0x%x; expected a communicator", (unsigned)comm);
    const int error = check(call, c, count, type, source, tag, 1, &t);
    if (error != MPI_SUCCESS) return error;
    struct mb_request *request = mb_new_receive(buffer, (size_t)count, t, source, tag, c, 0);
    request->is_persistent = (unsigned char)is_persistent;
    if (!is_persistent) mb_start(request);
    *made = mb_request_handle(request);
    return MPI_SUCCESS;
}

int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request)
{
    return begin_receive(__func__, buffer, count, type, source, tag, comm, 0, request);
}

int MPI_Recv_init(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request)
{
    return begin_receive(__func__, buffer, count, type, source, tag, comm, 1, request);
}

int MPI_Start(MPI_Request *request)
{
    struct mb_request *r = mb_get(*request, MB_REQUEST);
    if (r == NULL || !r->is_persistent || r->is_active)
        return mb_fail(r != NULL ? r->comm : NULL, __func__, MPI_ERR_REQUEST,
                       "handle 0x%x; expected an inactive persistent request", (unsigned)*request);
    mb_start(r);
    return r->mode == MB_BUFFERED ? r->error : MPI_SUCCESS;
}

int MPI_Startall(int count, MPI_Request requests[])
{
    int error = MPI_SUCCESS;
    for (int i = 0; i < count && error == MPI_SUCCESS; i++)
        error = MPI_Start(&requests[i]);
    return error;
}

int MPI_Sendrecv(const void *sent, int sent_count, MPI_Datatype sent_type, int dest, int sent_tag, void *received,
                 int received_count, MPI_Datatype received_type, int source, int received_tag, MPI_Comm comm,
                 MPI_Status *status)
{
    MB_CHECK_COMM(c, comm);
    struct mb_type *out_type, *in_type;
    int error = check(__func__, c, sent_count, sent_type, dest, sent_tag, 0, &out_type);
    if (error == MPI_SUCCESS)
        error = check(__func__, c, received_count, received_type, source, received_tag, 1, &in_type);
    if (error != MPI_SUCCESS) return error;
    struct mb_request *in = mb_new_receive(received, (size_t)received_count, in_type, source, received_tag, c, 0);
    struct mb_request *out = mb_new_send(sent, (size_t)sent_count, out_type, dest, sent_tag, c, 0, MB_STANDARD);
    c->refs++;
    mb_start(in);
    mb_start(out);
    error = mb_finish(in, status);
    mb_finish(out, MPI_STATUS_IGNORE);
    error = returned(__func__, c, error);
    mb_comm_release(c);
    return error;
}

int MPI_Sendrecv_replace(void *buffer, int count, MPI_Datatype type, int dest, int sent_tag, int source,
                         int received_tag, MPI_Comm comm, MPI_Status *status)
{
    MB_CHECK_COMM(c, comm);
    struct mb_type *t;
    int error = check(__func__, c, count, type, dest, sent_tag, 0, &t);
    if (error != MPI_SUCCESS) return error;
    const size_t bytes = (size_t)count * t->size;
    unsigned char *copy = mb_allocate(bytes);
    mb_pack(t, (size_t)count, buffer, 0, copy, bytes);
    error = check(__func__, c, count, type, source, received_tag, 1, &t);
    if (error == MPI_SUCCESS) {
        struct mb_request *in = mb_new_receive(buffer, (size_t)count, t, source, received_tag, c, 0);
        struct mb_request *out = mb_new_send(copy, bytes, mb_basic(MPI_BYTE), dest, sent_tag, c, 0, MB_STANDARD);
        c->refs++;
        mb_start(in);
        mb_start(out);
        error = mb_finish(in, status);
        mb_finish(out, MPI_STATUS_IGNORE);
        error = returned(__func__, c, error);
        mb_comm_release(c);
    }
    free(copy);
    return error;
}
