// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// Measures the cost of an MPI library's queues at one receiver: the program of `matchbench mpi bench`.
//
// usage: bench SERIES DEPTH[,DEPTH...] SWEEPS BUDGET_US PATIENCE_S PIN
//
// A run measures one series. Rank 1 is the receiver: it fills its queues, measures the times, controls the other
// ranks, and is the only rank that prints. Rank 0 is the sender. All other ranks sleep; they are further sources.
// Every line of standard output that begins with MARK is a JSON object; docs/mpi-bench.md describes what is
// measured, python/matchbench/mpi/bench_protocol.py reads it. Only functions of MPI-3.0 are called.
#define _GNU_SOURCE
#include "place.h"

#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

// Distinct tags begin at FIRST_TAG; up to a depth of 32751 they stay below 32767, which every MPI allows.
enum { TARGET_TAG = 1, MARKER_TAG, ABSENT_TAG, PING_TAG, SAME_TAG, FIRST_TAG = 16 };
enum { LEAST = 5, MOST = 2000, PILOT = 9 };           // operations of a sample, and of the pilot that sets their number
enum { SMALL = 8, LARGE = 1024, NAP_NS = 5000000 };   // bytes of a message; sleep between two polls of other ranks

enum order { IN_ORDER, REVERSE, RANDOM };
enum pattern { TAGS, SOURCES, COMMUNICATORS, ANY_SOURCE, SAME, TARGET_ANY, AGED };
enum command { QUIT, ECHO, FILL, TARGET, DRAIN };
struct order_of_work {
  int command, count, pattern, order, bytes;
};

static MPI_Comm work, other, control;
static int rank, ranks, patience;
static double clock_ns;  // cost of a timestamp, subtracted from every time
static double budget_ns; // time budget of a sample

static double now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return 1e9 * (double)at.tv_sec + (double)at.tv_nsec;
}

// ---- output of rank 1 --------------------------------------------------------------------------------------

static void say(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs(MARK, stdout);
  vprintf(format, arguments);
  putchar('\n');
  fflush(stdout);
  va_end(arguments);
}

static void give_up(const char *text) {
  if (rank == RECEIVER || ranks < 2) {
    printf(MARK "{\"event\": \"error\", \"ranks\": %d, \"text\": ", ranks);
    quoted(text);
    puts("}");
    fflush(stdout);
  }
  MPI_Abort(MPI_COMM_WORLD, 2);
}

static void *room(size_t count, size_t size) {
  void *place = calloc(count ? count : 1, size);
  if (!place) give_up("out of memory");
  return place;
}

// ---- statistics and orders ---------------------------------------------------------------------------------

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values, int count) {
  qsort(values, (size_t)count, sizeof *values, by_size);
  return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

// Number of operations of `each` nanoseconds that fit into the budget of a sample.
static int affordable(double each, int least) {
  double count = budget_ns / (each > 1 ? each : 1);
  return count < least ? least : count > MOST ? MOST : (int)count;
}

// The shortest operation of the pilot: a preempted rank must not reduce the size of the sample.
static double shortest(const double *times) {
  double least = times[0];
  for (int i = 1; i < PILOT; i++) least = times[i] < least ? times[i] : least;
  return least;
}

// The same sequence on every rank and in every run.
static int *permutation(int count, int order) {
  int *at = room((size_t)count, sizeof *at);
  uint64_t state = 0x9e3779b97f4a7c15u;
  for (int i = 0; i < count; i++) at[i] = order == REVERSE ? count - 1 - i : i;
  for (int i = count - 1; order == RANDOM && i > 0; i--) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17; // xorshift64
    int j = (int)(state % (uint64_t)(i + 1)), swap = at[i];
    at[i] = at[j], at[j] = swap;
  }
  return at;
}

// ---- senders -----------------------------------------------------------------------------------------------

static void tell(int to, struct order_of_work what) {
  MPI_Send(&what, (int)(sizeof what / sizeof(int)), MPI_INT, to, 0, control);
}

static void send_marker(void) { MPI_Send(NULL, 0, MPI_BYTE, RECEIVER, MARKER_TAG, control); }

static int tag_of(int pattern, int nth) {
  if (pattern == SOURCES || pattern == COMMUNICATORS) return TARGET_TAG;
  return pattern == SAME ? SAME_TAG : FIRST_TAG + nth;
}

// Rank 0 polls and answers immediately.
static void serve(void) {
  static char payload[LARGE];
  for (;;) {
    struct order_of_work what;
    MPI_Recv(&what, (int)(sizeof what / sizeof(int)), MPI_INT, RECEIVER, 0, control, MPI_STATUS_IGNORE);
    alarm((unsigned)patience); // so that no rank outlives a killed launcher
    MPI_Comm comm = what.pattern == COMMUNICATORS ? other : work;
    if (what.command == QUIT) return;
    for (int i = 0; what.command == ECHO && i < what.count; i++) {
      MPI_Recv(NULL, 0, MPI_BYTE, RECEIVER, PING_TAG, control, MPI_STATUS_IGNORE);
      MPI_Send(payload, SMALL, MPI_BYTE, RECEIVER, TARGET_TAG, work);
    }
    for (int i = 0; what.command == FILL && i < what.count; i++)
      MPI_Send(payload, what.bytes, MPI_BYTE, RECEIVER, tag_of(what.pattern, i), comm);
    if (what.command == TARGET) MPI_Send(payload, SMALL, MPI_BYTE, RECEIVER, TARGET_TAG, work);
    if (what.command == DRAIN) {
      int *at = permutation(what.count, what.order);
      for (int i = 0; i < what.count; i++)
        MPI_Send(payload, SMALL, MPI_BYTE, RECEIVER, FIRST_TAG + at[i], work);
      free(at);
    }
    if (what.command == FILL || what.command == TARGET) send_marker();
  }
}

// The others sleep most of the time: 16 polling ranks would take processors from the two that measure.
static void doze(void) {
  char payload[SMALL] = {0};
  pid_t parent = getppid();
  for (;;) {
    struct order_of_work what;
    MPI_Request request;
    int done = 0;
    MPI_Irecv(&what, (int)(sizeof what / sizeof(int)), MPI_INT, RECEIVER, 0, control, &request);
    while (MPI_Test(&request, &done, MPI_STATUS_IGNORE), !done) {
      if (getppid() != parent) _exit(1); // the launcher has exited
      nanosleep(&(struct timespec){0, NAP_NS}, NULL);
    }
    if (what.command == QUIT) return;
    for (int i = rank - FIRST_OTHER; i < what.count; i += ranks - FIRST_OTHER)
      MPI_Send(payload, SMALL, MPI_BYTE, RECEIVER, TARGET_TAG, work);
    send_marker();
  }
}

// ---- receiver ----------------------------------------------------------------------------------------------

static void await_marker(int from) {
  MPI_Recv(NULL, 0, MPI_BYTE, from, MARKER_TAG, control, MPI_STATUS_IGNORE);
}

// Returns when `count` unexpected messages have arrived, which a marker after them shows. Messages of one rank
// arrive in the order of their sends on every transport known to us; MPI guarantees it for one communicator.
static void fill(int pattern, int count, int bytes) {
  struct order_of_work what = {.command = FILL, .count = count, .pattern = pattern, .bytes = bytes};
  int first = pattern == SOURCES ? FIRST_OTHER : SENDER, last = pattern == SOURCES ? ranks : FIRST_OTHER - 1;
  for (int from = first; from < last; from++) tell(from, what);
  for (int from = first; from < last; from++) await_marker(from);
}

// Receives the unexpected messages, oldest first: cheap on every structure.
static void sweep_away(int pattern, int count) {
  static char payload[LARGE];
  MPI_Comm comm = pattern == COMMUNICATORS ? other : work;
  for (int i = 0; i < count; i++)
    MPI_Recv(payload, LARGE, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
}

static void post(int pattern, int count, char *buffer, MPI_Request *requests) {
  MPI_Comm comm = pattern == COMMUNICATORS ? other : work;
  for (int i = 0; i < count; i++) {
    int source = pattern == ANY_SOURCE ? MPI_ANY_SOURCE
                 : pattern == SOURCES  ? FIRST_OTHER + i % (ranks - FIRST_OTHER)
                                       : SENDER;
    MPI_Irecv(buffer + (size_t)i * SMALL, SMALL, MPI_BYTE, source, tag_of(pattern, i), comm, &requests[i]);
  }
}

static void cancel(int count, MPI_Request *requests, int order) {
  int *at = permutation(count, order);
  for (int i = 0; i < count; i++) {
    MPI_Cancel(&requests[at[i]]);
    MPI_Wait(&requests[at[i]], MPI_STATUS_IGNORE);
  }
  free(at);
}

static void begin(const char *kind, int depth, int sweep) {
  alarm((unsigned)patience);
  say("{\"event\": \"begin\", \"kind\": \"%s\", \"depth\": %d, \"sweep\": %d}", kind, depth, sweep);
}

static void sample(const char *kind, int depth, int sweep, double ns, int operations) {
  say("{\"event\": \"sample\", \"kind\": \"%s\", \"depth\": %d, \"sweep\": %d, \"ns\": %.2f, \"operations\": %d}",
      kind, depth, sweep, ns > 0 ? ns : 0, operations);
}

// Round trips behind posted receives that do not match. The next target is posted before its ping is sent, so
// that a round trip includes one search of the list by the arriving message and no posting.
static double round_trips(int pattern, int count, double *times) {
  char payload[SMALL];
  tell(SENDER, (struct order_of_work){.command = ECHO, .count = count});
  for (int i = 0; i < count; i++) {
    MPI_Request target;
    int source = pattern == TARGET_ANY ? MPI_ANY_SOURCE : SENDER;
    MPI_Irecv(payload, SMALL, MPI_BYTE, source, TARGET_TAG, work, &target);
    double start = now();
    MPI_Send(NULL, 0, MPI_BYTE, SENDER, PING_TAG, control);
    MPI_Wait(&target, MPI_STATUS_IGNORE);
    times[i] = now() - start - clock_ns;
  }
  return median(times, count);
}

static void preposted(int pattern, int depth, int sweep) {
  static double times[MOST];
  char *buffer = room((size_t)depth, SMALL);
  MPI_Request *requests = room((size_t)depth, sizeof *requests);
  post(pattern, depth, buffer, requests);
  round_trips(pattern, PILOT, times);
  int count = affordable(shortest(times), LEAST);
  sample("preposted", depth, sweep, round_trips(pattern, count, times), count);
  cancel(depth, requests, IN_ORDER);
  free(requests);
  free(buffer);
}

// Receives of the youngest of depth + 1 messages that have arrived.
static double receives(int pattern, int count, double *times) {
  char payload[SMALL];
  int source = pattern == ANY_SOURCE ? MPI_ANY_SOURCE : SENDER;
  for (int i = 0; i < count; i++) {
    tell(SENDER, (struct order_of_work){.command = TARGET});
    await_marker(SENDER);
    double start = now();
    MPI_Recv(payload, SMALL, MPI_BYTE, source, TARGET_TAG, work, MPI_STATUS_IGNORE);
    times[i] = now() - start - clock_ns;
  }
  return median(times, count);
}

// Unsuccessful probes, several for each sample, because one can be as short as a timestamp.
enum { BATCH = 8 };
static double misses(int pattern, int count, double *times) {
  int source = pattern == ANY_SOURCE ? MPI_ANY_SOURCE : SENDER, flag;
  for (int i = 0; i < count; i++) {
    double start = now();
    for (int k = 0; k < BATCH; k++) MPI_Iprobe(source, ABSENT_TAG, work, &flag, MPI_STATUS_IGNORE);
    times[i] = (now() - start - clock_ns) / BATCH;
  }
  return median(times, count);
}

static void unexpected(int pattern, int depth, int sweep) {
  static double times[MOST];
  fill(pattern, depth, SMALL);
  receives(pattern, PILOT, times);
  // The transport of target and marker counts, some microseconds, and the marker's receive searches too.
  int count = affordable(3 * shortest(times) + 3000, LEAST);
  sample("unexpected", depth, sweep, receives(pattern, count, times), count);
  // A probe on another communicator's or source's queue gives the same result as the receive.
  if (pattern == TAGS || pattern == ANY_SOURCE || pattern == AGED) {
    begin("probe", depth, sweep);
    misses(pattern, PILOT, times);
    count = affordable(BATCH * shortest(times), LEAST);
    sample("probe", depth, sweep, misses(pattern, count, times), count);
  }
  sweep_away(pattern, depth);
}

static double drain_posted(int order, int depth) {
  char *buffer = room((size_t)depth, SMALL);
  MPI_Request *requests = room((size_t)depth, sizeof *requests);
  post(TAGS, depth, buffer, requests);
  double start = now();
  tell(SENDER, (struct order_of_work){.command = DRAIN, .count = depth, .order = order});
  MPI_Waitall(depth, requests, MPI_STATUSES_IGNORE);
  double spent = now() - start - clock_ns;
  free(requests);
  free(buffer);
  return spent / depth;
}

static double drain_unexpected(int order, int depth) {
  char payload[SMALL];
  int *at = permutation(depth, order);
  fill(TAGS, depth, SMALL);
  double start = now();
  for (int i = 0; i < depth; i++)
    MPI_Recv(payload, SMALL, MPI_BYTE, SENDER, FIRST_TAG + at[i], work, MPI_STATUS_IGNORE);
  double spent = now() - start - clock_ns;
  free(at);
  return spent / depth;
}

static void drain(const char *kind, double (*once)(int, int), int order, int depth, int sweep) {
  static double times[MOST];
  double least = once(order, depth), spent = depth * least;
  int tried = 1;
  times[0] = least;
  // A rank may have been preempted: long operations are repeated, unless they are very long.
  while (tried < PILOT && depth * least > budget_ns / 4 && spent < 10 * budget_ns) {
    times[tried] = once(order, depth);
    spent += depth * times[tried];
    least = times[tried] < least ? times[tried] : least;
    tried++;
  }
  int count = affordable(2 * depth * least, 0);
  if (count < tried) count = tried; // use the pilot as the sample
  else
    for (int i = 0; i < count; i++) times[i] = once(order, depth);
  sample(kind, depth, sweep, median(times, count), count);
}

// Frees requests and messages in random order, so that the library's pools reuse them in that order.
static void age(const char *kind, int depth) {
  begin(kind, depth, -1);
  if (!strcmp(kind, "preposted")) {
    char *buffer = room((size_t)depth, SMALL);
    MPI_Request *requests = room((size_t)depth, sizeof *requests);
    post(TAGS, depth, buffer, requests);
    cancel(depth, requests, RANDOM);
    free(requests);
    free(buffer);
  } else {
    drain_unexpected(RANDOM, depth);
  }
}

static long resident_bytes(void) {
  long pages = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = 0;
  if (file) fclose(file);
  return resident * sysconf(_SC_PAGESIZE);
}

// Growth of the receiver's resident memory by `items` queued items, in a process that had none before.
static void memory(int bytes, int items) {
  double times[PILOT];
  char *buffer = room((size_t)items, SMALL);
  MPI_Request *requests = room((size_t)items, sizeof *requests);
  memset(buffer, 1, (size_t)items * SMALL); // make our own memory resident first
  memset(requests, 1, (size_t)items * sizeof *requests);
  round_trips(TAGS, PILOT, times);
  begin("memory", items, 0);
  long before = resident_bytes();
  if (bytes) fill(TAGS, items, bytes);
  else post(TAGS, items, buffer, requests);
  long full = resident_bytes();
  if (bytes) sweep_away(TAGS, items);
  else cancel(items, requests, IN_ORDER);
  say("{\"event\": \"memory\", \"items\": %d, \"before\": %ld, \"full\": %ld, \"after\": %ld}", items, before, full,
      resident_bytes());
  free(requests);
  free(buffer);
}

// ---- the series --------------------------------------------------------------------------------------------

static const struct series {
  const char *name, *kind;
  int variant; // pattern, order, or bytes of a message (0: posted receives)
} all[] = {
    {"preposted/tags", "preposted", TAGS},
    {"preposted/sources", "preposted", SOURCES},
    {"preposted/communicators", "preposted", COMMUNICATORS},
    {"preposted/any_source", "preposted", ANY_SOURCE},
    {"preposted/same_tag", "preposted", SAME},
    {"preposted/target_any", "preposted", TARGET_ANY},
    {"preposted/aged", "preposted", AGED},
    {"unexpected/tags", "unexpected", TAGS},
    {"unexpected/sources", "unexpected", SOURCES},
    {"unexpected/communicators", "unexpected", COMMUNICATORS},
    {"unexpected/any_source", "unexpected", ANY_SOURCE},
    {"unexpected/same_tag", "unexpected", SAME},
    {"unexpected/aged", "unexpected", AGED},
    {"drain_posted/in_order", "drain_posted", IN_ORDER},
    {"drain_posted/reverse", "drain_posted", REVERSE},
    {"drain_posted/random", "drain_posted", RANDOM},
    {"drain_unexpected/in_order", "drain_unexpected", IN_ORDER},
    {"drain_unexpected/reverse", "drain_unexpected", REVERSE},
    {"drain_unexpected/random", "drain_unexpected", RANDOM},
    {"memory/posted", "memory", 0},
    {"memory/unexpected_small", "memory", SMALL},
    {"memory/unexpected_large", "memory", LARGE},
};

static void measure(const struct series *what, int count, const int *depths, int sweeps) {
  int deepest = 0;
  for (int i = 0; i < count; i++) deepest = depths[i] > deepest ? depths[i] : deepest;
  if (!strcmp(what->kind, "memory")) {
    memory(what->variant, deepest);
    return;
  }
  if (what->variant == AGED) age(what->kind, deepest);
  // All depths in each sweep, one sweep after the other, so that drift does not appear as a slope.
  for (int sweep = 0; sweep < sweeps; sweep++)
    for (int i = 0; i < count; i++) {
      begin(what->kind, depths[i], sweep);
      if (!strcmp(what->kind, "preposted")) preposted(what->variant, depths[i], sweep);
      else if (!strcmp(what->kind, "unexpected")) unexpected(what->variant, depths[i], sweep);
      else if (depths[i] == 0) continue;
      else if (!strcmp(what->kind, "drain_posted")) drain(what->kind, drain_posted, what->variant, depths[i], sweep);
      else drain(what->kind, drain_unexpected, what->variant, depths[i], sweep);
    }
}

// ---- main program -------------------------------------------------------------------------------------------

static int parse_depths(char *text, int *depths, int most) {
  int count = 0;
  for (char *word = strtok(text, ","); word; word = strtok(NULL, ",")) {
    if (count == most) give_up("too many depths");
    depths[count++] = atoi(word);
  }
  return count;
}

int main(int argc, char **argv) {
  enum { DEPTHS = 256, READS = 1001 };
  int depths[DEPTHS];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks < 2) give_up("started as a program of one rank");
  if (argc != 7) give_up("usage: bench SERIES DEPTHS SWEEPS BUDGET_US PATIENCE_S PIN");
  const struct series *what = NULL;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (!strcmp(all[i].name, argv[1])) what = &all[i];
  if (!what) give_up("no such series");
  if (what->variant == SOURCES && strstr(what->name, "sources") && ranks <= FIRST_OTHER)
    give_up("this series needs a third rank");
  int count = parse_depths(argv[2], depths, DEPTHS), *limit, found;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &limit, &found);
  for (int i = 0; i < count; i++)
    if (depths[i] < 0 || (found && depths[i] > *limit - FIRST_TAG)) give_up("a depth needs more tags than this MPI has");
  budget_ns = 1e3 * atof(argv[4]);
  patience = atoi(argv[5]);
  MPI_Comm_dup(MPI_COMM_WORLD, &work);
  MPI_Comm_dup(MPI_COMM_WORLD, &other);
  MPI_Comm_dup(MPI_COMM_WORLD, &control);

  const char *by;
  int cpu = pin(rank, atoi(argv[6]), &by);
  double reads[READS];
  for (int i = 0; i < READS; i++) {
    double start = now();
    reads[i] = now() - start;
  }
  clock_ns = median(reads, READS);
  if (rank < FIRST_OTHER) introduce(control, cpu, by, clock_ns);
  if (rank == SENDER) serve();
  else if (rank >= FIRST_OTHER) doze();
  else {
    measure(what, count, depths, atoi(argv[3]));
    for (int to = 0; to < ranks; to++)
      if (to != RECEIVER) tell(to, (struct order_of_work){.command = QUIT});
    say("{\"event\": \"end\"}");
  }
  alarm(0);
  MPI_Finalize();
  return 0;
}
