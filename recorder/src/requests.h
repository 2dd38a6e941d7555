/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Which request of the trace stands behind a request handle. Most programs wait for requests in the order in which they made
 * them, so a new one joins a line, and what finishes is mostly the head of it: neither needs a search. When another one finishes
 * that is not in the table (tables.h), all that stand in line go there first.
 * Rule: what stands in line is younger than every request in the table. So the head is the oldest use of its handle unless the
 * table has that handle too; handles are not unique (tables.h).
 * Callers hold `mbr_lock`.
 */
#ifndef MBR_REQUESTS_H
#define MBR_REQUESTS_H

#include "library.h"
#include "tables.h"

/* 64 KiB. Assumed: programs with more requests at a time are rare; they pay a search for each. */
enum { MBR_LINE_ROOM = 2048 };

extern struct mbr_line {
    struct mbr_use *head, *tail, *end; /* of those that wait: from `head` to before `tail`; `end` of the room */
} mbr_line;

bool mbr_line_setup(void);
/* Sends all that stands in line to the table. */
void mbr_line_leave(void);
bool mbr_table_has(uint64_t handle);

/* Then `tail` may be filled before the request joins. */
MBR_INLINE bool mbr_line_has_room(void) { return __builtin_expect(mbr_line.tail != mbr_line.end, 1); }

/* Puts a new request in line. */
MBR_INLINE void mbr_line_join(struct mbr_use use) {
    if (!mbr_line_has_room())
        mbr_line_leave();
    *mbr_line.tail++ = use;
}

/* The head of the line if it is the oldest use of this handle, else null. */
MBR_INLINE const struct mbr_use *mbr_line_head(uint64_t handle) {
    const struct mbr_use *head = mbr_line.head;
    if (__builtin_expect(head == mbr_line.tail || head->key != handle, 0))
        return NULL;
    if (__builtin_expect(mbr_table.requests != 0, 0) && mbr_table_has(handle))
        return NULL;
    return head;
}

/* The head has finished, and all others before `head`. What they said can be read until another request joins. */
MBR_INLINE void mbr_line_advance(struct mbr_use *head) {
    mbr_line.head = head;
    if (head == mbr_line.tail)
        mbr_line.head = mbr_line.tail = mbr_line.end - MBR_LINE_ROOM;
}

/* The oldest request behind this handle, in the table; null if none is known. Valid until the next push. */
struct mbr_entry *mbr_request_find(uint64_t handle);

/* A request of which more must be kept than a line holds: in the table, behind all that stand in line. Null when memory ended. */
struct mbr_entry *mbr_request_add(struct mbr_use use);

#endif
