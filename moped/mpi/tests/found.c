/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A receive with a wildcard may take one of two messages that probes have found, and takes the older one. A probe
 * still finds the other one in the back-off that follows, although its sender computes and has not sent it in software
 * (MPI 4.1, 3.8.1). Needs a table of 4 (MB_MPI_TABLE) and 2 ranks.
 * Exit status: 0, or 1 if the message is not found. */
#include "check.h"

enum { TABLE = 4 };

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    int a = 1, b = 2, flag = 0, value = 0, other;
    MPI_Request requests[2], posted[TABLE];
    if (rank == 0) {
        MPI_Isend(&a, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&b, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &requests[1]);
        const double start = MPI_Wtime();
        while (MPI_Wtime() - start < 0.3) {
        }
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < TABLE; i++)
            MPI_Send(&a, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
    } else if (rank == 1) {
        for (int tag = 1; tag <= 2; tag++, flag = 0)
            while (!flag)
                MPI_Iprobe(0, tag, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        MPI_Recv(&value, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(value == a);
        for (int i = 0; i < TABLE; i++)
            MPI_Irecv(&other, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &posted[i]);
        MPI_Iprobe(0, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        CHECK(flag);
        MPI_Recv(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(value == b);
        MPI_Iprobe(0, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
        MPI_Waitall(TABLE, posted, MPI_STATUSES_IGNORE);
    }
    return end("found");
}
