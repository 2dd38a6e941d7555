/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * The wrappers of all MPI functions in calls.h, under their MPI_ and PMPI_ names (Fortran bindings call either, depending on the
 * library), and what each family of them records. The real function is the library's PMPI_ one; a flag per thread keeps calls that
 * MPI makes to itself out of the trace. With recording off a wrapper is one test and a jump.
 */
#define _GNU_SOURCE
#include "comm.h"
#include "library.h"
#include "start.h"
#include "tables.h"
#include "trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum operation {
    BARRIER = 1, BCAST, REDUCE, ALLREDUCE, GATHER, SCATTER, ALLGATHER, ALLTOALL, REDUCE_SCATTER, SCAN, EXSCAN, NEIGHBOR
};

/* How the sizes of one side of a collective are given. */
enum sizes { NO_SIZE, ONE_SIZE, COUNTS, COUNTS_AND_TYPES };
enum { NO_BUFFER = 255 };

struct side {
    uint8_t buffer, count, type, sizes;
};

/* What the arguments of a function mean: positions, 0 = none where 0 is impossible. */
struct role {
    uint8_t flags;                         /* of the record */
    uint8_t wide, persistent, peek, by_value, orphan;
    enum { ONE, ALL, ANY, SOME } form;
    uint8_t requests, request, flag, index, count, status, message, comm, root, tag, made;
    uint8_t recv[4];
    uint8_t operation;
    uint16_t other;
    struct side sent, received;
};

/* What a receive or probe asked for. */
struct posted {
    int32_t peer, tag;
    uint64_t room;
};

/* What a call keeps from before to after the real function. */
struct frame {
    struct mbr_stamp begin;
    struct mbr_open open;
    uint32_t request;
    uint64_t count;
    mbr_word status;
    struct posted posted;
    bool recorded;
};

/* Calls outside of the recorded list, in the order of their numbers. */
enum other {
#define CALL(...)
#define OTHER_CALL(arity, name) OTHER_##name,
#include "calls.h"
#undef CALL
#undef OTHER_CALL
    OTHER_UNKNOWN_COMM,
    OTHERS
};

const char *const mbr_other_calls[] = {
#define CALL(...)
#define OTHER_CALL(arity, name) "MPI_" #name,
#include "calls.h"
#undef CALL
#undef OTHER_CALL
    "call on a communicator of unknown origin",
    NULL,
};

/* --- parts of records --- */

MBR_INLINE struct mbr_record record_of(struct mbr_thread *thread, const struct mbr_stamp *at, uint8_t kind, uint8_t flags) {
    return (struct mbr_record){
        .kind = kind, .flags = flags | at->carried, .thread = thread->number, .wall_ns = at->wall_ns, .cpu_ns = at->cpu_ns};
}

MBR_INLINE void set_spans(struct mbr_record *record, const struct mbr_stamp *begin, const struct mbr_stamp *end) {
    record->wall_span_ns = mbr_span(begin->wall_ns, end->wall_ns);
    record->cpu_span_ns = mbr_span(begin->cpu_ns, end->cpu_ns);
}

MBR_INLINE struct mbr_open append(struct mbr_thread *thread, struct mbr_record record) {
    return mbr_put(thread, mbr_reserve(thread, 1), record);
}

/* Completes the record that `frame` opened before the call. */
MBR_INLINE struct mbr_stamp close_open(struct mbr_thread *thread, struct frame *frame, uint64_t aux) {
    struct mbr_stamp end = mbr_stamp_end(thread);
    mbr_patch(thread, &frame->open, mbr_span(frame->begin.wall_ns, end.wall_ns), mbr_span(frame->begin.cpu_ns, end.cpu_ns),
              aux);
    return end;
}

static void append_unknown(struct mbr_thread *thread, const struct mbr_stamp *begin) {
    struct mbr_record record = record_of(thread, begin, OTHER, 0);
    record.aux = OTHER_UNKNOWN_COMM;
    append(thread, record);
}

static inline int64_t count_argument(mbr_word word, bool wide) { return wide ? (int64_t)word : (int)word; }

/* Reserves `count` records, the first of them for `send`, whose aux becomes the number of earlier sends to its peer: in the
 * file these numbers count up, also when several threads send. */
MBR_INLINE uint64_t reserve_send(struct mbr_thread *thread, const struct mbr_comm *comm, struct mbr_record *send, uint64_t count) {
    mbr_lock_take(&mbr_table_lock);
    if (send->peer >= 0 && (uint32_t)send->peer < comm->peers)
        send->aux = comm->sent[send->peer]++;
    uint64_t index = mbr_reserve(thread, count);
    mbr_lock_drop(&mbr_table_lock);
    return index;
}

/* Where the status of one completion is read: the caller's own, or ours if the caller ignores it. */
static inline mbr_word own_status(struct mbr_thread *thread, mbr_word *argument, uint64_t count) {
    if (*argument == mbr_library.status_ignore) {
        void *own = mbr_buffer_fit(&thread->statuses, count * mbr_library.status_bytes);
        if (own)
            *argument = (mbr_word)own;
    }
    return *argument;
}

/* The result of a receive or probe. What was asked for exactly is taken from there: libraries leave statuses of failed
 * and of some other calls unset. */
MBR_INLINE void fill_done(struct mbr_record *done, const struct posted *posted, const struct mbr_status *status, int error) {
    if (status->cancelled) {
        done->flags |= CANCELLED;
        return;
    }
    if (posted->peer == TRACE_PROC_NULL) {
        done->peer = TRACE_PROC_NULL;
        done->tag = TRACE_ANY_TAG;
        return;
    }
    bool is_set = !error || mbr_error_class(error) == mbr_library.err_truncate;
    done->peer = posted->peer >= 0 ? posted->peer : is_set && status->source >= 0 ? status->source : 0;
    done->tag = posted->tag >= 0 ? posted->tag : is_set && status->tag >= 0 ? status->tag : 0;
    done->bytes = is_set ? status->bytes : 0;
    if (error || done->bytes > posted->room)
        done->flags |= FAILED;
}

MBR_INLINE struct posted posted_of(const struct mbr_record *record) {
    return (struct posted){record->peer, record->tag, record->kind == PROBE ? UINT64_MAX : record->bytes};
}

static void append_done(struct mbr_thread *thread, const struct mbr_stamp *end, uint32_t request, const struct posted *posted,
                        mbr_word status, int error) {
    struct mbr_status read = mbr_status_read((const void *)status, false);
    struct mbr_record done = record_of(thread, end, DONE, 0);
    done.request = request;
    fill_done(&done, posted, &read, error);
    append(thread, done);
}

/* --- sends --- */

static void send_open(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    const struct mbr_comm *comm = mbr_comm_find(thread, a[5]);
    if (!comm) {
        append_unknown(thread, &frame->begin);
        return;
    }
    struct mbr_record record = record_of(thread, &frame->begin, SEND, role->flags);
    record.comm = comm->number;
    record.peer = mbr_peer(a[3]);
    record.tag = mbr_tag(a[4]);
    record.bytes = mbr_type_bytes(thread, a[2], count_argument(a[1], role->wide));
    uint64_t index = reserve_send(thread, comm, &record, 1);
    frame->count = record.aux;
    frame->open = mbr_put(thread, index, record);
    frame->recorded = true;
}

/* Inlined into each wrapper, which knows its role. */
MBR_INLINE void send_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    frame->begin = mbr_stamp_begin(thread);
    if (role->flags & BLOCKING)
        send_open(thread, frame, a, role);
}

/* What a persistent request needs for MPI_Start. */
struct kept {
    bool persistent;
    uint64_t comm_handle;
    struct mbr_kept *more;
};

/* Remembers what stands behind a new request; MPI_Start will write `record` if it is persistent. */
MBR_INLINE void remember(const struct mbr_record *record, uint64_t handle, struct kept kept) {
    mbr_lock_take(&mbr_table_lock);
    struct mbr_entry *entry = mbr_entry_push(handle);
    if (entry) {
        entry->kind = record->kind;
        entry->number = record->request;
        entry->peer = record->peer;
        entry->tag = record->tag;
        entry->bytes = record->bytes;
        entry->persistent = kept.persistent;
        if (kept.persistent) {
            entry->flags = record->flags & ~CPU_CARRIED;
            entry->comm = record->comm;
            entry->comm_handle = kept.comm_handle;
            entry->kept = kept.more;
        }
    }
    mbr_lock_drop(&mbr_table_lock);
}

/* A nonblocking or persistent send or receive that MPI accepted. */
static void start_request(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, uint8_t kind) {
    const struct mbr_comm *comm = mbr_comm_find(thread, a[5]);
    if (!comm) {
        append_unknown(thread, &frame->begin);
        return;
    }
    struct mbr_stamp end = mbr_stamp_end(thread);
    struct mbr_record record = record_of(thread, &frame->begin, kind, role->flags);
    set_spans(&record, &frame->begin, &end);
    record.comm = comm->number;
    record.peer = mbr_peer(a[3]);
    record.tag = mbr_tag(a[4]);
    record.bytes = mbr_type_bytes(thread, a[2], count_argument(a[1], role->wide));
    if (role->persistent) {
        record.flags |= PERSISTENT;
    } else {
        record.request = mbr_request_take(1);
        mbr_put(thread, kind == SEND ? reserve_send(thread, comm, &record, 1) : mbr_reserve(thread, 1), record);
    }
    remember(&record, mbr_handle_at(a[6], 0), (struct kept){.persistent = role->persistent, .comm_handle = mbr_handle(a[5])});
}

static void send_close(struct mbr_thread *thread, struct frame *frame) { close_open(thread, frame, frame->count); }

MBR_INLINE void send_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    if (frame->recorded)
        send_close(thread, frame);
    else if (!(role->flags & BLOCKING) && !error)
        start_request(thread, frame, a, role, SEND);
}

/* --- receives --- */

static void recv_open(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    const struct mbr_comm *comm = mbr_comm_find(thread, a[5]);
    if (!comm) {
        append_unknown(thread, &frame->begin);
        return;
    }
    struct mbr_record record = record_of(thread, &frame->begin, RECV, role->flags);
    record.comm = comm->number;
    record.peer = mbr_peer(a[3]);
    record.tag = mbr_tag(a[4]);
    record.bytes = mbr_type_bytes(thread, a[2], count_argument(a[1], role->wide));
    record.request = frame->request = mbr_request_take(1);
    frame->posted = posted_of(&record);
    frame->open = append(thread, record);
    frame->status = own_status(thread, &a[6], 1);
    frame->recorded = true;
}

MBR_INLINE void recv_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    frame->begin = mbr_stamp_begin(thread);
    if (role->flags & BLOCKING)
        recv_open(thread, frame, a, role);
}

static void recv_close(struct mbr_thread *thread, struct frame *frame, int error) {
    struct mbr_stamp end = close_open(thread, frame, 0);
    append_done(thread, &end, frame->request, &frame->posted, frame->status, error);
}

MBR_INLINE void recv_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    if (frame->recorded) {
        recv_close(thread, frame, error);
    } else if (!(role->flags & BLOCKING) && !error) {
        start_request(thread, frame, a, role, RECV);
    }
}

/* MPI_Mrecv and MPI_Imrecv: (buffer, count, type, message, status or request). */
static void mrecv_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    frame->begin = mbr_stamp_begin(thread);
    mbr_lock_take(&mbr_table_lock);
    uint64_t key = mbr_handle_at(a[3], 0) | MBR_MESSAGE_KEY;
    const struct mbr_entry *message = mbr_entry_oldest(key);
    struct mbr_record record = record_of(thread, &frame->begin, RECV, role->flags);
    if (message) {
        bool from_null = message->peer == TRACE_PROC_NULL;
        record.flags |= from_null ? 0 : MATCHED;
        record.comm = message->comm;
        record.peer = from_null ? TRACE_PROC_NULL : TRACE_ANY_SOURCE;
        record.tag = TRACE_ANY_TAG;
        record.aux = from_null ? 0 : message->number;
        mbr_entry_pop(key);
        frame->recorded = true;
    }
    mbr_lock_drop(&mbr_table_lock);
    if (!frame->recorded) {
        append_unknown(thread, &frame->begin);
        return;
    }
    record.bytes = mbr_type_bytes(thread, a[2], count_argument(a[1], role->wide));
    record.request = frame->request = mbr_request_take(1);
    frame->count = record.aux;
    frame->posted = posted_of(&record);
    frame->open = append(thread, record);
    if (role->flags & BLOCKING)
        frame->status = own_status(thread, &a[4], 1);
}

static void mrecv_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    if (!frame->recorded)
        return;
    struct mbr_stamp end = close_open(thread, frame, frame->count);
    if (role->flags & BLOCKING)
        append_done(thread, &end, frame->request, &frame->posted, frame->status, error);
    else if (!error)
        remember(&(struct mbr_record){.kind = RECV,
                                      .request = frame->request,
                                      .peer = frame->posted.peer,
                                      .tag = frame->posted.tag,
                                      .bytes = frame->posted.room},
                 mbr_handle_at(a[4], 0), (struct kept){0});
}

/* --- a send and a receive in one call: (buffer, count, type, destination, tag, ...) --- */

MBR_INLINE void sendrecv_records(struct mbr_thread *thread, struct frame *frame, const struct mbr_comm *comm, mbr_word *a,
                                 const struct role *role, struct mbr_record *send, struct mbr_record *recv) {
    *send = record_of(thread, &frame->begin, SEND, SENDRECV);
    *recv = record_of(thread, &frame->begin, RECV, SENDRECV);
    send->comm = recv->comm = comm->number;
    send->peer = mbr_peer(a[3]);
    send->tag = mbr_tag(a[4]);
    send->bytes = mbr_type_bytes(thread, a[2], count_argument(a[1], role->wide));
    recv->peer = mbr_peer(a[role->recv[2]]);
    recv->tag = mbr_tag(a[role->recv[3]]);
    recv->bytes = mbr_type_bytes(thread, a[role->recv[1]], count_argument(a[role->recv[0]], role->wide));
    send->request = frame->request = mbr_request_take(2);
    recv->request = send->request + 1;
}

static void sendrecv_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    frame->begin = mbr_stamp_begin(thread);
    if (!(role->flags & BLOCKING))
        return;
    const struct mbr_comm *comm = mbr_comm_find(thread, a[role->comm]);
    if (!comm) {
        append_unknown(thread, &frame->begin);
        return;
    }
    struct mbr_record send, recv;
    sendrecv_records(thread, frame, comm, a, role, &send, &recv);
    uint64_t index = reserve_send(thread, comm, &send, 3);
    mbr_put(thread, index, send);
    mbr_put(thread, index + 1, recv);
    frame->open = mbr_put(thread, index + 2, record_of(thread, &frame->begin, WAIT, BLOCKING));
    frame->posted = posted_of(&recv);
    frame->status = own_status(thread, &a[role->status], 1);
    frame->recorded = true;
}

static void sendrecv_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    if (frame->recorded) {
        struct mbr_stamp end = close_open(thread, frame, 2);
        struct mbr_record done = record_of(thread, &end, DONE, 0);
        done.request = frame->request;
        append(thread, done);
        append_done(thread, &end, frame->request + 1, &frame->posted, frame->status, error);
        return;
    }
    if ((role->flags & BLOCKING) || error)
        return;
    const struct mbr_comm *comm = mbr_comm_find(thread, a[role->comm]);
    if (!comm) {
        append_unknown(thread, &frame->begin);
        return;
    }
    struct mbr_stamp end = mbr_stamp_end(thread);
    struct mbr_record send, recv;
    sendrecv_records(thread, frame, comm, a, role, &send, &recv);
    set_spans(&recv, &frame->begin, &end);
    uint64_t index = reserve_send(thread, comm, &send, 2);
    mbr_put(thread, index, send);
    mbr_put(thread, index + 1, recv);
    uint64_t handle = mbr_handle_at(a[role->request], 0);
    mbr_lock_take(&mbr_table_lock);
    struct mbr_entry *entry = mbr_entry_push(handle);
    if (entry) {
        entry->kind = RECV;
        entry->peer = recv.peer;
        entry->tag = recv.tag;
        entry->bytes = recv.bytes;
        entry->number = recv.request;
        entry->paired = true;
    }
    mbr_lock_drop(&mbr_table_lock);
}

/* --- probes and tests without result --- */

/* Adds to the Miss of the same kind if this thread wrote nothing but Misses since, else begins one: a loop that polls with
 * several calls in turn would otherwise fill the disk. */
static void append_miss(struct mbr_thread *thread, const struct frame *frame, struct mbr_record miss) {
    struct mbr_stamp end = mbr_stamp_end(thread);
    set_spans(&miss, &frame->begin, &end);
    for (uint32_t i = 0; i < thread->miss_count; ++i) {
        struct mbr_record *sum = &thread->misses[i].sum;
        if (sum->comm != miss.comm || sum->peer != miss.peer || sum->tag != miss.tag || ((sum->flags ^ miss.flags) & ~CPU_CARRIED))
            continue;
        sum->wall_span_ns = mbr_span(0, (uint64_t)sum->wall_span_ns + miss.wall_span_ns);
        sum->cpu_span_ns = mbr_span(0, (uint64_t)sum->cpu_span_ns + miss.cpu_span_ns);
        sum->aux++;
        mbr_patch(thread, &thread->misses[i].open, sum->wall_span_ns, sum->cpu_span_ns, sum->aux);
        return;
    }
    uint32_t count = thread->miss_count < MISS_KINDS ? thread->miss_count : 0;
    miss.aux = 1;
    thread->misses[count] = (struct mbr_miss){miss, append(thread, miss)};
    thread->miss_count = count + 1;
}

static void probe_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    frame->begin = mbr_stamp_begin(thread);
    const struct mbr_comm *comm = mbr_comm_find(thread, a[2]);
    if (!comm) {
        append_unknown(thread, &frame->begin);
        return;
    }
    frame->recorded = true;
    frame->status = own_status(thread, &a[role->status], 1);
    if (!(role->flags & BLOCKING))
        return;
    struct mbr_record record = record_of(thread, &frame->begin, PROBE, role->flags);
    record.comm = comm->number;
    record.peer = mbr_peer(a[0]);
    record.tag = mbr_tag(a[1]);
    record.request = frame->request = mbr_request_take(1);
    frame->posted = posted_of(&record);
    frame->open = append(thread, record);
}

static void probe_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    const struct mbr_comm *comm = frame->recorded ? mbr_comm_find(thread, a[2]) : NULL;
    if (!comm)
        return;
    struct mbr_stamp end;
    if (role->flags & BLOCKING) {
        end = close_open(thread, frame, 0);
    } else {
        if (error)
            return;
        bool found = *(const int *)a[role->flag];
        struct mbr_record record =
            record_of(thread, &frame->begin, found ? PROBE : MISS, role->flags | (found ? 0 : MISS_PROBE));
        record.comm = comm->number;
        record.peer = mbr_peer(a[0]);
        record.tag = mbr_tag(a[1]);
        if (!found) {
            append_miss(thread, frame, record);
            return;
        }
        end = mbr_stamp_end(thread);
        set_spans(&record, &frame->begin, &end);
        record.request = frame->request = mbr_request_take(1);
        frame->posted = posted_of(&record);
        append(thread, record);
    }
    append_done(thread, &end, frame->request, &frame->posted, frame->status, error);
    if (role->message && !error) {
        mbr_lock_take(&mbr_table_lock);
        struct mbr_entry *entry = mbr_entry_push(mbr_handle_at(a[role->message], 0) | MBR_MESSAGE_KEY);
        if (entry) {
            entry->kind = PROBE;
            entry->number = frame->request;
            entry->comm = comm->number;
            entry->peer = mbr_peer(a[0]) == TRACE_PROC_NULL ? TRACE_PROC_NULL : TRACE_ANY_SOURCE;
        }
        mbr_lock_drop(&mbr_table_lock);
    }
}

/* --- completion --- */

/* What one Done record of a completion call says; `more` requests behind `request` finished as their own records say. */
struct finished {
    uint32_t request, more;
    struct posted status; /* its room is the size */
    uint8_t flags;
    bool plain; /* what the record says follows from the Send, Recv or Collective */
};

/* The handles of a completion call as they were before it. What finished is listed behind them. */
static uint64_t *handles_of(struct mbr_thread *thread) { return thread->words.data; }

static void wait_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    frame->begin = mbr_stamp_begin(thread);
    if (role->flags & BLOCKING)
        frame->open = append(thread, record_of(thread, &frame->begin, WAIT, role->flags));
    int64_t count = role->form == ONE ? 1 : (int)a[0];
    frame->count = count > 0 ? (uint64_t)count : 0;
    /* MPI_Isendrecv ends with two Done records. */
    uint64_t *handles = mbr_buffer_fit(&thread->words, (frame->count + 1) * (sizeof *handles + 2 * sizeof(struct finished)));
    if (!handles)
        return;
    if (role->by_value)
        handles[0] = mbr_handle(a[0]);
    else
        for (uint64_t i = 0; i < frame->count; i++)
            handles[i] = mbr_handle_at(a[role->requests], i);
    frame->status = own_status(thread, &a[role->status], role->form == ANY ? 1 : frame->count + 1);
    frame->recorded = true;
}

/* The error of completion number `at` of a call that returned `error`. */
static int completion_error(const struct role *role, mbr_word statuses, uint64_t at, int error) {
    if (!error || role->form == ONE || role->form == ANY || mbr_error_class(error) != mbr_library.err_in_status)
        return error;
    int code;
    memcpy(&code, (const char *)statuses + at * mbr_library.status_bytes + mbr_library.status_error, sizeof code);
    return code;
}

/* Lists one Done, in the place of the last one if that can stand for both. */
MBR_INLINE struct finished *list_done(struct finished *list, struct finished *end, struct finished done) {
    struct finished *last = end - 1;
    if (done.plain && end > list && last->plain && last->request + last->more + 1 == done.request) {
        last->more++;
        return end;
    }
    *end = done;
    return end + 1;
}

/* What the status of a receive, or of a send that was cancelled, adds to its Done. */
MBR_INLINE void read_finished(struct finished *done, const struct mbr_entry *entry, const void *status, int code) {
    struct mbr_status read = mbr_status_read(status, entry->cancelled);
    if (entry->kind != RECV) {
        done->flags |= read.cancelled ? CANCELLED : 0;
        return;
    }
    const struct posted posted = {entry->peer, entry->tag, entry->bytes};
    bool unset = entry->paired && mbr_library.isendrecv_status_unset;
    if (unset) /* what was received is not known; a size beyond the room would be a truncation */
        read.bytes = posted.room;
    struct mbr_record record = {0};
    fill_done(&record, &posted, &read, code);
    done->flags = record.flags;
    if (unset && (posted.peer == TRACE_ANY_SOURCE || posted.tag == TRACE_ANY_TAG))
        done->flags |= FAILED;
    done->status = (struct posted){record.peer, record.tag, record.bytes};
}

/* Whether a finished request did what its own record foretells, which most do and few looks tell; then `done` says so. */
MBR_INLINE bool as_foretold(struct finished *done, const struct mbr_entry *entry, const void *status) {
    if (entry->cancelled | entry->paired)
        return false;
    if (entry->kind != RECV)
        return true;
    if (entry->peer < 0 || entry->tag < 0 || mbr_status_read(status, false).bytes != entry->bytes)
        return false;
    done->status = (struct posted){entry->peer, entry->tag, entry->bytes};
    return true;
}

/* Takes the oldest unfinished use of `handle` off the table and lists what finished with it. */
MBR_INLINE struct finished *finish(struct finished *list, struct finished *end, uint64_t handle, const void *status, int code,
                                   bool peek) {
    struct mbr_entry *entry = mbr_entry_oldest(handle);
    if (!entry)
        return end;
    if (!entry->reported && entry->number) {
        struct finished done = {.request = entry->number};
        done.plain = !code && as_foretold(&done, entry, status);
        if (!done.plain) {
            if (entry->paired)
                end = list_done(list, end, (struct finished){.request = entry->number - 1, .plain = true});
            if (entry->kind == RECV || entry->cancelled)
                read_finished(&done, entry, status, code);
            else if (code)
                done.flags = FAILED;
            bool as_posted = entry->kind != RECV || entry->peer == TRACE_PROC_NULL ||
                             (entry->peer >= 0 && entry->tag >= 0 && done.status.room == entry->bytes);
            done.plain = as_posted && !done.flags;
        }
        end = list_done(list, end, done);
    }
    if (peek)
        entry->reported = true;
    else if (entry->persistent)
        entry->number = 0, entry->reported = entry->cancelled = false;
    else
        mbr_entry_pop(handle);
    return end;
}

static void wait_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    if (!frame->recorded)
        return;
    const uint64_t *handles = handles_of(thread);
    const int *indices = role->index ? (const int *)a[role->index] : NULL;
    uint64_t completed = frame->count;
    bool hit = true;
    if (role->flag)
        hit = *(const int *)a[role->flag];
    if (role->form == ANY)
        completed = hit && *indices >= 0 && (uint64_t)*indices < frame->count ? 1 : 0;
    if (role->form == SOME) {
        int count = *(const int *)a[role->count];
        completed = count > 0 ? (uint64_t)count : 0;
        hit = count != 0;
    }
    if (!hit && !error) {
        append_miss(thread, frame, record_of(thread, &frame->begin, MISS, 0));
        return;
    }

    struct finished *list = (struct finished *)(handles_of(thread) + frame->count + 1), *list_end = list;
    const char *status = (const char *)frame->status;
    mbr_lock_take(&mbr_table_lock);
    for (uint64_t i = 0; i < completed; i++, status += mbr_library.status_bytes) {
        int code = completion_error(role, frame->status, i, error);
        bool pending = code && role->form == ALL && mbr_error_class(code) == mbr_library.err_pending;
        if (!pending)
            list_end = finish(list, list_end, handles[indices ? (uint64_t)indices[i] : i], status, code, role->peek);
    }
    mbr_lock_drop(&mbr_table_lock);

    uint64_t dones = (uint64_t)(list_end - list), index;
    struct mbr_stamp end;
    if (role->flags & BLOCKING) {
        end = close_open(thread, frame, dones);
        index = dones ? mbr_reserve(thread, dones) : 0;
    } else {
        end = mbr_stamp_end(thread);
        struct mbr_record wait = record_of(thread, &frame->begin, WAIT, 0);
        set_spans(&wait, &frame->begin, &end);
        wait.aux = dones;
        index = mbr_reserve(thread, 1 + dones);
        mbr_put(thread, index++, wait);
    }
    for (const struct finished *finished = list; finished < list_end; finished++) {
        struct mbr_record done = record_of(thread, &end, DONE, finished->flags);
        done.request = finished->request;
        done.aux = finished->more;
        if (!finished->more) {
            done.peer = finished->status.peer;
            done.tag = finished->status.tag;
            done.bytes = finished->status.room;
        }
        mbr_put(thread, index++, done);
    }
}

static void cancel_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    (void)role;
    frame->begin = mbr_stamp_begin(thread);
    mbr_lock_take(&mbr_table_lock);
    struct mbr_entry *entry = mbr_entry_oldest(mbr_handle_at(a[0], 0));
    if (entry && entry->number) {
        entry->cancelled = true;
        frame->request = entry->number;
    }
    mbr_lock_drop(&mbr_table_lock);
}

static void cancel_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    (void)a, (void)role;
    if (error || !frame->request)
        return;
    struct mbr_stamp end = mbr_stamp_end(thread);
    struct mbr_record record = record_of(thread, &frame->begin, CANCEL, 0);
    set_spans(&record, &frame->begin, &end);
    record.request = frame->request;
    append(thread, record);
}

static void request_free_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    (void)role;
    frame->begin = mbr_stamp_begin(thread);
    uint64_t handle = mbr_handle_at(a[0], 0);
    mbr_lock_take(&mbr_table_lock);
    struct mbr_entry *entry = mbr_entry_oldest(handle);
    if (entry) {
        frame->request = entry->reported ? 0 : entry->number;
        frame->recorded = entry->paired;
        if (entry->kept)
            mbr_pages_unmap(entry->kept, sizeof *entry->kept + entry->kept->count * sizeof(uint64_t));
        mbr_entry_pop(handle);
    }
    mbr_lock_drop(&mbr_table_lock);
}

static void request_free_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    (void)a, (void)role, (void)error;
    if (!frame->request)
        return;
    struct mbr_stamp end = mbr_stamp_end(thread);
    struct mbr_record record = record_of(thread, &frame->begin, FREE, 0);
    if (frame->recorded) { /* the sending half of a pair */
        record.request = frame->request - 1;
        append(thread, record);
    }
    set_spans(&record, &frame->begin, &end);
    record.request = frame->request;
    append(thread, record);
}

static void start_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    (void)a, (void)role;
    frame->begin = mbr_stamp_begin(thread);
}

/* Writes the record of each persistent request anew; only the last one carries the spans of the call. */
static void start_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    if (error)
        return;
    struct mbr_stamp end = mbr_stamp_end(thread);
    uint64_t count = role->form == ONE ? 1 : (int)a[0] > 0 ? (uint64_t)(int)a[0] : 0;
    for (uint64_t i = 0; i < count; i++) {
        mbr_lock_take(&mbr_table_lock);
        struct mbr_entry *entry = mbr_entry_oldest(mbr_handle_at(a[role->requests], i));
        struct mbr_entry copy = {0};
        if (entry && entry->persistent) {
            entry->number = mbr_request_take(1);
            copy = *entry;
        }
        mbr_lock_drop(&mbr_table_lock);
        const struct mbr_comm *comm = copy.key ? mbr_comm_find(thread, copy.comm_handle) : NULL;
        if (!comm || comm->number != copy.comm) {
            append_unknown(thread, &frame->begin);
            continue;
        }
        struct mbr_record record = record_of(thread, &frame->begin, copy.kind, copy.flags | PERSISTENT);
        record.comm = copy.comm;
        record.peer = copy.peer;
        record.tag = copy.tag;
        record.bytes = copy.bytes;
        record.request = copy.number;
        if (i + 1 == count)
            set_spans(&record, &frame->begin, &end);
        if (copy.kind == COLLECTIVE) {
            record.aux = copy.kept->aux;
            mbr_put_words(thread, record, copy.kept->words, copy.kept->count);
        } else {
            mbr_put(thread, copy.kind == SEND ? reserve_send(thread, comm, &record, 1) : mbr_reserve(thread, 1), record);
        }
    }
}

/* --- collectives --- */

static int64_t count_at(mbr_word array, uint64_t at, bool wide) {
    return wide ? ((const int64_t *)array)[at] : ((const int *)array)[at];
}

/* Bytes of one side; with several counts their sum, and each of them in `words`. */
static uint64_t side_bytes(struct mbr_thread *thread, const mbr_word *a, const struct side *side, bool wide, uint64_t count,
                           uint64_t *words) {
    if (side->sizes == NO_SIZE)
        return 0;
    if (side->sizes == ONE_SIZE)
        return mbr_type_bytes(thread, a[side->type], count_argument(a[side->count], wide));
    uint64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) {
        mbr_word type = side->sizes == COUNTS ? a[side->type] : mbr_handle_at(a[side->type], i);
        words[i] = mbr_type_bytes(thread, type, count_at(a[side->count], i, wide));
        sum += words[i];
    }
    return sum > UINT64_C(1) << 48 ? UINT64_C(1) << 48 : sum;
}

static bool in_place(const mbr_word *a, const struct side *side) {
    return side->buffer != NO_BUFFER && a[side->buffer] == mbr_library.in_place;
}

/* Fills size fields of `record` and returns how many words of per-peer sizes stand in `*words_p`. */
static uint64_t collective_sizes(struct mbr_thread *thread, const struct mbr_comm *comm, const mbr_word *a, const struct role *role,
                                 struct mbr_record *record, uint64_t **words_p) {
    uint64_t sends = comm->peers, receives = comm->peers;
    int in, out;
    if (role->operation == NEIGHBOR) {
        mbr_comm_degrees(a[role->comm], comm->rank, &in, &out);
        sends = (uint64_t)out, receives = (uint64_t)in;
    } else if (role->operation == REDUCE_SCATTER) {
        receives = comm->size;
    }
    uint64_t *words = *words_p = mbr_buffer_fit(&thread->words, (sends + receives + 1) * sizeof *words);
    if (!words)
        return 0;

    /* Which sides count for this process: see the table in spec/trace.md, section 7. */
    bool sending = role->sent.sizes != NO_SIZE, receiving = role->received.sizes != NO_SIZE, rooted = role->root != 0;
    bool is_root = !rooted || (comm->inter ? record->peer == TRACE_ROOT : record->peer == comm->rank);
    bool is_leaf = !rooted || !comm->inter || record->peer >= 0;
    switch (role->operation) {
    case BCAST:
        sending = is_root, receiving = is_leaf && !is_root;
        break;
    case REDUCE:
    case GATHER:
        sending = is_leaf, receiving = is_root;
        break;
    case SCATTER:
        sending = is_root, receiving = is_leaf;
        break;
    default:
        break;
    }
    bool send_in_place = sending && in_place(a, &role->sent), receive_in_place = receiving && in_place(a, &role->received);

    uint64_t *sent = words, *received = words;
    if (sending && !send_in_place)
        record->bytes = side_bytes(thread, a, &role->sent, role->wide, sends, sent);
    if (role->operation == ALLTOALL)
        received += sends;
    if (receiving && !receive_in_place)
        record->aux = side_bytes(thread, a, &role->received, role->wide, receives, received);
    bool many_sent = sending && role->sent.sizes > ONE_SIZE, many_received = receiving && role->received.sizes > ONE_SIZE;

    if (role->operation == REDUCE_SCATTER) { /* every rank contributes all blocks and receives its own */
        if (role->received.sizes == ONE_SIZE) {
            record->bytes = record->aux * comm->size;
            return 0;
        }
        record->bytes = record->aux;
        record->aux = received[comm->rank];
        return comm->inter ? 0 : receives;
    }
    if (send_in_place) {
        if (role->operation == ALLTOALL) {
            record->bytes = record->aux;
            if (many_received)
                memcpy(sent, received, sends * sizeof *sent);
        } else {
            record->bytes = many_received ? received[comm->rank] : record->aux;
        }
    }
    if (receive_in_place)
        record->aux = many_sent ? sent[comm->rank] : record->bytes;
    if (role->operation == NEIGHBOR)
        return 0;
    if (role->operation == ALLTOALL)
        return many_received ? sends + receives : 0;
    return many_sent ? sends : many_received ? receives : 0;
}

/* The record of a collective with its per-peer sizes; false if the communicator is not known. */
static bool collective_record(struct mbr_thread *thread, struct frame *frame, const mbr_word *a, const struct role *role,
                              struct mbr_record *record, uint64_t **words_p, uint64_t *count_p) {
    const struct mbr_comm *comm = mbr_comm_find(thread, a[role->comm]);
    if (!comm) {
        append_unknown(thread, &frame->begin);
        return false;
    }
    *record = record_of(thread, &frame->begin, COLLECTIVE, role->flags);
    record->comm = comm->number;
    record->tag = role->operation;
    record->peer = role->root ? mbr_peer(a[role->root]) : TRACE_NO_ROOT;
    *count_p = collective_sizes(thread, comm, a, role, record, words_p);
    record->flags |= *count_p ? VECTOR : 0;
    return true;
}

static void collective_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    frame->begin = mbr_stamp_begin(thread);
    struct mbr_record record;
    uint64_t *words, count;
    if (role->persistent || !collective_record(thread, frame, a, role, &record, &words, &count))
        return;
    if (!(role->flags & BLOCKING))
        record.request = frame->request = mbr_request_take(1);
    frame->count = record.aux;
    frame->open = mbr_put_words(thread, record, words, count);
    frame->recorded = true;
}

static void collective_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    if (frame->recorded) {
        close_open(thread, frame, frame->count);
        if (role->request && !error)
            remember(&(struct mbr_record){.kind = COLLECTIVE, .request = frame->request}, mbr_handle_at(a[role->request], 0),
                     (struct kept){0});
        return;
    }
    struct mbr_record record;
    uint64_t *words, count;
    if (!role->persistent || error || !collective_record(thread, frame, a, role, &record, &words, &count))
        return;
    struct mbr_kept *kept = mbr_pages_map(sizeof *kept + count * sizeof *words);
    if (!kept) {
        mbr_stop("out of memory");
        return;
    }
    kept->aux = record.aux;
    kept->count = count;
    if (count)
        memcpy(kept->words, words, count * sizeof *words);
    remember(&record, mbr_handle_at(a[role->request], 0), (struct kept){true, mbr_handle(a[role->comm]), kept});
}

/* --- communicators and the rest --- */

static void comm_make_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    (void)a, (void)role;
    frame->begin = mbr_stamp_begin(thread);
}

static void comm_make_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    if (error)
        return;
    mbr_comm_made(thread, &frame->begin, (mbr_word)mbr_handle_at(a[role->made], 0), role->orphan ? NULL : &a[0], role->peek,
                  role->tag ? (int)a[role->tag] : -1);
}

static void comm_free_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    (void)role;
    frame->begin = mbr_stamp_begin(thread);
    mbr_comm_freed(thread, &frame->begin, (mbr_word)mbr_handle_at(a[0], 0));
}

static void comm_free_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    (void)thread, (void)frame, (void)a, (void)role, (void)error;
}

static void other_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    (void)a;
    frame->begin = mbr_stamp_begin(thread);
    struct mbr_record record = record_of(thread, &frame->begin, OTHER, 0);
    record.aux = role->other;
    frame->open = append(thread, record);
}

static void other_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    (void)a, (void)error;
    close_open(thread, frame, role->other);
}

static void finalize_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    (void)a, (void)role;
    frame->begin = mbr_stamp_begin(thread);
    append(thread, record_of(thread, &frame->begin, FINALIZE, 0));
    mbr_file_finalize();
}

static void finalize_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    (void)thread, (void)frame, (void)a, (void)role, (void)error;
}

/* --- the wrappers --- */

#define EXPORT __attribute__((visibility("default")))

#define PARAMETERS_0 void
#define PARAMETERS_1 mbr_word a0
#define PARAMETERS_2 PARAMETERS_1, mbr_word a1
#define PARAMETERS_3 PARAMETERS_2, mbr_word a2
#define PARAMETERS_4 PARAMETERS_3, mbr_word a3
#define PARAMETERS_5 PARAMETERS_4, mbr_word a4
#define PARAMETERS_6 PARAMETERS_5, mbr_word a5
#define PARAMETERS_7 PARAMETERS_6, mbr_word a6
#define PARAMETERS_8 PARAMETERS_7, mbr_word a7
#define PARAMETERS_9 PARAMETERS_8, mbr_word a8
#define PARAMETERS_10 PARAMETERS_9, mbr_word a9
#define PARAMETERS_11 PARAMETERS_10, mbr_word a10
#define PARAMETERS_12 PARAMETERS_11, mbr_word a11
#define PARAMETERS_13 PARAMETERS_12, mbr_word a12
#define NAMES_0
#define NAMES_1 a0
#define NAMES_2 NAMES_1, a1
#define NAMES_3 NAMES_2, a2
#define NAMES_4 NAMES_3, a3
#define NAMES_5 NAMES_4, a4
#define NAMES_6 NAMES_5, a5
#define NAMES_7 NAMES_6, a6
#define NAMES_8 NAMES_7, a7
#define NAMES_9 NAMES_8, a8
#define NAMES_10 NAMES_9, a9
#define NAMES_11 NAMES_10, a10
#define NAMES_12 NAMES_11, a11
#define NAMES_13 NAMES_12, a12
#define ELEMENTS_0
#define ELEMENTS_1 a[0]
#define ELEMENTS_2 ELEMENTS_1, a[1]
#define ELEMENTS_3 ELEMENTS_2, a[2]
#define ELEMENTS_4 ELEMENTS_3, a[3]
#define ELEMENTS_5 ELEMENTS_4, a[4]
#define ELEMENTS_6 ELEMENTS_5, a[5]
#define ELEMENTS_7 ELEMENTS_6, a[6]
#define ELEMENTS_8 ELEMENTS_7, a[7]
#define ELEMENTS_9 ELEMENTS_8, a[8]
#define ELEMENTS_10 ELEMENTS_9, a[9]
#define ELEMENTS_11 ELEMENTS_10, a[10]
#define ELEMENTS_12 ELEMENTS_11, a[11]
#define ELEMENTS_13 ELEMENTS_12, a[12]

/* The MPI library's function, found at the first call. */
static void *target_find(void **target, const char *name) {
    void *found = mbr_library_symbol(name);
    if (!found) {
        mbr_warn("this MPI library has no %s", name + 1);
        abort();
    }
    __atomic_store_n(target, found, __ATOMIC_RELEASE);
    return found;
}

static inline void *target_of(void **target, const char *name) {
    void *found = __atomic_load_n(target, __ATOMIC_RELAXED);
    return __builtin_expect(found != NULL, 1) ? found : target_find(target, name);
}

/* The thread's state if this call is to be recorded, else null. */
MBR_INLINE struct mbr_thread *enter(void) {
    struct mbr_thread *thread = &mbr_self;
    if (!mbr_active || thread->inside)
        return NULL;
    if (__builtin_expect(!thread->ready, 0))
        mbr_thread_setup(thread);
    thread->inside = true;
    return thread;
}

#define CALL(arity, name, family, ...)                                                        \
    EXPORT int MPI_##name(PARAMETERS_##arity) {                                               \
        static const struct role role = {__VA_ARGS__};                                        \
        static void *target;                                                                  \
        int (*real)(PARAMETERS_##arity) = (int (*)(PARAMETERS_##arity))target_of(&target, "PMPI_" #name); \
        struct mbr_thread *thread = enter();                                                  \
        if (!thread)                                                                          \
            return real(NAMES_##arity);                                                       \
        mbr_word a[arity + 1] = {NAMES_##arity};                                              \
        struct frame frame;                                                                   \
        frame.recorded = false; /* the rest is set where it is used: zeroing all costs 10 ns */ \
        frame.request = 0;                                                                    \
        family##_before(thread, &frame, a, &role);                                            \
        int error = real(ELEMENTS_##arity);                                                   \
        family##_after(thread, &frame, a, &role, error);                                      \
        thread->inside = false;                                                               \
        return error;                                                                         \
    }                                                                                         \
    EXPORT int PMPI_##name(PARAMETERS_##arity) __attribute__((alias("MPI_" #name)));
#define OTHER_CALL(arity, name) CALL(arity, name, other, .other = OTHER_##name)
#include "calls.h"
CALL(0, Finalize, finalize, .flags = 0)

/* Both forms of MPI_Init begin the recording when they return. */
#define INIT_CALL(arity, name)                                                                \
    EXPORT int MPI_##name(PARAMETERS_##arity) {                                               \
        static void *target;                                                                  \
        int (*real)(PARAMETERS_##arity) = (int (*)(PARAMETERS_##arity))target_of(&target, "PMPI_" #name); \
        struct mbr_thread *thread = &mbr_self;                                                \
        if (thread->inside || mbr_active)                                                     \
            return real(NAMES_##arity);                                                       \
        thread->inside = true;                                                                \
        struct mbr_beginning beginning = mbr_beginning_now();                                 \
        int error = real(NAMES_##arity);                                                      \
        if (!error)                                                                           \
            mbr_recording_begin(&beginning);                                                  \
        thread->inside = false;                                                               \
        return error;                                                                         \
    }                                                                                         \
    EXPORT int PMPI_##name(PARAMETERS_##arity) __attribute__((alias("MPI_" #name)));
INIT_CALL(2, Init)
INIT_CALL(4, Init_thread)

/* Not recorded: it ends what the threads remember of the type. */
EXPORT int MPI_Type_free(PARAMETERS_1) {
    static void *target;
    int (*real)(PARAMETERS_1) = (int (*)(PARAMETERS_1))target_of(&target, "PMPI_Type_free");
    __atomic_fetch_add(&mbr_type_generation, 1, __ATOMIC_RELEASE);
    return real(NAMES_1);
}
EXPORT int PMPI_Type_free(PARAMETERS_1) __attribute__((alias("MPI_Type_free")));
