// SPDX-License-Identifier: Apache-2.0 OR MIT
// Fortran bindings: messages and requests.

#include "fortran.h"
#include "fortran_messages.inc"

// Indices begin with 1.
static int from_one(int index)
{
    return index >= 0 ? index + 1 : index;
}

void mpi_waitany_(int *count, int *requests, int *index, int *status, int *error);
void mpi_waitany_(int *count, int *requests, int *index, int *status, int *error)
{
    const int result = MPI_Waitany(*count, requests, index, mb_status(status));
    if (error != NULL) *error = result;
    *index = from_one(*index);
}

void mpi_testany_(int *count, int *requests, int *index, int *flag, int *status, int *error);
void mpi_testany_(int *count, int *requests, int *index, int *flag, int *status, int *error)
{
    const int result = MPI_Testany(*count, requests, index, flag, mb_status(status));
    if (error != NULL) *error = result;
    *index = from_one(*index);
}

void mpi_waitsome_(int *count, int *requests, int *completed, int *indices, int *statuses, int *error);
void mpi_waitsome_(int *count, int *requests, int *completed, int *indices, int *statuses, int *error)
{
    const int result = MPI_Waitsome(*count, requests, completed, indices, mb_status(statuses));
    if (error != NULL) *error = result;
    for (int i = 0; i < *completed; i++)
        indices[i] = from_one(indices[i]);
}

void mpi_testsome_(int *count, int *requests, int *completed, int *indices, int *statuses, int *error);
void mpi_testsome_(int *count, int *requests, int *completed, int *indices, int *statuses, int *error)
{
    const int result = MPI_Testsome(*count, requests, completed, indices, mb_status(statuses));
    if (error != NULL) *error = result;
    for (int i = 0; i < *completed; i++)
        indices[i] = from_one(indices[i]);
}

// The program has the buffer already: its address is not returned.
void mpi_buffer_detach_(void *buffer, int *bytes, int *error);
void mpi_buffer_detach_(void *buffer, int *bytes, int *error)
{
    void *address;
    (void)buffer;
    const int result = MPI_Buffer_detach(&address, bytes);
    if (error != NULL) *error = result;
}
