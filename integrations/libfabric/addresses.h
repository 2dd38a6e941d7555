/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Senders whose addresses become known while their messages wait. */
#ifndef MBMATCH_LIBFABRIC_ADDRESSES_H
#define MBMATCH_LIBFABRIC_ADDRESSES_H

#include "entry.h"
#include "untagged.h"

/* The source of a message as its provider knows it now. */
static fi_addr_t current_source(struct context *context, struct fi_peer_rx_entry *peer_entry) {
  const int count = __atomic_load_n(&context->resolver_count, __ATOMIC_ACQUIRE);
  for (int i = 0; i < count; i++) {
    const struct resolver *resolver = &context->resolvers[i];
    if (resolver->srx == peer_entry->srx) return __atomic_load_n(&resolver->get_addr, __ATOMIC_RELAXED)(peer_entry);
  }
  return FI_ADDR_UNSPEC;
}

/* Whether the source of a message was unknown and is known now. */
static bool resolve(struct context *context, struct entry *entry) {
  struct fi_peer_rx_entry *peer_entry = &entry->rx.peer_entry;
  if (peer_entry->addr != FI_ADDR_UNSPEC) return false;
  peer_entry->addr = current_source(context, peer_entry);
  if (peer_entry->addr != FI_ADDR_UNSPEC) return true;
  context->unknown = true;
  return false;
}

/* A receive names the source already: the address was that of another process when it was posted. */
static void start_for(struct context *context, struct entry *receive, struct entry *entry) {
  if (receive->rx.peer_entry.flags & FI_MULTI_RECV) {
    start_in(context, receive, entry);
    return;
  }
  const struct request request = request_of(&receive->rx.peer_entry);
  fill(context, entry, &request);
  ofi_buf_free(receive);
  if (start(entry)) FI_WARN(&core_prov, FI_LOG_EP_CTRL, "the provider could not start a message\n");
}

static void resolve_all(struct context *context, mbmatch_t *matcher) {
  mbmatch_message_t *message = mbmatch_first_message(matcher), *next;
  for (; message; message = next) {
    next = mbmatch_next_message(matcher, message);
    struct entry *entry = entry_of_message(message);
    if (!resolve(context, entry) || !is_known(context, entry->rx.peer_entry.addr)) continue;
    mbmatch_receive_t *receive =
        mbmatch_change_source(matcher, message, source_of(context, entry->rx.peer_entry.addr));
    if (receive) start_for(context, entry_of_receive(receive), entry);
  }
}

static __attribute__((noinline)) void settle_changes(struct context *context) {
  if (!__atomic_exchange_n(&context->changed, false, __ATOMIC_ACQ_REL) || !context->unknown) return;
  context->unknown = false;
  resolve_all(context, &context->tagged);
  resolve_all(context, &context->untagged);
}

/* Called at the beginning of each operation, which takes into account every address that became known before. */
static inline void settle(struct context *context) {
  if (__atomic_load_n(&context->changed, __ATOMIC_RELAXED)) settle_changes(context);
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
    context->resolvers[i].srx = srx;
    __atomic_store_n(&context->resolvers[i].get_addr, get_addr, __ATOMIC_RELAXED);
    if (i == context->resolver_count) __atomic_store_n(&context->resolver_count, i + 1, __ATOMIC_RELEASE);
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
