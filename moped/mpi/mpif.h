! SPDX-License-Identifier: Apache-2.0 OR MIT
! The Fortran interface of the message-passing library: constants. Fixed and free form.
      include 'mpif_constants.inc'
      integer MPI_SOURCE, MPI_TAG, MPI_ERROR
      parameter (MPI_SOURCE=1, MPI_TAG=2, MPI_ERROR=3)
      integer MPI_BOTTOM, MPI_IN_PLACE
      integer MPI_STATUS_IGNORE(6), MPI_STATUSES_IGNORE(6)
      common /mb_fortran/ MPI_BOTTOM, MPI_IN_PLACE
      common /mb_fortran/ MPI_STATUS_IGNORE, MPI_STATUSES_IGNORE
      save /mb_fortran/
      double precision MPI_WTIME, MPI_WTICK
      external MPI_WTIME, MPI_WTICK
