/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Collectives: sizes of each side by the table in spec/trace.md, section 7.
 */
#include "messages.h"

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
    if (!a[side->count] || (side->sizes == COUNTS_AND_TYPES && !a[side->type])) { /* MPI refuses the call, or ends the program */
        memset(words, 0, count * sizeof *words);
        return 0;
    }
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

/* Fills the size fields of `record` and returns the number of per-peer sizes in `*words_p`. */
static uint64_t collective_sizes(struct mbr_thread *thread, const struct mbr_comm *comm, const mbr_word *a, const struct role *role,
                                 struct mbr_record *record, uint64_t **words_p) {
    uint64_t sends = comm->peers, receives = comm->peers;
    if (role->operation >= NEIGHBOR) {
        const struct mbr_topology topology = mbr_comm_topology(a[role->comm], comm->rank);
        sends = (uint64_t)topology.destinations, receives = (uint64_t)topology.sources;
        if (!topology.form)
            record->tag = NEIGHBOR;
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
    const bool to_each = role->operation == ALLTOALL || role->operation == NEIGHBOR_ALLTOALL;
    if (to_each)
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
    if (record->tag == NEIGHBOR)
        return 0;
    if (to_each)
        return many_received ? sends + receives : 0;
    return many_sent ? sends : many_received ? receives : 0;
}

/* Whether MPI can accept this root. */
static bool is_root_allowed(const struct mbr_comm *comm, int32_t root) {
    return (uint32_t)root < comm->peers || (comm->inter && (root == TRACE_ROOT || root == TRACE_PROC_NULL));
}

/* Fills the record of a collective, with its per-peer sizes; false if the communicator is unknown, or MPI refuses the
 * arguments, which `frame->refused` distinguishes. */
static bool collective_record(struct mbr_thread *thread, struct frame *frame, const mbr_word *a, const struct role *role,
                              struct mbr_record *record, uint64_t **words_p, uint64_t *count_p) {
    const struct mbr_comm *comm = mbr_comm_find(thread, a[role->comm]);
    if (!comm)
        return false;
    *record = record_of(thread, frame->begin, COLLECTIVE, role->flags);
    record->origin = comm->origin;
    record->tag = role->operation;
    record->peer = role->root ? mbr_peer(a[role->root]) : TRACE_NO_ROOT;
    frame->refused = role->root && !is_root_allowed(comm, record->peer);
    if (frame->refused)
        return false;
    *count_p = collective_sizes(thread, comm, a, role, record, words_p);
    record->flags |= *count_p ? VECTOR : 0;
    return true;
}

void collective_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    frame->begin = mbr_stamp_begin(thread);
    struct mbr_record record;
    uint64_t *words, count;
    frame->refused = false;
    if (!(role->flags & BLOCKING))
        return;
    if (!collective_record(thread, frame, a, role, &record, &words, &count)) {
        lost_before(thread, frame, frame->refused ? OTHER_REFUSED_COLLECTIVE : OTHER_LOST_COLLECTIVE);
        return;
    }
    frame->open = mbr_put_words(thread, record, words, count);
    frame->count = count;
    frame->recorded = true;
}

void collective_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    if (frame->recorded || frame->lost) {
        struct mbr_end end = mbr_stamp_end(thread, &frame->begin);
        /* One with Extra records after it stays as it is: these belong to a collective. */
        if (frame->recorded && !frame->count && mbr_is_refusal(error))
            replace_refused(thread, frame->begin, frame->open.place, OTHER_REFUSED_COLLECTIVE, end.spans);
        else
            close_spans(frame, &end);
    }
    if (role->flags & BLOCKING || error)
        return;
    struct mbr_end end = mbr_stamp_end(thread, &frame->begin);
    struct mbr_record record;
    uint64_t *words, count;
    if (!collective_record(thread, frame, a, role, &record, &words, &count)) {
        if (!role->persistent)
            append_lost(thread, frame->begin, OTHER_LOST_COLLECTIVE, end.spans);
        return;
    }
    if (!role->persistent) {
        struct mbr_use use = {.key = mbr_handle_at(a[role->request], 0), .kind = COLLECTIVE};
        record.spans = end.spans;
        mbr_lock_take(&mbr_lock);
        record.request = use.number = mbr_request_take(1);
        mbr_lock_drop(&mbr_lock);
        mbr_put_words(thread, record, words, count);
        mbr_lock_take(&mbr_lock);
        mbr_line_join(use);
        mbr_lock_drop(&mbr_lock);
        return;
    }
    struct mbr_kept *kept = mbr_pages_map(sizeof *kept + count * sizeof *words);
    if (!kept) {
        mbr_stop("out of memory");
        return;
    }
    kept->aux = record.aux;
    kept->count = count;
    if (count)
        memcpy(kept->words, words, count * sizeof *words);
    remember_persistent(record, mbr_handle_at(a[role->request], 0), mbr_handle(a[role->comm]), kept);
}
