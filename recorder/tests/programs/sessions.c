/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * MPI by sessions: `sessions SCENARIO` on two ranks. "alone": without MPI_Init; "beside": before, during
 * and after MPI_Init; "again": a session after the last one was finalized; "threads": MPI_Init without
 * threads, then a session that allows them.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
static MPI_Session begin(const char *level) {
    MPI_Session session;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", level);
    MPI_Session_init(info, MPI_ERRORS_RETURN, &session);
    MPI_Info_free(&info);
    return session;
}

static MPI_Comm world_of(MPI_Session session, const char *name) {
    MPI_Group group;
    MPI_Comm comm;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    return comm;
}

/* Rank 0 sends `count` messages to rank 1. */
static void send(MPI_Comm comm, int tag, int count) {
    int rank, value = 0;
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < count; i++) {
        if (rank == 0)
            MPI_Send(&value, 1, MPI_INT, 1, tag, comm);
        else
            MPI_Recv(&value, 1, MPI_INT, 0, tag, comm, MPI_STATUS_IGNORE);
    }
}

/* Each rank is a side of an intercommunicator, and sends the other one a message. */
static void sides(MPI_Session session) {
    MPI_Group all, mine, theirs;
    MPI_Comm comm;
    int rank, other, value = 0;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
    MPI_Group_rank(all, &rank);
    other = 1 - rank;
    MPI_Group_incl(all, 1, &rank, &mine);
    MPI_Group_incl(all, 1, &other, &theirs);
    MPI_Intercomm_create_from_groups(mine, 0, theirs, 0, "sides", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Sendrecv_replace(&value, 1, MPI_INT, 0, 9, 0, 9, comm, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
    MPI_Group_free(&all);
    MPI_Group_free(&mine);
    MPI_Group_free(&theirs);
}

int main(int argc, char **argv) {
    const char *scenario = argc == 2 ? argv[1] : "", *single = "MPI_THREAD_SINGLE";
    MPI_Session session, second;
    MPI_Comm comm, other;
    if (!strcmp(scenario, "alone")) {
        session = begin(single);
        comm = world_of(session, "first");
        other = world_of(session, "second");
        send(comm, 1, 3);
        send(other, 2, 2);
        sides(session);
        MPI_Comm_free(&comm);
        MPI_Comm_free(&other);
        MPI_Session_finalize(&session);
    } else if (!strcmp(scenario, "beside")) {
        session = begin(single);
        comm = world_of(session, "first");
        send(comm, 1, 3);
        MPI_Init(&argc, &argv);
        send(MPI_COMM_WORLD, 3, 4);
        second = begin(single);
        other = world_of(second, "first");
        send(other, 2, 2);
        MPI_Comm_free(&other);
        MPI_Session_finalize(&second);
        MPI_Finalize();
        send(comm, 1, 3);
        MPI_Comm_free(&comm);
        MPI_Session_finalize(&session);
    } else if (!strcmp(scenario, "again")) {
        for (int i = 0; i < 3; i++) {
            session = begin(single);
            comm = world_of(session, "first");
            send(comm, i, 5000);
            MPI_Comm_free(&comm);
            MPI_Session_finalize(&session);
        }
    } else if (!strcmp(scenario, "threads")) {
        MPI_Init(&argc, &argv);
        send(MPI_COMM_WORLD, 1, 100);
        session = begin("MPI_THREAD_MULTIPLE");
        comm = world_of(session, "first");
        send(comm, 1, 100);
        send(MPI_COMM_WORLD, 1, 100);
        MPI_Comm_free(&comm);
        MPI_Session_finalize(&session);
        MPI_Finalize();
    } else {
        fprintf(stderr, "usage: sessions SCENARIO\n");
        return 2;
    }
    return 0;
}
#else
int main(void) {
    printf("no sessions\n");
    return 0;
}
#endif
