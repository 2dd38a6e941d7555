/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Calls that some MPI libraries lack: they are declared weak, so that their address is NULL there. */
#ifndef MATCHBENCH_CONFORM_OPTIONAL_H
#define MATCHBENCH_CONFORM_OPTIONAL_H

#include <mpi.h>

#define WEAK __attribute__((weak))

WEAK int MPI_Isendrecv(const void *, int, MPI_Datatype, int, int, void *, int, MPI_Datatype, int, int, MPI_Comm,
                       MPI_Request *);

WEAK int MPI_Psend_init(const void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *);
WEAK int MPI_Precv_init(void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *);
WEAK int MPI_Pready(int, MPI_Request);
WEAK int MPI_Parrived(MPI_Request, int, int *);

#define WEAK_SEND(name) WEAK int MPI_##name(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm)
#define WEAK_START(name) WEAK int MPI_##name(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *)
WEAK_SEND(Send_c);
WEAK_SEND(Ssend_c);
WEAK_SEND(Rsend_c);
WEAK_SEND(Bsend_c);
WEAK_START(Isend_c);
WEAK_START(Issend_c);
WEAK_START(Irsend_c);
WEAK_START(Ibsend_c);
WEAK_START(Send_init_c);
WEAK_START(Ssend_init_c);
WEAK_START(Rsend_init_c);
WEAK_START(Bsend_init_c);
WEAK int MPI_Recv_c(void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
WEAK int MPI_Irecv_c(void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
WEAK int MPI_Recv_init_c(void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

/* A type cannot be declared weak; every header that has it defines its null value as a macro. */
#ifdef MPI_SESSION_NULL
#define HAVE_SESSIONS 1
WEAK int MPI_Session_init(MPI_Info, MPI_Errhandler, MPI_Session *);
WEAK int MPI_Session_finalize(MPI_Session *);
WEAK int MPI_Group_from_session_pset(MPI_Session, const char *, MPI_Group *);
WEAK int MPI_Comm_create_from_group(MPI_Group, const char *, MPI_Info, MPI_Errhandler, MPI_Comm *);
#else
#define HAVE_SESSIONS 0
#endif

#endif
