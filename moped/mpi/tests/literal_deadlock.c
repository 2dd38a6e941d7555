/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The published return from back-off deadlocks. Ranks 0 and 1 back off while rank 2 computes. The bit clears when their
 * descriptors are gone, and they wait for rank 2 in the barrier. Rank 2 has not seen the back-off: it sends by the
 * device to rank 0, which receives by software. Needs a table of 4 (MB_MPI_TABLE) and 3 ranks. */
#include "check.h"

static void compute(double seconds)
{
    const double start = MPI_Wtime();
    while (MPI_Wtime() - start < seconds) {
    }
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    enum { MESSAGES = 8 };
    int x[MESSAGES] = {0}, got = 0;
    MPI_Request requests[MESSAGES];
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        for (int i = 0; i < MESSAGES; i++)
            MPI_Irecv(&x[i], 1, MPI_INT, 1, i, MPI_COMM_WORLD, &requests[i]);
        MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
        MPI_Recv(&got, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(got == 2);
    } else if (rank == 1) {
        compute(0.2);
        for (int i = 0; i < MESSAGES; i++)
            MPI_Ssend(&x[i], 1, MPI_INT, 0, i, MPI_COMM_WORLD);
    } else if (rank == 2) {
        compute(0.6);
        MPI_Ssend(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    return end("literal_deadlock");
}
