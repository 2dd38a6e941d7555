/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * A shared object that uses MPI, on two ranks; late.c loads it, as an interpreter loads its
 * extension modules.
 */
#include <mpi.h>
#include <stddef.h>

int run(void) {
    int rank, out = 0, in = 0;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Sendrecv(&out, 1, MPI_INT, 1 - rank, 0, &in, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return MPI_Finalize();
}
