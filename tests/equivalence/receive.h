// SPDX-License-Identifier: Apache-2.0 OR MIT
// MPI_Recv in the form that BY selects, included before a program: PROBE for MPI_Mprobe and MPI_Mrecv, POLL for
// MPI_Improbe until it finds the message and MPI_Mrecv. Without BY, MPI_Recv is the library's.
#include <mpi.h>

enum { PROBE = 1, POLL };

#ifdef BY
static inline int receive(void *buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status) {
    MPI_Message message;
    if (BY == PROBE)
        MPI_Mprobe(source, tag, comm, &message, MPI_STATUS_IGNORE);
    for (int found = BY == PROBE; !found;)
        MPI_Improbe(source, tag, comm, &found, &message, MPI_STATUS_IGNORE);
    return MPI_Mrecv(buffer, count, type, &message, status);
}
#define MPI_Recv receive
#endif
