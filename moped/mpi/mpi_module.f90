! SPDX-License-Identifier: Apache-2.0 OR MIT
! Module mpi: the constants of mpif.h, and interfaces of the calls with buffers, which may have any type and rank.
module mpi
  implicit none
  public
  include 'mpif.h'
  interface
    include 'mpi_module_buffers.inc'
  end interface
end module mpi
