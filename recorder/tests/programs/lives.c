/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Ways in which a rank ends, and what shares its process: `lives SCENARIO` on two ranks (threads:
 * also on one).
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MESSAGES = 20000, THREADS = 3, THREAD_MESSAGES = 300 };

static int rank, size;

/* Messages from rank 0 to rank 1; `die` ends rank 1 by SIGKILL in the middle of them. */
static void stream(int messages, int die) {
    int value = 0;
    for (int i = 0; i < messages; i++) {
        if (rank == 0)
            MPI_Send(&value, 1, MPI_INT, 1, i % 1000, MPI_COMM_WORLD);
        else if (rank == 1)
            MPI_Recv(&value, 1, MPI_INT, 0, i % 1000, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (die && i == messages / 2 && rank == 1)
            kill(getpid(), SIGKILL);
    }
}

/* Each thread exchanges messages with its counterpart, with a tag of its own, and with itself
 * through one shared stream. */
static void *exchange(void *argument) {
    int tag = (int)(long)argument, other = size > 1 ? 1 - rank : 0, in[4], out = tag, flag;
    MPI_Request requests[4];
    for (int i = 0; i < THREAD_MESSAGES; i++) {
        for (int k = 0; k < 2; k++)
            MPI_Irecv(&in[k], 1, MPI_INT, other, tag, MPI_COMM_WORLD, &requests[k]);
        for (int k = 2; k < 4; k++)
            MPI_Isend(&out, 1, MPI_INT, other, tag, MPI_COMM_WORLD, &requests[k]);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        if (in[0] != tag || in[1] != tag) {
            fprintf(stderr, "thread %d got %d and %d\n", tag, in[0], in[1]);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        if (i % 100 == 0) {
            MPI_Iprobe(MPI_ANY_SOURCE, 999, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            MPI_Sendrecv(&out, 1, MPI_INT, other, tag, &in[0], 1, MPI_INT, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    const char *scenario = argc == 2 ? argv[1] : "";
    int provided;
    MPI_Init_thread(&argc, &argv, strcmp(scenario, "threads") ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!strcmp(scenario, "killed")) {
        stream(MESSAGES, 1);
    } else if (!strcmp(scenario, "stream")) {
        stream(MESSAGES, 0);
    } else if (!strcmp(scenario, "limit")) {
        struct rlimit limit = {1 << 20, 1 << 20};
        setrlimit(RLIMIT_FSIZE, &limit);
        stream(MESSAGES, 0);
    } else if (!strcmp(scenario, "exit")) {
        stream(100, 0);
        MPI_Barrier(MPI_COMM_WORLD); /* the launcher may end all ranks when the first one is gone */
        _exit(0);
    } else if (!strcmp(scenario, "abort")) {
        stream(100, 0);
        if (rank == 1)
            MPI_Abort(MPI_COMM_WORLD, 3);
        stream(1, 0);
    } else if (!strcmp(scenario, "refused")) {
        stream(100, 0);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Send(&rank, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
        MPI_Recv(&rank, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1)
            MPI_Send(&rank, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (!strcmp(scenario, "fork")) {
        pid_t child = fork();
        if (child == 0) { /* a child has no business here, but must not spoil the trace either */
            int flag;
            MPI_Iprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            _exit(0);
        }
        waitpid(child, NULL, 0);
        stream(100, 0);
    } else if (!strcmp(scenario, "threads")) {
        pthread_t threads[THREADS];
        if (provided < MPI_THREAD_MULTIPLE) {
            printf("no MPI_THREAD_MULTIPLE\n");
        } else {
            for (long i = 0; i < THREADS; i++)
                pthread_create(&threads[i], NULL, exchange, (void *)i);
            for (int i = 0; i < THREADS; i++)
                pthread_join(threads[i], NULL);
        }
    } else {
        fprintf(stderr, "usage: lives SCENARIO\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return MPI_Finalize();
}
