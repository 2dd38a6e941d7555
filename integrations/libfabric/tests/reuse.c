/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A message whose sender becomes known is taken by a receive that was posted before.
 *
 *   reuse [PROVIDER]
 *
 * A receive names the address of sender 0, which is then removed from the address vector. Messages of sender 1, which
 * is unknown, wait: the receive does not accept them. When sender 1 is inserted it is given the address that has become
 * free, so that the receive accepts the oldest of its messages with its tag. Other receives and messages, which do not
 * match, are before these two: none, or so many that searches walk far. The same is tried without tags, with a receive
 * of one message and with a buffer for many, which takes both.
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

enum { PATIENCE_S = 5, OTHERS = 40, OTHER_TAG = 2, TAG = 1, MIN_MULTI = 64 };

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

static void open_all(void) {
  open_fabric(&fabric);
  open_endpoint(&fabric, MIN_MULTI, &receiver);
  for (int i = 0; i < 2; i++) {
    open_endpoint(&fabric, MIN_MULTI, &senders[i]);
    senders[i].peer = insert(&receiver, &senders[i]);
  }
}

static void close_all(void) {
  fi_close(&receiver.ep->fid);
  for (int i = 0; i < 2; i++) fi_close(&senders[i].ep->fid);
  close_queues(&receiver);
  for (int i = 0; i < 2; i++) close_queues(&senders[i]);
  close_fabric(&fabric);
}

/* Gives the address of the first sender to the second one. */
static void insert_again(fi_addr_t address) {
  if (insert(&senders[1], &receiver) == address) return;
  printf("not tested: the provider %s gave the second sender another address\n", provider);
  _exit(UNUSABLE);
}

static void run(int others) {
  static char unused[OTHERS][8];
  static struct fi_context2 contexts[OTHERS];
  static const char *const texts[] = {"first", "second"};
  char buffers[2][16] = {"", ""};
  struct fi_context2 wanted, later;
  fi_addr_t source;

  open_all();
  fi_addr_t address = insert(&senders[0], &receiver);
  for (int i = 0; i < others; i++) post(unused[i], sizeof unused[i], address, OTHER_TAG + 1, &contexts[i]);
  post(buffers[0], sizeof buffers[0], address, TAG, &wanted);
  call("fi_av_remove", fi_av_remove(receiver.av, &address, 1, 0));
  for (int i = 0; i < others; i++) send(1, "other", OTHER_TAG);
  for (int i = 0; i < 2; i++) send(1, texts[i], TAG);
  struct fi_cq_tagged_entry entry;
  if (fi_cq_read(receiver.cq, &entry, 1) != -FI_EAGAIN) fail("the receive takes a message of an unknown sender");

  insert_again(address);
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
  close_all();
}

static void send_untagged(const char *text) {
  ssize_t status;
  while ((status = fi_send(senders[1].ep, text, strlen(text) + 1, NULL, senders[1].peer, NULL)) == -FI_EAGAIN)
    progress();
  call("fi_send", status);
  progress();
}

/* `many`: the receive is a buffer that has space for a second message after the first, but not for a third. */
static void run_untagged(bool many) {
  static const char *const texts[] = {"first", "second", "third"};
  char buffer[MIN_MULTI + 6] = "", last[16] = "";
  struct fi_context2 wanted, later;
  fi_addr_t source;

  open_all();
  fi_addr_t address = insert(&senders[0], &receiver);
  const struct iovec space = {buffer, sizeof buffer};
  const struct fi_msg message = {&space, NULL, 1, address, &wanted, 0};
  call("fi_recvmsg", fi_recvmsg(receiver.ep, &message, many ? FI_MULTI_RECV : 0));
  call("fi_av_remove", fi_av_remove(receiver.av, &address, 1, 0));
  for (int i = 0; i < 2; i++) send_untagged(texts[i]);
  struct fi_cq_tagged_entry entry;
  if (fi_cq_read(receiver.cq, &entry, 1) != -FI_EAGAIN)
    fail("a receive without a tag takes a message of an unknown sender");

  insert_again(address);
  call("fi_recv", fi_recv(receiver.ep, last, sizeof last, NULL, FI_ADDR_UNSPEC, &later));
  /* Two messages, and that the buffer is used up. */
  for (int i = 0; i < (many ? 3 : 1); i++) {
    if (completed("a receive without a tag does not complete with the message that waits for it", &source) != &wanted)
      fail("another receive without a tag completes");
  }
  if (strcmp(buffer, texts[0]) != 0 || (many && strcmp(buffer + strlen(texts[0]) + 1, texts[1]) != 0))
    fail("a receive without a tag has another message than the oldest for it");
  if (many) send_untagged(texts[2]);
  if (completed("a younger receive without a tag does not complete", &source) != &later || source != address ||
      strcmp(last, texts[many ? 2 : 1]) != 0)
    fail("a younger receive without a tag has another message");
  close_all();
}

int main(int argc, char **argv) {
  if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
    fprintf(stderr, "usage: reuse [PROVIDER]\n");
    return UNUSABLE;
  }
  if (argc == 2) provider = argv[1];
  run(0);
  run(OTHERS);
  run_untagged(false);
  run_untagged(true);
  printf("a receive takes the oldest message of a sender that becomes known (provider %s)\n", provider);
  return 0;
}
