/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Every form of wait and test: one handle, or an array of which all, any or some finish. Inlined into each wrapper, which knows its
 * form.
 */
#ifndef MBR_COMPLETION_H
#define MBR_COMPLETION_H

#include "frame.h"
#include "requests.h"

/* What one Done record of a completion call says; `more` requests behind `request` finished as their own records say. */
struct finished {
    uint32_t request, more;
    uint64_t bytes;
    int32_t peer, tag;
    uint8_t flags;
};

/* The Done records to be. `next` is the number of the request that the last of them could stand for too, if it finished as its own
 * record foretells; 0 = none. */
struct done_list {
    struct finished *first, *end;
    uint32_t next;
};

/* Lists one Done; `plain` if what it says follows from the Send, Recv or Collective: then the last one can stand for it, too, or it
 * for those that follow. */
MBR_INLINE void list_done(struct done_list *list, struct finished done, bool plain) {
    if (plain && done.request == list->next) {
        list->end[-1].more++;
        list->next++;
        return;
    }
    *list->end++ = done;
    list->next = plain ? done.request + 1 : 0;
}

/* The Done of a finished request. */
MBR_INLINE void list_finished(struct done_list *list, const struct mbr_use *use, const void *status, int code) {
    struct finished done = {.request = use->number};
    if (use->kind != RECV) {
        done.flags = code ? FAILED : 0;
        list_done(list, done, !code);
        return;
    }
    bool exact = (use->peer | use->tag) >= 0, unused; /* no wildcard: both are ranks and tags, none of them below 0 */
    if (__builtin_expect(exact && !code && mbr_status_bytes(status, false, &unused) == use->bytes, 1)) {
        done.peer = use->peer;
        done.tag = use->tag;
        done.bytes = use->bytes;
        list_done(list, done, true);
        return;
    }
    struct mbr_record record = {0};
    struct mbr_status read = mbr_status_read(status, false);
    fill_done(&record, &(struct posted){use->peer, use->tag, use->bytes}, &read, code);
    done.peer = record.peer;
    done.tag = record.tag;
    done.bytes = record.bytes;
    done.flags = record.flags;
    list_done(list, done, use->peer == TRACE_PROC_NULL && !record.flags);
}

/* Takes the oldest unfinished use of a handle that is not the head of the line off the table, and lists what finished with it.
 * With `peek` the request stays, and is not listed again. */
void finish(struct done_list *list, uint64_t handle, const void *status, int code, bool peek);

/* The error of completion number `at` of a call that returned `error`, which is not 0. */
int completion_error(mbr_word statuses, uint64_t at, int error);

MBR_INLINE void wait_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    frame->begin = mbr_stamp_begin(thread);
    if (role->flags & BLOCKING)
        frame->open = mbr_append(thread, record_of(thread, frame->begin, WAIT, role->flags));
    frame->count = role->form == ONE ? 1 : (int)a[0] > 0 ? (uint64_t)(int)a[0] : 0;
    /* The handles as they are before the call; behind them the list of what finished. MPI_Isendrecv ends with two Done records. */
    void *handles = mbr_buffer_fit(&thread->words, (frame->count + 1) * (sizeof(uint64_t) + 2 * sizeof(struct finished)));
    if (!handles)
        return;
    if (role->by_value)
        *(uint64_t *)handles = a[0];
    else if (role->form == ONE)
        *(uint64_t *)handles = mbr_handle_at(a[role->requests], 0);
    else
        memcpy(handles, (const void *)a[role->requests], frame->count * mbr_library.handle_bytes);
    frame->status = own_status(thread, &a[role->status], role->form == ANY ? 1 : frame->count + 1);
    frame->recorded = true;
}

/* How many requests finished; false if the call found none. */
MBR_INLINE bool wait_result(const struct frame *frame, const mbr_word *a, const struct role *role, uint64_t *completed) {
    bool hit = !role->flag || *(const int *)a[role->flag];
    *completed = frame->count;
    if (role->form == ANY) {
        int index = *(const int *)a[role->index];
        *completed = hit && index >= 0 && (uint64_t)index < frame->count;
    } else if (role->form == SOME) {
        int count = *(const int *)a[role->count];
        *completed = count > 0 ? (uint64_t)count : 0;
        hit = count != 0;
    }
    return hit;
}

MBR_INLINE void wait_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    if (!frame->recorded)
        return;
    struct mbr_stamp end = mbr_stamp_end(thread);
    uint64_t completed;
    if (!wait_result(frame, a, role, &completed) && !error) {
        append_miss(thread, frame->begin, end, record_of(thread, frame->begin, MISS, 0));
        return;
    }

    const mbr_word handles = (mbr_word)thread->words.data;
    const int *indices = role->index ? (const int *)a[role->index] : NULL;
    struct finished *room = (struct finished *)((uint64_t *)handles + frame->count + 1);
    struct done_list list = {room, room, 0};
    const char *status = (const char *)frame->status;
    mbr_lock_take(&mbr_lock);
    for (uint64_t i = 0; i < completed; i++, status += mbr_library.status_bytes) {
        uint64_t handle = mbr_handle_at(handles, indices ? (uint64_t)indices[i] : i);
        int code = error;
        if (error && (role->form == ALL || role->form == SOME)) {
            code = completion_error(frame->status, i, error);
            if (role->form == ALL && mbr_error_class(code) == mbr_library.err_pending)
                continue;
        }
        const struct mbr_use *head = role->peek ? NULL : mbr_line_head(handle);
        if (__builtin_expect(head != NULL, 1)) {
            list_finished(&list, head, status, code);
            mbr_line_advance();
        } else {
            finish(&list, handle, status, code, role->peek);
        }
    }
    uint64_t dones = (uint64_t)(list.end - list.first), index = mbr_reserve(thread, dones + !(role->flags & BLOCKING));
    mbr_lock_drop(&mbr_lock);

    if (role->flags & BLOCKING) {
        close_open(frame, end, dones);
    } else {
        struct mbr_record wait = record_of(thread, frame->begin, WAIT, 0);
        set_spans(&wait, frame->begin, end);
        wait.aux = dones;
        mbr_put(thread, index++, wait);
    }
    for (const struct finished *finished = list.first; finished < list.end; finished++) {
        struct mbr_record done = record_of(thread, end, DONE, finished->flags);
        done.request = finished->request;
        done.aux = finished->more;
        if (!finished->more) {
            done.peer = finished->peer;
            done.tag = finished->tag;
            done.bytes = finished->bytes;
        }
        mbr_put(thread, index++, done);
    }
}

#endif
