/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Messages in a second. In each iteration rank r and rank r + n/2 of n exchange a window of messages: MPI_Irecv and
 * MPI_Isend for each, then MPI_Waitall.
 *
 * usage: rate [BYTES [WINDOW [ITERATIONS]]], by default 64 8 10
 *
 * Each byte of each message before the measured part is compared, and each of the last iteration. The number of ranks
 * is even.
 */
#include "kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Iterations before the measured part: first those that map pages and go round the shared buffers, as barriers do
 * between other pairs; then warm-up. */
enum { LINE = 64, BYTES_MOST = 1 << 20, WINDOW_MOST = 64, MOST = 1 << 20, FIRST = 16, WARM_UP = 2 };

struct run {
    struct world world;
    int bytes, window, other;
    size_t slot; /* bytes of a message's place: whole lines */
    unsigned char *out, *in;
    double wrong; /* bytes */
};

static int number(const char *text, int most, const char *expected)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < 1 || value > most) {
        refuse("rate", text, expected);
    }
    return (int)value;
}

static unsigned char content(int rank, int iteration, int message, int byte)
{
    uint32_t seed = (uint32_t)rank * 131u + (uint32_t)iteration * 8191u + (uint32_t)message * 524287u + (uint32_t)byte;
    return (unsigned char)(seed * UINT32_C(2654435761) >> 24);
}

static void fill(struct run *run, int iteration)
{
    for (int message = 0; message < run->window; ++message) {
        for (int i = 0; i < run->bytes; ++i) {
            run->out[(size_t)message * run->slot + (size_t)i] = content(run->world.rank, iteration, message, i);
        }
    }
}

static void compare(struct run *run, int iteration)
{
    for (int message = 0; message < run->window; ++message) {
        for (int i = 0; i < run->bytes; ++i) {
            run->wrong += run->in[(size_t)message * run->slot + (size_t)i] != content(run->other, iteration, message, i);
        }
    }
}

static void exchange(struct run *run)
{
    MPI_Request requests[2 * WINDOW_MOST];
    for (int message = 0; message < run->window; ++message) {
        size_t at = (size_t)message * run->slot;
        MPI_Irecv(run->in + at, run->bytes, MPI_BYTE, run->other, message, MPI_COMM_WORLD, &requests[2 * message]);
        MPI_Isend(run->out + at, run->bytes, MPI_BYTE, run->other, message, MPI_COMM_WORLD, &requests[2 * message + 1]);
    }
    MPI_Waitall(2 * run->window, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    struct run run = {.bytes = 64, .window = 8};
    int iterations = 10;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &run.world.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run.world.ranks);
    if (argc > 4) {
        refuse("rate", argv[4], "at most three arguments: BYTES WINDOW ITERATIONS");
    }
    if (argc > 1) {
        run.bytes = number(argv[1], BYTES_MOST, "a length from 1 to 1048576 bytes");
    }
    if (argc > 2) {
        run.window = number(argv[2], WINDOW_MOST, "a window of 1 to 64 messages");
    }
    if (argc > 3) {
        iterations = number(argv[3], MOST, "from 1 to 1048576 iterations");
    }
    if (run.world.ranks % 2 != 0) {
        refuse("rate", "an odd number of ranks", "pairs");
    }
    run.other = (run.world.rank + run.world.ranks / 2) % run.world.ranks;
    run.slot = ((size_t)run.bytes + LINE - 1) / LINE * LINE;
    size_t size = (size_t)run.window * run.slot;
    run.out = allocate(size, 1);
    run.in = allocate(size, 1);
    for (int i = 0; i < FIRST; ++i) {
        fill(&run, i);
        exchange(&run);
        compare(&run, i);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    memset(run.in, 0, size);
    begin_warm_up();
    /* Caches are empty; afterwards they have the buffers to send, as after filling them. */
    volatile unsigned char *out = run.out;
    for (size_t i = 0; i < size; i += LINE) {
        out[i] = out[i];
    }
    for (int i = 0; i < WARM_UP; ++i) {
        exchange(&run);
    }
    double begun = begin_measurement();
    for (int i = 0; i < iterations; ++i) {
        exchange(&run);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = end_measurement(begun);

    compare(&run, FIRST - 1);
    double wrong = 0;
    MPI_Reduce(&run.wrong, &wrong, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    free(run.out);
    free(run.in);
    return finish("RATE", slowest(seconds), wrong, 0);
}
