// SPDX-License-Identifier: Apache-2.0 OR MIT
// Completion of requests, cancellation, and statuses.

#include "transport.h"

// The request of a handle, NULL if it is MPI_REQUEST_NULL or inactive.
static struct mb_request *active(MPI_Request handle)
{
    struct mb_request *request = mb_get(handle, MB_REQUEST);
    return request != NULL && request->is_active ? request : NULL;
}

static int check(const char *call, int count, const MPI_Request *requests)
{
    if (count < 0) return mb_fail(NULL, call, MPI_ERR_COUNT, "count %d; expected at least 0", count);
    for (int i = 0; i < count; i++) {
        if (requests[i] != MPI_REQUEST_NULL && mb_get(requests[i], MB_REQUEST) == NULL)
            return mb_fail(NULL, call, MPI_ERR_REQUEST, "handle 0x%x at index %d; expected a request",
                           (unsigned)requests[i], i);
    }
    return MPI_SUCCESS;
}

static void store(MPI_Status *status, const MPI_Status *value)
{
    if (status == MPI_STATUS_IGNORE) return;
    const int kept = status->MPI_ERROR;
    *status = *value;
    status->MPI_ERROR = kept;
}

// Takes a completed request: its status, its error, and the handle of one that is not persistent.
static int take(struct mb_request *request, MPI_Request *handle, MPI_Status *status)
{
    const int error = request->error;
    store(status, &request->status);
    request->is_active = 0;
    if (!request->is_persistent) {
        mb_request_release(request);
        *handle = MPI_REQUEST_NULL;
    }
    return error;
}

static void no_status(MPI_Status *status)
{
    MPI_Status empty;
    mb_empty_status(&empty);
    store(status, &empty);
}

static int raise_one(const char *call, struct mb_comm *comm, int error)
{
    if (error == MPI_SUCCESS) return error;
    return mb_raise(comm, call, error,
                    error == MPI_ERR_TRUNCATE ? "the message does not fit into the buffer" : "failed");
}

// Takes one request, with the error handler of its communicator.
static int take_and_raise(const char *call, struct mb_request *request, MPI_Request *handle, MPI_Status *status)
{
    struct mb_comm *comm = request->comm;
    comm->refs++;
    const int error = raise_one(call, comm, take(request, handle, status));
    mb_comm_release(comm);
    return error;
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    const int error = check(__func__, 1, request);
    if (error != MPI_SUCCESS) return error;
    struct mb_request *r = active(*request);
    if (r == NULL) {
        no_status(status);
        return MPI_SUCCESS;
    }
    mb_wait_for(r);
    return take_and_raise(__func__, r, request, status);
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    const int error = check(__func__, 1, request);
    if (error != MPI_SUCCESS) return error;
    struct mb_request *r = active(*request);
    *flag = 1;
    if (r == NULL) {
        no_status(status);
        return MPI_SUCCESS;
    }
    if (!r->is_complete) mb_progress();
    *flag = r->is_complete;
    return *flag ? take_and_raise(__func__, r, request, status) : MPI_SUCCESS;
}

// Takes completed requests of a list; MPI_ERR_IN_STATUS if one of them failed.
static int take_list(const char *call, int count, MPI_Request *requests, const int *indices, MPI_Status *statuses)
{
    int failed = 0;
    for (int i = 0; i < count; i++) {
        MPI_Request *handle = &requests[indices != NULL ? indices[i] : i];
        struct mb_request *request = active(*handle);
        MPI_Status *status = statuses != MPI_STATUSES_IGNORE ? &statuses[i] : MPI_STATUS_IGNORE;
        int error = MPI_SUCCESS;
        if (request != NULL) {
            error = take(request, handle, status);
        } else {
            no_status(status);
        }
        if (status != MPI_STATUS_IGNORE) status->MPI_ERROR = error;
        if (error != MPI_SUCCESS) failed = error;
    }
    return failed ? mb_raise(NULL, call, MPI_ERR_IN_STATUS,
                             failed == MPI_ERR_TRUNCATE ? "a message does not fit into its buffer" : "a request failed")
                  : MPI_SUCCESS;
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    const int error = check(__func__, count, requests);
    if (error != MPI_SUCCESS) return error;
    // Receives first: what a send still waits for is then known to be another process.
    for (int is_send = 0; is_send < 2; is_send++) {
        for (int i = 0; i < count; i++) {
            struct mb_request *r = active(requests[i]);
            if (r != NULL && (r->kind == MB_SEND) == is_send) mb_wait_for(r);
        }
    }
    return take_list(__func__, count, requests, NULL, statuses);
}

int MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    const int error = check(__func__, count, requests);
    if (error != MPI_SUCCESS) return error;
    mb_progress();
    *flag = 1;
    for (int i = 0; i < count; i++) {
        const struct mb_request *r = active(requests[i]);
        if (r != NULL && !r->is_complete) *flag = 0;
    }
    return *flag ? take_list(__func__, count, requests, NULL, statuses) : MPI_SUCCESS;
}

// The first completed request of a list: its index, -1 if there is none, MPI_UNDEFINED if all are inactive.
static int find(int count, const MPI_Request *requests)
{
    int found = MPI_UNDEFINED;
    for (int i = 0; i < count; i++) {
        const struct mb_request *r = active(requests[i]);
        if (r == NULL) continue;
        if (r->is_complete) return i;
        found = -1;
    }
    return found;
}

int MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    const int error = check(__func__, count, requests);
    if (error != MPI_SUCCESS) return error;
    while ((*index = find(count, requests)) == -1)
        mb_progress();
    if (*index == MPI_UNDEFINED) {
        no_status(status);
        return MPI_SUCCESS;
    }
    return take_and_raise(__func__, active(requests[*index]), &requests[*index], status);
}

int MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    const int error = check(__func__, count, requests);
    if (error != MPI_SUCCESS) return error;
    mb_progress();
    *index = find(count, requests);
    *flag = *index != -1;
    if (*index >= 0) return take_and_raise(__func__, active(requests[*index]), &requests[*index], status);
    if (*flag) no_status(status);
    *index = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

// All completed requests of a list: their number, MPI_UNDEFINED if all are inactive.
static int find_all(int count, const MPI_Request *requests, int *indices)
{
    int found = 0, any = 0;
    for (int i = 0; i < count; i++) {
        const struct mb_request *r = active(requests[i]);
        if (r == NULL) continue;
        any = 1;
        if (r->is_complete) indices[found++] = i;
    }
    return any ? found : MPI_UNDEFINED;
}

int MPI_Waitsome(int count, MPI_Request requests[], int *completed, int indices[], MPI_Status statuses[])
{
    const int error = check(__func__, count, requests);
    if (error != MPI_SUCCESS) return error;
    while ((*completed = find_all(count, requests, indices)) == 0)
        mb_progress();
    return *completed > 0 ? take_list(__func__, *completed, requests, indices, statuses) : MPI_SUCCESS;
}

int MPI_Testsome(int count, MPI_Request requests[], int *completed, int indices[], MPI_Status statuses[])
{
    const int error = check(__func__, count, requests);
    if (error != MPI_SUCCESS) return error;
    mb_progress();
    *completed = find_all(count, requests, indices);
    return *completed > 0 ? take_list(__func__, *completed, requests, indices, statuses) : MPI_SUCCESS;
}

int MPI_Request_free(MPI_Request *request)
{
    struct mb_request *r = mb_get(*request, MB_REQUEST);
    if (r == NULL) return mb_fail(NULL, __func__, MPI_ERR_REQUEST, "handle 0x%x; expected a request",
                                  (unsigned)*request);
    if (r->is_active && !r->is_complete) {
        r->is_freed = 1;
    } else {
        mb_request_release(r);
    }
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

int MPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    const int error = check(__func__, 1, &request);
    if (error != MPI_SUCCESS) return error;
    const struct mb_request *r = active(request);
    if (r != NULL && !r->is_complete) mb_progress();
    *flag = r == NULL || r->is_complete;
    if (r == NULL) {
        no_status(status);
    } else if (*flag) {
        store(status, &r->status);
    }
    return MPI_SUCCESS;
}

int MPI_Cancel(MPI_Request *request)
{
    struct mb_request *r = active(*request);
    if (r == NULL || r->kind == MB_BARRIER)
        return mb_fail(r != NULL ? r->comm : NULL, __func__, MPI_ERR_REQUEST,
                       "handle 0x%x; expected an active request of a message", (unsigned)*request);
    if (!r->is_complete) mb.transport->cancel(r);
    return MPI_SUCCESS;
}

int MPI_Test_cancelled(const MPI_Status *status, int *flag)
{
    *flag = status->mb_cancelled;
    return MPI_SUCCESS;
}

int MPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *count)
{
    MB_CHECK_TYPE(t, type, NULL);
    const uint64_t bytes = mb_get_bytes(status);
    if (t->size == 0) {
        *count = bytes == 0 ? 0 : MPI_UNDEFINED;
    } else {
        *count = bytes % t->size == 0 && bytes / t->size <= 0x7fffffff ? (int)(bytes / t->size) : MPI_UNDEFINED;
    }
    return MPI_SUCCESS;
}

int MPI_Get_elements_x(const MPI_Status *status, MPI_Datatype type, MPI_Count *count)
{
    MB_CHECK_TYPE(t, type, NULL);
    *count = mb_elements(t, mb_get_bytes(status));
    if (*count < 0) *count = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

int MPI_Get_elements(const MPI_Status *status, MPI_Datatype type, int *count)
{
    MPI_Count wide = 0;
    const int error = MPI_Get_elements_x(status, type, &wide);
    *count = error != MPI_SUCCESS || wide > 0x7fffffff ? MPI_UNDEFINED : (int)wide;
    return error;
}

int MPI_Status_set_elements_x(MPI_Status *status, MPI_Datatype type, MPI_Count count)
{
    MB_CHECK_TYPE(t, type, NULL);
    const MPI_Count per_type = mb_elements(t, t->size);
    if (count < 0 || (per_type > 0 && count % per_type != 0))
        return mb_fail(NULL, __func__, MPI_ERR_COUNT, "%lld elements; expected a multiple of %lld", count, per_type);
    mb_set_bytes(status, per_type > 0 ? (uint64_t)(count / per_type) * t->size : 0);
    return MPI_SUCCESS;
}

int MPI_Status_set_elements(MPI_Status *status, MPI_Datatype type, int count)
{
    return MPI_Status_set_elements_x(status, type, count);
}

int MPI_Status_set_cancelled(MPI_Status *status, int flag)
{
    status->mb_cancelled = flag != 0;
    return MPI_SUCCESS;
}
