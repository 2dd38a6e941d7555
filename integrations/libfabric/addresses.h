/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Senders whose addresses become known while their messages wait. */
#ifndef MBMATCH_LIBFABRIC_ADDRESSES_H
#define MBMATCH_LIBFABRIC_ADDRESSES_H

#include "entry.h"
#include "untagged.h"

struct resolution {
  struct context *context;
  struct dlist_entry known; /* tagged messages whose source became known, oldest first */
  bool unknown;             /* a source is still unknown */
};

/* The source of a message as its provider knows it now. */
static fi_addr_t current_source(struct context *context, struct fi_peer_rx_entry *peer_entry) {
  fi_addr_t (*get_addr)(struct fi_peer_rx_entry *) = NULL;
  pthread_mutex_lock(&context->resolvers_mutex);
  for (int i = 0; i < context->resolver_count; i++) {
    if (context->resolvers[i].srx == peer_entry->srx) get_addr = context->resolvers[i].get_addr;
  }
  pthread_mutex_unlock(&context->resolvers_mutex);
  return get_addr ? get_addr(peer_entry) : FI_ADDR_UNSPEC;
}

/* Whether the source of a message was unknown and is known now. */
static bool resolve(struct resolution *resolution, struct entry *entry) {
  struct fi_peer_rx_entry *peer_entry = &entry->rx.peer_entry;
  if (peer_entry->addr != FI_ADDR_UNSPEC) return false;
  peer_entry->addr = current_source(resolution->context, peer_entry);
  if (peer_entry->addr != FI_ADDR_UNSPEC) return true;
  resolution->unknown = true;
  return false;
}

static int visit_waiting(void *argument, const mbmatch_queued_message_t *message) {
  struct resolution *resolution = argument;
  struct entry *entry = message->message.user;
  if (resolve(resolution, entry)) dlist_insert_tail(&entry->all, &resolution->known);
  return MBMATCH_VISIT_KEEP;
}

static int queue_tagged(struct context *context, struct entry *entry) {
  const mbmatch_envelope_t envelope = {entry->rx.peer_entry.tag, source_of(context, entry->rx.peer_entry.addr)};
  const mbmatch_status_t status = mbmatch_queue_message(context->tagged, &envelope, entry, &entry->handle);
  if (status != MBMATCH_QUEUED) return failed(status);
  entry->place = WAITING_TAGGED;
  context->waiting_tagged++;
  return FI_SUCCESS;
}

/* A receive that names the source already: the address was that of another process when it was posted. */
static void start_for(struct context *context, struct entry *receive, struct entry *entry) {
  const struct request request = request_of(&receive->rx.peer_entry);
  context->waiting_tagged--;
  fill(context, entry, &request);
  dlist_remove(&receive->all);
  ofi_buf_free(receive);
  if (start_tagged(entry)) FI_WARN(&core_prov, FI_LOG_EP_CTRL, "the provider could not start a message\n");
}

static void resolve_tagged(struct context *context, struct resolution *resolution) {
  /* Without memory for the visit nothing is changed, and the next change of addresses tries again. */
  if (mbmatch_visit_messages(context->tagged, visit_waiting, resolution, NULL) != MBMATCH_OK) {
    resolution->unknown = true;
    FI_WARN(&core_prov, FI_LOG_EP_CTRL, "no memory to look for messages whose source is known now\n");
  }
  while (!dlist_empty(&resolution->known)) {
    struct entry *entry;
    dlist_pop_front(&resolution->known, struct entry, entry, all);
    const uint32_t source = source_of(context, entry->rx.peer_entry.addr);
    void *receive;
    const mbmatch_status_t status = mbmatch_change_source(context->tagged, entry->handle, source, &receive, NULL);
    if (status == MBMATCH_MATCHED)
      start_for(context, receive, entry);
    else if (status != MBMATCH_OK)
      failed(status);
  }
}

static void resolve_untagged(struct context *context, struct resolution *resolution) {
  struct dlist_entry *item;
  dlist_foreach(&context->waiting, item) {
    struct entry *entry = container_of(item, struct entry, all);
    if (!resolve(resolution, entry)) continue;
    struct source *source = source_at(context, entry->rx.peer_entry.addr);
    if (!source) {
      entry->rx.peer_entry.addr = FI_ADDR_UNSPEC;
      resolution->unknown = true;
      continue;
    }
    dlist_remove(&entry->of_source);
    struct dlist_entry *before = &source->waiting;
    while (before->prev != &source->waiting &&
           container_of(before->prev, struct entry, of_source)->rx.seq_no > entry->rx.seq_no)
      before = before->prev;
    dlist_insert_tail(&entry->of_source, before);
  }
}

/* Every operation begins with this: whatever address became known before it counts for it. */
static void settle(struct context *context) {
  if (!__atomic_load_n(&context->changed, __ATOMIC_RELAXED)) return;
  if (!__atomic_exchange_n(&context->changed, false, __ATOMIC_ACQ_REL) || !context->unknown) return;
  struct resolution resolution = {.context = context};
  dlist_init(&resolution.known);
  resolve_tagged(context, &resolution);
  resolve_untagged(context, &resolution);
  context->unknown = resolution.unknown;
}

/* Called while addresses are inserted, by newer versions under the lock of the address vector, which a thread that
 * holds the lock of the receive context may be waiting for. The work is therefore left to the next operation. */
static void addresses_have_changed(struct fid_peer_srx *srx, fi_addr_t (*get_addr)(struct fi_peer_rx_entry *)) {
  struct context *context = context_of(srx);
  if (!context->tells_sources) return;
  pthread_mutex_lock(&context->resolvers_mutex);
  int i = 0;
  while (i < context->resolver_count && context->resolvers[i].srx != srx) i++;
  if (i < MAX_RESOLVERS) {
    context->resolvers[i] = (struct resolver){srx, get_addr};
    if (i == context->resolver_count) context->resolver_count++;
  } else {
    FI_WARN(&core_prov, FI_LOG_EP_CTRL, "more than %d providers share a receive context\n", MAX_RESOLVERS);
  }
  pthread_mutex_unlock(&context->resolvers_mutex);
  __atomic_store_n(&context->changed, true, __ATOMIC_RELEASE);
}

/* The source of a message that arrives may have become known since its provider looked it up. */
static void look_up_again(struct context *context, struct fi_peer_rx_entry *peer_entry) {
  if (peer_entry->addr != FI_ADDR_UNSPEC || !context->tells_sources) return;
  peer_entry->addr = current_source(context, peer_entry);
  if (peer_entry->addr == FI_ADDR_UNSPEC) context->unknown = true;
}

#endif
