/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Performs trials of an MPI library and writes down what came of every call; judges nothing.
 *
 *   conform PROGRAMS DIRECTORY FIRST SECONDS
 *
 * performs the programs of the file PROGRAMS from number FIRST on; crates/conform/src/wire.rs has the form of that file
 * and of the outcomes, DIRECTORY/FIRST.RANK.out. They are on their way to the disk before the next program begins, so
 * that a crash can be blamed on a program. A program that takes longer than SECONDS ends the job; so does an error.
 * Exit status: 0 all programs performed, 3 bad input, 4 a program took too long.
 */
#include <mpi.h>

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { PROGRAMS_MAGIC = 0x4f43424d, OUTCOME_MAGIC = 0x554f424d, FORMAT = 1 };
enum { SEND = 1, SSEND, RECEIVE, RESTART, SENDRECV, PROBE, TAKE, CANCEL, COMPLETE, BARRIER, PAUSE };
enum { BLOCKING, NONBLOCKING, PERSISTENT };
enum { IS_PROBE, IS_IPROBE, IS_MPROBE, IS_IMPROBE };
enum { WAIT, WAITALL, WAITANY, WAITSOME, TEST, TESTALL, TESTANY, TESTSOME };
enum { HEADER = 1, BEGIN, END, RECEIVED, CANCELLED, SENT, FOUND, MISSED, DRAINED, STUCK, FAILED };
enum { ANY = -1, NO_PROCESS = -2, NOTHING = -1 };
enum { INTACT = 1, FOREIGN = 2 };
enum { COMMS = 4, LONGEST_PROGRAM = 1024, PAUSE_ROUNDS = 40, STAMP = 16, PROGRESS = 64 };

typedef struct {
  int code, id, comm, peer, tag, bytes, form, names;
  int name[];
} Op;

/* An outcome, as it is written. */
typedef struct {
  int kind, at, step, source, tag, count, message, flags;
} Event;

static int rank, ranks;
static MPI_Comm control, comm[COMMS];

/* Of the program that is performed. */
static int program_number, at, operations;
static const Op *operation[LONGEST_PROGRAM];

/* Of each operation of this rank: its request, and who it belongs to now. */
static MPI_Request request[LONGEST_PROGRAM];
static MPI_Message handle[LONGEST_PROGRAM];
static int is_active[LONGEST_PROGRAM], holds_message[LONGEST_PROGRAM], posted_as[LONGEST_PROGRAM];
static unsigned char *buffer[LONGEST_PROGRAM], *drain_buffer;
static int largest;
static int received;

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
    e->flags = count == 0 ? INTACT : 0;
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

static unsigned char *space(int op) {
  if (buffer[op] == NULL) buffer[op] = malloc((size_t)largest);
  if (buffer[op] == NULL) give_up("no memory", "buffers");
  return buffer[op];
}

/* ---- completions ---- */

static void set_status(Event *e, MPI_Status *status) {
  e->source = status->MPI_SOURCE == MPI_PROC_NULL ? NO_PROCESS : status->MPI_SOURCE;
  e->tag = status->MPI_TAG == MPI_ANY_TAG ? ANY : status->MPI_TAG;
  MPI_Get_count(status, MPI_BYTE, &e->count);
}

static void got(int kind, int step, MPI_Status *status, const unsigned char *bytes) {
  Event e = {.kind = kind, .at = at, .step = step};
  set_status(&e, status);
  if (e.source == NO_PROCESS) {
    e.message = NOTHING;
    e.flags = INTACT;
  } else {
    received++;
    read_payload(bytes, e.count, &e);
  }
  tell(e);
}

/* The request of `op` is complete. */
static void completed(int op, MPI_Status *status) {
  const int code = operation[op]->code;
  is_active[op] = 0;
  if (code == SEND || code == SSEND) {
    tell((Event){.kind = SENT, .at = at, .step = posted_as[op]});
    return;
  }
  int was_cancelled = 0;
  if (code == RECEIVE) MPI_Test_cancelled(status, &was_cancelled);
  if (was_cancelled) {
    tell((Event){.kind = CANCELLED, .at = at, .step = posted_as[op]});
  } else {
    got(RECEIVED, posted_as[op], status, buffer[op]);
  }
}

static void cancel(int op) {
  if (!is_active[op]) return;
  MPI_Status status;
  /* What is received from nobody is complete already. */
  int error = operation[op]->peer == NO_PROCESS ? MPI_SUCCESS : MPI_Cancel(&request[op]);
  if (error == MPI_SUCCESS) error = MPI_Wait(&request[op], &status);
  if (error != MPI_SUCCESS) {
    is_active[op] = 0;
    fail(posted_as[op], error);
  } else {
    completed(op, &status);
  }
}

/* One of MPI's eight calls for the requests of the operations `of`. */
static void complete(int call, const int *of, int count) {
  static MPI_Request asked[LONGEST_PROGRAM];
  static MPI_Status status[LONGEST_PROGRAM];
  static int index[LONGEST_PROGRAM];
  for (int i = 0; i < count; i++) asked[i] = request[of[i]];
  int flag = 1, found = 0, error;
  index[0] = MPI_UNDEFINED;
  switch (call) {
    case WAIT: error = MPI_Wait(asked, status); break;
    case TEST: error = MPI_Test(asked, &flag, status); break;
    case WAITALL: error = MPI_Waitall(count, asked, status); break;
    case TESTALL: error = MPI_Testall(count, asked, &flag, status); break;
    case WAITANY: error = MPI_Waitany(count, asked, index, status); break;
    case TESTANY: error = MPI_Testany(count, asked, index, &flag, status); break;
    case WAITSOME: error = MPI_Waitsome(count, asked, &found, index, status); break;
    default: error = MPI_Testsome(count, asked, &found, index, status); break;
  }
  for (int i = 0; i < count; i++) request[of[i]] = asked[i];
  if (error != MPI_SUCCESS) {
    fail(operation[at < operations ? at : 0]->id, error);
    return;
  }
  if (call == WAITANY || call == TESTANY) {
    found = flag && index[0] != MPI_UNDEFINED;
  } else if (call == WAITSOME || call == TESTSOME) {
    if (found == MPI_UNDEFINED) found = 0;
  } else {
    found = flag ? count : 0;
    for (int i = 0; i < found; i++) index[i] = i;
  }
  const int is_whole = call == WAIT || call == TEST || call == WAITALL || call == TESTALL;
  for (int i = 0; i < found; i++) {
    const int op = index[i] >= 0 && index[i] < count ? of[index[i]] : -1;
    if (op >= 0 && is_active[op]) {
      completed(op, &status[i]);
    } else if (!is_whole) {
      fail(operation[at < operations ? at : 0]->id, -1); /* an index that names no active request */
    }
  }
}

/* ---- operations ---- */

static int peer_of(const Op *op) {
  return op->peer == ANY ? MPI_ANY_SOURCE : op->peer == NO_PROCESS ? MPI_PROC_NULL : op->peer;
}

static int tag_of(int tag) { return tag == ANY ? MPI_ANY_TAG : tag; }

static void do_send(const Op *op) {
  unsigned char *bytes = space(at);
  const int to = peer_of(op), n = op->bytes, is_sync = op->code == SSEND;
  const MPI_Comm c = comm[op->comm];
  int error;
  fill(bytes, op->id, n);
  posted_as[at] = op->id;
  if (op->form == BLOCKING) {
    error = is_sync ? MPI_Ssend(bytes, n, MPI_BYTE, to, op->tag, c) : MPI_Send(bytes, n, MPI_BYTE, to, op->tag, c);
    if (error == MPI_SUCCESS) tell((Event){.kind = SENT, .at = at, .step = op->id});
  } else if (op->form == NONBLOCKING) {
    error = is_sync ? MPI_Issend(bytes, n, MPI_BYTE, to, op->tag, c, &request[at])
                    : MPI_Isend(bytes, n, MPI_BYTE, to, op->tag, c, &request[at]);
    is_active[at] = error == MPI_SUCCESS;
  } else {
    error = is_sync ? MPI_Ssend_init(bytes, n, MPI_BYTE, to, op->tag, c, &request[at])
                    : MPI_Send_init(bytes, n, MPI_BYTE, to, op->tag, c, &request[at]);
    if (error == MPI_SUCCESS) error = MPI_Start(&request[at]);
    is_active[at] = error == MPI_SUCCESS;
  }
  if (error != MPI_SUCCESS) fail(op->id, error);
}

static void do_receive(const Op *op) {
  unsigned char *bytes = space(at);
  const int from = peer_of(op), tag = tag_of(op->tag);
  const MPI_Comm c = comm[op->comm];
  MPI_Status status;
  int error;
  posted_as[at] = op->id;
  if (op->form == BLOCKING) {
    error = MPI_Recv(bytes, largest, MPI_BYTE, from, tag, c, &status);
    if (error == MPI_SUCCESS) got(RECEIVED, op->id, &status, bytes);
  } else if (op->form == NONBLOCKING) {
    error = MPI_Irecv(bytes, largest, MPI_BYTE, from, tag, c, &request[at]);
    is_active[at] = error == MPI_SUCCESS;
  } else {
    error = MPI_Recv_init(bytes, largest, MPI_BYTE, from, tag, c, &request[at]);
    if (error == MPI_SUCCESS) error = MPI_Start(&request[at]);
    is_active[at] = error == MPI_SUCCESS;
  }
  if (error != MPI_SUCCESS) fail(op->id, error);
}

static void do_sendrecv(const Op *op) {
  static unsigned char *sent;
  if (sent == NULL) sent = malloc((size_t)largest);
  if (sent == NULL) give_up("no memory", "buffers");
  unsigned char *bytes = space(at);
  const int source = op->name[1] == ANY ? MPI_ANY_SOURCE : op->name[1] == NO_PROCESS ? MPI_PROC_NULL : op->name[1];
  MPI_Status status;
  fill(sent, op->id, op->bytes);
  /* One communicator serves both halves. */
  const int error = MPI_Sendrecv(sent, op->bytes, MPI_BYTE, peer_of(op), op->tag, bytes, largest, MPI_BYTE, source,
                                 tag_of(op->name[2]), comm[op->comm], &status);
  if (error != MPI_SUCCESS) {
    fail(op->id, error);
    return;
  }
  tell((Event){.kind = SENT, .at = at, .step = op->id});
  got(RECEIVED, op->id, &status, bytes);
}

static void do_probe(const Op *op) {
  const int from = peer_of(op), tag = tag_of(op->tag);
  const MPI_Comm c = comm[op->comm];
  MPI_Status status;
  int flag = 1, error;
  switch (op->form) {
    case IS_PROBE: error = MPI_Probe(from, tag, c, &status); break;
    case IS_IPROBE: error = MPI_Iprobe(from, tag, c, &flag, &status); break;
    case IS_MPROBE: error = MPI_Mprobe(from, tag, c, &handle[at], &status); break;
    default: error = MPI_Improbe(from, tag, c, &flag, &handle[at], &status); break;
  }
  if (error != MPI_SUCCESS) {
    fail(op->id, error);
    return;
  }
  Event e = {.kind = flag ? FOUND : MISSED, .at = at, .step = op->id, .message = NOTHING};
  if (flag) {
    set_status(&e, &status);
    holds_message[at] = op->form == IS_MPROBE || op->form == IS_IMPROBE;
  }
  tell(e);
}

/* Receives what the matched probe `from` took, on behalf of operation `into` if that is one. */
static void take(int from, int into, int is_nonblocking) {
  if (!holds_message[from]) return;
  holds_message[from] = 0;
  const int op = into < operations ? into : from;
  const int step = operation[op]->id;
  unsigned char *bytes = space(op);
  MPI_Status status;
  int error;
  posted_as[op] = step;
  if (is_nonblocking) {
    error = MPI_Imrecv(bytes, largest, MPI_BYTE, &handle[from], &request[op]);
    is_active[op] = error == MPI_SUCCESS;
  } else {
    error = MPI_Mrecv(bytes, largest, MPI_BYTE, &handle[from], &status);
    if (error == MPI_SUCCESS) got(RECEIVED, step, &status, bytes);
  }
  if (error != MPI_SUCCESS) fail(step, error);
}

static void pause_a_little(void) {
  for (int i = 0; i < PAUSE_ROUNDS; i++) {
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, control, &flag, MPI_STATUS_IGNORE);
    sched_yield();
  }
}

static void perform(const Op *op) {
  switch (op->code) {
    case SEND:
    case SSEND: do_send(op); break;
    case RECEIVE: do_receive(op); break;
    case RESTART: {
      const int first = op->name[0];
      cancel(first);
      posted_as[first] = op->id;
      const int error = MPI_Start(&request[first]);
      is_active[first] = error == MPI_SUCCESS;
      if (error != MPI_SUCCESS) fail(op->id, error);
      break;
    }
    case SENDRECV: do_sendrecv(op); break;
    case PROBE: do_probe(op); break;
    case TAKE: take(op->name[0], at, op->form == NONBLOCKING); break;
    case CANCEL: cancel(op->name[0]); break;
    case COMPLETE: complete(op->form, op->name, op->names); break;
    case BARRIER: MPI_Barrier(control); break;
    case PAUSE: pause_a_little(); break;
    default: give_up("unknown operation", "programs");
  }
}

/* Receives every message that is still to come, then takes back what is posted. */
static void finish(int expected) {
  for (int op = 0; op < operations; op++) take(op, operations, 0);
  for (;;) {
    static int active[LONGEST_PROGRAM];
    int count = 0, sends = 0;
    for (int op = 0; op < operations; op++) {
      if (!is_active[op]) continue;
      active[count++] = op;
      sends += operation[op]->code == SEND || operation[op]->code == SSEND;
    }
    if (received >= expected && sends == 0) break;
    if (count > 0) complete(TESTSOME, active, count);
    int is_idle = 1;
    for (int i = 0; i < COMMS; i++) {
      MPI_Message message;
      MPI_Status status;
      int flag = 0;
      int error = MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm[i], &flag, &message, &status);
      if (error == MPI_SUCCESS && flag) {
        is_idle = 0;
        error = MPI_Mrecv(drain_buffer, largest, MPI_BYTE, &message, &status);
        if (error == MPI_SUCCESS) got(DRAINED, i, &status, drain_buffer);
      }
      if (error != MPI_SUCCESS) fail(0, error);
    }
    if (is_idle) sched_yield();
  }
  for (int op = 0; op < operations; op++) {
    cancel(op);
    if (request[op] != MPI_REQUEST_NULL) MPI_Request_free(&request[op]);
  }
}

static const int *perform_program(const int *word, int seconds) {
  const int *end = word + word[0];
  program_number = word[1];
  word += 2;
  for (int i = 0; i < rank; i++) word += 1 + word[0];
  const int expected = word[1];
  operations = word[2];
  if (operations > LONGEST_PROGRAM) give_up("a program is too long", "programs");
  word += 3;
  for (int i = 0; i < operations; i++) {
    operation[i] = (const Op *)word;
    word += 8 + operation[i]->names;
    request[i] = MPI_REQUEST_NULL;
    is_active[i] = holds_message[i] = 0;
  }
  received = 0;
  at = 0;
  const struct itimerval limit = {.it_value.tv_sec = seconds};
  setitimer(ITIMER_REAL, &limit, NULL);
  tell((Event){.kind = BEGIN, .at = program_number});
  flush_events();
  for (; at < operations; at++) perform(operation[at]);
  finish(expected);
  MPI_Barrier(control);
  tell((Event){.kind = END, .at = program_number});
  flush_events();
  return end;
}

/* ---- start ---- */

static int *read_file(const char *name, size_t *words) {
  FILE *file = fopen(name, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) give_up("cannot be read", name);
  const long size = ftell(file);
  int *all = malloc(size > 0 ? (size_t)size : 1);
  rewind(file);
  if (size < 0 || all == NULL || fread(all, 1, (size_t)size, file) != (size_t)size) give_up("cannot be read", name);
  fclose(file);
  *words = (size_t)size / sizeof *all;
  return all;
}

static void write_library(const char *directory) {
  char name[4096], version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  snprintf(name, sizeof name, "%s/library.txt", directory);
  MPI_Get_library_version(version, &length);
  FILE *file = fopen(name, "w");
  if (file == NULL) give_up("cannot be written", name);
  fprintf(file, "%s\n", version);
  fclose(file);
}

static void make_communicators(void) {
  MPI_Comm_dup(MPI_COMM_WORLD, &control);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm[0]);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm[1]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm[2]);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm[3]);
  for (int i = 0; i < COMMS; i++) MPI_Comm_set_errhandler(comm[i], MPI_ERRORS_RETURN);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 5) give_up("expected PROGRAMS DIRECTORY FIRST SECONDS", "arguments");
  const char *directory = argv[2];
  const int first = atoi(argv[3]), seconds = atoi(argv[4]);
  size_t words;
  int *all = read_file(argv[1], &words);
  if (words < 5 || all[0] != PROGRAMS_MAGIC || all[1] != FORMAT) give_up("not a file of programs", argv[1]);
  if (all[2] != ranks) {
    if (rank == 0) fprintf(stderr, "conform: the programs are for %d ranks, and the launcher started %d\n", all[2], ranks);
    MPI_Finalize();
    return 3;
  }
  const int programs = all[3];
  largest = all[4];
  drain_buffer = malloc((size_t)largest);
  if (drain_buffer == NULL) give_up("no memory", "buffers");
  char name[4096];
  snprintf(name, sizeof name, "%s/%d.%d.out", directory, first, rank);
  outcome_file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (outcome_file < 0) give_up("cannot be written", name);
  if (rank == 0) write_library(directory);
  make_communicators();
  signal(SIGALRM, too_long);
  tell((Event){.kind = HEADER, .at = OUTCOME_MAGIC, .step = FORMAT, .source = rank, .tag = ranks});
  const int *word = all + 5;
  for (int i = 0; i < programs; i++) {
    word = i < first ? word + word[0] : perform_program(word, seconds);
    if (rank == 0 && (i % PROGRESS == 0 || i + 1 == programs)) {
      printf("@matchbench-conform %d\n", i + 1);
      fflush(stdout);
    }
  }
  const struct itimerval none = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &none, NULL);
  MPI_Finalize();
  return 0;
}
