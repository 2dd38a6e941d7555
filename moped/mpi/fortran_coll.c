// SPDX-License-Identifier: Apache-2.0 OR MIT
// Fortran bindings: collectives.

#include "fortran.h"

CALL(op_create, (MPI_User_function *function, int *commutes, int *op, int *error),
     MPI_Op_create(function, *commutes, op))
CALL(op_free, (int *op, int *error), MPI_Op_free(op))
CALL(barrier, (int *comm, int *error), MPI_Barrier(*comm))
CALL(ibarrier, (int *comm, int *request, int *error), MPI_Ibarrier(*comm, request))
CALL(bcast, (void *buffer, int *count, int *type, int *root, int *comm, int *error),
     MPI_Bcast(mb_buffer(buffer), *count, *type, *root, *comm))
CALL(reduce, (void *sent, void *received, int *count, int *type, int *op, int *root, int *comm, int *error),
     MPI_Reduce(mb_buffer(sent), mb_buffer(received), *count, *type, *op, *root, *comm))
#define REDUCTION(name, c_name)                                                                                        \
    CALL(name, (void *sent, void *received, int *count, int *type, int *op, int *comm, int *error),                    \
         c_name(mb_buffer(sent), mb_buffer(received), *count, *type, *op, *comm))
REDUCTION(allreduce, MPI_Allreduce)
REDUCTION(scan, MPI_Scan)
REDUCTION(exscan, MPI_Exscan)
REDUCTION(reduce_scatter_block, MPI_Reduce_scatter_block)
CALL(reduce_scatter, (void *sent, void *received, int *counts, int *type, int *op, int *comm, int *error),
     MPI_Reduce_scatter(mb_buffer(sent), mb_buffer(received), counts, *type, *op, *comm))
#define ROOTED(name, c_name)                                                                                           \
    CALL(name,                                                                                                         \
         (void *sent, int *sent_count, int *sent_type, void *received, int *received_count, int *received_type,        \
          int *root, int *comm, int *error),                                                                           \
         c_name(mb_buffer(sent), *sent_count, *sent_type, mb_buffer(received), *received_count, *received_type,        \
                *root, *comm))
ROOTED(gather, MPI_Gather)
ROOTED(scatter, MPI_Scatter)
#define SYMMETRIC(name, c_name)                                                                                        \
    CALL(name,                                                                                                         \
         (void *sent, int *sent_count, int *sent_type, void *received, int *received_count, int *received_type,        \
          int *comm, int *error),                                                                                      \
         c_name(mb_buffer(sent), *sent_count, *sent_type, mb_buffer(received), *received_count, *received_type, *comm))
SYMMETRIC(allgather, MPI_Allgather)
SYMMETRIC(alltoall, MPI_Alltoall)
CALL(gatherv,
     (void *sent, int *sent_count, int *sent_type, void *received, int *counts, int *displacements, int *received_type,
      int *root, int *comm, int *error),
     MPI_Gatherv(mb_buffer(sent), *sent_count, *sent_type, mb_buffer(received), counts, displacements, *received_type,
                 *root, *comm))
CALL(scatterv,
     (void *sent, int *counts, int *displacements, int *sent_type, void *received, int *received_count,
      int *received_type, int *root, int *comm, int *error),
     MPI_Scatterv(mb_buffer(sent), counts, displacements, *sent_type, mb_buffer(received), *received_count,
                  *received_type, *root, *comm))
CALL(allgatherv,
     (void *sent, int *sent_count, int *sent_type, void *received, int *counts, int *displacements, int *received_type,
      int *comm, int *error),
     MPI_Allgatherv(mb_buffer(sent), *sent_count, *sent_type, mb_buffer(received), counts, displacements,
                    *received_type, *comm))
CALL(alltoallv,
     (void *sent, int *sent_counts, int *sent_displacements, int *sent_type, void *received, int *received_counts,
      int *received_displacements, int *received_type, int *comm, int *error),
     MPI_Alltoallv(mb_buffer(sent), sent_counts, sent_displacements, *sent_type, mb_buffer(received), received_counts,
                   received_displacements, *received_type, *comm))
CALL(alltoallw,
     (void *sent, int *sent_counts, int *sent_displacements, int *sent_types, void *received, int *received_counts,
      int *received_displacements, int *received_types, int *comm, int *error),
     MPI_Alltoallw(mb_buffer(sent), sent_counts, sent_displacements, sent_types, mb_buffer(received), received_counts,
                   received_displacements, received_types, *comm))
