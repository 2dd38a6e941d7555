/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * FT: a diffusion equation in three dimensions by Fourier transforms (RNR-94-007, section 2.6; class S).
 *
 * A rank has whole planes of z in space, and in the spectrum some columns along z with all their z.
 * One all-to-all exchange moves the data from one layout to the other. A column is a number y * SIDE + x.
 */
#include "kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 64, PLANE = SIDE * SIDE, STEPS = 6, TERMS = 1024 };
static const double DIFFUSION = 1e-6, TOLERANCE = 1e-12;
static const double PI = 3.141592653589793238;

/* Published checksums of class S, real and imaginary parts. */
static const double EXPECTED[2 * STEPS] = {
    554.6087004964, 484.5363331978, 554.6385409189, 486.5304269511, 554.6148406171, 488.3910722336,
    554.5423607415, 490.1273169046, 554.4255039624, 491.7475857993, 554.2683411902, 493.2597244941,
};

struct complex {
    double re, im;
};

struct transform {
    int ranks, rank;
    int planes;           /* planes of z in a rank */
    int columns;          /* columns along z in a rank */
    struct complex *root; /* exp(-2 pi i k / SIDE) */
    struct complex *scratch, *packed, *received;
};

/* Transforms of `lanes` interleaved sequences: element k of lane l is data[k * lanes + l]. Radix 2, in
 * Stockham's order, which sorts itself. The result is in `data`. */
static void transform_lanes(const struct transform *t, struct complex *data, int lanes, bool inverse)
{
    struct complex *from = data, *to = t->scratch;
    int run = lanes;
    for (int half = SIDE / 2; half >= 1; half /= 2, run *= 2) {
        for (int k = 0; k < half; ++k) {
            struct complex root = t->root[k * (SIDE / 2 / half)];
            if (inverse) {
                root.im = -root.im;
            }
            const struct complex *low = &from[k * run], *high = &from[(k + half) * run];
            struct complex *even = &to[2 * k * run], *odd = even + run;
            for (int i = 0; i < run; ++i) {
                struct complex a = low[i], b = high[i];
                even[i] = (struct complex){a.re + b.re, a.im + b.im};
                struct complex difference = {a.re - b.re, a.im - b.im};
                odd[i] = (struct complex){difference.re * root.re - difference.im * root.im,
                                          difference.re * root.im + difference.im * root.re};
            }
        }
        struct complex *swap = from;
        from = to;
        to = swap;
    }
    if (from != data) {
        memcpy(data, from, (size_t)SIDE * (size_t)lanes * sizeof *data);
    }
}

static void transform_planes(const struct transform *t, struct complex *space, bool inverse)
{
    for (int z = 0; z < t->planes; ++z) {
        struct complex *plane = &space[z * PLANE];
        transform_lanes(t, plane, SIDE, inverse);
        for (int y = 0; y < SIDE; ++y) {
            transform_lanes(t, &plane[y * SIDE], 1, inverse);
        }
    }
}

static void exchange(const struct transform *t)
{
    int doubles = 2 * t->planes * t->columns;
    MPI_Alltoall(t->packed, doubles, MPI_DOUBLE, t->received, doubles, MPI_DOUBLE, MPI_COMM_WORLD);
}

/* Space to spectrum; destroys `space`. */
static void forward(const struct transform *t, struct complex *space, struct complex *spectrum)
{
    transform_planes(t, space, false);
    struct complex *next = t->packed;
    for (int to = 0; to < t->ranks; ++to) {
        for (int z = 0; z < t->planes; ++z, next += t->columns) {
            memcpy(next, &space[z * PLANE + to * t->columns], (size_t)t->columns * sizeof *next);
        }
    }
    exchange(t);
    /* What arrives is sorted by z, with the columns as lanes. */
    memcpy(spectrum, t->received, (size_t)SIDE * (size_t)t->columns * sizeof *spectrum);
    transform_lanes(t, spectrum, t->columns, false);
}

/* Spectrum to space without the factor SIDE^-3; destroys `spectrum`. */
static void backward(const struct transform *t, struct complex *spectrum, struct complex *space)
{
    transform_lanes(t, spectrum, t->columns, true);
    memcpy(t->packed, spectrum, (size_t)SIDE * (size_t)t->columns * sizeof *spectrum);
    exchange(t);
    const struct complex *next = t->received;
    for (int from = 0; from < t->ranks; ++from) {
        for (int z = 0; z < t->planes; ++z, next += t->columns) {
            memcpy(&space[z * PLANE + from * t->columns], next, (size_t)t->columns * sizeof *next);
        }
    }
    transform_planes(t, space, true);
}

static void set_initial(const struct transform *t, struct complex *space)
{
    uint64_t points = (uint64_t)t->planes * PLANE;
    uint64_t state = random_skip(RANDOM_SEED, 2 * points * (uint64_t)t->rank);
    for (uint64_t i = 0; i < points; ++i) {
        space[i].re = random_next(&state);
        space[i].im = random_next(&state);
    }
}

/* What one step of time multiplies every point of the spectrum by. */
static void set_decay(const struct transform *t, double *decay)
{
    for (int z = 0; z < SIDE; ++z) {
        int kz = z < SIDE / 2 ? z : z - SIDE;
        for (int i = 0; i < t->columns; ++i) {
            int column = t->rank * t->columns + i, x = column % SIDE, y = column / SIDE;
            int kx = x < SIDE / 2 ? x : x - SIDE, ky = y < SIDE / 2 ? y : y - SIDE;
            decay[z * t->columns + i] = exp(-4 * DIFFUSION * PI * PI * (double)(kx * kx + ky * ky + kz * kz));
        }
    }
}

/* Rank 0 gets the sum of 1024 points of all ranks. */
static void checksum(const struct transform *t, const struct complex *space, double *sum)
{
    double mine[2] = {0, 0};
    for (int j = 1; j <= TERMS; ++j) {
        int x = j % SIDE, y = 3 * j % SIDE, z = 5 * j % SIDE - t->rank * t->planes;
        if (z >= 0 && z < t->planes) {
            mine[0] += space[z * PLANE + y * SIDE + x].re;
            mine[1] += space[z * PLANE + y * SIDE + x].im;
        }
    }
    mine[0] /= (double)SIDE * PLANE;
    mine[1] /= (double)SIDE * PLANE;
    MPI_Reduce(mine, sum, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    struct world world = start(argc, argv, "FT");
    int side[3] = {SIDE, SIDE, SIDE}, steps = STEPS, terms = TERMS;
    for (int axis = 0; axis < 3; ++axis) {
        share_int(&side[axis]);
    }
    share_int(&steps);
    share_int(&terms);
    if (world.ranks > SIDE || SIDE % world.ranks != 0) {
        refuse("FT", "another number of ranks", "1, 2, 4, 8, 16, 32 or 64 ranks");
    }
    struct transform t = {world.ranks, world.rank, SIDE / world.ranks, PLANE / world.ranks, NULL, NULL, NULL, NULL};
    size_t points = (size_t)t.planes * PLANE, lanes = (size_t)(t.columns > SIDE ? t.columns : SIDE);
    t.root = allocate(SIDE / 2, sizeof *t.root);
    for (int k = 0; k < SIDE / 2; ++k) {
        t.root[k] = (struct complex){cos(2 * PI * k / SIDE), -sin(2 * PI * k / SIDE)};
    }
    t.scratch = allocate(lanes * SIDE, sizeof *t.scratch);
    t.packed = allocate(points, sizeof *t.packed);
    t.received = allocate(points, sizeof *t.received);
    struct complex *space = allocate(points, sizeof *space), *spectrum = allocate(points, sizeof *spectrum);
    struct complex *evolved = allocate(points, sizeof *evolved);
    double *decay = allocate(points, sizeof *decay);
    double found[2 * STEPS] = {0};

    begin_warm_up();
    set_initial(&t, space);
    forward(&t, space, spectrum);

    double begun = begin_measurement();
    set_decay(&t, decay);
    set_initial(&t, space);
    forward(&t, space, spectrum);
    for (int step = 0; step < steps; ++step) {
        begin_step();
        for (size_t i = 0; i < points; ++i) {
            spectrum[i].re *= decay[i];
            spectrum[i].im *= decay[i];
            evolved[i] = spectrum[i];
        }
        backward(&t, evolved, space);
        checksum(&t, space, &found[2 * step]);
    }
    double seconds = end_measurement(begun);

    void *all[] = {t.root, t.scratch, t.packed, t.received, space, spectrum, evolved, decay};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
        free(all[i]);
    }
    return finish("FT", seconds, relative_difference(found, EXPECTED, 2 * STEPS), TOLERANCE);
}
