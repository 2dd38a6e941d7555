// SPDX-License-Identifier: Apache-2.0 OR MIT
// Requests: their life, start, and progress.

#include "transport.h"

static struct mb_request *spare;

struct mb_request *mb_request_new(int kind, struct mb_comm *comm, struct mb_type *type)
{
    struct mb_request *request = spare;
    if (request != NULL) {
        spare = request->next;
    } else {
        request = mb_allocate(sizeof *request);
    }
    *request = (struct mb_request){.kind = (unsigned char)kind, .comm = comm, .type = type};
    comm->refs++;
    if (type != NULL) type->refs++;
    mb_empty_status(&request->status);
    return request;
}

void mb_request_release(struct mb_request *request)
{
    if (request->handle != 0) mb_remove_handle(request->handle);
    free(request->owned);
    if (request->type != NULL) mb_type_release(request->type);
    mb_comm_release(request->comm);
    request->next = spare;
    spare = request;
}

MPI_Request mb_request_handle(struct mb_request *request)
{
    if (request->handle == 0) request->handle = mb_add_handle(MB_REQUEST, request);
    return request->handle;
}

void mb_empty_status(MPI_Status *status)
{
    *status = (MPI_Status){.MPI_SOURCE = MPI_ANY_SOURCE, .MPI_TAG = MPI_ANY_TAG, .MPI_ERROR = MPI_SUCCESS};
}

void mb_set_bytes(MPI_Status *status, uint64_t bytes)
{
    status->mb_bytes[0] = (unsigned)bytes;
    status->mb_bytes[1] = (unsigned)(bytes >> 32);
}

void mb_complete(struct mb_request *request)
{
    request->is_complete = 1;
    if (request->place == MB_SOFTWARE) mb.software_requests--;
    request->place = MB_NOWHERE;
    if (request->number != 0) mb.transport->received(request);
    if (request->is_freed) mb_request_release(request);
}

void mb_matched(struct mb_request *receive, int source, int tag, uint64_t bytes)
{
    receive->status.MPI_SOURCE = source;
    receive->status.MPI_TAG = tag;
    receive->limit = bytes;
    if (bytes > receive->bytes) {
        receive->error = MPI_ERR_TRUNCATE;
        receive->limit = receive->bytes;
    }
    receive->moved = 0;
    mb_set_bytes(&receive->status, receive->limit);
}

struct mb_request *mb_new_send(const void *buffer, size_t count, struct mb_type *type, int dest, int tag,
                               struct mb_comm *comm, int is_collective, int mode)
{
    struct mb_request *request = mb_request_new(MB_SEND, comm, type);
    request->mode = (unsigned char)mode;
    request->buffer = (unsigned char *)buffer;
    request->count = count;
    request->bytes = count * type->size;
    request->peer = dest;
    request->tag = tag;
    request->context = 2 * comm->id + is_collective;
    request->source = comm->rank;
    if (dest >= 0) request->world = comm->remote->world[dest];
    return request;
}

struct mb_request *mb_new_receive(void *buffer, size_t count, struct mb_type *type, int source, int tag,
                                  struct mb_comm *comm, int is_collective)
{
    struct mb_request *request = mb_request_new(MB_RECEIVE, comm, type);
    request->buffer = buffer;
    request->count = count;
    request->bytes = count * type->size;
    request->peer = source;
    request->tag = tag;
    request->context = 2 * comm->id + is_collective;
    return request;
}

void mb_start(struct mb_request *request)
{
    request->is_active = 1;
    request->is_complete = 0;
    request->error = MPI_SUCCESS;
    request->moved = 0;
    request->polls = 0;
    mb_empty_status(&request->status);
    if (request->peer == MPI_PROC_NULL) {
        if (request->kind == MB_RECEIVE) request->status.MPI_SOURCE = MPI_PROC_NULL;
        mb_complete(request);
    } else if (request->kind == MB_RECEIVE) {
        mb.transport->receive(request);
    } else if (request->mode == MB_BUFFERED) {
        request->error = mb_start_buffered(request, "MPI_Bsend");
    } else {
        mb.transport->send(request);
    }
}

void mb_progress(void)
{
    static unsigned rounds;
    int any = mb.transport->progress();
    mb_buffered_progress();
    mb_barrier_progress();
    if (any) {
        rounds = 0;
        return;
    }
    if (atomic_load_explicit(&mb_shared->aborted.value, memory_order_relaxed) != 0) mb_platform_abort(1);
    mb_platform_idle(++rounds);
}

void mb_wait_for(struct mb_request *request)
{
    while (!request->is_complete) {
        mb.waited = request;
        mb_progress();
        if (!request->is_complete && mb.transport->stalled != NULL) mb.transport->stalled(request);
    }
    mb.waited = NULL;
}

int mb_finish(struct mb_request *request, MPI_Status *status)
{
    mb_wait_for(request);
    const int error = request->error;
    if (status != MPI_STATUS_IGNORE) {
        const int kept = status->MPI_ERROR;
        *status = request->status;
        status->MPI_ERROR = kept;
    }
    mb_request_release(request);
    return error;
}
