/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * State that outlives a call: the numbers of request and message handles, the communicators of
 * communicator handles, and counters. Open addressing over mapped pages, no allocation per call:
 * memory grows (by doubling) only when more entries are outstanding than ever before. Handles are
 * not unique: an MPI library may give the same one to every send that it completed at once, so each
 * handle has a queue, oldest first. Callers hold `mbr_lock` while they use an entry.
 */
#ifndef MBR_TABLES_H
#define MBR_TABLES_H

#include "trace.h"

/* Data of a persistent collective or a partitioned request that MPI_Start writes, besides its entry; `words` are the
 * per-peer sizes of a collective. */
struct mbr_kept {
    uint64_t aux, count;
    uint64_t words[];
};

/* One use of a handle. */
struct mbr_use {
    uint64_t key;    /* the handle; messages and communicators set a tag bit */
    uint64_t bytes;
    union {
        struct {
            int32_t peer, tag;
        };
        uint64_t peer_and_tag;
    };
    uint32_t number; /* request or probe number; 0 = a persistent request that is not active */
    uint8_t kind;    /* SEND, RECV, COLLECTIVE, PROBE (a message) or COMM */
};

/* One use of a handle with its further data; one cache line. */
struct mbr_entry {
    struct mbr_use use;
    uint32_t next;  /* younger entry of the same key, or the next free one; 0 = none */
    uint32_t comm;
    uint8_t flags;  /* those of the record that MPI_Start writes */
    bool persistent, cancelled, reported, paired;
    uint64_t comm_handle;
    union {
        struct mbr_kept *kept;    /* of a persistent collective or a partitioned request, else null */
        struct mbr_comm *as_comm; /* of a communicator */
    };
};
_Static_assert(sizeof(struct mbr_use) == 32 && sizeof(struct mbr_entry) == 64, "a use is half a cache line, an entry is one");

#define MBR_MESSAGE_KEY (UINT64_C(1) << 63)
#define MBR_COMM_KEY (UINT64_C(1) << 62)

MBR_INLINE bool mbr_key_is_request(uint64_t key) { return !(key & (MBR_MESSAGE_KEY | MBR_COMM_KEY)); }

bool mbr_tables_setup(void);
/* Makes room for one more entry; false when out of memory (recording has then stopped). */
bool mbr_table_grow(void);
/* Removes the slot `at`, whose last entry was removed, from the search paths. */
void mbr_slot_free(uint64_t at);

struct mbr_slot {
    uint64_t key; /* 0 = free */
    uint32_t oldest, youngest;
};

extern struct mbr_table {
    struct mbr_slot *slots;
    struct mbr_entry *entries; /* entry 0 is not used */
    uint64_t mask, used, found; /* `found`: slot of the last mbr_entry_oldest, which is mostly popped next */
    uint64_t requests;          /* entries that are neither messages nor communicators */
    int shift; /* 64 - log2 of the number of slots */
    uint32_t room, made, free;
} mbr_table;

/* Fibonacci hashing: handles are addresses or small numbers; the upper bits of the product are well
 * distributed. */
MBR_INLINE uint64_t mbr_slot_home(uint64_t key) { return key * UINT64_C(0x9e3779b97f4a7c15) >> mbr_table.shift; }

/* The slot of `key`, or the free slot where it would be inserted. */
MBR_INLINE uint64_t mbr_slot_find(uint64_t key) {
    uint64_t at = mbr_slot_home(key);
    while (mbr_table.slots[at].key && mbr_table.slots[at].key != key)
        at = (at + 1) & mbr_table.mask;
    return at;
}

/* Oldest entry of `key`, or null. Valid until the next push. */
MBR_INLINE struct mbr_entry *mbr_entry_oldest(uint64_t key) {
    const struct mbr_slot *slot = &mbr_table.slots[mbr_table.found = mbr_slot_find(key)];
    return slot->key ? &mbr_table.entries[slot->oldest] : NULL;
}

/* Appends a new entry for `key`, other fields zero; null when out of memory (recording has then
 * stopped). */
MBR_INLINE struct mbr_entry *mbr_entry_push(uint64_t key) {
    struct mbr_table *table = &mbr_table;
    bool full = (!table->free && table->made == table->room) || 2 * table->used > table->mask;
    if (__builtin_expect(full, 0) && !mbr_table_grow())
        return NULL;
    uint32_t place = table->free;
    if (place)
        table->free = table->entries[place].next;
    else
        place = table->made++;
    struct mbr_entry *entry = &table->entries[place];
    *entry = (struct mbr_entry){.use.key = key};
    table->requests += mbr_key_is_request(key);

    struct mbr_slot *slot = &table->slots[mbr_slot_find(key)];
    if (slot->key) {
        table->entries[slot->youngest].next = place;
    } else {
        slot->key = key;
        slot->oldest = place;
        table->used++;
    }
    slot->youngest = place;
    return entry;
}

/* Removes the oldest entry of `key`, which must have one. */
MBR_INLINE void mbr_entry_pop(uint64_t key) {
    struct mbr_table *table = &mbr_table;
    uint64_t at = table->slots[table->found].key == key ? table->found : mbr_slot_find(key);
    struct mbr_slot *slot = &table->slots[at];
    struct mbr_entry *entry = &table->entries[slot->oldest];
    uint32_t younger = entry->next;
    table->requests -= mbr_key_is_request(key);
    entry->next = table->free;
    table->free = slot->oldest;
    if (younger) {
        slot->oldest = younger;
        return;
    }
    table->used--;
    if (table->slots[(at + 1) & table->mask].key)
        mbr_slot_free(at);
    else
        slot->key = 0;
}

/* Increments the counter of `key` (not 0) and returns its old value. */
uint64_t mbr_counter_next(uint64_t key);

/* Scrambles a number: a bijection in which every input bit reaches every output bit. */
static inline uint64_t mbr_mix(uint64_t x) {
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

static inline uint64_t mbr_text_hash(const char *text) {
    uint64_t hash = 1;
    for (; *text; text++)
        hash = mbr_mix(hash ^ (unsigned char)*text) + 1;
    return hash;
}

#endif
