// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where the cycles of a core went.

/// Why no instruction was executed in a cycle: what the next thread to get a slot was waiting for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// Its own instruction, which takes more than a cycle, or its creation.
    Execution,
    /// A line of instructions or data.
    Memory,
    /// A lock.
    Lock,
    /// The host, the end of other threads, or room for a thread.
    Host,
    /// To be brought into the core.
    Swap,
    /// There was no such thread.
    Idle,
}

/// What a core did in its cycles. Each cycle counts once: `cycles = instructions + waited.sum()`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CoreStatistics {
    /// Cycles in all.
    pub cycles: u64,
    /// Instructions executed.
    pub instructions: u64,
    /// Cycles without one, by [`Wait`]; also those in which an attempt was in vain.
    pub waited: [u64; 6],
    /// Threads brought into the core.
    pub swaps: u64,
}

impl CoreStatistics {
    /// The cycles lost to `wait`.
    #[must_use]
    pub fn lost(&self, wait: Wait) -> u64 {
        self.waited[wait as usize]
    }
}
