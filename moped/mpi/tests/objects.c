/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Communicators, groups, attributes, topologies, datatypes, errors, buffered sends and cancellation. */
#include "check.h"

static void test_groups(void)
{
    MPI_Group all, odd, even, both, none;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    int ranges[1][3] = {{0, size - 1, 2}}, result, n;
    MPI_Group_range_incl(all, 1, ranges, &even);
    MPI_Group_difference(all, even, &odd);
    MPI_Group_size(even, &n);
    CHECK(n == (size + 1) / 2);
    MPI_Group_union(even, odd, &both);
    MPI_Group_compare(both, all, &result);
    CHECK(result == (size > 2 ? MPI_SIMILAR : MPI_IDENT));
    MPI_Group_intersection(even, odd, &none);
    CHECK(none == MPI_GROUP_EMPTY);
    MPI_Comm comm;
    MPI_Comm_create(MPI_COMM_WORLD, even, &comm);
    CHECK((comm == MPI_COMM_NULL) == (rank % 2 == 1));
    if (comm != MPI_COMM_NULL) {
        int there, sum;
        MPI_Comm_rank(comm, &there);
        CHECK(there == rank / 2);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
        CHECK(sum == n * (n - 1));
        MPI_Comm_free(&comm);
        /* Only the members take part. */
        MPI_Comm_create_group(MPI_COMM_WORLD, even, 3, &comm);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_MAX, comm);
        CHECK(sum == 2 * (n - 1));
        MPI_Comm_free(&comm);
    }
    MPI_Group_free(&all);
    MPI_Group_free(&even);
    if (odd != MPI_GROUP_EMPTY) MPI_Group_free(&odd);
    MPI_Group_free(&both);
}

static int copies, deletions;

static int copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)keyval;
    copies++;
    *(void **)out = (char *)in + *(int *)extra;
    *flag = 1;
    return MPI_SUCCESS;
}

static int forget(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)value, (void)extra;
    deletions++;
    return MPI_SUCCESS;
}

static void test_attributes(void)
{
    int key, step = 3, flag, *tag_ub, result;
    char *value;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_ub, &flag);
    CHECK(flag && *tag_ub >= 32767);
    MPI_Comm a, b;
    MPI_Comm_dup(MPI_COMM_WORLD, &a);
    MPI_Comm_create_keyval(copy, forget, &key, &step);
    MPI_Comm_set_attr(a, key, (void *)100);
    MPI_Comm_dup(a, &b);
    MPI_Comm_get_attr(b, key, &value, &flag);
    CHECK(flag && value == (char *)103 && copies == 1);
    MPI_Comm_compare(a, b, &result);
    CHECK(result == MPI_CONGRUENT);
    MPI_Comm_delete_attr(a, key);
    MPI_Comm_get_attr(a, key, &value, &flag);
    CHECK(!flag && deletions == 1);
    MPI_Comm_free(&b);
    CHECK(deletions == 2);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_free(&a);
}

static void test_cart(void)
{
    int dims[3] = {0, 0, 0}, periods[3] = {1, 0, 1}, coords[3], there, source, dest, kept[3] = {1, 0, 1};
    MPI_Comm cart, plane;
    MPI_Dims_create(size, 3, dims);
    CHECK(dims[0] * dims[1] * dims[2] == size && dims[0] >= dims[1] && dims[1] >= dims[2]);
    MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 1, &cart);
    MPI_Cart_coords(cart, rank, 3, coords);
    MPI_Cart_rank(cart, coords, &there);
    CHECK(there == rank);
    MPI_Cart_shift(cart, 1, 1, &source, &dest);
    CHECK((source == MPI_PROC_NULL) == (coords[1] == 0) && (dest == MPI_PROC_NULL) == (coords[1] == dims[1] - 1));
    MPI_Cart_shift(cart, 0, 1, &source, &dest);
    int from = -1;
    MPI_Sendrecv(&rank, 1, MPI_INT, dest, 0, &from, 1, MPI_INT, source, 0, cart, MPI_STATUS_IGNORE);
    CHECK(from == source);
    MPI_Cart_sub(cart, kept, &plane);
    MPI_Comm_size(plane, &there);
    CHECK(there == dims[0] * dims[2]);
    MPI_Comm_free(&plane);
    MPI_Comm_free(&cart);
    int six[2] = {0, 0}, given[2] = {0, 4};
    MPI_Dims_create(6, 2, six);
    CHECK(six[0] == 3 && six[1] == 2);
    MPI_Dims_create(12, 2, given);
    CHECK(given[0] == 3 && given[1] == 4);
}

static void test_types(void)
{
    struct {
        char c;
        double d;
        int i[3];
    } from[2] = {{'a', 1.5, {1, 2, 3}}, {'b', 2.5, {4, 5, 6}}}, to[2];
    const int lengths[3] = {1, 1, 3};
    const MPI_Aint at[3] = {0, (char *)&from[0].d - (char *)from, (char *)from[0].i - (char *)from};
    const MPI_Datatype types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_INT};
    MPI_Datatype type;
    MPI_Aint lb, extent;
    int n;
    MPI_Type_create_struct(3, lengths, at, types, &type);
    MPI_Type_commit(&type);
    MPI_Type_get_extent(type, &lb, &extent);
    MPI_Type_size(type, &n);
    CHECK(lb == 0 && extent == (MPI_Aint)sizeof from[0] && n == 21);
    memset(to, 0, sizeof to);
    MPI_Status status;
    MPI_Sendrecv(from, 2, type, rank, 1, to, 2, type, rank, 1, MPI_COMM_WORLD, &status);
    CHECK(to[1].c == 'b' && to[1].d == 2.5 && to[1].i[2] == 6 && to[0].i[0] == 1);
    MPI_Get_count(&status, type, &n);
    CHECK(n == 2);
    MPI_Get_elements(&status, type, &n);
    CHECK(n == 10);
    char packed[64];
    int position = 0;
    MPI_Pack(from, 2, type, packed, sizeof packed, &position, MPI_COMM_WORLD);
    CHECK(position == 42);
    memset(to, 0, sizeof to);
    position = 0;
    MPI_Unpack(packed, 42, &position, to, 2, type, MPI_COMM_WORLD);
    CHECK(to[0].c == 'a' && to[1].i[1] == 5);
    MPI_Type_free(&type);
    /* A 2 x 3 part of a 4 x 5 array, in both orders. */
    const int sizes[2] = {4, 5}, parts[2] = {2, 3}, starts[2] = {1, 2};
    int array[20], part[6];
    for (int i = 0; i < 20; i++)
        array[i] = i;
    for (int order = 0; order < 2; order++) {
        MPI_Type_create_subarray(2, sizes, parts, starts, order ? MPI_ORDER_FORTRAN : MPI_ORDER_C, MPI_INT, &type);
        MPI_Type_commit(&type);
        position = 0;
        MPI_Pack(array, 1, type, part, sizeof part, &position, MPI_COMM_WORLD);
        for (int i = 0; i < 6; i++)
            CHECK(part[i] == (order ? (2 + i / 2) * 4 + 1 + i % 2 : (1 + i / 3) * 5 + 2 + i % 3));
        MPI_Type_get_extent(type, &lb, &extent);
        CHECK(extent == (MPI_Aint)sizeof array);
        MPI_Type_free(&type);
    }
}

static void test_errors(void)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    int x[4] = {1, 2, 3, 4}, y = 0, class;
    CHECK(MPI_Send(x, 1, MPI_INT, size, 0, comm) == MPI_ERR_RANK);
    CHECK(MPI_Send(x, -1, MPI_INT, 0, 0, comm) == MPI_ERR_COUNT);
    CHECK(MPI_Send(x, 1, MPI_COMM_WORLD, 0, 0, comm) == MPI_ERR_TYPE);
    CHECK(MPI_Send(x, 1, MPI_INT, 0, -5, comm) == MPI_ERR_TAG);
    CHECK(MPI_Bsend(x, 1, MPI_INT, 0, 0, comm) == MPI_ERR_BUFFER);
    CHECK(MPI_Bcast(x, 1, MPI_INT, size, comm) == MPI_ERR_ROOT);
    CHECK(MPI_Allreduce(x, &y, 1, MPI_DOUBLE_INT, MPI_SUM, comm) == MPI_ERR_OP);
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(&y, 1, MPI_INT, rank, 0, comm, &request);
    MPI_Send(x, 4, MPI_INT, rank, 0, comm);
    MPI_Error_class(MPI_Wait(&request, &status), &class);
    CHECK(class == MPI_ERR_TRUNCATE && y == 1 && status.MPI_SOURCE == rank);
    MPI_Comm_free(&comm);
}

static void test_buffered(void)
{
    enum { MESSAGES = 5, BYTES = 3000 };
    static char out[BYTES], in[BYTES], buffer[MESSAGES * (BYTES + MPI_BSEND_OVERHEAD)];
    void *address;
    int bytes;
    for (int round = 0; round < 3; round++) {
        MPI_Buffer_attach(buffer, sizeof buffer);
        for (int i = 0; i < MESSAGES; i++) {
            memset(out, i + rank, sizeof out);
            MPI_Bsend(out, BYTES, MPI_CHAR, (rank + 1) % size, i, MPI_COMM_WORLD);
        }
        for (int i = MESSAGES - 1; i >= 0; i--) {
            MPI_Recv(in, BYTES, MPI_CHAR, (rank + size - 1) % size, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(in[0] == i + (rank + size - 1) % size && in[BYTES - 1] == in[0]);
        }
        MPI_Buffer_detach(&address, &bytes);
        CHECK(address == buffer && bytes == (int)sizeof buffer);
    }
}

/* A send that is cancelled either was received or is gone: never both, never neither. */
static void test_cancelled_sends(void)
{
    enum { LONG = 50000 };
    static int data[LONG], got[LONG];
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;
    for (int synchronous = 0; synchronous < 2; synchronous++) {
        MPI_Request request;
        MPI_Status status;
        int cancelled, peer_cancelled, flag;
        data[0] = synchronous;
        if (synchronous) {
            MPI_Issend(data, 1, MPI_INT, to, 5, MPI_COMM_WORLD, &request);
        } else {
            MPI_Isend(data, LONG, MPI_INT, to, 5, MPI_COMM_WORLD, &request);
        }
        if (rank % 2 == 0) MPI_Iprobe(from, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &cancelled);
        CHECK(cancelled);
        MPI_Sendrecv(&cancelled, 1, MPI_INT, to, 6, &peer_cancelled, 1, MPI_INT, from, 6, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Iprobe(from, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        CHECK(flag == !peer_cancelled);
        if (flag) MPI_Recv(got, LONG, MPI_INT, from, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        /* The message of the next round must not be seen in this one. */
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Standard sends of eager size may be completed before they are received. */
static void test_eager_sends(void)
{
    int x[3] = {rank, rank + 1, rank + 2}, y[3];
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;
    for (int i = 0; i < 3; i++)
        MPI_Send(&x[i], 1, MPI_INT, to, 8, MPI_COMM_WORLD);
    MPI_Request requests[3];
    for (int i = 0; i < 3; i++)
        MPI_Isend(&x[i], 1, MPI_INT, to, 8, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 6; i++) {
        MPI_Recv(&y[i % 3], 1, MPI_INT, from, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(y[i % 3] == from + i % 3);
    }
}

static void test_intercommunicators(void)
{
    if (size < 2) return;
    MPI_Comm half, across, merged;
    int n, r;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &across);
    MPI_Comm_remote_size(across, &n);
    CHECK(n == (rank % 2 == 0 ? size / 2 : (size + 1) / 2));
    MPI_Barrier(across);
    MPI_Intercomm_merge(across, rank % 2 == 0, &merged);
    MPI_Comm_rank(merged, &r);
    CHECK(r == (rank % 2 == 1 ? rank / 2 : size / 2 + rank / 2));
    MPI_Comm_free(&merged);
    MPI_Comm_free(&across);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    test_groups();
    test_attributes();
    test_cart();
    test_types();
    test_errors();
    test_buffered();
    test_cancelled_sends();
    test_eager_sends();
    test_intercommunicators();
    /* Context numbers are returned: more communicators in turn than there are numbers. */
    for (int i = 0; i < 2100; i++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_SELF, &comm);
        MPI_Comm_free(&comm);
    }
    return end("objects");
}
