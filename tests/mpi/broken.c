/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Plants faults in an MPI library, to show that `matchbench mpi conform` finds them.
 * Preloaded into every rank; the variable MATCHBENCH_BREAK selects one of the first three, `abort`, or both, as in
 * `swap,abort`:
 *
 *   swap     a receive is posted after the next receive
 *   age      a receive with MPI_ANY_SOURCE is delayed until the next call other than MPI_Irecv
 *   forever  a receive from one source with MPI_ANY_TAG is never reported complete
 *   abort    MPI_Sendrecv ends the process
 *
 * A delayed receive is a persistent one, so that it has a request before it is posted; on completion the request is
 * freed, as that of MPI_Irecv would be. Only calls that the interpreter makes are wrapped.
 */
#include <mpi.h>

#include <stdlib.h>
#include <string.h>

enum { MAX_REQUESTS = 4096 };
static enum { NOTHING, SWAP, AGE, FOREVER } fault;
static int aborts;

/* Persistent receives created here, those of them not started yet, and receives never reported complete. */
static MPI_Request persistent[MAX_REQUESTS], delayed[MAX_REQUESTS], hidden[MAX_REQUESTS];
static int persistent_count, delayed_count, hidden_count;

static int place(const MPI_Request *list, int count, MPI_Request request) {
  for (int i = 0; i < count; i++) {
    if (list[i] == request) return i;
  }
  return -1;
}

static void start_delayed(void) {
  for (int i = 0; i < delayed_count; i++) PMPI_Start(&delayed[i]);
  delayed_count = 0;
}

static void choose_fault(void) {
  const char *name = getenv("MATCHBENCH_BREAK");
  if (name == NULL) name = "";
  if (strstr(name, "swap") != NULL) fault = SWAP;
  if (strstr(name, "age") != NULL) fault = AGE;
  if (strstr(name, "forever") != NULL) fault = FOREVER;
  aborts = strstr(name, "abort") != NULL;
}

int MPI_Init(int *argc, char ***argv) {
  choose_fault();
  return PMPI_Init(argc, argv);
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
  choose_fault();
  return PMPI_Init_thread(argc, argv, required, provided);
}

int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request) {
  const int is_held = (fault == SWAP && delayed_count == 0) || (fault == AGE && source == MPI_ANY_SOURCE);
  if (!is_held || persistent_count == MAX_REQUESTS || source == MPI_PROC_NULL) {
    const int result = PMPI_Irecv(buffer, count, type, source, tag, comm, request);
    if (fault == SWAP) start_delayed();
    const int is_hidden = fault == FOREVER && source >= 0 && tag == MPI_ANY_TAG;
    if (is_hidden && hidden_count < MAX_REQUESTS) hidden[hidden_count++] = *request;
    return result;
  }
  const int result = PMPI_Recv_init(buffer, count, type, source, tag, comm, request);
  persistent[persistent_count++] = delayed[delayed_count++] = *request;
  return result;
}

/* Frees a completed persistent receive, as MPI does for MPI_Irecv. */
static void free_if_persistent(MPI_Request *request) {
  const int at = place(persistent, persistent_count, *request);
  if (at < 0) return;
  persistent[at] = persistent[--persistent_count];
  PMPI_Request_free(request);
}

static int is_hidden(MPI_Request request) { return place(hidden, hidden_count, request) >= 0; }

static void block_if_hidden(int count, const MPI_Request *list) {
  for (int i = 0; i < count; i++) {
    while (is_hidden(list[i])) {
      int flag;
      PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
  }
}

int MPI_Wait(MPI_Request *request, MPI_Status *status) {
  start_delayed();
  block_if_hidden(1, request);
  const int result = PMPI_Wait(request, status);
  free_if_persistent(request);
  return result;
}

int MPI_Waitall(int count, MPI_Request list[], MPI_Status *statuses) {
  start_delayed();
  block_if_hidden(count, list);
  const int result = PMPI_Waitall(count, list, statuses);
  for (int i = 0; i < count; i++) free_if_persistent(&list[i]);
  return result;
}

int MPI_Waitany(int count, MPI_Request list[], int *index, MPI_Status *status) {
  start_delayed();
  const int result = PMPI_Waitany(count, list, index, status);
  if (*index != MPI_UNDEFINED) free_if_persistent(&list[*index]);
  return result;
}

int MPI_Waitsome(int count, MPI_Request list[], int *found, int index[], MPI_Status *statuses) {
  start_delayed();
  const int result = PMPI_Waitsome(count, list, found, index, statuses);
  for (int i = 0; *found != MPI_UNDEFINED && i < *found; i++) free_if_persistent(&list[index[i]]);
  return result;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status) {
  start_delayed();
  *flag = 0;
  if (is_hidden(*request)) return MPI_SUCCESS;
  const int result = PMPI_Test(request, flag, status);
  if (*flag) free_if_persistent(request);
  return result;
}

int MPI_Testall(int count, MPI_Request list[], int *flag, MPI_Status *statuses) {
  start_delayed();
  *flag = 0;
  for (int i = 0; i < count; i++) {
    if (is_hidden(list[i])) return MPI_SUCCESS;
  }
  const int result = PMPI_Testall(count, list, flag, statuses);
  for (int i = 0; *flag && i < count; i++) free_if_persistent(&list[i]);
  return result;
}

/* The list with MPI_REQUEST_NULL in place of hidden requests. */
static void mask(int count, const MPI_Request *list, MPI_Request *masked) {
  for (int i = 0; i < count; i++) masked[i] = is_hidden(list[i]) ? MPI_REQUEST_NULL : list[i];
}

static void unmask(int count, MPI_Request *list, const MPI_Request *masked) {
  for (int i = 0; i < count; i++) {
    if (!is_hidden(list[i])) list[i] = masked[i];
  }
}

int MPI_Testany(int count, MPI_Request list[], int *index, int *flag, MPI_Status *status) {
  MPI_Request masked[MAX_REQUESTS];
  start_delayed();
  mask(count, list, masked);
  const int result = PMPI_Testany(count, masked, index, flag, status);
  unmask(count, list, masked);
  if (*flag && *index != MPI_UNDEFINED) free_if_persistent(&list[*index]);
  return result;
}

int MPI_Testsome(int count, MPI_Request list[], int *found, int index[], MPI_Status *statuses) {
  MPI_Request masked[MAX_REQUESTS];
  start_delayed();
  mask(count, list, masked);
  const int result = PMPI_Testsome(count, masked, found, index, statuses);
  unmask(count, list, masked);
  for (int i = 0; *found != MPI_UNDEFINED && i < *found; i++) free_if_persistent(&list[index[i]]);
  return result;
}

int MPI_Cancel(MPI_Request *request) {
  start_delayed();
  const int at = place(hidden, hidden_count, *request);
  if (at >= 0) hidden[at] = hidden[--hidden_count];
  return PMPI_Cancel(request);
}

/* ---- calls that post delayed receives first ---- */

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status) {
  start_delayed();
  return PMPI_Recv(buffer, count, type, source, tag, comm, status);
}

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  start_delayed();
  return PMPI_Send(buffer, count, type, dest, tag, comm);
}

int MPI_Ssend(const void *buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  start_delayed();
  return PMPI_Ssend(buffer, count, type, dest, tag, comm);
}

int MPI_Sendrecv(const void *out, int out_count, MPI_Datatype out_type, int dest, int out_tag, void *in, int in_count,
                 MPI_Datatype in_type, int source, int in_tag, MPI_Comm comm, MPI_Status *status) {
  if (aborts) abort();
  start_delayed();
  return PMPI_Sendrecv(out, out_count, out_type, dest, out_tag, in, in_count, in_type, source, in_tag, comm, status);
}

int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status) {
  start_delayed();
  return PMPI_Probe(source, tag, comm, status);
}

int MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status) {
  start_delayed();
  return PMPI_Mprobe(source, tag, comm, message, status);
}

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status) {
  start_delayed();
  return PMPI_Iprobe(source, tag, comm, flag, status);
}

int MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status) {
  start_delayed();
  return PMPI_Improbe(source, tag, comm, flag, message, status);
}

int MPI_Barrier(MPI_Comm comm) {
  start_delayed();
  return PMPI_Barrier(comm);
}
