/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What a tagged message costs with entries of other tags in the queues, from endpoint to endpoint in one process.
 *
 *   depth [--provider NAME] [--directed] [--ignore BITS] DEPTH...
 *
 * A line of kind, depth and nanoseconds for each kind and depth:
 *
 *   posted      a receive is posted behind `depth` others, a message for it is sent and received
 *   waiting     the same with `depth` messages that wait; the message arrives before its receive
 *   reverse     `depth` receives are posted and messages for them sent, the youngest receive's first; each message
 *
 * Times are processor time of the process, so that other work on the machine disturbs them by its use of caches alone.
 * Receives are for any source; with --directed they name the sender. They ignore no bits of the tag, or BITS.
 * Exit status: 2 bad arguments or no such provider.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include "endpoints.h"

enum { TARGET = 1, OTHERS = 1000, REPETITIONS = 5, MESSAGES = 2000, MAX_DEPTH = 65536 };

static Fabric fabric;
static Endpoint receiver, sender;
static fi_addr_t source = FI_ADDR_UNSPEC;
static uint64_t ignored;
static struct fi_context2 contexts[MAX_DEPTH], target;
static char bytes[8];

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void progress_sender(void) {
  struct fi_cq_tagged_entry entries[8];
  fi_cq_read(sender.cq, entries, 8);
}

/* Reads completions of the receiver until `count` came. */
static void await(int count) {
  struct fi_cq_tagged_entry entries[8];
  while (count > 0) {
    const ssize_t read = fi_cq_read(receiver.cq, entries, 8);
    if (read > 0) count -= (int)read;
    else if (read != -FI_EAGAIN) call("fi_cq_read", read);
    else progress_sender();
  }
}

static void post(uint64_t tag, struct fi_context2 *context) {
  ssize_t status;
  while ((status = fi_trecv(receiver.ep, bytes, sizeof bytes, NULL, source, tag, ignored, context)) == -FI_EAGAIN)
    fi_cq_read(receiver.cq, NULL, 0);
  call("fi_trecv", status);
}

static void send(uint64_t tag) {
  ssize_t status;
  while ((status = fi_tinject(sender.ep, bytes, sizeof bytes, sender.peer, tag)) == -FI_EAGAIN) {
    progress_sender();
    fi_cq_read(receiver.cq, NULL, 0);
  }
  call("fi_tinject", status);
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void print_median(const char *kind, int depth, double *times) {
  qsort(times, REPETITIONS, sizeof *times, compare);
  printf("%s %d %.1f\n", kind, depth, times[REPETITIONS / 2]);
  fflush(stdout);
}

static void cancel_all(int depth) {
  for (int i = 0; i < depth; i++) fi_cancel(&receiver.ep->fid, &contexts[i]);
  struct fi_cq_err_entry error = {0};
  struct fi_cq_tagged_entry entry;
  for (int left = depth; left > 0;) {
    if (fi_cq_read(receiver.cq, &entry, 1) == -FI_EAVAIL && fi_cq_readerr(receiver.cq, &error, 0) == 1) left--;
  }
}

static void measure_posted(int depth) {
  double times[REPETITIONS];
  for (int i = 0; i < depth; i++) post(OTHERS + (uint64_t)i, &contexts[i]);
  for (int i = 0; i < REPETITIONS; i++) {
    const double start = now();
    for (int j = 0; j < MESSAGES; j++) {
      post(TARGET, &target);
      send(TARGET);
      await(1);
    }
    times[i] = (now() - start) / MESSAGES;
  }
  print_median("posted", depth, times);
  cancel_all(depth);
}

static void measure_waiting(int depth) {
  double times[REPETITIONS];
  for (int i = 0; i < depth; i++) send(OTHERS + (uint64_t)i);
  for (int i = 0; i < REPETITIONS; i++) {
    const double start = now();
    for (int j = 0; j < MESSAGES; j++) {
      send(TARGET);
      fi_cq_read(receiver.cq, NULL, 0);
      post(TARGET, &target);
      await(1);
    }
    times[i] = (now() - start) / MESSAGES;
  }
  print_median("waiting", depth, times);
  for (int i = 0; i < depth; i++) post(OTHERS + (uint64_t)i, &contexts[i]);
  await(depth);
}

static void measure_reverse(int depth) {
  double times[REPETITIONS];
  const int rounds = depth == 0 ? 0 : (MESSAGES + depth - 1) / depth;
  if (rounds == 0) return;
  for (int i = 0; i < REPETITIONS; i++) {
    double spent = 0;
    for (int round = 0; round < rounds; round++) {
      const double start = now();
      for (int j = 0; j < depth; j++) post(OTHERS + (uint64_t)j, &contexts[j]);
      for (int j = depth - 1; j >= 0; j--) send(OTHERS + (uint64_t)j);
      await(depth);
      spent += now() - start;
    }
    times[i] = spent / rounds / depth;
  }
  print_median("reverse", depth, times);
}

int main(int argc, char **argv) {
  int first = 1;
  bool named = false;
  for (; first < argc && argv[first][0] == '-'; first++) {
    if (!strcmp(argv[first], "--directed")) named = true;
    else if (!strcmp(argv[first], "--provider") && first + 1 < argc) provider = argv[++first];
    else if (!strcmp(argv[first], "--ignore") && first + 1 < argc) ignored = strtoull(argv[++first], NULL, 0);
    else {
      fprintf(stderr, "depth: found '%s', expected --provider, --directed or --ignore\n", argv[first]);
      return UNUSABLE;
    }
  }
  open_fabric(&fabric);
  open_endpoint(&fabric, 64, &receiver);
  open_endpoint(&fabric, 64, &sender);
  sender.peer = insert(&receiver, &sender);
  if (named) source = insert(&sender, &receiver);
  for (int i = first; i < argc; i++) {
    char *end;
    errno = 0;
    const long depth = strtol(argv[i], &end, 10);
    if (end == argv[i] || *end || errno || depth < 0 || depth > MAX_DEPTH) {
      fprintf(stderr, "depth: found '%s', expected a depth of at most %d\n", argv[i], MAX_DEPTH);
      return UNUSABLE;
    }
    measure_posted((int)depth);
    measure_waiting((int)depth);
    measure_reverse((int)depth);
  }
  return 0;
}
