/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Completion of requests outside the fast path: out of order, cancelled, freed, persistent.
 */
#include "completion.h"

int completion_error(mbr_word statuses, uint64_t at, int error) {
    if (mbr_error_class(error) != mbr_library.err_in_status)
        return error;
    int code;
    memcpy(&code, (const char *)statuses + at * mbr_library.status_bytes + mbr_library.status_error, sizeof code);
    return code;
}

/* finish_line for one width of handles and one layout of statuses. */
MBR_INLINE uint64_t finish_line_of(struct done_list *list, mbr_word handles, uint64_t count, const char *status, unsigned handle_bytes,
                                   enum mbr_layout layout, unsigned status_bytes) {
    struct mbr_use *use = mbr_line.head;
    struct done_list local = *list; /* a copy in registers: no store here aliases it */
    uint64_t stand = (uint64_t)(mbr_line.tail - mbr_line.head), i = 0;
    for (count = count < stand ? count : stand; i < count; i++, use++, status += status_bytes) {
        uint64_t handle = handle_bytes == 4 ? ((const uint32_t *)handles)[i] : ((const uint64_t *)handles)[i];
        if (__builtin_expect(use->key != handle, 0))
            break;
        list_finished(&local, use, status, layout, 0);
    }
    *list = local;
    mbr_line_advance(use);
    return i;
}

uint64_t finish_line(struct done_list *list, mbr_word handles, uint64_t count, const char *status) {
    if (mbr_table.requests) /* any of them could be older uses of the same handles */
        return 0;
    switch (mbr_library.status_layout) {
    case STATUS_OPEN_MPI:
        return finish_line_of(list, handles, count, status, 8, STATUS_OPEN_MPI, 24);
    case STATUS_MPICH:
        return finish_line_of(list, handles, count, status, 4, STATUS_MPICH, 20);
    default:
        return 0;
    }
}

void put_dones(struct mbr_thread *thread, const struct mbr_stamp *end, const struct done_list *list, uint64_t slot) {
    const struct mbr_record same = record_of(thread, *end, DONE, 0);
    const uint64_t head = mbr_head(&same), same_sum = MBR_CHECK(0, head) + MBR_CHECK(4, same.wall_ns) + MBR_CHECK(5, same.cpu_ns);
    for (const struct finished *at = list->first; at < list->end; at++, slot++) {
        const struct finished done = *at;
        uint64_t *place = mbr_place(thread, slot);
        uint64_t sum = same_sum + MBR_CHECK_SLOT(slot) + MBR_CHECK(0, done.flags << 8) + MBR_CHECK(1, done.peer_and_tag) +
                       MBR_CHECK(2, done.bytes) + MBR_CHECK(3, done.request) + MBR_CHECK(7, done.more);
        place[1] = done.peer_and_tag;
        place[2] = done.bytes;
        place[3] = mbr_pair(done.request, (uint32_t)(sum >> 32));
        place[4] = same.wall_ns;
        place[5] = same.cpu_ns;
        place[6] = 0;
        place[7] = done.more;
        __atomic_store_n(place, head | done.flags << 8, __ATOMIC_RELEASE);
    }
}

/* The Done of a request in the table, which may have been cancelled or be the receiving half of
 * MPI_Isendrecv. */
static void list_entry(struct done_list *list, const struct mbr_entry *entry, const void *status, int code) {
    if (entry->kept && entry->use.kind == RECV) { /* partitioned: the whole message, and no status that must be set */
        const bool from_null = entry->use.peer == TRACE_PROC_NULL;
        struct finished done = {.request = entry->use.number,
                                .bytes = from_null ? 0 : entry->use.bytes,
                                .peer_and_tag = from_null ? mbr_pair((uint32_t)TRACE_PROC_NULL, (uint32_t)TRACE_ANY_TAG)
                                                          : entry->use.peer_and_tag,
                                .flags = code ? FAILED : 0};
        list_done(list, done, !code);
        return;
    }
    if (!entry->cancelled && !entry->paired) {
        list_finished(list, &entry->use, status, mbr_library.status_layout, code);
        return;
    }
    if (entry->paired)
        list_done(list, (struct finished){.request = entry->use.number - 1}, true);
    struct mbr_status read = mbr_status_read(status, mbr_library.status_layout, entry->cancelled);
    struct mbr_record record = {0};
    const struct mbr_use *use = &entry->use;
    bool unset = entry->paired && mbr_library.isendrecv_status_unset;
    bool wild = use->peer == TRACE_ANY_SOURCE || use->tag == TRACE_ANY_TAG;
    if (unset) /* the size received is unknown; one beyond the buffer would be a truncation */
        read.bytes = use->bytes;
    if (use->kind == RECV)
        fill_done(&record, &(struct posted){use->peer, use->tag, use->bytes}, &read, code);
    else
        record.flags = read.cancelled ? CANCELLED : code ? FAILED : 0;
    if (unset && wild && use->peer != TRACE_PROC_NULL) { /* whatever the status holds */
        record.flags |= UNKNOWN;
        record.peer = use->peer >= 0 ? use->peer : 0;
        record.tag = use->tag >= 0 ? use->tag : 0;
    }
    bool as_posted = use->kind != RECV || use->peer == TRACE_PROC_NULL || (!wild && record.bytes == use->bytes);
    struct finished done = {
        use->number, 0, record.bytes, mbr_pair((uint32_t)record.peer, (uint32_t)record.tag), record.flags};
    list_done(list, done, as_posted && !record.flags);
}

void finish(struct done_list *list, uint64_t handle, const void *status, int code, bool peek) {
    struct mbr_entry *entry = handle == mbr_library.request_null ? NULL : mbr_request_find(handle);
    if (!entry)
        return;
    if (!entry->reported && entry->use.number)
        list_entry(list, entry, status, code);
    if (peek)
        entry->reported = true;
    else if (entry->persistent)
        entry->use.number = 0, entry->reported = entry->cancelled = false;
    else
        mbr_entry_pop(handle);
}

void cancel_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    (void)role;
    frame->begin = mbr_stamp_begin(thread);
    mbr_lock_take(&mbr_lock);
    struct mbr_entry *entry = mbr_request_find(mbr_handle_given(a[0]));
    if (entry && entry->use.number) {
        entry->cancelled = true;
        frame->request = entry->use.number;
    }
    mbr_lock_drop(&mbr_lock);
}

void cancel_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    (void)a, (void)role;
    if (error || !frame->request)
        return;
    struct mbr_end end = mbr_stamp_end(thread, &frame->begin);
    struct mbr_record record = record_of(thread, frame->begin, CANCEL, 0);
    record.spans = end.spans;
    record.request = frame->request;
    mbr_append(thread, record);
}

void request_free_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    (void)role;
    frame->begin = mbr_stamp_begin(thread);
    uint64_t handle = mbr_handle_given(a[0]);
    mbr_lock_take(&mbr_lock);
    struct mbr_entry *entry = mbr_request_find(handle);
    if (entry) {
        frame->request = entry->reported ? 0 : entry->use.number;
        frame->recorded = entry->paired;
        if (entry->kept)
            mbr_pages_unmap(entry->kept, sizeof *entry->kept + entry->kept->count * sizeof(uint64_t));
        mbr_entry_pop(handle);
    }
    mbr_lock_drop(&mbr_lock);
}

void request_free_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    (void)a, (void)role, (void)error;
    if (!frame->request)
        return;
    struct mbr_end end = mbr_stamp_end(thread, &frame->begin);
    struct mbr_record record = record_of(thread, frame->begin, FREE, 0);
    if (frame->recorded) { /* the sending half of a pair */
        record.request = frame->request - 1;
        mbr_append(thread, record);
    }
    record.spans = end.spans;
    record.request = frame->request;
    mbr_append(thread, record);
}

void start_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    (void)a, (void)role;
    frame->begin = mbr_stamp_begin(thread);
}

/* Writes the record of each persistent request again; only the last one has the spans of the call.
 */
void start_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    if (error)
        return;
    struct mbr_end end = mbr_stamp_end(thread, &frame->begin);
    uint64_t count = role->form == ONE ? 1 : (int)a[0] > 0 ? (uint64_t)(int)a[0] : 0;
    for (uint64_t i = 0; i < count; i++) {
        mbr_lock_take(&mbr_lock);
        struct mbr_entry *entry = mbr_request_find(mbr_handle_at(a[role->requests], i));
        struct mbr_entry copy = {0};
        if (entry && entry->persistent) {
            entry->use.number = mbr_request_take(1);
            copy = *entry;
        }
        mbr_lock_drop(&mbr_lock);
        const struct mbr_comm *comm = copy.persistent ? mbr_comm_find(thread, copy.comm_handle) : NULL;
        if (!comm || comm->number != copy.comm) {
            append_lost(thread, frame->begin, OTHER_LOST_START, i + 1 == count ? end.spans : 0);
            continue;
        }
        struct mbr_record record = record_of(thread, frame->begin, copy.use.kind, copy.flags | PERSISTENT);
        record.origin = comm->origin;
        record.peer = copy.use.peer;
        record.tag = copy.use.tag;
        record.bytes = copy.use.bytes;
        record.request = copy.use.number;
        if (i + 1 == count)
            record.spans = end.spans;
        if (copy.kept) { /* a collective, or a partitioned message, which is not counted with the others */
            record.aux = copy.kept->aux;
            mbr_put_words(thread, record, copy.kept->words, copy.kept->count);
            continue;
        }
        mbr_lock_take(&mbr_lock);
        if (copy.use.kind == SEND)
            record.aux = send_count(comm, record.peer);
        uint64_t slot = mbr_reserve(thread, 1);
        mbr_lock_drop(&mbr_lock);
        mbr_put_at(thread, slot, record);
    }
}
