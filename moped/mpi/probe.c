// SPDX-License-Identifier: Apache-2.0 OR MIT
// Probes, and receives of probed messages.

#include "transport.h"

static int check(const char *call, struct mb_comm *comm, int source, int tag)
{
    const int size = comm->remote->size;
    if ((source < 0 || source >= size) && source != MPI_PROC_NULL && source != MPI_ANY_SOURCE)
        return mb_fail(comm, call, MPI_ERR_RANK, "rank %d; expected 0 to %d, MPI_PROC_NULL or MPI_ANY_SOURCE", source,
                       size - 1);
    if ((tag < 0 || tag > MB_TAG_MAX) && tag != MPI_ANY_TAG)
        return mb_fail(comm, call, MPI_ERR_TAG, "tag %d; expected 0 to %d or MPI_ANY_TAG", tag, MB_TAG_MAX);
    return MPI_SUCCESS;
}

static void store(MPI_Status *status, const MPI_Status *value)
{
    if (status == MPI_STATUS_IGNORE) return;
    const int kept = status->MPI_ERROR;
    *status = *value;
    status->MPI_ERROR = kept;
}

// All four probes. `made` is NULL for those that take nothing.
static int probe(const char *call, int source, int tag, MPI_Comm comm, int *flag, MPI_Message *made, MPI_Status *status)
{
    struct mb_comm *c = mb_get(comm, MB_COMM);
    if (c == NULL) return mb_fail(NULL, call, MPI_ERR_COMM, "handle 0x%x; expected a communicator", (unsigned)comm);
    const int error = check(call, c, source, tag);
    if (error != MPI_SUCCESS) return error;
    MPI_Status found;
    mb_empty_status(&found);
    if (made != NULL) *made = MPI_MESSAGE_NULL;
    if (source == MPI_PROC_NULL) {
        if (flag != NULL) *flag = 1;
        if (made != NULL) *made = MPI_MESSAGE_NO_PROC;
        found.MPI_SOURCE = MPI_PROC_NULL;
        store(status, &found);
        return MPI_SUCCESS;
    }
    struct mb_message *message = made != NULL ? mb_allocate_zeroed(sizeof *message) : NULL;
    const int is_blocking = flag == NULL;
    int has_found = 0;
    do {
        mb_progress();
        has_found = mb.transport->probe(2 * c->id, source, tag, &found, message);
    } while (is_blocking && !has_found);
    if (flag != NULL) *flag = has_found;
    if (!has_found) {
        free(message);
        return MPI_SUCCESS;
    }
    store(status, &found);
    if (message != NULL) {
        message->comm = c;
        message->status = found;
        c->refs++;
        *made = message->handle = mb_add_handle(MB_MESSAGE, message);
    }
    return MPI_SUCCESS;
}

int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    return probe(__func__, source, tag, comm, NULL, NULL, status);
}

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    return probe(__func__, source, tag, comm, flag, NULL, status);
}

int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    return probe(__func__, source, tag, comm, NULL, message, status);
}

int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status)
{
    return probe(__func__, source, tag, comm, flag, message, status);
}

// A started receive of a probed message.
static int begin(const char *call, void *buffer, int count, MPI_Datatype type, MPI_Message *message,
                 struct mb_request **made)
{
    struct mb_message *m = mb_get(*message, MB_MESSAGE);
    if (m == NULL && *message != MPI_MESSAGE_NO_PROC)
        return mb_fail(NULL, call, MPI_ERR_REQUEST, "handle 0x%x; expected a message", (unsigned)*message);
    struct mb_comm *c = m != NULL ? m->comm : mb.self;
    if (count < 0) return mb_fail(c, call, MPI_ERR_COUNT, "count %d; expected at least 0", count);
    struct mb_type *t = mb_get(type, MB_TYPE);
    if (t == NULL) return mb_fail(c, call, MPI_ERR_TYPE, "handle 0x%x; expected a datatype", (unsigned)type);
    const int source = m != NULL ? m->status.MPI_SOURCE : MPI_PROC_NULL, tag = m != NULL ? m->status.MPI_TAG : 0;
    struct mb_request *request = mb_new_receive(buffer, (size_t)count, t, source, tag, c, 0);
    if (m == NULL) {
        mb_start(request);
    } else {
        request->is_active = 1;
        mb.transport->receive_message(request, m);
        mb_remove_handle(m->handle);
        mb_comm_release(m->comm);
        free(m);
    }
    *message = MPI_MESSAGE_NULL;
    *made = request;
    return MPI_SUCCESS;
}

int MPI_Mrecv(void *buffer, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status)
{
    struct mb_request *request;
    int error = begin(__func__, buffer, count, type, message, &request);
    if (error != MPI_SUCCESS) return error;
    struct mb_comm *comm = request->comm;
    comm->refs++;
    error = mb_finish(request, status);
    if (error != MPI_SUCCESS)
        error = mb_raise(comm, __func__, error,
                         error == MPI_ERR_TRUNCATE ? "the message does not fit into the buffer" : "failed");
    mb_comm_release(comm);
    return error;
}

int MPI_Imrecv(void *buffer, int count, MPI_Datatype type, MPI_Message *message, MPI_Request *request)
{
    struct mb_request *made;
    *request = MPI_REQUEST_NULL;
    const int error = begin(__func__, buffer, count, type, message, &made);
    if (error == MPI_SUCCESS) *request = mb_request_handle(made);
    return error;
}
