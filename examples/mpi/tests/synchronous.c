/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Preloaded into a program by the tests: every send is synchronous, so that a program that counts on MPI to buffer a
 * message hangs.
 */
#include <mpi.h>

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    return PMPI_Ssend(buffer, count, type, to, tag, comm);
}

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
    return PMPI_Issend(buffer, count, type, to, tag, comm, request);
}

int MPI_Send_init(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
                  MPI_Request *request)
{
    return PMPI_Ssend_init(buffer, count, type, to, tag, comm, request);
}
