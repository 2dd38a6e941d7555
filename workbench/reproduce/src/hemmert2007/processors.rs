// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The processors of hemmert2007 tables 2 and 3, and the benchmark of figure 5 on them.
//!
//! Contract: the compiled C of `guest/` runs on the cores of `mb-kit`; nothing here knows a claim. What a world leaves
//! unsaid is as the presets of the cores say.
//! Cost: some tenths of a second for one processor in one world, all four lists.

use std::collections::BTreeSet;
use std::ops::Range;

use mb_core::Cycles;

use mb_guest::Guest;
use mb_processor::barrel::{self, Barrel, BarrelConfig, Placement, Stacks};
use mb_processor::hierarchy::{CacheStatistics, Coherence, Hierarchy, HierarchyConfig};
use mb_processor::out_of_order::{self, OutOfOrder, OutOfOrderConfig, ppc440};
use mb_processor::predictor::Direction;
use mb_processor::{BranchKind, Hart as _, InstructionClass, Isa, Memory, Ppc32, Register, StaticInstruction};
use mb_session::figure5::LENGTHS;

use super::watch::{Desk, Mark, Watch, Watched};
use crate::MeasureError;
use crate::study::World;

/// Cycles that a far lock or a line in another core costs: those of the memory.
const FAR: Cycles = Cycles(10);

/// Bytes of a thread's stack: more than the program needs, and an odd number of lines, so that stacks spread over sets.
const STACK: u64 = 1024 + 32;

/// Cycles that no run needs; more is a mistake in a model.
const LONGEST: Cycles = Cycles(1 << 32);

/// One of the paper's processors.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Processor {
    /// Table 2: out of order, after the PowerPC 440.
    Embedded,
    /// Table 3 with one core.
    Threads1,
    /// Table 3 with two cores.
    Threads2,
    /// Table 3 with 16 cores.
    Threads16,
}

impl Processor {
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

/// One turn of figure 5's outer loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pass {
    /// Cycles between its marks.
    pub cycles: u64,
    /// Calls of the match function.
    pub headers: u64,
    /// Items visited.
    pub visits: u64,
    /// Threads started.
    pub threads: u64,
    /// Lines missed by all instruction caches.
    pub instruction_misses: u64,
    /// Lines missed by all data caches.
    pub data_misses: u64,
}

/// The benchmark on one list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    /// Items of the list.
    pub length: usize,
    /// Every turn of the outer loop; the first primes.
    pub passes: Vec<Pass>,
    /// Visits of an item that came after one of a later header.
    pub overtaken: u64,
}

impl Run {
    /// The turns that are measured.
    #[must_use]
    pub fn measured(&self) -> &[Pass] {
        self.passes.get(1..).unwrap_or_default()
    }
}

/// A processor and its benchmark, all lists.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// Which one.
    pub processor: Processor,
    /// How it was built.
    pub setup: Setup,
    /// List by list.
    pub runs: Vec<Run>,
}

impl Simulated {
    /// Runs the benchmark on `processor` in `world`.
    ///
    /// # Errors
    /// When the cores cannot be built or the benchmark does not end well.
    pub fn new(processor: Processor, world: &World) -> Result<Self, MeasureError> {
        let setup = Setup::new(processor, world)?;
        let runs = LENGTHS.iter().map(|&length| setup.run(length)).collect::<Result<_, _>>()?;
        Ok(Self { processor, setup, runs })
    }

    /// Cycles of all matches when `n` items are traversed: the first of ten, or the last of a list.
    pub(crate) fn at(&self, n: usize) -> Result<u64, MeasureError> {
        if n == 1 { self.cycles(10, 0) } else { self.cycles(n, 100) }
    }

    /// Cycles of all matches of a list of `length` items at `percent` of its depth.
    pub(crate) fn cycles(&self, length: usize, percent: u32) -> Result<u64, MeasureError> {
        let run = self.runs.iter().find(|run| run.length == length).ok_or(MeasureError::NotSeen("this list"))?;
        let pass = run.measured().get(percent as usize / 10).ok_or(MeasureError::NotSeen("this depth"))?;
        Ok(pass.cycles)
    }
}

impl Setup {
    /// The same with other caches and memory.
    #[must_use]
    pub fn with_hierarchy(&self, hierarchy: HierarchyConfig) -> Self {
        Self { build: self.build.with_hierarchy(hierarchy), ..self.clone() }
    }

    /// `processor` in `world`.
    ///
    /// # Errors
    /// When there are no such cores, or the world has an answer that is unknown here.
    pub fn new(processor: Processor, world: &World) -> Result<Self, MeasureError> {
        let word = |name: &'static str, known: &[&'static str]| {
            let place = known.iter().position(|known| *known == world.word(name));
            place.ok_or_else(|| MeasureError::Answer { name, answer: world.word(name).to_owned() })
        };
        let line = [32, 64][word("line", &["32", "64"])?];
        let cold = word("list", &["warm", "cold"])? == 1;
        let cores = match processor {
            Processor::Embedded => {
                let (mut core, hierarchy) = ppc440(line);
                core.predictor.direction = match word("predictor", &["bimodal", "gshare", "not-taken", "perfect"])? {
                    0 => core.predictor.direction,
                    1 => Direction::Gshare { entries: 2048, history: 8 },
                    2 => Direction::NotTaken,
                    _ => Direction::Perfect,
                };
                let program = [Guest::Bench, Guest::BenchLinkLast][word("link", &["first", "last"])?];
                return Ok(Self { build: Build::OutOfOrder(core, hierarchy), program, cold, lean: false });
            }
            Processor::Threads1 => 1,
            Processor::Threads2 => 2,
            Processor::Threads16 => 16,
        };
        let mut config = BarrelConfig::hemmert2007(cores)?;
        (config.hierarchy.instruction.line, config.hierarchy.data.line) = (line, line);
        let lock = word("lock", &["call", "instruction", "far", "spin", "spin-coherent"])?;
        if lock == 2 {
            config.calls.transfer = FAR;
        }
        if lock == 4 {
            config.hierarchy.coherence = Coherence::Invalidate { upgrade: FAR, transfer: FAR };
        }
        config.placement = [Placement::Spread, Placement::Fill][word("placement", &["spread", "fill"])?];
        let program = if lock < 3 { Guest::BenchMt } else { Guest::BenchMtSpin };
        Ok(Self { build: Build::Barrel(config), program, cold, lean: matches!(lock, 1 | 2) })
    }

    /// Runs the benchmark on a list of `length` items.
    ///
    /// # Errors
    /// When it does not end well.
    pub fn run(&self, length: usize) -> Result<Run, MeasureError> {
        let program = self.program.program(Isa::Ppc32);
        let place = |name: &'static str| program.symbol(name).ok_or(MeasureError::NotSeen(name));
        let (list, headers) = (place("list")?, place("headers")?);
        let hart = Ppc32::load(&program, 1)?.pop().ok_or(MeasureError::NotSeen("a thread"))?;
        let list = list.address..list.address + list.bytes;
        let free = if self.lean { arguments_of_calls(&hart, program.code()) } else { BTreeSet::new() };
        let watch = Watch::new(place("match")?.address, list, self.cold, free);
        let hart = Watched::new(hart, watch.clone());
        let headers = (headers.address, headers.bytes);
        match self.build {
            Build::OutOfOrder(core, hierarchy) => Embedded {
                core: OutOfOrder::new(core, 0)?,
                hart,
                memory: program.memory(0),
                hierarchy: Hierarchy::new(&hierarchy)?,
            }
            .bench(length, &watch, headers),
            Build::Barrel(config) => {
                let stacks = STACK * config.threads as u64;
                let memory = program.memory(stacks as usize + 16);
                let top = memory.range().end & !15;
                let mut cores = Barrel::new(&config, hart, memory, Stacks { top, bytes: STACK })?;
                cores.spawn(program.entry(), &[length as u64], Cycles::ZERO);
                Threaded(cores, config.hierarchy.cores).bench(length, &watch, headers)
            }
        }
    }
}

/// Where the instructions are that only put the number and the first argument of a call into place: those right before it
/// that write nothing else.
fn arguments_of_calls(hart: &Ppc32, code: Range<u64>) -> BTreeSet<u64> {
    // The number is in register 0, the first argument in register 3.
    let prepares = |instruction: &StaticInstruction| {
        let written: Vec<_> = instruction.destinations.iter().filter(|&&register| register != Register::NONE).collect();
        let only = written.iter().all(|&&register| matches!(register, Register(0 | 3)));
        instruction.class == InstructionClass::Integer
            && instruction.branch == BranchKind::None
            && !written.is_empty()
            && only
    };
    let mut free = BTreeSet::new();
    for call in code
        .clone()
        .step_by(4)
        .filter(|&pc| hart.instruction_at(pc).is_some_and(|instruction| instruction.class == InstructionClass::System))
    {
        let before = (code.start..call).rev().filter(|pc| pc % 4 == 0);
        free.extend(before.take_while(|&pc| hart.instruction_at(pc).is_some_and(|instruction| prepares(&instruction))));
    }
    free
}

/// What ends a stretch of a run.
enum Stopped {
    Waiting,
    Exited(u64),
}

/// A machine that runs the benchmark.
trait Bench {
    /// Sets the list's length, before anything runs.
    fn begin(&mut self, length: usize);

    /// Runs until the program waits for its host or ends.
    fn go(&mut self, desk: &mut Desk) -> Result<Stopped, MeasureError>;

    /// Caches and memory, and the number of cores.
    fn hierarchy(&mut self) -> (&mut Hierarchy, usize);

    /// Passes from the first to the last; headers arrive from outside before each.
    fn bench(mut self, length: usize, watch: &Watch, (headers, bytes): (u64, u64)) -> Result<Run, MeasureError>
    where
        Self: Sized,
    {
        self.begin(length);
        let mut desk = Desk::default();
        let mut passes = Vec::new();
        let mut before = None;
        loop {
            if let Stopped::Exited(status) = self.go(&mut desk)? {
                let run = Run { length, passes, overtaken: watch.overtaken() };
                return if status == 0 { Ok(run) } else { Err(MeasureError::Benchmark { length, status }) };
            }
            let mark = desk.allow().ok_or(MeasureError::NotSeen("the mark that the benchmark waits at"))?;
            let (hierarchy, cores) = self.hierarchy();
            let sum = |of: &dyn Fn(usize) -> CacheStatistics| (0..cores).map(|core| of(core).misses).sum::<u64>();
            let now = Pass {
                cycles: 0,
                headers: watch.headers(),
                visits: watch.visits(),
                threads: watch.threads(),
                instruction_misses: sum(&|core| hierarchy.instruction_statistics(core)),
                data_misses: sum(&|core| hierarchy.data_statistics(core)),
            };
            match mark {
                Mark::Begin => {
                    hierarchy.invalidate(headers, bytes);
                    before = Some(now);
                }
                Mark::End(cycle) => {
                    let began = before.take().ok_or(MeasureError::NotSeen("the begin of the pass that ends"))?;
                    passes.push(Pass {
                        cycles: cycle - desk.began,
                        headers: now.headers - began.headers,
                        visits: now.visits - began.visits,
                        threads: now.threads - began.threads,
                        instruction_misses: now.instruction_misses - began.instruction_misses,
                        data_misses: now.data_misses - began.data_misses,
                    });
                }
            }
        }
    }
}

struct Embedded {
    core: OutOfOrder,
    hart: Watched<Ppc32>,
    memory: Memory,
    hierarchy: Hierarchy,
}

impl Bench for Embedded {
    fn begin(&mut self, length: usize) {
        self.hart.set_argument(0, length as u64);
    }

    fn go(&mut self, desk: &mut Desk) -> Result<Stopped, MeasureError> {
        let Self { core, hart, memory, hierarchy } = self;
        match core.run(hart, memory, desk, hierarchy, LONGEST)? {
            out_of_order::Stop::Waiting => Ok(Stopped::Waiting),
            out_of_order::Stop::Exited(status) => Ok(Stopped::Exited(status)),
            out_of_order::Stop::Until => Err(MeasureError::NotSeen("the end of the benchmark")),
        }
    }

    fn hierarchy(&mut self) -> (&mut Hierarchy, usize) {
        (&mut self.hierarchy, 1)
    }
}

struct Threaded(Barrel<Watched<Ppc32>>, usize);

impl Bench for Threaded {
    fn begin(&mut self, _length: usize) {}

    fn go(&mut self, desk: &mut Desk) -> Result<Stopped, MeasureError> {
        self.0.wake(Cycles::ZERO);
        match self.0.run_until(Cycles::MAX, desk)? {
            barrel::Stop::Waiting => Ok(Stopped::Waiting),
            barrel::Stop::Exited(status) => Ok(Stopped::Exited(status)),
            barrel::Stop::Until | barrel::Stop::Paused => Err(MeasureError::NotSeen("the end of the benchmark")),
        }
    }

    fn hierarchy(&mut self) -> (&mut Hierarchy, usize) {
        (self.0.hierarchy(), self.1)
    }
}
