/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Maps request handles to the requests of the trace. Most programs wait for requests in the order
 * in which they made them, so a new one is appended to a FIFO queue, and mostly its head completes:
 * neither needs a search. When another one completes that is not in the table (tables.h), the whole
 * queue is moved to the table first.
 * Invariant: requests in the queue are younger than those in the table. So the head is the oldest
 * use of its handle unless the table has that handle too; handles are not unique (tables.h).
 * Callers hold `mbr_lock`.
 */
#ifndef MBR_REQUESTS_H
#define MBR_REQUESTS_H

#include "library.h"
#include "tables.h"

/* 64 KiB. Assumed: programs with more active requests are rare; they need a search for each. */
enum { MBR_LINE_ROOM = 2048 };

extern struct mbr_line {
    struct mbr_use *head, *tail, *end; /* the queue is from `head` to before `tail`; `end` of the buffer */
} mbr_line;

bool mbr_line_setup(void);
/* Moves the queue to the table. */
void mbr_line_leave(void);
bool mbr_table_has(uint64_t handle);

/* Then `tail` may be filled before the request is appended. */
MBR_INLINE bool mbr_line_has_room(void) { return __builtin_expect(mbr_line.tail != mbr_line.end, 1); }

/* Appends a new request to the queue. */
MBR_INLINE void mbr_line_join(struct mbr_use use) {
    if (!mbr_line_has_room())
        mbr_line_leave();
    *mbr_line.tail++ = use;
}

/* The head of the queue if it is the oldest use of this handle, else null. */
MBR_INLINE const struct mbr_use *mbr_line_head(uint64_t handle) {
    const struct mbr_use *head = mbr_line.head;
    if (__builtin_expect(head == mbr_line.tail || head->key != handle, 0))
        return NULL;
    if (__builtin_expect(mbr_table.requests != 0, 0) && mbr_table_has(handle))
        return NULL;
    return head;
}

/* Removes the requests before `head`. They can be read until another request is appended. */
MBR_INLINE void mbr_line_advance(struct mbr_use *head) {
    mbr_line.head = head;
    if (head == mbr_line.tail)
        mbr_line.head = mbr_line.tail = mbr_line.end - MBR_LINE_ROOM;
}

/* The oldest request of this handle in the table; null if there is none. Valid until the next push.
 */
struct mbr_entry *mbr_request_find(uint64_t handle);

/* Appends a request with more data than a queue entry holds to the table, after the queue. Null
 * when out of memory. */
struct mbr_entry *mbr_request_add(struct mbr_use use);

#endif
