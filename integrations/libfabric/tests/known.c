/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What the random test found in unmodified versions of libfabric, in a few calls each.
 *
 *   known [PROVIDER]
 *
 * Each case runs in a process of its own. Exit status: 0 all are as documented, 1 one is not, 2 bad arguments or no
 * such provider.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include "endpoints.h"

enum { PATIENCE_S = 5, SENDERS = 2 };

static Fabric fabric;
static Endpoint receiver, senders[SENDERS];
static fi_addr_t sender[SENDERS]; /* in the receiver's address vector */

static void differ(const char *found) {
  printf("%s\n", found);
  fflush(stdout);
  _exit(1);
}

static void require(bool condition, const char *found) {
  if (!condition) differ(found);
}

/* Lets everything that was sent arrive. */
static void progress(void) {
  for (int i = 0; i < 2000; i++) {
    struct fi_cq_tagged_entry entry;
    for (int j = 0; j < SENDERS; j++) {
      struct fi_cq_err_entry error = {0};
      if (fi_cq_read(senders[j].cq, &entry, 1) == -FI_EAVAIL) fi_cq_readerr(senders[j].cq, &error, 0);
    }
    fi_cq_read(receiver.cq, NULL, 0);
  }
}

/* The next completion of the receiver; its `flags` are 0 if it is an error, and `data` the error. */
static struct fi_cq_tagged_entry completion(fi_addr_t *source) {
  struct fi_cq_tagged_entry entry = {0};
  fi_addr_t from = FI_ADDR_NOTAVAIL;
  const time_t end = processor_seconds() + PATIENCE_S;
  for (;;) {
    progress();
    const ssize_t read = fi_cq_readfrom(receiver.cq, &entry, 1, &from);
    if (source) *source = from;
    if (read == 1) return entry;
    if (read == -FI_EAVAIL) {
      struct fi_cq_err_entry error = {0};
      fi_cq_readerr(receiver.cq, &error, 0);
      return (struct fi_cq_tagged_entry){.op_context = error.op_context, .data = (uint64_t)error.err};
    }
    if (read != -FI_EAGAIN) call("fi_cq_readfrom", read);
    if (processor_seconds() > end) differ("nothing completes");
  }
}

static void until_done(ssize_t (*attempt)(const void *), const void *argument) {
  ssize_t status;
  while ((status = attempt(argument)) == -FI_EAGAIN) progress();
  call("a send", status);
}

struct sending {
  int from;
  const void *bytes;
  size_t size;
  uint64_t tag;
};

static ssize_t attempt_untagged(const void *argument) {
  const struct sending *it = argument;
  return fi_senddata(senders[it->from].ep, it->bytes, it->size, NULL, 0, senders[it->from].peer, NULL);
}

static ssize_t attempt_tagged(const void *argument) {
  const struct sending *it = argument;
  return fi_tsenddata(senders[it->from].ep, it->bytes, it->size, NULL, 0, senders[it->from].peer, it->tag, NULL);
}

static void send_untagged(int from, const void *bytes, size_t size) {
  until_done(attempt_untagged, &(struct sending){from, bytes, size, 0});
}

static void send_tagged(int from, const void *bytes, size_t size, uint64_t tag) {
  until_done(attempt_tagged, &(struct sending){from, bytes, size, tag});
}

static void peek_with(uint64_t flags, uint64_t tag, void *context) {
  const struct fi_msg_tagged message = {NULL, NULL, 0, FI_ADDR_UNSPEC, tag, 0, context, 0};
  call("fi_trecvmsg", fi_trecvmsg(receiver.ep, &message, FI_PEEK | flags));
}

/* fi_endpoint(3): a cancelled operation completes with FI_ECANCELED. */
static void cancel_of_a_directed_receive(void) {
  char buffer[8];
  struct fi_context2 context;
  call("fi_recv", fi_recv(receiver.ep, buffer, sizeof buffer, NULL, sender[0], &context));
  call("fi_cancel", fi_cancel(&receiver.ep->fid, &context));
  const struct fi_cq_tagged_entry entry = completion(NULL);
  require(entry.op_context == &context && entry.data == FI_ECANCELED, "it completes otherwise");
}

/* fi_msg(3): receives match in the order in which they were posted. */
static void receive_for_any_source_before_a_directed_one(void) {
  char buffers[2][8];
  struct fi_context2 contexts[2];
  call("fi_recv", fi_recv(receiver.ep, buffers[0], 8, NULL, FI_ADDR_UNSPEC, &contexts[0]));
  call("fi_recv", fi_recv(receiver.ep, buffers[1], 8, NULL, sender[0], &contexts[1]));
  send_untagged(0, "message", 8);
  require(completion(NULL).op_context == &contexts[0], "the younger receive takes the message");
}

/* fi_tagged(3): posted receives are searched in the order in which they were posted. */
static void tagged_receive_for_any_source_before_a_directed_one(void) {
  char buffers[2][8];
  struct fi_context2 contexts[2];
  call("fi_trecv", fi_trecv(receiver.ep, buffers[0], 8, NULL, FI_ADDR_UNSPEC, 1, 0, &contexts[0]));
  call("fi_trecv", fi_trecv(receiver.ep, buffers[1], 8, NULL, sender[0], 1, 0, &contexts[1]));
  send_tagged(0, "message", 8, 1);
  require(completion(NULL).op_context == &contexts[0], "the younger receive takes the message");
}

/* fi_tagged(3), FI_PEEK: the completion has the source address of the message. */
static void source_of_a_peeked_message(void) {
  struct fi_context2 context;
  fi_addr_t source;
  send_tagged(1, "message", 8, 1);
  progress();
  peek_with(0, 1, &context);
  completion(&source);
  require(source == sender[1], "the completion names another source");
}

/* fi_tagged(3): FI_CLAIM needs a struct fi_context; FI_DISCARD alone does not, and the context is the caller's. */
static void context_of_a_discarding_peek(void) {
  char context[64], before[64];
  memset(context, 0x55, sizeof context);
  memcpy(before, context, sizeof context);
  send_tagged(0, "message", 8, 1);
  progress();
  peek_with(FI_DISCARD, 1, context);
  completion(NULL);
  require(!memcmp(context, before, sizeof context), "the memory at the context is overwritten");
}

/* fi_msg(3), FI_MULTI_RECV: messages are received into the buffer. */
static void multi_receive_after_a_message_that_is_too_long(void) {
  enum { SIZE = 256, AFTER = 512 };
  static char bytes[200];
  char *buffer = malloc(SIZE + AFTER);
  memset(buffer, 0x55, SIZE + AFTER);
  struct fi_context2 context;
  const struct iovec space = {buffer, SIZE};
  const struct fi_msg message = {&space, NULL, 1, FI_ADDR_UNSPEC, &context, 0};
  call("fi_recvmsg", fi_recvmsg(receiver.ep, &message, FI_MULTI_RECV));
  send_untagged(0, bytes, 100);
  send_untagged(0, bytes, 200); /* 156 bytes are left */
  send_untagged(0, bytes, 100);
  progress();
  for (int i = SIZE; i < SIZE + AFTER; i++)
    require(buffer[i] == 0x55, "a later message is written behind the buffer");
}

/* fi_cq(3): a message that does not fit completes with FI_ETRUNC. */
static void waiting_message_that_is_too_long(void) {
  static char bytes[1000];
  char buffer[500];
  struct fi_context2 context;
  send_tagged(0, bytes, sizeof bytes, 1);
  progress();
  call("fi_trecv", fi_trecv(receiver.ep, buffer, sizeof buffer, NULL, FI_ADDR_UNSPEC, 1, 0, &context));
  require(completion(NULL).data == FI_ETRUNC, "it completes without FI_ETRUNC");
}

static const struct {
  const char *name;
  void (*run)(void);
} cases[] = {
    {"fi_cancel of an untagged receive that names its source", cancel_of_a_directed_receive},
    {"untagged receive for any source, then one that names it", receive_for_any_source_before_a_directed_one},
    {"tagged receive for any source, then one that names it", tagged_receive_for_any_source_before_a_directed_one},
    {"FI_PEEK: source of the message", source_of_a_peeked_message},
    {"FI_PEEK | FI_DISCARD: memory at the context", context_of_a_discarding_peek},
    {"FI_MULTI_RECV: a message too long for the rest, then another", multi_receive_after_a_message_that_is_too_long},
    {"waiting message of 1000 bytes, receive of 500", waiting_message_that_is_too_long},
};

static void run_case(int number) {
  open_fabric(&fabric);
  open_endpoint(&fabric, 64, &receiver);
  for (int i = 0; i < SENDERS; i++) {
    open_endpoint(&fabric, 64, &senders[i]);
    senders[i].peer = insert(&receiver, &senders[i]);
    sender[i] = insert(&senders[i], &receiver);
  }
  cases[number].run();
  printf("as documented\n");
  fflush(stdout);
  _exit(0);
}

int main(int argc, char **argv) {
  if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
    fprintf(stderr, "usage: known [PROVIDER]\n");
    return UNUSABLE;
  }
  if (argc == 2) provider = argv[1];
  bool failed = false;
  for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
    printf("%-62s ", cases[i].name);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) run_case(i);
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child) {
      perror("known: fork");
      return UNUSABLE;
    }
    remove_stale_files(child);
    if (WIFSIGNALED(status)) printf("ends with signal %d (%s)\n", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) == UNUSABLE) return UNUSABLE;
    if (status) failed = true;
  }
  return failed;
}
