// SPDX-License-Identifier: Apache-2.0 OR MIT
// Transport moped: the device matches and moves messages; the software scheme serves in back-off.

#include "device.h"
#include "ring.h"

static size_t eager_limit, patience;

// Messages that a probe has found in the device. A probe finds them again, also while they are on their
// way to the software queue after a back-off.
static struct found {
    int context;
    MPI_Status status;
    unsigned since; // number of the last receive before
    int receives;   // that were posted since and may take the message
} *found;
static int found_count, found_capacity;
// Number of the last receive that was posted while there were found messages.
static unsigned last_receive;

static int accepts(const struct found *f, int context, int source, int tag)
{
    return f->context == context && (source == MPI_ANY_SOURCE || source == f->status.MPI_SOURCE) &&
           (tag == MPI_ANY_TAG || tag == f->status.MPI_TAG);
}

static const struct found *find(int context, int source, int tag)
{
    for (int i = 0; i < found_count; i++) {
        if (found[i].receives == 0 && accepts(&found[i], context, source, tag)) return &found[i];
    }
    return NULL;
}

static void remember(int context, const MPI_Status *status)
{
    if (find(context, status->MPI_SOURCE, status->MPI_TAG) != NULL) return;
    if (found_count == found_capacity) {
        struct found *more = mb_allocate((size_t)(2 * found_capacity + 8) * sizeof *more);
        if (found_count > 0) memcpy(more, found, (size_t)found_count * sizeof *more);
        free(found);
        found = more;
        found_capacity = 2 * found_capacity + 8;
    }
    found[found_count++] = (struct found){context, *status, last_receive, 0};
}

// A message was taken by a matched probe, or withdrawn.
static void forget(int context, int source, int tag)
{
    int kept = 0;
    for (int i = 0; i < found_count; i++) {
        if (!accepts(&found[i], context, source, tag)) found[kept++] = found[i];
    }
    found_count = kept;
}

// A receive with wildcards may take one of several found messages. Which one, its status says at the end.
static void may_take(struct mb_request *receive)
{
    if (found_count == 0) return;
    receive->number = ++last_receive;
    for (int i = 0; i < found_count; i++)
        found[i].receives += accepts(&found[i], receive->context, receive->peer, receive->tag);
}

static void received(struct mb_request *receive)
{
    const MPI_Status *status = &receive->status;
    int kept = 0;
    for (int i = 0; i < found_count; i++) {
        struct found *f = &found[i];
        if (f->since < receive->number && accepts(f, receive->context, receive->peer, receive->tag)) {
            if (!status->mb_cancelled && accepts(f, receive->context, status->MPI_SOURCE, status->MPI_TAG)) continue;
            f->receives--;
        }
        found[kept++] = *f;
    }
    found_count = kept;
    receive->number = 0;
}

static void start(void)
{
    mb_shm_start();
    // Most of the time there are none.
    mb_ring_announce();
    mb_backoff_start();
    mb_shm_withdrawn = forget;
    eager_limit = mb_option_number("MB_MPI_EAGER", 16384, 0, (size_t)1 << 30);
    patience = mb_option_number("MB_MPI_PATIENCE", 64, 0, 1000000000);
}

static void send(struct mb_request *request)
{
    if (!mb_sends_in_software()) {
        if (mb_device_post(request)) return;
        mb_backoff_begin();
    }
    mb_shm_send(request);
}

static void receive(struct mb_request *request)
{
    may_take(request);
    if (!mb_receives_in_software()) {
        if (mb_shm_receive_unexpected(request) || mb_device_post(request)) return;
        mb_backoff_begin();
    }
    mb_shm_receive(request);
}

static int progress(void)
{
    int any = mb_backoff_progress();
    any |= mb_device_poll();
    any |= mb_shm_progress();
    return any;
}

static void cancel(struct mb_request *request)
{
    if (request->place != MB_DEVICE) {
        mb_shm_cancel(request);
    } else if (mb_device_withdraw(request)) {
        if (request->kind == MB_SEND) mb_shm_send_withdrawn(request);
        request->status.mb_cancelled = 1;
        mb_complete(request);
    }
}

static int look(int context, int source, int tag, MPI_Status *status, struct mb_message *message)
{
    for (;;) {
        if (mb_shm_probe(context, source, tag, status, message)) {
            if (message != NULL) forget(context, status->MPI_SOURCE, status->MPI_TAG);
            return 1;
        }
        if (!mb_receives_in_software()) {
            const int result = mb_device_probe(context, source, tag, status, message);
            if (result == 0) return 0;
            if (result > 0) break;
            mb_backoff_begin();
        }
        const struct found *before = find(context, source, tag);
        if (before == NULL) return 0;
        if (message == NULL) {
            *status = before->status;
            return 1;
        }
        mb_progress();
    }
    if (message != NULL) {
        forget(context, status->MPI_SOURCE, status->MPI_TAG);
    } else {
        remember(context, status);
    }
    return 1;
}

// A message that its sender withdraws (`stalled`) is for a moment in neither place. A probe that finds nothing says so
// only if no withdrawal has begun since the packets of earlier ones were handled.
static int probe(int context, int source, int tag, MPI_Status *status, struct mb_message *message)
{
    static uint64_t handled;
    for (;;) {
        if (look(context, source, tag, status, message)) return 1;
        mb_port_acquire();
        uint64_t withdrawals = mb_ring_withdrawals();
        if (withdrawals == handled) return 0;
        while (mb_ring_is_withdrawing(withdrawals)) {
            mb_progress();
            withdrawals = mb_ring_withdrawals();
        }
        handled = withdrawals;
        mb_progress();
    }
}

static void receive_message(struct mb_request *request, struct mb_message *message)
{
    if (message->unexpected != NULL) {
        mb_shm_receive_message(request, message);
    } else {
        mb_device_take(request, message);
    }
}

// A send from a copy that the library owns, in the place of a request of the program.
static struct mb_request *from_copy(const struct mb_request *request)
{
    unsigned char *copy = mb_allocate(request->bytes);
    mb_pack(request->type, request->count, request->buffer, 0, copy, request->bytes);
    struct mb_request *made = mb_request_new(MB_SEND, request->comm, mb_basic(MPI_BYTE));
    made->buffer = made->owned = copy;
    made->count = made->bytes = request->bytes;
    made->peer = request->peer;
    made->tag = request->tag;
    made->context = request->context;
    made->source = request->source;
    made->world = request->world;
    made->is_active = 1;
    made->is_freed = 1;
    return made;
}

// A standard send of eager size may be completed before it is received, and programs count on that. If
// its receive does not come, it is withdrawn and sent from a copy; so are, in their order, the younger
// ones to the same process, which would overtake it.
static void stalled(struct mb_request *request)
{
    if (request->kind != MB_SEND || request->mode == MB_SYNCHRONOUS || request->place != MB_DEVICE) return;
    if (request->bytes >= eager_limit || request->owned != NULL || ++request->polls < patience) return;
    // One that is matched, also by a matched probe whose message is not received yet, stays. A withdrawal of nothing,
    // announced again and again, would keep the probes of the receiver from returning.
    if (mb_port_poll(request->descriptor, MOPED_PEEK) != MOPED_PENDING) return;
    struct mb_request *again = NULL, *matched = NULL, *candidate;
    const int to = request->world;
    mb_ring_begin_withdrawal(to);
    mb_port_release();
    while (matched != request && (candidate = mb_device_youngest_send(request, matched)) != NULL) {
        if (mb_device_withdraw(candidate)) {
            candidate->next = again;
            again = candidate;
            if (candidate == request) break;
        } else {
            matched = candidate;
        }
    }
    for (struct mb_request *next; again != NULL; again = next) {
        next = again->next;
        if (again == request) {
            send(from_copy(request));
            mb_complete(request);
        } else {
            send(again);
        }
    }
    // A probe finds them from here on.
    while (mb_port_poll(0, MOPED_IN_FLIGHT) != 0) {
    }
    mb_port_acquire();
    mb_ring_end_withdrawal(to);
}

static void end(void)
{
    mb_shm_end();
}

const struct mb_transport mb_moped = {
    .name = "moped",
    .start = start,
    .end = end,
    .send = send,
    .receive = receive,
    .progress = progress,
    .cancel = cancel,
    .probe = probe,
    .receive_message = receive_message,
    .stalled = stalled,
    .received = received,
};
