// SPDX-License-Identifier: Apache-2.0 OR MIT
// Cartesian topologies. Ranks are in row-major order and never reordered.

#include "internal.h"

#define CHECK_CART(name, handle)                                                                                       \
    MB_CHECK_COMM(comm_of_##name, handle);                                                                             \
    struct mb_cart *name = comm_of_##name->cart;                                                                       \
    if (name == NULL)                                                                                                  \
    return mb_fail(comm_of_##name, __func__, MPI_ERR_TOPOLOGY, "the communicator has no Cartesian topology")

void mb_cart_free(struct mb_comm *comm)
{
    if (comm->cart == NULL) return;
    free(comm->cart->dims);
    free(comm->cart);
    comm->cart = NULL;
}

// The factors of a number come in descending order; each goes to the smallest dimension so far.
int MPI_Dims_create(int nodes, int dimensions, int dims[])
{
    int rest = nodes, open = 0;
    for (int i = 0; i < dimensions; i++) {
        if (dims[i] < 0) return mb_fail(NULL, __func__, MPI_ERR_DIMS, "dimension %d is %d", i, dims[i]);
        if (dims[i] == 0) {
            open++;
        } else if (rest % dims[i] == 0) {
            rest /= dims[i];
        } else {
            return mb_fail(NULL, __func__, MPI_ERR_DIMS, "%d is no multiple of the dimensions that are set", nodes);
        }
    }
    if (nodes < 1 || (open == 0 && rest != 1))
        return mb_fail(NULL, __func__, MPI_ERR_DIMS, "the dimensions that are set are not %d nodes", nodes);
    if (open == 0) return MPI_SUCCESS;
    int *size = mb_allocate((size_t)open * sizeof *size);
    for (int i = 0; i < open; i++)
        size[i] = 1;
    while (rest > 1) {
        // The largest prime factor of what is left.
        int prime = 1, n = rest;
        for (int p = 2; n > 1; p++) {
            for (; n % p == 0; n /= p)
                prime = p;
        }
        int smallest = 0;
        for (int i = 1; i < open; i++) {
            if (size[i] < size[smallest]) smallest = i;
        }
        size[smallest] *= prime;
        rest /= prime;
    }
    for (int i = 1; i < open; i++) {
        for (int k = i; k > 0 && size[k] > size[k - 1]; k--) {
            const int swapped = size[k];
            size[k] = size[k - 1];
            size[k - 1] = swapped;
        }
    }
    for (int i = 0, k = 0; i < dimensions; i++) {
        if (dims[i] == 0) dims[i] = size[k++];
    }
    free(size);
    return MPI_SUCCESS;
}

static void coords_of(const struct mb_cart *cart, int rank, int *coords)
{
    for (int i = cart->dimensions - 1; i >= 0; i--) {
        coords[i] = rank % cart->dims[i];
        rank /= cart->dims[i];
    }
}

static struct mb_cart *new_cart(int dimensions, const int *dims, const int *periods, int rank)
{
    struct mb_cart *cart = mb_allocate_zeroed(sizeof *cart);
    cart->dimensions = dimensions;
    cart->dims = mb_allocate(3 * (size_t)dimensions * sizeof(int));
    cart->periods = cart->dims + dimensions;
    cart->coords = cart->dims + 2 * dimensions;
    for (int i = 0; i < dimensions; i++) {
        cart->dims[i] = dims[i];
        cart->periods[i] = periods[i] != 0;
    }
    coords_of(cart, rank, cart->coords);
    return cart;
}

int MPI_Cart_create(MPI_Comm comm, int dimensions, const int dims[], const int periods[], int reorder, MPI_Comm *made)
{
    MB_CHECK_COMM(c, comm);
    (void)reorder;
    *made = MPI_COMM_NULL;
    if (dimensions < 0) return mb_fail(c, __func__, MPI_ERR_DIMS, "%d dimensions; expected at least 0", dimensions);
    int nodes = 1;
    for (int i = 0; i < dimensions; i++) {
        if (dims[i] < 1) return mb_fail(c, __func__, MPI_ERR_DIMS, "dimension %d is %d", i, dims[i]);
        nodes *= dims[i];
    }
    if (nodes > c->size)
        return mb_fail(c, __func__, MPI_ERR_TOPOLOGY, "%d nodes; the communicator has %d processes", nodes, c->size);
    const int error = MPI_Comm_split(comm, c->rank < nodes ? 0 : MPI_UNDEFINED, c->rank, made);
    if (error != MPI_SUCCESS || *made == MPI_COMM_NULL) return error;
    ((struct mb_comm *)mb_get(*made, MB_COMM))->cart = new_cart(dimensions, dims, periods, c->rank);
    return MPI_SUCCESS;
}

int MPI_Cartdim_get(MPI_Comm comm, int *dimensions)
{
    CHECK_CART(cart, comm);
    *dimensions = cart->dimensions;
    return MPI_SUCCESS;
}

int MPI_Cart_get(MPI_Comm comm, int capacity, int dims[], int periods[], int coords[])
{
    CHECK_CART(cart, comm);
    for (int i = 0; i < cart->dimensions && i < capacity; i++) {
        dims[i] = cart->dims[i];
        periods[i] = cart->periods[i];
        coords[i] = cart->coords[i];
    }
    return MPI_SUCCESS;
}

// The rank at a position; MPI_PROC_NULL outside of a dimension that is not periodic.
static int rank_at(const struct mb_cart *cart, const int *coords)
{
    int rank = 0;
    for (int i = 0; i < cart->dimensions; i++) {
        const int n = cart->dims[i];
        if (!cart->periods[i] && (coords[i] < 0 || coords[i] >= n)) return MPI_PROC_NULL;
        rank = rank * n + (coords[i] % n + n) % n;
    }
    return rank;
}

int MPI_Cart_rank(MPI_Comm comm, const int coords[], int *rank)
{
    CHECK_CART(cart, comm);
    *rank = rank_at(cart, coords);
    if (*rank == MPI_PROC_NULL)
        return mb_fail(comm_of_cart, __func__, MPI_ERR_ARG, "the position is outside of the topology");
    return MPI_SUCCESS;
}

int MPI_Cart_coords(MPI_Comm comm, int rank, int capacity, int coords[])
{
    CHECK_CART(cart, comm);
    if (rank < 0 || rank >= comm_of_cart->size)
        return mb_fail(comm_of_cart, __func__, MPI_ERR_RANK, "rank %d; expected 0 to %d", rank, comm_of_cart->size - 1);
    if (capacity < cart->dimensions)
        return mb_fail(comm_of_cart, __func__, MPI_ERR_DIMS, "room for %d coordinates; there are %d", capacity,
                       cart->dimensions);
    coords_of(cart, rank, coords);
    return MPI_SUCCESS;
}

int MPI_Cart_shift(MPI_Comm comm, int direction, int displacement, int *source, int *dest)
{
    CHECK_CART(cart, comm);
    if (direction < 0 || direction >= cart->dimensions)
        return mb_fail(comm_of_cart, __func__, MPI_ERR_DIMS, "direction %d; expected 0 to %d", direction,
                       cart->dimensions - 1);
    const int here = cart->coords[direction];
    int *coords = mb_allocate((size_t)cart->dimensions * sizeof *coords);
    memcpy(coords, cart->coords, (size_t)cart->dimensions * sizeof *coords);
    coords[direction] = here - displacement;
    *source = rank_at(cart, coords);
    coords[direction] = here + displacement;
    *dest = rank_at(cart, coords);
    free(coords);
    return MPI_SUCCESS;
}

int MPI_Cart_sub(MPI_Comm comm, const int remains[], MPI_Comm *made)
{
    CHECK_CART(cart, comm);
    int *dims = mb_allocate(2 * (size_t)cart->dimensions * sizeof *dims), *periods = dims + cart->dimensions;
    int kept = 0, color = 0, key = 0;
    for (int i = 0; i < cart->dimensions; i++) {
        if (remains[i]) {
            dims[kept] = cart->dims[i];
            periods[kept++] = cart->periods[i];
            key = key * cart->dims[i] + cart->coords[i];
        } else {
            color = color * cart->dims[i] + cart->coords[i];
        }
    }
    const int error = MPI_Comm_split(comm, color, key, made);
    if (error == MPI_SUCCESS) ((struct mb_comm *)mb_get(*made, MB_COMM))->cart = new_cart(kept, dims, periods, key);
    free(dims);
    return error;
}

int MPI_Cart_map(MPI_Comm comm, int dimensions, const int dims[], const int periods[], int *rank)
{
    MB_CHECK_COMM(c, comm);
    (void)periods;
    int nodes = 1;
    for (int i = 0; i < dimensions; i++)
        nodes *= dims[i];
    *rank = c->rank < nodes ? c->rank : MPI_UNDEFINED;
    return MPI_SUCCESS;
}

int MPI_Topo_test(MPI_Comm comm, int *kind)
{
    MB_CHECK_COMM(c, comm);
    *kind = c->cart != NULL ? MPI_CART : MPI_UNDEFINED;
    return MPI_SUCCESS;
}
