// SPDX-License-Identifier: Apache-2.0 OR MIT
// Fortran bindings: messages and requests.

#include "fortran.h"

#define SEND(name, c_name)                                                                                             \
    CALL(name, (void *buffer, int *count, int *type, int *dest, int *tag, int *comm, int *error),                      \
         c_name(mb_buffer(buffer), *count, *type, *dest, *tag, *comm))
#define START(name, c_name)                                                                                            \
    CALL(name, (void *buffer, int *count, int *type, int *peer, int *tag, int *comm, int *request, int *error),        \
         c_name(mb_buffer(buffer), *count, *type, *peer, *tag, *comm, request))

SEND(send, MPI_Send)
SEND(ssend, MPI_Ssend)
SEND(rsend, MPI_Rsend)
SEND(bsend, MPI_Bsend)
START(isend, MPI_Isend)
START(issend, MPI_Issend)
START(irsend, MPI_Irsend)
START(ibsend, MPI_Ibsend)
START(send_init, MPI_Send_init)
START(ssend_init, MPI_Ssend_init)
START(rsend_init, MPI_Rsend_init)
START(bsend_init, MPI_Bsend_init)
START(irecv, MPI_Irecv)
START(recv_init, MPI_Recv_init)
CALL(recv, (void *buffer, int *count, int *type, int *source, int *tag, int *comm, int *status, int *error),
     MPI_Recv(mb_buffer(buffer), *count, *type, *source, *tag, *comm, mb_status(status)))
CALL(sendrecv,
     (void *sent, int *sent_count, int *sent_type, int *dest, int *sent_tag, void *received, int *received_count,
      int *received_type, int *source, int *received_tag, int *comm, int *status, int *error),
     MPI_Sendrecv(mb_buffer(sent), *sent_count, *sent_type, *dest, *sent_tag, mb_buffer(received), *received_count,
                  *received_type, *source, *received_tag, *comm, mb_status(status)))
CALL(sendrecv_replace,
     (void *buffer, int *count, int *type, int *dest, int *sent_tag, int *source, int *received_tag, int *comm,
      int *status, int *error),
     MPI_Sendrecv_replace(mb_buffer(buffer), *count, *type, *dest, *sent_tag, *source, *received_tag, *comm,
                          mb_status(status)))
CALL(start, (int *request, int *error), MPI_Start(request))
CALL(startall, (int *count, int *requests, int *error), MPI_Startall(*count, requests))
CALL(probe, (int *source, int *tag, int *comm, int *status, int *error),
     MPI_Probe(*source, *tag, *comm, mb_status(status)))
CALL(iprobe, (int *source, int *tag, int *comm, int *flag, int *status, int *error),
     MPI_Iprobe(*source, *tag, *comm, flag, mb_status(status)))
CALL(mprobe, (int *source, int *tag, int *comm, int *message, int *status, int *error),
     MPI_Mprobe(*source, *tag, *comm, message, mb_status(status)))
CALL(improbe, (int *source, int *tag, int *comm, int *flag, int *message, int *status, int *error),
     MPI_Improbe(*source, *tag, *comm, flag, message, mb_status(status)))
CALL(mrecv, (void *buffer, int *count, int *type, int *message, int *status, int *error),
     MPI_Mrecv(mb_buffer(buffer), *count, *type, message, mb_status(status)))
CALL(imrecv, (void *buffer, int *count, int *type, int *message, int *request, int *error),
     MPI_Imrecv(mb_buffer(buffer), *count, *type, message, request))
CALL(wait, (int *request, int *status, int *error), MPI_Wait(request, mb_status(status)))
CALL(test, (int *request, int *flag, int *status, int *error), MPI_Test(request, flag, mb_status(status)))
CALL(waitall, (int *count, int *requests, int *statuses, int *error),
     MPI_Waitall(*count, requests, mb_status(statuses)))
CALL(testall, (int *count, int *requests, int *flag, int *statuses, int *error),
     MPI_Testall(*count, requests, flag, mb_status(statuses)))
CALL(request_free, (int *request, int *error), MPI_Request_free(request))
CALL(request_get_status, (int *request, int *flag, int *status, int *error),
     MPI_Request_get_status(*request, flag, mb_status(status)))
CALL(cancel, (int *request, int *error), MPI_Cancel(request))
CALL(test_cancelled, (int *status, int *flag, int *error), MPI_Test_cancelled((MPI_Status *)status, flag))
CALL(get_count, (int *status, int *type, int *count, int *error), MPI_Get_count((MPI_Status *)status, *type, count))
CALL(get_elements, (int *status, int *type, int *count, int *error),
     MPI_Get_elements((MPI_Status *)status, *type, count))
CALL(buffer_attach, (void *buffer, int *bytes, int *error), MPI_Buffer_attach(buffer, *bytes))

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
