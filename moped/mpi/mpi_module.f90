! SPDX-License-Identifier: Apache-2.0 OR MIT
! Module mpi: the constants of mpif.h, and interfaces of the calls with buffers, which may have any type and rank.
! Without them gfortran takes the types of a call's buffers for those of the next call, and refuses others. The other
! calls are external procedures.
module mpi
  implicit none
  public
  include 'mpif.h'
  interface
    include 'mpi_module_buffers.inc'
  end interface
end module mpi
