/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Runs test programs on an MPI library and writes their outcomes, without judging them.
 *
 *   conform PROGRAMS DIRECTORY FIRST LIMIT_OF_FIRST LIMIT [MOST_SLICES]
 *   conform lacks
 *
 * performs the programs of the file PROGRAMS from index FIRST on and writes DIRECTORY/FIRST.RANK.out;
 * mpi/conform/src/wire.rs describes both formats. The outcomes of a program are written before the next program
 * begins, so that a crash can be attributed to a program. A program that takes longer than its limit ends the job;
 * both limits are in milliseconds, the first one is that of program FIRST. Time in which the process was stopped
 * (SIGSTOP, a frozen control group) counts as at most a slice of the limit, and so does time in which it waited for a
 * processor, until MOST_SLICES eighths of the limit have passed. Rank 0 prints lines of progress: the programs
 * performed, and the longest time that one of them took, in microseconds. DIRECTORY/stack.txt describes the MPI
 * (stack.h).
 * Why a rank ended the job is in DIRECTORY/reason.RANK.txt.
 * `conform lacks` names what the library lacks in one line of marked output.
 * Exit status: 0 all programs performed, 3 bad input or no memory or disk, 4 a program exceeded its time limit.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "interpreter.h"
#include "stack.h"

/* Least time between two lines of progress. */
enum { PROGRESS_US = 200 * 1000 };

/* The timer expires so many times before a program has exceeded its limit: while the process is stopped it expires
 * once. A slice in which the process waited for a processor for more than half of the time is repeated; there are at
 * most `most_slices` in all. */
enum { SLICES = 8, MOST_SLICES = 80 };
static int most_slices = MOST_SLICES;

/* Records not yet written. The count is increased last: a signal may write them at any moment of a program. */
static OutcomeRecord pending[4 * MAX_STEPS];
static volatile sig_atomic_t pending_count;
static int outcome_file;
static pthread_t main_thread;
/* Slices of the program that is being performed; 0 between programs. */
static volatile sig_atomic_t slices_left, most_slices_left;
static long long slice_us, waited_us;

static void flush_records(void) {
  const char *from = (const char *)pending;
  size_t left = (size_t)pending_count * sizeof *pending;
  while (left > 0) {
    ssize_t done = write(outcome_file, from, left);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      /* A record that is lost would be taken for a violation. */
      say_why("cannot be written", "outcomes");
      _exit(3);
    }
    from += done;
    left -= (size_t)done;
  }
  pending_count = 0;
}

void observe(OutcomeRecord record) {
  if (pending_count == (int)(sizeof pending / sizeof *pending)) return;
  pending[pending_count] = record;
  pending_count = pending_count + 1;
}

/* Time for which this thread has waited for a processor; 0 if the system does not say. For a signal handler. */
static long long waited_for_processor_us(void) {
  const int error = errno;
  char text[96];
  const int file = open("/proc/self/schedstat", O_RDONLY);
  const ssize_t length = file < 0 ? 0 : read(file, text, sizeof text);
  if (file >= 0) close(file);
  errno = error;
  ssize_t at = 0;
  while (at < length && text[at] != ' ') at++;
  long long nanoseconds = 0;
  for (at++; at < length && text[at] >= '0' && text[at] <= '9'; at++) nanoseconds = 10 * nanoseconds + (text[at] - '0');
  return nanoseconds / 1000;
}

static void slice_expired(int signal_number) {
  /* Threads of the MPI library may be given the signal. */
  if (!pthread_equal(pthread_self(), main_thread)) {
    pthread_kill(main_thread, signal_number);
    return;
  }
  if (slices_left == 0) return;
  const long long waited_before_us = waited_us;
  waited_us = waited_for_processor_us();
  most_slices_left--;
  if (most_slices_left > 0 && waited_us - waited_before_us > slice_us / 2) return;
  slices_left--;
  if (most_slices_left > 0 && slices_left > 0) return;
  observe((OutcomeRecord){.kind = RECORD_STUCK, .at = unfinished_operation()});
  flush_records();
  static const char words[] = "conform: a program exceeded its time limit\n";
  if (write(2, words, sizeof words - 1) < 0) _exit(5);
  /* Gives the other ranks time to write their records before the launcher kills them. */
  const struct timespec moment = {.tv_nsec = 300 * 1000 * 1000};
  nanosleep(&moment, NULL);
  _exit(4);
}

static long long now_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000LL + now.tv_nsec / 1000;
}

static void tell_progress(int performed, long long longest_us) {
  printf("@matchbench-conform %d %lld\n", performed, longest_us);
  fflush(stdout);
}

static void run_program(const ProgramHeader *program, int milliseconds) {
  const RankHeader *part = (const RankHeader *)(program + 1);
  for (int i = 0; i < rank; i++) part = (const RankHeader *)((const int *)part + 1 + part->words);
  slice_us = milliseconds * 1000LL / SLICES;
  const struct timeval slice = {.tv_sec = slice_us / 1000000, .tv_usec = slice_us % 1000000};
  const struct itimerval limit = {.it_value = slice, .it_interval = slice}, none = {{0, 0}, {0, 0}};
  observe((OutcomeRecord){.kind = RECORD_BEGIN, .at = program->index});
  flush_records();
  most_slices_left = most_slices;
  slices_left = SLICES;
  setitimer(ITIMER_REAL, &limit, NULL);
  perform_program(part, program->index);
  setitimer(ITIMER_REAL, &none, NULL);
  slices_left = 0;
  observe((OutcomeRecord){.kind = RECORD_END, .at = program->index});
  flush_records();
}

static void *read_file(const char *name, size_t *bytes) {
  FILE *file = fopen(name, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) give_up("cannot be read", name);
  const long size = ftell(file);
  void *all = malloc(size > 0 ? (size_t)size : 1);
  rewind(file);
  if (size < 0 || all == NULL || fread(all, 1, (size_t)size, file) != (size_t)size) give_up("cannot be read", name);
  fclose(file);
  *bytes = (size_t)size;
  return all;
}

/* What the programs of a file need; 0 if it is not a program file. */
static int needs_of(const char *name) {
  FileHeader header = {0};
  FILE *file = fopen(name, "rb");
  if (file == NULL) return 0;
  if (fread(&header, sizeof header, 1, file) != 1 || header.magic != PROGRAMS_MAGIC) header.needs = 0;
  fclose(file);
  return header.needs;
}

static int print_lacks(int *argc, char ***argv) {
  const int lacks = start_mpi(argc, argv, (1 << NEEDS) - 1);
  if (rank == 0) {
    printf("@matchbench-conform lacks");
    for (int i = 0; i < NEEDS; i++) {
      if (lacks >> i & 1) printf(" %s", need_name[i]);
    }
    printf("\n");
    fflush(stdout);
  }
  MPI_Finalize();
  return 0;
}

int main(int argc, char **argv) {
  if (argc == 2 && strcmp(argv[1], "lacks") == 0) return print_lacks(&argc, &argv);
  const int needs = argc == 6 || argc == 7 ? needs_of(argv[1]) : 0;
  const int lacks = start_mpi(&argc, &argv, needs);
  if (argc != 6 && argc != 7) {
    give_up("expected PROGRAMS DIRECTORY FIRST LIMIT_OF_FIRST LIMIT [MOST_SLICES]", "arguments");
  }
  for (int i = 0; i < NEEDS; i++) {
    if (lacks >> i & 1) give_up("the programs need it, and the MPI library lacks it", need_name[i]);
  }
  const char *directory = argv[2];
  snprintf(reason_file, sizeof reason_file, "%s/reason.%d.txt", directory, rank);
  const int first = atoi(argv[3]), limit_of_first = atoi(argv[4]), limit = atoi(argv[5]);
  if (argc == 7) most_slices = atoi(argv[6]);
  size_t bytes;
  const FileHeader *header = read_file(argv[1], &bytes);
  if (bytes < sizeof *header || header->magic != PROGRAMS_MAGIC || header->format != FORMAT) {
    give_up("found another kind of file, expected a program file of this version", argv[1]);
  }
  if (header->needs != needs) give_up("was read differently twice", argv[1]);
  if (header->ranks != ranks) {
    if (rank == 0) {
      fprintf(stderr, "conform: the programs are for %d ranks, and the launcher started %d\n", header->ranks, ranks);
    }
    MPI_Finalize();
    return 3;
  }
  char name[4096];
  snprintf(name, sizeof name, "%s/%d.%d.out", directory, first, rank);
  outcome_file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (outcome_file < 0) give_up("cannot be written", name);
  write_stack(directory);
  interpreter_init(header->longest_message, header->needs);
  main_thread = pthread_self();
  waited_us = waited_for_processor_us();
  signal(SIGALRM, slice_expired);
  observe((OutcomeRecord){.kind = RECORD_HEADER, .at = OUTCOME_MAGIC, .step = FORMAT, .source = rank, .tag = ranks});
  const ProgramHeader *program = (const ProgramHeader *)(header + 1);
  long long longest_us = 0, told_us = now_us();
  if (rank == 0) tell_progress(first, 0);
  for (int i = 0; i < header->programs; i++) {
    const long long start_us = now_us();
    const int milliseconds = i == first ? limit_of_first : limit;
    if (i >= first) run_program(program, milliseconds);
    program = (const ProgramHeader *)((const int *)program + program->words);
    const long long end_us = now_us(), took_us = end_us - start_us;
    /* A longer one was stopped meanwhile. */
    if (took_us > longest_us && took_us <= milliseconds * 1000LL) longest_us = took_us;
    if (rank == 0 && (end_us - told_us > PROGRESS_US || i + 1 == header->programs)) {
      tell_progress(i + 1, longest_us);
      told_us = end_us;
    }
  }
  interpreter_end();
  MPI_Finalize();
  return 0;
}
