// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Statistics of an out-of-order core.

/// Cycles by cause: either an instruction commits, or there is a reason why none does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CycleStack {
    /// At least one instruction commits.
    pub commits: u64,
    /// The oldest instruction is a load or atomic whose address is known and whose data are not.
    pub load: u64,
    /// The oldest instruction is a store that waits for a port or an MSHR.
    pub store: u64,
    /// The oldest instruction waits for an operand, a functional unit or its result.
    pub execution: u64,
    /// The ROB is empty after a misprediction.
    pub mispredicted: u64,
    /// The ROB is empty after a misfetch: the target was known only at decode.
    pub misfetched: u64,
    /// The ROB is empty because of an instruction-cache miss.
    pub instruction_miss: u64,
    /// The ROB is empty because an instruction had to execute alone.
    pub serialised: u64,
    /// The ROB is empty for another reason: the pipeline fills.
    pub fill: u64,
}

impl CycleStack {
    /// The sum of all causes.
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

    pub(super) fn add(&mut self, cause: StallCause, cycles: u64) {
        *match cause {
            StallCause::Load => &mut self.load,
            StallCause::Store => &mut self.store,
            StallCause::Execution => &mut self.execution,
            StallCause::Mispredicted => &mut self.mispredicted,
            StallCause::Misfetched => &mut self.misfetched,
            StallCause::InstructionMiss => &mut self.instruction_miss,
            StallCause::Serialised => &mut self.serialised,
            StallCause::Fill => &mut self.fill,
        } += cycles;
    }
}

/// The reason why nothing commits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StallCause {
    Load,
    Store,
    Execution,
    Mispredicted,
    Misfetched,
    InstructionMiss,
    Serialised,
    Fill,
}

/// Event counts of a core. Those of its caches are in the hierarchy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OutOfOrderStatistics {
    /// Committed instructions.
    pub instructions: u64,
    /// Loads and atomics among them.
    pub loads: u64,
    /// Stores among them.
    pub stores: u64,
    /// Loads forwarded from a store in the LSQ.
    pub forwarded: u64,
    /// Committed branches of every kind.
    pub branches: u64,
    /// Mispredicted branches among them.
    pub mispredicted: u64,
    /// Misfetched branches among them: correctly predicted taken, with a target known only at
    /// decode.
    pub misfetched: u64,
    /// Cycles in which a full ROB stopped dispatch.
    pub rob_full: u64,
    /// Cycles in which a full LSQ stopped dispatch while the ROB had space.
    pub lsq_full: u64,
    /// Cycles by cause, without those in which a system call waited for its handler.
    pub cycles: CycleStack,
}
