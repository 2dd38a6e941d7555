// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Configuration of barrel-threaded cores, and the three presets of Hemmert et al.

use mb_core::Cycles;
use mb_core::ParameterError;

use crate::FloatLatencies;
use crate::hierarchy::{CacheConfig, Coherence, HierarchyConfig, MemoryConfig, WritePolicy};

/// Cycles of the system calls for threads and locks. Only the calling thread is delayed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallCosts {
    /// Creation of a thread; the new thread and its creator continue at the same time.
    pub create: Cycles,
    /// Acquisition of a free lock.
    pub acquire: Cycles,
    /// Release of a lock.
    pub release: Cycles,
    /// Lock handoff: from the start of a release to the next attempt of the waiting thread, which
    /// takes one cycle and succeeds.
    pub handoff: Cycles,
    /// Added to an acquisition or handoff when the lock was last held on another core.
    pub transfer: Cycles,
}

/// The core of a new thread, if several cores have a free context.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpawnPolicy {
    /// The core with the most free contexts; the first of several.
    Spread,
    /// The first core with a free context.
    Fill,
}

/// Which contexts are given to inactive threads at the end of a quantum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exchange {
    /// Contexts without a thread, or with one that waits for a lock or for the host.
    Idle,
    /// The same, and then the others in round-robin order.
    All,
}

/// Configuration of barrel-threaded cores, each with one issue slot per cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BarrelConfig {
    /// Hardware thread contexts of each core.
    pub contexts: usize,
    /// The core of a new thread.
    pub placement: SpawnPolicy,
    /// Maximum number of threads, in contexts or inactive. A call that starts one more waits until
    /// one ends.
    pub threads: usize,
    /// Longest time until inactive threads are swapped into a core.
    pub quantum: Cycles,
    /// Time to swap one inactive thread into a core; the swaps of a core follow one another.
    pub swap: Cycles,
    /// Which contexts are given to inactive threads at the end of a quantum.
    pub exchange: Exchange,
    /// From a multiplication to the next instruction of its thread.
    pub multiply: Cycles,
    /// From a division to the next instruction of its thread.
    pub divide: Cycles,
    /// From a floating-point operation to the next instruction of its thread.
    pub float: FloatLatencies,
    /// From a taken branch to the next instruction of its thread.
    pub taken: Cycles,
    /// Cycles of system calls for threads and locks.
    pub calls: CallCosts,
    /// Caches and memory, and the number of cores. A load with a latency of one cycle does not
    /// delay its thread.
    pub hierarchy: HierarchyConfig,
}

impl BarrelConfig {
    /// Table 3 of Hemmert et al. (`hemmert2007`) with 1, 2 or 16 cores.
    ///
    /// - From the table: contexts, cache sizes, 64 ways, latencies of 1 and 10 cycles, bandwidth,
    ///   one ALU that multiplies.
    /// - From section 5.3: thread creation in 2 cycles, a quantum of 1024 cycles, 10 cycles per
    ///   swap.
    /// - Assumed: lines of 32 bytes as in the PowerPC 440, write-back, threads spread over the
    ///   cores, locks of one cycle (section 5.1: "exceptionally fast"), ideal coherence, the
    ///   latency of a division, floating point as in sim-outorder, no branch delay, enough MSHRs.
    ///
    /// # Errors
    /// Another number of cores.
    pub fn hemmert2007(cores: usize) -> Result<Self, ParameterError> {
        let (contexts, kilobytes, bits_per_cycle) = match cores {
            1 => (8, 32, 128),
            2 => (8, 16, 128),
            16 => (4, 16, 256),
            _ => {
                return Err(ParameterError::Contradiction(format!(
                    "hemmert2007: cores is {cores}; expected 1, 2 or 16 as in table 3"
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
            mshrs: 64,
        };
        let memory = MemoryConfig { latency: Cycles(10), bits_per_cycle };
        let one = Cycles(1);
        Ok(Self {
            contexts,
            placement: SpawnPolicy::Spread,
            // The main thread of the benchmark and one thread for each of its 64 headers.
            threads: 65,
            quantum: Cycles(1024),
            swap: Cycles(10),
            exchange: Exchange::All,
            multiply: one,
            divide: Cycles(20),
            float: FloatLatencies::SIM_OUTORDER,
            taken: one,
            calls: CallCosts { create: Cycles(2), acquire: one, release: one, handoff: one, transfer: Cycles(0) },
            hierarchy: HierarchyConfig { cores, instruction: cache, data: cache, memory, coherence: Coherence::Ideal },
        })
    }

    /// Checks that the configuration is valid.
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        let refuse = |text: &str| Err(ParameterError::Contradiction(text.to_owned()));
        if self.contexts == 0 || self.threads == 0 {
            return refuse("barrel: contexts or threads is 0; expected at least 1 of each");
        }
        if self.threads > 1 << 20 || self.contexts > 1 << 20 {
            return refuse("barrel: contexts or threads is above 2^20; expected at most 2^20");
        }
        let CallCosts { create, acquire, release, handoff, .. } = self.calls;
        let spans = [self.multiply, self.divide, self.taken, create, acquire, release, handoff];
        if spans.contains(&Cycles::ZERO) || self.float.named().iter().any(|(_, cycles)| *cycles == 0) {
            return refuse("barrel: an instruction or call takes 0 cycles; expected at least 1");
        }
        if self.swap.0.saturating_mul(self.contexts as u64) >= self.quantum.0 {
            // Otherwise a thread could leave before its first slot, and the program would never
            // progress.
            return refuse("barrel: quantum is too short; expected more than swap times contexts");
        }
        Ok(())
    }
}
