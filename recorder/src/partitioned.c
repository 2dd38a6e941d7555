/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Partitioned communication (MPI 4.1, chapter 4). The init calls write nothing; MPI_Start writes the Send or Recv of
 * the whole message (completion.c). These functions write the Partitions. Contract: spec/trace.md, T-23.
 */
#include "messages.h"

/* (buffer, partitions, count, type, peer, tag, communicator, info, request) */
void partitioned_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    (void)a, (void)role;
    frame->begin = mbr_stamp_begin(thread);
}

void partitioned_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    const struct mbr_comm *comm = error ? NULL : mbr_comm_find(thread, a[6]);
    if (!comm)
        return; /* each start is counted as one that is not recorded */
    const uint32_t partitions = (uint32_t)a[1];
    int64_t count;
    if (__builtin_mul_overflow((int64_t)partitions, (int64_t)a[2], &count))
        count = INT64_MAX;
    struct mbr_record record = record_of(thread, frame->begin, role->operation, PARTITIONED | PERSISTENT);
    record.origin = comm->origin;
    record.peer = mbr_peer(a[4]);
    record.tag = mbr_tag(a[5]);
    record.bytes = mbr_type_bytes(thread, a[3], count);
    /* Of those with the same peer and tag, the number of earlier ones. */
    const uint64_t peer_and_tag = mbr_pair((uint32_t)record.peer, (uint32_t)record.tag);
    const uint64_t key = mbr_mix(comm->identity + mbr_mix(peer_and_tag ^ mbr_mix(record.kind))) >> 1 | 1;
    struct mbr_kept *kept = mbr_pages_map(sizeof *kept);
    if (!kept) {
        mbr_stop("out of memory");
        return;
    }
    uint64_t earlier = 0;
    mbr_lock_take(&mbr_lock);
    if (record.peer >= 0)
        earlier = mbr_counter_next(key);
    mbr_lock_drop(&mbr_lock);
    kept->aux = mbr_pair((uint32_t)earlier, partitions);
    kept->count = 0;
    remember_persistent(record, mbr_handle_at(a[8], 0), mbr_handle(a[6]), kept);
}

/* The number of the active partitioned request of this handle, and its partitions; 0 if it is not recorded. */
static uint32_t active_number(mbr_word handle, uint32_t *partitions) {
    uint32_t number = 0;
    mbr_lock_take(&mbr_lock);
    const struct mbr_entry *entry = mbr_request_find(mbr_handle(handle));
    if (entry && entry->persistent && entry->kept && entry->use.kind != COLLECTIVE) {
        number = entry->use.number;
        *partitions = (uint32_t)(entry->kept->aux >> 32);
    }
    mbr_lock_drop(&mbr_lock);
    return number;
}

static struct mbr_record partition_record(struct mbr_thread *thread, const struct frame *frame, int first, int count) {
    struct mbr_record record = record_of(thread, frame->begin, PARTITION, 0);
    record.request = frame->request;
    record.aux = mbr_pair((uint32_t)first, (uint32_t)count);
    return record;
}

/* Reserves the record before the call: another thread may complete the request before the call returns. */
static void open_partitions(struct mbr_thread *thread, struct frame *frame, int first, int count) {
    frame->open = mbr_append(thread, partition_record(thread, frame, first, count));
    frame->recorded = true;
}

/* MPI_Pready(partition, request), MPI_Pready_range(first, last, request), MPI_Pready_list(number, partitions,
 * request). */
void ready_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    frame->begin = mbr_stamp_begin(thread);
    uint32_t partitions = 0;
    frame->request = active_number(a[role->request], &partitions);
    const int first = role->form == ALL ? 0 : (int)a[0], last = role->form == SOME ? (int)a[1] : first;
    bool is_allowed = frame->request && first >= 0 && first <= last && (uint32_t)last < partitions;
    const int *list = role->form == ALL ? (const int *)a[1] : NULL;
    const int listed = list ? (int)a[0] : 0;
    for (int i = 0; i < listed; i++)
        is_allowed &= list[i] >= 0 && (uint32_t)list[i] < partitions;
    if (!is_allowed || (role->form == ALL && listed <= 0)) {
        lost_before(thread, frame, role->other);
        return;
    }
    if (role->form != ALL) {
        open_partitions(thread, frame, first, last - first + 1);
        return;
    }
    for (int i = 0, run = 1; i < listed; i += run, run = 1) {
        while (i + run < listed && list[i + run] == list[i] + run)
            run++;
        open_partitions(thread, frame, list[i], run);
    }
}

void ready_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    (void)a;
    lost_after(thread, frame);
    if (!frame->recorded)
        return;
    struct mbr_end end = mbr_stamp_end(thread, &frame->begin);
    if (mbr_is_refusal(error) && role->form != ALL)
        replace_refused(thread, frame->begin, frame->open.place, role->other, end.spans);
    else
        close_spans(frame, &end);
}

/* MPI_Parrived(request, partition, flag) */
void arrived_before(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role) {
    (void)role;
    uint32_t partitions = 0;
    frame->begin = mbr_stamp_begin(thread);
    frame->request = active_number(a[0], &partitions);
    frame->recorded = frame->request && (int)a[1] >= 0 && (uint32_t)a[1] < partitions;
}

void arrived_after(struct mbr_thread *thread, struct frame *frame, mbr_word *a, const struct role *role, int error) {
    struct mbr_end end = mbr_stamp_end(thread, &frame->begin);
    if (error || !frame->recorded || !a[2]) {
        append_lost(thread, frame->begin, role->other, end.spans);
        return;
    }
    struct mbr_record record = partition_record(thread, frame, (int)a[1], 1);
    if (*(const int *)a[2]) {
        record.spans = end.spans;
        mbr_append(thread, record);
        return;
    }
    record = record_of(thread, frame->begin, MISS, 0);
    record.request = frame->request;
    record.peer = 1;
    record.spans = end.spans;
    append_miss(thread, record);
}
