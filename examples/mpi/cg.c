/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * cg: conjugate gradients on a sparse symmetric positive definite matrix, rows in contiguous blocks
 * over the ranks. The matrix is the 7-point Laplacian of a 3-D grid (zero beyond its border) plus
 * seeded springs between far apart cells, so that neighbour lists are irregular. Who needs which
 * entries is found by nonblocking consensus (synchronous sends, Iprobe, Ibarrier); afterwards every
 * product starts persistent requests, and every scalar product is an allreduce.
 * Check: the right-hand side is made from a known solution, without communication; both the
 * residual, computed afresh, and the distance from that solution must be small.
 * Source of the consensus: Hoefler, Siebert, Lumsdaine, Scalable communication protocols for
 * dynamic sparse data exchange, PPoPP 2010.
 */
#include <math.h>

#include "common/options.h"
#include "common/random.h"
#include "common/tally.h"

enum { TAG_WANTED = 1, TAG_ENTRIES = 2 };

/* Seeds of the independent random sequences. */
enum { SEED_SPRING = 1, SEED_SOLUTION = 2 };

/* CG stops at this relative residual. */
static const double RESIDUAL_GOAL = 1e-11;
/* Largest accepted relative residual, computed afresh, and relative distance from the solution. The
 * grids that the options allow have condition numbers below 1e6 for up to 1000 cells along an axis.
 */
static const double RESIDUAL_LIMIT = 1e-9;
static const double ERROR_LIMIT = 1e-5;

struct neighbour {
    int rank;
    int count;    /* entries sent or received in each product */
    int *entries; /* sending: own indices, in the order in which the neighbour asked */
    double *buffer;
};

struct matrix {
    long first, rows;  /* own rows, by global index of the first */
    long *start;       /* entries of row i: from start[i] to start[i + 1] */
    int *column;       /* own index, or rows + position in the halo */
    double *value;
    long *global;      /* column of each entry in the whole matrix */
    int halo_count;    /* entries of others that the own rows need */
    long *halo;        /* their global indices, ascending */
    struct neighbour *sources, *targets;
    int source_count, target_count;
    MPI_Request *requests; /* persistent: receives, then sends */
};

static void *allocate(long count, size_t bytes)
{
    void *memory = calloc((size_t)count + 1, bytes);
    if (memory == NULL) {
        fprintf(stderr, "cg: no memory for %ld values\n", count);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return memory;
}

static long first_row(long rows, int ranks, int rank)
{
    return rows / ranks * rank + (rank < rows % ranks ? rank : rows % ranks);
}

static int owner(long rows, int ranks, long row)
{
    int rank = (int)(row * ranks / rows);
    while (row < first_row(rows, ranks, rank)) {
        --rank;
    }
    while (row >= first_row(rows, ranks, rank + 1)) {
        ++rank;
    }
    return rank;
}

static int compare_longs(const void *left, const void *right)
{
    long a = *(const long *)left, b = *(const long *)right;
    return (a > b) - (a < b);
}

/* Ends of a spring; a spring from a cell to itself adds nothing and is dropped by the caller. */
static void spring_ends(long index, long rows, long ends[2])
{
    for (int end = 0; end < 2; ++end) {
        ends[end] = (long)(random_bits(SEED_SPRING, (uint64_t)(2 * index + end)) % (uint64_t)rows);
    }
}

static void matrix_assemble(struct matrix *matrix, const long cells[3], long springs, long rows)
{
    long last = matrix->first + matrix->rows;
    long *ends = allocate(2 * springs, sizeof *ends);
    long *degree = allocate(matrix->rows, sizeof *degree);
    for (long spring = 0; spring < springs; ++spring) {
        spring_ends(spring, rows, &ends[2 * spring]);
        for (int end = 0; end < 2; ++end) {
            long row = ends[2 * spring + end];
            if (row >= matrix->first && row < last) {
                ++degree[row - matrix->first];
            }
        }
    }
    long capacity = 7 * matrix->rows;
    for (long i = 0; i < matrix->rows; ++i) {
        capacity += degree[i];
    }
    matrix->start = allocate(matrix->rows + 1, sizeof *matrix->start);
    matrix->column = allocate(capacity, sizeof *matrix->column);
    matrix->value = allocate(capacity, sizeof *matrix->value);
    matrix->global = allocate(capacity, sizeof *matrix->global);
    /* Springs are few: they are laid out by row first, in the space that `degree` reserves. */
    long *far_start = allocate(matrix->rows + 1, sizeof *far_start);
    for (long i = 0; i < matrix->rows; ++i) {
        far_start[i + 1] = far_start[i] + degree[i];
        degree[i] = 0;
    }
    long *far = allocate(far_start[matrix->rows], sizeof *far);
    for (long spring = 0; spring < springs; ++spring) {
        const long *pair = &ends[2 * spring];
        for (int end = 0; end < 2 && pair[0] != pair[1]; ++end) {
            if (pair[end] >= matrix->first && pair[end] < last) {
                long i = pair[end] - matrix->first;
                far[far_start[i] + degree[i]++] = pair[1 - end];
            }
        }
    }
    long filled = 0;
    for (long i = 0; i < matrix->rows; ++i) {
        long row = matrix->first + i;
        long at[3] = {row / (cells[1] * cells[2]), row / cells[2] % cells[1], row % cells[2]};
        long stride[3] = {cells[1] * cells[2], cells[2], 1};
        matrix->start[i] = filled;
        matrix->global[filled] = row;
        matrix->value[filled++] = 6 + (double)degree[i];
        for (int axis = 0; axis < 3; ++axis) {
            for (int side = -1; side <= 1; side += 2) {
                if (at[axis] + side >= 0 && at[axis] + side < cells[axis]) {
                    matrix->global[filled] = row + side * stride[axis];
                    matrix->value[filled++] = -1;
                }
            }
        }
        for (long k = 0; k < degree[i]; ++k) {
            matrix->global[filled] = far[far_start[i] + k];
            matrix->value[filled++] = -1;
        }
    }
    matrix->start[matrix->rows] = filled;
    free(ends);
    free(degree);
    free(far_start);
    free(far);
}

/* Lists the foreign columns once each, ascending, and numbers all columns locally. */
static void matrix_number_columns(struct matrix *matrix)
{
    long entries = matrix->start[matrix->rows], foreign = 0;
    matrix->halo = allocate(entries, sizeof *matrix->halo);
    for (long k = 0; k < entries; ++k) {
        if (matrix->global[k] < matrix->first || matrix->global[k] >= matrix->first + matrix->rows) {
            matrix->halo[foreign++] = matrix->global[k];
        }
    }
    qsort(matrix->halo, (size_t)foreign, sizeof *matrix->halo, compare_longs);
    for (long k = 0; k < foreign; ++k) {
        if (k == 0 || matrix->halo[k] != matrix->halo[k - 1]) {
            matrix->halo[matrix->halo_count++] = matrix->halo[k];
        }
    }
    for (long k = 0; k < entries; ++k) {
        long own = matrix->global[k] - matrix->first;
        if (own < 0 || own >= matrix->rows) {
            const long *found = bsearch(&matrix->global[k], matrix->halo, (size_t)matrix->halo_count,
                                        sizeof *matrix->halo, compare_longs);
            own = matrix->rows + (found - matrix->halo);
        }
        matrix->column[k] = (int)own;
    }
}

/* Tells every owner which of its entries are needed here, and learns who needs which of the own
 * ones. A synchronous send is done when it has been received; when all are, the rank enters the
 * barrier, and when the barrier is done no request can be on its way any more. */
static void matrix_find_neighbours(struct matrix *matrix, long rows, MPI_Comm comm, struct tally *tally)
{
    int ranks;
    MPI_Comm_size(comm, &ranks);
    matrix->sources = allocate(ranks, sizeof *matrix->sources);
    matrix->targets = allocate(ranks, sizeof *matrix->targets);
    MPI_Request *asking = allocate(ranks, sizeof *asking);
    for (int k = 0; k < matrix->halo_count;) {
        struct neighbour *source = &matrix->sources[matrix->source_count];
        source->rank = owner(rows, ranks, matrix->halo[k]);
        while (k + source->count < matrix->halo_count &&
               owner(rows, ranks, matrix->halo[k + source->count]) == source->rank) {
            ++source->count;
        }
        MPI_Issend(&matrix->halo[k], source->count, MPI_LONG, source->rank, TAG_WANTED, comm,
                   &asking[matrix->source_count++]);
        tally_send(tally, source->count, MPI_LONG);
        k += source->count;
    }
    MPI_Request barrier = MPI_REQUEST_NULL;
    for (int entered = 0, done = 0; !done;) {
        int arrived;
        MPI_Status status;
        MPI_Iprobe(MPI_ANY_SOURCE, TAG_WANTED, comm, &arrived, &status);
        if (arrived) {
            struct neighbour *target = &matrix->targets[matrix->target_count++];
            target->rank = status.MPI_SOURCE;
            MPI_Get_count(&status, MPI_LONG, &target->count);
            long *wanted = allocate(target->count, sizeof *wanted);
            MPI_Recv(wanted, target->count, MPI_LONG, target->rank, TAG_WANTED, comm, &status);
            tally_receive(tally, &status, MPI_LONG);
            target->entries = allocate(target->count, sizeof *target->entries);
            target->buffer = allocate(target->count, sizeof *target->buffer);
            for (int k = 0; k < target->count; ++k) {
                target->entries[k] = (int)(wanted[k] - matrix->first);
            }
            free(wanted);
        }
        if (entered) {
            MPI_Test(&barrier, &done, MPI_STATUS_IGNORE);
        } else {
            MPI_Testall(matrix->source_count, asking, &entered, MPI_STATUSES_IGNORE);
            if (entered) {
                MPI_Ibarrier(comm, &barrier);
            }
        }
    }
    free(asking);
}

/* `vector` holds the own entries, then room for the halo; all products use this one. */
static void matrix_connect(struct matrix *matrix, double *vector, MPI_Comm comm)
{
    matrix->requests = allocate(matrix->source_count + matrix->target_count, sizeof *matrix->requests);
    double *halo = vector + matrix->rows;
    for (int k = 0; k < matrix->source_count; ++k) {
        MPI_Recv_init(halo, matrix->sources[k].count, MPI_DOUBLE, matrix->sources[k].rank, TAG_ENTRIES, comm,
                      &matrix->requests[k]);
        halo += matrix->sources[k].count;
    }
    for (int k = 0; k < matrix->target_count; ++k) {
        MPI_Send_init(matrix->targets[k].buffer, matrix->targets[k].count, MPI_DOUBLE, matrix->targets[k].rank,
                      TAG_ENTRIES, comm, &matrix->requests[matrix->source_count + k]);
    }
}

/* product = matrix * vector; `spoil` is added to the first entry that comes from another rank. */
static void matrix_apply(const struct matrix *matrix, double *vector, double *product, double spoil,
                         MPI_Status *statuses, struct tally *tally)
{
    for (int k = 0; k < matrix->target_count; ++k) {
        const struct neighbour *target = &matrix->targets[k];
        for (int i = 0; i < target->count; ++i) {
            target->buffer[i] = vector[target->entries[i]];
        }
        tally_send(tally, target->count, MPI_DOUBLE);
    }
    int requests = matrix->source_count + matrix->target_count;
    MPI_Startall(requests, matrix->requests);
    MPI_Waitall(requests, matrix->requests, statuses);
    for (int k = 0; k < matrix->source_count; ++k) {
        tally_receive(tally, &statuses[k], MPI_DOUBLE);
    }
    vector[matrix->rows] += spoil;
    for (long i = 0; i < matrix->rows; ++i) {
        double sum = 0;
        for (long k = matrix->start[i]; k < matrix->start[i + 1]; ++k) {
            sum += matrix->value[k] * vector[matrix->column[k]];
        }
        product[i] = sum;
    }
}

static void matrix_destroy(struct matrix *matrix)
{
    for (int k = 0; k < matrix->source_count + matrix->target_count; ++k) {
        MPI_Request_free(&matrix->requests[k]);
    }
    for (int k = 0; k < matrix->target_count; ++k) {
        free(matrix->targets[k].entries);
        free(matrix->targets[k].buffer);
    }
    free(matrix->start);
    free(matrix->column);
    free(matrix->value);
    free(matrix->global);
    free(matrix->halo);
    free(matrix->sources);
    free(matrix->targets);
    free(matrix->requests);
}

static double solution(long row)
{
    return 2 * random_unit(SEED_SOLUTION, (uint64_t)row) - 1;
}

static double dot(const double *left, const double *right, long count, MPI_Comm comm)
{
    double sum = 0;
    for (long i = 0; i < count; ++i) {
        sum += left[i] * right[i];
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    return sum;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    long cells[3] = {16, 16, 16}, springs = 128, most = 1000, corrupt = 0;
    const struct option options[] = {
        {"nx", &cells[0], 2, 1000, "cells of the whole grid along x"},
        {"ny", &cells[1], 2, 1000, "cells of the whole grid along y"},
        {"nz", &cells[2], 2, 1000, "cells of the whole grid along z"},
        {"springs", &springs, 0, 10000000, "random couplings of far apart cells"},
        {"most", &most, 1, 1000000, "iterations at most"},
        {"corrupt", &corrupt, 0, 1, "1: spoil one received entry in the third product; the check must then fail"},
    };
    int status = options_parse(argc, argv, "cg", "Conjugate gradients on a sparse matrix, neighbour exchange.", options,
                               sizeof options / sizeof options[0]);
    int ranks, rank;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    long rows = cells[0] * cells[1] * cells[2];
    if (status == OPTIONS_RUN && rows < ranks) {
        if (rank == 0) {
            fprintf(stderr, "cg: the grid has %ld cells, too few for %d ranks\n", rows, ranks);
        }
        status = OPTIONS_BAD;
    }
    if (status != OPTIONS_RUN) {
        MPI_Finalize();
        return status;
    }

    /* A communicator of its own keeps these messages apart from the application's, as solver
     * libraries do. */
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    struct tally tally = {0, 0, 0, 0};
    struct matrix matrix = {.first = first_row(rows, ranks, rank)};
    matrix.rows = first_row(rows, ranks, rank + 1) - matrix.first;
    matrix_assemble(&matrix, cells, springs, rows);
    matrix_number_columns(&matrix);
    matrix_find_neighbours(&matrix, rows, comm, &tally);

    double *direction = allocate(matrix.rows + matrix.halo_count, sizeof *direction);
    double *product = allocate(matrix.rows, sizeof *product);
    double *right_side = allocate(matrix.rows, sizeof *right_side);
    double *residual = allocate(matrix.rows, sizeof *residual);
    double *guess = allocate(matrix.rows, sizeof *guess);
    MPI_Status *statuses = allocate(matrix.source_count + matrix.target_count, sizeof *statuses);
    matrix_connect(&matrix, direction, comm);
    for (long i = 0; i < matrix.rows; ++i) {
        for (long k = matrix.start[i]; k < matrix.start[i + 1]; ++k) {
            right_side[i] += matrix.value[k] * solution(matrix.global[k]);
        }
        residual[i] = direction[i] = right_side[i];
    }

    double size = dot(right_side, right_side, matrix.rows, comm), square = size;
    long iterations = 0;
    while (iterations < most && sqrt(square / size) > RESIDUAL_GOAL) {
        double spoil = corrupt == 1 && iterations == 2 && matrix.halo_count > 0 ? 1 : 0;
        matrix_apply(&matrix, direction, product, spoil, statuses, &tally);
        double step = square / dot(direction, product, matrix.rows, comm);
        for (long i = 0; i < matrix.rows; ++i) {
            guess[i] += step * direction[i];
            residual[i] -= step * product[i];
        }
        double before = square;
        square = dot(residual, residual, matrix.rows, comm);
        for (long i = 0; i < matrix.rows; ++i) {
            direction[i] = residual[i] + square / before * direction[i];
        }
        ++iterations;
    }

    for (long i = 0; i < matrix.rows; ++i) {
        direction[i] = guess[i];
    }
    matrix_apply(&matrix, direction, product, 0, statuses, &tally);
    double sums[3] = {0, 0, 0};
    for (long i = 0; i < matrix.rows; ++i) {
        double expected = solution(matrix.first + i);
        sums[0] += (right_side[i] - product[i]) * (right_side[i] - product[i]);
        sums[1] += (guess[i] - expected) * (guess[i] - expected);
        sums[2] += expected * expected;
    }
    MPI_Allreduce(MPI_IN_PLACE, sums, 3, MPI_DOUBLE, MPI_SUM, comm);
    double left = sqrt(sums[0] / size), error = sqrt(sums[1] / sums[2]);
    bool right = left <= RESIDUAL_LIMIT && error <= ERROR_LIMIT;
    if (rank == 0) {
        printf("cg: %ld rows, %ld iterations, residual %.1e (limit %.0e), error %.1e (limit %.0e)\n", rows, iterations,
               left, RESIDUAL_LIMIT, error, ERROR_LIMIT);
        if (!right) {
            fprintf(stderr, "cg: WRONG: residual %.1e, distance from the known solution %.1e\n", left, error);
        }
    }
    right = tally_report(&tally, "cg", comm) && right;
    matrix_destroy(&matrix);
    free(direction);
    free(product);
    free(right_side);
    free(residual);
    free(guess);
    free(statuses);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return right ? 0 : 1;
}
