/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Tagged receives and messages. Each queue is a list, oldest first. Up to SHORT_ENTRIES entries are in the list alone,
 * and searches walk it: a call of mbmatch costs more than that. One more puts all of them into the matcher as well,
 * which then finds the entries of this queue until it is empty.
 */
#ifndef MBMATCH_LIBFABRIC_TAGGED_H
#define MBMATCH_LIBFABRIC_TAGGED_H

#include "entry.h"

#ifndef SHORT_ENTRIES
#define SHORT_ENTRIES 16
#endif

/* The pattern of a receive or peek. */
struct wanted {
  uint64_t tag, ignore;
  fi_addr_t addr; /* FI_ADDR_UNSPEC: any source */
};

static bool accepts(struct wanted wanted, uint64_t tag, fi_addr_t addr) {
  return !((wanted.tag ^ tag) & ~wanted.ignore) && (wanted.addr == FI_ADDR_UNSPEC || wanted.addr == addr);
}

static struct wanted wanted_by(const struct entry *receive) {
  return (struct wanted){receive->rx.peer_entry.tag, receive->rx.ignore, receive->rx.peer_entry.addr};
}

static mbmatch_pattern_t pattern_of(const struct context *context, struct wanted wanted) {
  const bool any = context->base.dir_recv && wanted.addr == FI_ADDR_UNSPEC;
  return (mbmatch_pattern_t){wanted.tag, wanted.ignore, source_of(context, wanted.addr), any};
}

static void join(struct tagged_queue *queue, struct entry *entry, enum place place) {
  dlist_insert_tail(&entry->all, &queue->entries);
  queue->length++;
  entry->place = place;
}

static void leave(struct tagged_queue *queue, struct entry *entry) {
  dlist_remove(&entry->all);
  entry->place = WITH_PROVIDER;
  if (!--queue->length) queue->in_matcher = false;
}

/* Receives */

static mbmatch_status_t receive_to_matcher(struct context *context, struct entry *entry) {
  const mbmatch_pattern_t pattern = pattern_of(context, wanted_by(entry));
  return mbmatch_queue_receive(context->tagged, &pattern, entry, &entry->handle);
}

/* QUEUED, or the queue is unchanged. */
static inline mbmatch_status_t queue_receive(struct context *context, struct entry *entry) {
  struct tagged_queue *queue = &context->receives;
  if (!queue->in_matcher && queue->length == SHORT_ENTRIES) {
    mbmatch_status_t status = mbmatch_reserve(context->tagged, queue->length + 1, 0);
    if (status != MBMATCH_OK) return status;
    struct dlist_entry *item;
    dlist_foreach(&queue->entries, item) {
      status = receive_to_matcher(context, container_of(item, struct entry, all));
      if (status != MBMATCH_QUEUED) return status;
    }
    queue->in_matcher = true;
  }
  if (queue->in_matcher) {
    const mbmatch_status_t status = receive_to_matcher(context, entry);
    if (status != MBMATCH_QUEUED) return status;
  }
  join(queue, entry, POSTED_TAGGED);
  return MBMATCH_QUEUED;
}

/* MATCHED: the oldest receive that accepts a message, removed, is *receive. */
static inline mbmatch_status_t take_receive(struct context *context, uint64_t tag, fi_addr_t addr, struct entry **receive) {
  struct tagged_queue *queue = &context->receives;
  if (queue->in_matcher) {
    const mbmatch_envelope_t envelope = {tag, source_of(context, addr)};
    void *user;
    const mbmatch_status_t status = mbmatch_take_receive(context->tagged, &envelope, &user);
    if (status != MBMATCH_MATCHED) return status;
    *receive = user;
    leave(queue, *receive);
    return MBMATCH_MATCHED;
  }
  struct dlist_entry *item;
  dlist_foreach(&queue->entries, item) {
    struct entry *entry = container_of(item, struct entry, all);
    if (!accepts(wanted_by(entry), tag, addr)) continue;
    leave(queue, entry);
    *receive = entry;
    return MBMATCH_MATCHED;
  }
  return MBMATCH_NO_MATCH;
}

/* OK: a posted receive has left its queue. */
static mbmatch_status_t remove_receive(struct context *context, struct entry *entry) {
  struct tagged_queue *queue = &context->receives;
  if (queue->in_matcher) {
    const mbmatch_status_t status = mbmatch_cancel(context->tagged, entry->handle, NULL);
    if (status != MBMATCH_OK) return status;
  }
  leave(queue, entry);
  return MBMATCH_OK;
}

/* Messages */

static mbmatch_status_t message_to_matcher(struct context *context, struct entry *entry) {
  const struct fi_peer_rx_entry *peer_entry = &entry->rx.peer_entry;
  const mbmatch_envelope_t envelope = {peer_entry->tag, source_of(context, peer_entry->addr)};
  return mbmatch_queue_message(context->tagged, &envelope, entry, &entry->handle);
}

/* As queue_receive. */
static inline mbmatch_status_t queue_message(struct context *context, struct entry *entry) {
  struct tagged_queue *queue = &context->messages;
  if (!queue->in_matcher && queue->length == SHORT_ENTRIES) {
    mbmatch_status_t status = mbmatch_reserve(context->tagged, 0, queue->length + 1);
    if (status != MBMATCH_OK) return status;
    struct dlist_entry *item;
    dlist_foreach(&queue->entries, item) {
      status = message_to_matcher(context, container_of(item, struct entry, all));
      if (status != MBMATCH_QUEUED) return status;
    }
    queue->in_matcher = true;
  }
  if (queue->in_matcher) {
    const mbmatch_status_t status = message_to_matcher(context, entry);
    if (status != MBMATCH_QUEUED) return status;
  }
  join(queue, entry, WAITING_TAGGED);
  return MBMATCH_QUEUED;
}

/* The oldest message that is wanted, in the list alone; or NULL. */
static struct entry *walk_messages(struct context *context, struct wanted wanted) {
  struct dlist_entry *item;
  dlist_foreach(&context->messages.entries, item) {
    struct entry *entry = container_of(item, struct entry, all);
    if (accepts(wanted, entry->rx.peer_entry.tag, entry->rx.peer_entry.addr)) return entry;
  }
  return NULL;
}

/* MATCHED: the oldest message that is wanted is *message, and stays. */
static mbmatch_status_t find_message(struct context *context, struct wanted wanted, struct entry **message) {
  if (context->messages.in_matcher) {
    const mbmatch_pattern_t pattern = pattern_of(context, wanted);
    mbmatch_message_t found;
    const mbmatch_status_t status = mbmatch_probe(context->tagged, &pattern, &found, NULL);
    if (status == MBMATCH_MATCHED) *message = found.user;
    return status;
  }
  struct entry *entry = walk_messages(context, wanted);
  if (!entry) return MBMATCH_NO_MATCH;
  *message = entry;
  return MBMATCH_MATCHED;
}

/* As find_message, and removes it. */
static mbmatch_status_t take_message(struct context *context, struct wanted wanted, struct entry **message) {
  struct tagged_queue *queue = &context->messages;
  if (queue->in_matcher) {
    const mbmatch_pattern_t pattern = pattern_of(context, wanted);
    mbmatch_message_t found;
    const mbmatch_status_t status = mbmatch_mprobe(context->tagged, &pattern, &found);
    if (status != MBMATCH_MATCHED) return status;
    *message = found.user;
    leave(queue, *message);
    return MBMATCH_MATCHED;
  }
  struct entry *entry = walk_messages(context, wanted);
  if (!entry) return MBMATCH_NO_MATCH;
  leave(queue, entry);
  *message = entry;
  return MBMATCH_MATCHED;
}

static void remove_message(struct context *context, struct entry *entry) {
  struct tagged_queue *queue = &context->messages;
  if (queue->in_matcher && mbmatch_discard(context->tagged, entry->handle, NULL) != MBMATCH_OK)
    FI_WARN(&core_prov, FI_LOG_EP_CTRL, "mbmatch does not know a waiting message\n");
  leave(queue, entry);
}

/* The source of a waiting message is known now; it stays as old as it was. */
static mbmatch_status_t change_source(struct context *context, struct entry *entry) {
  if (!context->messages.in_matcher) return MBMATCH_OK;
  return mbmatch_change_source(context->tagged, entry->handle, source_of(context, entry->rx.peer_entry.addr), NULL,
                               NULL);
}

#endif
