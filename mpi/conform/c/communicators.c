/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "communicators.h"

#include <stddef.h>

#include "interpreter.h"
#include "optional.h"

int rank, ranks;
MPI_Comm control;
MPI_Comm comm[COMMS];
#if HAVE_SESSIONS
static MPI_Session session = MPI_SESSION_NULL;
#endif

const char *const need_name[NEEDS] = {
    [NEED_ISENDRECV] = "isendrecv", [NEED_SESSIONS] = "sessions", [NEED_PARTITIONED] = "partitioned",
    [NEED_THREADS] = "threads",     [NEED_COUNTS] = "counts",
};

int start_mpi(int *argc, char ***argv, int needs) {
  int provided = MPI_THREAD_SINGLE, lacks = 0;
  if (needs >> NEED_THREADS & 1) {
    MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
  } else {
    MPI_Init(argc, argv);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (MPI_Isendrecv == NULL) lacks |= 1 << NEED_ISENDRECV;
  if (MPI_Psend_init == NULL || MPI_Precv_init == NULL) lacks |= 1 << NEED_PARTITIONED;
  if (MPI_Send_c == NULL || MPI_Recv_c == NULL) lacks |= 1 << NEED_COUNTS;
  if (provided != MPI_THREAD_MULTIPLE) lacks |= 1 << NEED_THREADS;
#if HAVE_SESSIONS
  if (MPI_Session_init == NULL || MPI_Comm_create_from_group == NULL) lacks |= 1 << NEED_SESSIONS;
#else
  lacks |= 1 << NEED_SESSIONS;
#endif
  return needs & lacks;
}

/* The communicator of a session, whose ranks are made those of MPI_COMM_WORLD: MPI leaves their order open. */
static void create_session_comm(void) {
#if HAVE_SESSIONS
  MPI_Group group;
  MPI_Comm unordered;
  if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS ||
      MPI_Group_from_session_pset(session, "mpi://WORLD", &group) != MPI_SUCCESS ||
      MPI_Comm_create_from_group(group, "matchbench", MPI_INFO_NULL, MPI_ERRORS_RETURN, &unordered) != MPI_SUCCESS) {
    give_up("no communicator could be made from mpi://WORLD", "MPI_Session_init");
  }
  MPI_Group_free(&group);
  int rank_there, is_other, is_other_anywhere;
  MPI_Comm_rank(unordered, &rank_there);
  is_other = rank_there != rank;
  MPI_Allreduce(&is_other, &is_other_anywhere, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
  comm[COMM_SESSION] = unordered;
  if (is_other_anywhere) {
    MPI_Comm_split(unordered, 0, rank, &comm[COMM_SESSION]);
    MPI_Comm_free(&unordered);
  }
#endif
}

void create_communicators(int needs) {
  MPI_Comm_dup(MPI_COMM_WORLD, &control);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm[COMM_FIRST]);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm[COMM_SECOND]);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm[COMM_REVERSED]);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm[COMM_PARITY]);
  comm[COMM_ACROSS] = comm[COMM_SESSION] = MPI_COMM_NULL;
  if (ranks > 1) MPI_Intercomm_create(comm[COMM_PARITY], 0, MPI_COMM_WORLD, 1 - rank % 2, 0, &comm[COMM_ACROSS]);
  if (needs >> NEED_SESSIONS & 1) create_session_comm();
  for (int i = 0; i < COMMS; i++) {
    if (comm[i] != MPI_COMM_NULL) MPI_Comm_set_errhandler(comm[i], MPI_ERRORS_RETURN);
  }
  /* Libraries use the error handler of one of these for calls on several requests. */
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
}

void free_session(void) {
#if HAVE_SESSIONS
  if (session == MPI_SESSION_NULL) return;
  MPI_Comm_free(&comm[COMM_SESSION]);
  MPI_Session_finalize(&session);
#endif
}
