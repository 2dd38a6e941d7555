/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * General path of sends and receives: (buffer, count, type, peer, tag, communicator [, request or
 * status]). Inlined into each wrapper, whose role is a constant.
 */
#ifndef MBR_MESSAGES_H
#define MBR_MESSAGES_H

#include "frame.h"
#include "requests.h"

/* Registers a persistent request, for which MPI_Start writes `record`. */
void remember_persistent(struct mbr_record record, uint64_t handle, uint64_t comm_handle, struct mbr_kept *kept);

MBR_INLINE struct mbr_use use_of(const struct mbr_record *record, uint64_t handle) {
    return (struct mbr_use){.key = handle,
                            .bytes = record->bytes,
                            .peer = record->peer,
                            .tag = record->tag,
                            .number = record->request,
                            .kind = (uint8_t)record->kind};
}

/* Fills a record from the arguments; false if the communicator is unknown. */
MBR_INLINE bool message_record(struct mbr_thread *thread, struct mbr_stamp begin, const mbr_word *a, mbr_word comm_word,
                           const struct role *role, uint8_t kind, struct mbr_record *record) {
    const struct mbr_comm *comm = mbr_comm_find(thread, comm_word);
    if (!comm)
        return false;
    *record = record_of(thread, begin, kind, role->flags);
    record->origin = comm->origin;
    record->peer = mbr_peer(a[3]);
    record->tag = mbr_tag(a[4]);
    record->bytes = mbr_type_bytes(thread, a[2], count_argument(a[1], role->wide));
    return true;
}

/* Takes the shared numbers, which increase in file order, and writes the record; `handle` is that
 * of the request, null if the call blocks. */
MBR_INLINE struct mbr_open message_put(struct mbr_thread *thread, struct mbr_record *record, const uint64_t *handle) {
    mbr_lock_take(&mbr_lock);
    if (record->kind == RECV || handle)
        record->request = mbr_request_take(1);
    if (record->kind == SEND)
        record->aux = send_count(&thread->comm, record->peer);
    uint64_t slot = mbr_reserve(thread, 1);
    if (handle)
        mbr_line_join(use_of(record, *handle));
    mbr_lock_drop(&mbr_lock);
    return mbr_put_at(thread, slot, *record);
}

/* Counts a message on a communicator that is not recorded. A persistent one is counted when it starts;
 * MPI_PROC_NULL gets and sends nothing. */
struct mbr_open message_lost(struct mbr_thread *thread, struct mbr_stamp begin, const mbr_word *a, const struct role *role,
                             uint8_t kind, uint64_t spans);

/* A blocking send or receive, whose record is at `place`, that MPI refused. */
void message_refused(struct mbr_thread *thread, struct mbr_stamp begin, uint64_t *place, uint8_t kind, uint64_t spans)
    __attribute__((cold));

/* A nonblocking or persistent send or receive that MPI accepted. */
MBR_INLINE void message_started(struct mbr_thread *thread, const struct frame *frame, const mbr_word *a, const struct role *role,
                            uint8_t kind) {
    struct mbr_end end = mbr_stamp_end(thread, &frame->begin);
    struct mbr_record record;
    if (!message_record(thread, frame->begin, a, a[5], role, kind, &record)) {
        message_lost(thread, frame->begin, a, role, kind, end.spans);
        return;
    }
    uint64_t handle = mbr_handle_at(a[6], 0);
    if (role->persistent) {
        record.flags |= PERSISTENT;
        remember_persistent(record, handle, mbr_handle(a[5]), NULL);
        return;
    }
    record.spans = end.spans;
    message_put(thread, &record, &handle);
}

/* Writes the record of a blocking send or receive, to be updated when it returns. */
MBR_INLINE void message_opened(struct mbr_thread *thread, struct frame *frame, const mbr_word *a, const struct role *role, uint8_t kind) {
    struct mbr_record record;
    if (!message_record(thread, frame->begin, a, a[5], role, kind, &record)) {
        frame->open = message_lost(thread, frame->begin, a, role, kind, 0);
        frame->lost = true;
        return;
    }
    if (!is_allowed(&thread->comm, count_argument(a[1], role->wide), record.peer, record.tag, kind)) {
        lost_before(thread, frame, refused(kind));
        return;
    }
    frame->open = message_put(thread, &record, NULL);
    frame->request = record.request;
    frame->posted = posted_of(&record);
    frame->recorded = true;
}

MBR_INLINE void send_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    frame->begin = mbr_stamp_begin(thread);
    if (role->flags & BLOCKING)
        message_opened(thread, frame, a, role, SEND);
}

MBR_INLINE void send_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    if (!(role->flags & BLOCKING)) {
        if (!error)
            message_started(thread, frame, a, role, SEND);
    } else if (frame->recorded || frame->lost) {
        struct mbr_end end = mbr_stamp_end(thread, &frame->begin);
        if (frame->recorded && mbr_is_refusal(error))
            message_refused(thread, frame->begin, frame->open.place, SEND, end.spans);
        else
            close_spans(frame, &end);
    }
}

MBR_INLINE void recv_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    frame->begin = mbr_stamp_begin(thread);
    if (!(role->flags & BLOCKING))
        return;
    message_opened(thread, frame, a, role, RECV);
    if (frame->recorded)
        frame->status = own_status(thread, &a[6], 1);
}

MBR_INLINE void recv_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    if (!(role->flags & BLOCKING)) {
        if (!error)
            message_started(thread, frame, a, role, RECV);
    } else if (frame->recorded) {
        struct mbr_end end = mbr_stamp_end(thread, &frame->begin);
        if (mbr_is_refusal(error)) {
            message_refused(thread, frame->begin, frame->open.place, RECV, end.spans);
            return;
        }
        close_spans(frame, &end);
        append_done(thread, &end.stamp, frame->request, &frame->posted, frame->status, error);
    } else {
        lost_after(thread, frame);
    }
}

#endif
