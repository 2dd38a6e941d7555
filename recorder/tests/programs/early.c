/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * A library that initializes MPI before main, and keeps the address of a function in its data (`-DLIBRARY`), and a
 * program that uses it.
 */
#include <mpi.h>
#include <stddef.h>

extern int (*const barrier)(MPI_Comm);
#ifdef LIBRARY
int (*const barrier)(MPI_Comm) = MPI_Barrier;
__attribute__((constructor)) static void early(void) { MPI_Init(NULL, NULL); }
#else
int main(void) {
    barrier(MPI_COMM_WORLD);
    return MPI_Finalize();
}
#endif
