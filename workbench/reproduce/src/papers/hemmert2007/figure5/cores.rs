// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The benchmark on cores that execute the compiled match function: one out-of-order core, or
//! barrel-threaded cores with a thread for each header.
//!
//! Contract: the compiled C of `guest/` runs on the models of `processor/`; no loop of the
//! benchmark is outside it.
//! Cost: some tenths of a second for one processor and all four lists.

use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;

use mb_core::Cycles;
use mb_processor::barrel::{self, Barrel, Stacks};
use mb_processor::hierarchy::{AccessKind, CacheStatistics, Hierarchy};
use mb_processor::out_of_order::{self, OutOfOrder};
use mb_processor::{
    BranchKind, Hart, InstructionClass, Memory, Ppc32, Program, RegisterNumber, Rv64, StaticInstruction,
};

use super::super::processors::{Build, Delivery, Setup};
use super::watch::{Mark, MarkHost, Watch, Watched};
use super::{BenchmarkRun, System};
use crate::error::MeasureError;

/// Cycles that no run needs; more is a mistake in a model.
const LONGEST: Cycles = Cycles(1 << 32);

/// One pass on cores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CorePass {
    /// Cycles between its marks.
    pub cycles: u64,
    /// Calls of the match function.
    pub headers: u64,
    /// Items visited.
    pub visits: u64,
    /// Visits of an item that came after one of a later header.
    pub overtaken: u64,
    /// Threads started.
    pub threads: u64,
    /// Lines missed by all instruction caches.
    pub instruction_misses: u64,
    /// Lines missed by all data caches.
    pub data_misses: u64,
}

/// Runs the benchmark as `setup` says on a list of `length` items.
///
/// # Errors
/// When the cores cannot be built or the benchmark does not end well.
pub fn run(setup: &Setup, length: usize) -> Result<BenchmarkRun<CorePass>, MeasureError> {
    let program = setup.program.program(setup.machine);
    let one = MeasureError::NotSeen("a thread");
    match setup.machine {
        mb_processor::Isa::Ppc32 => {
            let hart = Ppc32::load(&program, 1)?.pop().ok_or(one)?;
            let free = if setup.lean { arguments_of_calls(&hart, program.code()) } else { BTreeSet::new() };
            on_harts(setup, &program, hart, free, length)
        }
        mb_processor::Isa::Rv64 => {
            let hart = Rv64::load(&program, 1)?.pop().ok_or(one)?;
            on_harts(setup, &program, hart, BTreeSet::new(), length)
        }
    }
}

fn on_harts<H: Hart + Clone>(
    setup: &Setup,
    program: &Program,
    mut hart: H,
    free: BTreeSet<u64>,
    length: usize,
) -> Result<BenchmarkRun<CorePass>, MeasureError> {
    let symbol = |name: &'static str| program.symbol(name).ok_or(MeasureError::NotSeen(name));
    let (list, headers) = (symbol("list")?, symbol("headers")?);
    let list = list.address..list.address + list.bytes;
    let watch = Watch::new(symbol("match")?.address, list, setup.cold, free);
    let surroundings = Surroundings {
        watch: watch.clone(),
        host: MarkHost::new(!setup.stop_at_end),
        headers: (headers.address, headers.bytes),
        delivery: setup.delivery,
        length,
        ahead: None,
    };
    match setup.build {
        Build::OutOfOrder(core, hierarchy) => {
            hart.set_argument(0, length as u64);
            let core = OneCore {
                core: OutOfOrder::new(core, 0)?,
                hart: Watched::new(hart, watch),
                memory: program.memory(0),
                hierarchy: Hierarchy::new(&hierarchy)?,
            };
            super::run(&mut Stepped { cores: core, surroundings }, length)
        }
        Build::Barrel(config) => {
            let mut memory = program.memory(0);
            let end = memory.range().end;
            let stacks = setup.stack * config.threads as u64;
            let top = (end + setup.stack_gap).next_multiple_of(setup.stack_alignment) + stacks;
            memory.grow((top - end) as usize);
            let hart = Watched::new(hart, watch);
            let mut cores = Barrel::new(&config, hart, memory, Stacks { top, bytes: setup.stack })?;
            cores.spawn(program.entry(), &[length as u64], Cycles::ZERO);
            super::run(&mut Stepped { cores: BarrelCores(cores, config.hierarchy.cores), surroundings }, length)
        }
    }
}

/// Where the instructions are that only put the number and the first argument of a call into place:
/// those right before it that write nothing else.
fn arguments_of_calls(hart: &Ppc32, code: Range<u64>) -> BTreeSet<u64> {
    // The number is in register 0, the first argument in register 3.
    let prepares = |shape: &StaticInstruction| {
        let written: Vec<_> = shape.destinations.iter().filter(|&&register| register != RegisterNumber::NONE).collect();
        let only = written.iter().all(|&&register| matches!(register, RegisterNumber(0 | 3)));
        shape.class == InstructionClass::Integer && shape.branch == BranchKind::None && !written.is_empty() && only
    };
    let mut free = BTreeSet::new();
    for call in code
        .clone()
        .step_by(4)
        .filter(|&pc| hart.instruction_at(pc).is_some_and(|shape| shape.class == InstructionClass::System))
    {
        let before = (code.start..call).rev().filter(|pc| pc % 4 == 0);
        free.extend(before.take_while(|&pc| hart.instruction_at(pc).is_some_and(|shape| prepares(&shape))));
    }
    free
}

/// Why the cores stopped.
enum Stopped {
    /// The program waits for its host.
    Waiting,
    /// The program ended with this status.
    Exited(u64),
}

/// Cores that execute the program.
trait Cores {
    /// Runs until the program waits for its host or ends.
    fn go(&mut self, host: &mut MarkHost) -> Result<Stopped, MeasureError>;

    /// Caches and memory, and the number of cores.
    fn hierarchy(&mut self) -> (&mut Hierarchy, usize);
}

/// What surrounds the cores.
struct Surroundings {
    watch: Rc<Watch>,
    host: MarkHost,
    /// Address and bytes of the headers.
    headers: (u64, u64),
    delivery: Delivery,
    length: usize,
    /// Why the cores stopped, if they ran past the end of the pass before.
    ahead: Option<Stopped>,
}

/// Cores that run the program from mark to mark.
struct Stepped<C> {
    cores: C,
    surroundings: Surroundings,
}

impl<C: Cores> Stepped<C> {
    /// Runs until the program waits or ends.
    fn stop(&mut self) -> Result<Stopped, MeasureError> {
        let ahead = self.surroundings.ahead.take();
        ahead.map_or_else(|| self.cores.go(&mut self.surroundings.host), Ok)
    }

    /// Runs to the end of the pass; returns when that was.
    fn end(&mut self) -> Result<u64, MeasureError> {
        let stopped = self.stop()?;
        if let Some(cycle) = self.surroundings.host.ended() {
            self.surroundings.ahead = Some(stopped);
            return Ok(cycle);
        }
        self.surroundings.ahead = Some(stopped);
        let Mark::End(cycle) = self.mark()? else { return Err(MeasureError::NotSeen("the end of a pass")) };
        Ok(cycle)
    }

    /// Runs to the next mark, where the program waits; from now on it may go on.
    fn mark(&mut self) -> Result<Mark, MeasureError> {
        match self.stop()? {
            Stopped::Waiting => self.surroundings.host.allow().ok_or(MeasureError::NotSeen("the mark of a pass")),
            Stopped::Exited(status) => Err(MeasureError::Benchmark { length: self.surroundings.length, status }),
        }
    }

    /// Counts since the start of the run.
    fn counts(&mut self) -> CorePass {
        let (hierarchy, cores) = self.cores.hierarchy();
        let sum = |of: &dyn Fn(usize) -> CacheStatistics| (0..cores).map(|core| of(core).misses).sum::<u64>();
        let watch = &self.surroundings.watch;
        CorePass {
            cycles: 0,
            headers: watch.headers(),
            visits: watch.visits(),
            overtaken: watch.overtaken(),
            threads: watch.threads(),
            instruction_misses: sum(&|core| hierarchy.instruction_statistics(core)),
            data_misses: sum(&|core| hierarchy.data_statistics(core)),
        }
    }

    /// New headers arrive from outside.
    fn deliver(&mut self) {
        let (start, bytes) = self.surroundings.headers;
        let (hierarchy, cores) = self.cores.hierarchy();
        hierarchy.invalidate(start, bytes);
        if self.surroundings.delivery == Delivery::Cache {
            for core in 0..cores {
                hierarchy.warm(core, AccessKind::Load, start, bytes);
            }
        }
    }
}

impl<C: Cores> System for Stepped<C> {
    type Pass = CorePass;

    /// The program itself decides at which position the headers of its next pass match, by the same
    /// formula.
    fn pass(&mut self, _position: usize) -> Result<CorePass, MeasureError> {
        let Mark::Begin = self.mark()? else { return Err(MeasureError::NotSeen("the start of a pass")) };
        let before = self.counts();
        self.deliver();
        let cycle = self.end()?;
        let after = self.counts();
        Ok(CorePass {
            cycles: cycle - self.surroundings.host.began,
            headers: after.headers - before.headers,
            visits: after.visits - before.visits,
            overtaken: after.overtaken - before.overtaken,
            threads: after.threads - before.threads,
            instruction_misses: after.instruction_misses - before.instruction_misses,
            data_misses: after.data_misses - before.data_misses,
        })
    }

    fn finish(&mut self) -> Result<(), MeasureError> {
        match self.stop()? {
            Stopped::Exited(0) => Ok(()),
            Stopped::Exited(status) => Err(MeasureError::Benchmark { length: self.surroundings.length, status }),
            Stopped::Waiting => Err(MeasureError::NotSeen("the end of the benchmark")),
        }
    }
}

/// One out-of-order core.
struct OneCore<H> {
    core: OutOfOrder,
    hart: Watched<H>,
    memory: Memory,
    hierarchy: Hierarchy,
}

impl<H: Hart> Cores for OneCore<H> {
    fn go(&mut self, host: &mut MarkHost) -> Result<Stopped, MeasureError> {
        let Self { core, hart, memory, hierarchy } = self;
        match core.run(hart, memory, host, hierarchy, LONGEST)? {
            out_of_order::OutOfOrderStop::Waiting => Ok(Stopped::Waiting),
            out_of_order::OutOfOrderStop::Exited(status) => Ok(Stopped::Exited(status)),
            out_of_order::OutOfOrderStop::Until => Err(MeasureError::NotSeen("the end of the benchmark")),
        }
    }

    fn hierarchy(&mut self) -> (&mut Hierarchy, usize) {
        (&mut self.hierarchy, 1)
    }
}

/// Barrel-threaded cores, and how many.
struct BarrelCores<H>(Barrel<Watched<H>>, usize);

impl<H: Hart + Clone> Cores for BarrelCores<H> {
    fn go(&mut self, host: &mut MarkHost) -> Result<Stopped, MeasureError> {
        self.0.wake(Cycles::ZERO);
        match self.0.run_until(Cycles::MAX, host)? {
            barrel::BarrelStop::Waiting => Ok(Stopped::Waiting),
            barrel::BarrelStop::Exited(status) => Ok(Stopped::Exited(status)),
            barrel::BarrelStop::Until | barrel::BarrelStop::Paused => {
                Err(MeasureError::NotSeen("the end of the benchmark"))
            }
        }
    }

    fn hierarchy(&mut self) -> (&mut Hierarchy, usize) {
        (self.0.hierarchy(), self.1)
    }
}
