/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Linear probing with backward-shift deletion; at most half full, so a search looks at two slots on average.
 * Entries live in one array and are linked by index, so that it may move when it grows.
 */
#define _GNU_SOURCE
#include "tables.h"

#include <string.h>
#include <sys/mman.h>

struct slot {
    uint64_t key; /* 0 = free */
    uint32_t oldest, youngest;
};

struct counter {
    uint64_t key, count;
};

struct mbr_lock mbr_table_lock;

static struct slot *slots;
static uint64_t slots_mask, slots_used;
static int slots_shift; /* 64 - log2 of their number */
static uint64_t slots_found; /* where mbr_entry_oldest looked last: what it found is mostly popped next */
static struct mbr_entry *entries; /* entry 0 is not used */
static uint32_t entries_room, entries_made, entries_free;
static struct counter *counters;
static uint64_t counters_mask, counters_used;

/* Fibonacci hashing: handles are addresses or small numbers, their upper bits after the product are well spread. */
static inline uint64_t home(uint64_t key) { return key * UINT64_C(0x9e3779b97f4a7c15) >> slots_shift; }

bool mbr_tables_setup(void) {
    slots_mask = 4096 - 1;
    slots_shift = 64 - 12;
    entries_room = 2048;
    entries_made = 1;
    counters_mask = 1024 - 1;
    slots = mbr_pages_map((slots_mask + 1) * sizeof *slots);
    entries = mbr_pages_map(entries_room * sizeof *entries);
    counters = mbr_pages_map((counters_mask + 1) * sizeof *counters);
    return slots && entries && counters;
}

/* The slot of `key`, or the free one where it would stand. */
static inline uint64_t find(uint64_t key) {
    uint64_t at = home(key);
    while (slots[at].key && slots[at].key != key)
        at = (at + 1) & slots_mask;
    return at;
}

static bool slots_double(void) {
    struct slot *old = slots;
    uint64_t old_room = slots_mask + 1;
    struct slot *grown = mbr_pages_map(2 * old_room * sizeof *slots);
    if (!grown)
        return false;
    slots = grown;
    slots_mask = 2 * old_room - 1;
    slots_shift--;
    for (uint64_t i = 0; i < old_room; i++)
        if (old[i].key)
            slots[find(old[i].key)] = old[i];
    mbr_pages_unmap(old, old_room * sizeof *slots);
    return true;
}

static bool entries_double(void) {
    size_t bytes = entries_room * sizeof *entries;
    if (entries_room > UINT32_MAX / 2)
        return false;
    void *grown = mremap(entries, bytes, 2 * bytes, MREMAP_MAYMOVE);
    if (grown == MAP_FAILED)
        return false;
    entries = grown;
    entries_room *= 2;
    return true;
}

struct mbr_entry *mbr_entry_oldest(uint64_t key) {
    const struct slot *slot = &slots[slots_found = find(key)];
    return slot->key ? &entries[slot->oldest] : NULL;
}

struct mbr_entry *mbr_entry_push(uint64_t key) {
    if ((!entries_free && entries_made == entries_room && !entries_double()) ||
        (2 * slots_used > slots_mask && !slots_double())) {
        mbr_stop("out of memory");
        return NULL;
    }
    uint32_t place = entries_free;
    if (place)
        entries_free = entries[place].next;
    else
        place = entries_made++;
    struct mbr_entry *entry = &entries[place];
    memset(entry, 0, sizeof *entry);
    entry->key = key;

    struct slot *slot = &slots[find(key)];
    if (slot->key) {
        entries[slot->youngest].next = place;
    } else {
        slot->key = key;
        slot->oldest = place;
        slots_used++;
    }
    slot->youngest = place;
    return entry;
}

void mbr_entry_pop(uint64_t key) {
    uint64_t at = slots[slots_found].key == key ? slots_found : find(key);
    uint32_t place = slots[at].oldest;
    uint32_t younger = entries[place].next;
    entries[place].next = entries_free;
    entries_free = place;
    if (younger) {
        slots[at].oldest = younger;
        return;
    }
    /* Close the gap: move back what could not stand at its home because of it. */
    slots_used--;
    for (uint64_t next = (at + 1) & slots_mask; slots[next].key; next = (next + 1) & slots_mask) {
        if (((next - home(slots[next].key)) & slots_mask) >= ((next - at) & slots_mask)) {
            slots[at] = slots[next];
            at = next;
        }
    }
    slots[at].key = 0;
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
