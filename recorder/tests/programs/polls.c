/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Loops of polls on two ranks, with pauses of known length between them: `polls SCENARIO`. Rank 1 sends what rank 0
 * polls for when rank 0 says so.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { POLLS = 40, PAUSE_NS = 100000, LONG_NS = 2000000 };

static void pause_ns(long ns) {
    const struct timespec time = {.tv_nsec = ns};
    nanosleep(&time, NULL);
}

int main(int argc, char **argv) {
    int rank, in[2], flag = 0;
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1) {
        MPI_Recv(in, 0, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(in, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        MPI_Send(in, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
        return MPI_Finalize();
    }
    MPI_Irecv(&in[0], 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Irecv(&in[1], 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &requests[2]);
    for (int i = 0; i < POLLS; i++) {
        if (!strcmp(argv[1], "one")) {
            MPI_Test(&requests[2], &flag, MPI_STATUS_IGNORE);
        } else if (!strcmp(argv[1], "array")) {
            MPI_Testall(3, requests, &flag, MPI_STATUSES_IGNORE);
        } else if (i % 2) { /* in turn: the gap of each begins where the other poll returned */
            MPI_Test(&requests[1], &flag, MPI_STATUS_IGNORE);
        } else {
            MPI_Iprobe(1, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        }
        if (flag)
            printf("a poll found something\n");
        pause_ns(i < POLLS / 4 ? LONG_NS : PAUSE_NS);
    }
    MPI_Send(in, 0, MPI_INT, 1, 9, MPI_COMM_WORLD);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    return MPI_Finalize();
}
