/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * The receive queues that libfabric's shared-memory, RxM and EFA providers share, on mbmatch.
 *
 * `integrations/libfabric/build` compiles this file in place of libfabric's `prov/util/src/util_srx.c`. It offers what
 * `ofi_util.h` declares of that file, with the behaviour that fi_tagged(3), fi_msg(3), fi_endpoint(3) and fi_peer(3)
 * document. README.md beside it describes the design.
 *
 * Tagged receives and messages are in one matcher (tagged.h), untagged ones in another (untagged.h). Entries are of
 * libfabric's pool and have the nodes of mbmatch in them, so that queueing one allocates nothing and cannot fail.
 *
 * Every function below runs under the lock of the receive context, except util_ep_srx_context and
 * addresses_have_changed.
 */
#include "addresses.h"
#include "entry.h"
#include "tagged.h"
#include "untagged.h"

/* What providers call for arriving messages */

static int get_tagged(struct fid_peer_srx *srx, struct fi_peer_match_attr *attr, struct fi_peer_rx_entry **out) {
  struct context *context = context_of(srx);
  settle(context);
  struct entry *receive = take_receive(context, attr->tag, attr->addr);
  if (receive) return give(context, srx, attr, receive, out);
  return new_message(context, srx, attr, FI_TAGGED | FI_RECV, out);
}

static int get_untagged(struct fid_peer_srx *srx, struct fi_peer_match_attr *attr, struct fi_peer_rx_entry **out) {
  struct context *context = context_of(srx);
  settle(context);
  struct entry *receive = take_untagged_receive(context, attr->addr);
  if (!receive) return new_message(context, srx, attr, FI_MSG | FI_RECV, out);
  if (!(receive->rx.peer_entry.flags & FI_MULTI_RECV)) return give(context, srx, attr, receive, out);
  const struct request part = request_of(&receive->rx.peer_entry);
  struct entry *entry = new_receive(context, &part, 0, 0);
  if (!entry) return -FI_ENOMEM;
  cut(context, receive, attr->msg_size, entry);
  return give(context, srx, attr, entry, out);
}

static int queue_tagged_message(struct fi_peer_rx_entry *peer_entry) {
  struct context *context = context_of(peer_entry->srx);
  look_up_again(context, peer_entry);
  queue_message(context, entry_of(peer_entry));
  return FI_SUCCESS;
}

static int queue_untagged_message(struct fi_peer_rx_entry *peer_entry) {
  struct context *context = context_of(peer_entry->srx);
  look_up_again(context, peer_entry);
  mbmatch_queue_message(&context->untagged, &entry_of(peer_entry)->message, 0, source_of(context, peer_entry->addr));
  return FI_SUCCESS;
}

static void free_entry(struct fi_peer_rx_entry *peer_entry) {
  struct context *context = context_of(peer_entry->srx);
  struct entry *entry = entry_of(peer_entry);
  struct entry *buffer = peer_entry->owner_context;
  /* Newer providers free messages that wait, when they lose a peer. */
  if (entry->is_claimed) dlist_remove(&entry->claimed);
  else if (mbmatch_is_unexpected(&entry->message))
    mbmatch_discard(is_tagged(entry) ? &context->tagged : &context->untagged, &entry->message);
  ofi_buf_free(entry);
  if (buffer && !--buffer->rx.multi_recv_ref && buffer->used_up) release_buffer(context, buffer);
}

static struct fi_ops_srx_owner owner_ops = {
    .size = sizeof(struct fi_ops_srx_owner),
    .get_msg = get_untagged,
    .get_tag = get_tagged,
    .queue_msg = queue_untagged_message,
    .queue_tag = queue_tagged_message,
    .foreach_unspec_addr = addresses_have_changed,
    .free_entry = free_entry,
};

/* Receives */

static inline bool is_refused(const struct context *context, const struct request *request) {
  const bool taken = request->flags & (FI_PEEK | FI_CLAIM);
  return request->count > context->base.iov_limit || (request->flags & FI_DISCARD && !taken) ||
         (request->addr != FI_ADDR_UNSPEC && !is_known(context, request->addr));
}

static ssize_t peek(struct context *context, struct wanted wanted, const struct request *request) {
  struct entry *entry = find_message(context, wanted);
  if (!entry) return ofi_peer_cq_write_error_peek(context->base.cq, wanted.tag, request->user);
  const struct fi_peer_rx_entry *peer_entry = &entry->rx.peer_entry;
  if (request->flags & FI_CLAIM) ((struct fi_context *)request->user)->internal[0] = entry;
  /* If there is no space for the completion, the message is not taken. */
  const int ret = ofi_peer_cq_write(context->base.cq, request->user, peer_entry->flags, peer_entry->msg_size, NULL,
                                    peer_entry->cq_data, peer_entry->tag, peer_entry->addr);
  if (ret || !(request->flags & (FI_CLAIM | FI_DISCARD))) return ret;
  mbmatch_discard(&context->tagged, &entry->message);
  if (request->flags & FI_DISCARD) {
    discard(entry);
  } else {
    entry->is_claimed = true;
    dlist_insert_tail(&entry->claimed, &context->claimed);
  }
  return FI_SUCCESS;
}

/* The memory of the link is that of the node, which must not look like a queued one. */
static void leave_claimed(struct entry *entry) {
  dlist_remove(&entry->claimed);
  entry->is_claimed = false;
  entry->message.entry.next = NULL;
}

static ssize_t use_claimed(struct context *context, const struct request *request) {
  struct entry *entry = ((struct fi_context *)request->user)->internal[0];
  if (request->flags & FI_DISCARD) {
    const int ret = ofi_peer_cq_write(context->base.cq, request->user, FI_TAGGED | FI_RECV,
                                      entry->rx.peer_entry.msg_size, NULL, 0, entry->rx.peer_entry.tag,
                                      entry->rx.peer_entry.addr);
    if (ret) return ret;
    leave_claimed(entry);
    discard(entry);
    return FI_SUCCESS;
  }
  leave_claimed(entry);
  fill(context, entry, request);
  return start(entry);
}

static ssize_t receive_tagged(struct context *context, struct wanted wanted, const struct request *request) {
  struct entry *entry = take_message(context, wanted);
  if (entry) {
    fill(context, entry, request);
    return start(entry);
  }
  entry = new_receive(context, request, wanted.tag, wanted.ignore);
  if (!entry) return -FI_ENOMEM;
  queue_receive(context, entry);
  return FI_SUCCESS;
}

ssize_t util_srx_generic_trecv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t iov_count,
                               fi_addr_t addr, void *user, uint64_t tag, uint64_t ignore, uint64_t flags) {
  struct context *context = context_of_ep(ep);
  const struct request request = {iov,  desc, iov_count, context->base.dir_recv ? addr : FI_ADDR_UNSPEC,
                                  user, flags | FI_TAGGED | FI_RECV};
  if (is_refused(context, &request)) return -FI_EINVAL;
  const struct wanted wanted = {tag, ignore, request.addr};
  ofi_genlock_lock(context->base.lock);
  settle(context);
  note_mask(context, ignore);
  const ssize_t ret = flags & FI_PEEK    ? peek(context, wanted, &request)
                      : flags & FI_CLAIM ? use_claimed(context, &request)
                                         : receive_tagged(context, wanted, &request);
  ofi_genlock_unlock(context->base.lock);
  return ret;
}

static ssize_t receive_untagged(struct context *context, const struct request *request) {
  struct entry *entry = take_untagged_message(context, request->addr);
  if (entry) {
    fill(context, entry, request);
    return start(entry);
  }
  entry = new_receive(context, request, 0, 0);
  if (!entry) return -FI_ENOMEM;
  queue_untagged_receive(context, entry);
  return FI_SUCCESS;
}

/* A buffer for many messages: takes those that wait, oldest first, and stays until too little space is left. */
static ssize_t receive_many(struct context *context, const struct request *request) {
  struct entry *buffer = new_receive(context, request, 0, 0), *entry;
  if (!buffer) return -FI_ENOMEM;
  /* Held while messages are started: one that completes at once must not release the buffer. */
  buffer->rx.multi_recv_ref = 1;
  while (!buffer->used_up && (entry = take_untagged_message(context, request->addr)) != NULL)
    start_in(context, buffer, entry);
  buffer->rx.multi_recv_ref--;
  if (!buffer->used_up) queue_untagged_receive(context, buffer);
  else if (!buffer->rx.multi_recv_ref) release_buffer(context, buffer);
  return FI_SUCCESS;
}

ssize_t util_srx_generic_recv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t iov_count, fi_addr_t addr,
                              void *user, uint64_t flags) {
  struct context *context = context_of_ep(ep);
  const struct request request = {iov,  desc, iov_count, context->base.dir_recv ? addr : FI_ADDR_UNSPEC,
                                  user, flags | FI_MSG | FI_RECV};
  const bool many = flags & FI_MULTI_RECV;
  if (is_refused(context, &request) || (many && iov_count != 1)) return -FI_EINVAL;
  ofi_genlock_lock(context->base.lock);
  settle(context);
  const ssize_t ret = many ? receive_many(context, &request) : receive_untagged(context, &request);
  ofi_genlock_unlock(context->base.lock);
  return ret;
}

static ssize_t srx_recvmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags) {
  return util_srx_generic_recv(ep, msg->msg_iov, msg->desc, msg->iov_count, msg->addr, msg->context,
                               flags | context_of_ep(ep)->base.rx_msg_flags);
}

static ssize_t srx_recvv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count, fi_addr_t addr,
                         void *user) {
  return util_srx_generic_recv(ep, iov, desc, count, addr, user, context_of_ep(ep)->base.rx_op_flags);
}

static ssize_t srx_recv(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t addr, void *user) {
  const struct iovec iov = {buf, len};
  return srx_recvv(ep, &iov, &desc, 1, addr, user);
}

static struct fi_ops_msg untagged_ops = {
    .size = sizeof(struct fi_ops_msg),
    .recv = srx_recv,
    .recvv = srx_recvv,
    .recvmsg = srx_recvmsg,
    .send = fi_no_msg_send,
    .sendv = fi_no_msg_sendv,
    .sendmsg = fi_no_msg_sendmsg,
    .inject = fi_no_msg_inject,
    .senddata = fi_no_msg_senddata,
    .injectdata = fi_no_msg_injectdata,
};

static ssize_t srx_trecvmsg(struct fid_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags) {
  return util_srx_generic_trecv(ep, msg->msg_iov, msg->desc, msg->iov_count, msg->addr, msg->context, msg->tag,
                                msg->ignore, flags | context_of_ep(ep)->base.rx_msg_flags);
}

static ssize_t srx_trecvv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count, fi_addr_t addr,
                          uint64_t tag, uint64_t ignore, void *user) {
  return util_srx_generic_trecv(ep, iov, desc, count, addr, user, tag, ignore, context_of_ep(ep)->base.rx_op_flags);
}

static ssize_t srx_trecv(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t addr, uint64_t tag,
                         uint64_t ignore, void *user) {
  const struct iovec iov = {buf, len};
  return srx_trecvv(ep, &iov, &desc, 1, addr, tag, ignore, user);
}

static struct fi_ops_tagged tagged_ops = {
    .size = sizeof(struct fi_ops_tagged),
    .recv = srx_trecv,
    .recvv = srx_trecvv,
    .recvmsg = srx_trecvmsg,
    .send = fi_no_tagged_send,
    .sendv = fi_no_tagged_sendv,
    .sendmsg = fi_no_tagged_sendmsg,
    .inject = fi_no_tagged_inject,
    .senddata = fi_no_tagged_senddata,
    .injectdata = fi_no_tagged_injectdata,
};

/* Cancel */

/* The oldest receive with this context, or NULL. */
static struct entry *find(const mbmatch_t *matcher, const void *user) {
  mbmatch_receive_t *receive = mbmatch_first_receive(matcher);
  for (; receive; receive = mbmatch_next_receive(matcher, receive)) {
    if (entry_of_receive(receive)->rx.peer_entry.context == user) return entry_of_receive(receive);
  }
  return NULL;
}

/* -FI_EAGAIN: a multi-receive buffer is in use. */
static ssize_t cancel(struct context *context, const void *user) {
  mbmatch_t *matcher = &context->tagged;
  struct entry *entry = find(matcher, user);
  if (!entry) {
    matcher = &context->untagged;
    entry = find(matcher, user);
  }
  if (!entry) return FI_SUCCESS;
  if (entry->rx.multi_recv_ref) return -FI_EAGAIN;
  mbmatch_cancel(matcher, &entry->receive);
  const struct fi_cq_err_entry completion = {
      .op_context = entry->rx.peer_entry.context,
      .flags = entry->rx.peer_entry.flags & (FI_TAGGED | FI_MSG | FI_RECV | FI_MULTI_RECV),
      .tag = entry->rx.peer_entry.tag,
      .err = FI_ECANCELED,
      .prov_errno = -FI_ECANCELED,
  };
  if (ofi_peer_cq_write_error(context->base.cq, &completion))
    FI_WARN(&core_prov, FI_LOG_EP_CTRL, "no space for the completion of a cancelled receive\n");
  ofi_buf_free(entry);
  return FI_SUCCESS;
}

static ssize_t srx_cancel(fid_t fid, void *user) {
  struct context *context = context_of_ep(container_of(fid, struct fid_ep, fid));
  ofi_genlock_lock(context->base.lock);
  const ssize_t ret = cancel(context, user);
  ofi_genlock_unlock(context->base.lock);
  return ret;
}

/* Options, creation and end */

static int srx_getopt(fid_t fid, int level, int option, void *value, size_t *length) {
  if (level != FI_OPT_ENDPOINT || option != FI_OPT_MIN_MULTI_RECV) return -FI_ENOPROTOOPT;
  const struct context *context = context_of_ep(container_of(fid, struct fid_ep, fid));
  memcpy(value, &context->base.min_multi_recv_size, sizeof(size_t));
  *length = sizeof(size_t);
  return FI_SUCCESS;
}

static int srx_setopt(fid_t fid, int level, int option, const void *value, size_t length) {
  if (level != FI_OPT_ENDPOINT || option != FI_OPT_MIN_MULTI_RECV) return -FI_ENOPROTOOPT;
  if (length != sizeof(size_t)) return -FI_EINVAL;
  memcpy(&context_of_ep(container_of(fid, struct fid_ep, fid))->base.min_multi_recv_size, value, length);
  return FI_SUCCESS;
}

int util_srx_bind(struct fid *fid, struct fid *bound, uint64_t flags) {
  if (flags != FI_RECV || bound->fclass != FI_CLASS_CQ) return -FI_EINVAL;
  struct context *context = context_of_ep(container_of(fid, struct fid_ep, fid));
  context->base.cq = container_of(bound, struct util_cq, cq_fid.fid);
  ofi_atomic_inc32(&context->base.cq->ref);
  return FI_SUCCESS;
}

static void discard_message(void *unused, mbmatch_message_t *message) {
  (void)unused;
  discard(entry_of_message(message));
}

static void free_receive(void *unused, mbmatch_receive_t *receive) {
  (void)unused;
  ofi_buf_free(entry_of_receive(receive));
}

static void close_matcher(mbmatch_t *matcher) {
  mbmatch_remove_messages(matcher, 0, UINT64_MAX, MBMATCH_ANY_SOURCE, discard_message, NULL);
  mbmatch_remove_receives(matcher, 0, UINT64_MAX, MBMATCH_ANY_SOURCE, free_receive, NULL);
  mbmatch_destroy(matcher);
}

/* No completion is written for receives that are still posted. */
int util_srx_close(struct fid *fid) {
  struct context *context = context_of_ep(container_of(fid, struct fid_ep, fid));
  struct ofi_genlock *lock = context->base.lock;
  ofi_genlock_lock(lock);
  close_matcher(&context->tagged);
  close_matcher(&context->untagged);
  while (!dlist_empty(&context->claimed)) {
    struct entry *entry = container_of(context->claimed.next, struct entry, claimed);
    leave_claimed(entry);
    discard(entry);
  }
  if (context->base.cq) ofi_atomic_dec32(&context->base.cq->ref);
  ofi_bufpool_destroy(context->base.rx_pool);
  ofi_genlock_unlock(lock);
  pthread_mutex_destroy(&context->resolvers_mutex);
  free(context);
  return FI_SUCCESS;
}

static struct fi_ops fid_ops = {
    .size = sizeof(struct fi_ops),
    .close = util_srx_close,
    .bind = util_srx_bind,
    .control = fi_no_control,
    .ops_open = fi_no_ops_open,
};

static struct fi_ops_ep ep_ops = {
    .size = sizeof(struct fi_ops_ep),
    .cancel = srx_cancel,
    .getopt = srx_getopt,
    .setopt = srx_setopt,
    .tx_ctx = fi_no_tx_ctx,
    .rx_ctx = fi_no_rx_ctx,
    .rx_size_left = fi_no_rx_size_left,
    .tx_size_left = fi_no_tx_size_left,
};

int util_ep_srx_context(struct util_domain *domain, size_t rx_size, size_t iov_limit, size_t default_min_multi_recv,
                        ofi_update_func_t update_func, struct ofi_genlock *lock, struct fid_ep **rx_ep) {
  struct context *context = calloc(1, sizeof *context);
  if (!context) return -FI_ENOMEM;
  struct ofi_bufpool_attr pool = {
      .size = sizeof(struct entry) + iov_limit * (sizeof(struct iovec) + sizeof(void *)),
      .alignment = 16,
      .chunk_cnt = rx_size,
      .init_fn = set_arrays,
      .context = context,
  };
  const int ret = ofi_bufpool_create_attr(&pool, &context->base.rx_pool);
  if (ret) {
    free(context);
    return ret;
  }
  mbmatch_init(&context->tagged, UINT64_MAX, 0, NULL);
  mbmatch_init(&context->untagged, 0, 0, NULL);
  dlist_init(&context->claimed);
  pthread_mutex_init(&context->resolvers_mutex, NULL);

  context->tells_sources = domain->info_domain_caps & (FI_SOURCE | FI_DIRECTED_RECV);

  struct util_srx_ctx *base = &context->base;
  base->min_multi_recv_size = default_min_multi_recv;
  base->iov_limit = iov_limit;
  base->dir_recv = domain->info_domain_caps & FI_DIRECTED_RECV;
  base->update_func = update_func;
  base->lock = lock;
  base->peer_srx.owner_ops = &owner_ops;
  struct fid_ep *ep = &base->peer_srx.ep_fid;
  ep->fid.fclass = FI_CLASS_SRX_CTX;
  ep->fid.context = context;
  ep->fid.ops = &fid_ops;
  ep->ops = &ep_ops;
  ep->msg = &untagged_ops;
  ep->tagged = &tagged_ops;
  *rx_ep = ep;
  domain->srx = &base->peer_srx;
  return FI_SUCCESS;
}
