/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * How much of a message passes while its processes compute. In each iteration ranks 2k and 2k + 1 exchange a
 * message by MPI_Isend and MPI_Irecv, compute, and wait.
 *
 * usage: overlap [PARTS [BYTES [ROUNDS [ITERATIONS]]]], by default both 16384 4096 10. PARTS is both, move or compute:
 * the latter two leave out the other part. A round of computation is a step of a generator of random numbers, which
 * touches no memory.
 *
 * Each byte of the last message, and the last random number, are compared. The number of ranks is even.
 */
#include "kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Iterations before the measured part: first those that map pages and go round the shared buffers, then warm-up. */
enum { LINE = 64, TAG = 1, BYTES_MOST = 1 << 24, MOST = 1 << 30, FIRST = 16, WARM_UP = 2 };

struct run {
    struct world world;
    bool moves, computes;
    int bytes, rounds;
    unsigned char *out, *in;
    uint64_t state; /* of the generator */
};

static int number(const char *text, int least, int most, const char *expected)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < least || value > most) {
        refuse("overlap", text, expected);
    }
    return (int)value;
}

static unsigned char content(int rank, int byte)
{
    return (unsigned char)((uint32_t)(rank * 131 + byte) * UINT32_C(2654435761) >> 24);
}

static void iterate(struct run *run, int count)
{
    int other = run->world.rank ^ 1;
    for (int i = 0; i < count; ++i) {
        MPI_Request requests[2];
        if (run->moves) {
            MPI_Irecv(run->in, run->bytes, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &requests[0]);
            MPI_Isend(run->out, run->bytes, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &requests[1]);
        }
        for (int round = 0; run->computes && round < run->rounds; ++round) {
            random_next(&run->state);
        }
        if (run->moves) {
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        }
    }
}

int main(int argc, char **argv)
{
    struct run run = {.bytes = 16384, .rounds = 4096, .state = RANDOM_SEED};
    int iterations = 10;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &run.world.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run.world.ranks);
    const char *parts = argc > 1 ? argv[1] : "both";
    run.moves = strcmp(parts, "compute") != 0;
    run.computes = strcmp(parts, "move") != 0;
    if (run.moves && run.computes && strcmp(parts, "both") != 0) {
        refuse("overlap", parts, "both, move or compute");
    }
    if (argc > 5) {
        refuse("overlap", argv[5], "at most four arguments: PARTS BYTES ROUNDS ITERATIONS");
    }
    if (argc > 2) {
        run.bytes = number(argv[2], 1, BYTES_MOST, "a length from 1 to 16777216 bytes");
    }
    if (argc > 3) {
        run.rounds = number(argv[3], 0, MOST, "from 0 to 1073741824 rounds");
    }
    if (argc > 4) {
        iterations = number(argv[4], 1, MOST, "from 1 to 1073741824 iterations");
    }
    if (run.world.ranks % 2 != 0) {
        refuse("overlap", "an odd number of ranks", "pairs");
    }
    run.out = allocate((size_t)run.bytes, 1);
    run.in = allocate((size_t)run.bytes, 1);
    for (int i = 0; i < run.bytes; ++i) {
        run.out[i] = content(run.world.rank, i);
    }
    iterate(&run, FIRST);
    MPI_Barrier(MPI_COMM_WORLD);
    begin_warm_up();
    /* Caches are empty; afterwards they have the buffer to send, as after filling it. */
    volatile unsigned char *out = run.out;
    for (int i = 0; i < run.bytes; i += LINE) {
        out[i] = out[i];
    }
    iterate(&run, WARM_UP);
    double begun = begin_measurement();
    iterate(&run, iterations);
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = end_measurement(begun);

    double wrong = 0, sum = 0;
    for (int i = 0; run.moves && i < run.bytes; ++i) {
        wrong += run.in[i] != content(run.world.rank ^ 1, i);
    }
    uint64_t steps = run.computes ? (uint64_t)run.rounds * (uint64_t)(iterations + FIRST + WARM_UP) : 0;
    wrong += run.state != random_skip(RANDOM_SEED, steps);
    MPI_Reduce(&wrong, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    free(run.out);
    free(run.in);
    return finish("OVERLAP", slowest(seconds), sum, 0);
}
