/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A probe that finds nothing returns (MPI 4.1, 3.8.1), also while the sender of a message that a matched probe holds
 * waits in its send. Needs 2 ranks.
 * Exit status: 0, or 1 if a probe finds a message that was not sent. */
#include "check.h"

enum { MESSAGES = 3, PROBES = 200, HELD = 1, OTHER = 2 };

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (int i = 0; i < MESSAGES; i++) {
        int value = i, flag = 0;
        if (rank == 0) {
            MPI_Send(&value, 1, MPI_INT, 1, HELD, MPI_COMM_WORLD);
        } else if (rank == 1) {
            MPI_Message message;
            while (!flag)
                MPI_Improbe(0, HELD, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
            for (int j = 0; j < PROBES; j++) {
                MPI_Iprobe(0, OTHER, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
                CHECK(!flag);
            }
            MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
            CHECK(value == i);
        }
    }
    return end("held");
}
