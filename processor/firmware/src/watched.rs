// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The benchmark of hemmert2007 figure 5 on cores that run from mark to mark, with its calls of the
//! match function and its visits of items counted.
//!
//! The generic cores are instantiated here, in a crate that tests optimize; what measures with
//! them is not generic.

mod host;
mod thread;

use std::collections::BTreeSet;
use std::ops::Range;
use std::rc::Rc;

use mb_core::{Cycles, ParameterError};
use mb_processor::barrel::{Barrel, BarrelConfig, BarrelStop, Stacks, Trap};
use mb_processor::hierarchy::{Hierarchy, HierarchyConfig};
use mb_processor::out_of_order::{OutOfOrder, OutOfOrderConfig, OutOfOrderStop};
use mb_processor::{
    BranchKind, Fault, Hart, InstructionClass, Isa, LoadError, Memory, Ppc32, Program, RegisterNumber, Rv64,
    StaticInstruction,
};

pub use host::{MarkHost, PassMark};
pub use thread::WatchCounts;

use thread::{Watch, Watched};

/// Every run ends before this cycle; a later one is a mistake in a model.
const LONGEST: Cycles = Cycles(1 << 32);
/// What a run lacks that has not stopped before [`LONGEST`].
const END: WatchError = WatchError::Missing("the end of the benchmark before cycle 2^32");

/// Why the benchmark could not be run.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum WatchError {
    /// Cores cannot be built.
    #[error(transparent)]
    Setting(#[from] ParameterError),
    /// The program cannot be loaded.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The program does what its processor cannot.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// A thread does what its processor cannot.
    #[error(transparent)]
    Trap(#[from] Trap),
    /// The program lacks a symbol, or its run did not reach a point.
    #[error("the benchmark: found none, expected {0}")]
    Missing(&'static str),
}

/// Where the stacks of threads are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackLayout {
    /// Bytes of a thread's stack.
    pub bytes: u64,
    /// Fewest bytes between the program and the stacks.
    pub gap: u64,
    /// The stacks begin at a multiple of this many bytes.
    pub alignment: u64,
}

/// The cores that run the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CoresConfig {
    /// One out-of-order core and its caches.
    OutOfOrder(OutOfOrderConfig, HierarchyConfig),
    /// Barrel-threaded cores.
    Barrel(BarrelConfig, StackLayout),
}

/// How the program is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WatchOptions {
    /// Items of the list.
    pub items: u64,
    /// Whether every line of the list misses in the caches for each header.
    pub cold: bool,
    /// Whether the instructions that only put the number and the first argument of a system call
    /// into place take no time. PowerPC only; ignored elsewhere.
    pub lean: bool,
    /// Whether the program waits where a pass ends too.
    pub stop_at_end: bool,
}

/// Why the cores stopped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WatchStop {
    /// The program waits for its host.
    Waiting,
    /// The program ended with this status.
    Exited(u64),
}

/// Cores that run the benchmark from mark to mark.
pub struct WatchedCores {
    cores: Box<dyn Cores>,
    watch: Rc<Watch>,
    host: MarkHost,
    headers: Range<u64>,
}

impl WatchedCores {
    /// Loads the program, which has the symbols `match`, `list` and `headers`.
    ///
    /// # Errors
    /// When the program cannot be loaded, has no such symbol, or the cores cannot be built.
    pub fn new(program: &Program, config: &CoresConfig, options: WatchOptions) -> Result<Self, WatchError> {
        let thread = WatchError::Missing("a thread");
        match program.isa() {
            Isa::Ppc32 => {
                let hart = Ppc32::load(program, 1)?.pop().ok_or(thread)?;
                let free = if options.lean { arguments_of_calls(&hart, program.code()) } else { BTreeSet::new() };
                Self::on_harts(program, config, options, hart, free)
            }
            Isa::Rv64 => {
                let hart = Rv64::load(program, 1)?.pop().ok_or(thread)?;
                Self::on_harts(program, config, options, hart, BTreeSet::new())
            }
        }
    }

    fn on_harts<H: Hart + Clone + 'static>(
        program: &Program,
        config: &CoresConfig,
        options: WatchOptions,
        mut hart: H,
        free: BTreeSet<u64>,
    ) -> Result<Self, WatchError> {
        let range = |name: &'static str| {
            let symbol = program.symbol(name).ok_or(WatchError::Missing(name))?;
            Ok::<_, WatchError>(symbol.address..symbol.address + symbol.bytes)
        };
        let watch = Watch::new(range("match")?.start, range("list")?, options.cold, free);
        let cores: Box<dyn Cores> = match config {
            CoresConfig::OutOfOrder(core, hierarchy) => {
                hart.set_argument(0, options.items);
                Box::new(OneCore {
                    core: OutOfOrder::new(*core, 0)?,
                    hart: Watched::new(hart, watch.clone()),
                    memory: program.memory(0),
                    hierarchy: Hierarchy::new(hierarchy)?,
                })
            }
            CoresConfig::Barrel(config, layout) => {
                let mut memory = program.memory(0);
                let end = memory.range().end;
                let stacks = layout.bytes * config.threads as u64;
                let top = (end + layout.gap).next_multiple_of(layout.alignment) + stacks;
                memory.grow((top - end) as usize);
                let hart = Watched::new(hart, watch.clone());
                let mut cores = Barrel::new(config, hart, memory, Stacks { top, bytes: layout.bytes })?;
                cores.spawn(program.entry(), &[options.items], Cycles::ZERO);
                Box::new(BarrelCores(cores, config.hierarchy.cores))
            }
        };
        Ok(Self { cores, watch, host: MarkHost::new(options.stop_at_end), headers: range("headers")? })
    }

    /// Runs until the program waits for its host or ends.
    ///
    /// # Errors
    /// When the program does what its processor cannot, or has not stopped before cycle 2^32.
    pub fn run(&mut self) -> Result<WatchStop, WatchError> {
        self.cores.run(&mut self.host)
    }

    /// The host, which says where the program waits.
    pub fn host(&mut self) -> &mut MarkHost {
        &mut self.host
    }

    /// Caches and memory, and the number of cores.
    pub fn hierarchy(&mut self) -> (&mut Hierarchy, usize) {
        self.cores.hierarchy()
    }

    /// The addresses of the headers.
    #[must_use]
    pub fn headers(&self) -> Range<u64> {
        self.headers.clone()
    }

    /// Counts since the start of the run.
    #[must_use]
    pub fn counts(&self) -> WatchCounts {
        self.watch.counts()
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

/// Cores that execute the program.
trait Cores {
    /// Runs until the program waits for its host or ends.
    fn run(&mut self, host: &mut MarkHost) -> Result<WatchStop, WatchError>;

    /// Caches and memory, and the number of cores.
    fn hierarchy(&mut self) -> (&mut Hierarchy, usize);
}

/// One out-of-order core.
struct OneCore<H> {
    core: OutOfOrder,
    hart: Watched<H>,
    memory: Memory,
    hierarchy: Hierarchy,
}

impl<H: Hart> Cores for OneCore<H> {
    fn run(&mut self, host: &mut MarkHost) -> Result<WatchStop, WatchError> {
        let Self { core, hart, memory, hierarchy } = self;
        match core.run(hart, memory, host, hierarchy, LONGEST)? {
            OutOfOrderStop::Waiting => Ok(WatchStop::Waiting),
            OutOfOrderStop::Exited(status) => Ok(WatchStop::Exited(status)),
            OutOfOrderStop::Until => Err(END),
        }
    }

    fn hierarchy(&mut self) -> (&mut Hierarchy, usize) {
        (&mut self.hierarchy, 1)
    }
}

/// Barrel-threaded cores, and how many.
struct BarrelCores<H>(Barrel<Watched<H>>, usize);

impl<H: Hart + Clone> Cores for BarrelCores<H> {
    fn run(&mut self, host: &mut MarkHost) -> Result<WatchStop, WatchError> {
        self.0.wake(Cycles::ZERO);
        match self.0.run_until_waiting(LONGEST, host)? {
            BarrelStop::Waiting => Ok(WatchStop::Waiting),
            BarrelStop::Exited(status) => Ok(WatchStop::Exited(status)),
            BarrelStop::Until | BarrelStop::Paused => Err(END),
        }
    }

    fn hierarchy(&mut self) -> (&mut Hierarchy, usize) {
        (self.0.hierarchy(), self.1)
    }
}
