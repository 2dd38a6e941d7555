/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * All forms of wait and test: one handle, or an array of which all, any or some complete. Inlined
 * into each wrapper, whose form is a constant.
 */
#ifndef MBR_COMPLETION_H
#define MBR_COMPLETION_H

#include "frame.h"
#include "requests.h"

/* One Done record of a completion call; `more` further requests completed as their own records
 * imply. */
struct finished {
    uint32_t request, more;
    uint64_t bytes, peer_and_tag;
    uint64_t flags;
};

/* The Done records of a call before they are written. `next` is the number of the request that the
 * last of them could include too, if it completed as its own record implies; 0 = none. While it is
 * not 0, `more` of the last one is not yet set. */
struct done_list {
    struct finished *first, *end;
    uint32_t next;
};

/* Closes the last Done: the next request gets a Done of its own. */
MBR_INLINE void list_break(struct done_list *list) {
    struct finished *last = &list->end[-1];
    if (list->next && list->next - 1 != last->request)
        *last = (struct finished){.request = last->request, .more = list->next - 1 - last->request};
    list->next = 0;
}

/* Appends a Done. */
MBR_INLINE void list_own(struct done_list *list, struct finished done) {
    list_break(list);
    *list->end++ = done;
}

/* Appends a request that completed as its own record implies; `done` is its Done if it cannot share
 * one. */
MBR_INLINE void list_foretold(struct done_list *list, struct finished done) {
    if (__builtin_expect(done.request != list->next, 0))
        list_own(list, done);
    list->next = done.request + 1;
}

/* Appends one Done; `foretold` if its Send, Recv or Collective implies it. */
MBR_INLINE void list_done(struct done_list *list, struct finished done, bool foretold) {
    if (foretold)
        list_foretold(list, done);
    else
        list_own(list, done);
}

/* The Done of a completed request. */
MBR_INLINE void list_finished(struct done_list *list, const struct mbr_use *use, const void *status, enum mbr_layout layout, int code) {
    const uint64_t signs = UINT64_C(0x8000000080000000);
    bool unused;
    if (use->kind != RECV) {
        list_done(list, (struct finished){.request = use->number, .flags = code ? FAILED : 0}, !code);
        return;
    }
    /* No wildcard: both are ranks and tags, none of them below 0. */
    if (!(use->peer_and_tag & signs) && !code && mbr_status_bytes(status, layout, false, &unused) == use->bytes) {
        list_foretold(list,
                      (struct finished){.request = use->number, .bytes = use->bytes, .peer_and_tag = use->peer_and_tag});
        return;
    }
    struct mbr_record record = {0};
    struct mbr_status read = mbr_status_read(status, layout, false);
    fill_done(&record, &(struct posted){use->peer, use->tag, use->bytes}, &read, code);
    list_done(list,
              (struct finished){.request = use->number,
                                .bytes = record.bytes,
                                .peer_and_tag = mbr_pair((uint32_t)record.peer, (uint32_t)record.tag),
                                .flags = record.flags},
              use->peer == TRACE_PROC_NULL && !record.flags);
}

/* Appends the requests of an array that completed without error while they are at the head of the
 * queue, one after the other; returns their number. */
uint64_t finish_line(struct done_list *list, mbr_word handles, uint64_t count, const char *status);

/* Writes the Done records of a list into the reserved slots from this one on, with the times `end`.
 */
void put_dones(struct mbr_thread *thread, const struct mbr_stamp *end, const struct done_list *list, uint64_t slot);

/* Removes the oldest active use of a handle from the table, if it is not the head of the queue, and
 * appends its Done. With `peek` the request stays, and is not appended again. */
void finish(struct done_list *list, uint64_t handle, const void *status, int code, bool peek);

/* The number of the first of these requests that is active and recorded; 0 if there is none. */
uint32_t polled_request(struct mbr_thread *thread, mbr_word handles, uint64_t count);

/* The error of completion number `at` of a call that returned `error`, which is not 0. */
int completion_error(mbr_word statuses, uint64_t at, int error);

MBR_INLINE void wait_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    frame->begin = mbr_stamp_begin(thread);
    if (role->flags & BLOCKING)
        frame->open = mbr_append(thread, record_of(thread, frame->begin, WAIT, role->flags));
    frame->count = role->form == ONE ? 1 : (int)a[0] > 0 ? (uint64_t)(int)a[0] : 0;
    if (!role->by_value && !a[role->requests]) /* MPI refuses it, or reads none */
        frame->count = 0;
    /* The handles as they are before the call; after them the list of finished requests. MPI_Isendrecv
     * ends with two Done records. */
    void *handles = mbr_buffer_fit(&thread->words, (frame->count + 1) * (sizeof(uint64_t) + 2 * sizeof(struct finished)));
    if (!handles)
        return;
    if (role->by_value)
        *(uint64_t *)handles = a[0];
    else if (role->form == ONE)
        *(uint64_t *)handles = mbr_handle_given(a[role->requests]);
    else
        memcpy(handles, (const void *)a[role->requests], frame->count * mbr_library.handle_bytes);
    frame->status = own_status(thread, &a[role->status], role->form == ANY ? 1 : frame->count + 1);
    frame->recorded = true;
}

/* Number of requests that completed; false if the call was unsuccessful. */
MBR_INLINE bool wait_result(const struct frame *frame, const mbr_word *a, const struct role *role, uint64_t *completed) {
    bool hit = !role->flag || mbr_int_given(a[role->flag]);
    *completed = frame->count;
    if (role->form == ANY) {
        int index = mbr_int_given(a[role->index]);
        *completed = hit && index >= 0 && (uint64_t)index < frame->count;
    } else if (role->form == SOME) {
        int count = mbr_int_given(a[role->count]);
        *completed = count <= 0 ? 0 : (uint64_t)count < frame->count ? (uint64_t)count : frame->count;
        hit = count != 0;
    }
    return hit;
}

MBR_INLINE void wait_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    if (!frame->recorded)
        return;
    struct mbr_end end = mbr_stamp_end(thread, &frame->begin);
    uint64_t completed = 0;
    const bool refused = mbr_is_refusal(error);
    if (!refused && !wait_result(frame, a, role, &completed) && !error) {
        struct mbr_record miss = record_of(thread, frame->begin, MISS, 0);
        miss.spans = end.spans;
        miss.peer = frame->count < INT32_MAX ? (int32_t)frame->count : INT32_MAX;
        miss.request = polled_request(thread, (mbr_word)thread->words.data, frame->count);
        append_miss(thread, miss);
        return;
    }

    const mbr_word handles = (mbr_word)thread->words.data;
    const int *indices = role->index ? (const int *)a[role->index] : NULL;
    struct finished *room = (struct finished *)((uint64_t *)handles + frame->count + 1);
    struct done_list list = {room, room, 0};
    const char *status = (const char *)frame->status;
    if (!status || (role->index && !indices))
        completed = 0;
    mbr_lock_take(&mbr_lock);
    uint64_t i = role->form == ALL && !role->peek && !error ? finish_line(&list, handles, completed, status) : 0;
    for (status += i * mbr_library.status_bytes; i < completed; i++, status += mbr_library.status_bytes) {
        uint64_t handle = mbr_handle_at(handles, indices ? (uint64_t)indices[i] : i);
        int code = error;
        if (error && (role->form == ALL || role->form == SOME)) {
            code = completion_error(frame->status, i, error);
            if (role->form == ALL && mbr_error_class(code) == mbr_library.err_pending)
                continue;
        }
        const struct mbr_use *head = role->peek ? NULL : mbr_line_head(handle);
        if (__builtin_expect(head != NULL, 1)) {
            list_finished(&list, head, status, mbr_library.status_layout, code);
            mbr_line_advance(mbr_line.head + 1);
        } else {
            finish(&list, handle, status, code, role->peek);
        }
    }
    list_break(&list);
    uint64_t dones = (uint64_t)(list.end - list.first), slot = mbr_reserve(thread, dones + !(role->flags & BLOCKING));
    mbr_lock_drop(&mbr_lock);

    if (role->flags & BLOCKING) {
        close_open(frame, &end, dones);
    } else {
        struct mbr_record wait = record_of(thread, frame->begin, WAIT, 0);
        wait.spans = end.spans;
        wait.aux = dones;
        mbr_put_at(thread, slot++, wait);
    }
    put_dones(thread, &end.stamp, &list, slot);
}

#endif
