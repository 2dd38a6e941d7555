/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Untagged receives and messages, and multi-receive buffers, which stay in the matcher until they are used up. */
#ifndef MBMATCH_LIBFABRIC_UNTAGGED_H
#define MBMATCH_LIBFABRIC_UNTAGGED_H

#include "entry.h"

static void queue_untagged_receive(struct context *context, struct entry *entry) {
  const struct fi_peer_rx_entry *peer_entry = &entry->rx.peer_entry;
  mbmatch_queue_receive(&context->untagged, &entry->receive, 0, 0, source_of(context, peer_entry->addr));
  if (peer_entry->flags & FI_MULTI_RECV) mbmatch_stay(&entry->receive);
}

static struct entry *take_untagged_receive(struct context *context, fi_addr_t addr) {
  mbmatch_receive_t *receive = mbmatch_take_receive(&context->untagged, 0, source_of(context, addr));
  return receive ? entry_of_receive(receive) : NULL;
}

static struct entry *take_untagged_message(struct context *context, fi_addr_t addr) {
  mbmatch_message_t *message = mbmatch_take_message(&context->untagged, 0, 0, source_of(context, addr));
  return message ? entry_of_message(message) : NULL;
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
  if (from->msg_size >= context->base.min_multi_recv_size) return;
  buffer->used_up = true;
  if (mbmatch_is_posted(&buffer->receive)) mbmatch_cancel(&context->untagged, &buffer->receive);
}

/* The buffer of a multi-receive is no longer in use. */
static void release_buffer(struct context *context, struct entry *buffer) {
  if (ofi_peer_cq_write(context->base.cq, buffer->rx.peer_entry.context, FI_MULTI_RECV, 0, NULL, 0, 0,
                        FI_ADDR_NOTAVAIL))
    FI_WARN(&core_prov, FI_LOG_EP_CTRL, "no space for the completion of a multi-receive buffer\n");
  ofi_buf_free(buffer);
}

/* Receives a message that waited into a multi-receive buffer. */
static void start_in(struct context *context, struct entry *buffer, struct entry *entry) {
  struct request part = request_of(&buffer->rx.peer_entry);
  const struct iovec space = *part.iov;
  part.iov = &space;
  cut(context, buffer, entry->rx.peer_entry.msg_size, entry);
  fill(context, entry, &part);
  if (start(entry))
    FI_WARN(&core_prov, FI_LOG_EP_CTRL, "the provider could not start a message of a multi-receive\n");
}

#endif
