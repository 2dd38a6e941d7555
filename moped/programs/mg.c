/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * MG: the discrete Poisson equation on a periodic cube by V cycles of multigrid (RNR-94-007, section 2.5;
 * class S: 32 points along each axis, four cycles).
 *
 * The ranks are a grid of at most 2 x 2 x 4. Each array has one layer of ghost points, filled axis by
 * axis, so that edges and corners need no messages of their own. Point c of a coarse level is point 2c of
 * the next finer one. On the coarsest level there are fewer planes than ranks along z: every second rank
 * is idle there, and gets its part of the finer level from its neighbours.
 */
#include "kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = 5, STEPS = 4, CHARGES = 10, TAG = 1, TAG_GIVE = 3 };
/* By the number of coordinates that differ: operator A and smoother S of class S. */
static const double OPERATOR[4] = {-8.0 / 3, 0, 1.0 / 6, 1.0 / 12};
static const double SMOOTHER[4] = {-3.0 / 8, 1.0 / 32, -1.0 / 64, 0};
static const double EXPECTED = 0.5307707005734e-4, TOLERANCE = 1e-8; /* norm of the residual */

struct level {
    bool active;
    int size[3];       /* own points along each axis */
    int line, plane;   /* distance of neighbours along y and z, with ghost points */
    int neighbour[3][2]; /* ranks below and above along each axis */
    double *u, *r;
};

struct multigrid {
    struct world world;
    int extent[3], at[3]; /* of the grid of ranks */
    double smoother[4];
    struct level level[LEVELS + 1]; /* level k has 2^k points along each axis; 0 is not used */
    double *v;
    double *buffer[4]; /* sent down, sent up, received from below, received from above */
    double *sums[3];   /* one line each */
};

static int rank_at(const struct multigrid *mg, const int at[3])
{
    return (at[2] * mg->extent[1] + at[1]) * mg->extent[0] + at[0];
}

static size_t points(const struct level *level)
{
    return (size_t)level->plane * (size_t)(level->size[2] + 2);
}

static void set_level(struct multigrid *mg, int k)
{
    struct level *level = &mg->level[k];
    level->active = true;
    for (int axis = 0; axis < 3; ++axis) {
        int extent = mg->extent[axis], side = 1 << k;
        int stride = extent > side ? extent / side : 1;
        level->active = level->active && (mg->at[axis] + 1) % stride == 0;
        level->size[axis] = side > extent ? side / extent : 1;
        for (int up = 0; up < 2; ++up) {
            int at[3] = {mg->at[0], mg->at[1], mg->at[2]};
            at[axis] = (at[axis] + (up ? stride : extent - stride)) % extent;
            level->neighbour[axis][up] = rank_at(mg, at);
        }
    }
    level->line = level->size[0] + 2;
    level->plane = level->line * (level->size[1] + 2);
    level->u = allocate(points(level), sizeof(double));
    level->r = allocate(points(level), sizeof(double));
}

static void make(struct multigrid *mg)
{
    int ranks = mg->world.ranks;
    if (ranks > 16 || (ranks & (ranks - 1)) != 0) {
        refuse("MG", "another number of ranks", "1, 2, 4, 8 or 16 ranks");
    }
    mg->extent[0] = mg->extent[1] = mg->extent[2] = 1;
    for (int axis = 2; ranks > 1; ranks /= 2) {
        mg->extent[axis] *= 2;
        axis = (axis + 2) % 3;
    }
    mg->at[0] = mg->world.rank % mg->extent[0];
    mg->at[1] = mg->world.rank / mg->extent[0] % mg->extent[1];
    mg->at[2] = mg->world.rank / mg->extent[0] / mg->extent[1];
    for (int k = 1; k <= LEVELS; ++k) {
        set_level(mg, k);
    }
    const struct level *top = &mg->level[LEVELS];
    mg->v = allocate(points(top), sizeof(double));
    size_t longest = 0;
    for (int axis = 0; axis < 3; ++axis) {
        size_t length = (size_t)top->size[axis] + 2;
        longest = length > longest ? length : longest;
    }
    for (int i = 0; i < 4; ++i) {
        mg->buffer[i] = allocate(longest * longest, sizeof(double));
    }
    for (int i = 0; i < 3; ++i) {
        mg->sums[i] = allocate(longest, sizeof(double));
    }
}

/* Moves the points with coordinate `at` along `axis` between an array and a buffer; returns their number.
 * Along axes before `axis` ghost points are moved too. */
static int move_face(const struct level *level, double *array, int axis, int at, double *buffer, bool pack)
{
    int low[3], high[3], count = 0;
    for (int i = 0; i < 3; ++i) {
        low[i] = i == axis ? at : i < axis ? 0 : 1;
        high[i] = i == axis ? at : i < axis ? level->size[i] + 1 : level->size[i];
    }
    for (int z = low[2]; z <= high[2]; ++z) {
        for (int y = low[1]; y <= high[1]; ++y) {
            double *line = &array[z * level->plane + y * level->line];
            for (int x = low[0]; x <= high[0]; ++x, ++count) {
                if (pack) {
                    buffer[count] = line[x];
                } else {
                    line[x] = buffer[count];
                }
            }
        }
    }
    return count;
}

/* Fills the ghost points of an array. */
static void exchange(const struct multigrid *mg, const struct level *level, double *array)
{
    if (!level->active) {
        return;
    }
    for (int axis = 0; axis < 3; ++axis) {
        int last = level->size[axis];
        int count = move_face(level, array, axis, 1, mg->buffer[0], true);
        move_face(level, array, axis, last, mg->buffer[1], true);
        const double *from[2] = {mg->buffer[1], mg->buffer[0]}; /* with one rank along the axis */
        if (mg->extent[axis] > 1) {
            const int *neighbour = level->neighbour[axis];
            MPI_Request request[2];
            for (int up = 0; up < 2; ++up) {
                MPI_Irecv(mg->buffer[2 + up], count, MPI_DOUBLE, neighbour[up], TAG + !up, MPI_COMM_WORLD,
                          &request[up]);
                from[up] = mg->buffer[2 + up];
            }
            for (int up = 0; up < 2; ++up) {
                MPI_Send(mg->buffer[up], count, MPI_DOUBLE, neighbour[up], TAG + up, MPI_COMM_WORLD);
            }
            MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
        }
        move_face(level, array, axis, 0, (double *)from[0], false);
        move_face(level, array, axis, last + 1, (double *)from[1], false);
    }
}

/* Ranks that are active on the coarser level give idle neighbours along z their planes of the finer one. */
static void give_planes(const struct level *coarse, const struct level *fine)
{
    const int *neighbour = fine->neighbour[2];
    int plane = fine->plane;
    if (coarse->active) {
        MPI_Send(&fine->u[plane], 2 * plane, MPI_DOUBLE, neighbour[1], TAG_GIVE, MPI_COMM_WORLD);
        MPI_Send(&fine->u[plane], plane, MPI_DOUBLE, neighbour[0], TAG_GIVE + 1, MPI_COMM_WORLD);
    } else {
        MPI_Request request[2];
        MPI_Irecv(fine->u, 2 * plane, MPI_DOUBLE, neighbour[0], TAG_GIVE, MPI_COMM_WORLD, &request[0]);
        MPI_Irecv(&fine->u[2 * plane], plane, MPI_DOUBLE, neighbour[1], TAG_GIVE + 1, MPI_COMM_WORLD, &request[1]);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    }
}

/* Sums over the neighbours of the points of a line in y and z: four that differ in one, four in both. */
static void add_lines(const struct level *level, const double *centre, double *one, double *both)
{
    int line = level->line, plane = level->plane;
    for (int x = 0; x < line; ++x) {
        const double *at = &centre[x];
        one[x] = at[-line] + at[line] + at[-plane] + at[plane];
        both[x] = at[-plane - line] + at[-plane + line] + at[plane - line] + at[plane + line];
    }
}

/* r = v - A u */
static void residual(struct multigrid *mg, struct level *level, const double *v)
{
    double *one = mg->sums[0], *both = mg->sums[1];
    for (int z = 1; z <= level->size[2] && level->active; ++z) {
        for (int y = 1; y <= level->size[1]; ++y) {
            int first = z * level->plane + y * level->line;
            const double *u = &level->u[first];
            add_lines(level, u, one, both);
            for (int x = 1; x <= level->size[0]; ++x) {
                level->r[first + x] = v[first + x] - OPERATOR[0] * u[x] -
                                      OPERATOR[2] * (both[x] + one[x - 1] + one[x + 1]) -
                                      OPERATOR[3] * (both[x - 1] + both[x + 1]);
            }
        }
    }
    exchange(mg, level, level->r);
}

/* u = u + S r */
static void smooth(struct multigrid *mg, struct level *level)
{
    double *one = mg->sums[0], *both = mg->sums[1];
    for (int z = 1; z <= level->size[2] && level->active; ++z) {
        for (int y = 1; y <= level->size[1]; ++y) {
            int first = z * level->plane + y * level->line;
            const double *r = &level->r[first];
            add_lines(level, r, one, both);
            for (int x = 1; x <= level->size[0]; ++x) {
                level->u[first + x] += mg->smoother[0] * r[x] + mg->smoother[1] * (r[x - 1] + r[x + 1] + one[x]) +
                                       mg->smoother[2] * (both[x] + one[x - 1] + one[x + 1]);
            }
        }
    }
    exchange(mg, level, level->u);
}

/* Coordinate in the finer level, along an axis, of coarse point 0. A rank with one point on both levels
 * has it in the same place. */
static int offset(const struct level *coarse, const struct level *fine, int axis)
{
    return coarse->size[axis] == fine->size[axis] ? -1 : 0;
}

/* Coarse residual = full weighting of the fine one. */
static void restrict_residual(struct multigrid *mg, const struct level *fine, struct level *coarse)
{
    double *one = mg->sums[0], *both = mg->sums[1];
    int shift[3];
    for (int axis = 0; axis < 3; ++axis) {
        shift[axis] = offset(coarse, fine, axis);
    }
    for (int z = 1; z <= coarse->size[2] && coarse->active; ++z) {
        for (int y = 1; y <= coarse->size[1]; ++y) {
            const double *r = &fine->r[(2 * z + shift[2]) * fine->plane + (2 * y + shift[1]) * fine->line];
            double *to = &coarse->r[z * coarse->plane + y * coarse->line];
            add_lines(fine, r, one, both);
            for (int i = 1; i <= coarse->size[0]; ++i) {
                int x = 2 * i + shift[0];
                to[i] = 0.5 * r[x] + 0.25 * (r[x - 1] + r[x + 1] + one[x]) +
                        0.125 * (both[x] + one[x - 1] + one[x + 1]) + 0.0625 * (both[x - 1] + both[x + 1]);
            }
        }
    }
    exchange(mg, coarse, coarse->r);
}

/* Fine u += trilinear interpolation of the coarse one, ghost points included, so that none need be sent. */
static void interpolate(struct multigrid *mg, const struct level *coarse, struct level *fine)
{
    int shift[3];
    for (int axis = 0; axis < 3; ++axis) {
        shift[axis] = offset(coarse, fine, axis);
    }
    double *mean = mg->sums[0];
    for (int z = 0; z <= fine->size[2] + 1 && coarse->active; ++z) {
        for (int y = 0; y <= fine->size[1] + 1; ++y) {
            int planes[2] = {(z - shift[2]) / 2, (z - shift[2] + 1) / 2};
            int lines[2] = {(y - shift[1]) / 2, (y - shift[1] + 1) / 2};
            const double *near = &coarse->u[planes[0] * coarse->plane], *far = &coarse->u[planes[1] * coarse->plane];
            for (int x = 0; x < coarse->line; ++x) {
                int a = lines[0] * coarse->line + x, b = lines[1] * coarse->line + x;
                mean[x] = 0.125 * (near[a] + near[b] + far[a] + far[b]);
            }
            double *u = &fine->u[z * fine->plane + y * fine->line];
            for (int x = 0; x <= fine->size[0] + 1; ++x) {
                u[x] += mean[(x - shift[0]) / 2] + mean[(x - shift[0] + 1) / 2];
            }
        }
    }
    if (fine->neighbour[2][1] != coarse->neighbour[2][1]) {
        give_planes(coarse, fine);
    }
}

static void clear(const struct level *level, double *array)
{
    memset(array, 0, points(level) * sizeof *array);
}

static void cycle(struct multigrid *mg)
{
    for (int k = LEVELS; k > 1; --k) {
        restrict_residual(mg, &mg->level[k], &mg->level[k - 1]);
    }
    clear(&mg->level[1], mg->level[1].u);
    smooth(mg, &mg->level[1]);
    for (int k = 2; k <= LEVELS; ++k) {
        struct level *level = &mg->level[k];
        if (k < LEVELS) {
            clear(level, level->u);
        }
        interpolate(mg, &mg->level[k - 1], level);
        residual(mg, level, k < LEVELS ? level->r : mg->v);
        smooth(mg, level);
    }
}

struct charge {
    double value;
    int at[3];
};

/* Inserts into a list that descends by value and holds `CHARGES`. */
static void keep_largest(struct charge *list, struct charge candidate)
{
    for (int i = 0; i < CHARGES; ++i) {
        if (candidate.value > list[i].value) {
            struct charge swap = list[i];
            list[i] = candidate;
            candidate = swap;
        }
    }
}

/* Sets `value` where the ten largest numbers of all ranks are. */
static void place_charges(struct multigrid *mg, const struct charge *list, double value)
{
    const struct level *top = &mg->level[LEVELS];
    for (int i = 0, next = 0; i < CHARGES; ++i) {
        double mine = next < CHARGES ? list[next].value : -HUGE_VAL, largest;
        MPI_Allreduce(&mine, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        int here[4] = {0}, there[4];
        if (mine == largest) {
            const int *at = list[next++].at;
            memcpy(here, (const int[4]){mg->world.rank, at[0], at[1], at[2]}, sizeof here);
        }
        MPI_Allreduce(here, there, 4, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        if (there[0] == mg->world.rank) {
            mg->v[there[3] * top->plane + there[2] * top->line + there[1]] = value;
        }
    }
}

/* v: +1 at the places of the ten largest numbers of a random field, -1 at those of the ten smallest. u = 0. */
static void set_initial(struct multigrid *mg)
{
    const struct level *top = &mg->level[LEVELS];
    struct charge largest[CHARGES], smallest[CHARGES]; /* the latter with their negatives */
    for (int i = 0; i < CHARGES; ++i) {
        largest[i] = smallest[i] = (struct charge){-HUGE_VAL, {0, 0, 0}};
    }
    for (int z = 1; z <= top->size[2]; ++z) {
        for (int y = 1; y <= top->size[1]; ++y) {
            uint64_t row = (uint64_t)(mg->at[2] * top->size[2] + z - 1) << LEVELS;
            row += (uint64_t)(mg->at[1] * top->size[1] + y - 1);
            uint64_t state = random_skip(RANDOM_SEED, (row << LEVELS) + (uint64_t)(mg->at[0] * top->size[0]));
            for (int x = 1; x <= top->size[0]; ++x) {
                double value = random_next(&state);
                if (value > largest[CHARGES - 1].value) {
                    keep_largest(largest, (struct charge){value, {x, y, z}});
                }
                if (-value > smallest[CHARGES - 1].value) {
                    keep_largest(smallest, (struct charge){-value, {x, y, z}});
                }
            }
        }
    }
    clear(top, mg->v);
    clear(top, top->u);
    MPI_Barrier(MPI_COMM_WORLD);
    place_charges(mg, largest, 1);
    place_charges(mg, smallest, -1);
    MPI_Barrier(MPI_COMM_WORLD);
    exchange(mg, top, mg->v);
}

/* Root mean square of the residual, and its largest absolute value. */
static double norm(const struct multigrid *mg, double *largest)
{
    const struct level *top = &mg->level[LEVELS];
    double sum = 0, most = 0;
    for (int z = 1; z <= top->size[2]; ++z) {
        for (int y = 1; y <= top->size[1]; ++y) {
            const double *r = &top->r[z * top->plane + y * top->line];
            for (int x = 1; x <= top->size[0]; ++x) {
                sum += r[x] * r[x];
                most = fabs(r[x]) > most ? fabs(r[x]) : most;
            }
        }
    }
    double total;
    MPI_Allreduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&most, largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return sqrt(total / (double)(1 << 3 * LEVELS));
}

/* Returns the norm of the residual after `steps` cycles. */
static double run(struct multigrid *mg, int steps)
{
    double largest;
    residual(mg, &mg->level[LEVELS], mg->v);
    norm(mg, &largest);
    for (int step = 0; step < steps; ++step) {
        begin_step();
        cycle(mg);
        residual(mg, &mg->level[LEVELS], mg->v);
    }
    double last = norm(mg, &largest);
    /* The root mean square of numbers is at most the largest of them. */
    return largest >= last ? last : NAN;
}

static void destroy(struct multigrid *mg)
{
    for (int k = 1; k <= LEVELS; ++k) {
        free(mg->level[k].u);
        free(mg->level[k].r);
    }
    for (int i = 0; i < 4; ++i) {
        free(mg->buffer[i]);
    }
    for (int i = 0; i < 3; ++i) {
        free(mg->sums[i]);
    }
    free(mg->v);
}

int main(int argc, char **argv)
{
    struct multigrid mg = {.world = start(argc, argv, "MG")};
    int settings[6] = {LEVELS, STEPS, 1 << LEVELS, 1 << LEVELS, 1 << LEVELS, CHARGES};
    for (int i = 0; i < 6; ++i) {
        share_int(&settings[i]);
    }
    memcpy(mg.smoother, SMOOTHER, sizeof mg.smoother);
    share_doubles(mg.smoother, 4);
    make(&mg);

    begin_warm_up();
    set_initial(&mg);
    run(&mg, 1);

    set_initial(&mg);
    double begun = begin_measurement();
    double found = run(&mg, settings[1]);
    double seconds = end_measurement(begun);
    MPI_Barrier(MPI_COMM_WORLD);
    destroy(&mg);
    return finish("MG", slowest(seconds), relative_difference(&found, &EXPECTED, 1), TOLERANCE);
}
