! SPDX-License-Identifier: Apache-2.0 OR MIT
!
! The Fortran binding `mpif.h`; what it does is in bindings.inc.
program mpifh
  implicit none
  include 'mpif.h'
  integer :: requests(3), made
  integer :: rank, other, ierror, in(20), out(10)
  include 'bindings.inc'
end program mpifh
