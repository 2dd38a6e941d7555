/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Tagged receives and messages, and the mask for which their matcher has tables.
 *
 * A matcher has tables for receives that ignore no bits, and for those that ignore exactly its tag mask. A receive with
 * another mask is searched for one by one. libfabric's masks are arbitrary, and those of an MPI are not known when the
 * context is created: the receives of MPICH and Open MPI ignore a few protocol bits, those of any tag the tag as well,
 * and Open MPI's for an acknowledgement nothing. Receives of one tag are the most. Their mask is the narrowest, so that
 * the matcher gets the narrowest mask that was seen.
 */
#ifndef MBMATCH_LIBFABRIC_TAGGED_H
#define MBMATCH_LIBFABRIC_TAGGED_H

#include "entry.h"

/* The pattern of a receive or peek. */
struct wanted {
  uint64_t tag, ignore;
  fi_addr_t addr; /* FI_ADDR_UNSPEC: any source */
};

/* Every other mask is narrower. */
#define WIDEST_MASK UINT64_MAX

static void queue_receive(struct context *context, struct entry *entry) {
  const struct fi_peer_rx_entry *peer_entry = &entry->rx.peer_entry;
  mbmatch_queue_receive(&context->tagged, &entry->receive, peer_entry->tag, entry->rx.ignore,
                        source_of(context, peer_entry->addr));
}

static void queue_message(struct context *context, struct entry *entry) {
  const struct fi_peer_rx_entry *peer_entry = &entry->rx.peer_entry;
  mbmatch_queue_message(&context->tagged, &entry->message, peer_entry->tag, source_of(context, peer_entry->addr));
}

/* Makes the matcher anew, with another mask and the same entries, oldest first. A mask can become narrower 64 times. */
static __attribute__((noinline)) void change_mask(struct context *context, uint64_t mask) {
  mbmatch_t *matcher = &context->tagged;
  mbmatch_receive_t *receive = mbmatch_first_receive(matcher), *next_receive;
  mbmatch_message_t *message = mbmatch_first_message(matcher), *next_message;
  mbmatch_destroy(matcher);
  mbmatch_init(matcher, mask, 0, NULL);
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
  const uint64_t mask = context->tagged.tag_mask;
  if (ignore && ignore != mask && !(ignore & ~mask)) change_mask(context, ignore);
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
