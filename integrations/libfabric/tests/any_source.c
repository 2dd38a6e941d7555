/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A receive from any source beside a message of the rank to itself, on two ranks: MPI only, no libfabric.
 *
 * usage: mpirun -n 2 any_source [ROUNDS]
 *
 * Each round, rank 0 sends two messages to rank 1, and rank 1 one to itself; all have one tag. Rank 1 receives one from
 * rank 0 and one from any source, and the third by MPI_Improbe. No request is cancelled before. Exit status 4: a
 * status says that a receive was cancelled; 3: a message is not received within ten seconds.
 */
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum { LONG = 2058, MESSAGES = 3, PATIENCE = 10 };

static void fail(int status, int round, const char *what) {
  printf("round %d: %s\n", round, what);
  fflush(stdout);
  MPI_Abort(MPI_COMM_WORLD, status);
}

static void receive_all(int round) {
  static char from_rank_0[LONG], from_any[LONG], probed[LONG], own[LONG];
  MPI_Request receive[2], send;
  MPI_Irecv(from_rank_0, LONG, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &receive[0]);
  MPI_Isend(own, 23, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &send);
  MPI_Irecv(from_any, LONG, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &receive[1]);
  const double began = MPI_Wtime();
  for (int received = 0; received < MESSAGES;) {
    for (int i = 0; i < 2; i++) {
      MPI_Status status;
      int is_complete = 0, is_cancelled = 0;
      if (receive[i] == MPI_REQUEST_NULL) continue;
      MPI_Test(&receive[i], &is_complete, &status);
      if (!is_complete) continue;
      MPI_Test_cancelled(&status, &is_cancelled);
      if (is_cancelled) fail(4, round, "a receive took a message, and its status says that it was cancelled");
      received++;
    }
    MPI_Message message;
    int is_found = 0;
    MPI_Improbe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &is_found, &message, MPI_STATUS_IGNORE);
    if (is_found) {
      MPI_Mrecv(probed, LONG, MPI_BYTE, &message, MPI_STATUS_IGNORE);
      received++;
    } else {
      sched_yield();
    }
    if (MPI_Wtime() - began > PATIENCE) fail(3, round, "a message is not received");
  }
  /* A probe may have found both messages that the receive from any source accepts. */
  if (receive[1] != MPI_REQUEST_NULL) MPI_Cancel(&receive[1]);
  MPI_Waitall(2, receive, MPI_STATUSES_IGNORE);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  static char sent[LONG];
  const int rounds = argc > 1 ? atoi(argv[1]) : 300;
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int round = 1; round <= rounds; round++) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) receive_all(round);
    if (rank != 0) continue;
    MPI_Request send[2];
    MPI_Isend(sent, 20, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &send[0]);
    MPI_Isend(sent, LONG, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &send[1]);
    MPI_Waitall(2, send, MPI_STATUSES_IGNORE);
  }
  if (rank == 0) puts("passed");
  MPI_Finalize();
  return 0;
}
