/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What `conform.c` writes down: outcomes, in the form of conform/src/wire.rs, and the bytes of messages. */
#include <mpi.h>

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OUTCOME_MAGIC = 0x554f424d, FORMAT = 1, LONGEST_PROGRAM = 1024, STAMP = 16 };
enum { HEADER = 1, BEGIN, END, RECEIVED, CANCELLED, SENT, FOUND, MISSED, DRAINED, STUCK, FAILED, TRUNCATED };
enum { ANY = -1, NO_PROCESS = -2, NOTHING = -1 };
enum { INTACT = 1, FOREIGN = 2, OVERRUN = 4 };

/* An outcome, as it is written. */
typedef struct {
  int kind, at, step, source, tag, count, message, flags;
} Event;

static int rank, ranks;

/* Of the program that is performed: its number, and the operation of this rank that is. */
static int program_number, at;

/* Outcomes that are not written yet. The count is raised last: a signal may write them at any moment. */
static Event event[4 * LONGEST_PROGRAM];
static volatile sig_atomic_t events;
static int outcome_file;

static void give_up(const char *what, const char *which) {
  fprintf(stderr, "conform: rank %d: %s: %s\n", rank, which, what);
  MPI_Abort(MPI_COMM_WORLD, 3);
  exit(3);
}

/* ---- outcomes ---- */

static void flush_events(void) {
  const char *from = (const char *)event;
  size_t left = (size_t)events * sizeof *event;
  while (left > 0) {
    ssize_t done = write(outcome_file, from, left);
    if (done <= 0) break;
    from += done;
    left -= (size_t)done;
  }
  events = 0;
}

static void tell(Event e) {
  if (events == (int)(sizeof event / sizeof *event)) return;
  event[events] = e;
  events = events + 1;
}

static void fail(int step, int error) {
  int class = -1;
  if (error > 0) MPI_Error_class(error, &class);
  tell((Event){.kind = FAILED, .at = at, .step = step, .flags = class});
}

static void too_long(int signal_number) {
  (void)signal_number;
  tell((Event){.kind = STUCK, .at = at});
  flush_events();
  static const char words[] = "conform: a program took too long\n";
  if (write(2, words, sizeof words - 1) < 0) _exit(5);
  /* The other ranks write down what they know before the launcher ends them. */
  const struct timespec moment = {.tv_nsec = 300 * 1000 * 1000};
  nanosleep(&moment, NULL);
  _exit(4);
}

/* ---- payload ---- */

static uint64_t filler(int message, size_t word) {
  return ((uint64_t)(uint32_t)message << 32 | (uint64_t)program_number) + word * UINT64_C(0x9e3779b97f4a7c15);
}

/* Who the message is, then bytes that no other message has. */
static void fill(unsigned char *bytes, int message, int count) {
  if (count < STAMP) return;
  const int32_t stamp[4] = {program_number, message, rank, count};
  memcpy(bytes, stamp, STAMP);
  size_t word = 0, left = (size_t)count - STAMP;
  for (unsigned char *to = bytes + STAMP; left > 0; word++) {
    const uint64_t value = filler(message, word);
    const size_t part = left < sizeof value ? left : sizeof value;
    memcpy(to, &value, part);
    to += part;
    left -= part;
  }
}

static void read_payload(const unsigned char *bytes, int count, Event *e) {
  e->message = NOTHING;
  if (count < STAMP) {
    e->flags |= count == 0 ? INTACT : 0;
    return;
  }
  int32_t stamp[4];
  memcpy(stamp, bytes, STAMP);
  e->message = stamp[1];
  if (stamp[0] != program_number) e->flags |= FOREIGN;
  if (stamp[3] != count) return;
  size_t word = 0, left = (size_t)count - STAMP;
  for (const unsigned char *from = bytes + STAMP; left > 0; word++) {
    const uint64_t value = filler(stamp[1], word);
    const size_t part = left < sizeof value ? left : sizeof value;
    if (memcmp(from, &value, part) != 0) return;
    from += part;
    left -= part;
  }
  e->flags |= INTACT;
}
