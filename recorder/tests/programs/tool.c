/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * A profiling tool: counts calls by the interface of MPI for tools, and prints the counts in the end.
 */
#include <mpi.h>
#include <stdio.h>

static int sends, receives, waits, collectives;

int MPI_Send(const void *b, int n, MPI_Datatype t, int peer, int tag, MPI_Comm c) { return sends++, PMPI_Send(b, n, t, peer, tag, c); }
int MPI_Isend(const void *b, int n, MPI_Datatype t, int peer, int tag, MPI_Comm c, MPI_Request *r) {
    return sends++, PMPI_Isend(b, n, t, peer, tag, c, r);
}
int MPI_Irecv(void *b, int n, MPI_Datatype t, int peer, int tag, MPI_Comm c, MPI_Request *r) {
    return receives++, PMPI_Irecv(b, n, t, peer, tag, c, r);
}
int MPI_Waitall(int n, MPI_Request *r, MPI_Status *s) { return waits++, PMPI_Waitall(n, r, s); }
int MPI_Bcast(void *b, int n, MPI_Datatype t, int root, MPI_Comm c) { return collectives++, PMPI_Bcast(b, n, t, root, c); }
int MPI_Finalize(void) {
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "tool: rank %d: %d %d %d %d\n", rank, sends, receives, waits, collectives);
    return PMPI_Finalize();
}
