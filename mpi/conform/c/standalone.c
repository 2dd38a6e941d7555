/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The reproducer: performs one test program again and again and compares what its calls return with `listed`. */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpreter.h"
#include "program.h"

enum { TEXT = 4096 };

static int round_number, violations;

/* What this rank observed in this round, by step, and by communicator in the drain phase. */
static char observed[MAX_STEPS][64], drained[COMMS][TEXT / COMMS];

static void violation(int step, const char *what) {
  printf("round %d, rank %d, step %d: %s\n", round_number, rank, step, what);
  fflush(stdout);
  violations++;
}

static void time_limit_expired(int number) {
  (void)number;
  static const char words[] = "a round did not end within its time limit: a call or a completion is missing\n";
  if (write(1, words, sizeof words - 1) < 0) _exit(2);
  _exit(1);
}

static void append(char *text, size_t size, const char *fragment) {
  const size_t length = strlen(text);
  if (fragment[0] != 0) snprintf(text + length, size - length, "%s%s", length > 0 ? ", " : "", fragment);
}

/* ---- which message a record is about ---- */

static int rank_in_comm(int c, int world_rank) {
  if (c == COMM_REVERSED) return RANKS - 1 - world_rank;
  return c == COMM_PARITY || c == COMM_ACROSS ? world_rank / 2 : world_rank;
}

/* The message of `least` to `most` bytes that the status in `record` describes; NULL if there is none. */
static const Message *find(const OutcomeRecord *record, int c, int least, int most) {
  for (const Message *m = message; m->step != 0; m++) {
    if (m->to == rank && m->comm == c && m->tag == record->tag && rank_in_comm(c, m->from) == record->source &&
        m->bytes >= least && m->bytes <= most) {
      return m;
    }
  }
  return NULL;
}

/* The message that was received in communicator `c`; 0 if there is none. Reports what is wrong with it. */
static int received_message(const OutcomeRecord *record, int c, int is_short) {
  const Message *m = NULL;
  if (record->message == NO_MESSAGE) {
    if (record->count == 0) m = find(record, c, 0, 0);
  } else {
    for (m = message; m->step != 0 && m->step != record->message;) m++;
    if (m->step == 0) m = NULL;
  }
  const Message *too_long = is_short ? find(record, c, SHORT_BUFFER + 1, INT_MAX) : NULL;
  if (too_long != NULL && (m == NULL || m == too_long)) {
    violation(record->step, "received a message that does not fit, without MPI_ERR_TRUNCATE");
    return too_long->step;
  }
  if (m == NULL || (record->flags & FOREIGN)) {
    violation(record->step, "received bytes that are not a message of this round");
    return 0;
  }
  if (m != find(record, c, record->count, record->count)) {
    violation(record->step, "source, tag or count of the status are not those of the message received");
  } else if (record->flags & GAPS) {
    violation(record->step, "bytes changed that are not part of the datatype");
  } else if (!(record->flags & INTACT)) {
    violation(record->step, "received changed bytes");
  }
  return m->step;
}

/* ---- observations ---- */

/* "STEP WHAT MESSAGE", with the step that reported it if the listed outcomes name it. */
static void note(const OutcomeRecord *record, const char *what, int of) {
  char *text = observed[record->step], which[16] = "", where[24] = "";
  if (of != 0) snprintf(which, sizeof which, " %d", of);
  if (LISTED_WITH_LOCATION && record->at == operation_count) snprintf(where, sizeof where, " in the drain phase");
  else if (LISTED_WITH_LOCATION) snprintf(where, sizeof where, " in step %d", operation[record->at]->step);
  snprintf(text, sizeof observed[0], "%d %s%s%s", record->step, what, which, where);
}

static void note_plain(const OutcomeRecord *record, const char *what) {
  snprintf(observed[record->step], sizeof observed[0], "%d %s", record->step, what);
}

void observe(OutcomeRecord record) {
  if (record.kind == RECORD_DRAINED) {
    char fragment[32];
    snprintf(fragment, sizeof fragment, "drained %d", received_message(&record, record.step, 0));
    append(drained[record.step], sizeof drained[0], fragment);
    return;
  }
  if (record.kind == RECORD_FAILED) {
    char text[MPI_MAX_ERROR_STRING] = "a request completed that was not active";
    int length;
    if (record.flags != INACTIVE_REQUEST) MPI_Error_string(record.flags, text, &length);
    violation(record.step, text);
    return;
  }
  /* The operation with the arguments of the receive or probe. */
  const OperationRecord *op = operation[0];
  for (int i = 0; i < operation_count; i++) {
    if (operation[i]->step == record.step) op = operation[i];
  }
  const int is_of_probe = op->code == OP_PROBE || op->code == OP_RECEIVE_PROBED;
  if (op->code == OP_RESTART || op->code == OP_RECEIVE_PROBED) op = operation[op->argument[0]];
  const int peer = op->code == OP_SENDRECV ? op->argument[1] : op->peer;
  const int is_short = op->code == OP_RECEIVE && op->bytes > 0;
  if (record.flags & OVERRUN) violation(record.step, "wrote past the end of its buffer");
  if (record.flags & CALLED_CANCELLED) {
    violation(record.step, "the status says that it was cancelled, and no call has cancelled it");
  }
  if (peer == NO_PROCESS && record.kind == RECORD_FOUND_NOTHING) {
    violation(record.step, "a probe of MPI_PROC_NULL found nothing");
    return;
  }
  if (peer == NO_PROCESS && record.kind != RECORD_SENT) {
    if (record.source != NO_PROCESS || record.tag != ANY || record.count != 0) {
      violation(record.step, "the status is not that of MPI_PROC_NULL: MPI_PROC_NULL, MPI_ANY_TAG, no bytes");
    }
    return;
  }
  const Message *m;
  switch (record.kind) {
    case RECORD_SENT:
      if (LISTED_WITH_LOCATION && op->code <= OP_BSEND && op->form != FORM_BLOCKING) note(&record, "sent", 0);
      break;
    case RECORD_CANCELLED: note_plain(&record, "cancelled"); break;
    case RECORD_FOUND_NOTHING: note_plain(&record, "found nothing"); break;
    case RECORD_FOUND:
      m = find(&record, op->comm, record.count, record.count);
      if (m == NULL) violation(record.step, "the status is not that of a message to this rank");
      note(&record, "found", m == NULL ? 0 : m->step);
      break;
    case RECORD_TRUNCATED:
      m = is_short ? find(&record, op->comm, SHORT_BUFFER + 1, INT_MAX) : NULL;
      if (m == NULL) violation(record.step, "MPI_ERR_TRUNCATE, and the message fits");
      note(&record, "received", m == NULL ? 0 : m->step);
      break;
    default: {
      const int of = received_message(&record, op->code == OP_SENDRECV ? op->argument[0] : op->comm, is_short);
      /* The message of a matched probe was noted when it was found. */
      if (!is_of_probe) note(&record, "received", of);
    }
  }
}

/* ---- verdict ---- */

static void check_outcome(void) {
  static char mine[TEXT], all[RANKS][TEXT], outcome[RANKS * (TEXT + 16)];
  mine[0] = 0;
  for (int step = 0; step < MAX_STEPS; step++) append(mine, sizeof mine, observed[step]);
  for (int c = 0; c < COMMS; c++) append(mine, sizeof mine, drained[c]);
  MPI_Gather(mine, TEXT, MPI_CHAR, all, TEXT, MPI_CHAR, 0, control);
  if (rank != 0) return;
  outcome[0] = 0;
  for (int r = 0; r < RANKS; r++) {
    const size_t length = strlen(outcome);
    snprintf(outcome + length, sizeof outcome - length, "%srank %d: %s", r > 0 ? "; " : "", r, all[r]);
  }
  int is_listed = 0;
  for (int i = 0; listed[i] != NULL; i++) is_listed |= strcmp(listed[i], outcome) == 0;
  if (is_listed == LISTED_IS_PERMITTED) return;
  printf("round %d: MPI does not permit this outcome:\n  %s\n", round_number, outcome);
  violations++;
}

/* The communication with which the runner of the check begins (stack.c): it decides which connections exist already. */
static void begin_as_the_check_does(void) {
  static char mine[MPI_MAX_PROCESSOR_NAME], all[RANKS][MPI_MAX_PROCESSOR_NAME];
  MPI_Comm node;
  int length, one = 1, sum;
  MPI_Get_processor_name(mine, &length);
  MPI_Allgather(mine, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, all, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, MPI_COMM_WORLD);
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  MPI_Comm_free(&node);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
  int total = 0;
  const int lacks = start_mpi(&argc, &argv, PROGRAM_NEEDS);
  for (int i = 0; i < NEEDS; i++) {
    if (rank != 0 || !(lacks >> i & 1)) continue;
    fprintf(stderr, "the MPI library lacks what the program needs: %s\n", need_name[i]);
  }
  if (lacks != 0) {
    MPI_Finalize();
    return 2;
  }
  if (ranks != RANKS) {
    if (rank == 0) fprintf(stderr, "found %d ranks; expected %d\n", ranks, RANKS);
    MPI_Finalize();
    return 2;
  }
  const int rounds = argc > 1 ? atoi(argv[1]) : 1000;
  begin_as_the_check_does();
  interpreter_init(LONGEST_MESSAGE, PROGRAM_NEEDS);
  signal(SIGALRM, time_limit_expired);
  for (round_number = 1; round_number <= rounds && total == 0; round_number++) {
    alarm(SECONDS);
    memset(observed, 0, sizeof observed);
    memset(drained, 0, sizeof drained);
    perform_program((const RankHeader *)program[rank], round_number);
    check_outcome();
    MPI_Allreduce(&violations, &total, 1, MPI_INT, MPI_SUM, control);
  }
  alarm(0);
  if (rank == 0 && total > 0) printf("violation in round %d\n", round_number - 1);
  if (rank == 0 && total == 0) printf("no violation in %d rounds\n", round_number - 1);
  interpreter_end();
  MPI_Finalize();
  return total != 0;
}
