/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A message whose sender becomes known is taken by a receive that was posted before.
 *
 *   reuse [PROVIDER]
 *
 * A receive names the address of sender 0, which is then removed from the address vector. Messages of sender 1, which
 * is unknown, wait: the receive does not accept them. When sender 1 is inserted it is given the address that has become
 * free, so that the receive accepts the oldest of its messages with its tag. Other receives and messages, which do not
 * match, are before these two: none, or so many that the queues are in the matcher.
 * Exit status: 0 as expected, 1 otherwise, 2 bad arguments or no such provider.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include "endpoints.h"

enum { PATIENCE_S = 5, OTHERS = 40, OTHER_TAG = 2, TAG = 1 };

static Fabric fabric;
static Endpoint receiver, senders[2];

__attribute__((noreturn)) static void fail(const char *found) {
  printf("%s\n", found);
  fflush(stdout);
  fi_close(&receiver.ep->fid);
  for (int i = 0; i < 2; i++) fi_close(&senders[i].ep->fid);
  _exit(1);
}

static void progress(void) {
  struct fi_cq_tagged_entry entry;
  for (int round = 0; round < 2000; round++) {
    for (int i = 0; i < 2; i++) fi_cq_read(senders[i].cq, &entry, 1);
    fi_cq_read(receiver.cq, NULL, 0);
  }
}

static void send(int from, const char *text, uint64_t tag) {
  ssize_t status;
  while ((status = fi_tsend(senders[from].ep, text, strlen(text) + 1, NULL, senders[from].peer, tag, NULL)) == -FI_EAGAIN)
    progress();
  call("fi_tsend", status);
  progress();
}

/* The context of the next completion, and the source of its message; `what` is what should complete. */
static void *completed(const char *what, fi_addr_t *source) {
  struct fi_cq_tagged_entry entry;
  for (const time_t end = processor_seconds() + PATIENCE_S; processor_seconds() <= end; progress()) {
    const ssize_t read = fi_cq_readfrom(receiver.cq, &entry, 1, source);
    if (read == 1) return entry.op_context;
    if (read != -FI_EAGAIN) call("fi_cq_readfrom", read);
  }
  fail(what);
}

static void post(char *buffer, size_t size, fi_addr_t source, uint64_t tag, struct fi_context2 *context) {
  call("fi_trecv", fi_trecv(receiver.ep, buffer, size, NULL, source, tag, 0, context));
}

static void run(int others) {
  static char unused[OTHERS][8];
  static struct fi_context2 contexts[OTHERS];
  static const char *const texts[] = {"first", "second"};
  char buffers[2][16] = {"", ""};
  struct fi_context2 wanted, later;
  fi_addr_t source;

  open_fabric(&fabric);
  open_endpoint(&fabric, 64, &receiver);
  for (int i = 0; i < 2; i++) {
    open_endpoint(&fabric, 64, &senders[i]);
    senders[i].peer = insert(&receiver, &senders[i]);
  }
  fi_addr_t address = insert(&senders[0], &receiver);
  for (int i = 0; i < others; i++) post(unused[i], sizeof unused[i], address, OTHER_TAG + 1, &contexts[i]);
  post(buffers[0], sizeof buffers[0], address, TAG, &wanted);
  call("fi_av_remove", fi_av_remove(receiver.av, &address, 1, 0));
  for (int i = 0; i < others; i++) send(1, "other", OTHER_TAG);
  for (int i = 0; i < 2; i++) send(1, texts[i], TAG);
  struct fi_cq_tagged_entry entry;
  if (fi_cq_read(receiver.cq, &entry, 1) != -FI_EAGAIN) fail("the receive takes a message of an unknown sender");

  if (insert(&senders[1], &receiver) != address) {
    printf("not tested: the provider %s gave the second sender another address\n", provider);
    _exit(UNUSABLE);
  }
  /* Any operation: the work is done by the next one. */
  post(buffers[1], sizeof buffers[1], FI_ADDR_UNSPEC, TAG, &later);
  bool is_done[2] = {false, false};
  for (int i = 0; i < 2; i++) {
    const void *context = completed("a receive does not complete with the message that waits for it", &source);
    const int which = context == &later;
    if (context != &wanted && context != &later) fail("another receive completes");
    if (is_done[which]) fail("a receive completes twice");
    is_done[which] = true;
    if (strcmp(buffers[which], texts[which]) != 0) fail("a receive has another message than the oldest for it");
    if (source != address) fail("a message has another source than its sender");
  }
  progress();
  if (fi_cq_read(receiver.cq, &entry, 1) != -FI_EAGAIN) fail("something completes that should not");
  /* The others are still there, in order, and theirs alone. */
  for (int i = 0; i < others; i++) {
    post(buffers[0], sizeof buffers[0], address, OTHER_TAG, &wanted);
    if (completed("a waiting message is lost", &source) != &wanted || strcmp(buffers[0], "other") != 0)
      fail("a waiting message is taken otherwise");
  }
  for (int i = 0; i < others; i++) {
    send(1, "late", OTHER_TAG + 1);
    if (completed("a posted receive is lost", &source) != &contexts[i]) fail("posted receives match in another order");
  }
  fi_close(&receiver.ep->fid);
  for (int i = 0; i < 2; i++) fi_close(&senders[i].ep->fid);
  close_queues(&receiver);
  for (int i = 0; i < 2; i++) close_queues(&senders[i]);
  close_fabric(&fabric);
}

int main(int argc, char **argv) {
  if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
    fprintf(stderr, "usage: reuse [PROVIDER]\n");
    return UNUSABLE;
  }
  if (argc == 2) provider = argv[1];
  run(0);
  run(OTHERS);
  printf("a receive takes the oldest message of a sender that becomes known (provider %s)\n", provider);
  return 0;
}
