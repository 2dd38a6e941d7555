// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What barrel-threaded cores are built from, and Hemmert et al.'s three of them.

use mb_core::Cycles;
use mb_core::ParameterError;

use super::super::hierarchy::{CacheConfig, Coherence, HierarchyConfig, MemoryConfig, WritePolicy};

/// How long the calls of threads take. A call that is answered holds its thread, and no other, for these cycles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallCosts {
    /// To start a thread; it can begin when its creator goes on.
    pub create: Cycles,
    /// To take a lock that is free.
    pub acquire: Cycles,
    /// To free a lock.
    pub release: Cycles,
    /// From the begin of a release to that of the waiting thread's next attempt, which takes a cycle and succeeds.
    pub hand_over: Cycles,
    /// On top, when the lock was last held on another core.
    pub transfer: Cycles,
}

/// Where a new thread goes, if several cores have a free context.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Placement {
    /// To the core with most of them, the first of such.
    Spread,
    /// To the first core that has one.
    Fill,
}

/// Which contexts give way to inactive threads when a quantum ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exchange {
    /// Those that have no thread, or one that waits for a lock or for the host.
    Idle,
    /// Those, and then the others in turn.
    All,
}

/// Cores of one issue slot each that switch among threads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BarrelConfig {
    /// Threads that each core can switch among.
    pub contexts: usize,
    /// Where new threads go.
    pub placement: Placement,
    /// Threads that there can be at a time, in contexts or inactive. To start one more waits until one has ended.
    pub threads: usize,
    /// Cycles after which inactive threads come into a core at the latest.
    pub quantum: Cycles,
    /// To bring one inactive thread into a core; one after the other.
    pub swap: Cycles,
    /// Who gives way.
    pub exchange: Exchange,
    /// From an instruction to the next of its thread: a multiplication.
    pub multiply: Cycles,
    /// The same for a division.
    pub divide: Cycles,
    /// The same for a change of the flow of control that happens.
    pub taken: Cycles,
    /// Of calls.
    pub calls: CallCosts,
    /// Caches and memory; `cores` is there. A load whose data are there after one cycle does not delay its thread.
    pub hierarchy: HierarchyConfig,
}

impl BarrelConfig {
    /// Table 3 of Hemmert et al. (`hemmert2007`) with 1, 2 or 16 cores.
    ///
    /// From the table: contexts, cache sizes, 64 ways, 1/10 cycles, bandwidth, one ALU that multiplies. From section 5.3:
    /// two cycles for a thread, 1024 cycles and ten per swap. Assumed, for the paper is silent: lines of 32 bytes as in the
    /// PowerPC 440, write-back, threads that spread over the cores, locks of one cycle ("exceptionally fast"), ideal coherence, the cost of a division, no delay
    /// after a branch, room for as many misses as can be asked for.
    ///
    /// # Errors
    /// The table has no such number of cores.
    pub fn hemmert2007(cores: usize) -> Result<Self, ParameterError> {
        let (contexts, kilobytes, bits_per_cycle) = match cores {
            1 => (8, 32, 128),
            2 => (8, 16, 128),
            16 => (4, 16, 256),
            _ => {
                return Err(ParameterError::Contradiction(format!(
                    "Hemmert et al. have 1, 2 or 16 cores, not {cores}"
                )));
            }
        };
        let cache = CacheConfig {
            bytes: kilobytes << 10,
            ways: 64,
            line: 32,
            write: WritePolicy::Back,
            allocate: true,
            hit: Cycles(1),
            lookup: Cycles(0),
            ports: 1,
            misses: 64,
        };
        let memory = MemoryConfig { latency: Cycles(10), bits_per_cycle };
        let one = Cycles(1);
        Ok(Self {
            contexts,
            placement: Placement::Spread,
            // The benchmark's main thread and its 64.
            threads: 65,
            quantum: Cycles(1024),
            swap: Cycles(10),
            exchange: Exchange::All,
            multiply: one,
            divide: Cycles(20),
            taken: one,
            calls: CallCosts { create: Cycles(2), acquire: one, release: one, hand_over: one, transfer: Cycles(0) },
            hierarchy: HierarchyConfig { cores, instruction: cache, data: cache, memory, coherence: Coherence::Ideal },
        })
    }

    /// Checks that this can be built.
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        let refuse = |text: &str| Err(ParameterError::Contradiction(text.to_owned()));
        if self.contexts == 0 || self.threads == 0 {
            return refuse("a core without a thread");
        }
        if self.threads > 1 << 20 || self.contexts > 1 << 20 {
            return refuse("more than 2^20 threads");
        }
        let CallCosts { create, acquire, release, hand_over, .. } = self.calls;
        let spans = [self.multiply, self.divide, self.taken, create, acquire, release, hand_over];
        if spans.contains(&Cycles::ZERO) {
            return refuse("an instruction or a call that takes no cycle");
        }
        if self.swap.0.saturating_mul(self.contexts as u64) >= self.quantum.0 {
            // A thread could go out before it had a slot, and nothing would ever be done.
            return refuse("a quantum that ends before all contexts are swapped");
        }
        Ok(())
    }
}
