/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Every collective against its definition, for several lengths, roots and datatypes. Values depend on rank and
 * position, so that a block in the wrong place is seen. */
#include "check.h"

enum { LENGTHS = 4, MOST = 5000 };
static const int lengths[LENGTHS] = {0, 1, 7, MOST};

static int value(int of, int at) { return of * 100003 + at * 17 + 5; }

/* Products of 2 x 2 matrices do not commute. */
typedef struct {
    int64_t m[4];
} Matrix;

static Matrix product(Matrix a, Matrix b)
{
    const Matrix c = {{(a.m[0] * b.m[0] + a.m[1] * b.m[2]) % 1009, (a.m[0] * b.m[1] + a.m[1] * b.m[3]) % 1009,
                       (a.m[2] * b.m[0] + a.m[3] * b.m[2]) % 1009, (a.m[2] * b.m[1] + a.m[3] * b.m[3]) % 1009}};
    return c;
}

static void multiply(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    const Matrix *a = in;
    Matrix *b = inout;
    for (int i = 0; i < *count; i++)
        b[i] = product(a[i], b[i]);
}

static Matrix matrix_of(int of, int at)
{
    const Matrix m = {{of + 1, at + 2, of * 3 + at + 1, 2 * of + 1}};
    return m;
}

static void test_bcast(MPI_Datatype every_second, int *buffer)
{
    for (int k = 0; k < LENGTHS; k++) {
        for (int root = 0; root < size; root++) {
            for (int i = 0; i < 2 * MOST; i++)
                buffer[i] = rank == root ? value(root, i) : -1;
            MPI_Bcast(buffer, lengths[k], root % 2 ? every_second : MPI_INT, root, MPI_COMM_WORLD);
            for (int i = 0; i < lengths[k]; i++)
                CHECK(buffer[root % 2 ? 2 * i : i] == value(root, root % 2 ? 2 * i : i));
            if (root % 2 && rank != root && lengths[k] > 0) CHECK(buffer[1] == -1);
        }
    }
}

static void test_reduce(int *in, int *out)
{
    const MPI_Op ops[] = {MPI_SUM, MPI_MAX, MPI_MIN, MPI_BXOR};
    for (int k = 0; k < LENGTHS; k++) {
        for (int o = 0; o < 4; o++) {
            const int root = (k + o) % size, n = lengths[k];
            for (int i = 0; i < n; i++)
                in[i] = value(rank, i) % 1000;
            for (int way = 0; way < 3; way++) {
                memset(out, 0xee, MOST * sizeof *out);
                if (way == 0) MPI_Allreduce(in, out, n, MPI_INT, ops[o], MPI_COMM_WORLD);
                if (way == 1) MPI_Reduce(in, out, n, MPI_INT, ops[o], root, MPI_COMM_WORLD);
                if (way == 2) {
                    memcpy(out, in, (size_t)n * sizeof *out);
                    MPI_Allreduce(MPI_IN_PLACE, out, n, MPI_INT, ops[o], MPI_COMM_WORLD);
                }
                for (int i = 0; i < n && (way != 1 || rank == root); i++) {
                    int expected = value(0, i) % 1000;
                    for (int r = 1; r < size; r++) {
                        const int v = value(r, i) % 1000;
                        expected = o == 0 ? expected + v : o == 1 ? (v > expected ? v : expected)
                                 : o == 2 ? (v < expected ? v : expected) : expected ^ v;
                    }
                    CHECK(out[i] == expected);
                }
            }
        }
    }
}

static void test_order(void)
{
    enum { N = 3 };
    MPI_Datatype type;
    MPI_Op op;
    MPI_Type_contiguous(4, MPI_INT64_T, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(multiply, 0, &op);
    Matrix mine[N], got[N], part[N], whole[N], before[N];
    for (int i = 0; i < N; i++) {
        mine[i] = matrix_of(rank, i);
        whole[i] = matrix_of(0, i);
        part[i] = matrix_of(0, i);
        before[i] = matrix_of(0, i);
        for (int r = 1; r < size; r++) {
            whole[i] = product(whole[i], matrix_of(r, i));
            if (r <= rank) part[i] = product(part[i], matrix_of(r, i));
            if (r < rank) before[i] = product(before[i], matrix_of(r, i));
        }
    }
    for (int root = 0; root < size; root++) {
        MPI_Reduce(mine, got, N, type, op, root, MPI_COMM_WORLD);
        if (rank == root) CHECK(memcmp(got, whole, sizeof got) == 0);
    }
    MPI_Allreduce(mine, got, N, type, op, MPI_COMM_WORLD);
    CHECK(memcmp(got, whole, sizeof got) == 0);
    MPI_Scan(mine, got, N, type, op, MPI_COMM_WORLD);
    CHECK(memcmp(got, part, sizeof got) == 0);
    MPI_Exscan(mine, got, N, type, op, MPI_COMM_WORLD);
    if (rank > 0) CHECK(memcmp(got, before, sizeof got) == 0);
    Matrix *all = malloc((size_t)size * sizeof *all), expected = matrix_of(0, rank), mine_block;
    for (int i = 0; i < size; i++)
        all[i] = matrix_of(rank, i);
    for (int r = 1; r < size; r++)
        expected = product(expected, matrix_of(r, rank));
    MPI_Reduce_scatter_block(all, &mine_block, 1, type, op, MPI_COMM_WORLD);
    CHECK(memcmp(&mine_block, &expected, sizeof expected) == 0);
    free(all);
    MPI_Op_free(&op);
    MPI_Type_free(&type);
}

static void test_locations(void)
{
    struct {
        double value;
        int index;
    } in = {rank % 3, rank}, out;
    MPI_Allreduce(&in, &out, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    const int most = size >= 3 ? 2 : size - 1;
    CHECK(out.value == most && out.index == most);
    MPI_Allreduce(&in, &out, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
    CHECK(out.value == 0 && out.index == 0);
}

static void test_gather(MPI_Datatype every_second, int *in, int *out)
{
    for (int k = 0; k < LENGTHS - 1; k++) {
        const int n = lengths[k];
        for (int root = 0; root < size; root++) {
            for (int i = 0; i < 2 * n; i++)
                in[i] = value(rank, i);
            memset(out, 0, (size_t)(size * n + 1) * sizeof *out);
            MPI_Gather(in, n, every_second, out, n, MPI_INT, root, MPI_COMM_WORLD);
            for (int i = 0; i < size * n && rank == root; i++)
                CHECK(out[i] == value(i / n, 2 * (i % n)));
            int *blocks = malloc((size_t)(2 * size * n + 1) * sizeof *blocks);
            for (int i = 0; i < 2 * size * n; i++)
                blocks[i] = value(7, i);
            MPI_Scatter(blocks, n, every_second, out, n, MPI_INT, root, MPI_COMM_WORLD);
            for (int i = 0; i < n; i++)
                CHECK(out[i] == value(7, 2 * (rank * n + i)));
            free(blocks);
        }
        memset(out, 0, (size_t)(size * n + 1) * sizeof *out);
        MPI_Allgather(in, n, every_second, out, n, MPI_INT, MPI_COMM_WORLD);
        for (int i = 0; i < size * n; i++)
            CHECK(out[i] == value(i / n, 2 * (i % n)));
        for (int i = 0; i < n; i++)
            out[rank * n + i] = value(rank, i) + 1;
        MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, n, MPI_INT, MPI_COMM_WORLD);
        for (int i = 0; i < size * n; i++)
            CHECK(out[i] == value(i / n, i % n) + 1);
    }
}

/* Rank r has r + 1 elements, with a gap of one behind each block. */
static void test_varying(int *in, int *out)
{
    int *counts = malloc((size_t)size * sizeof *counts), *at = malloc((size_t)size * sizeof *at), next = 0;
    for (int r = 0; r < size; r++) {
        counts[r] = r + 1;
        at[r] = next;
        next += counts[r] + 1;
    }
    for (int i = 0; i <= rank; i++)
        in[i] = value(rank, i);
    for (int way = 0; way < 2; way++) {
        const int root = size - 1;
        memset(out, 0, (size_t)next * sizeof *out);
        if (way == 0) MPI_Gatherv(in, rank + 1, MPI_INT, out, counts, at, MPI_INT, root, MPI_COMM_WORLD);
        if (way == 1) MPI_Allgatherv(in, rank + 1, MPI_INT, out, counts, at, MPI_INT, MPI_COMM_WORLD);
        for (int r = 0; r < size && (way == 1 || rank == root); r++) {
            for (int i = 0; i < counts[r]; i++)
                CHECK(out[at[r] + i] == value(r, i));
            CHECK(out[at[r] + counts[r]] == 0);
        }
    }
    for (int i = 0; i < next; i++)
        out[i] = value(3, i);
    MPI_Scatterv(out, counts, at, MPI_INT, in, rank + 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i <= rank; i++)
        CHECK(in[i] == value(3, at[rank] + i));
    int *sums = malloc((size_t)size * (size_t)(size + 1) * sizeof *sums);
    for (int i = 0, k = 0; i < size; i++) {
        for (int j = 0; j <= i; j++)
            sums[k++] = value(rank + i, j) % 997;
    }
    MPI_Reduce_scatter(sums, in, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int j = 0; j <= rank; j++) {
        int expected = 0;
        for (int r = 0; r < size; r++)
            expected += value(r + rank, j) % 997;
        CHECK(in[j] == expected);
    }
    free(sums);
    free(counts);
    free(at);
}

static void test_alltoall(void)
{
    const size_t most = (size_t)(size * size + size);
    int *in = malloc(2 * most * sizeof *in), *out = malloc(2 * most * sizeof *out);
    int *in_counts = malloc((size_t)size * sizeof *in_counts), *in_at = malloc((size_t)size * sizeof *in_at);
    int *out_counts = malloc((size_t)size * sizeof *out_counts), *out_at = malloc((size_t)size * sizeof *out_at);
    MPI_Datatype *types = malloc((size_t)size * sizeof *types);
    for (int way = 0; way < 4; way++) {
        int a = 0, b = 0;
        for (int r = 0; r < size; r++) {
            /* From s to d: (s + d) % 3 elements, or 2. */
            in_counts[r] = out_counts[r] = way == 0 || way == 3 ? 2 : (r + rank) % 3;
            in_at[r] = a * (way == 2 ? 4 : 1);
            out_at[r] = b * (way == 2 ? 4 : 1);
            types[r] = MPI_INT;
            for (int i = 0; i < in_counts[r]; i++)
                (way == 3 ? out : in)[a + i] = value(rank * size + r, i);
            a += in_counts[r];
            b += out_counts[r];
        }
        if (way == 0) MPI_Alltoall(in, 2, MPI_INT, out, 2, MPI_INT, MPI_COMM_WORLD);
        if (way == 1) MPI_Alltoallv(in, in_counts, in_at, MPI_INT, out, out_counts, out_at, MPI_INT, MPI_COMM_WORLD);
        if (way == 2) MPI_Alltoallw(in, in_counts, in_at, types, out, out_counts, out_at, types, MPI_COMM_WORLD);
        if (way == 3) MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, 2, MPI_INT, MPI_COMM_WORLD);
        for (int r = 0, k = 0; r < size; r++) {
            for (int i = 0; i < out_counts[r]; i++)
                CHECK(out[k++] == value(r * size + rank, i));
        }
    }
    free(in);
    free(out);
    free(in_counts);
    free(in_at);
    free(out_counts);
    free(out_at);
    free(types);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Datatype every_second;
    MPI_Type_create_resized(MPI_INT, 0, 2 * (int)sizeof(int), &every_second);
    MPI_Type_commit(&every_second);
    int *in = malloc((size_t)(2 * MOST + 2 * size * size) * sizeof *in);
    int *out = malloc((size_t)(2 * MOST + 8 * size * size) * sizeof *out);
    test_bcast(every_second, in);
    test_reduce(in, out);
    test_order();
    test_locations();
    test_gather(every_second, in, out);
    test_varying(in, out);
    test_alltoall();
    MPI_Request barriers[2];
    MPI_Ibarrier(MPI_COMM_WORLD, &barriers[0]);
    MPI_Ibarrier(MPI_COMM_WORLD, &barriers[1]);
    MPI_Waitall(2, barriers, MPI_STATUSES_IGNORE);
    MPI_Type_free(&every_second);
    free(in);
    free(out);
    return end("collectives");
}
