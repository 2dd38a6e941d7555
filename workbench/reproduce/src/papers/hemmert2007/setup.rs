// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The processors of tables 2 and 3, and the programs that they run.
//!
//! Contract: what the paper does not say is taken from a set of assumptions, and what that leaves
//! open from the presets of the cores.

use mb_core::Cycles;
use mb_firmware::Guest;
use mb_processor::barrel::{BarrelConfig, SpawnPolicy};
use mb_processor::hierarchy::{Coherence, HierarchyConfig};
use mb_processor::out_of_order::{OutOfOrderConfig, ppc440};
use mb_processor::predictor::Direction;

use super::assumptions::{Assumptions, BranchPrediction, LinkPosition, ListCache, Lock, ThreadPlacement};
use crate::error::MeasureError;

/// Cycles that a far lock or a line in another core costs: those of the memory.
const FAR: Cycles = Cycles(10);

/// Bytes of a thread's stack: more than the program needs, and an odd number of lines, so that
/// stacks spread over sets.
const STACK: u64 = 1024 + 32;

/// One of the paper's processors.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PaperProcessor {
    /// Table 2: out of order, after the PowerPC 440.
    Embedded,
    /// Table 3 with one core.
    Threads1,
    /// Table 3 with two cores.
    Threads2,
    /// Table 3 with 16 cores.
    Threads16,
}

impl PaperProcessor {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Embedded, Self::Threads1, Self::Threads2, Self::Threads16];

    /// Its name in claims, studies and tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Embedded => "ppc440",
            Self::Threads1 => "mt1",
            Self::Threads2 => "mt2",
            Self::Threads16 => "mt16",
        }
    }
}

/// A processor with the program that it runs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setup {
    /// The core or cores.
    pub build: Build,
    /// The benchmark.
    pub program: Guest,
    /// Whether every header finds the list missing.
    pub cold: bool,
    /// Whether a call is one instruction: what puts its arguments into place takes no time.
    pub lean: bool,
    /// What the program is compiled for.
    pub machine: mb_processor::Isa,
    /// Where the headers arrive before each pass.
    pub delivery: Delivery,
    /// Bytes of a thread's stack.
    pub stack: u64,
    /// Fewest bytes between the program and the stacks.
    pub stack_gap: u64,
    /// The stacks begin at a multiple of this many bytes.
    pub stack_alignment: u64,
    /// Whether the program stops also where a pass ends, so that the counts of a pass are its own.
    /// Each stop takes a few cycles, after which quanta of threads end at other instructions.
    pub stop_at_end: bool,
}

/// Where headers arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Delivery {
    /// In memory: the first access to each misses.
    Memory,
    /// In every data cache.
    Cache,
}

/// The cores of a processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Build {
    /// One out-of-order core and its caches.
    OutOfOrder(OutOfOrderConfig, HierarchyConfig),
    /// Barrel-threaded cores.
    Barrel(BarrelConfig),
}

impl Build {
    /// Caches and memory.
    #[must_use]
    pub const fn hierarchy(&self) -> &HierarchyConfig {
        match self {
            Self::OutOfOrder(_, hierarchy) => hierarchy,
            Self::Barrel(config) => &config.hierarchy,
        }
    }

    /// The same with other caches and memory.
    #[must_use]
    pub const fn with_hierarchy(self, hierarchy: HierarchyConfig) -> Self {
        match self {
            Self::OutOfOrder(core, _) => Self::OutOfOrder(core, hierarchy),
            Self::Barrel(config) => Self::Barrel(BarrelConfig { hierarchy, ..config }),
        }
    }
}

impl Setup {
    /// The same with other caches and memory.
    #[must_use]
    pub fn with_hierarchy(&self, hierarchy: HierarchyConfig) -> Self {
        Self { build: self.build.with_hierarchy(hierarchy), ..self.clone() }
    }

    /// `processor` under `assumptions`.
    ///
    /// # Errors
    /// When there are no such cores.
    pub fn new(processor: PaperProcessor, assumptions: Assumptions) -> Result<Self, MeasureError> {
        let (machine, delivery) = (mb_processor::Isa::Ppc32, Delivery::Memory);
        let line = assumptions.line.bytes();
        let cold = assumptions.list == ListCache::Cold;
        let cores = match processor {
            PaperProcessor::Embedded => {
                let (mut core, hierarchy) = ppc440(line);
                core.predictor.direction = match assumptions.predictor {
                    BranchPrediction::Bimodal => core.predictor.direction,
                    BranchPrediction::Gshare => Direction::Gshare { entries: 2048, history: 8 },
                    BranchPrediction::NotTaken => Direction::NotTaken,
                    BranchPrediction::Perfect => Direction::Perfect,
                };
                let program = match assumptions.link {
                    LinkPosition::First => Guest::Bench,
                    LinkPosition::Last => Guest::BenchLinkLast,
                };
                return Ok(Self {
                    build: Build::OutOfOrder(core, hierarchy),
                    program,
                    cold,
                    lean: false,
                    machine,
                    delivery,
                    stack: STACK,
                    stack_gap: 1,
                    stack_alignment: 16,
                    stop_at_end: true,
                });
            }
            PaperProcessor::Threads1 => 1,
            PaperProcessor::Threads2 => 2,
            PaperProcessor::Threads16 => 16,
        };
        let mut config = BarrelConfig::hemmert2007(cores)?;
        (config.hierarchy.instruction.line, config.hierarchy.data.line) = (line, line);
        let lock = assumptions.lock;
        if lock == Lock::Far {
            config.calls.transfer = FAR;
        }
        if lock == Lock::SpinCoherent {
            config.hierarchy.coherence = Coherence::Invalidate { upgrade: FAR, transfer: FAR };
        }
        config.placement = match assumptions.placement {
            ThreadPlacement::Spread => SpawnPolicy::Spread,
            ThreadPlacement::Fill => SpawnPolicy::Fill,
        };
        let program = match lock {
            Lock::Call | Lock::Instruction | Lock::Far => Guest::BenchMt,
            Lock::Spin | Lock::SpinCoherent => Guest::BenchMtSpin,
        };
        Ok(Self {
            build: Build::Barrel(config),
            program,
            cold,
            lean: matches!(lock, Lock::Instruction | Lock::Far),
            machine,
            delivery,
            stack: STACK,
            stack_gap: 1,
            stack_alignment: 16,
            stop_at_end: true,
        })
    }
}
