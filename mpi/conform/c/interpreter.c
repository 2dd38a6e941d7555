/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "interpreter.h"
#include "layout.h"
#include "optional.h"
#include "payload.h"
#include "records.h"

enum { PAUSE_ROUNDS = 40 };

int operation_count;
_Thread_local int current;
const OperationRecord *operation[MAX_STEPS];

/* State of each operation of this rank. `posted_as` is the step that started the request last. */
static MPI_Request request[MAX_STEPS];
static MPI_Message handle[MAX_STEPS];
static int is_active[MAX_STEPS], is_cancelling[MAX_STEPS], holds_message[MAX_STEPS], posted_as[MAX_STEPS];
static unsigned char *drain_buffer;
/* The operation that each thread performs. */
static volatile sig_atomic_t position[MAX_THREADS];
static int threads;
/* Operations whose requests the next MPI_Startall starts. */
static int together[MAX_STEPS], together_count;
/* The buffer of MPI_Bsend and its variants. */
static void *bsend_buffer;

char reason_file[4096];

void say_why(const char *what, const char *where) {
  char text[4400];
  const int length = snprintf(text, sizeof text, "conform: rank %d: %s: %s\n", rank, where, what);
  const size_t bytes = length < (int)sizeof text ? (size_t)length : sizeof text - 1;
  const int file = reason_file[0] == 0 ? -1 : open(reason_file, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  /* Nothing more can be done where neither is written. */
  if (write(STDERR_FILENO, text, bytes) < 0 && file < 0) return;
  if (file >= 0 && write(file, text, bytes) >= 0) close(file);
}

void give_up(const char *what, const char *where) {
  say_why(what, where);
  MPI_Abort(MPI_COMM_WORLD, 3);
  exit(3);
}

static int is_send(const OperationRecord *op) {
  return (op->code >= OP_SEND && op->code <= OP_BSEND) || op->code == OP_PARTITIONED_SEND;
}

static int is_partitioned(const OperationRecord *op) {
  return op->code == OP_PARTITIONED_SEND || op->code == OP_PARTITIONED_RECEIVE;
}

/* Whether the drain phase waits for the request of this operation. */
static int must_complete(const OperationRecord *op) {
  return is_send(op) || op->code == OP_SENDRECV || op->code == OP_PARTITIONED_RECEIVE;
}

static int mpi_source(int peer) { return peer == ANY ? MPI_ANY_SOURCE : peer == NO_PROCESS ? MPI_PROC_NULL : peer; }

static int mpi_tag(int tag) { return tag == ANY ? MPI_ANY_TAG : tag; }

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
  if (is_send(operation[op]) || operation[op]->code == OP_SENDRECV) report(RECORD_SENT, posted_as[op]);
  if (is_send(operation[op])) return;
  if (operation[op]->code == OP_PARTITIONED_RECEIVE) {
    report_partitioned(op, posted_as[op]);
    return;
  }
  int was_cancelled = 0;
  if (operation[op]->code == OP_RECEIVE) MPI_Test_cancelled(status, &was_cancelled);
  if (was_cancelled && is_cancelling[op]) {
    report(RECORD_CANCELLED, posted_as[op]);
  } else {
    if (operation[op]->code == OP_SENDRECV && operation[op]->form == FORM_NONBLOCKING) {
      report_isendrecv(op, posted_as[op], status);
    } else {
      report_received(op, posted_as[op], status, was_cancelled ? CALLED_CANCELLED : 0);
    }
  }
}

static void cancel_request(int op) {
  if (!is_active[op]) return;
  MPI_Status status;
  /* A receive from MPI_PROC_NULL is already complete. */
  is_cancelling[op] = operation[op]->peer != NO_PROCESS;
  int error = is_cancelling[op] ? MPI_Cancel(&request[op]) : MPI_SUCCESS;
  if (error == MPI_SUCCESS) error = MPI_Wait(&request[op], &status);
  request_completed(op, &status, error);
  is_cancelling[op] = 0;
}

static int current_step(void) { return operation[current < operation_count ? current : 0]->step; }

/* Notes what MPI_Parrived reports as arrived: these bytes must not change any more. */
static void note_arrived(int op) {
  const int length = operation[op]->bytes / operation[op]->partitions;
  for (int i = 0; i < operation[op]->partitions; i++) {
    int flag = 0;
    const int error = MPI_Parrived(request[op], i, &flag);
    if (error != MPI_SUCCESS) report_error(posted_as[op], error);
    if (flag && arrived[op][i] == 0) arrived[op][i] = checksum(buffer[op] + i * length, length);
  }
}

/* One of the eight completion calls on the requests of the operations `of`. */
static void complete_requests(int call, const int *of, int count) {
  static _Thread_local MPI_Request list[MAX_STEPS];
  static _Thread_local MPI_Status status[MAX_STEPS];
  static _Thread_local int index[MAX_STEPS];
  for (int i = 0; i < count; i++) {
    if (is_active[of[i]] && operation[of[i]]->code == OP_PARTITIONED_RECEIVE) note_arrived(of[i]);
    list[i] = request[of[i]];
  }
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

typedef int SendCall(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
typedef int SendStart(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

/* The same calls with counts of type MPI_Count. */
static const struct {
  SendCall *blocking;
  SendStart *nonblocking, *persistent;
} wide_send_calls[] = {
    [OP_SEND] = {MPI_Send_c, MPI_Isend_c, MPI_Send_init_c},
    [OP_SSEND] = {MPI_Ssend_c, MPI_Issend_c, MPI_Ssend_init_c},
    [OP_RSEND] = {MPI_Rsend_c, MPI_Irsend_c, MPI_Rsend_init_c},
    [OP_BSEND] = {MPI_Bsend_c, MPI_Ibsend_c, MPI_Bsend_init_c},
};

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

/* Marks every partition of a send that was started as ready: in either order, as MPI allows. */
static void make_ready(int op) {
  const int count = operation[op]->partitions;
  if (operation[op]->code != OP_PARTITIONED_SEND || !is_active[op]) return;
  for (int i = 0; i < count; i++) {
    const int error = MPI_Pready(operation[op]->step % 2 == 0 ? i : count - 1 - i, request[op]);
    if (error != MPI_SUCCESS) report_error(posted_as[op], error);
  }
}

/* Starts the persistent request of this operation, or leaves it to MPI_Startall. */
static int start_request(const OperationRecord *op) {
  if (op->form == FORM_TOGETHER) {
    together[together_count++] = current;
    return MPI_SUCCESS;
  }
  const int error = MPI_Start(&request[current]);
  is_active[current] = error == MPI_SUCCESS;
  make_ready(current);
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
    make_ready(together[i]);
  }
  together_count = 0;
}

static void do_send(const OperationRecord *op) {
  unsigned char *bytes = buffer_of(current);
  const int dest = mpi_source(op->peer), is_wide = op->counts != COUNTS_INT;
  const MPI_Comm c = comm[op->comm];
  MPI_Request *r = &request[current];
  int error, n;
  fill_buffer(bytes, op->layout, op->bytes, op->step);
  posted_as[current] = op->step;
  MPI_Datatype t = layout_type(op->layout, op->bytes, &n);
  if (op->form == FORM_BLOCKING) {
    error = is_wide ? wide_send_calls[op->code].blocking(bytes, n, t, dest, op->tag, c)
                    : send_calls[op->code].blocking(bytes, n, t, dest, op->tag, c);
    if (error == MPI_SUCCESS) report(RECORD_SENT, op->step);
  } else if (op->form == FORM_NONBLOCKING) {
    error = is_wide ? wide_send_calls[op->code].nonblocking(bytes, n, t, dest, op->tag, c, r)
                    : send_calls[op->code].nonblocking(bytes, n, t, dest, op->tag, c, r);
    is_active[current] = error == MPI_SUCCESS;
  } else {
    error = is_wide ? wide_send_calls[op->code].persistent(bytes, n, t, dest, op->tag, c, r)
                    : send_calls[op->code].persistent(bytes, n, t, dest, op->tag, c, r);
    if (error == MPI_SUCCESS) error = start_request(op);
  }
  /* A datatype may be freed while a send uses it (MPI 4.1, 5.1.9); that of a persistent one is kept for its starts. */
  if (op->form == FORM_BLOCKING || op->form == FORM_NONBLOCKING) {
    layout_free(&t);
  } else {
    type[current] = t;
  }
  if (error != MPI_SUCCESS) report_error(op->step, error);
}

static void do_receive(const OperationRecord *op) {
  unsigned char *bytes = guarded_buffer(current);
  const int source = mpi_source(op->peer), tag = mpi_tag(op->tag), is_wide = op->counts != COUNTS_INT;
  const MPI_Comm c = comm[op->comm];
  MPI_Request *r = &request[current];
  MPI_Status status;
  int error, count;
  posted_as[current] = op->step;
  const MPI_Datatype t = type[current] = layout_type(op->layout, room_of(current), &count);
  const MPI_Count n = is_large(current) ? LARGE_COUNT : count;
  if (op->form == FORM_BLOCKING) {
    error = is_wide ? MPI_Recv_c(bytes, n, t, source, tag, c, &status)
                    : MPI_Recv(bytes, count, t, source, tag, c, &status);
    request_completed(current, &status, error);
    return;
  }
  if (op->form == FORM_NONBLOCKING) {
    error = is_wide ? MPI_Irecv_c(bytes, n, t, source, tag, c, r) : MPI_Irecv(bytes, count, t, source, tag, c, r);
    is_active[current] = error == MPI_SUCCESS;
  } else {
    error =
        is_wide ? MPI_Recv_init_c(bytes, n, t, source, tag, c, r) : MPI_Recv_init(bytes, count, t, source, tag, c, r);
    if (error == MPI_SUCCESS) error = start_request(op);
  }
  if (error != MPI_SUCCESS) report_error(op->step, error);
}

static void do_partitioned(const OperationRecord *op) {
  unsigned char *bytes = buffer_of(current);
  const MPI_Count length = op->bytes / op->partitions;
  const MPI_Comm c = comm[op->comm];
  MPI_Request *r = &request[current];
  int error;
  posted_as[current] = op->step;
  memset(arrived[current], 0, sizeof arrived[current]);
  if (op->code == OP_PARTITIONED_SEND) {
    fill_payload(bytes, op->bytes, program_number, op->step, rank);
    error = MPI_Psend_init(bytes, op->partitions, length, MPI_BYTE, op->peer, op->tag, c, MPI_INFO_NULL, r);
  } else {
    memset(bytes, GUARD_BYTE, (size_t)op->bytes);
    error = MPI_Precv_init(bytes, op->partitions, length, MPI_BYTE, op->peer, op->tag, c, MPI_INFO_NULL, r);
  }
  if (error == MPI_SUCCESS) error = start_request(op);
  if (error != MPI_SUCCESS) report_error(op->step, error);
}

static void do_restart(const OperationRecord *op) {
  const int first = op->argument[0];
  cancel_request(first);
  posted_as[first] = op->step;
  guarded_buffer(first);
  const int error = MPI_Start(&request[first]);
  is_active[first] = error == MPI_SUCCESS;
  if (error != MPI_SUCCESS) report_error(op->step, error);
}

static void do_sendrecv(const OperationRecord *op) {
  unsigned char *out = buffer_in(sendrecv_buffer, current), *in = guarded_buffer(current);
  for (size_t i = 0; i < STAMP; i++) in[layout_place(layout_of(current), (size_t)longest, i)] = GUARD_BYTE;
  const int dest = mpi_source(op->peer), source = mpi_source(op->argument[1]), tag = mpi_tag(op->argument[2]);
  int error, out_count, in_count;
  fill_buffer(out, op->layout, op->bytes, op->step);
  posted_as[current] = op->step;
  MPI_Datatype out_type = layout_type(op->layout, op->bytes, &out_count);
  const MPI_Datatype in_type = type[current] = layout_type(layout_of(current), longest, &in_count);
  /* Both halves use one communicator. */
  const MPI_Comm c = comm[op->comm];
  if (op->form == FORM_NONBLOCKING) {
    error = MPI_Isendrecv(out, out_count, out_type, dest, op->tag, in, in_count, in_type, source, tag, c,
                          &request[current]);
    is_active[current] = error == MPI_SUCCESS;
    if (error != MPI_SUCCESS) report_error(op->step, error);
  } else {
    MPI_Status status;
    error =
        MPI_Sendrecv(out, out_count, out_type, dest, op->tag, in, in_count, in_type, source, tag, c, &status);
    request_completed(current, &status, error);
  }
  layout_free(&out_type);
}

static void do_probe(const OperationRecord *op) {
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
    set_status(&record, &status, MPI_BYTE);
    holds_message[current] = op->form == CALL_MPROBE || op->form == CALL_IMPROBE;
  }
  tell(record);
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
    if (error == MPI_SUCCESS) report_bytes(RECORD_RECEIVED, step, &status, bytes);
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

static void perform(const OperationRecord *op) {
  const int is_start = op->code <= OP_RECEIVE || is_partitioned(op);
  if (!is_start || op->form != FORM_TOGETHER) start_together();
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
    case OP_PARTITIONED_SEND:
    case OP_PARTITIONED_RECEIVE: do_partitioned(op); break;
    default: give_up("unknown operation", "programs");
  }
}

/* The communicator of the request of an operation. */
static int comm_of(int op) {
  return operation[op]->code == OP_RECEIVE_PROBED ? operation[operation[op]->argument[0]]->comm : operation[op]->comm;
}

/* The drain phase: receives every message that is still to come, then cancels the receives that are left. */
static void drain(int expected) {
  start_together();
  for (int op = 0; op < operation_count; op++) receive_probed(op, op, 0);
  for (;;) {
    /* A call may not mix requests of a session with others (MPI 4.1, 11.3). */
    static int active[2][MAX_STEPS];
    int count[2] = {0, 0}, waited_for = 0;
    for (int op = 0; op < operation_count; op++) {
      if (!is_active[op]) continue;
      const int is_of_session = comm_of(op) == COMM_SESSION;
      active[is_of_session][count[is_of_session]++] = op;
      waited_for += must_complete(operation[op]);
    }
    if (received >= expected && waited_for == 0) break;
    for (int i = 0; i < 2; i++) {
      if (count[i] > 0) complete_requests(CALL_TESTSOME, active[i], count[i]);
    }
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
        if (error == MPI_SUCCESS) report_bytes(RECORD_DRAINED, i, &status, drain_buffer);
      }
      if (error != MPI_SUCCESS) report_error(0, error);
    }
    if (is_idle) sched_yield();
  }
  for (int op = 0; op < operation_count; op++) {
    cancel_request(op);
    if (request[op] != MPI_REQUEST_NULL) MPI_Request_free(&request[op]);
    layout_free(&type[op]);
    if (large_buffer[op] != NULL) munmap(large_buffer[op], LARGE_COUNT);
    large_buffer[op] = NULL;
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

void interpreter_init(int longest_message, int needs) {
  records_init(longest_message);
  drain_buffer = allocate((size_t)longest_message);
  create_communicators(needs);
}

void interpreter_end(void) { free_session(); }

int unfinished_operation(void) {
  for (int i = 0; i < threads; i++) {
    if (position[i] < operation_count) return position[i];
  }
  return operation_count;
}

/* Performs the operations of one thread. */
static void perform_thread(int thread) {
  for (int i = 0; i < operation_count; i++) {
    if (operation[i]->thread != thread) continue;
    current = position[thread] = i;
    perform(operation[i]);
  }
  current = position[thread] = operation_count;
}

static void *run_thread(void *argument) {
  perform_thread((int)(intptr_t)argument);
  return NULL;
}

/* Performs the operations of all threads. The first one is this thread, which alone takes signals. */
static void perform_threads(void) {
  pthread_t other[MAX_THREADS];
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  for (int i = 1; i < threads; i++) {
    if (pthread_create(&other[i], NULL, run_thread, (void *)(intptr_t)i) != 0) give_up("cannot start a thread", "threads");
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  perform_thread(0);
  for (int i = 1; i < threads; i++) pthread_join(other[i], NULL);
}

void perform_program(const RankHeader *part, int number) {
  operation_count = part->operations;
  threads = 1;
  if (operation_count > MAX_STEPS) give_up("a program has too many operations", "programs");
  const int *word = (const int *)(part + 1);
  for (int i = 0; i < operation_count; i++) {
    operation[i] = (const OperationRecord *)word;
    word = operation[i]->argument + operation[i]->arguments;
    request[i] = MPI_REQUEST_NULL;
    is_active[i] = holds_message[i] = 0;
    type[i] = MPI_BYTE;
    if (operation[i]->thread >= MAX_THREADS) give_up("a program has too many threads", "programs");
    if (operation[i]->thread >= threads) threads = operation[i]->thread + 1;
  }
  memset((void *)position, 0, sizeof position);
  program_number = number;
  together_count = 0;
  received = 0;
  attach_bsend_buffer();
  perform_threads();
  drain(part->messages);
  MPI_Barrier(control);
  detach_bsend_buffer();
}
