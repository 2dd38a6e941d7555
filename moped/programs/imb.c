/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * Six communication patterns in the manner of the Intel MPI Benchmarks 3.2 (user's guide, MPI-1 part):
 *   PP ping-pong    rank 0 sends, rank 1 answers        XC ping-ping  ranks 0 and 1 send to each other at once
 *   BC broadcast    RD reduce (sums of floats)    GA gather    the root moves on by a rank in each iteration
 *   AA all-to-all
 * One buffer to send and one to receive serve all iterations. In PP and XC the other ranks only wait.
 *
 * usage: imb [PATTERN [BYTES [ITERATIONS [WARM_UP]]]], by default PP 16384 10 2. BYTES is the length of a
 * message: in GA and AA of the part of each pair of ranks. Constants of these names, given to the
 * compiler, replace the defaults.
 *
 * First WARM_UP iterations, at most CHECKED_MOST, in which each message has content of its own and every byte received
 * is compared; they also map the pages. Then WARM_UP iterations of warm-up, and the measured ones, in which nothing but
 * the messages touches the buffers: they are filled before and compared after both. With -DCHECK_EACH=1 the measured
 * iterations are filled and compared one by one as well. Barriers keep checks out of the other parts.
 *
 * MB_OFFSETS=S,R in the environment: the buffer to send begins S bytes behind the begin of a cache line, and the one to
 * receive R bytes. Without it they begin where the C library puts them.
 */
#include "kernel.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef PATTERN
#define PATTERN "PP"
#endif
#ifndef BYTES
#define BYTES 16384
#endif
#ifndef ITERATIONS
#define ITERATIONS 10
#endif
#ifndef WARM_UP
#define WARM_UP 2
#endif
#ifndef CHECK_EACH
#define CHECK_EACH 0
#endif

enum { CHECKED_MOST = 2, LINE = 64, TAG = 1, BYTES_MOST = 1 << 26, ITERATIONS_MOST = 1000000 };

struct run {
    struct world world;
    int bytes;
    size_t room;             /* of each buffer: a message, or one of each rank */
    unsigned char *out, *in; /* a broadcast uses only the latter */
    long long wrong;         /* bytes */
};

struct pattern {
    const char *name;
    bool pair; /* needs two ranks */
    bool all;  /* buffers have a part for each rank */
    void (*fill)(struct run *run, int stamp, int root);
    void (*move)(struct run *run, int root);
    void (*check)(struct run *run, int stamp, int root);
};

/* For messages whose content does not depend on the sender or the receiver. */
enum { ANY = -1 };

/* A byte of a message. */
static unsigned char content(int from, int to, int stamp, int byte)
{
    uint32_t mix = (uint32_t)from * 40503U + (uint32_t)to * 30011U + (uint32_t)stamp * 7919U + (uint32_t)byte;
    return (unsigned char)((mix * UINT32_C(2654435761)) >> 24);
}

static void fill_message(const struct run *run, unsigned char *message, int from, int to, int stamp)
{
    for (int i = 0; i < run->bytes; ++i) {
        message[i] = content(from, to, stamp, i);
    }
}

static void check_message(struct run *run, const unsigned char *message, int from, int to, int stamp)
{
    for (int i = 0; i < run->bytes; ++i) {
        run->wrong += message[i] != content(from, to, stamp, i);
    }
}

static unsigned char *part(const struct run *run, unsigned char *buffer, int rank)
{
    return &buffer[(size_t)rank * (size_t)run->bytes];
}

static void fill_pair(struct run *run, int stamp, int root)
{
    (void)root;
    fill_message(run, run->out, run->world.rank, ANY, stamp);
}

static void check_pair(struct run *run, int stamp, int root)
{
    (void)root;
    if (run->world.rank < 2) {
        check_message(run, run->in, 1 - run->world.rank, ANY, stamp);
    }
}

static void move_ping_pong(struct run *run, int root)
{
    (void)root;
    int other = 1 - run->world.rank;
    if (run->world.rank == 0) {
        MPI_Send(run->out, run->bytes, MPI_BYTE, other, TAG, MPI_COMM_WORLD);
    }
    if (run->world.rank < 2) {
        MPI_Recv(run->in, run->bytes, MPI_BYTE, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (run->world.rank == 1) {
        MPI_Send(run->out, run->bytes, MPI_BYTE, other, TAG, MPI_COMM_WORLD);
    }
}

static void move_ping_ping(struct run *run, int root)
{
    (void)root;
    int other = 1 - run->world.rank;
    if (run->world.rank < 2) {
        MPI_Request sent;
        MPI_Isend(run->out, run->bytes, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &sent);
        MPI_Recv(run->in, run->bytes, MPI_BYTE, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
    }
}

/* The next root sends on what it received, so that the content does not depend on the root. */
static void fill_broadcast(struct run *run, int stamp, int root)
{
    if (run->world.rank == root) {
        fill_message(run, run->in, ANY, ANY, stamp);
    }
}

static void move_broadcast(struct run *run, int root)
{
    MPI_Bcast(run->in, run->bytes, MPI_BYTE, root, MPI_COMM_WORLD);
}

static void check_broadcast(struct run *run, int stamp, int root)
{
    (void)root;
    check_message(run, run->in, ANY, ANY, stamp);
}

static void fill_reduce(struct run *run, int stamp, int root)
{
    (void)root;
    for (int i = 0; i < run->bytes / (int)sizeof(float); ++i) {
        float value = content(run->world.rank, ANY, stamp, i);
        memcpy(&run->out[(size_t)i * sizeof value], &value, sizeof value);
    }
}

static void move_reduce(struct run *run, int root)
{
    MPI_Reduce(run->out, run->in, run->bytes / (int)sizeof(float), MPI_FLOAT, MPI_SUM, root, MPI_COMM_WORLD);
}

/* A sum of whole numbers below 2^24 is exact in a float, in any order. */
static void check_reduce(struct run *run, int stamp, int root)
{
    for (int i = 0; i < run->bytes / (int)sizeof(float) && run->world.rank == root; ++i) {
        float expected = 0, found;
        for (int rank = 0; rank < run->world.ranks; ++rank) {
            expected += (float)content(rank, ANY, stamp, i);
        }
        memcpy(&found, &run->in[(size_t)i * sizeof found], sizeof found);
        run->wrong += found == expected ? 0 : (int)sizeof found;
    }
}

static void move_gather(struct run *run, int root)
{
    MPI_Gather(run->out, run->bytes, MPI_BYTE, run->in, run->bytes, MPI_BYTE, root, MPI_COMM_WORLD);
}

static void check_gather(struct run *run, int stamp, int root)
{
    for (int from = 0; from < run->world.ranks && run->world.rank == root; ++from) {
        check_message(run, part(run, run->in, from), from, ANY, stamp);
    }
}

static void fill_all(struct run *run, int stamp, int root)
{
    (void)root;
    for (int to = 0; to < run->world.ranks; ++to) {
        fill_message(run, part(run, run->out, to), run->world.rank, to, stamp);
    }
}

static void move_all(struct run *run, int root)
{
    (void)root;
    MPI_Alltoall(run->out, run->bytes, MPI_BYTE, run->in, run->bytes, MPI_BYTE, MPI_COMM_WORLD);
}

static void check_all(struct run *run, int stamp, int root)
{
    (void)root;
    for (int from = 0; from < run->world.ranks; ++from) {
        check_message(run, part(run, run->in, from), from, run->world.rank, stamp);
    }
}

static const struct pattern PATTERNS[] = {
    {"PP", true, false, fill_pair, move_ping_pong, check_pair},
    {"XC", true, false, fill_pair, move_ping_ping, check_pair},
    {"BC", false, false, fill_broadcast, move_broadcast, check_broadcast},
    {"RD", false, false, fill_reduce, move_reduce, check_reduce},
    {"GA", false, true, fill_pair, move_gather, check_gather},
    {"AA", false, true, fill_all, move_all, check_all},
};

static void prepare(const struct pattern *pattern, struct run *run, int stamp, int root)
{
    memset(run->in, 0, run->room);
    pattern->fill(run, stamp, root);
}

static void iterate_checked(const struct pattern *pattern, struct run *run, int first, int count)
{
    for (int i = first; i < first + count; ++i) {
        int root = i % run->world.ranks;
        prepare(pattern, run, i, root);
        pattern->move(run, root);
        pattern->check(run, i, root);
    }
}

/* Writes a byte of each line of the buffer to send, so that the sender's caches have them as after filling it. Caches
 * are empty when execution with time begins, and nothing else touches this buffer. */
static void touch(const struct run *run)
{
    volatile unsigned char *out = run->out;
    for (size_t i = 0; i < run->room; i += LINE) {
        out[i] = out[i];
    }
}

static void iterate(const struct pattern *pattern, struct run *run, int count)
{
    for (int i = 0; i < count; ++i) {
        pattern->move(run, i % run->world.ranks);
    }
}

/* Returns the time in seconds. */
static double iterate_measured(const struct pattern *pattern, struct run *run, int warm_up, int stamp, int count)
{
    prepare(pattern, run, stamp, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    begin_warm_up();
    touch(run);
    iterate(pattern, run, warm_up);
    double begun = begin_measurement();
    iterate(pattern, run, count);
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = end_measurement(begun);
    if (pattern->check == check_gather || pattern->check == check_reduce) {
        for (int root = 0; root < run->world.ranks && root < count; ++root) {
            pattern->check(run, stamp, root);
        }
    } else {
        pattern->check(run, stamp, 0);
    }
    return seconds;
}

/* A buffer that begins `offset` bytes behind the begin of a line, or as allocated if that is negative. */
static unsigned char *place(unsigned char *memory, int offset)
{
    size_t missing = (LINE - (uintptr_t)memory % LINE) % LINE;
    return offset < 0 ? memory : &memory[missing + (size_t)offset];
}

static int number(const char *text, int least, int most, const char *expected)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || value < least || value > most) {
        refuse("imb", text, expected);
    }
    return (int)value;
}

static const struct pattern *find_pattern(const char *name)
{
    for (size_t i = 0; i < sizeof PATTERNS / sizeof PATTERNS[0]; ++i) {
        if (strcmp(name, PATTERNS[i].name) == 0) {
            return &PATTERNS[i];
        }
    }
    refuse("imb", name, "a pattern: PP, XC, BC, RD, GA or AA");
}

int main(int argc, char **argv)
{
    struct run run = {{0, 0}, BYTES, 0, NULL, NULL, 0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &run.world.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run.world.ranks);
    const struct pattern *pattern = find_pattern(argc > 1 ? argv[1] : PATTERN);
    int iterations = ITERATIONS, warm_up = WARM_UP;
    if (argc > 5) {
        refuse("imb", argv[5], "at most four arguments: PATTERN BYTES ITERATIONS WARM_UP");
    }
    if (argc > 2) {
        run.bytes = number(argv[2], 4, BYTES_MOST, "a length from 4 to 67108864 bytes");
    }
    if (argc > 3) {
        iterations = number(argv[3], 1, ITERATIONS_MOST, "from 1 to 1000000 iterations");
    }
    if (argc > 4) {
        warm_up = number(argv[4], 0, ITERATIONS_MOST, "from 0 to 1000000 iterations to warm up");
    }
    if (run.bytes % (int)sizeof(float) != 0) {
        refuse("imb", argv[2], "a multiple of 4 bytes");
    }
    if (pattern->pair && run.world.ranks < 2) {
        refuse("imb", "one rank", "two or more for PP and XC");
    }
    run.room = (size_t)run.bytes * (pattern->all ? (size_t)run.world.ranks : 1);
    int offsets[2] = {-1, -1};
    const char *text = getenv("MB_OFFSETS");
    char end;
    if (text != NULL && (sscanf(text, "%d,%d%c", &offsets[0], &offsets[1], &end) != 2 || offsets[0] < 0 ||
                         offsets[0] >= LINE || offsets[1] < 0 || offsets[1] >= LINE)) {
        refuse("imb: MB_OFFSETS", text, "S,R: two numbers of bytes from 0 to 63");
    }
    unsigned char *memory[2];
    for (int i = 0; i < 2; ++i) {
        memory[i] = allocate(run.room + (offsets[i] < 0 ? 0 : 2 * LINE), 1);
    }
    run.out = place(memory[0], offsets[0]);
    run.in = place(memory[1], offsets[1]);

    int checked = warm_up < CHECKED_MOST ? warm_up : CHECKED_MOST;
    iterate_checked(pattern, &run, 0, checked);
    double seconds;
    if (CHECK_EACH) {
        double begun = begin_measurement();
        iterate_checked(pattern, &run, checked, iterations);
        seconds = end_measurement(begun);
    } else {
        seconds = iterate_measured(pattern, &run, warm_up, checked, iterations);
    }

    long long wrong = 0;
    MPI_Reduce(&run.wrong, &wrong, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    free(memory[0]);
    free(memory[1]);
    char name[32];
    snprintf(name, sizeof name, "%s-%d", pattern->name, run.bytes);
    return finish(name, slowest(seconds), (double)wrong, 0);
}
