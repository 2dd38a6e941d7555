/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Performs trials of an MPI library and writes down what came of every call; judges nothing.
 *
 *   conform PROGRAMS DIRECTORY FIRST SECONDS
 *
 * performs the programs of the file PROGRAMS from number FIRST on; conform/src/wire.rs has the form of that file
 * and of the outcomes, DIRECTORY/FIRST.RANK.out. They are on their way to the disk before the next program begins, so
 * that a crash can be blamed on a program. A program that takes longer than SECONDS ends the job; so does an error.
 * Exit status: 0 all programs performed, 3 bad input, 4 a program took too long.
 */
#include "outcomes.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/time.h>

enum { PROGRAMS_MAGIC = 0x4f43424d };
enum { SEND = 1, SSEND, RSEND, BSEND, RECEIVE, RESTART, SENDRECV, PROBE, TAKE, CANCEL, COMPLETE, BARRIER, PAUSE };
enum { BLOCKING, NONBLOCKING, PERSISTENT, TOGETHER };
enum { IS_PROBE, IS_IPROBE, IS_MPROBE, IS_IMPROBE };
enum { WAIT, WAITALL, WAITANY, WAITSOME, TEST, TESTALL, TESTANY, TESTSOME };
enum { COMMS = 5, PAUSE_ROUNDS = 40, PROGRESS = 64 };
/* Bytes behind the room of a short receive, and what is in them. */
enum { GUARD = 64, GUARD_BYTE = 0xa5 };

typedef struct {
  int code, id, comm, peer, tag, bytes, form, names;
  int name[];
} Op;

static MPI_Comm control, comm[COMMS];

static int operations;
static const Op *operation[LONGEST_PROGRAM];

/* Of each operation of this rank: its request, and who it belongs to now. */
static MPI_Request request[LONGEST_PROGRAM];
static MPI_Message handle[LONGEST_PROGRAM];
static int is_active[LONGEST_PROGRAM], holds_message[LONGEST_PROGRAM], posted_as[LONGEST_PROGRAM];
static unsigned char *buffer[LONGEST_PROGRAM], *drain_buffer;
static int largest;
static int received;
/* Requests that the next operation of another form starts. */
static int together[LONGEST_PROGRAM], together_count;
/* What MPI_Bsend and the like keep. */
static void *kept;

static unsigned char *space(int op) {
  if (buffer[op] == NULL) buffer[op] = malloc((size_t)largest + GUARD);
  if (buffer[op] == NULL) give_up("no memory", "buffers");
  return buffer[op];
}

static int is_send(const Op *op) { return op->code >= SEND && op->code <= BSEND; }

static int room_of(const Op *op) { return op->bytes > 0 ? op->bytes : largest; }

/* The buffer of a receive that is posted now. */
static unsigned char *room_for(int op) {
  unsigned char *bytes = space(op);
  if (operation[op]->bytes > 0) memset(bytes + operation[op]->bytes, GUARD_BYTE, GUARD);
  return bytes;
}

/* OVERRUN if the short receive of `op` wrote behind its room. */
static int overrun(int op) {
  if (operation[op]->code != RECEIVE || operation[op]->bytes == 0) return 0;
  for (int i = 0; i < GUARD; i++) {
    if (buffer[op][operation[op]->bytes + i] != GUARD_BYTE) return OVERRUN;
  }
  return 0;
}

/* ---- completions ---- */

static void set_status(Event *e, MPI_Status *status) {
  e->source = status->MPI_SOURCE == MPI_PROC_NULL ? NO_PROCESS : status->MPI_SOURCE;
  e->tag = status->MPI_TAG == MPI_ANY_TAG ? ANY : status->MPI_TAG;
  MPI_Get_count(status, MPI_BYTE, &e->count);
}

static void got(int kind, int step, MPI_Status *status, const unsigned char *bytes, int flags) {
  Event e = {.kind = kind, .at = at, .step = step, .flags = flags};
  set_status(&e, status);
  if (e.source == NO_PROCESS) {
    e.message = NOTHING;
    e.flags = INTACT;
  } else {
    received++;
    read_payload(bytes, e.count < largest ? e.count : largest, &e);
  }
  tell(e);
}

/* A receive whose message did not fit: it has taken it all the same. */
static void truncated(int op, int step, MPI_Status *status) {
  Event e = {.kind = TRUNCATED, .at = at, .step = step, .message = NOTHING};
  received++;
  set_status(&e, status);
  e.flags = overrun(op);
  tell(e);
}

static int is_truncation(int error) {
  int class = MPI_SUCCESS;
  if (error != MPI_SUCCESS) MPI_Error_class(error, &class);
  return class == MPI_ERR_TRUNCATE;
}

/* The request of `op` is complete. */
static void completed(int op, MPI_Status *status, int error) {
  is_active[op] = 0;
  if (operation[op]->code == RECEIVE && is_truncation(error)) {
    truncated(op, posted_as[op], status);
    return;
  }
  if (error != MPI_SUCCESS) {
    fail(posted_as[op], error);
    return;
  }
  if (is_send(operation[op])) {
    tell((Event){.kind = SENT, .at = at, .step = posted_as[op]});
    return;
  }
  int was_cancelled = 0;
  if (operation[op]->code == RECEIVE) MPI_Test_cancelled(status, &was_cancelled);
  if (was_cancelled) {
    tell((Event){.kind = CANCELLED, .at = at, .step = posted_as[op]});
  } else {
    got(RECEIVED, posted_as[op], status, buffer[op], overrun(op));
  }
}

static void cancel(int op) {
  if (!is_active[op]) return;
  MPI_Status status;
  /* What is received from nobody is complete already. */
  int error = operation[op]->peer == NO_PROCESS ? MPI_SUCCESS : MPI_Cancel(&request[op]);
  if (error == MPI_SUCCESS) error = MPI_Wait(&request[op], &status);
  completed(op, &status, error);
}

/* One of MPI's eight calls for the requests of the operations `of`. */
static void complete(int call, const int *of, int count) {
  static MPI_Request asked[LONGEST_PROGRAM];
  static MPI_Status status[LONGEST_PROGRAM];
  static int index[LONGEST_PROGRAM];
  for (int i = 0; i < count; i++) asked[i] = request[of[i]];
  int flag = 1, found = 0, error, class = MPI_SUCCESS;
  index[0] = MPI_UNDEFINED;
  for (int i = 0; i < count; i++) status[i].MPI_ERROR = MPI_SUCCESS;
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
  if (error != MPI_SUCCESS) MPI_Error_class(error, &class);
  /* An error of one request is that of the call, or is in its status; the request is complete. */
  const int is_in_status = class == MPI_ERR_IN_STATUS;
  if (error != MPI_SUCCESS && !is_in_status && class != MPI_ERR_TRUNCATE) {
    fail(operation[at < operations ? at : 0]->id, error);
    return;
  }
  if (call == WAITANY || call == TESTANY) {
    found = (flag || error != MPI_SUCCESS) && index[0] != MPI_UNDEFINED;
  } else if (call == WAITSOME || call == TESTSOME) {
    if (found == MPI_UNDEFINED) found = 0;
  } else {
    found = flag || error != MPI_SUCCESS ? count : 0;
    for (int i = 0; i < found; i++) index[i] = i;
  }
  const int is_whole = call == WAIT || call == TEST || call == WAITALL || call == TESTALL;
  for (int i = 0; i < found; i++) {
    const int op = index[i] >= 0 && index[i] < count ? of[index[i]] : -1;
    const int its_error = is_in_status ? status[i].MPI_ERROR : error;
    if (is_in_status && its_error != MPI_SUCCESS) {
      MPI_Error_class(its_error, &class);
      if (class == MPI_ERR_PENDING) continue;
    }
    if (op >= 0 && is_active[op]) {
      completed(op, &status[i], its_error);
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

/* Each mode has three calls with the same arguments. */
static const struct {
  int (*blocking)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
  int (*nonblocking)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
  int (*persistent)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
} send_calls[] = {
    [SEND] = {MPI_Send, MPI_Isend, MPI_Send_init},
    [SSEND] = {MPI_Ssend, MPI_Issend, MPI_Ssend_init},
    [RSEND] = {MPI_Rsend, MPI_Irsend, MPI_Rsend_init},
    [BSEND] = {MPI_Bsend, MPI_Ibsend, MPI_Bsend_init},
};

/* Starts the persistent request of this operation, or leaves it to MPI_Startall. */
static int start(const Op *op) {
  if (op->form == TOGETHER) {
    together[together_count++] = at;
    return MPI_SUCCESS;
  }
  const int error = MPI_Start(&request[at]);
  is_active[at] = error == MPI_SUCCESS;
  return error;
}

static void start_together(void) {
  static MPI_Request list[LONGEST_PROGRAM];
  if (together_count == 0) return;
  for (int i = 0; i < together_count; i++) list[i] = request[together[i]];
  const int error = MPI_Startall(together_count, list);
  if (error != MPI_SUCCESS) fail(posted_as[together[0]], error);
  for (int i = 0; i < together_count; i++) {
    request[together[i]] = list[i];
    is_active[together[i]] = error == MPI_SUCCESS;
  }
  together_count = 0;
}

static void do_send(const Op *op) {
  unsigned char *bytes = space(at);
  const int to = peer_of(op), n = op->bytes;
  const MPI_Comm c = comm[op->comm];
  int error;
  fill(bytes, op->id, n);
  posted_as[at] = op->id;
  if (op->form == BLOCKING) {
    error = send_calls[op->code].blocking(bytes, n, MPI_BYTE, to, op->tag, c);
    if (error == MPI_SUCCESS) tell((Event){.kind = SENT, .at = at, .step = op->id});
  } else if (op->form == NONBLOCKING) {
    error = send_calls[op->code].nonblocking(bytes, n, MPI_BYTE, to, op->tag, c, &request[at]);
    is_active[at] = error == MPI_SUCCESS;
  } else {
    error = send_calls[op->code].persistent(bytes, n, MPI_BYTE, to, op->tag, c, &request[at]);
    if (error == MPI_SUCCESS) error = start(op);
  }
  if (error != MPI_SUCCESS) fail(op->id, error);
}

static void do_receive(const Op *op) {
  unsigned char *bytes = room_for(at);
  const int from = peer_of(op), tag = tag_of(op->tag), room = room_of(op);
  const MPI_Comm c = comm[op->comm];
  MPI_Status status;
  int error;
  posted_as[at] = op->id;
  if (op->form == BLOCKING) {
    error = MPI_Recv(bytes, room, MPI_BYTE, from, tag, c, &status);
    completed(at, &status, error);
    return;
  }
  if (op->form == NONBLOCKING) {
    error = MPI_Irecv(bytes, room, MPI_BYTE, from, tag, c, &request[at]);
    is_active[at] = error == MPI_SUCCESS;
  } else {
    error = MPI_Recv_init(bytes, room, MPI_BYTE, from, tag, c, &request[at]);
    if (error == MPI_SUCCESS) error = start(op);
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
  got(RECEIVED, op->id, &status, bytes, 0);
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
    if (error == MPI_SUCCESS) got(RECEIVED, step, &status, bytes, 0);
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
  if (op->code > RECEIVE || op->form != TOGETHER) start_together();
  switch (op->code) {
    case SEND:
    case SSEND:
    case RSEND:
    case BSEND: do_send(op); break;
    case RECEIVE: do_receive(op); break;
    case RESTART: {
      const int first = op->name[0];
      cancel(first);
      posted_as[first] = op->id;
      room_for(first);
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
  start_together();
  for (int op = 0; op < operations; op++) take(op, operations, 0);
  for (;;) {
    static int active[LONGEST_PROGRAM];
    int count = 0, sends = 0;
    for (int op = 0; op < operations; op++) {
      if (!is_active[op]) continue;
      active[count++] = op;
      sends += is_send(operation[op]);
    }
    if (received >= expected && sends == 0) break;
    if (count > 0) complete(TESTSOME, active, count);
    int is_idle = 1;
    for (int i = 0; i < COMMS; i++) {
      if (comm[i] == MPI_COMM_NULL) continue;
      MPI_Message message;
      MPI_Status status;
      int flag = 0;
      int error = MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm[i], &flag, &message, &status);
      if (error == MPI_SUCCESS && flag) {
        is_idle = 0;
        error = MPI_Mrecv(drain_buffer, largest, MPI_BYTE, &message, &status);
        if (error == MPI_SUCCESS) got(DRAINED, i, &status, drain_buffer, 0);
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

/* Room for what this rank's buffered sends keep. */
static void attach(void) {
  long room = 0;
  for (int op = 0; op < operations; op++) {
    /* Libraries align what they keep. */
    if (operation[op]->code == BSEND) room += operation[op]->bytes + MPI_BSEND_OVERHEAD + 64;
  }
  if (room == 0) return;
  kept = malloc((size_t)room);
  if (kept == NULL || MPI_Buffer_attach(kept, (int)room) != MPI_SUCCESS) give_up("no buffer", "buffered sends");
}

static void detach(void) {
  if (kept == NULL) return;
  int room;
  void *address;
  MPI_Buffer_detach(&address, &room);
  free(kept);
  kept = NULL;
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
  received = together_count = 0;
  at = 0;
  const struct itimerval limit = {.it_value.tv_sec = seconds};
  setitimer(ITIMER_REAL, &limit, NULL);
  tell((Event){.kind = BEGIN, .at = program_number});
  flush_events();
  attach();
  for (; at < operations; at++) perform(operation[at]);
  finish(expected);
  MPI_Barrier(control);
  detach();
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
  comm[4] = MPI_COMM_NULL;
  if (ranks > 1) MPI_Intercomm_create(comm[3], 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &comm[4]);
  for (int i = 0; i < COMMS; i++) {
    if (comm[i] != MPI_COMM_NULL) MPI_Comm_set_errhandler(comm[i], MPI_ERRORS_RETURN);
  }
  /* Calls for several requests have the error handler of one of these. */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
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
