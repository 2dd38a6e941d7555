// SPDX-License-Identifier: Apache-2.0 OR MIT
// Descriptors of this process, in the order in which they were posted.

#include "device.h"

// Polls of requests that are not waited for, in each call.
enum { TURNS = 2 };

static struct mb_request *first, *last, *turn;
static int descriptors;

int mb_device_descriptors(void)
{
    return descriptors;
}

static void append(struct mb_request *request)
{
    request->place = MB_DEVICE;
    request->next = NULL;
    request->previous = last;
    *(last != NULL ? &last->next : &first) = request;
    last = request;
    descriptors++;
}

static void remove_request(struct mb_request *request)
{
    if (turn == request) turn = request->next;
    *(request->previous != NULL ? &request->previous->next : &first) = request->next;
    *(request->next != NULL ? &request->next->previous : &last) = request->previous;
    descriptors--;
}

// The device moves contiguous bytes: other layouts have a packed copy.
static unsigned char *bytes_of(struct mb_request *request)
{
    if (request->bytes == 0) return NULL;
    if (mb_is_contiguous(request->type, request->count)) return mb_first(request->type, request->buffer);
    request->packed = mb_allocate(request->bytes);
    if (request->kind == MB_SEND)
        mb_pack(request->type, request->count, request->buffer, 0, request->packed, request->bytes);
    return request->packed;
}

static void drop_copy(struct mb_request *request)
{
    free(request->packed);
    request->packed = NULL;
}

static void store_buffer(struct mb_request *request)
{
    // A receive may have more room than a descriptor can say, a message may not.
    const size_t length = request->bytes < MOPED_LENGTH_MAX ? request->bytes : MOPED_LENGTH_MAX;
    if (request->kind == MB_SEND && request->bytes > MOPED_LENGTH_MAX)
        mb_panic("a message of %zu bytes; the device moves at most %lu", request->bytes, MOPED_LENGTH_MAX);
    if (length == 0) return;
    mb_port_store(request->descriptor, MOPED_ADDRESS, (uintptr_t)bytes_of(request));
    mb_port_store(request->descriptor, MOPED_LENGTH, length);
}

int mb_device_post(struct mb_request *request)
{
    request->descriptor = mb_port_reserve();
    if (request->descriptor == MOPED_REFUSED) {
        atomic_fetch_add_explicit(&mb_shared->refusals.value, 1, memory_order_relaxed);
        return 0;
    }
    store_buffer(request);
    const int is_send = request->kind == MB_SEND;
    const int any_rank = !is_send && request->peer == MPI_ANY_SOURCE, any_tag = !is_send && request->tag == MPI_ANY_TAG;
    uint64_t tag = any_tag ? 0 : (uint64_t)(uint32_t)request->tag;
    if (is_send) tag |= (uint64_t)request->world << 32;
    mb_port_store(request->descriptor, MOPED_TAG, tag);
    mb_port_release();
    const uint32_t rank = (uint32_t)(is_send ? request->source : any_rank ? 0 : request->peer);
    mb_port_store(request->descriptor, MOPED_GO,
                  moped_go(is_send ? MOPED_SEND : MOPED_RECEIVE, (uint32_t)request->context, rank, any_rank, any_tag));
    append(request);
    return 1;
}

// The process accesses its buffer itself: the kernel stops it where it must not, and names address and call. If it
// may access all of it, the other buffer is the bad one.
static _Noreturn void bad_buffer(const struct mb_request *request)
{
    enum { PAGE = 4096 };
    volatile unsigned char *bytes = request->packed != NULL ? request->packed : mb_first(request->type, request->buffer);
    for (size_t i = 0; i < request->bytes; i += PAGE - (uintptr_t)&bytes[i] % PAGE) {
        const unsigned char byte = bytes[i];
        if (request->kind == MB_RECEIVE) bytes[i] = byte;
    }
    const int is_send = request->kind == MB_SEND;
    mb_panic("the buffer with which rank %d %s a message is not mapped",
             is_send ? request->peer : (int)mb_port_poll(request->descriptor, MOPED_SOURCE),
             is_send ? "receives" : "sends");
}

// A descriptor has reached a final state, which PEEK has told; STATE frees it.
static void finish(struct mb_request *request, uint32_t state)
{
    mb_port_acquire();
    if ((state & MOPED_STATE_BITS) == MOPED_BAD_BUFFER) bad_buffer(request);
    if (request->kind == MB_RECEIVE) {
        // A poll takes two accesses of the device: what the receive names is not asked for.
        const int is_any_source = request->peer == MPI_ANY_SOURCE, is_any_tag = request->tag == MPI_ANY_TAG;
        const int source = is_any_source ? (int)mb_port_poll(request->descriptor, MOPED_SOURCE) : request->peer;
        const int tag = is_any_tag ? (int)mb_port_poll(request->descriptor, MOPED_TAGGED) : request->tag;
        mb_matched(request, source, tag, mb_port_poll(request->descriptor, MOPED_BYTES));
        mb_port_poll(request->descriptor, MOPED_STATE);
        if (request->packed != NULL)
            mb_unpack(request->type, request->count, request->buffer, 0, request->packed, request->limit);
    }
    drop_copy(request);
    remove_request(request);
    mb_complete(request);
}

// The state of a request. A completed receive keeps its descriptor: it has the status.
static uint32_t state_of(const struct mb_request *request)
{
    if (request->kind == MB_SEND) return mb_port_poll(request->descriptor, MOPED_STATE);
    const uint32_t state = mb_port_poll(request->descriptor, MOPED_PEEK);
    if ((state & MOPED_STATE_BITS) == MOPED_REVOKED) mb_port_poll(request->descriptor, MOPED_STATE);
    return state;
}

static int is_completed(uint32_t state)
{
    return (state & MOPED_STATE_BITS) == MOPED_COMPLETE || (state & MOPED_STATE_BITS) == MOPED_BAD_BUFFER;
}

// Whether the request completed or back-off began.
static int poll(struct mb_request *request)
{
    const uint32_t state = state_of(request);
    if (is_completed(state)) {
        finish(request, state);
        return 1;
    }
    if ((state & MOPED_STATE_BITS) != MOPED_REVOKED) return 0;
    request->is_revoked = 1;
    mb_backoff_begin();
    return 1;
}

int mb_device_poll(void)
{
    int any = 0;
    struct mb_request *waited = mb.waited;
    if (waited != NULL && waited->place == MB_DEVICE && !waited->is_complete) any = poll(waited);
    for (int i = 0; i < TURNS && first != NULL; i++) {
        struct mb_request *request = turn != NULL ? turn : first;
        turn = request->next;
        if (request != waited) any |= poll(request);
    }
    return any;
}

void mb_device_revoke(struct mb_request **revoked)
{
    for (struct mb_request *request = first, *next; request != NULL; request = next) {
        next = request->next;
        uint32_t state = MOPED_REVOKED;
        while (!request->is_revoked && (state = state_of(request)) == MOPED_PENDING) {
        }
        if (is_completed(state)) finish(request, state);
        if ((state & MOPED_STATE_BITS) != MOPED_REVOKED) continue;
        atomic_fetch_add_explicit(&mb_shared->revocations.value, 1, memory_order_relaxed);
        remove_request(request);
        drop_copy(request);
        request->is_revoked = 0;
        request->next = NULL;
        *revoked = request;
        revoked = &request->next;
    }
}

struct mb_request *mb_device_take_revoked(void)
{
    struct mb_request *request = first;
    while (request != NULL && !request->is_revoked)
        request = request->next;
    if (request == NULL) return NULL;
    atomic_fetch_add_explicit(&mb_shared->revocations.value, 1, memory_order_relaxed);
    remove_request(request);
    drop_copy(request);
    request->is_revoked = 0;
    return request;
}

int mb_device_withdraw(struct mb_request *request)
{
    uint32_t state;
    mb_port_store(request->descriptor, MOPED_CANCEL, 0);
    while ((state = mb_port_poll(request->descriptor, MOPED_PEEK)) == MOPED_PENDING) {
    }
    if (state != MOPED_CANCELLED && state != MOPED_REVOKED) return 0;
    mb_port_poll(request->descriptor, MOPED_STATE);
    remove_request(request);
    drop_copy(request);
    return 1;
}

struct mb_request *mb_device_youngest_send(const struct mb_request *down_to, struct mb_request *after)
{
    for (struct mb_request *r = after != NULL ? after->previous : last; r != NULL; r = r->previous) {
        if (r->kind == MB_SEND && r->world == down_to->world) return r;
        if (r == down_to) break;
    }
    return NULL;
}

int mb_device_probe(int context, int source, int tag, MPI_Status *status, struct mb_message *message)
{
    const uint32_t descriptor = mb_port_reserve();
    if (descriptor == MOPED_REFUSED) {
        atomic_fetch_add_explicit(&mb_shared->refusals.value, 1, memory_order_relaxed);
        return -1;
    }
    const int any_rank = source == MPI_ANY_SOURCE, any_tag = tag == MPI_ANY_TAG;
    mb_port_store(descriptor, MOPED_TAG, any_tag ? 0 : (uint64_t)(uint32_t)tag);
    mb_port_store(descriptor, MOPED_GO,
                  moped_go(message != NULL ? MOPED_MATCHED_PROBE : MOPED_PROBE, (uint32_t)context,
                           any_rank ? 0 : (uint32_t)source, any_rank, any_tag));
    uint32_t state;
    while ((state = mb_port_poll(descriptor, MOPED_PEEK)) == MOPED_PENDING || state == MOPED_MATCHED) {
    }
    state &= MOPED_STATE_BITS;
    if (state == MOPED_COMPLETE || state == MOPED_FOUND) {
        status->MPI_SOURCE = (int)mb_port_poll(descriptor, MOPED_SOURCE);
        status->MPI_TAG = (int)mb_port_poll(descriptor, MOPED_TAGGED);
        mb_set_bytes(status, mb_port_poll(descriptor, MOPED_BYTES));
    }
    if (state == MOPED_FOUND) {
        message->descriptor = descriptor;
        descriptors++;
        return 1;
    }
    mb_port_poll(descriptor, MOPED_STATE);
    return state == MOPED_REVOKED ? -1 : state == MOPED_COMPLETE;
}

void mb_device_take(struct mb_request *request, struct mb_message *message)
{
    descriptors--;
    request->descriptor = message->descriptor;
    store_buffer(request);
    mb_port_release();
    mb_port_store(request->descriptor, MOPED_GO, moped_go(MOPED_TAKE, 0, 0, 0, 0));
    append(request);
}
