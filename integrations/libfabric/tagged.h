/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Tagged receives and messages, and the masks for which their matcher has tables.
 *
 * A matcher has tables for receives that ignore nothing, and for those that ignore its tag mask, with or without some of
 * its protocol bits. A receive with another mask is searched for one by one. libfabric's masks are arbitrary, and those
 * of an MPI are not known when the context is created: the receives of MPICH and Open MPI ignore a few protocol bits,
 * those of any tag the tag as well, and Open MPI's for an acknowledgement nothing. The matcher therefore learns two of
 * the masks that it sees: the narrowest one, and one that contains it. If the narrowest has few bits, these are the
 * protocol bits and the others the tag mask; else, or while there is no second one, it is the tag mask.
 */
#ifndef MBMATCH_LIBFABRIC_TAGGED_H
#define MBMATCH_LIBFABRIC_TAGGED_H

#include "entry.h"

/* The pattern of a receive or peek. */
struct wanted {
  uint64_t tag, ignore;
  fi_addr_t addr; /* FI_ADDR_UNSPEC: any source */
};

/* Receives that differ only in protocol bits are searched one by one, so that there may be only a few such bits. */
enum { PROTOCOL_BITS = 8 };

static void queue_receive(struct context *context, struct entry *entry) {
  const struct fi_peer_rx_entry *peer_entry = &entry->rx.peer_entry;
  mbmatch_queue_receive(&context->tagged, &entry->receive, peer_entry->tag, entry->rx.ignore,
                        source_of(context, peer_entry->addr));
}

static void queue_message(struct context *context, struct entry *entry) {
  const struct fi_peer_rx_entry *peer_entry = &entry->rx.peer_entry;
  mbmatch_queue_message(&context->tagged, &entry->message, peer_entry->tag, source_of(context, peer_entry->addr));
}

/* Learns a mask. The same entries are queued again, oldest first. A mask can become narrower 64 times, and the wider one
 * is learned once. */
static __attribute__((noinline)) void learn_mask(struct context *context, uint64_t mask) {
  mbmatch_t *matcher = &context->tagged;
  struct masks *masks = &context->masks;
  if (!masks->narrow) {
    masks->narrow = mask;
  } else if (mask & ~masks->narrow) {
    masks->wide = mask;
  } else {
    if (!masks->wide) masks->wide = masks->narrow;
    masks->narrow = mask;
  }
  const bool protocol = masks->wide && __builtin_popcountll(masks->narrow) <= PROTOCOL_BITS;
  mbmatch_receive_t *receive = mbmatch_first_receive(matcher), *next_receive;
  mbmatch_message_t *message = mbmatch_first_message(matcher), *next_message;
  mbmatch_destroy(matcher);
  mbmatch_init(matcher, masks->narrow, 0, NULL);
  if (protocol) mbmatch_masks(matcher, masks->wide, masks->narrow);
  for (; receive; receive = next_receive) {
    next_receive = mbmatch_next_receive(matcher, receive);
    queue_receive(context, entry_of_receive(receive));
  }
  for (; message; message = next_message) {
    next_message = mbmatch_next_message(matcher, message);
    queue_message(context, entry_of_message(message));
  }
}

/* Called with each pattern before it is used. */
static inline void note_mask(struct context *context, uint64_t ignore) {
  const struct masks *masks = &context->masks;
  if (ignore == 0 || ignore == masks->narrow || ignore == masks->wide) return;
  const bool first = masks->narrow == 0, narrower = (ignore & ~masks->narrow) == 0;
  if (first || narrower || (masks->wide == 0 && (masks->narrow & ~ignore) == 0)) learn_mask(context, ignore);
}

static inline struct entry *take_receive(struct context *context, uint64_t tag, fi_addr_t addr) {
  mbmatch_receive_t *receive = mbmatch_take_receive(&context->tagged, tag, source_of(context, addr));
  return receive ? entry_of_receive(receive) : NULL;
}

static inline struct entry *take_message(struct context *context, struct wanted wanted) {
  mbmatch_message_t *message =
      mbmatch_take_message(&context->tagged, wanted.tag, wanted.ignore, source_of(context, wanted.addr));
  return message ? entry_of_message(message) : NULL;
}

static struct entry *find_message(struct context *context, struct wanted wanted) {
  mbmatch_message_t *message =
      mbmatch_probe(&context->tagged, wanted.tag, wanted.ignore, source_of(context, wanted.addr));
  return message ? entry_of_message(message) : NULL;
}

#endif
