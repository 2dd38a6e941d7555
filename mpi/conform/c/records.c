/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "records.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "interpreter.h"
#include "layout.h"
#include "payload.h"

/* Bytes behind a short buffer, whose value before the receive is GUARD_BYTE. */
enum { GUARD = 64 };

int program_number, longest;
unsigned char *buffer[MAX_STEPS], *sendrecv_buffer[MAX_STEPS], *large_buffer[MAX_STEPS];
MPI_Datatype type[MAX_STEPS];
uint64_t arrived[MAX_STEPS][MAX_PARTITIONS];
atomic_int received;
static pthread_mutex_t records = PTHREAD_MUTEX_INITIALIZER;

void records_init(int longest_message) { longest = longest_message; }

unsigned char *allocate(size_t bytes) {
  unsigned char *memory = malloc(bytes);
  if (memory == NULL) give_up("out of memory", "message buffers");
  return memory;
}

unsigned char *buffer_in(unsigned char **buffers, int op) {
  if (buffers[op] == NULL) buffers[op] = allocate(layout_span(LAYOUT_RESIZED, (size_t)longest + STAMP) + GUARD);
  return buffers[op];
}

unsigned char *buffer_of(int op) { return buffer_in(buffer, op); }

/* Of the receive of operation `op`: the layout, and the bytes that its buffer holds. */
int layout_of(int op) {
  return operation[op]->code == OP_SENDRECV ? operation[op]->argument[3] : operation[op]->layout;
}

int room_of(int op) {
  const int is_short = operation[op]->code == OP_RECEIVE && operation[op]->bytes > 0;
  return is_short ? operation[op]->bytes : longest;
}

int is_large(int op) { return operation[op]->code == OP_RECEIVE && operation[op]->counts == COUNTS_LARGE; }

/* The buffer of a receive that is about to be posted. What it must not write has a known value. */
unsigned char *guarded_buffer(int op) {
  if (is_large(op)) {
    if (large_buffer[op] != NULL) return large_buffer[op];
    void *memory = mmap(NULL, LARGE_COUNT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) give_up("cannot reserve address space for the buffer", "a large receive");
    return large_buffer[op] = memory;
  }
  unsigned char *bytes = buffer_of(op);
  const int layout = layout_of(op);
  const size_t end = layout_span(layout, (size_t)room_of(op));
  memset(bytes + end, GUARD_BYTE, GUARD);
  if (has_gaps(layout)) memset(bytes, GUARD_BYTE, end);
  return bytes;
}

/* What the receive of `op` wrote outside of its datatype: OVERRUN past the end of a short buffer, GAPS in between. */
static int outside(int op) {
  const int code = operation[op]->code;
  if ((code != OP_RECEIVE && code != OP_SENDRECV) || is_large(op)) return 0;
  const int layout = layout_of(op);
  const size_t end = layout_span(layout, (size_t)room_of(op));
  int flags = 0;
  for (size_t i = 0; i < GUARD && room_of(op) != longest; i++) {
    if (buffer[op][end + i] != GUARD_BYTE) flags |= OVERRUN;
  }
  if (!has_gaps(layout)) return flags;
  for (size_t i = 0; i < end; i++) {
    if (layout_gap(layout, i) && buffer[op][i] != GUARD_BYTE) return flags | GAPS;
  }
  return flags;
}

/* The bytes of message `step`, `n` of them, in a layout. */
void fill_buffer(unsigned char *bytes, int layout, int n, int step) {
  if (layout == LAYOUT_BYTES || layout == LAYOUT_CONTIGUOUS) {
    fill_payload(bytes, n, program_number, step, rank);
    return;
  }
  unsigned char *packed = allocate((size_t)n + 1);
  fill_payload(packed, n, program_number, step, rank);
  memset(bytes, GUARD_BYTE, layout_span(layout, (size_t)n));
  for (size_t i = 0; i < (size_t)n; i++) bytes[layout_place(layout, (size_t)n, i)] = packed[i];
  free(packed);
}

void tell(OutcomeRecord record) {
  pthread_mutex_lock(&records);
  observe(record);
  pthread_mutex_unlock(&records);
}

void report(int kind, int step) { tell((OutcomeRecord){.kind = kind, .at = current, .step = step}); }

void report_error(int step, int error) {
  int class = INACTIVE_REQUEST;
  if (error > 0) MPI_Error_class(error, &class);
  tell((OutcomeRecord){.kind = RECORD_FAILED, .at = current, .step = step, .flags = class});
}

void set_status(OutcomeRecord *record, const MPI_Status *status, MPI_Datatype of) {
  record->source = status->MPI_SOURCE == MPI_PROC_NULL ? NO_PROCESS : status->MPI_SOURCE;
  record->tag = status->MPI_TAG == MPI_ANY_TAG ? ANY : status->MPI_TAG;
  if (of == MPI_BYTE) {
    MPI_Get_count(status, MPI_BYTE, &record->count);
  } else {
    MPI_Get_elements(status, of, &record->count);
  }
}

/* Checks `bytes`, which a datatype of `room` bytes laid out. */
static void check_buffer(const unsigned char *bytes, int layout, int room, OutcomeRecord *record) {
  const int n = record->count < room ? record->count : room;
  if (layout == LAYOUT_BYTES || layout == LAYOUT_CONTIGUOUS || n <= 0) {
    check_payload(bytes, n, program_number, record);
    return;
  }
  unsigned char *packed = allocate((size_t)n);
  for (size_t i = 0; i < (size_t)n; i++) packed[i] = bytes[layout_place(layout, (size_t)room, i)];
  check_payload(packed, n, program_number, record);
  free(packed);
}

/* A message of bytes was received. */
void report_bytes(int kind, int step, const MPI_Status *status, const unsigned char *bytes) {
  OutcomeRecord record = {.kind = kind, .at = current, .step = step};
  set_status(&record, status, MPI_BYTE);
  if (record.source == NO_PROCESS) {
    record.message = NO_MESSAGE;
    record.flags = INTACT;
  } else {
    received++;
    check_buffer(bytes, LAYOUT_BYTES, longest, &record);
  }
  tell(record);
}

/* The receive of an MPI_Isendrecv is complete: libraries differ in its status, so that the payload shows its length. */
void report_isendrecv(int op, int step, const MPI_Status *status) {
  OutcomeRecord record = {.kind = RECORD_RECEIVED, .at = current, .step = step, .message = NO_MESSAGE};
  set_status(&record, status, type[op]);
  if (operation[op]->argument[1] == NO_PROCESS) {
    record.flags = INTACT;
    tell(record);
    return;
  }
  received++;
  unsigned char stamp[STAMP];
  const int layout = layout_of(op), room = room_of(op), count = record.count;
  for (size_t i = 0; i < STAMP; i++) stamp[i] = buffer[op][layout_place(layout, (size_t)room, i)];
  record.count = payload_length(stamp, program_number);
  if (record.count > 0) {
    record.flags = outside(op);
    check_buffer(buffer[op], layout, room, &record);
  }
  record.count = count;
  tell(record);
}

/* The receive of operation `op` is complete; `flags` are flags of the record. */
void report_received(int op, int step, const MPI_Status *status, int flags) {
  OutcomeRecord record = {.kind = RECORD_RECEIVED, .at = current, .step = step, .flags = outside(op) | flags};
  set_status(&record, status, type[op]);
  if (record.source == NO_PROCESS) {
    record.message = NO_MESSAGE;
    record.flags = flags | INTACT;
  } else {
    received++;
    check_buffer(is_large(op) ? large_buffer[op] : buffer[op], layout_of(op), room_of(op), &record);
  }
  tell(record);
}

uint64_t checksum(const unsigned char *bytes, int count) {
  uint64_t sum = UINT64_C(0xcbf29ce484222325);
  for (int i = 0; i < count; i++) sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
  return sum | 1;
}

/* MPI does not define the status of a partitioned receive; communicator, source, tag and length are known. */
void report_partitioned(int op, int step) {
  const OperationRecord *of = operation[op];
  OutcomeRecord record = {
      .kind = RECORD_RECEIVED, .at = current, .step = step, .source = of->peer, .tag = of->tag, .count = of->bytes};
  received++;
  check_payload(buffer[op], of->bytes, program_number, &record);
  const int length = of->bytes / of->partitions;
  for (int i = 0; i < of->partitions; i++) {
    if (arrived[op][i] != 0 && arrived[op][i] != checksum(buffer[op] + i * length, length)) record.flags &= ~INTACT;
  }
  tell(record);
}

/* A truncated message was matched nevertheless. */
void report_truncated(int op, int step, const MPI_Status *status) {
  OutcomeRecord record = {.kind = RECORD_TRUNCATED, .at = current, .step = step, .message = NO_MESSAGE};
  received++;
  set_status(&record, status, type[op]);
  record.flags = outside(op);
  tell(record);
}
