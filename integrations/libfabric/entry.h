/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The receive context, its entries, and how they pass between libfabric's callers and providers. See srx.c. */
#ifndef MBMATCH_LIBFABRIC_ENTRY_H
#define MBMATCH_LIBFABRIC_ENTRY_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ofi_enosys.h"
#include "ofi_iov.h"
#include "ofi_util.h"

#include "mbmatch.h"

/* A receive, or a message that no receive accepts yet. Its iovec and descriptor arrays follow it. */
struct entry {
  struct util_rx_entry rx; /* first: providers hold a pointer to rx.peer_entry */
  union {
    mbmatch_receive_t receive;
    mbmatch_message_t message;
    struct dlist_entry claimed; /* among the messages taken by FI_PEEK | FI_CLAIM */
  };
  bool is_claimed;
  bool used_up; /* a multi-receive buffer with too little space for another message */
};

/* A provider that shares the context and can tell the source of its messages. */
struct resolver {
  struct fid_peer_srx *srx;
  fi_addr_t (*get_addr)(struct fi_peer_rx_entry *); /* atomic */
};

/* A context is shared by the provider that owns it and one or two peers. */
enum { MAX_RESOLVERS = 16 };

/* Of the masks that tagged receives ignore, the narrowest one and one that contains it (tagged.h). 0: none was seen. */
struct masks {
  uint64_t narrow, wide;
};

struct context {
  struct util_srx_ctx base; /* first: providers cast */
  mbmatch_t tagged;
  struct masks masks; /* of tagged */
  mbmatch_t untagged; /* all bits are 0 */
  struct dlist_entry claimed;
  bool tells_sources;             /* without FI_SOURCE and FI_DIRECTED_RECV, RxM does not know them */
  bool unknown;                   /* a message whose source was unknown may be waiting */
  bool changed;                   /* addresses were inserted since the last operation; atomic */
  pthread_mutex_t resolvers_mutex;
  struct resolver resolvers[MAX_RESOLVERS];
  int resolver_count; /* atomic: read without the mutex, which writers hold */
};

static struct context *context_of(struct fid_peer_srx *srx) {
  return srx->ep_fid.fid.context;
}

static struct context *context_of_ep(struct fid_ep *ep) {
  return container_of(container_of(ep, struct util_srx_ctx, peer_srx.ep_fid), struct context, base);
}

static struct entry *entry_of(struct fi_peer_rx_entry *peer_entry) {
  return container_of(container_of(peer_entry, struct util_rx_entry, peer_entry), struct entry, rx);
}

static bool is_known(const struct context *context, fi_addr_t addr) {
  return context->base.dir_recv && addr < MBMATCH_ANY_SOURCE;
}

/* FI_ADDR_UNSPEC, and with it each address that is not known, is any source in a receive, and an unknown one in a
 * message: one number for mbmatch. Without FI_DIRECTED_RECV all messages have one source, which receives name: no
 * wildcard is searched for. */
static uint32_t source_of(const struct context *context, fi_addr_t addr) {
  if (!context->base.dir_recv) return 0;
  return is_known(context, addr) ? (uint32_t)addr : MBMATCH_UNKNOWN_SOURCE;
}

/* Entries */

static inline struct entry *new_entry(struct context *context) {
  struct entry *entry = ofi_buf_alloc(context->base.rx_pool);
  if (!entry) return NULL;
  entry->rx.peer_entry.owner_context = NULL;
  entry->rx.multi_recv_ref = 0;
  entry->receive.entry.next = NULL; /* not queued; it is that of the message, too */
  entry->is_claimed = false;
  entry->used_up = false;
  return entry;
}

static void set_arrays(struct ofi_bufpool_region *region, void *buffer) {
  const struct context *context = region->pool->attr.context;
  struct entry *entry = buffer;
  entry->rx.peer_entry.iov = (struct iovec *)(entry + 1);
  entry->rx.peer_entry.desc = (void **)(entry->rx.peer_entry.iov + context->base.iov_limit);
}

static struct entry *entry_of_receive(mbmatch_receive_t *receive) {
  return MBMATCH_OBJECT(receive, struct entry, receive);
}

static struct entry *entry_of_message(mbmatch_message_t *message) {
  return MBMATCH_OBJECT(message, struct entry, message);
}

/* What the caller of a receive passed. */
struct request {
  const struct iovec *iov;
  void **desc;
  size_t count;
  fi_addr_t addr;
  void *user;
  uint64_t flags;
};

/* That of a posted receive; a message that takes a part of a multi-receive buffer is none itself. */
static struct request request_of(const struct fi_peer_rx_entry *receive) {
  return (struct request){.iov = receive->iov,
                          .desc = receive->desc,
                          .count = receive->count,
                          .addr = receive->addr,
                          .user = receive->context,
                          .flags = receive->flags & ~FI_MULTI_RECV};
}

static inline void set_request(struct fi_peer_rx_entry *to, const struct request *request) {
  /* Not memcpy: nearly always one. */
  for (size_t i = 0; i < request->count; i++) {
    to->iov[i] = request->iov[i];
    to->desc[i] = request->desc ? request->desc[i] : NULL;
  }
  to->count = request->count;
  to->context = request->user;
  to->flags = request->flags;
}

static inline struct entry *new_receive(struct context *context, const struct request *request, uint64_t tag,
                                 uint64_t ignore) {
  struct entry *entry = new_entry(context);
  if (!entry) return NULL;
  struct fi_peer_rx_entry *peer_entry = &entry->rx.peer_entry;
  set_request(peer_entry, request);
  peer_entry->srx = &context->base.peer_srx;
  peer_entry->addr = request->addr;
  peer_entry->tag = tag;
  peer_entry->msg_size = ofi_total_iov_len(request->iov, request->count);
  entry->rx.ignore = ignore;
  return entry;
}

/* For a message that no receive accepts; the provider fills it and queues it. */
static int new_message(struct context *context, struct fid_peer_srx *srx, const struct fi_peer_match_attr *attr,
                       uint64_t flags, struct fi_peer_rx_entry **out) {
  struct entry *entry = new_entry(context);
  if (!entry) return -FI_ENOMEM;
  struct fi_peer_rx_entry *peer_entry = &entry->rx.peer_entry;
  peer_entry->srx = srx;
  peer_entry->addr = attr->addr;
  peer_entry->tag = attr->tag;
  peer_entry->msg_size = attr->msg_size;
  peer_entry->flags = flags;
  peer_entry->cq_data = 0;
  peer_entry->count = 0;
  *out = peer_entry;
  return -FI_ENOENT;
}

/* A posted receive matched: gives it to the provider that has the message. */
static int give(struct context *context, struct fid_peer_srx *srx, const struct fi_peer_match_attr *attr,
                struct entry *entry, struct fi_peer_rx_entry **out) {
  struct fi_peer_rx_entry *peer_entry = &entry->rx.peer_entry;
  peer_entry->srx = srx;
  peer_entry->msg_size = MIN(peer_entry->msg_size, attr->msg_size);
  context->base.update_func(&context->base, &entry->rx);
  *out = peer_entry;
  return FI_SUCCESS;
}

/* A waiting message matched: prepares its entry for the receive. The provider is told to start it. */
static inline void fill(struct context *context, struct entry *entry, const struct request *request) {
  struct fi_peer_rx_entry *peer_entry = &entry->rx.peer_entry;
  set_request(peer_entry, request);
  peer_entry->msg_size = MIN(peer_entry->msg_size, ofi_total_iov_len(request->iov, request->count));
  context->base.update_func(&context->base, &entry->rx);
}

static bool is_tagged(const struct entry *entry) {
  return entry->rx.peer_entry.flags & FI_TAGGED;
}

static ssize_t start(struct entry *entry) {
  struct fi_peer_rx_entry *peer_entry = &entry->rx.peer_entry;
  struct fi_ops_srx_peer *peer = peer_entry->srx->peer_ops;
  return is_tagged(entry) ? peer->start_tag(peer_entry) : peer->start_msg(peer_entry);
}

static void discard(struct entry *entry) {
  struct fi_peer_rx_entry *peer_entry = &entry->rx.peer_entry;
  struct fi_ops_srx_peer *peer = peer_entry->srx->peer_ops;
  if (is_tagged(entry) ? peer->discard_tag(peer_entry) : peer->discard_msg(peer_entry))
    FI_WARN(&core_prov, FI_LOG_EP_CTRL, "the provider could not discard a message\n");
  ofi_buf_free(entry);
}

#endif
