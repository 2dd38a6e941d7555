/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Linear probing with backward-shift deletion; at most half full, so a search visits two slots on
 * average. Entries are in one array and linked by index, so that the array may move when it grows.
 */
#define _GNU_SOURCE
#include "tables.h"

#include <string.h>
#include <sys/mman.h>

struct counter {
    uint64_t key, count;
};

struct mbr_table mbr_table;
static struct counter *counters;
static uint64_t counters_mask, counters_used;

bool mbr_tables_setup(void) {
    struct mbr_table *table = &mbr_table;
    table->mask = 4096 - 1;
    table->shift = 64 - 12;
    table->room = 2048;
    table->made = 1;
    counters_mask = 1024 - 1;
    table->slots = mbr_pages_map((table->mask + 1) * sizeof *table->slots);
    table->entries = mbr_pages_map(table->room * sizeof *table->entries);
    counters = mbr_pages_map((counters_mask + 1) * sizeof *counters);
    return table->slots && table->entries && counters;
}

static bool slots_double(struct mbr_table *table) {
    struct mbr_slot *old = table->slots;
    uint64_t old_room = table->mask + 1;
    struct mbr_slot *grown = mbr_pages_map(2 * old_room * sizeof *grown);
    if (!grown)
        return false;
    table->slots = grown;
    table->mask = 2 * old_room - 1;
    table->shift--;
    for (uint64_t i = 0; i < old_room; i++)
        if (old[i].key)
            grown[mbr_slot_find(old[i].key)] = old[i];
    mbr_pages_unmap(old, old_room * sizeof *old);
    return true;
}

static bool entries_double(struct mbr_table *table) {
    size_t bytes = table->room * sizeof *table->entries;
    if (table->room > UINT32_MAX / 2)
        return false;
    void *grown = mremap(table->entries, bytes, 2 * bytes, MREMAP_MAYMOVE);
    if (grown == MAP_FAILED)
        return false;
    table->entries = grown;
    table->room *= 2;
    return true;
}

bool mbr_table_grow(void) {
    struct mbr_table *table = &mbr_table;
    bool more_entries = table->free || table->made < table->room || entries_double(table);
    bool more_slots = 2 * table->used <= table->mask || slots_double(table);
    if (more_entries && more_slots)
        return true;
    mbr_stop("out of memory");
    return false;
}

void mbr_slot_free(uint64_t at) {
    struct mbr_table *table = &mbr_table;
    /* Move back entries that were displaced from their home slots. */
    for (uint64_t next = (at + 1) & table->mask; table->slots[next].key; next = (next + 1) & table->mask) {
        if (((next - mbr_slot_home(table->slots[next].key)) & table->mask) >= ((next - at) & table->mask)) {
            table->slots[at] = table->slots[next];
            at = next;
        }
    }
    table->slots[at].key = 0;
}

uint64_t mbr_counter_next(uint64_t key) {
    if (2 * counters_used > counters_mask) {
        struct counter *old = counters;
        uint64_t old_room = counters_mask + 1;
        struct counter *grown = mbr_pages_map(2 * old_room * sizeof *counters);
        if (!grown) {
            mbr_stop("out of memory");
            return 0;
        }
        counters = grown;
        counters_mask = 2 * old_room - 1;
        for (uint64_t i = 0; i < old_room; i++) {
            uint64_t at = mbr_mix(old[i].key) & counters_mask;
            while (old[i].key && counters[at].key)
                at = (at + 1) & counters_mask;
            if (old[i].key)
                counters[at] = old[i];
        }
        mbr_pages_unmap(old, old_room * sizeof *counters);
    }
    uint64_t at = mbr_mix(key) & counters_mask;
    while (counters[at].key && counters[at].key != key)
        at = (at + 1) & counters_mask;
    counters_used += !counters[at].key;
    counters[at].key = key;
    return counters[at].count++;
}
