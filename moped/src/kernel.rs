// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The kernel of `moped/kernel` and its host: memory at the start, files, console, markers.
//!
//! [`Boot`] places kernel, hand-over and programs into memory; [`KernelHost`] serves the calls of
//! the kernel and needs a [`Files`](mb_processor::linux::Files) for the files of programs.
//! `moped/kernel/host.h` has the numbers and structures, and `moped/kernel/calls.h` the calls that
//! programs have beside those of Linux.

mod boot;
mod files;
mod host;

pub use boot::{Boot, BootError, UserProgram};
pub use files::MemoryFiles;
pub use host::{AnyHost, Ended, KernelHost, Mark, ProcessLocation, call};

/// The kernel, built from `moped/kernel`.
pub const KERNEL: &[u8] = include_bytes!("../elf/kernel.rv64.elf");

/// The first address of memory, for which the kernel is linked.
pub const MEMORY_BASE: u64 = 0x8000_0000;

/// Agents of a program at the device: its port page has 512 ports.
pub const AGENTS_PER_PROGRAM: u64 = 512;
