/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * CG: the smallest eigenvalue of a sparse symmetric positive definite matrix by inverse iteration, each
 * step solved by 25 steps of conjugate gradients without preconditioner (RNR-94-007, section 2.4; class S).
 *
 * The ranks are a square grid. Rank (r, c) has the block of the matrix with rows r and columns c, and of
 * every vector the piece c. A product needs the sum of the blocks of a grid row, by recursive doubling,
 * and then the exchange of pieces with rank (c, r). Sums of numbers are by recursive doubling too.
 */
#include "kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ORDER = 1400, NONZEROS = 7, STEPS = 15, INNER_STEPS = 25, ROUNDS_MOST = 5, TAG = 1 };
static const double SHIFT = 10, CONDITION = 0.1;
/* Published eigenvalue estimate of class S, and tolerance of the benchmark. */
static const double EXPECTED = 8.5971775078648, TOLERANCE = 1e-10;

struct grid {
    int side, row, column, rounds;
    int partner[ROUNDS_MOST]; /* of each round of recursive doubling in the grid row */
    int transpose;
    int piece; /* entries of a vector in a rank */
};

struct matrix {
    int *start, *column; /* columns count from the first of the block */
    double *value;
};

struct entry {
    int row, column;
    double value;
};

struct entries {
    struct entry *list;
    size_t count, room;
};

static struct grid make_grid(struct world world)
{
    struct grid grid = {.side = 1};
    while (grid.side * grid.side < world.ranks) {
        grid.side *= 2;
    }
    if (grid.side * grid.side != world.ranks || ORDER % grid.side != 0) {
        refuse("CG", "another number of ranks", "1, 4, 16 or 64 ranks");
    }
    grid.row = world.rank / grid.side;
    grid.column = world.rank % grid.side;
    for (int distance = 1; distance < grid.side; distance *= 2) {
        grid.partner[grid.rounds++] = grid.row * grid.side + (grid.column ^ distance);
    }
    grid.transpose = grid.column * grid.side + grid.row;
    grid.piece = ORDER / grid.side;
    return grid;
}

static void add_entry(struct entries *entries, int row, int column, double value)
{
    if (entries->count == entries->room) {
        entries->room = entries->room != 0 ? 2 * entries->room : 1024;
        struct entry *list = allocate(entries->room, sizeof *list);
        if (entries->count != 0) {
            memcpy(list, entries->list, entries->count * sizeof *list);
        }
        free(entries->list);
        entries->list = list;
    }
    entries->list[entries->count++] = (struct entry){row, column, value};
}

/* A sparse vector with `NONZEROS` random values at distinct random places, and 0.5 at `centre`. */
static int random_vector(uint64_t *state, int centre, int *place, double *value)
{
    int power = 1, count = 0;
    while (power < ORDER) {
        power *= 2;
    }
    while (count < NONZEROS) {
        double candidate = random_next(state);
        int where = (int)(random_next(state) * power);
        bool used = where >= ORDER;
        for (int i = 0; i < count && !used; ++i) {
            used = place[i] == where;
        }
        if (!used) {
            value[count] = candidate;
            place[count++] = where;
        }
    }
    for (int i = 0; i < count; ++i) {
        if (place[i] == centre) {
            value[i] = 0.5;
            return count;
        }
    }
    place[count] = centre;
    value[count++] = 0.5;
    return count;
}

static int by_place(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    return a->row != b->row ? (a->row > b->row) - (a->row < b->row) : (a->column > b->column) - (a->column < b->column);
}

/* The block of this rank. The matrix is a sum of outer products of sparse vectors with weights that fall
 * geometrically from 1 to `CONDITION`, plus a multiple of the identity. */
static struct matrix make_matrix(const struct grid *grid)
{
    uint64_t state = RANDOM_SEED;
    random_next(&state);
    struct entries entries = {NULL, 0, 0};
    double weight = 1, ratio = pow(CONDITION, 1.0 / ORDER);
    int first_row = grid->row * grid->piece, first_column = grid->column * grid->piece;
    for (int outer = 0; outer < ORDER; ++outer) {
        int place[NONZEROS + 1];
        double value[NONZEROS + 1];
        int count = random_vector(&state, outer, place, value);
        for (int i = 0; i < count; ++i) {
            int row = place[i] - first_row;
            for (int j = 0; j < count && row >= 0 && row < grid->piece; ++j) {
                int column = place[j] - first_column;
                if (column >= 0 && column < grid->piece) {
                    double diagonal = place[i] == outer && place[j] == outer ? CONDITION - SHIFT : 0;
                    add_entry(&entries, row, column, weight * value[i] * value[j] + diagonal);
                }
            }
        }
        weight *= ratio;
    }
    qsort(entries.list, entries.count, sizeof *entries.list, by_place);
    struct matrix matrix = {allocate((size_t)grid->piece + 1, sizeof(int)), allocate(entries.count, sizeof(int)),
                            allocate(entries.count, sizeof(double))};
    int filled = 0, row = 0;
    for (size_t i = 0; i < entries.count; ++i) {
        const struct entry *entry = &entries.list[i];
        bool repeated = i > 0 && by_place(entry, entry - 1) == 0;
        if (repeated) {
            matrix.value[filled - 1] += entry->value;
            continue;
        }
        while (row < entry->row) {
            matrix.start[++row] = filled;
        }
        matrix.column[filled] = entry->column;
        matrix.value[filled++] = entry->value;
    }
    while (row < grid->piece) {
        matrix.start[++row] = filled;
    }
    free(entries.list);
    return matrix;
}

static void exchange(const double *out, double *in, int count, int partner)
{
    MPI_Request request;
    MPI_Irecv(in, count, MPI_DOUBLE, partner, TAG, MPI_COMM_WORLD, &request);
    MPI_Send(out, count, MPI_DOUBLE, partner, TAG, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Sums over the grid row; all its ranks get the same sums. */
static void add_over_row(const struct grid *grid, double *values, double *scratch, int count)
{
    for (int round = 0; round < grid->rounds; ++round) {
        exchange(values, scratch, count, grid->partner[round]);
        for (int i = 0; i < count; ++i) {
            values[i] += scratch[i];
        }
    }
}

static double dot(const struct grid *grid, const double *left, const double *right)
{
    double sum = 0, scratch;
    for (int i = 0; i < grid->piece; ++i) {
        sum += left[i] * right[i];
    }
    add_over_row(grid, &sum, &scratch, 1);
    return sum;
}

/* product = matrix * vector; `partial` and `scratch` have the size of a piece. */
static void multiply(const struct grid *grid, const struct matrix *matrix, const double *vector, double *product,
                     double *partial, double *scratch)
{
    for (int row = 0; row < grid->piece; ++row) {
        double sum = 0;
        for (int k = matrix->start[row]; k < matrix->start[row + 1]; ++k) {
            sum += matrix->value[k] * vector[matrix->column[k]];
        }
        partial[row] = sum;
    }
    add_over_row(grid, partial, scratch, grid->piece);
    if (grid->side == 1) {
        memcpy(product, partial, (size_t)grid->piece * sizeof *product);
    } else {
        exchange(partial, product, grid->piece, grid->transpose);
    }
}

struct vectors {
    double *x, *z, *r, *p, *q, *partial, *scratch;
};

/* Solves A z = x approximately; returns the norm of x - A z. */
static double solve(const struct grid *grid, const struct matrix *matrix, struct vectors *v)
{
    size_t bytes = (size_t)grid->piece * sizeof(double);
    memset(v->z, 0, bytes);
    memcpy(v->r, v->x, bytes);
    memcpy(v->p, v->x, bytes);
    double square = dot(grid, v->r, v->r);
    for (int step = 0; step < INNER_STEPS; ++step) {
        begin_step();
        multiply(grid, matrix, v->p, v->q, v->partial, v->scratch);
        double length = square / dot(grid, v->p, v->q), before = square;
        for (int i = 0; i < grid->piece; ++i) {
            v->z[i] += length * v->p[i];
            v->r[i] -= length * v->q[i];
        }
        square = dot(grid, v->r, v->r);
        for (int i = 0; i < grid->piece; ++i) {
            v->p[i] = v->r[i] + square / before * v->p[i];
        }
    }
    multiply(grid, matrix, v->z, v->q, v->partial, v->scratch);
    for (int i = 0; i < grid->piece; ++i) {
        v->r[i] = v->x[i] - v->q[i];
    }
    return sqrt(dot(grid, v->r, v->r));
}

/* One step of inverse iteration; returns the estimate of the eigenvalue. */
static double iterate(const struct grid *grid, const struct matrix *matrix, struct vectors *v, double *residual)
{
    *residual = solve(grid, matrix, v);
    double sums[2] = {0, 0}, scratch[2];
    for (int i = 0; i < grid->piece; ++i) {
        sums[0] += v->x[i] * v->z[i];
        sums[1] += v->z[i] * v->z[i];
    }
    add_over_row(grid, sums, scratch, 2);
    double scale = 1 / sqrt(sums[1]);
    for (int i = 0; i < grid->piece; ++i) {
        v->x[i] = scale * v->z[i];
    }
    return SHIFT + 1 / sums[0];
}

static void set_ones(const struct grid *grid, double *x)
{
    for (int i = 0; i < grid->piece; ++i) {
        x[i] = 1;
    }
}

int main(int argc, char **argv)
{
    struct grid grid = make_grid(start(argc, argv, "CG"));
    int steps = STEPS;
    share_int(&steps);
    struct matrix matrix = make_matrix(&grid);
    struct vectors v;
    double **all[] = {&v.x, &v.z, &v.r, &v.p, &v.q, &v.partial, &v.scratch};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
        *all[i] = allocate((size_t)grid.piece, sizeof(double));
    }

    begin_warm_up();
    double zeta = 0, residual = 0;
    set_ones(&grid, v.x);
    iterate(&grid, &matrix, &v, &residual);

    set_ones(&grid, v.x);
    double begun = begin_measurement();
    for (int step = 0; step < steps; ++step) {
        zeta = iterate(&grid, &matrix, &v, &residual);
    }
    double seconds = end_measurement(begun);

    double error = relative_difference(&zeta, &EXPECTED, 1);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i) {
        free(*all[i]);
    }
    free(matrix.start);
    free(matrix.column);
    free(matrix.value);
    /* The solver's own residual counts as well: an eigenvalue can be right by luck. */
    return finish("CG", slowest(seconds), residual > error ? residual : error, TOLERANCE);
}
