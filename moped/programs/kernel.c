/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "kernel.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A library that runs programs on the simulated chip defines it; see README.md. */
extern void mb_mark(int kind) __attribute__((weak));

#define MULTIPLIER UINT64_C(1220703125) /* 5^13 */
#define MODULUS_MASK ((UINT64_C(1) << 46) - 1)

double random_next(uint64_t *state)
{
    /* The product modulo 2^64 has the low 46 bits of the product. */
    *state = *state * MULTIPLIER & MODULUS_MASK;
    return (double)*state * 0x1p-46;
}

uint64_t random_skip(uint64_t state, uint64_t count)
{
    for (uint64_t power = MULTIPLIER; count != 0; count >>= 1) {
        if (count & 1) {
            state = state * power & MODULUS_MASK;
        }
        power = power * power & MODULUS_MASK;
    }
    return state;
}

void *allocate(size_t count, size_t bytes)
{
    void *memory = calloc(count != 0 ? count : 1, bytes);
    if (memory == NULL) {
        fprintf(stderr, "allocate: no memory for %zu items of %zu bytes; run on more ranks\n", count, bytes);
        MPI_Abort(MPI_COMM_WORLD, 2);
        abort();
    }
    return memory;
}

struct world start(int argc, char **argv, const char *name)
{
    struct world world;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world.ranks);
    if (argc > 1) {
        refuse(name, argv[1], "no argument: the size is that of class S");
    }
    return world;
}

void refuse(const char *name, const char *found, const char *expected)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        fprintf(stderr, "%s: found %s, expected %s\n", name, found, expected);
    }
    MPI_Finalize();
    exit(2);
}

static void mark(enum mark kind)
{
    if (mb_mark != NULL) {
        mb_mark((int)kind);
    }
}

/* Of MB_SAMPLE: steps of warm-up, and measured steps; the latter 0 without it. */
static struct sample {
    int warm_up, measured;
} sample;

/* Steps begun in the measured part; negative outside of it. */
static int steps_begun = -1;

static _Noreturn void end_sample(void)
{
    int rank, ranks;
    mark(MARK_FUNCTIONAL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank == 0) {
        printf("ranks=%d sampled %d steps\n", ranks, sample.measured);
        fflush(stdout);
    }
    MPI_Finalize();
    exit(0);
}

static void read_sample(void)
{
    const char *text = getenv("MB_SAMPLE");
    char end;
    if (text != NULL && (sscanf(text, "%d,%d%c", &sample.warm_up, &sample.measured, &end) != 2 ||
                         sample.warm_up < 0 || sample.measured < 1)) {
        refuse("MB_SAMPLE", text, "W,N: steps of warm-up, and one measured step or more");
    }
}

void share_int(int *value)
{
    MPI_Bcast(value, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

void share_ints(int *values, int count)
{
    MPI_Bcast(values, count, MPI_INT, 0, MPI_COMM_WORLD);
}

void share_doubles(double *values, int count)
{
    MPI_Bcast(values, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

void begin_warm_up(void)
{
    read_sample();
    if (sample.measured == 0) {
        mark(MARK_WARM_UP);
    }
}

double begin_measurement(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    steps_begun = 0;
    if (sample.measured == 0) {
        mark(MARK_TIMING);
    }
    return MPI_Wtime();
}

void begin_step(void)
{
    if (sample.measured == 0 || steps_begun < 0) {
        return;
    }
    int step = steps_begun++;
    if (step == sample.warm_up + sample.measured) {
        end_sample();
    } else if (step == sample.warm_up) {
        mark(MARK_TIMING);
    } else if (step == 0) {
        mark(MARK_WARM_UP);
    }
}

double end_measurement(double begun)
{
    double seconds = MPI_Wtime() - begun;
    steps_begun = -1;
    mark(MARK_FUNCTIONAL);
    return seconds;
}

double relative_difference(const double *found, const double *expected, int count)
{
    double largest = 0;
    for (int i = 0; i < count; ++i) {
        double difference = fabs((found[i] - expected[i]) / expected[i]);
        if (!(difference <= largest)) {
            largest = isnan(difference) ? INFINITY : difference;
        }
    }
    return largest;
}

double slowest(double seconds)
{
    double most = 0;
    MPI_Reduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return most;
}

int finish(const char *name, double seconds, double residual, double limit)
{
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    bool good = rank != 0 || residual <= limit;
    if (rank == 0) {
        printf("%s ranks=%d %s residual=%.3e limit=%.0e seconds=%.6f\n", name, ranks, good ? "verified" : "WRONG",
               residual, limit, seconds);
        fflush(stdout);
    }
    MPI_Finalize();
    return good ? 0 : 1;
}
