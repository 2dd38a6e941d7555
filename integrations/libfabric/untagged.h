/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Untagged receives and messages: lists by age. The oldest receive that accepts a message is the older of the first for
 * any source and the first for the message's source; the oldest message for a receive is the first of its source.
 */
#ifndef MBMATCH_LIBFABRIC_UNTAGGED_H
#define MBMATCH_LIBFABRIC_UNTAGGED_H

#include "entry.h"

/* NULL: out of memory. */
static struct source *source_at(struct context *context, fi_addr_t addr) {
  return is_known(context, addr) ? ofi_array_at(&context->sources, (int)addr) : &context->any;
}

static void init_source(struct ofi_dyn_arr *array, void *item) {
  struct source *source = item;
  (void)array;
  dlist_init(&source->posted);
  dlist_init(&source->waiting);
}

static struct entry *first_of_source(struct dlist_entry *list) {
  return dlist_empty(list) ? NULL : container_of(list->next, struct entry, of_source);
}

/* The oldest receive that accepts a message from `addr`, or NULL. */
static struct entry *oldest_receive(struct context *context, fi_addr_t addr) {
  struct entry *any = first_of_source(&context->any.posted);
  if (!is_known(context, addr)) return any;
  struct source *source = source_at(context, addr);
  struct entry *named = source ? first_of_source(&source->posted) : NULL;
  if (!any || !named) return any ? any : named;
  return any->rx.seq_no < named->rx.seq_no ? any : named;
}

/* The oldest message that a receive for `addr` accepts, or NULL. */
static struct entry *oldest_message(struct context *context, fi_addr_t addr) {
  if (!is_known(context, addr))
    return dlist_empty(&context->waiting) ? NULL : container_of(context->waiting.next, struct entry, all);
  struct source *source = source_at(context, addr);
  return source ? first_of_source(&source->waiting) : NULL;
}

static int append_receive(struct context *context, struct entry *entry) {
  struct source *source = source_at(context, entry->rx.peer_entry.addr);
  if (!source) return -FI_ENOMEM;
  entry->rx.seq_no = context->age++;
  entry->place = POSTED_UNTAGGED;
  dlist_insert_tail(&entry->all, &context->posted);
  dlist_insert_tail(&entry->of_source, &source->posted);
  return FI_SUCCESS;
}

static void remove_untagged(struct entry *entry) {
  dlist_remove(&entry->all);
  dlist_remove(&entry->of_source);
  entry->place = WITH_PROVIDER;
}

/* Cuts the space for a message of `size` bytes off the front of a multi-receive buffer, and gives it to `to`. The last
 * message gets what is left, which may be less than its size: its provider reports that it is truncated. */
static void cut(struct context *context, struct entry *buffer, size_t size, struct entry *to) {
  struct fi_peer_rx_entry *from = &buffer->rx.peer_entry;
  to->rx.peer_entry.owner_context = buffer;
  buffer->rx.multi_recv_ref++;
  const size_t taken = MIN(size, from->iov[0].iov_len);
  from->iov[0].iov_base = (char *)from->iov[0].iov_base + taken;
  from->iov[0].iov_len -= taken;
  from->msg_size = from->iov[0].iov_len;
  if (from->msg_size < context->base.min_multi_recv_size) buffer->used_up = true;
}

/* What the caller of a posted receive passed. */
static struct request request_of(const struct fi_peer_rx_entry *buffer) {
  return (struct request){.iov = buffer->iov,
                          .desc = buffer->desc,
                          .count = buffer->count,
                          .addr = buffer->addr,
                          .user = buffer->context,
                          .flags = buffer->flags & ~FI_MULTI_RECV};
}

/* The buffer of a multi-receive is no longer in use. */
static void release_buffer(struct context *context, struct entry *buffer) {
  if (ofi_peer_cq_write(context->base.cq, buffer->rx.peer_entry.context, FI_MULTI_RECV, 0, NULL, 0, 0,
                        FI_ADDR_NOTAVAIL))
    FI_WARN(&core_prov, FI_LOG_EP_CTRL, "no space for the completion of a multi-receive buffer\n");
  ofi_buf_free(buffer);
}

#endif
