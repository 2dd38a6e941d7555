// SPDX-License-Identifier: Apache-2.0 OR MIT
// Programs that receive with MPI_Recv, or wait with MPI_Wait or MPI_Test. The first argument selects one.
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MESSAGES = 600, TASKS = 120, ROUNDS = 60, UNEXPECTED = 37, POSTED = 23, GO = 9999 };
static int rank, ranks, value;

// Rank 0 takes the messages of rank 1 in the reverse order.
static void storm(void) {
    for (int tag = 0; rank == 1 && tag < MESSAGES; tag++)
        MPI_Send(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int tag = MESSAGES - 1; rank == 0 && tag >= 0; tag--)
        MPI_Recv(&value, 1, MPI_INT, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

// Rank 0 answers whoever asks; a task with tag 0 is the last one.
static void farm(void) {
    MPI_Status status;
    if (rank > 0) {
        do {
            MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
            MPI_Recv(&value, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        } while (status.MPI_TAG);
        return;
    }
    for (int task = 0, stopped = 0; stopped < ranks - 1; task++) {
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
        stopped += task >= TASKS;
        MPI_Send(&value, 1, MPI_INT, status.MPI_SOURCE, task < TASKS, MPI_COMM_WORLD);
    }
}

// Each rank passes eight blocks on, in the reverse order.
static void pipeline(void) {
    for (int round = 0; round < ROUNDS; round++) {
        for (int block = 7; rank > 0 && block >= 0; block--)
            MPI_Recv(&value, 1, MPI_INT, rank - 1, block, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int block = 0; rank < ranks - 1 && block < 8; block++)
            MPI_Send(&value, 1, MPI_INT, rank + 1, block, MPI_COMM_WORLD);
    }
}

// Two ranks exchange messages and wait, or poll.
static void exchange(int polls) {
    MPI_Request request;
    for (int round = 0; round < ROUNDS; round++) {
        int received, done = 0;
        MPI_Irecv(&received, 1, MPI_INT, 1 - rank, round, MPI_COMM_WORLD, &request);
        MPI_Send(&value, 1, MPI_INT, 1 - rank, round, MPI_COMM_WORLD);
        if (!polls)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        while (polls && !done)
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
}

// The lengths of both queues of rank 0 at rest, as the library counts them for rank 1; -1 without such a variable.
static int length_of(const char *name) {
    int count, level, peers = -1;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
    MPI_T_pvar_get_num(&count);
    for (int at = 0; at < count && peers < 0; at++) {
        char found[128], text[512];
        int length = sizeof found, text_length = sizeof text, verbosity, class, binding, is_readonly, is_continuous, is_atomic;
        MPI_Datatype type;
        MPI_T_enum values;
        MPI_T_pvar_get_info(at, found, &length, &verbosity, &class, &type, &values, text, &text_length, &binding, &is_readonly,
                            &is_continuous, &is_atomic);
        if (strcmp(found, name))
            continue;
        MPI_T_pvar_session session;
        MPI_T_pvar_handle handle;
        unsigned lengths[64] = {0};
        MPI_T_pvar_session_create(&session);
        if (MPI_T_pvar_handle_alloc(session, at, &world, &handle, &peers) == MPI_SUCCESS &&
            MPI_T_pvar_read(session, handle, lengths) == MPI_SUCCESS)
            return (int)lengths[1];
        peers = -1;
    }
    return -1;
}

static void queues(void) {
    MPI_Request requests[POSTED], go;
    if (rank == 1) {
        MPI_Recv(&value, 1, MPI_INT, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int tag = 0; tag < UNEXPECTED; tag++)
            MPI_Send(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
        MPI_Send(&value, 1, MPI_INT, 0, GO, MPI_COMM_WORLD);
        MPI_Recv(&value, 1, MPI_INT, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int tag = 0; tag < POSTED; tag++)
            MPI_Send(&value, 1, MPI_INT, 0, 1000 + tag, MPI_COMM_WORLD);
        return;
    }
    MPI_Irecv(&value, 1, MPI_INT, 1, GO, MPI_COMM_WORLD, &go);
    MPI_Send(&value, 1, MPI_INT, 1, GO, MPI_COMM_WORLD);
    MPI_Wait(&go, MPI_STATUS_IGNORE);
    const int unexpected = length_of("pml_ob1_unexpected_msgq_length");
    for (int tag = 0; tag < UNEXPECTED; tag++)
        MPI_Recv(&value, 1, MPI_INT, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int tag = 0; tag < POSTED; tag++)
        MPI_Irecv(&value, 1, MPI_INT, 1, 1000 + tag, MPI_COMM_WORLD, &requests[tag]);
    printf("%d unexpected, %d posted\n", unexpected, length_of("pml_ob1_posted_recvq_length"));
    MPI_Send(&value, 1, MPI_INT, 1, GO, MPI_COMM_WORLD);
    MPI_Waitall(POSTED, requests, MPI_STATUSES_IGNORE);
}

int main(int count, char **arguments) {
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char *which = count > 1 ? arguments[1] : "";
    if (!strcmp(which, "storm"))
        storm();
    else if (!strcmp(which, "farm"))
        farm();
    else if (!strcmp(which, "pipeline"))
        pipeline();
    else if (!strcmp(which, "wait") || !strcmp(which, "poll"))
        exchange(which[0] == 'p');
    else if (!strcmp(which, "queues"))
        queues();
    MPI_Finalize();
    return 0;
}
