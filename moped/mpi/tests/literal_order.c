/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The published back-off breaks the order of messages. Rank 0 sends A by the device; then its table is full, so that B,
 * of the same tag, is refused and goes by software. A leaves the device when it is polled, and rank 0 computes now.
 * Rank 1 receives B first (MPI 3.1, 3.5 requires A). Needs a table of 4 (MB_MPI_TABLE) and 2 ranks.
 * Exit status: 0 in order, 1 out of order. */
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
    int a = 1, b = 2, other = 3, first = 0, second = 0, dropped;
    MPI_Request requests[5];
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Isend(&a, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &requests[0]);
        for (int i = 1; i < 4; i++)
            MPI_Isend(&other, 1, MPI_INT, 1, i, MPI_COMM_WORLD, &requests[i]);
        MPI_Isend(&b, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, &requests[4]);
        compute(0.5);
        MPI_Waitall(5, requests, MPI_STATUSES_IGNORE);
    } else if (rank == 1) {
        compute(0.2);
        MPI_Recv(&first, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&second, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 1; i < 4; i++)
            MPI_Recv(&dropped, 1, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("literal_order: %s\n", first == a ? "in order" : "out of order: B before A");
        fflush(stdout);
        if (first != a) MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}
