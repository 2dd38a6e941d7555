/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Times five kernels on two ranks, each bound to a processor of its own where there are two, and prints, for each, the
 * median over batches in ns per call that the recorder would record:
 *   null      MPI_Send to MPI_PROC_NULL: nothing but the call
 *   pingpong  MPI_Send and MPI_Recv of 8 bytes; a round trip holds four calls one after the other, two on each rank
 *   empty     the same with 0 bytes
 *   waitall   500 MPI_Irecv, 500 MPI_Isend and one MPI_Waitall for the 1000 requests: 1001 calls; each rank sends to
 *   itself,
 *             so that no time is spent waiting
 *   wildcard  the same with MPI_ANY_SOURCE and MPI_ANY_TAG, so that the recorder must say of each receive what it took
 * `empty_mean` is the mean over all round trips of `empty`, which includes the windows of the file that the recorder
 * opens. And, to judge the machine by, what one reading of the recorder's clock costs in ns (`clock`); a recorded
 * call takes two.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCHES = 201, NULL_CALLS = 100, ROUND_TRIPS = 50, REQUESTS = 1000, WAITALL_BATCHES = 101 };

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, by_size);
    return values[count / 2];
}

static double took[BATCHES];
static char in[REQUESTS][8], out[8];

static unsigned long long ticks(void) {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long long)now.tv_nsec;
#endif
}

static double clock_reading(void) {
    static volatile unsigned long long sink;
    for (int batch = 0; batch < BATCHES; batch++) {
        double begin = MPI_Wtime();
        for (int i = 0; i < NULL_CALLS; i++)
            sink = ticks();
        took[batch] = (MPI_Wtime() - begin) / NULL_CALLS;
    }
    return 1e9 * median(took, BATCHES);
}

static double waitall(int source, int tag) {
    static MPI_Request requests[REQUESTS];
    for (int batch = 0; batch < WAITALL_BATCHES; batch++) {
        double begin = MPI_Wtime();
        for (int i = 0; i < REQUESTS / 2; i++)
            MPI_Irecv(in[i], 8, MPI_CHAR, source, tag, MPI_COMM_SELF, &requests[i]);
        for (int i = REQUESTS / 2; i < REQUESTS; i++)
            MPI_Isend(out, 8, MPI_CHAR, 0, 0, MPI_COMM_SELF, &requests[i]);
        MPI_Waitall(REQUESTS, requests, MPI_STATUSES_IGNORE);
        took[batch] = (MPI_Wtime() - begin) / (REQUESTS + 1);
    }
    return 1e9 * median(took, WAITALL_BATCHES);
}

/* The median time of a call in round trips of this size; `mean` gets that over all of them. */
static double pingpong(int rank, int bytes, double *mean) {
    const int other = 1 - rank;
    double sum = 0;
    for (int batch = 0; batch < BATCHES; batch++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        for (int i = 0; i < ROUND_TRIPS; i++) {
            if (rank == 0)
                MPI_Send(out, bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD);
            MPI_Recv(in, bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (rank == 1)
                MPI_Send(out, bytes, MPI_CHAR, other, 0, MPI_COMM_WORLD);
        }
        took[batch] = (MPI_Wtime() - begin) / ROUND_TRIPS / 4;
        sum += took[batch];
    }
    *mean = 1e9 * sum / BATCHES;
    return 1e9 * median(took, BATCHES);
}

/* Binds the process to the processor with its rank's number among those that it may use. */
static void bind(int rank) {
    cpu_set_t allowed, one;
    sched_getaffinity(0, sizeof allowed, &allowed);
    for (int cpu = 0, seen = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && seen++ == rank) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            sched_setaffinity(0, sizeof one, &one);
        }
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    bind(rank);

    for (int batch = 0; batch < BATCHES; batch++) {
        double begin = MPI_Wtime();
        for (int i = 0; i < NULL_CALLS; i++)
            MPI_Send(out, 8, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
        took[batch] = (MPI_Wtime() - begin) / NULL_CALLS;
    }
    double null_ns = 1e9 * median(took, BATCHES);

    double mean, empty_mean;
    double pingpong_ns = pingpong(rank, 8, &mean), empty_ns = pingpong(rank, 0, &empty_mean);
    double clock_ns = clock_reading();
    double waitall_ns = waitall(0, 0), wildcard_ns = waitall(MPI_ANY_SOURCE, MPI_ANY_TAG);
    if (rank == 0)
        printf("clock %.1f\nnull %.1f\npingpong %.1f\nempty %.1f\nempty_mean %.1f\nwaitall %.1f\nwildcard %.1f\n", clock_ns, null_ns,
               pingpong_ns, empty_ns, empty_mean, waitall_ns, wildcard_ns);
    return MPI_Finalize();
}
