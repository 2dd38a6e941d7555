/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Sends and receives: (buffer, count, type, peer, tag, communicator [, request or status]). Most calls of most programs are these,
 * so they are inlined into each wrapper, which knows its role.
 */
#ifndef MBR_MESSAGES_H
#define MBR_MESSAGES_H

#include "frame.h"
#include "requests.h"

/* The parts of a record that the arguments give, but for the size. */
MBR_INLINE struct mbr_record message_record(struct mbr_thread *thread, struct mbr_stamp begin, const struct mbr_comm *comm,
                                            const mbr_word *a, const struct role *role, uint8_t kind) {
    struct mbr_record record = record_of(thread, begin, kind, role->flags);
    record.origin = comm->origin;
    record.peer = mbr_peer(a[3]);
    record.tag = mbr_tag(a[4]);
    return record;
}

/* What stands behind a persistent request: MPI_Start will write `record`. */
void remember_persistent(struct mbr_record record, uint64_t handle, uint64_t comm_handle, struct mbr_kept *kept);

/* What a message takes of what threads share, besides the slot of its record: in the file all of these count up. */
enum share { A_NUMBER = 1, A_SEND = 2, IN_LINE = 4 };

MBR_INLINE enum share message_shares(const struct role *role, uint8_t kind) {
    return (kind == SEND ? A_SEND : A_NUMBER) | (role->flags & BLOCKING ? 0 : A_NUMBER | IN_LINE);
}

/* Takes them and completes the record. `handle` is that of the request if it gets in line. Under `mbr_lock`, with the slot. */
MBR_INLINE void message_take(const struct mbr_comm *comm, struct mbr_record *record, enum share shares, uint64_t handle) {
    if (shares & A_NUMBER)
        record->request = mbr_request_take(1);
    if (shares & A_SEND)
        record->aux = send_count(comm, record->peer);
    if (shares & IN_LINE)
        mbr_line_join((struct mbr_use){.key = handle,
                                       .bytes = record->bytes,
                                       .peer_and_tag = mbr_pair((uint32_t)record->peer, (uint32_t)record->tag),
                                       .number = record->request,
                                       .kind = (uint8_t)record->kind});
}

/* Whether all is at hand that the record of a message needs: the usual case, which is inlined into each wrapper without a call. */
MBR_INLINE bool message_is_near(const struct mbr_thread *thread, const mbr_word *a, const struct role *role) {
    return __builtin_expect(thread->comm_word == a[5], 1) && __builtin_expect(thread->type.word == a[2], 1) &&
           __builtin_expect((uint64_t)count_argument(a[1], role->wide) <= INT32_MAX, 1) && mbr_is_near(thread, 1) &&
           (role->flags & BLOCKING || mbr_line_has_room());
}

/* Writes the record of such a message and leaves in `record` what it says. */
MBR_INLINE struct mbr_open message_put_near(struct mbr_thread *thread, struct mbr_stamp begin, uint64_t spans, const mbr_word *a,
                                            const struct role *role, uint8_t kind, struct mbr_record *record) {
    *record = message_record(thread, begin, &thread->comm, a, role, kind);
    record->bytes = mbr_type_bytes_near(thread, count_argument(a[1], role->wide));
    record->spans = spans;
    struct mbr_spot spot = mbr_spot_near(thread);
    message_take(&thread->comm, record, message_shares(role, kind), role->flags & BLOCKING ? 0 : mbr_handle_at(a[6], 0));
    return mbr_put(spot, *record);
}

/* The other cases. The first returns false if the communicator is not known; `now` of the second is the reading at its end. */
bool message_opened_far(struct mbr_thread *thread, const struct mbr_stamp *begin, const mbr_word *a, const struct role *role,
                        uint8_t kind, struct mbr_record *record, struct mbr_open *open);
void message_started_far(struct mbr_thread *thread, uint64_t now, uint64_t begin_wall_ns, uint32_t carried, const mbr_word *a,
                         const struct role *role, uint8_t kind);

/* A nonblocking or persistent send or receive that MPI accepted. */
MBR_INLINE void message_started(struct mbr_thread *thread, const struct frame *frame, const mbr_word *a, const struct role *role,
                                uint8_t kind) {
    uint64_t now = mbr_clock_near(), wall_ns = frame->begin.wall_ns;
    if (!role->persistent && mbr_end_is_near(now - wall_ns) && message_is_near(thread, a, role)) {
        struct mbr_end end = mbr_end_near(thread, now, wall_ns);
        struct mbr_record record;
        message_put_near(thread, (struct mbr_stamp){wall_ns, end.begin_cpu_ns, frame->begin.carried}, end.spans, a, role, kind, &record);
        return;
    }
    const mbr_word copies[] = {a[0], a[1], a[2], a[3], a[4], a[5], a[6]}; /* so that `a` itself is in registers */
    message_started_far(thread, now, wall_ns, frame->begin.carried, copies, role, kind);
}

/* The record of a blocking one, left open; `record` is what it says. False if the communicator is not known. */
MBR_INLINE bool message_opened(struct mbr_thread *thread, struct frame *frame, const mbr_word *a, const struct role *role,
                               uint8_t kind, struct mbr_record *record) {
    if (message_is_near(thread, a, role)) {
        frame->open = message_put_near(thread, frame->begin, 0, a, role, kind, record);
        return true;
    }
    const mbr_word copies[] = {a[0], a[1], a[2], a[3], a[4], a[5]};
    const struct mbr_stamp begin = frame->begin;
    struct mbr_record far;
    struct mbr_open open;
    bool known = message_opened_far(thread, &begin, copies, role, kind, &far, &open);
    frame->open = open;
    *record = far;
    return known;
}

MBR_INLINE void send_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    struct mbr_record record;
    frame->begin = mbr_stamp_begin(thread);
    if (role->flags & BLOCKING)
        frame->recorded = message_opened(thread, frame, a, role, SEND, &record);
}

MBR_INLINE void send_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    if (frame->recorded) {
        struct mbr_end end = mbr_stamp_end(thread, &frame->begin);
        close_spans(frame, &end);
    } else if (!(role->flags & BLOCKING) && !error) {
        message_started(thread, frame, a, role, SEND);
    }
}

MBR_INLINE void recv_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    struct mbr_record record;
    frame->begin = mbr_stamp_begin(thread);
    if (!(role->flags & BLOCKING) || !message_opened(thread, frame, a, role, RECV, &record))
        return;
    frame->request = record.request;
    frame->posted = posted_of(&record);
    frame->status = own_status(thread, &a[6], 1);
    frame->recorded = true;
}

MBR_INLINE void recv_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    if (frame->recorded) {
        struct mbr_end end = mbr_stamp_end(thread, &frame->begin);
        close_spans(frame, &end);
        append_done(thread, end.stamp, frame->request, &frame->posted, frame->status, error);
    } else if (!(role->flags & BLOCKING) && !error) {
        message_started(thread, frame, a, role, RECV);
    }
}

#endif
