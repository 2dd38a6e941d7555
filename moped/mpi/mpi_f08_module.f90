! SPDX-License-Identifier: Apache-2.0 OR MIT
! Module mpi_f08: types, constants and interfaces of the calls that the library has in Fortran. A handle is a type
! with one integer, so that the procedures are those of mpif.h; an absent ierror is a null pointer there.
module mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  public

  type, bind(C) :: MPI_Comm
    integer(c_int) :: MPI_VAL
  end type MPI_Comm
  type, bind(C) :: MPI_Group
    integer(c_int) :: MPI_VAL
  end type MPI_Group
  type, bind(C) :: MPI_Datatype
    integer(c_int) :: MPI_VAL
  end type MPI_Datatype
  type, bind(C) :: MPI_Request
    integer(c_int) :: MPI_VAL
  end type MPI_Request
  type, bind(C) :: MPI_Op
    integer(c_int) :: MPI_VAL
  end type MPI_Op
  type, bind(C) :: MPI_Errhandler
    integer(c_int) :: MPI_VAL
  end type MPI_Errhandler
  type, bind(C) :: MPI_Message
    integer(c_int) :: MPI_VAL
  end type MPI_Message
  type, bind(C) :: MPI_Info
    integer(c_int) :: MPI_VAL
  end type MPI_Info
  type, bind(C) :: MPI_Status
    integer(c_int) :: MPI_SOURCE, MPI_TAG, MPI_ERROR
    integer(c_int) :: cancelled, bytes(2)
  end type MPI_Status

  include 'mpi_f08_constants.inc'
  include 'mpi_f08_handles.inc'

  ! Variables whose addresses stand for constants.
  integer(c_int), bind(C, name='mb_f08_bottom') :: MPI_BOTTOM
  integer(c_int), bind(C, name='mb_f08_in_place') :: MPI_IN_PLACE
  type(MPI_Status), bind(C, name='mb_f08_status_ignore') :: MPI_STATUS_IGNORE
  type(MPI_Status), bind(C, name='mb_f08_statuses_ignore') :: MPI_STATUSES_IGNORE(1)

  interface
    include 'mpi_f08_messages.inc'
    include 'mpi_f08_objects.inc'
    include 'mpi_f08_collectives.inc'
    function MPI_Wtime() result(seconds)
      import
      real(c_double) :: seconds
    end function MPI_Wtime
    function MPI_Wtick() result(seconds)
      import
      real(c_double) :: seconds
    end function MPI_Wtick
  end interface
end module mpi_f08
