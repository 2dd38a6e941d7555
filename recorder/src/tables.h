/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * State that outlives a call: which numbers stand behind a request or message handle, which communicator behind a
 * communicator handle, and how often something happened. Open addressing over mapped pages, no allocation per call: memory grows (by
 * doubling) only when more is outstanding than ever before. Handles are not unique: an MPI library may give the same one to every
 * send that it completed at once, so each handle has a queue, oldest first.
 * Callers hold the table's lock while they use an entry.
 */
#ifndef MBR_TABLES_H
#define MBR_TABLES_H

#include "trace.h"

/* What MPI_Start writes for a persistent collective besides what its entry holds; `words` are its per-peer sizes. */
struct mbr_kept {
    uint64_t aux, count;
    uint64_t words[];
};

/* One use of a handle; one cache line. */
struct mbr_entry {
    uint64_t key;    /* the handle; messages and communicators have a bit of their own on top */
    uint32_t next;   /* younger entry of the same key, or the next free one; 0 = none */
    uint32_t number; /* request or probe number; 0 = a persistent request that is not active */
    uint8_t kind;    /* SEND, RECV, COLLECTIVE, PROBE (a message) or COMM */
    uint8_t flags;   /* those of the record that MPI_Start writes */
    bool persistent, cancelled, reported, paired;
    uint32_t comm;
    int32_t peer, tag;
    uint64_t bytes, comm_handle;
    union {
        struct mbr_kept *kept;    /* of a persistent collective */
        struct mbr_comm *as_comm; /* of a communicator */
    };
};
_Static_assert(sizeof(struct mbr_entry) == 64, "an entry is one cache line");

#define MBR_MESSAGE_KEY (UINT64_C(1) << 63)
#define MBR_COMM_KEY (UINT64_C(1) << 62)

extern struct mbr_lock mbr_table_lock;

bool mbr_tables_setup(void);
/* Oldest entry of `key`, or null. Valid until the next push. */
struct mbr_entry *mbr_entry_oldest(uint64_t key);
/* A new, youngest entry of `key`, all else zero; null when memory ended (recording has stopped then). */
struct mbr_entry *mbr_entry_push(uint64_t key);
/* Forget the oldest entry of `key`, which must have one. */
void mbr_entry_pop(uint64_t key);

/* Adds one to the counter called `key` (not 0) and returns what it was. */
uint64_t mbr_counter_next(uint64_t key);

/* Scrambles a number: a bijection in which every input bit reaches every output bit. */
static inline uint64_t mbr_mix(uint64_t x) {
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

#endif
