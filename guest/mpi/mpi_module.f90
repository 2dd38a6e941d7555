! SPDX-License-Identifier: Apache-2.0 OR MIT
! Module mpi: the constants of mpif.h. Calls are external procedures, without interfaces: buffers may have any type.
module mpi
  implicit none
  public
  include 'mpif.h'
end module mpi
