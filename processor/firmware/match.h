// SPDX-License-Identifier: Apache-2.0 OR MIT
// The structures of Hemmert et al. (`hemmert2007`) figure 1, and its match function.
//
//  struct memd   0      8      16    20    22      24     28     32
//                | bits | care | nid | pid | opts  | next | lock |
//                | length | local offset | name    | max  | thr  |
//
// The paper gives the function, the size (64 bytes) and the widths of some fields; the order is our
// choice. All fields that a visit reads when it fails on match bits, including the link, are in one
// line of 32 bytes. With LINK_LAST the last two words of both halves are exchanged, which is the
// layout of the structures as written in the figure (me, md, next). Links have 32 bits in both
// instruction sets, so that an item has one layout and 64 bytes including a lock. Programs and
// their memory are below 2 GiB. Links are signed, because RV64 loads a signed 32-bit word in one
// instruction.

#ifndef MB_GUEST_MATCH_H
#define MB_GUEST_MATCH_H

#include <stddef.h>
#include <stdint.h>

#define ANY_NID UINT32_MAX
#define ANY_PID UINT16_MAX

// Options of a descriptor.
enum {
    MD_VALID = 0x01,
    MD_PUT = 0x02,
    MD_GET = 0x04,
    MD_TRUNCATE = 0x08,
    MD_REMOTE_OFFSET = 0x10,
    MD_MAX_SIZE = 0x20,
};

// Operations of a header. Figure 1 filters these two and accepts every other one.
enum { PTL_MSG_PUT = 1, PTL_MSG_GET = 2 };

#define LINK                                                                                                           \
    int32_t next; /* address of the next item, 0 at the end */                                                         \
    uint32_t lock; /* 1 while held, for spin locks */
#define LIMITS                                                                                                         \
    uint32_t max_size;                                                                                                 \
    uint32_t threshold; /* uses left */

// An item of a list: match entry and memory descriptor in one. Sizes and offsets in bytes.
struct memd {
    uint64_t match_bits;
    uint64_t dont_ignore_bits;
    uint32_t match_id_nid; // or ANY_NID
    uint16_t match_id_pid; // or ANY_PID
    uint16_t options;
#ifdef LINK_LAST
    LIMITS
#else
    LINK
#endif
    uint64_t length;
    uint64_t local_offset;
    uint64_t name; // name of the receive or message
#ifdef LINK_LAST
    LINK
#else
    LIMITS
#endif
};

// What arrives with a message: "slightly smaller" than an item (hemmert2007 3.1).
struct ptlhdr {
    uint64_t match;
    uint32_t initiator_nid;
    uint16_t initiator_pid;
    uint16_t op;
    uint64_t length;
    uint64_t remote_offset;
};

static inline struct memd *next_of(const struct memd *item)
{
    return (struct memd *)(intptr_t)item->next;
}

static inline int32_t link_to(const struct memd *item)
{
    return (int32_t)(intptr_t)item;
}

// One iteration of the loop of figure 1, with its tests in its order: whether the item accepts the
// header, and if so the offset and length of the data. As in the figure, the local offset is not
// clamped; above the length, the remaining length wraps around.
static inline int accepts(const struct memd *item, const struct ptlhdr *hdr, uint32_t src_nid, uint64_t *offset,
                          uint32_t *mlength)
{
    if ((item->match_bits ^ hdr->match) & item->dont_ignore_bits)
        return 0;
    if (item->match_id_nid != ANY_NID && item->match_id_nid != src_nid)
        return 0;
    if (item->match_id_pid != ANY_PID && item->match_id_pid != hdr->initiator_pid)
        return 0;
    if (!(item->options & MD_VALID) || !item->threshold)
        return 0;
    if (hdr->op == PTL_MSG_PUT && !(item->options & MD_PUT))
        return 0;
    else if (hdr->op == PTL_MSG_GET && !(item->options & MD_GET))
        return 0;

    uint64_t md_len = item->length;
    if (item->options & MD_REMOTE_OFFSET) {
        *offset = hdr->remote_offset;
        if (*offset >= md_len)
            *offset = md_len;
    } else {
        *offset = item->local_offset;
    }
    uint64_t remain = md_len - *offset;
    if ((item->options & MD_MAX_SIZE) && !(item->options & MD_TRUNCATE) && remain < item->max_size)
        return 0;
    if (hdr->length <= remain)
        *mlength = (uint32_t)hdr->length;
    else if (item->options & MD_TRUNCATE)
        *mlength = (uint32_t)remain;
    else
        return 0;
    return 1;
}

// The first item from `list` on that accepts the header, or NULL. With threads, the caller has
// acquired the lock of `list`, and match releases it.
struct memd *match(struct memd *list, const struct ptlhdr *hdr, uint32_t src_nid, uint64_t *offset, uint32_t *mlength);

#endif
