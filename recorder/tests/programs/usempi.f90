! SPDX-License-Identifier: Apache-2.0 OR MIT
!
! The Fortran binding `use mpi`; what it does is in bindings.inc.
program usempi
  use mpi
  implicit none
  integer :: requests(3), made
  integer :: rank, other, ierror, in(20), out(10)
  include 'bindings.inc'
end program usempi
