// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A processor simulator: instruction sets executed functionally, and timing models of the cores
//! that run them.
//!
//! | module | contents |
//! |---|---|
//! | `loader` | ELF files: [`Program`], [`Isa`], [`Symbol`] |
//! | `isa` | [`Ppc32`] and [`Rv64`], behind the trait [`Hart`]; [`Retired`] describes an executed instruction; [`rv64`] has instructions without state |
//! | `syscall` | the system-call interface between a program and its host: [`SyscallHandler`] |
//! | [`linux`] | start and system calls of static programs for Linux |
//! | `memory` | [`Memory`] holds values; [`hierarchy`] times caches, MSHRs and the memory channel; a [`system::MemorySystem`] does both: [`shared_l2`], [`directory`] |
//! | `cores` | [`out_of_order`] and [`barrel`] time instructions; [`chip`] executes them cycle by cycle; [`predictor`] predicts branches |
//!
//! Function and timing are separate. A hardware thread ([`Hart`]) executes one instruction when its
//! timing model calls [`Hart::step`], and returns what it executed ([`Retired`]). Values are read
//! and written at that call, so locks and spin loops interleave in simulated time. A timing model
//! reads registers, addresses and branch directions, never values. Only [`chip`] differs: its
//! instructions take values when they execute, from a [`system::MemorySystem`].
//!
//! ```text
//! ELF file --Program::load--> Program --{Ppc32, Rv64}::load--> threads that share the decoded code
//!                                |                                  | step(memory, handler)
//!                                +--------Program::memory-------> Memory, shared by the threads
//! ```

mod cores;
mod isa;
pub mod linux;
mod loader;
mod memory;
mod syscall;
mod unit_test;

pub use cores::{FloatLatencies, barrel, chip, functional, out_of_order, predictor};
pub use isa::{BranchKind, Hart, InstructionClass, Ppc32, RegisterNumber, Retired, Rv64, StaticInstruction, Step};
/// RV64 instructions without state, for pipelines that read operands when an instruction executes.
pub mod rv64 {
    pub use crate::isa::rv64::{supervisor, sv39};
    pub use crate::isa::{
        AtomicKind, Counter, CsrAccess, CsrKind, Effect, Extension, FenceOrder, FloatStatus, Operation, Rounding,
        extend,
    };
}
pub use loader::{Isa, LoadError, PhysicalImage, PhysicalImageError, Program, Symbol};
pub use memory::{Fault, FixedLatency, Memory, WriteError, directory, hierarchy, line_port, shared_l2, system};
pub use syscall::{Service, Syscall, SyscallHandler, SyscallResult};
pub use unit_test::{UnitTestError, UnitTestVerdict, unit_test};
