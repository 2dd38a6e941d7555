// SPDX-License-Identifier: Apache-2.0 OR MIT
//
// MPI from C++, on two ranks: the same as the Fortran programs do.
#include <array>
#include <mpi.h>
#include <stdexcept>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int other = 1 - rank;
    std::array<int, 20> in{};
    std::array<int, 10> out{};
    out.fill(rank);
    std::array<MPI_Request, 3> requests{};
    MPI_Sendrecv(out.data(), 10, MPI_INT, other, 5, in.data(), 20, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv(in.data(), 20, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out.data(), 4, MPI_INT, other, 6, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(out.data(), 4, MPI_INT, MPI_PROC_NULL, 6, MPI_COMM_WORLD, &requests[2]);
    MPI_Waitall(3, requests.data(), MPI_STATUSES_IGNORE);
    MPI_Recv_init(in.data(), 20, MPI_INT, other, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Start(&requests[0]);
    MPI_Send(out.data(), 2, MPI_DOUBLE, other, 7, MPI_COMM_WORLD);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    MPI_Allreduce(MPI_IN_PLACE, out.data(), 10, MPI_INT, MPI_SUM, made);
    if (out[0] != 1)
        throw std::runtime_error("wrong sum");
    MPI_Bcast(out.data(), 3, MPI_INT, 1, made);
    MPI_Comm_free(&made);
    MPI_Finalize();
}
