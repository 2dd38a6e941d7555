/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Tests and probes without result: one record for each kind of a loop of polls, with their number and the gaps between
 * them (spec/trace.md, T-21).
 * Cost: a poll beyond the first ones of a record stores three words; until then its gap is inserted into at most 31.
 */
#include "completion.h"

/* Sum of two spans, saturated. */
static uint32_t spans_add(uint64_t a, uint64_t b) { return mbr_span(0, (a & UINT32_MAX) + (b & UINT32_MAX)); }

/* Counts a gap. The median of the first ones is exact, the lower of the middle two; then it moves towards each
 * further gap by a 64th of itself: it comes to lie where as many gaps are below as above. */
static void count_gap(struct mbr_gaps *gaps, uint64_t ns) {
    const uint32_t gap = mbr_span(0, ns);
    if (gaps->seen < MBR_EXACT_GAPS) {
        uint32_t at = gaps->seen++;
        for (; at > 0 && gaps->sorted[at - 1] > gap; at--)
            gaps->sorted[at] = gaps->sorted[at - 1];
        gaps->sorted[at] = gap;
        gaps->least = gaps->sorted[0];
        gaps->median = gaps->sorted[(gaps->seen - 1) / 2];
        return;
    }
    const uint32_t step = gaps->median / 64 + 1;
    if (gap < gaps->least)
        gaps->least = gap;
    if (gap > gaps->median)
        gaps->median += gap - gaps->median < step ? gap - gaps->median : step;
    else
        gaps->median -= gaps->median - gap < step ? gaps->median - gap : step;
}

static bool is_same(const struct mbr_record *a, const struct mbr_record *b) {
    return a->origin == b->origin && a->peer == b->peer && a->tag == b->tag && a->request == b->request &&
           !((a->flags ^ b->flags) & ~CPU_CARRIED);
}

void append_miss(struct mbr_thread *thread, struct mbr_record miss) {
    const bool is_first = !thread->miss_count; /* of its run */
    const uint64_t gap = miss.wall_ns - thread->polled_ns;
    thread->polled_ns = thread->wall_ns;
    for (uint32_t i = 0; i < thread->miss_count; ++i) {
        struct mbr_miss *known = &thread->misses[i];
        struct mbr_record *sum = &known->sum;
        if (!is_same(sum, &miss))
            continue;
        count_gap(&known->gaps, gap);
        sum->spans = mbr_pair(spans_add(sum->spans, miss.spans), spans_add(sum->spans >> 32, miss.spans >> 32));
        sum->aux++;
        const uint64_t bytes = mbr_pair(known->gaps.least, known->gaps.median);
        mbr_patch_bytes(&known->open, sum->bytes, bytes);
        sum->bytes = bytes;
        mbr_patch(&known->open, sum->spans, sum->aux);
        return;
    }
    uint32_t count = thread->miss_count < MISS_KINDS ? thread->miss_count : 0;
    struct mbr_gaps gaps = {.seen = 0};
    if (!is_first)
        count_gap(&gaps, gap);
    uint64_t window_slot = thread->window_slot;
    miss.aux = 1;
    miss.bytes = mbr_pair(gaps.least, gaps.median);
    struct mbr_open open = mbr_append(thread, miss);
    if (thread->window_slot != window_slot) /* the others are out of reach */
        count = 0;
    thread->misses[count] = (struct mbr_miss){miss, open, gaps};
    thread->miss_count = count + 1;
}

/* The number of an active request; 0 if it is not recorded, or has a Done already. Leaves the queue as it is: a loop
 * that polls mostly names requests at its head. */
static uint32_t request_number(uint64_t handle) {
    const struct mbr_entry *entry = mbr_table.requests ? mbr_entry_oldest(handle) : NULL;
    if (entry)
        return entry->reported ? 0 : entry->use.number;
    for (const struct mbr_use *use = mbr_line.head; use < mbr_line.tail; use++)
        if (use->key == handle)
            return use->number;
    return 0;
}

uint32_t polled_request(struct mbr_thread *thread, mbr_word handles, uint64_t count) {
    enum { MOST_SEARCHES = 16 }; /* assumed: no loop polls more requests that are not recorded before one that is */
    uint32_t number = 0;
    for (uint64_t i = 0, searches = 0; !number && i < count && searches < MOST_SEARCHES; i++) {
        const uint64_t handle = mbr_handle_at(handles, i);
        if (handle == mbr_handle(mbr_library.request_null))
            continue;
        if (thread->miss_count && !mbr_threaded && thread->polled_handle == handle)
            return thread->polled_number;
        mbr_lock_take(&mbr_lock);
        number = request_number(handle);
        mbr_lock_drop(&mbr_lock);
        searches++;
        if (number)
            thread->polled_handle = handle, thread->polled_number = number;
    }
    return number;
}
