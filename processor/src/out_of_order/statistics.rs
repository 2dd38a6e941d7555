// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where an out-of-order core's cycles went.

/// Cycles by what they were spent on: in each of them something commits, or it is said why not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CycleStack {
    /// Something commits.
    pub commits: u64,
    /// The oldest instruction is a load or atomic that has its address and waits for its data, or for its turn.
    pub load: u64,
    /// The oldest instruction is a store that waits for a port, or for room for its miss.
    pub store: u64,
    /// The oldest instruction waits for an operand, a unit or its result.
    pub execution: u64,
    /// The window is empty after a wrong prediction.
    pub mispredicted: u64,
    /// The window is empty after a target that was first known when decoded.
    pub misfetched: u64,
    /// The window is empty because the instruction cache missed.
    pub instruction_miss: u64,
    /// The window is empty because an instruction had to be alone.
    pub serialised: u64,
    /// The window is empty for another reason: the pipeline fills.
    pub fill: u64,
}

impl CycleStack {
    /// All of them.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.commits
            + self.load
            + self.store
            + self.execution
            + self.mispredicted
            + self.misfetched
            + self.instruction_miss
            + self.serialised
            + self.fill
    }

    pub(super) fn add(&mut self, cause: Cause, cycles: u64) {
        *match cause {
            Cause::Load => &mut self.load,
            Cause::Store => &mut self.store,
            Cause::Execution => &mut self.execution,
            Cause::Mispredicted => &mut self.mispredicted,
            Cause::Misfetched => &mut self.misfetched,
            Cause::InstructionMiss => &mut self.instruction_miss,
            Cause::Serialised => &mut self.serialised,
            Cause::Fill => &mut self.fill,
        } += cycles;
    }
}

/// Why nothing commits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Cause {
    Load,
    Store,
    Execution,
    Mispredicted,
    Misfetched,
    InstructionMiss,
    Serialised,
    Fill,
}

/// What a core has done. What its caches have served is the hierarchy's to tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Statistics {
    /// Committed instructions.
    pub instructions: u64,
    /// Loads and atomics among them.
    pub loads: u64,
    /// Stores among them.
    pub stores: u64,
    /// Loads that took their data from a store in the queue.
    pub forwarded: u64,
    /// Instructions that can change the flow, among those committed.
    pub branches: u64,
    /// Those that went on at a wrong place until they were executed.
    pub mispredicted: u64,
    /// Those whose target was first known when they were decoded.
    pub misfetched: u64,
    /// Cycles in which dispatch found the window full.
    pub window_full: u64,
    /// Cycles in which dispatch found the window free and the memory queue full.
    pub memory_queue_full: u64,
    /// Cycles; those in which a call waited for the host are left out.
    pub cycles: CycleStack,
}
