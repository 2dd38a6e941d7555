/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A trial of an MPI library, as one file.
 *
@REMARKS@ *
 * Build and run:   mpicc -o program program.c && mpirun -n @RANKS@ ./program [ROUNDS]
 * Exit status: 0 nothing wrong was seen in any round; 1 something was, and is printed.
 *
 * A message is called after the step that sends it, a receive or a probe after the step that posts or calls it; steps are
 * numbered along one run of the program that is possible. After its steps each rank receives what is left, by tests and by
 * matched probes, and then cancels what is still posted: on a correct MPI every round ends.
 */
#include <mpi.h>

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANKS = @RANKS@, STEPS = @STEPS@, MOST = @MOST@, ROOM = @ROOM@, SECONDS = @SECONDS@, COMMS = 5, TEXT = 4096 };
enum { WAIT, WAITALL, WAITANY, WAITSOME, TEST, TESTALL, TESTANY, TESTSOME };

/* What is sent: by whom, to whom, how. */
static const struct { int step, from, to, comm, tag, bytes; } message[] = {
@MESSAGES@  {0, 0, 0, 0, 0, 0},
};

/* Outcomes: step<-message: received; step?message: found; step:nothing; step:cancelled; end<-message: left to the end. */
@OUTCOMES@

static int me, round_number, violations, operation, received;
/* The world; then the world, again, in reverse order, even and odd ranks, and the intercommunicator between these. */
static MPI_Comm control, comm[COMMS];
static MPI_Request request[STEPS];
static MPI_Message handle[STEPS];
static int is_send[STEPS], is_null[STEPS], active[STEPS], holds[STEPS], called[STEPS], comm_of[STEPS];
static unsigned char *sent[STEPS], *got[STEPS];
static char steps[STEPS][64], left[COMMS][TEXT / COMMS];
static MPI_Status status;
static int flag, error; /* the class of the error of what is complete */

static void wrong(const char *what, int step) {
  printf("round %d, rank %d, step %d: %s\n", round_number, me, step, what);
  fflush(stdout);
  violations++;
}

static void too_long(int number) {
  (void)number;
  static const char words[] = "a round does not end: a call or a completion is missing\n";
  if (write(1, words, sizeof words - 1) < 0) _exit(2);
  _exit(1);
}

static unsigned char *space(unsigned char **buffer) {
  if (*buffer == NULL && (*buffer = malloc(MOST)) == NULL) exit(2);
  return *buffer;
}

@IF out@
/* The bytes of message `step`: its round and its number, then its number again and again. */
static unsigned char *out(int step, int bytes) {
  const int stamp[2] = {round_number, step};
  memset(space(&sent[step]), step & 255, MOST);
  if (bytes > 0) memcpy(sent[step], stamp, sizeof stamp);
  return sent[step];
}

@END@
static unsigned char *in(int step) { return space(&got[step]); }

/* Which message `bytes` and the status are, in communicator `c`, where so many bytes have `room`; 0: none, and that
   is told. */
static int which(int step, int c, const unsigned char *bytes, int room) {
  int count, longer = 0, stamp[2] = {round_number, 0};
  MPI_Get_count(&status, MPI_BYTE, &count);
  if (bytes != NULL && count >= (int)sizeof stamp) memcpy(stamp, bytes, sizeof stamp);
  for (int i = 0; message[i].step != 0; i++) {
    int source = message[i].from;
    if (c == 2) source = RANKS - 1 - source;
    if (c >= 3) source /= 2;
    if (message[i].to != me || message[i].comm != c || message[i].tag != status.MPI_TAG) continue;
    if (source != status.MPI_SOURCE) continue;
    if (error == MPI_ERR_TRUNCATE && message[i].bytes > ROOM) return message[i].step;
    if (message[i].bytes > room) longer = message[i].step;
    if (message[i].bytes != count) continue;
    if (bytes != NULL && count > 0) {
      if (stamp[0] != round_number || stamp[1] != message[i].step) break;
      for (int at = sizeof stamp; at < count; at++) {
        if (bytes[at] != (message[i].step & 255)) wrong("received changed bytes", step), at = count;
      }
    }
    return message[i].step;
  }
  if (longer != 0) wrong("a message that does not fit came without an error", step);
  else wrong("the status names no message that is sent here", step);
  return longer;
}

static void tell(int step, const char *how, int what) {
  snprintf(steps[step], sizeof steps[step], "%d%s%d@PLACE@ ", step, how, what@PLACE_VALUE@);
}

static int class_of(int code) {
  int class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  return class;
}

@IF short_room@
/* A message that is longer than ROOM does not fit. */
static int is_short[STEPS];

static void short_room(int step) {
  is_short[step] = 1;
  memset(in(step), 0, MOST);
}

static void check_room(int step) {
  int count, is_over = 0;
  MPI_Get_count(&status, MPI_BYTE, &count);
  for (int at = ROOM; at < MOST; at++) is_over |= got[step][at];
  if (is_short[step] && is_over) wrong("wrote behind the buffer", step);
  if (is_short[step] && error != MPI_ERR_TRUNCATE && count > ROOM) wrong("a message that does not fit came without an error", step);
}

@END@
static void completed(int step, int as) {
  active[step] = 0;
  if (is_send[step]) {
@SENT@    return;
  }
  const int is_taken = holds[step]; /* by a matched probe, which told of it */
  int was_cancelled = 0;
  holds[step] = 0;
  if (!is_taken) MPI_Test_cancelled(&status, &was_cancelled);
  if (was_cancelled) {
    snprintf(steps[as], sizeof steps[as], "%d:cancelled ", as);
  } else if (is_null[step]) {
    if (status.MPI_SOURCE != MPI_PROC_NULL || status.MPI_TAG != MPI_ANY_TAG) {
      wrong("a receive from MPI_PROC_NULL has another source or tag in its status", as);
    }
  } else {
    int room = MOST;
    received++;
@IF short_room@
    check_room(step);
    if (is_short[step]) room = ROOM;
@END@
    const int what = which(as, comm_of[step], got[step], room);
    if (!is_taken) tell(as, "<-", what);
  }
  error = MPI_SUCCESS;
}

static void started(int step, int as, int c) {
  active[step] = 1;
  called[step] = as;
  comm_of[step] = c;
}

@IF sending@
static void sending(int step) {
  is_send[step] = 1;
  started(step, step, 0);
}

@END@
static void cancel(int step) {
  if (!active[step]) return;
  if (!is_null[step]) MPI_Cancel(&request[step]);
  error = class_of(MPI_Wait(&request[step], &status));
  completed(step, called[step]);
}

@IF start_all@
static void start_all(int count, const int *of) {
  MPI_Request list[STEPS];
  for (int i = 0; i < count; i++) list[i] = request[of[i]];
  MPI_Startall(count, list);
  for (int i = 0; i < count; i++) request[of[i]] = list[i];
}

@END@
@IF attach@
/* Room for what MPI_Bsend and the like keep. */
static void *kept;

static void attach(int count, int bytes) {
  const int room = bytes + count * (MPI_BSEND_OVERHEAD + 64);
  if ((kept = malloc((size_t)room)) == NULL) exit(2);
  MPI_Buffer_attach(kept, room);
}

static void detach(void) {
  int room;
  if (kept != NULL) MPI_Buffer_detach(&kept, &room);
  free(kept);
  kept = NULL;
}

@END@
@IF again@
static void again(int step, int as) {
  cancel(step);
  MPI_Start(&request[step]);
  started(step, as, comm_of[step]);
}

@END@
static void complete(int call, int count, const int *of) {
  MPI_Request list[STEPS];
  MPI_Status all[STEPS];
  int index[STEPS], found = 0;
  for (int i = 0; i < count; i++) list[i] = request[of[i]];
  int result;
  index[0] = MPI_UNDEFINED;
  flag = 1;
  switch (call) {
    case WAIT: result = MPI_Wait(list, all); break;
    case TEST: result = MPI_Test(list, &flag, all); break;
    case WAITALL: result = MPI_Waitall(count, list, all); break;
    case TESTALL: result = MPI_Testall(count, list, &flag, all); break;
    case WAITANY: result = MPI_Waitany(count, list, index, all); break;
    case TESTANY: result = MPI_Testany(count, list, index, &flag, all); break;
    case WAITSOME: result = MPI_Waitsome(count, list, &found, index, all); break;
    default: result = MPI_Testsome(count, list, &found, index, all); break;
  }
  for (int i = 0; i < count; i++) request[of[i]] = list[i];
  if (call == WAITANY || call == TESTANY) {
    found = flag && index[0] != MPI_UNDEFINED;
  } else if (call == WAITSOME || call == TESTSOME) {
    if (found == MPI_UNDEFINED) found = 0;
  } else {
    found = flag ? count : 0;
    for (int i = 0; i < found; i++) index[i] = i;
  }
  for (int i = 0; i < found; i++) {
    status = all[i];
    error = class_of(result);
    if (error == MPI_ERR_IN_STATUS) error = class_of(status.MPI_ERROR);
    if (error == MPI_ERR_PENDING) continue;
    if (active[of[index[i]]]) completed(of[index[i]], called[of[index[i]]]);
  }
}

@IF probed@
/* A probe of `step` came back. */
static void probed(int step, int c, int takes) {
  if (!flag) {
    snprintf(steps[step], sizeof steps[step], "%d:nothing ", step);
    return;
  }
  holds[step] = takes;
  comm_of[step] = c;
  if (!is_null[step]) tell(step, "?", which(step, c, NULL, MOST));
}

@END@
/* Receives what matched probe `from` took. */
static void take(int from, int step, int nonblocking) {
  if (!holds[from]) return;
  holds[from] = 0;
  holds[step] = 1;
  comm_of[step] = comm_of[from];
  if (nonblocking) {
    MPI_Imrecv(in(step), MOST, MPI_BYTE, &handle[from], &request[step]);
    started(step, step, comm_of[from]);
  } else {
    MPI_Mrecv(in(step), MOST, MPI_BYTE, &handle[from], &status);
    completed(step, step);
  }
}

@IF a_little_later@
static void a_little_later(void) {
  for (int i = 0; i < 40; i++) {
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, control, &flag, MPI_STATUS_IGNORE);
    sched_yield();
  }
}

@END@
static void finish(void) {
  static unsigned char *rest;
  int expected = 0;
  operation = 0;
  for (int i = 0; message[i].step != 0; i++) expected += message[i].to == me;
  for (int step = 0; step < STEPS; step++) {
    if (holds[step] && !active[step]) take(step, step, 0);
  }
  for (;;) {
    int of[STEPS], count = 0, sends = 0;
    for (int step = 0; step < STEPS; step++) {
      if (active[step]) of[count++] = step, sends += is_send[step];
    }
    if (received >= expected && sends == 0) break;
    if (count > 0) complete(TESTSOME, count, of);
    for (int c = 0; c < COMMS; c++) {
      MPI_Message found;
      if (comm[c] == MPI_COMM_NULL) continue;
      MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm[c], &flag, &found, &status);
      if (!flag) continue;
      MPI_Mrecv(space(&rest), MOST, MPI_BYTE, &found, &status);
      received++;
      const size_t length = strlen(left[c]);
      snprintf(left[c] + length, sizeof left[c] - length, "end<-%d ", which(0, c, rest, MOST));
    }
    sched_yield();
  }
  for (int step = 0; step < STEPS; step++) {
    cancel(step);
    if (request[step] != MPI_REQUEST_NULL) MPI_Request_free(&request[step]);
  }
}

@PROGRAM@
static void check(void) {
  static char mine[TEXT], all[RANKS][TEXT], whole[RANKS * TEXT];
  mine[0] = 0;
  for (int step = 0; step < STEPS; step++) strncat(mine, steps[step], TEXT - 1 - strlen(mine));
  for (int c = 0; c < COMMS; c++) strncat(mine, left[c], TEXT - 1 - strlen(mine));
  MPI_Gather(mine, TEXT, MPI_CHAR, all, TEXT, MPI_CHAR, 0, control);
  if (me != 0) return;
  whole[0] = 0;
  for (int rank = 0; rank < RANKS; rank++) {
    strcat(whole, all[rank]);
    if (rank + 1 < RANKS) strcat(whole, "| ");
  }
  int is_listed = 0;
  for (int i = 0; listed[i] != NULL; i++) is_listed |= strcmp(listed[i], whole) == 0;
  if (is_listed == LISTED_IS_ALLOWED) return;
  printf("round %d: this must not happen: %s\n", round_number, whole);
  violations++;
}

int main(int argc, char **argv) {
  int ranks, total = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != RANKS) {
    if (me == 0) fprintf(stderr, "run this with %d ranks\n", RANKS);
    MPI_Finalize();
    return 2;
  }
  const int rounds = argc > 1 ? atoi(argv[1]) : 1000;
  MPI_Comm_dup(MPI_COMM_WORLD, &control);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm[0]);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm[1]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &comm[2]);
  MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &comm[3]);
  comm[4] = MPI_COMM_NULL;
  if (RANKS > 1) MPI_Intercomm_create(comm[3], 0, MPI_COMM_WORLD, 1 - me % 2, 0, &comm[4]);
@IF short_room@
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  for (int c = 0; c < COMMS; c++) {
    if (comm[c] != MPI_COMM_NULL) MPI_Comm_set_errhandler(comm[c], MPI_ERRORS_RETURN);
  }
@END@
  signal(SIGALRM, too_long);
  for (round_number = 1; round_number <= rounds && total == 0; round_number++) {
    alarm(SECONDS);
    received = 0;
    memset(steps, 0, sizeof steps);
    memset(left, 0, sizeof left);
    memset(holds, 0, sizeof holds);
    for (int step = 0; step < STEPS; step++) request[step] = MPI_REQUEST_NULL;
    program[me]();
    finish();
    MPI_Barrier(control);
@IF attach@
    detach();
@END@
    check();
    MPI_Allreduce(&violations, &total, 1, MPI_INT, MPI_SUM, control);
  }
  if (me == 0) printf("%s within %d rounds\n", total ? "violation" : "nothing wrong", round_number - 1);
  alarm(0);
  MPI_Finalize();
  return total != 0;
}
