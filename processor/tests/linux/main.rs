// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Static programs with a C, C++ or Fortran library, built here if the cross compilers are installed:
//! the output and status that qemu-user gives, on every core model.

mod console;
mod cores;
mod programs;
mod refused;
