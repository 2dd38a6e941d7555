! SPDX-License-Identifier: Apache-2.0 OR MIT
!
! The Fortran binding `use mpi_f08`; what it does is in bindings.inc.
program f08
  use mpi_f08
  implicit none
  type(MPI_Request) :: requests(3)
  type(MPI_Comm) :: made
  integer :: rank, other, ierror, in(20), out(10)
  include 'bindings.inc'
end program f08
