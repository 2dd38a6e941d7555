// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The interface of a chip: why it stops, faults, system calls, and instructions that leave the pipeline.

use crate::cores::functional::{HostAnswer, HostCall};
use crate::memory::system::MemorySystem;
use crate::{Fault, StaticInstruction, Syscall, SyscallResult};

/// Why a chip stopped running.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChipStop {
    /// It reached the cycle limit of the call.
    Until,
    /// A hart has ended its program with this status. The others continue with the next call.
    Exited {
        /// The hart.
        hart: usize,
        /// The status.
        status: u64,
    },
    /// Every hart has ended.
    Halted,
    /// A DMA transfer has completed; see [`Chip::transfers`].
    Transfer,
    /// The host asked for it at a call of supervisor mode of this hart.
    Host(usize),
}

/// A hart cannot execute its oldest instruction. Everything before it has committed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("hart {hart} (core {core}, context {context}), cycle {cycle}: {fault}")]
pub struct ChipFault {
    /// The hart.
    pub hart: usize,
    /// Its core.
    pub core: usize,
    /// Its context in the core.
    pub context: usize,
    /// The cycle in which the instruction would have committed.
    pub cycle: u64,
    /// What is wrong, with the address of the instruction.
    pub fault: Fault,
}

/// The passage of an instruction through the pipeline. A stage that it has not reached has cycle 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passage {
    /// The hart.
    pub hart: usize,
    /// Address of the instruction.
    pub pc: u64,
    /// Its static properties.
    pub instruction: StaticInstruction,
    /// Address of its access, if it has been issued.
    pub address: u64,
    /// Whether it was mispredicted.
    pub mispredicted: bool,
    /// Fetch.
    pub fetched: u64,
    /// Rename: entry into the instruction queue.
    pub renamed: u64,
    /// Issue.
    pub issued: u64,
    /// The access of a load or an atomic; execution of an instruction that executes alone.
    pub accessed: u64,
    /// End: its result is ready.
    pub written: u64,
    /// It left the pipeline: commit, or removal from a wrong path.
    pub left: u64,
}

/// Serves the system calls of the harts.
pub trait CallHandler {
    /// Serves a call in `cycle`. All stores of the hart are performed. A call that is answered with
    /// [`SyscallResult::Wait`] is repeated in every cycle.
    fn call<M: MemorySystem>(&mut self, cycle: u64, call: Syscall, memory: &mut M) -> SyscallResult;

    /// Serves a call of supervisor mode, on a chip whose harts have it. All stores of the hart are
    /// performed. Without an implementation no call exists (ENOSYS).
    fn supervisor_call<M: MemorySystem>(&mut self, call: HostCall, memory: &mut M) -> HostAnswer {
        let _ = (call, memory);
        HostAnswer::Value(38_u64.wrapping_neg())
    }
}

/// Observes instructions that leave the pipeline.
pub trait ChipObserver {
    /// Whether passages are recorded. If not, [`committed`](Self::committed) and
    /// [`squashed`](Self::squashed) are never called.
    const RECORDS_PASSAGES: bool = true;

    /// An instruction commits in `cycle`; in program order of each hart.
    fn committed(&mut self, passage: &Passage, cycle: u64);

    /// An instruction on a wrong path is removed.
    fn squashed(&mut self, passage: &Passage) {
        let _ = passage;
    }

    /// Whether a hart may perform a store, a store-conditional or an atomic, which is its oldest
    /// instruction. One that it may not perform has no effect and faults with [`Fault::Access`]. Asked
    /// again when memory refuses the access; called whether or not passages are recorded.
    #[inline]
    fn may_write(&mut self, hart: usize, pc: u64, address: u64, width: u8) -> bool {
        let _ = (hart, pc, address, width);
        true
    }

    /// A store commits: memory has taken its value. Called once for each store, whether or not passages
    /// are recorded.
    #[inline]
    fn stored(&mut self, hart: usize, pc: u64, address: u64, width: u8, value: u64) {
        let _ = (hart, pc, address, width, value);
    }

    /// An instruction commits in `cycle`. Called whether or not passages are recorded.
    #[inline]
    fn retired(&mut self, hart: usize, pc: u64, cycle: u64) {
        let _ = (hart, pc, cycle);
    }

    /// A hart has written satp, with this address-space identifier. Called whether or not passages are
    /// recorded.
    #[inline]
    fn address_space(&mut self, hart: usize, asid: u16) {
        let _ = (hart, asid);
    }
}

impl ChipObserver for () {
    const RECORDS_PASSAGES: bool = false;

    fn committed(&mut self, _: &Passage, _: u64) {}
}
