/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpreter.h"
#include "payload.h"

enum { PAUSE_ROUNDS = 40 };
/* Bytes behind a short buffer, and their value before the receive. */
enum { GUARD = 64, GUARD_BYTE = 0xa5 };

int rank, ranks;
MPI_Comm control;
int operation_count, current;
const Operation *operation[MAX_STEPS];

static MPI_Comm comm[COMMS];
static int longest, program_number;

/* State of each operation of this rank. `posted_as` is the step that started the request last. */
static MPI_Request request[MAX_STEPS];
static MPI_Message handle[MAX_STEPS];
static int is_active[MAX_STEPS], holds_message[MAX_STEPS], posted_as[MAX_STEPS];
static unsigned char *buffer[MAX_STEPS], *drain_buffer, *sendrecv_buffer;
static int received;
/* Operations whose requests the next MPI_Startall starts. */
static int together[MAX_STEPS], together_count;
/* The buffer of MPI_Bsend and its variants. */
static void *bsend_buffer;

void give_up(const char *what, const char *where) {
  fprintf(stderr, "conform: rank %d: %s: %s\n", rank, where, what);
  MPI_Abort(MPI_COMM_WORLD, 3);
  exit(3);
}

static unsigned char *allocate(size_t bytes) {
  unsigned char *memory = malloc(bytes);
  if (memory == NULL) give_up("out of memory", "message buffers");
  return memory;
}

static unsigned char *buffer_of(int op) {
  if (buffer[op] == NULL) buffer[op] = allocate((size_t)longest + GUARD);
  return buffer[op];
}

/* The buffer of a receive that is about to be posted. */
static unsigned char *guarded_buffer(int op) {
  unsigned char *bytes = buffer_of(op);
  if (operation[op]->bytes > 0) memset(bytes + operation[op]->bytes, GUARD_BYTE, GUARD);
  return bytes;
}

/* OVERRUN if the receive of `op` wrote past the end of its short buffer. */
static int overrun(int op) {
  if (operation[op]->code != OP_RECEIVE || operation[op]->bytes == 0) return 0;
  for (int i = 0; i < GUARD; i++) {
    if (buffer[op][operation[op]->bytes + i] != GUARD_BYTE) return OVERRUN;
  }
  return 0;
}

static int is_send(const Operation *op) { return op->code >= OP_SEND && op->code <= OP_BSEND; }

static int mpi_source(int peer) { return peer == ANY ? MPI_ANY_SOURCE : peer == NO_PROCESS ? MPI_PROC_NULL : peer; }

static int mpi_tag(int tag) { return tag == ANY ? MPI_ANY_TAG : tag; }

/* ---- records ---- */

static void report(int kind, int step) { observe((OutcomeRecord){.kind = kind, .at = current, .step = step}); }

static void report_error(int step, int error) {
  int class = INACTIVE_REQUEST;
  if (error > 0) MPI_Error_class(error, &class);
  observe((OutcomeRecord){.kind = RECORD_FAILED, .at = current, .step = step, .flags = class});
}

static void set_status(OutcomeRecord *record, const MPI_Status *status) {
  record->source = status->MPI_SOURCE == MPI_PROC_NULL ? NO_PROCESS : status->MPI_SOURCE;
  record->tag = status->MPI_TAG == MPI_ANY_TAG ? ANY : status->MPI_TAG;
  MPI_Get_count(status, MPI_BYTE, &record->count);
}

static void report_received(int kind, int step, const MPI_Status *status, const unsigned char *bytes, int flags) {
  OutcomeRecord record = {.kind = kind, .at = current, .step = step, .flags = flags};
  set_status(&record, status);
  if (record.source == NO_PROCESS) {
    record.message = NO_MESSAGE;
    record.flags = INTACT;
  } else {
    received++;
    check_payload(bytes, record.count < longest ? record.count : longest, program_number, &record);
  }
  observe(record);
}

/* A truncated message was matched nevertheless. */
static void report_truncated(int op, int step, const MPI_Status *status) {
  OutcomeRecord record = {.kind = RECORD_TRUNCATED, .at = current, .step = step, .message = NO_MESSAGE};
  received++;
  set_status(&record, status);
  record.flags = overrun(op);
  observe(record);
}

/* ---- completion ---- */

static int is_truncation(int error) {
  int class = MPI_SUCCESS;
  if (error != MPI_SUCCESS) MPI_Error_class(error, &class);
  return class == MPI_ERR_TRUNCATE;
}

/* The request of `op` is complete. */
static void request_completed(int op, MPI_Status *status, int error) {
  is_active[op] = 0;
  if (operation[op]->code == OP_RECEIVE && is_truncation(error)) {
    report_truncated(op, posted_as[op], status);
    return;
  }
  if (error != MPI_SUCCESS) {
    report_error(posted_as[op], error);
    return;
  }
  if (is_send(operation[op])) {
    report(RECORD_SENT, posted_as[op]);
    return;
  }
  int was_cancelled = 0;
  if (operation[op]->code == OP_RECEIVE) MPI_Test_cancelled(status, &was_cancelled);
  if (was_cancelled) {
    report(RECORD_CANCELLED, posted_as[op]);
  } else {
    report_received(RECORD_RECEIVED, posted_as[op], status, buffer[op], overrun(op));
  }
}

static void cancel_request(int op) {
  if (!is_active[op]) return;
  MPI_Status status;
  /* A receive from MPI_PROC_NULL is already complete. */
  int error = operation[op]->peer == NO_PROCESS ? MPI_SUCCESS : MPI_Cancel(&request[op]);
  if (error == MPI_SUCCESS) error = MPI_Wait(&request[op], &status);
  request_completed(op, &status, error);
}

static int current_step(void) { return operation[current < operation_count ? current : 0]->step; }

/* One of the eight completion calls on the requests of the operations `of`. */
static void complete_requests(int call, const int *of, int count) {
  static MPI_Request list[MAX_STEPS];
  static MPI_Status status[MAX_STEPS];
  static int index[MAX_STEPS];
  for (int i = 0; i < count; i++) list[i] = request[of[i]];
  int flag = 1, found = 0, error, class = MPI_SUCCESS;
  index[0] = MPI_UNDEFINED;
  for (int i = 0; i < count; i++) status[i].MPI_ERROR = MPI_SUCCESS;
  switch (call) {
    case CALL_WAIT: error = MPI_Wait(list, status); break;
    case CALL_TEST: error = MPI_Test(list, &flag, status); break;
    case CALL_WAITALL: error = MPI_Waitall(count, list, status); break;
    case CALL_TESTALL: error = MPI_Testall(count, list, &flag, status); break;
    case CALL_WAITANY: error = MPI_Waitany(count, list, index, status); break;
    case CALL_TESTANY: error = MPI_Testany(count, list, index, &flag, status); break;
    case CALL_WAITSOME: error = MPI_Waitsome(count, list, &found, index, status); break;
    default: error = MPI_Testsome(count, list, &found, index, status); break;
  }
  for (int i = 0; i < count; i++) request[of[i]] = list[i];
  if (error != MPI_SUCCESS) MPI_Error_class(error, &class);
  /* The error of a single request is returned by the call or is in its status; the request is complete. */
  const int is_in_status = class == MPI_ERR_IN_STATUS;
  if (error != MPI_SUCCESS && !is_in_status && class != MPI_ERR_TRUNCATE) {
    report_error(current_step(), error);
    return;
  }
  if (call == CALL_WAITANY || call == CALL_TESTANY) {
    found = (flag || error != MPI_SUCCESS) && index[0] != MPI_UNDEFINED;
  } else if (call == CALL_WAITSOME || call == CALL_TESTSOME) {
    if (found == MPI_UNDEFINED) found = 0;
  } else {
    found = flag || error != MPI_SUCCESS ? count : 0;
    for (int i = 0; i < found; i++) index[i] = i;
  }
  const int is_all = call == CALL_WAIT || call == CALL_TEST || call == CALL_WAITALL || call == CALL_TESTALL;
  for (int i = 0; i < found; i++) {
    const int op = index[i] >= 0 && index[i] < count ? of[index[i]] : -1;
    const int request_error = is_in_status ? status[i].MPI_ERROR : error;
    if (is_in_status && request_error != MPI_SUCCESS) {
      MPI_Error_class(request_error, &class);
      if (class == MPI_ERR_PENDING) continue;
    }
    if (op >= 0 && is_active[op]) {
      request_completed(op, &status[i], request_error);
    } else if (!is_all) {
      report_error(current_step(), INACTIVE_REQUEST);
    }
  }
}

/* ---- operations ---- */

/* The three calls of each send mode have the same arguments. */
static const struct {
  int (*blocking)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
  int (*nonblocking)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
  int (*persistent)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
} send_calls[] = {
    [OP_SEND] = {MPI_Send, MPI_Isend, MPI_Send_init},
    [OP_SSEND] = {MPI_Ssend, MPI_Issend, MPI_Ssend_init},
    [OP_RSEND] = {MPI_Rsend, MPI_Irsend, MPI_Rsend_init},
    [OP_BSEND] = {MPI_Bsend, MPI_Ibsend, MPI_Bsend_init},
};

/* Starts the persistent request of this operation, or leaves it to MPI_Startall. */
static int start_request(const Operation *op) {
  if (op->form == FORM_TOGETHER) {
    together[together_count++] = current;
    return MPI_SUCCESS;
  }
  const int error = MPI_Start(&request[current]);
  is_active[current] = error == MPI_SUCCESS;
  return error;
}

static void start_together(void) {
  static MPI_Request list[MAX_STEPS];
  if (together_count == 0) return;
  for (int i = 0; i < together_count; i++) list[i] = request[together[i]];
  const int error = MPI_Startall(together_count, list);
  if (error != MPI_SUCCESS) report_error(posted_as[together[0]], error);
  for (int i = 0; i < together_count; i++) {
    request[together[i]] = list[i];
    is_active[together[i]] = error == MPI_SUCCESS;
  }
  together_count = 0;
}

static void do_send(const Operation *op) {
  unsigned char *bytes = buffer_of(current);
  const int dest = mpi_source(op->peer), n = op->bytes;
  const MPI_Comm c = comm[op->comm];
  int error;
  fill_payload(bytes, n, program_number, op->step, rank);
  posted_as[current] = op->step;
  if (op->form == FORM_BLOCKING) {
    error = send_calls[op->code].blocking(bytes, n, MPI_BYTE, dest, op->tag, c);
    if (error == MPI_SUCCESS) report(RECORD_SENT, op->step);
  } else if (op->form == FORM_NONBLOCKING) {
    error = send_calls[op->code].nonblocking(bytes, n, MPI_BYTE, dest, op->tag, c, &request[current]);
    is_active[current] = error == MPI_SUCCESS;
  } else {
    error = send_calls[op->code].persistent(bytes, n, MPI_BYTE, dest, op->tag, c, &request[current]);
    if (error == MPI_SUCCESS) error = start_request(op);
  }
  if (error != MPI_SUCCESS) report_error(op->step, error);
}

static void do_receive(const Operation *op) {
  unsigned char *bytes = guarded_buffer(current);
  const int source = mpi_source(op->peer), tag = mpi_tag(op->tag), size = op->bytes > 0 ? op->bytes : longest;
  const MPI_Comm c = comm[op->comm];
  MPI_Status status;
  int error;
  posted_as[current] = op->step;
  if (op->form == FORM_BLOCKING) {
    error = MPI_Recv(bytes, size, MPI_BYTE, source, tag, c, &status);
    request_completed(current, &status, error);
    return;
  }
  if (op->form == FORM_NONBLOCKING) {
    error = MPI_Irecv(bytes, size, MPI_BYTE, source, tag, c, &request[current]);
    is_active[current] = error == MPI_SUCCESS;
  } else {
    error = MPI_Recv_init(bytes, size, MPI_BYTE, source, tag, c, &request[current]);
    if (error == MPI_SUCCESS) error = start_request(op);
  }
  if (error != MPI_SUCCESS) report_error(op->step, error);
}

static void do_restart(const Operation *op) {
  const int first = op->argument[0];
  cancel_request(first);
  posted_as[first] = op->step;
  guarded_buffer(first);
  const int error = MPI_Start(&request[first]);
  is_active[first] = error == MPI_SUCCESS;
  if (error != MPI_SUCCESS) report_error(op->step, error);
}

static void do_sendrecv(const Operation *op) {
  if (sendrecv_buffer == NULL) sendrecv_buffer = allocate((size_t)longest);
  unsigned char *bytes = buffer_of(current);
  MPI_Status status;
  fill_payload(sendrecv_buffer, op->bytes, program_number, op->step, rank);
  /* Both halves use one communicator. */
  const int error =
      MPI_Sendrecv(sendrecv_buffer, op->bytes, MPI_BYTE, mpi_source(op->peer), op->tag, bytes, longest, MPI_BYTE,
                   mpi_source(op->argument[1]), mpi_tag(op->argument[2]), comm[op->comm], &status);
  if (error != MPI_SUCCESS) {
    report_error(op->step, error);
    return;
  }
  report(RECORD_SENT, op->step);
  report_received(RECORD_RECEIVED, op->step, &status, bytes, 0);
}

static void do_probe(const Operation *op) {
  const int source = mpi_source(op->peer), tag = mpi_tag(op->tag);
  const MPI_Comm c = comm[op->comm];
  MPI_Status status;
  int flag = 1, error;
  switch (op->form) {
    case CALL_PROBE: error = MPI_Probe(source, tag, c, &status); break;
    case CALL_IPROBE: error = MPI_Iprobe(source, tag, c, &flag, &status); break;
    case CALL_MPROBE: error = MPI_Mprobe(source, tag, c, &handle[current], &status); break;
    default: error = MPI_Improbe(source, tag, c, &flag, &handle[current], &status); break;
  }
  if (error != MPI_SUCCESS) {
    report_error(op->step, error);
    return;
  }
  OutcomeRecord record = {.kind = RECORD_FOUND_NOTHING, .at = current, .step = op->step, .message = NO_MESSAGE};
  if (flag) {
    record.kind = RECORD_FOUND;
    set_status(&record, &status);
    holds_message[current] = op->form == CALL_MPROBE || op->form == CALL_IMPROBE;
  }
  observe(record);
}

/* Receives the message that matched probe `probe` took, for operation `op`. */
static void receive_probed(int probe, int op, int is_nonblocking) {
  if (!holds_message[probe]) return;
  holds_message[probe] = 0;
  const int step = operation[op]->step;
  unsigned char *bytes = buffer_of(op);
  MPI_Status status;
  int error;
  posted_as[op] = step;
  if (is_nonblocking) {
    error = MPI_Imrecv(bytes, longest, MPI_BYTE, &handle[probe], &request[op]);
    is_active[op] = error == MPI_SUCCESS;
  } else {
    error = MPI_Mrecv(bytes, longest, MPI_BYTE, &handle[probe], &status);
    if (error == MPI_SUCCESS) report_received(RECORD_RECEIVED, step, &status, bytes, 0);
  }
  if (error != MPI_SUCCESS) report_error(step, error);
}

static void do_pause(void) {
  for (int i = 0; i < PAUSE_ROUNDS; i++) {
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, control, &flag, MPI_STATUS_IGNORE);
    sched_yield();
  }
}

static void perform(const Operation *op) {
  if (op->code > OP_RECEIVE || op->form != FORM_TOGETHER) start_together();
  switch (op->code) {
    case OP_SEND:
    case OP_SSEND:
    case OP_RSEND:
    case OP_BSEND: do_send(op); break;
    case OP_RECEIVE: do_receive(op); break;
    case OP_RESTART: do_restart(op); break;
    case OP_SENDRECV: do_sendrecv(op); break;
    case OP_PROBE: do_probe(op); break;
    case OP_RECEIVE_PROBED: receive_probed(op->argument[0], current, op->form == FORM_NONBLOCKING); break;
    case OP_CANCEL: cancel_request(op->argument[0]); break;
    case OP_COMPLETE: complete_requests(op->form, op->argument, op->arguments); break;
    case OP_BARRIER: MPI_Barrier(control); break;
    case OP_PAUSE: do_pause(); break;
    default: give_up("unknown operation", "programs");
  }
}

/* The drain phase: receives every message that is still to come, then cancels the receives that are left. */
static void drain(int expected) {
  start_together();
  for (int op = 0; op < operation_count; op++) receive_probed(op, op, 0);
  for (;;) {
    static int active[MAX_STEPS];
    int count = 0, sends = 0;
    for (int op = 0; op < operation_count; op++) {
      if (!is_active[op]) continue;
      active[count++] = op;
      sends += is_send(operation[op]);
    }
    if (received >= expected && sends == 0) break;
    if (count > 0) complete_requests(CALL_TESTSOME, active, count);
    int is_idle = 1;
    for (int i = 0; i < COMMS; i++) {
      if (comm[i] == MPI_COMM_NULL) continue;
      MPI_Message message;
      MPI_Status status;
      int flag = 0;
      int error = MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm[i], &flag, &message, &status);
      if (error == MPI_SUCCESS && flag) {
        is_idle = 0;
        error = MPI_Mrecv(drain_buffer, longest, MPI_BYTE, &message, &status);
        if (error == MPI_SUCCESS) report_received(RECORD_DRAINED, i, &status, drain_buffer, 0);
      }
      if (error != MPI_SUCCESS) report_error(0, error);
    }
    if (is_idle) sched_yield();
  }
  for (int op = 0; op < operation_count; op++) {
    cancel_request(op);
    if (request[op] != MPI_REQUEST_NULL) MPI_Request_free(&request[op]);
  }
}

/* ---- programs ---- */

static void attach_bsend_buffer(void) {
  long bytes = 0;
  for (int op = 0; op < operation_count; op++) {
    /* 64 bytes for the library's alignment. */
    if (operation[op]->code == OP_BSEND) bytes += operation[op]->bytes + MPI_BSEND_OVERHEAD + 64;
  }
  if (bytes == 0) return;
  bsend_buffer = allocate((size_t)bytes);
  if (MPI_Buffer_attach(bsend_buffer, (int)bytes) != MPI_SUCCESS) give_up("MPI_Buffer_attach failed", "buffered sends");
}

static void detach_bsend_buffer(void) {
  if (bsend_buffer == NULL) return;
  int bytes;
  void *address;
  MPI_Buffer_detach(&address, &bytes);
  free(bsend_buffer);
  bsend_buffer = NULL;
}

void interpreter_init(int longest_message) {
  longest = longest_message;
  drain_buffer = allocate((size_t)longest);
  MPI_Comm_dup(MPI_COMM_WORLD, &control);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm[COMM_FIRST]);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm[COMM_SECOND]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm[COMM_REVERSED]);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm[COMM_PARITY]);
  comm[COMM_ACROSS] = MPI_COMM_NULL;
  if (ranks > 1) MPI_Intercomm_create(comm[COMM_PARITY], 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &comm[COMM_ACROSS]);
  for (int i = 0; i < COMMS; i++) {
    if (comm[i] != MPI_COMM_NULL) MPI_Comm_set_errhandler(comm[i], MPI_ERRORS_RETURN);
  }
  /* Libraries use the error handler of one of these for calls on several requests. */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

void perform_program(const RankHeader *part, int number) {
  operation_count = part->operations;
  if (operation_count > MAX_STEPS) give_up("a program has too many operations", "programs");
  const int *word = (const int *)(part + 1);
  for (int i = 0; i < operation_count; i++) {
    operation[i] = (const Operation *)word;
    word = operation[i]->argument + operation[i]->arguments;
    request[i] = MPI_REQUEST_NULL;
    is_active[i] = holds_message[i] = 0;
  }
  program_number = number;
  received = together_count = 0;
  attach_bsend_buffer();
  for (current = 0; current < operation_count; current++) perform(operation[current]);
  drain(part->messages);
  MPI_Barrier(control);
  detach_bsend_buffer();
}
