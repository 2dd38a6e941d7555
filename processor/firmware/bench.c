// SPDX-License-Identifier: Apache-2.0 OR MIT
// The benchmark of Hemmert et al. (`hemmert2007`) figure 5: 64 identical headers that match at 0 to
// 100 % of a list.
//
// There are twelve passes. The first is a warm-up; the others match at depth 0, 10, ... 100 %,
// where 0 % is the first item. Nothing is deleted. Marks replace readSimCycle of figure 5. They
// also report the addresses of list and headers, so that an observer can make their lines cold. The
// program fills list and headers before the first mark. With threads (hemmert2007 5.1) each match
// has a thread of its own. They start in order: the first thread acquires the lock of the first
// item on behalf of the thread it starts. Argument of main: the length of the list, 1 to ITEMS;
// default 10. Status 1 if a match is at a wrong position.

#include "host.h"
#include "lock.h"
#include "match.h"

enum { PASSES = 12, HEADERS = 64, ITEMS = 1024 };

static struct memd list[ITEMS] __attribute__((aligned(64)));
// Aligned like the slots of a header buffer; a thread writes its result behind the header.
static struct slot {
    struct ptlhdr header;
    uint64_t offset;
    struct memd *found;
    uint32_t length;
} __attribute__((aligned(64))) headers[HEADERS];
_Static_assert(sizeof(struct slot) == 64, "headers are 64 bytes apart");

static uint32_t taken;

// getNextHeader of figure 5: the next slot of the buffer.
static struct ptlhdr *get_next_header(void)
{
    return &headers[taken++ % HEADERS].header;
}

// An item that accepts headers with its match bits from any source.
static void fill(uint32_t items)
{
    for (uint32_t i = 0; i < items; i++) {
        list[i].match_bits = i;
        list[i].dont_ignore_bits = ~(uint64_t)0;
        list[i].match_id_nid = ANY_NID;
        list[i].match_id_pid = ANY_PID;
        list[i].options = MD_VALID | MD_PUT | MD_TRUNCATE;
        list[i].length = 4096;
        list[i].threshold = 1;
        list[i].next = i + 1 < items ? link_to(&list[i + 1]) : 0;
    }
}

#if THREADS
static void match_one(void *argument)
{
    struct slot *slot = argument;
    slot->found = match(list, &slot->header, 0, &slot->offset, &slot->length);
    host_end();
}
#endif

// One iteration of the outer loop of figure 5; returns whether the last match is at the expected
// position.
static int pass(uint32_t number, const struct memd *expected)
{
    struct memd *match_memd = NULL;
    uint64_t offset = 0;
    uint32_t length = 0;
    host_mark(MB_MARK_BEGIN, number);
    for (uint32_t j = 0; j < HEADERS; j++) {
        struct ptlhdr *start = get_next_header();
#if THREADS
        acquire(&list[0]);
        host_thread(match_one, start);
#else
        match_memd = match(list, start, 0, &offset, &length);
#endif
    }
#if THREADS
    host_join();
#endif
    host_mark(MB_MARK_END, number);
#if THREADS
    match_memd = headers[HEADERS - 1].found;
    offset = headers[HEADERS - 1].offset;
    length = headers[HEADERS - 1].length;
#endif
    return match_memd == expected && offset == 0 && length == 64;
}

int main(uint32_t items)
{
    int status = 0;
    if (items < 1 || items > ITEMS)
        items = 10;
    fill(items);
    host_mark(MB_MARK_LIST, (uintptr_t)list);
    host_mark(MB_MARK_HEADERS, (uintptr_t)headers);
    for (uint32_t i = 0; i < PASSES; i++) {
        uint32_t percent = i ? 10 * (i - 1) : 0;
        uint32_t depth = (percent * (items - 1) + 50) / 100;
        for (uint32_t j = 0; j < HEADERS; j++) {
            headers[j].header = (struct ptlhdr){.match = depth, .op = PTL_MSG_PUT, .length = 64};
            headers[j].found = NULL;
        }
        if (!pass(i, &list[depth]))
            status = 1;
    }
    return status;
}
