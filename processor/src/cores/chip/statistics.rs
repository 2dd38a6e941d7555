// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Statistics of harts and cores.

/// Why a hart left an issue slot empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IssueStall {
    /// It waits: for the loss of its reservation (wrs), or for the host in a system call.
    Waiting,
    /// Its instructions in the queue need results of others that execute.
    Dependences,
    /// Its instructions need a load, an atomic or a fence that waits for memory.
    Memory,
    /// The instruction queue is full.
    Queue,
    /// No rename register is free.
    Registers,
    /// Its reorder buffer or load/store queue is full.
    Window,
    /// Its next instructions are not in the instruction cache.
    InstructionCache,
    /// It fetches again after a mispredicted or misfetched branch.
    Branch,
    /// Fetch waits for the commit of a system call or fence.i.
    Serial,
    /// Its instructions are in the front end, or other harts fetched before it.
    Fetch,
    /// It executes nothing: it has exited.
    Halted,
}

impl IssueStall {
    /// Every cause, in the order of [`HartStatistics::empty`].
    pub const ALL: [Self; 11] = [
        Self::Waiting,
        Self::Dependences,
        Self::Memory,
        Self::Queue,
        Self::Registers,
        Self::Window,
        Self::InstructionCache,
        Self::Branch,
        Self::Serial,
        Self::Fetch,
        Self::Halted,
    ];
}

/// Event counts of a hart.
///
/// In each cycle a core has as many issue slots as units. Each is used by an instruction, or left
/// empty; the empty ones of a cycle are divided among the harts of the core in turns, and each hart
/// has one cause in a cycle. So for a core, `used` and `empty` of its harts add up to its units
/// times the cycles. A blocking core counts up to the cycle up to which it has executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HartStatistics {
    /// Instructions fetched, wrong paths included.
    pub fetched: u64,
    /// Instructions issued, wrong paths included: issue slots used.
    pub used: u64,
    /// Issue slots left empty, by [`IssueStall`].
    pub empty: [u64; IssueStall::ALL.len()],
    /// Instructions committed.
    pub committed: u64,
    /// Instructions squashed, those that were not yet issued included.
    pub squashed: u64,
    /// Of `used`, instructions that were squashed.
    pub used_squashed: u64,
    /// Branches and jumps committed.
    pub branches: u64,
    /// Branches mispredicted, wrong paths included.
    pub mispredicted: u64,
    /// Branches that were predicted taken without a BTB entry, wrong paths included.
    pub misfetched: u64,
    /// Loads that took their value from a store in flight, wrong paths included.
    pub forwarded: u64,
    /// Loads repeated because an older load of the same address came later.
    pub reordered: u64,
    /// Of `committed`, instructions of supervisor mode.
    pub supervisor: u64,
    /// Cycles in supervisor mode up to the last return to user mode.
    pub supervisor_cycles: u64,
    /// Exceptions and interrupts taken.
    pub traps: u64,
    /// Page-table walks, wrong paths included.
    pub walks: u64,
}

impl HartStatistics {
    /// Issue slots left empty for one cause.
    #[must_use]
    pub const fn lost(&self, cause: IssueStall) -> u64 {
        self.empty[cause as usize]
    }

    /// Issue slots of the hart.
    #[must_use]
    pub fn slots(&self) -> u64 {
        self.used + self.empty.iter().sum::<u64>()
    }
}
