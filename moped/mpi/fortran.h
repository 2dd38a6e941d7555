// SPDX-License-Identifier: Apache-2.0 OR MIT
// The Fortran bindings: names in lower case with an underscore behind, all arguments by reference, the
// lengths of character arguments at the end (gfortran). Handles and statuses are those of C.

#ifndef MB_FORTRAN_H
#define MB_FORTRAN_H

#include "internal.h"

// The common block of mpif.h: addresses that stand for constants.
struct mb_fortran_constants {
    int bottom, in_place, status_ignore[MPI_F_STATUS_SIZE], statuses_ignore[MPI_F_STATUS_SIZE];
};
extern struct mb_fortran_constants mb_fortran_;
// The same for module mpi_f08.
extern int mb_f08_bottom, mb_f08_in_place;
extern MPI_Status mb_f08_status_ignore, mb_f08_statuses_ignore[1];

static inline void *mb_buffer(void *buffer)
{
    if (buffer == &mb_fortran_.bottom || buffer == &mb_f08_bottom) return MPI_BOTTOM;
    return buffer == &mb_fortran_.in_place || buffer == &mb_f08_in_place ? MPI_IN_PLACE : buffer;
}

static inline MPI_Status *mb_status(int *status)
{
    const int is_ignored = status == mb_fortran_.status_ignore || status == mb_fortran_.statuses_ignore ||
                           status == (int *)&mb_f08_status_ignore || status == (int *)mb_f08_statuses_ignore;
    return is_ignored ? MPI_STATUS_IGNORE : (MPI_Status *)status;
}

// Defines the binding of a call, whose last parameter is `int *error`.
#define CALL(name, parameters, call)                                                                                   \
    void mpi_##name##_ parameters;                                                                                     \
    void mpi_##name##_ parameters                                                                                      \
    {                                                                                                                  \
        /* Absent in mpi_f08: NULL. */                                                                                 \
        const int code_of_call = call;                                                                                 \
        if (error != NULL) *error = code_of_call;                                                                      \
    }

#endif
