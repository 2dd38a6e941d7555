/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Sends and receives in general, matched receives, both in one call, and probes.
 */
#include "messages.h"

void append_done(struct mbr_thread *thread, const struct mbr_stamp *end, uint32_t request, const struct posted *posted,
                 mbr_word status, int error) {
    struct mbr_status read = status_given(status);
    struct mbr_record done = record_of(thread, *end, DONE, 0);
    done.request = request;
    fill_done(&done, posted, &read, error);
    mbr_append(thread, done);
}

struct mbr_open append_lost(struct mbr_thread *thread, struct mbr_stamp begin, enum other what, uint64_t spans) {
    struct mbr_record record = record_of(thread, begin, OTHER, 0);
    record.aux = what;
    record.spans = spans;
    return mbr_append(thread, record);
}

void replace_refused(struct mbr_thread *thread, struct mbr_stamp begin, uint64_t *place, enum other what, uint64_t spans) {
    struct mbr_record record = record_of(thread, begin, OTHER, 0);
    record.aux = what;
    record.spans = spans;
    mbr_replace(thread, place, record);
}

/* MPI refused a send that is counted already: later ones to this destination count without it. Where another thread
 * counted one in between, both stay. */
static bool send_uncount(const struct mbr_comm *comm, int32_t peer, uint64_t earlier) {
    mbr_lock_take(&mbr_lock);
    bool is_last = peer < 0 || comm->sent[peer] == earlier + 1;
    if (is_last && peer >= 0)
        comm->sent[peer]--;
    mbr_lock_drop(&mbr_lock);
    return is_last;
}

void message_refused(struct mbr_thread *thread, struct mbr_stamp begin, uint64_t *place, uint8_t kind, uint64_t spans) {
    if (kind == SEND && !send_uncount(&thread->comm, (int32_t)place[1], place[7]))
        return;
    replace_refused(thread, begin, place, refused(kind), spans);
}

struct mbr_open message_lost(struct mbr_thread *thread, struct mbr_stamp begin, const mbr_word *a, const struct role *role,
                             uint8_t kind, uint64_t spans) {
    if (role->persistent || mbr_peer(a[3]) == TRACE_PROC_NULL)
        return (struct mbr_open){.place = thread->nowhere};
    return append_lost(thread, begin, kind == SEND ? OTHER_LOST_SEND : OTHER_LOST_RECEIVE, spans);
}

void remember_persistent(struct mbr_record record, uint64_t handle, uint64_t comm_handle, struct mbr_kept *kept) {
    mbr_lock_take(&mbr_lock);
    struct mbr_entry *entry = mbr_request_add(use_of(&record, handle));
    if (entry) {
        entry->persistent = true;
        entry->flags = record.flags & ~CPU_CARRIED;
        entry->comm = (uint32_t)(record.origin >> 32);
        entry->comm_handle = comm_handle;
        entry->kept = kept;
    }
    mbr_lock_drop(&mbr_lock);
}

static uint32_t take_numbers(uint32_t count) {
    mbr_lock_take(&mbr_lock);
    uint32_t first = mbr_request_take(count);
    mbr_lock_drop(&mbr_lock);
    return first;
}

/* A receive that was posted as `frame` says. */
static struct mbr_use posted_use(const struct frame *frame, uint32_t number, uint64_t handle) {
    return (struct mbr_use){.key = handle,
                            .bytes = frame->posted.room,
                            .peer = frame->posted.peer,
                            .tag = frame->posted.tag,
                            .number = number,
                            .kind = RECV};
}

/* Takes a message out of the table and makes the record of its receive; false if its probe was not
 * seen. */
static bool mrecv_record(struct mbr_thread *thread, struct frame *frame, const mbr_word *a, const struct role *role, uint64_t key,
                         struct mbr_record *record) {
    *record = record_of(thread, frame->begin, RECV, role->flags);
    mbr_lock_take(&mbr_lock);
    const struct mbr_entry *message = mbr_entry_oldest(key);
    bool is_known = message;
    if (is_known) {
        bool from_null = message->use.peer == TRACE_PROC_NULL;
        record->flags |= from_null ? 0 : MATCHED;
        record->origin |= mbr_origin(0, message->comm);
        record->peer = from_null ? TRACE_PROC_NULL : TRACE_ANY_SOURCE;
        record->tag = TRACE_ANY_TAG;
        record->aux = from_null ? 0 : message->use.number;
        mbr_entry_pop(key);
        record->request = mbr_request_take(1);
    }
    mbr_lock_drop(&mbr_lock);
    if (!is_known)
        return false;
    record->bytes = mbr_type_bytes(thread, a[2], count_argument(a[1], role->wide));
    return true;
}

/* A message that a probe matched, or the null message. */
static void message_keep(uint64_t key, uint32_t number, int32_t peer, uint32_t comm) {
    mbr_lock_take(&mbr_lock);
    struct mbr_entry *entry = mbr_entry_push(key);
    if (entry) {
        entry->use.kind = PROBE;
        entry->use.number = number;
        entry->use.peer = peer;
        entry->comm = comm;
    }
    mbr_lock_drop(&mbr_lock);
}

/* MPI refused to receive the message of this frame, which can be received still. */
static void message_return(const struct frame *frame) {
    const uint64_t *place = frame->open.place;
    message_keep(frame->message, (uint32_t)place[7], frame->posted.peer, (uint32_t)(place[0] >> 32));
}

/* MPI_Mrecv and MPI_Imrecv: (buffer, count, type, message, status or request). */
void mrecv_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    struct mbr_record record;
    frame->begin = mbr_stamp_begin(thread);
    frame->message = mbr_handle_given(a[3]) | MBR_MESSAGE_KEY;
    if (!(role->flags & BLOCKING))
        return;
    if (!mrecv_record(thread, frame, a, role, frame->message, &record)) {
        lost_before(thread, frame, OTHER_LOST_RECEIVE);
        return;
    }
    frame->recorded = true;
    frame->request = record.request;
    frame->posted = posted_of(&record);
    frame->open = mbr_append(thread, record);
    frame->status = own_status(thread, &a[4], 1);
}

void mrecv_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    lost_after(thread, frame);
    if (role->flags & BLOCKING ? !frame->recorded : error)
        return;
    struct mbr_end end = mbr_stamp_end(thread, &frame->begin);
    struct mbr_record record;
    if (role->flags & BLOCKING && mbr_is_refusal(error)) {
        message_return(frame);
        replace_refused(thread, frame->begin, frame->open.place, OTHER_REFUSED_RECEIVE, end.spans);
    } else if (role->flags & BLOCKING) {
        close_spans(frame, &end);
        append_done(thread, &end.stamp, frame->request, &frame->posted, frame->status, error);
    } else if (mrecv_record(thread, frame, a, role, frame->message, &record)) {
        record.spans = end.spans;
        mbr_append(thread, record);
        mbr_lock_take(&mbr_lock);
        mbr_line_join(use_of(&record, mbr_handle_at(a[4], 0)));
        mbr_lock_drop(&mbr_lock);
    } else {
        append_lost(thread, frame->begin, OTHER_LOST_RECEIVE, end.spans);
    }
}

/* --- a send and a receive in one call: (buffer, count, type, destination, tag, ...) --- */

/* Reserves `count` records and fills the first two with the halves of the call, the second with the
 * spans of all. What was asked for is left in `frame`. Returns the slot of the first, 0 if the
 * communicator is not known or MPI refuses the arguments; `frame->refused` says which. */
static uint64_t sendrecv_put(struct mbr_thread *thread, struct frame *frame, const mbr_word *a, const struct role *role,
                             uint64_t spans, uint64_t count) {
    struct mbr_record send, recv = record_of(thread, frame->begin, RECV, SENDRECV);
    if (!message_record(thread, frame->begin, a, a[role->comm], role, SEND, &send))
        return 0;
    send.flags = recv.flags; /* the call may block, neither half does */
    recv.origin = send.origin;
    recv.peer = mbr_peer(a[role->recv[2]]);
    recv.tag = mbr_tag(a[role->recv[3]]);
    recv.bytes = mbr_type_bytes(thread, a[role->recv[1]], count_argument(a[role->recv[0]], role->wide));
    recv.spans = spans;
    const int64_t counts[] = {count_argument(a[1], role->wide), count_argument(a[role->recv[0]], role->wide)};
    frame->refused = !is_allowed(&thread->comm, counts[0], send.peer, send.tag, SEND) ||
                     !is_allowed(&thread->comm, counts[1], recv.peer, recv.tag, RECV);
    if (frame->refused)
        return 0;
    mbr_lock_take(&mbr_lock);
    send.request = frame->request = mbr_request_take(2);
    send.aux = send_count(&thread->comm, send.peer);
    uint64_t slot = mbr_reserve(thread, count);
    mbr_lock_drop(&mbr_lock);
    recv.request = send.request + 1;
    mbr_put_at(thread, slot, send);
    mbr_put_at(thread, slot + 1, recv);
    frame->posted = posted_of(&recv);
    return slot;
}

/* Counts both halves of a call that is not recorded; the second one has the spans. */
static struct mbr_open sendrecv_lost(struct mbr_thread *thread, const struct frame *frame, const mbr_word *a, const struct role *role,
                                     uint64_t spans) {
    if (frame->refused) {
        append_lost(thread, frame->begin, OTHER_REFUSED_SEND, 0);
        return append_lost(thread, frame->begin, OTHER_REFUSED_RECEIVE, spans);
    }
    if (mbr_peer(a[3]) != TRACE_PROC_NULL)
        append_lost(thread, frame->begin, OTHER_LOST_SEND, 0);
    if (mbr_peer(a[role->recv[2]]) == TRACE_PROC_NULL)
        return (struct mbr_open){.place = thread->nowhere};
    return append_lost(thread, frame->begin, OTHER_LOST_RECEIVE, spans);
}

void sendrecv_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    frame->begin = mbr_stamp_begin(thread);
    frame->refused = false;
    if (!(role->flags & BLOCKING))
        return;
    uint64_t slot = sendrecv_put(thread, frame, a, role, 0, 3);
    if (!slot) {
        frame->open = sendrecv_lost(thread, frame, a, role, 0);
        frame->lost = true;
        return;
    }
    frame->open = mbr_put_at(thread, slot + 2, record_of(thread, frame->begin, WAIT, BLOCKING));
    frame->status = own_status(thread, &a[role->status], 1);
    frame->count = slot;
    frame->recorded = true;
}

/* Makes the halves of a call that MPI refused Others, and its Wait one of no request. */
static void sendrecv_refused(struct mbr_thread *thread, struct frame *frame, const struct mbr_end *end) {
    close_open(frame, end, 0);
    uint64_t *send = mbr_place(thread, frame->count);
    message_refused(thread, frame->begin, send, SEND, 0);
    replace_refused(thread, frame->begin, mbr_place(thread, frame->count + 1), OTHER_REFUSED_RECEIVE, 0);
}

void sendrecv_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    struct mbr_end end = mbr_stamp_end(thread, &frame->begin);
    if (frame->recorded && mbr_is_refusal(error)) {
        sendrecv_refused(thread, frame, &end);
        return;
    }
    if (frame->recorded) {
        close_open(frame, &end, 2);
        struct mbr_record done = record_of(thread, end.stamp, DONE, 0);
        done.request = frame->request;
        mbr_append(thread, done);
        append_done(thread, &end.stamp, frame->request + 1, &frame->posted, frame->status, error);
        return;
    }
    lost_after(thread, frame);
    if ((role->flags & BLOCKING) || error)
        return;
    if (!sendrecv_put(thread, frame, a, role, end.spans, 2)) {
        sendrecv_lost(thread, frame, a, role, end.spans);
        return;
    }
    mbr_lock_take(&mbr_lock);
    struct mbr_entry *entry = mbr_request_add(posted_use(frame, frame->request + 1, mbr_handle_at(a[role->request], 0)));
    if (entry)
        entry->paired = true;
    mbr_lock_drop(&mbr_lock);
}

/* --- probes --- */

void probe_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    frame->begin = mbr_stamp_begin(thread);
    const struct mbr_comm *comm = mbr_comm_find(thread, a[2]);
    if (!comm) {
        if (role->flags & BLOCKING && mbr_peer(a[0]) != TRACE_PROC_NULL)
            lost_before(thread, frame, OTHER_LOST_PROBE);
        return;
    }
    if (!is_allowed(comm, 0, mbr_peer(a[0]), mbr_tag(a[1]), PROBE)) {
        lost_before(thread, frame, OTHER_REFUSED_PROBE);
        return;
    }
    frame->recorded = true;
    frame->status = own_status(thread, &a[role->status], 1);
    if (!(role->flags & BLOCKING))
        return;
    struct mbr_record record = record_of(thread, frame->begin, PROBE, role->flags);
    record.origin = comm->origin;
    record.peer = mbr_peer(a[0]);
    record.tag = mbr_tag(a[1]);
    record.request = frame->request = take_numbers(1);
    frame->posted = posted_of(&record);
    frame->open = mbr_append(thread, record);
}

void probe_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    const struct mbr_comm *comm = frame->recorded ? mbr_comm_find(thread, a[2]) : NULL;
    lost_after(thread, frame);
    if (!frame->recorded && !frame->lost && !error && role->flag && *(const int *)a[role->flag] && mbr_peer(a[0]) != TRACE_PROC_NULL) {
        struct mbr_end end = mbr_stamp_end(thread, &frame->begin);
        append_lost(thread, frame->begin, OTHER_LOST_PROBE, end.spans);
    }
    if (!comm)
        return;
    struct mbr_end end = mbr_stamp_end(thread, &frame->begin);
    if (role->flags & BLOCKING) {
        if (mbr_is_refusal(error)) {
            replace_refused(thread, frame->begin, frame->open.place, OTHER_REFUSED_PROBE, end.spans);
            return;
        }
        close_spans(frame, &end);
    } else {
        if (error)
            return;
        bool found = *(const int *)a[role->flag];
        struct mbr_record record =
            record_of(thread, frame->begin, found ? PROBE : MISS, role->flags | (found ? 0 : MISS_PROBE));
        record.origin = comm->origin;
        record.peer = mbr_peer(a[0]);
        record.tag = mbr_tag(a[1]);
        record.spans = end.spans;
        if (!found) {
            append_miss(thread, record);
            return;
        }
        record.request = frame->request = take_numbers(1);
        frame->posted = posted_of(&record);
        mbr_append(thread, record);
    }
    append_done(thread, &end.stamp, frame->request, &frame->posted, frame->status, error);
    if (role->message && !error)
        message_keep(mbr_handle_at(a[role->message], 0) | MBR_MESSAGE_KEY, frame->request,
                     mbr_peer(a[0]) == TRACE_PROC_NULL ? TRACE_PROC_NULL : TRACE_ANY_SOURCE, comm->number);
}
