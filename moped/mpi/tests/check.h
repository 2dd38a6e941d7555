/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What the test programs share: a check that names its place and ends the job. */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: rank %d of %d: %s is false\n", __FILE__, __LINE__, rank, size, #condition);        \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                              \
        }                                                                                                              \
    } while (0)

static inline void begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

static inline int end(const char *name)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("%s: passed on %d ranks\n", name, size);
    MPI_Finalize();
    return 0;
}

#endif
