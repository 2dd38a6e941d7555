// SPDX-License-Identifier: Apache-2.0 OR MIT
// The two lists of a receiver and the operations on them: spec/matching.md as NIC firmware.
//
// Entries are the items of Hemmert et al. (match.h), linked from the oldest to the youngest. A list
// begins with a dummy item that matches nothing, so that a removed item always has a predecessor.

#ifndef MB_GUEST_LIST_H
#define MB_GUEST_LIST_H

#include "host.h"
#include "lock.h"
#include "match.h"

// Operations of a descriptor in addition to those of figure 1.
enum { OP_POST = 16, OP_CANCEL, OP_PROBE, OP_MATCHED_PROBE };

// An operation and its answer, 64 bytes. An arrival is a header whose operation is PTL_MSG_PUT. For
// a pattern the header holds match bits and initiator; its process id is ANY_PID for a wildcard
// initiator.
struct operation {
    struct ptlhdr header;
    uint64_t care; // bits of a pattern that are compared
    uint64_t name; // of the receive or message
    // The answer.
    uint64_t partner; // name of the entry found
    uint32_t found;   // 1 if an entry was found, else 0
    uint32_t reserved;
};

struct list {
    struct memd head;
    struct memd *last; // the head of an empty list
} __attribute__((aligned(64)));

// Free entries: those used before, linked to the head, and the rest of the newest piece of memory.
struct pool {
    struct memd head;
    struct memd *fresh, *limit;
} __attribute__((aligned(64)));

struct receiver {
    struct list posted, unexpected;
    struct pool pool;
};

// Entries requested from the host at a time.
enum { PIECE = 64 };

static inline void list_init(struct list *list)
{
    list->head.next = 0;
    list->last = &list->head;
}

static inline void list_append(struct list *list, struct memd *item)
{
    item->next = 0;
    list->last->next = link_to(item);
    list->last = item;
}

// Removes the item behind `before`.
static inline void list_remove(struct list *list, struct memd *before, const struct memd *item)
{
    before->next = item->next;
    if (!item->next)
        list->last = before;
}

static inline struct memd *pool_take(struct pool *pool)
{
    acquire(&pool->head);
    struct memd *item = next_of(&pool->head);
    if (item) {
        pool->head.next = item->next;
    } else {
        if (pool->fresh == pool->limit) {
            pool->fresh = host_more(PIECE * sizeof(struct memd));
            pool->limit = pool->fresh + PIECE;
        }
        item = pool->fresh++;
    }
    release(&pool->head);
    return item;
}

static inline void pool_give(struct pool *pool, struct memd *item)
{
    acquire(&pool->head);
    item->next = pool->head.next;
    pool->head.next = link_to(item);
    release(&pool->head);
}

// Whether a posted receive accepts an arriving header. With PORTALS by the complete function of
// figure 1, otherwise by the MPI envelope alone (clause G-1).
static inline int posted_accepts(const struct memd *item, const struct ptlhdr *hdr)
{
#ifdef PORTALS
    uint64_t offset;
    uint32_t mlength;
    return accepts(item, hdr, hdr->initiator_nid, &offset, &mlength);
#else
    return !((item->match_bits ^ hdr->match) & item->dont_ignore_bits) &&
           (item->match_id_pid == ANY_PID || item->match_id_nid == hdr->initiator_nid);
#endif
}

// Whether a pattern accepts an unexpected message.
static inline int pattern_accepts(const struct operation *op, const struct memd *item)
{
    return !((item->match_bits ^ op->header.match) & op->care) &&
           (op->header.initiator_pid == ANY_PID || item->match_id_nid == op->header.initiator_nid);
}

// Writes a receive into an entry: one use, any length.
static inline void write_receive(struct memd *item, const struct operation *op)
{
    item->match_bits = op->header.match;
    item->dont_ignore_bits = op->care;
    item->match_id_nid = op->header.initiator_nid;
    item->match_id_pid = op->header.initiator_pid;
    item->name = op->name;
#ifdef PORTALS
    item->options = MD_VALID | MD_PUT | MD_TRUNCATE;
    item->length = op->header.length;
    item->local_offset = 0;
    item->threshold = 1;
#endif
}

// Writes an unexpected message into an entry.
static inline void write_message(struct memd *item, const struct operation *op)
{
    item->match_bits = op->header.match;
    item->match_id_nid = op->header.initiator_nid;
    item->name = op->name;
}

// Writes the answer of a search: the item found, if any.
static inline void write_answer(struct operation *op, const struct memd *item)
{
    op->found = item != NULL;
    if (item)
        op->partner = item->name;
}

// Whether an operation walks the posted receives; the others walk the unexpected messages.
static inline int walks_posted(const struct operation *op)
{
    return op->header.op == PTL_MSG_PUT || op->header.op == OP_CANCEL;
}

void receiver_init(struct receiver *receiver);

// Performs one operation and writes its answer. With threads, the caller has acquired the lock of
// the head of the list that the operation walks, which is released here, and no operation that
// walks the other list is outstanding.
void receiver_perform(struct receiver *receiver, struct operation *op);

#endif
