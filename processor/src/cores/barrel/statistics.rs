// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Statistics of a barrel-threaded core.

/// Why no instruction was executed in a cycle: the reason of the thread that gets the next slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// Its previous instruction, which takes more than a cycle, or its creation.
    Execution,
    /// A line of instructions or data.
    Memory,
    /// A lock.
    Lock,
    /// The host, the end of other threads, or a free thread slot.
    Host,
    /// Its swap into the core.
    Swap,
    /// There was no such thread.
    Idle,
}

/// Event counts of a core. Each cycle counts once: `cycles = instructions + waited.sum()`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BarrelStatistics {
    /// Cycles.
    pub cycles: u64,
    /// Instructions executed.
    pub instructions: u64,
    /// Cycles without an instruction, by [`Wait`]; includes slots of unsuccessful attempts.
    pub waited: [u64; 6],
    /// Threads swapped into the core.
    pub swaps: u64,
}

impl BarrelStatistics {
    /// The cycles lost to `wait`.
    #[must_use]
    pub fn lost(&self, wait: Wait) -> u64 {
        self.waited[wait as usize]
    }
}
