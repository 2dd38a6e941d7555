/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Sends and receives: (buffer, count, type, peer, tag, communicator [, request or status]). Most calls of most programs are these,
 * so they are inlined into each wrapper, which knows its role.
 */
#ifndef MBR_MESSAGES_H
#define MBR_MESSAGES_H

#include "frame.h"
#include "requests.h"

/* The parts of a record that the arguments give. */
MBR_INLINE struct mbr_record message_record(struct mbr_thread *thread, struct mbr_stamp begin, const struct mbr_comm *comm,
                                            const mbr_word *a, const struct role *role, uint8_t kind) {
    struct mbr_record record = record_of(thread, begin, kind, role->flags);
    record.comm = comm->number;
    record.peer = mbr_peer(a[3]);
    record.tag = mbr_tag(a[4]);
    record.bytes = mbr_type_bytes(thread, a[2], count_argument(a[1], role->wide));
    return record;
}

/* What stands behind a persistent request: MPI_Start will write `record`. */
void remember_persistent(struct mbr_record record, uint64_t handle, uint64_t comm_handle, struct mbr_kept *kept);

MBR_INLINE struct mbr_use use_of(struct mbr_record record, uint64_t handle) {
    return (struct mbr_use){.key = handle,
                            .bytes = record.bytes,
                            .peer = record.peer,
                            .tag = record.tag,
                            .number = record.request,
                            .kind = (uint8_t)record.kind};
}

/* A nonblocking or persistent send or receive that MPI accepted. */
MBR_INLINE void message_started(struct mbr_thread *thread, const struct frame *frame, const mbr_word *a, const struct role *role,
                                uint8_t kind) {
    struct mbr_stamp end = mbr_stamp_end(thread);
    const struct mbr_comm *comm = mbr_comm_find(thread, a[5]);
    if (__builtin_expect(!comm, 0)) {
        append_unknown(thread, frame->begin);
        return;
    }
    struct mbr_record record = message_record(thread, frame->begin, comm, a, role, kind);
    uint64_t handle = mbr_handle_at(a[6], 0);
    if (role->persistent) {
        record.flags |= PERSISTENT;
        remember_persistent(record, handle, mbr_handle(a[5]), NULL);
        return;
    }
    set_spans(&record, frame->begin, end);
    mbr_lock_take(&mbr_lock);
    record.request = mbr_request_take(1);
    if (kind == SEND)
        record.aux = send_count(comm, record.peer);
    uint64_t index = mbr_reserve(thread, 1);
    mbr_line_join(use_of(record, handle));
    mbr_lock_drop(&mbr_lock);
    mbr_put(thread, index, record);
}

MBR_INLINE void send_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    frame->begin = mbr_stamp_begin(thread);
    if (!(role->flags & BLOCKING))
        return;
    const struct mbr_comm *comm = mbr_comm_find(thread, a[5]);
    if (__builtin_expect(!comm, 0)) {
        append_unknown(thread, frame->begin);
        return;
    }
    struct mbr_record record = message_record(thread, frame->begin, comm, a, role, SEND);
    mbr_lock_take(&mbr_lock);
    record.aux = frame->count = send_count(comm, record.peer);
    uint64_t index = mbr_reserve(thread, 1);
    mbr_lock_drop(&mbr_lock);
    frame->open = mbr_put(thread, index, record);
    frame->recorded = true;
}

MBR_INLINE void send_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    if (frame->recorded) {
        struct mbr_stamp end = mbr_stamp_end(thread);
        close_open(frame, end, frame->count);
    } else if (!(role->flags & BLOCKING) && !error) {
        message_started(thread, frame, a, role, SEND);
    }
}

MBR_INLINE void recv_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    frame->begin = mbr_stamp_begin(thread);
    if (!(role->flags & BLOCKING))
        return;
    const struct mbr_comm *comm = mbr_comm_find(thread, a[5]);
    if (__builtin_expect(!comm, 0)) {
        append_unknown(thread, frame->begin);
        return;
    }
    struct mbr_record record = message_record(thread, frame->begin, comm, a, role, RECV);
    mbr_lock_take(&mbr_lock);
    record.request = frame->request = mbr_request_take(1);
    uint64_t index = mbr_reserve(thread, 1);
    mbr_lock_drop(&mbr_lock);
    frame->posted = posted_of(&record);
    frame->open = mbr_put(thread, index, record);
    frame->status = own_status(thread, &a[6], 1);
    frame->recorded = true;
}

MBR_INLINE void recv_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    if (frame->recorded) {
        struct mbr_stamp end = mbr_stamp_end(thread);
        close_open(frame, end, 0);
        append_done(thread, end, frame->request, &frame->posted, frame->status, error);
    } else if (!(role->flags & BLOCKING) && !error) {
        message_started(thread, frame, a, role, RECV);
    }
}

#endif
