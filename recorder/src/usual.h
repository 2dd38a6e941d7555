/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Fast path of sends and receives: everything that the record needs is cached, so the wrapper calls
 * only MPI. Most calls of most programs take it; all others take the general path (messages.c),
 * which writes the same records. The record and the queued request are drafted in their next slots
 * before the call, so that few words must be kept while MPI runs. The clock is read last before the
 * call and first after it. With MPI_THREAD_MULTIPLE the fast path is off (mbr_is_near is false):
 * nothing here takes a lock.
 */
#ifndef MBR_USUAL_H
#define MBR_USUAL_H

#include "messages.h"

/* What is kept while MPI runs: the draft, its partial checksum, and the start of the call. */
struct usual {
    uint64_t *place, sum, wall_ns;
};

/* Makes the compiler compute this word here, not after the call from words that it would have to
 * keep. */
#define MBR_COMPUTE(word) __asm__("" : "+r"(word))

/* Stores the checksum of the sum. */
MBR_INLINE void usual_check(uint64_t *place, uint64_t sum) { ((uint32_t *)(void *)place)[7] = (uint32_t)(sum >> 32); }

/* Starts a call on the fast path; false, without effect, if it cannot take it. Sets the address in
 * `a` where MPI stores the status. */
MBR_INLINE bool usual_before(struct mbr_thread *thread, struct usual *usual, mbr_word *a, const struct role *role, uint8_t kind) {
    const bool blocking = role->flags & BLOCKING;
    const int64_t count = count_argument(a[1], role->wide);
    const mbr_word status = a[6] == mbr_library.status_ignore ? (mbr_word)thread->statuses.data : a[6];
    if (role->persistent || __builtin_expect(thread->pass != __atomic_load_n(&mbr_generation, __ATOMIC_ACQUIRE), 0) ||
        !mbr_is_near(thread) || __builtin_expect(thread->comm_word != a[5] || thread->type.word != a[2], 0) ||
        __builtin_expect((uint64_t)count > INT32_MAX, 0) || (!blocking && !mbr_line_has_room()) ||
        (blocking && kind == RECV && __builtin_expect(!status, 0)))
        return false;

    const uint64_t slot = mbr_shared.next_slot;
    const uint64_t head = kind | (role->flags | CPU_CARRIED) << 8 | thread->comm.origin;
    const int32_t peer = mbr_peer(a[3]);
    const int32_t tag = mbr_tag(a[4]);
    if (blocking && __builtin_expect(!is_allowed(&thread->comm, count, peer, tag, kind), 0))
        return false;
    const uint64_t peer_and_tag = mbr_pair((uint32_t)peer, (uint32_t)tag);
    const uint64_t bytes = mbr_type_bytes_near(thread, count);
    uint64_t *place = mbr_place_near(thread, slot);
    uint64_t sum = MBR_CHECK_SLOT(slot) + MBR_CHECK(0, head) + MBR_CHECK(1, peer_and_tag) + MBR_CHECK(2, bytes);
    place[1] = peer_and_tag;
    place[2] = bytes;
    if (!blocking) {
        mbr_line.tail->bytes = bytes;
        mbr_line.tail->peer_and_tag = peer_and_tag;
        mbr_line.tail->kind = kind;
    }

    const uint64_t now = mbr_clock_near();
    if (__builtin_expect(now - thread->wall_ns >= mbr_clocks.near_ns, 0))
        return false;
    const uint64_t cpu_ns = now - thread->lag_ns;
    thread->wall_ns = now;
    thread->pass += INSIDE;
    sum += MBR_CHECK(4, now) + MBR_CHECK(5, cpu_ns);
    place[4] = now;
    place[5] = cpu_ns;
    if (blocking) {
        mbr_spot_near(thread);
        if (kind == SEND) {
            const uint64_t sends = send_count(&thread->comm, peer);
            sum += MBR_CHECK(7, sends);
            place[7] = sends;
        } else {
            const uint32_t request = mbr_request_take(1);
            sum += MBR_CHECK(3, request);
            ((uint32_t *)(void *)place)[6] = request;
            a[6] = status;
        }
        usual_check(place, sum); /* other words are still zero: no draft writes them */
        __atomic_store_n(place, head, __ATOMIC_RELEASE);
    } else {
        place[0] = head - kind; /* kind 0: not written yet */
    }
    MBR_COMPUTE(sum);
    *usual = (struct usual){place, sum, now};
    return true;
}

/* Writes the record of a nonblocking call that MPI accepted, and queues its request. */
MBR_INLINE void usual_started(struct mbr_thread *thread, struct usual usual, uint64_t spans, uint64_t handle, uint8_t kind) {
    uint64_t *place = usual.place, sum = usual.sum + MBR_CHECK(6, spans);
    mbr_spot_near(thread);
    const uint32_t request = mbr_request_take(1);
    if (kind == SEND) {
        const uint64_t sends = send_count(&thread->comm, (int32_t)place[1]);
        sum += MBR_CHECK(7, sends);
        place[7] = sends;
    }
    struct mbr_use *use = mbr_line.tail++;
    use->key = handle;
    use->number = request;
    place[6] = spans;
    ((uint32_t *)(void *)place)[6] = request;
    usual_check(place, sum + MBR_CHECK(3, request));
    __atomic_store_n((uint8_t *)place, kind, __ATOMIC_RELEASE);
}

/* Writes the Done of a blocking receive, whose record is at `place`; `carried` as of the timestamp
 * after the call. */
MBR_INLINE void usual_received(struct mbr_thread *thread, const uint64_t *place, uint32_t carried, const void *status, int error) {
    const uint64_t signs = UINT64_C(0x8000000080000000), peer_and_tag = place[1], room = place[2];
    const uint32_t request = (uint32_t)place[3];
    const struct mbr_stamp end = {thread->wall_ns, thread->wall_ns - thread->lag_ns, carried};
    bool unused;
    uint64_t bytes;
    if (__builtin_expect(!(peer_and_tag & signs) && !error, 1) &&
        __builtin_expect((bytes = mbr_status_bytes(status, mbr_library.status_layout, false, &unused)) <= room, 1)) {
        struct mbr_record done = record_of(thread, end, DONE, 0);
        done.peer = (int32_t)peer_and_tag;
        done.tag = (int32_t)(peer_and_tag >> 32);
        done.bytes = bytes;
        done.request = request;
        mbr_append(thread, done);
        return;
    }
    const struct posted posted = {(int32_t)peer_and_tag, (int32_t)(peer_and_tag >> 32), room};
    append_done(thread, &end, request, &posted, (mbr_word)status, error);
}

/* Ends a call on the fast path. */
MBR_INLINE void usual_after(struct mbr_thread *thread, struct usual usual, const mbr_word *a, const struct role *role, uint8_t kind,
                            int error) {
    if ((role->flags & BLOCKING) || !error) {
        const struct mbr_spans end = mbr_spans_read(thread, usual.wall_ns);
        if (!(role->flags & BLOCKING)) {
            usual_started(thread, usual, end.spans, mbr_handle_at(a[6], 0), kind);
        } else if (mbr_is_refusal(error)) {
            const struct mbr_stamp begin = {usual.place[4], usual.place[5], CPU_CARRIED};
            message_refused(thread, begin, usual.place, kind, end.spans);
        } else {
            usual.place[6] = end.spans;
            usual_check(usual.place, usual.sum + MBR_CHECK(6, end.spans));
            if (kind == RECV)
                usual_received(thread, usual.place, (uint32_t)end.carried, (const void *)a[6], error);
        }
    }
    thread->pass -= INSIDE;
}

#endif
