/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Shared by the families of calls.h: the roles of arguments, the state kept from before to after
 * the real function, and parts of records. A family is a pair of functions, NAME_before and
 * NAME_after.
 */
#ifndef MBR_FRAME_H
#define MBR_FRAME_H

#include "comm.h"
#include "library.h"
#include "tables.h"
#include "trace.h"

#include <string.h>

/* How the sizes of one side of a collective are given. */
enum sizes { NO_SIZE, ONE_SIZE, COUNTS, COUNTS_AND_TYPES };
enum { NO_BUFFER = 255 };

struct side {
    uint8_t buffer, count, type, sizes;
};

/* Positions of the arguments of a function; 0 = none where 0 is impossible. */
struct role {
    uint8_t flags;                         /* of the record */
    uint8_t wide, persistent, peek, by_value, orphan;
    enum { ONE, ALL, ANY, SOME } form;
    uint8_t requests, request, flag, index, count, status, message, comm, root, tag, name, made;
    uint8_t recv[4];
    uint8_t operation;
    uint16_t other;
    struct side sent, received;
};

/* Operations of collectives, as the trace numbers them. */
enum operation {
    BARRIER = 1, BCAST, REDUCE, ALLREDUCE, GATHER, SCATTER, ALLGATHER, ALLTOALL, REDUCE_SCATTER, SCAN, EXSCAN, NEIGHBOR,
    NEIGHBOR_ALLGATHER, NEIGHBOR_ALLTOALL
};

/* Calls outside of the recorded list, in the order of their numbers. */
enum other {
#define CALL(...)
#define OTHER_CALL(arity, name) OTHER_##name,
#define NAMED(symbol, name) OTHER_##symbol,
#include "calls.h"
#undef CALL
#undef OTHER_CALL
    OTHERS
};

/* Arguments of a receive or probe. */
struct posted {
    int32_t peer, tag;
    uint64_t room;
};

/* State kept from before to after the real function. */
struct frame {
    struct mbr_stamp begin;
    struct mbr_open open;
    uint32_t request;
    uint64_t count;
    mbr_word status;
    struct posted posted;
    uint64_t message; /* key of a matched receive */
    uint64_t handle;  /* of the communicator that is freed, `comm`, which is null if it is not recorded */
    struct mbr_comm *comm;
    bool recorded;
    bool lost; /* `open` is the Other of a call that is not recorded in detail */
    bool refused; /* of MPI_Sendrecv and collectives: MPI does not accept the arguments */
};

MBR_INLINE struct mbr_record record_of(struct mbr_thread *thread, struct mbr_stamp at, uint8_t kind, uint8_t flags) {
    return (struct mbr_record){
        .kind = kind, .flags = flags | at.carried, .origin = thread->origin, .wall_ns = at.wall_ns, .cpu_ns = at.cpu_ns};
}

/* Completes the record that `frame` opened before the call, whose aux may be known only now. */
MBR_INLINE void close_open(struct frame *frame, const struct mbr_end *end, uint64_t aux) {
    mbr_patch(&frame->open, end->spans, aux);
}
MBR_INLINE void close_spans(struct frame *frame, const struct mbr_end *end) { close_open(frame, end, frame->open.aux); }

/* Counts a call that is not recorded in detail as an Other. Returns its record, whose spans are those
 * given: without them the time in the call would be replayed as computation. */
struct mbr_open append_lost(struct mbr_thread *thread, struct mbr_stamp begin, enum other what, uint64_t spans);

/* The same for a call that has not returned yet; lost_after fills in the spans. */
MBR_INLINE void lost_before(struct mbr_thread *thread, struct frame *frame, enum other what) {
    frame->open = append_lost(thread, frame->begin, what, 0);
    frame->lost = true;
}
MBR_INLINE void lost_after(struct mbr_thread *thread, struct frame *frame) {
    if (__builtin_expect(frame->lost, 0)) {
        struct mbr_end end = mbr_stamp_end(thread, &frame->begin);
        close_spans(frame, &end);
    }
}

/* A test or probe without result. Adds to the Miss of the same kind if this thread wrote nothing
 * but Misses since, else begins one: a loop that polls with several calls in turn would otherwise
 * fill the disk. */
void append_miss(struct mbr_thread *thread, struct mbr_record miss);

/* Whether MPI can accept a send, receive or probe with these arguments. It refuses others, and ends the program if its
 * error handler says so: the trace must be readable then. Collectives have a test of their own. */
MBR_INLINE bool is_allowed(const struct mbr_comm *comm, int64_t count, int32_t peer, int32_t tag, uint8_t kind) {
    return ((uint32_t)peer < comm->peers || peer == TRACE_PROC_NULL || (kind != SEND && peer == TRACE_ANY_SOURCE)) &&
           (tag >= 0 || (kind != SEND && tag == TRACE_ANY_TAG)) && count >= 0;
}

MBR_INLINE enum other refused(uint8_t kind) {
    return kind == SEND ? OTHER_REFUSED_SEND : kind == RECV ? OTHER_REFUSED_RECEIVE : OTHER_REFUSED_PROBE;
}

/* Makes the record that a blocking call opened, or one half of it, the Other of a call that MPI refused. */
void replace_refused(struct mbr_thread *thread, struct mbr_stamp begin, uint64_t *place, enum other what, uint64_t spans);

static inline int64_t count_argument(mbr_word word, bool wide) { return wide ? (int64_t)word : (int)word; }

/* Counts a send and returns the number of earlier sends to its destination. Called under
 * `mbr_lock`, together with the reservation of the record: in the file these numbers increase, also
 * when several threads send. */
MBR_INLINE uint64_t send_count(const struct mbr_comm *comm, int32_t peer) {
    return (uint32_t)peer < comm->peers ? comm->sent[peer]++ : 0; /* a negative peer is none; unsigned it is above all others */
}

/* The status of one completion: the caller's own, null if the call is to be refused for it, or ours if the caller
 * ignores it. */
MBR_INLINE mbr_word own_status(struct mbr_thread *thread, mbr_word *argument, uint64_t count) {
    if (*argument == mbr_library.status_ignore) {
        void *own = mbr_buffer_fit(&thread->statuses, count * mbr_library.status_bytes);
        if (own)
            *argument = (mbr_word)own;
    }
    return *argument;
}

/* The status at this address; one without content if it is null, as after a call whose status argument is wrong. */
MBR_INLINE struct mbr_status status_given(mbr_word status) {
    return status ? mbr_status_read((const void *)status, mbr_library.status_layout, false) : (struct mbr_status){.source = -1, .tag = -1};
}

/* The result of a receive or probe. Source and tag without wildcard are taken from the arguments,
 * because libraries leave the statuses of failed and of some other calls unset. */
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
    if (error && is_set && done->bytes < posted->room) /* MPICH counts none: the message was longer than the buffer */
        done->bytes = posted->room;
    if (error || done->bytes > posted->room)
        done->flags |= FAILED;
}

MBR_INLINE struct posted posted_of(const struct mbr_record *record) {
    return (struct posted){record->peer, record->tag, record->kind == PROBE ? UINT64_MAX : record->bytes};
}

/* The Done of a blocking receive, a probe or the receiving half of MPI_Sendrecv. */
void append_done(struct mbr_thread *thread, const struct mbr_stamp *end, uint32_t request, const struct posted *posted,
                 mbr_word status, int error);

/* Families that are functions; send and recv (messages.h) and wait (completion.h) are part of each
 * wrapper. */
#define MBR_FAMILY(name)                                                                                          \
    void name##_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role);     \
    void name##_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error);
MBR_FAMILY(mrecv)
MBR_FAMILY(sendrecv)
MBR_FAMILY(probe)
MBR_FAMILY(cancel)
MBR_FAMILY(request_free)
MBR_FAMILY(start)
MBR_FAMILY(collective)
MBR_FAMILY(partitioned)
MBR_FAMILY(ready)
MBR_FAMILY(arrived)

#endif
