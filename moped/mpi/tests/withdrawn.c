/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A probe that found a message finds it again until it is received (MPI 4.1, 3.8.1), also while its sender withdraws it
 * from the device to send it from a copy. Needs 2 ranks.
 * Exit status: 0, or 1 with the number of the message that was lost for a moment. */
#include "check.h"

enum { MESSAGES = 20, PROBES = 30 };

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (int i = 0; i < MESSAGES; i++) {
        int value = i, flag = 0;
        if (rank == 0) {
            MPI_Send(&value, 1, MPI_INT, 1, i, MPI_COMM_WORLD);
        } else if (rank == 1) {
            MPI_Status status;
            while (!flag)
                MPI_Iprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            for (int j = 0; j < PROBES; j++) {
                MPI_Iprobe(MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &flag, &status);
                if (!flag) {
                    fprintf(stderr, "withdrawn: message %d was found, and not by probe %d after that\n", i, j);
                    MPI_Abort(MPI_COMM_WORLD, 1);
                }
            }
            MPI_Recv(&value, 1, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(value == i);
        }
    }
    return end("withdrawn");
}
