/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Slow path of requests: into the table and out of it.
 */
#include "requests.h"

struct mbr_line mbr_line;

bool mbr_line_setup(void) {
    mbr_line.head = mbr_line.tail = mbr_pages_map(MBR_LINE_ROOM * sizeof *mbr_line.head);
    mbr_line.end = mbr_line.head ? mbr_line.head + MBR_LINE_ROOM : NULL;
    return mbr_line.head;
}

void mbr_line_leave(void) {
    for (; mbr_line.head < mbr_line.tail; mbr_line.head++) {
        struct mbr_entry *entry = mbr_entry_push(mbr_line.head->key);
        if (entry)
            entry->use = *mbr_line.head;
    }
    mbr_line.head = mbr_line.tail = mbr_line.end - MBR_LINE_ROOM;
}

bool mbr_table_has(uint64_t handle) { return mbr_entry_oldest(handle); }

struct mbr_entry *mbr_request_find(uint64_t handle) {
    struct mbr_entry *entry = mbr_entry_oldest(handle);
    if (entry || mbr_line.head == mbr_line.tail)
        return entry;
    mbr_line_leave();
    return mbr_entry_oldest(handle);
}

struct mbr_entry *mbr_request_add(struct mbr_use use) {
    mbr_line_leave();
    struct mbr_entry *entry = mbr_entry_push(use.key);
    if (entry)
        entry->use = use;
    return entry;
}
