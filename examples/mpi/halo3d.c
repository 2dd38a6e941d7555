/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * halo3d: explicit heat conduction with a 27-point stencil on a periodic 3-D grid. Every step
 * exchanges the ghost layer with all 26 neighbours (6 faces, 12 edges, 8 corners), one message per
 * neighbour and field, receives first, each straight from and into the grid by a subarray type.
 * Check: a product of cosines is an eigenvector of the stencil, so the field after n steps is known
 * in closed form at every cell, and a wrong ghost cell anywhere spoils it.
 * Cost per step and rank: 26 sends and receives per field; 27 multiply-adds per cell.
 */
#include <math.h>
#include <stddef.h>

#include "common/options.h"
#include "common/tally.h"

enum { DIRECTIONS = 27, CENTRE = 13 };

/* Weight of a neighbour along one axis; the stencil is the product over the axes. Stable below 1/2.
 */
static const double SIDE = 1.0 / 8;
/* Every field rests on this level, so that no mode can fade into an answer that any input would
 * give. */
static const double LEVEL = 2.0;
/* Largest accepted error; values are near 3 and each step rounds 27 times. */
static const double LIMIT = 1e-12;

struct grid {
    int cells[3];                       /* own cells along each axis */
    int first[3];                       /* global index of the first own cell */
    int whole[3];                       /* cells of the whole grid */
    int peer[DIRECTIONS];               /* neighbour in each direction */
    MPI_Datatype edge_type[DIRECTIONS]; /* own cells that the neighbour needs */
    MPI_Datatype halo_type[DIRECTIONS]; /* ghost cells that it fills */
};

static size_t cell_index(const struct grid *grid, int x, int y, int z)
{
    return ((size_t)x * (size_t)(grid->cells[1] + 2) + (size_t)y) * (size_t)(grid->cells[2] + 2) + (size_t)z;
}

static void grid_create(struct grid *grid, const long cells[3], MPI_Comm cart)
{
    int dims[3], periods[3], coords[3], padded[3];
    MPI_Cart_get(cart, 3, dims, periods, coords);
    for (int axis = 0; axis < 3; ++axis) {
        grid->cells[axis] = (int)cells[axis];
        grid->first[axis] = coords[axis] * grid->cells[axis];
        grid->whole[axis] = dims[axis] * grid->cells[axis];
        padded[axis] = grid->cells[axis] + 2;
    }
    for (int direction = 0; direction < DIRECTIONS; ++direction) {
        int step[3] = {direction / 9 - 1, direction / 3 % 3 - 1, direction % 3 - 1};
        int there[3], size[3], edge[3], halo[3];
        for (int axis = 0; axis < 3; ++axis) {
            int last = grid->cells[axis];
            there[axis] = coords[axis] + step[axis];
            size[axis] = step[axis] == 0 ? last : 1;
            edge[axis] = step[axis] == 1 ? last : 1;
            halo[axis] = step[axis] == 1 ? last + 1 : 1 + step[axis];
        }
        MPI_Cart_rank(cart, there, &grid->peer[direction]);
        MPI_Type_create_subarray(3, padded, size, edge, MPI_ORDER_C, MPI_DOUBLE, &grid->edge_type[direction]);
        MPI_Type_create_subarray(3, padded, size, halo, MPI_ORDER_C, MPI_DOUBLE, &grid->halo_type[direction]);
        MPI_Type_commit(&grid->edge_type[direction]);
        MPI_Type_commit(&grid->halo_type[direction]);
    }
}

static void grid_destroy(struct grid *grid)
{
    for (int direction = 0; direction < DIRECTIONS; ++direction) {
        MPI_Type_free(&grid->edge_type[direction]);
        MPI_Type_free(&grid->halo_type[direction]);
    }
}

/* A message's tag tells its field and the direction in which it travels: where an axis has one or
 * two ranks, several messages connect the same pair. */
static void exchange(const struct grid *grid, double *const *fields, int count, MPI_Comm cart, MPI_Request *requests,
                     MPI_Status *statuses, struct tally *tally)
{
    int receives = 0;
    for (int field = 0; field < count; ++field) {
        for (int from = 0; from < DIRECTIONS; ++from) {
            if (from != CENTRE) {
                int travels = DIRECTIONS - 1 - from;
                MPI_Irecv(fields[field], 1, grid->halo_type[from], grid->peer[from], field * DIRECTIONS + travels, cart,
                          &requests[receives++]);
            }
        }
    }
    int all = receives;
    for (int field = 0; field < count; ++field) {
        for (int to = 0; to < DIRECTIONS; ++to) {
            if (to != CENTRE) {
                MPI_Isend(fields[field], 1, grid->edge_type[to], grid->peer[to], field * DIRECTIONS + to, cart,
                          &requests[all++]);
                tally_send(tally, 1, grid->edge_type[to]);
            }
        }
    }
    MPI_Waitall(all, requests, statuses);
    for (int i = 0; i < receives; ++i) {
        tally_receive(tally, &statuses[i], MPI_DOUBLE);
    }
}

/* One time step of one field; returns the largest change of a cell. */
static double advance(const struct grid *grid, const double *now, double *next)
{
    double axis_weight[3] = {SIDE, 1 - 2 * SIDE, SIDE};
    double weight[DIRECTIONS], change = 0;
    ptrdiff_t offset[DIRECTIONS];
    ptrdiff_t centre = (ptrdiff_t)cell_index(grid, 1, 1, 1);
    for (int i = 0; i < DIRECTIONS; ++i) {
        weight[i] = axis_weight[i / 9] * axis_weight[i / 3 % 3] * axis_weight[i % 3];
        offset[i] = (ptrdiff_t)cell_index(grid, i / 9, i / 3 % 3, i % 3) - centre;
    }
    for (int x = 1; x <= grid->cells[0]; ++x) {
        for (int y = 1; y <= grid->cells[1]; ++y) {
            for (int z = 1; z <= grid->cells[2]; ++z) {
                const double *cell = now + cell_index(grid, x, y, z);
                double sum = 0;
                for (int i = 0; i < DIRECTIONS; ++i) {
                    sum += weight[i] * cell[offset[i]];
                }
                next[cell_index(grid, x, y, z)] = sum;
                change = fmax(change, fabs(sum - *cell));
            }
        }
    }
    return change;
}

/* The exact field after `steps` steps, at an own cell (from 1). Fields differ in wave number along
 * the first axis. */
static double exact(const struct grid *grid, int field, long steps, const int cell[3])
{
    const double turn = 2 * acos(-1.0);
    double value = 1;
    for (int axis = 0; axis < 3; ++axis) {
        double wave = turn * (axis == 0 ? 1 + field : 1) / grid->whole[axis];
        double phase = 0.3 + 0.5 * axis;
        double decay = 1 - 2 * SIDE * (1 - cos(wave));
        value *= pow(decay, (double)steps) * cos(wave * (grid->first[axis] + cell[axis] - 1) + phase);
    }
    return LEVEL + value;
}

/* Fills the field with the exact solution, or returns its largest distance from it. */
static double visit(const struct grid *grid, int field, long steps, double *values, bool fill)
{
    double error = 0;
    int cell[3];
    for (cell[0] = 1; cell[0] <= grid->cells[0]; ++cell[0]) {
        for (cell[1] = 1; cell[1] <= grid->cells[1]; ++cell[1]) {
            for (cell[2] = 1; cell[2] <= grid->cells[2]; ++cell[2]) {
                double *value = &values[cell_index(grid, cell[0], cell[1], cell[2])];
                double expected = exact(grid, field, steps, cell);
                if (fill) {
                    *value = expected;
                } else if (!(fabs(*value - expected) <= error)) {
                    error = fabs(*value - expected);
                }
            }
        }
    }
    return error;
}

static double *allocate(size_t count)
{
    double *values = calloc(count, sizeof *values);
    if (values == NULL) {
        fprintf(stderr, "halo3d: no memory for %zu cells\n", count);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return values;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    long cells[3] = {12, 12, 12}, fields = 1, steps = 20, report = 5, corrupt = 0;
    const struct option options[] = {
        {"nx", &cells[0], 1, 1024, "own cells of a rank along x"},
        {"ny", &cells[1], 1, 1024, "own cells of a rank along y"},
        {"nz", &cells[2], 1, 1024, "own cells of a rank along z"},
        {"fields", &fields, 1, 16, "fields, each exchanged in messages of its own"},
        {"steps", &steps, 1, 1000000, "time steps"},
        {"report", &report, 1, 1000000, "steps between global norms (an allreduce)"},
        {"corrupt", &corrupt, 0, 1, "1: spoil one ghost corner half-way; the check must then fail"},
    };
    int status = options_parse(argc, argv, "halo3d", "Heat conduction, 27-point stencil, 26-neighbour halo exchange.",
                               options, sizeof options / sizeof options[0]);
    if (status != OPTIONS_RUN) {
        MPI_Finalize();
        return status;
    }

    int ranks, rank, dims[3] = {0, 0, 0};
    const int periods[3] = {1, 1, 1};
    MPI_Comm cart;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 3, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &cart);
    MPI_Comm_rank(cart, &rank);

    struct grid grid;
    struct tally tally = {0, 0, 0, 0};
    grid_create(&grid, cells, cart);
    double *now[16], *next[16];
    for (long field = 0; field < fields; ++field) {
        size_t count = cell_index(&grid, grid.cells[0] + 2, 0, 0);
        now[field] = allocate(count);
        next[field] = allocate(count);
        visit(&grid, (int)field, 0, now[field], true);
    }
    size_t messages = 2 * (DIRECTIONS - 1) * (size_t)fields;
    MPI_Request *requests = malloc(messages * sizeof *requests);
    MPI_Status *statuses = malloc(messages * sizeof *statuses);
    if (requests == NULL || statuses == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 2);
    }

    double change = 0;
    for (long step = 0; step < steps; ++step) {
        exchange(&grid, now, (int)fields, cart, requests, statuses, &tally);
        if (corrupt == 1 && rank == ranks - 1 && step == steps / 2) {
            now[0][0] += 1;
        }
        change = 0;
        for (long field = 0; field < fields; ++field) {
            change = fmax(change, advance(&grid, now[field], next[field]));
            double *swap = now[field];
            now[field] = next[field];
            next[field] = swap;
        }
        if ((step + 1) % report == 0) {
            MPI_Allreduce(MPI_IN_PLACE, &change, 1, MPI_DOUBLE, MPI_MAX, cart);
        }
    }

    double error = 0;
    for (long field = 0; field < fields; ++field) {
        error = fmax(error, visit(&grid, (int)field, steps, now[field], false));
        free(now[field]);
        free(next[field]);
    }
    MPI_Allreduce(MPI_IN_PLACE, &error, 1, MPI_DOUBLE, MPI_MAX, cart);
    bool right = error <= LIMIT;
    if (rank == 0) {
        printf("halo3d: %d x %d x %d ranks, %ld steps, largest error %.1e (limit %.0e)\n", dims[0], dims[1], dims[2],
               steps, error, LIMIT);
        if (!right) {
            fprintf(stderr, "halo3d: WRONG: the field differs from the exact solution by %.1e\n", error);
        }
    }
    right = tally_report(&tally, "halo3d", cart) && right;
    free(requests);
    free(statuses);
    grid_destroy(&grid);
    MPI_Comm_free(&cart);
    MPI_Finalize();
    return right ? 0 : 1;
}
