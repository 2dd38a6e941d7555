// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Configuration of barrel-threaded cores, and the three presets of Hemmert et al.

use mb_core::parameters::{Choice, Parameters, Source, ValueSources};
use mb_core::{Cycles, ParameterError};

use crate::FloatLatencies;
use crate::hierarchy::{CacheConfig, Coherence, HierarchyConfig, MemoryConfig, WritePolicy};

/// Cycles of the system calls for threads and locks. Only the calling thread is delayed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, mb_core::Parameters)]
pub struct CallCosts {
    /// Starting a thread; the new thread and its creator continue at the same time.
    #[parameter(range = 1..=10_000, key = "thread_create")]
    pub create: Cycles,
    /// Acquiring a free hardware lock.
    #[parameter(range = 1..=10_000, key = "lock_acquire")]
    pub acquire: Cycles,
    /// Releasing a hardware lock.
    #[parameter(range = 1..=10_000, key = "lock_release")]
    pub release: Cycles,
    /// Lock handoff: from a release to the next attempt of the thread that has waited longest, which takes one cycle.
    #[parameter(range = 1..=10_000, key = "lock_handoff")]
    pub handoff: Cycles,
    /// Added to acquiring and handoff when the lock was last held on another core.
    #[parameter(range = 0..=10_000, key = "lock_transfer")]
    pub transfer: Cycles,
}

/// The core of a new thread, if several cores have a free context.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum SpawnPolicy {
    /// The core with the most free contexts; the first of several.
    Spread,
    /// The first core with a free context.
    Fill,
}

/// Which contexts are given to inactive threads at the end of a quantum.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum Exchange {
    /// Contexts without a thread, or with one that waits for a lock or for the host, and then the others in
    /// round-robin order.
    #[choice("any")]
    All,
    /// Contexts without a thread, or with one that waits for a lock or for the host.
    #[choice("waiting")]
    Idle,
}

/// Configuration of barrel-threaded cores, each with one issue slot per cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, mb_core::Parameters)]
#[parameters(preset)]
pub struct BarrelConfig {
    /// Hardware thread contexts of a core.
    #[parameter(range = 1..=1 << 20)]
    pub contexts: usize,
    /// Core of a new thread: the one with the most free contexts, or the first with any.
    #[parameter]
    pub placement: SpawnPolicy,
    /// Most threads, in contexts or inactive. A call that starts one more waits until one ends.
    #[parameter(range = 1..=1 << 20)]
    pub threads: usize,
    /// Time slice: cycles after which threads without a context replace others at the latest.
    #[parameter(range = 2..=1_000_000)]
    pub quantum: Cycles,
    /// Loading the context of one thread; the swaps of a core follow one another.
    #[parameter(range = 0..=10_000, key = "context_swap")]
    pub swap: Cycles,
    /// Threads that are replaced at the end of a time slice: any, or only those that wait.
    #[parameter(key = "preempt")]
    pub exchange: Exchange,
    /// From a multiplication to the next instruction of its thread.
    #[parameter(range = 1..=1000)]
    pub multiply: Cycles,
    /// From a division to the next instruction of its thread.
    #[parameter(range = 1..=1000)]
    pub divide: Cycles,
    /// From a floating-point operation to the next instruction of its thread.
    #[parameter(nested, prefix = "float_", about = "Floating point")]
    pub float: FloatLatencies,
    /// From a taken branch to the next instruction of its thread.
    #[parameter(range = 1..=1000, key = "branch_taken")]
    pub taken: Cycles,
    /// Cycles of system calls for threads and locks.
    #[parameter(nested)]
    pub calls: CallCosts,
    /// Caches and memory, and the number of cores. A load with a latency of one cycle does not
    /// delay its thread.
    #[parameter(nested)]
    pub hierarchy: HierarchyConfig,
}

impl BarrelConfig {
    /// Table 3 of Hemmert et al. (`hemmert2007`) with 1, 2 or 16 cores; [`SOURCES`](Self::SOURCES) has the sources.
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

    /// The sources of [`hemmert2007`](Self::hemmert2007).
    pub const SOURCES: ValueSources = {
        const fn paper(place: &'static str) -> Source {
            Source::paper("hemmert2007", place)
        }
        &[
            (
                paper("table 3"),
                "contexts cores instruction_bytes instruction_ways instruction_hit data_bytes data_ways",
            ),
            (paper("table 3"), "data_hit memory_latency memory_bits"),
            (paper("table 3: one ALU that multiplies"), "multiply"),
            (paper("section 5.3: creation in 2 cycles"), "thread_create"),
            (paper("section 5.3: time slices of 1024 cycles"), "quantum"),
            (paper("section 5.3: 10 cycles for each thread"), "context_swap"),
            (Source::assumed("the main thread of the benchmark and one for each of its 64 headers"), "threads"),
            (Source::assumed("threads are spread over the cores"), "placement"),
            (Source::assumed("all threads take turns"), "preempt"),
            (
                Source::assumed("section 5.1: locks are exceptionally fast"),
                "lock_acquire lock_release lock_handoff lock_transfer",
            ),
            (Source::assumed("as in sim-outorder"), "divide"),
            (
                Source::assumed("sim-outorder's defaults (SimpleScalar 3.0, sim-outorder.c, fu_config)"),
                "float_simple float_convert float_add float_multiply float_divide float_square_root",
            ),
            (Source::assumed("a multiplication and an addition of sim-outorder"), "float_fused"),
            (Source::assumed("no branch delay is given"), "branch_taken"),
            (Source::assumed("the line of the PowerPC 440"), "instruction_line data_line"),
            (
                Source::assumed("not given; write-back with write-allocate"),
                "instruction_write instruction_allocate data_write data_allocate",
            ),
            (
                Source::assumed("a miss costs the time of memory only, as in sim-outorder"),
                "instruction_lookup data_lookup",
            ),
            (Source::assumed("a core issues one instruction in a cycle"), "instruction_ports data_ports"),
            (Source::assumed("enough for all threads"), "instruction_mshrs data_mshrs"),
            (Source::assumed("coherence is ideal"), "coherence line_upgrade line_transfer"),
        ]
    };

    /// Checks that the configuration is valid.
    pub(super) fn check(&self) -> Result<(), ParameterError> {
        self.check_domains()?;
        if self.swap.0.saturating_mul(self.contexts as u64) >= self.quantum.0 {
            // Otherwise a thread could leave before its first slot, and the program would never
            // progress.
            let text = "barrel: quantum is too short; expected more than swap times contexts";
            return Err(ParameterError::Contradiction(text.to_owned()));
        }
        Ok(())
    }
}
