/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * `spawn` on two ranks starts two children. Rank 0 sends child 0 three messages and receives two; then
 * parents and children meet in a barrier of a merged communicator. `spawn lost`: what else is not
 * recorded on such a communicator.
 */
#include <mpi.h>
#include <string.h>

int main(int argc, char **argv) {
    MPI_Comm parent, other, merged;
    int rank, value = 0;
    char *lost[] = {"lost", NULL};
    const int more = argc == 2 && !strcmp(argv[1], "lost");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL)
        MPI_Comm_spawn(argv[0], more ? lost : MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
    else
        other = parent;
    for (int i = 0; i < 5 && rank == 0; i++) {
        if ((i < 3) == (parent == MPI_COMM_NULL))
            MPI_Send(&value, 1, MPI_INT, 0, 1, other);
        else
            MPI_Recv(&value, 1, MPI_INT, 0, 1, other, MPI_STATUS_IGNORE);
    }
    if (more && rank == 0) {
        MPI_Request requests[2];
        MPI_Message message;
        int found = 0;
        MPI_Send_init(&value, 1, MPI_INT, 0, 2, other, &requests[0]);
        for (int i = 0; i < 2; i++) {
            MPI_Start(&requests[0]);
            MPI_Probe(0, 2, other, MPI_STATUS_IGNORE);
            while (!found)
                MPI_Improbe(0, 2, other, &found, &message, MPI_STATUS_IGNORE);
            MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
            found = 0;
        }
        MPI_Request_free(&requests[0]);
        MPI_Isend(&value, 1, MPI_INT, 0, 3, other, &requests[0]);
        MPI_Irecv(&value, 1, MPI_INT, 0, 3, other, &requests[1]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        MPI_Sendrecv_replace(&value, 1, MPI_INT, 0, 4, 0, 4, other, MPI_STATUS_IGNORE);
        MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 4, other); /* no message: not counted */
    }
    MPI_Intercomm_merge(other, parent != MPI_COMM_NULL, &merged);
    MPI_Barrier(merged);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&other);
    return MPI_Finalize();
}
