// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The whole machine: harts that run the kernel of `moped/kernel`, memory, the devices, and the programs with their
//! files. It executes without time, with time, or changes between both where the programs say so.

mod account;
mod damage;
mod memory;
mod messages;
mod observe;
mod parameters;
mod progress;
mod results;
mod symbols;
mod timed;
mod timeline;
mod timing;
mod watch;

use std::collections::BTreeMap;

use crate::kernel::{AnyHost, Boot, KernelHost, UserProgram};
use mb_core::ParameterError;
use mb_processor::Memory;
use mb_processor::chip::{self, ChipFault};
use mb_processor::directory::CoherentMemory;
use mb_processor::functional::{
    ExecutedCounts, Functional, FunctionalParameters, HartStop, HostAnswer, HostCall, HostMemory, SupervisorEnvironment,
};
use mb_processor::linux::Files;
use mb_processor::system::NoDevice;

use self::account::Account;
pub use self::account::{Activity, Cycles};
pub use self::messages::{MessageRecord, Messages};
pub use self::parameters::{ExecutionMode, MachineError, MachineParameters};
pub use self::progress::Waiting;
use self::progress::Watch;
pub use self::results::{COUNTS, MachineCounts, MeasuredRegion, RegionCount};
use self::symbols::Symbols;
use self::timed::{Diagram, Parts, Settled, Timed};
pub use self::timing::{CoreKind, TimingParameters, pentium4, scalar, two_wide};
use crate::contract::{CONTROL, PORTS};
use crate::{FunctionalMoped, Moped, MopedParameters};

/// How a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RunEnd {
    /// All processes ended; the status is the first that is not 0, or 0.
    Exited(u64),
    /// For [`MachineParameters::patience`], no hart computed and nothing moved between processes.
    Deadlock(Vec<Waiting>),
    /// The time is up.
    Limit(Vec<Waiting>),
    /// A hart takes traps without end.
    TrapLoop {
        /// The hart.
        hart: usize,
        /// Address of the handler.
        handler: u64,
    },
    /// A core cannot continue.
    Fault(ChipFault),
}

/// Length of a step: cycles with time, instructions of a hart without. After each, the caller can look.
const STEP_CYCLES: u64 = 50_000;
const STEP_INSTRUCTIONS: u64 = 2_000_000;

/// Memory, harts and devices of one kind of execution.
#[derive(Clone, Debug)]
enum Execution {
    Functional(Box<Functional<FunctionalMoped>>),
    Timed(Box<Timed>),
    /// Between the two; never seen from outside.
    Moving,
}

/// The whole machine.
#[derive(Clone, Debug)]
pub struct Machine<F> {
    execution: Execution,
    host: Counted<F>,
    symbols: Vec<Symbols>,
    /// Program and rank of each process, in the order of the kernel's process numbers.
    processes: Vec<(u32, u32)>,
    quantum: u32,
    patience: u64,
    slice: u64,
    limit: u64,
    watch: Option<Watch>,
    mode: ExecutionMode,
    timing: TimingParameters,
    account: Account,
    messages: Messages,
    /// Counts without time, before the latest change to time.
    earlier: Vec<ExecutedCounts>,
    /// Time of the latest snapshot of the watch.
    watched: u64,
    /// The mode that each process requests, by program and rank. `marks_seen` and `ended_seen` count the markers and
    /// ends that it contains.
    asked: BTreeMap<(u64, u64), u64>,
    marks_seen: usize,
    ended_seen: usize,
    kind: u64,
    regions: Vec<MeasuredRegion>,
    /// The begin of the current region with time.
    begun: Option<MachineCounts>,
    /// The diagram of pipelines, without time.
    diagram: Option<(u64, Diagram)>,
}

/// The host, and how often it was called.
#[derive(Clone, Debug)]
struct Counted<F> {
    host: KernelHost<F>,
    calls: u64,
}

impl<F: Files> SupervisorEnvironment for Counted<F> {
    fn call(&mut self, call: HostCall, memory: &mut dyn HostMemory) -> HostAnswer {
        self.calls += 1;
        SupervisorEnvironment::call(&mut self.host, call, memory)
    }
}

/// Runs harts without time.
///
/// Not a method of [`Machine`]: it is compiled once, not for every type of files.
fn run_functional(
    functional: &mut Functional<FunctionalMoped>,
    host: &mut dyn SupervisorEnvironment,
    until: u64,
) -> HartStop {
    functional.run(&mut AnyHost(host), until)
}

impl<F: Files> Machine<F> {
    /// A machine at its start.
    ///
    /// # Errors
    /// A parameter is out of its range, or the programs do not fit into memory.
    pub fn new(parameters: &MachineParameters, programs: &[UserProgram<'_>], files: F) -> Result<Self, MachineError> {
        let has_device = parameters.moped.is_some();
        let boot = Boot {
            harts: parameters.harts,
            memory: parameters.memory,
            frequency: parameters.frequency,
            slice: parameters.slice,
            ports: if has_device { PORTS } else { 0 },
            control: if has_device { CONTROL } else { 0 },
        };
        let (memory, states) = boot.start(programs)?;
        let harts = states.len();
        let device = parameters.moped.clone().unwrap_or_else(|| crate::presets::parameters("base"));
        let device = MopedParameters { nodes: harts, ..device };
        let mut timing = parameters
            .timing
            .clone()
            .unwrap_or_else(|| TimingParameters::gu2011(CoreKind::OutOfOrder, harts, parameters.moped.as_ref()));
        (timing.core.cores, timing.core.contexts) = (harts, 1);
        (timing.memory.nodes, timing.memory.contexts) = (harts, 1);
        if parameters.mode != ExecutionMode::Functional {
            // A bad value is reported here, and not at the first change to time.
            CoherentMemory::new(&timing.memory, Memory::new(crate::kernel::MEMORY_BASE, 64), NoDevice)?;
            chip::Chip::with_supervisor(&timing.core, &timing.translation, &states, 0)?;
        }
        let device = FunctionalMoped::new(Moped::new(&device));
        let turns = FunctionalParameters { quantum: parameters.quantum };
        let ranks =
            (0_u32..).zip(programs).flat_map(|(number, program)| (0..program.ranks).map(move |rank| (number, rank)));
        let processes: Vec<_> = ranks.collect();
        let symbols: Vec<_> = programs.iter().map(|program| Symbols::of(program.file)).collect();
        let mut host = KernelHost::new(files, parameters.seed);
        host.stops_at_marks = parameters.mode != ExecutionMode::Functional;
        let mut machine = Self {
            execution: Execution::Functional(Box::new(Functional::new(memory, device, &states, 0, turns))),
            host: Counted { host, calls: 0 },
            account: Account::new(harts, &symbols, &processes),
            symbols,
            processes,
            quantum: parameters.quantum,
            patience: parameters.patience.max(1),
            slice: parameters.slice,
            limit: parameters.limit,
            watch: None,
            mode: parameters.mode,
            timing,
            messages: Messages::default(),
            earlier: vec![ExecutedCounts::default(); harts],
            watched: 0,
            asked: BTreeMap::new(),
            marks_seen: 0,
            ended_seen: 0,
            kind: 0,
            regions: Vec::new(),
            begun: None,
            diagram: None,
        };
        if parameters.mode == ExecutionMode::Timing {
            machine.begin_time()?;
        }
        Ok(machine)
    }

    /// Runs to the end.
    pub fn run(&mut self) -> RunEnd {
        loop {
            if let Some(end) = self.step() {
                return end;
            }
        }
    }

    /// Runs for 50 000 cycles, for two million instructions of a hart without time, or to the end.
    pub fn step(&mut self) -> Option<RunEnd> {
        let mut watch = self.watch.take().unwrap_or_else(|| self.begin_watch());
        let next = self.watched.saturating_add(self.patience.div_ceil(4));
        let until = next.min(self.limit);
        let end = match &mut self.execution {
            Execution::Functional(functional) => {
                let until = until.min(functional.time() + STEP_INSTRUCTIONS);
                match run_functional(functional, &mut self.host, until) {
                    HartStop::Exited(status) => Some(RunEnd::Exited(status)),
                    HartStop::Idle => Some(RunEnd::Deadlock(self.waiting())),
                    HartStop::TrapLoop { hart, handler } => Some(RunEnd::TrapLoop { hart, handler }),
                    HartStop::Host(_) | HartStop::Until => None,
                }
            }
            Execution::Timed(timed) => {
                let until = until.min(timed.chip.now() + STEP_CYCLES);
                match timed.run(until, &mut self.host, &mut self.account) {
                    Ok(chip::ChipStop::Exited { status, .. }) => Some(RunEnd::Exited(status)),
                    Ok(chip::ChipStop::Halted) => Some(RunEnd::Deadlock(self.waiting())),
                    Ok(_) => None,
                    Err(fault) => Some(RunEnd::Fault(fault)),
                }
            }
            Execution::Moving => None,
        };
        let end = end.or_else(|| self.follow_programs());
        let end = end.or_else(|| {
            let time = self.time();
            if time >= self.limit {
                return Some(RunEnd::Limit(self.waiting()));
            }
            if time < next {
                return None;
            }
            self.watched = time;
            self.stands_still(&mut watch).then(|| RunEnd::Deadlock(self.waiting()))
        });
        if end.is_some() {
            self.end_region();
        }
        self.watch = Some(watch);
        end
    }

    /// Changes the mode as the programs ask for.
    fn follow_programs(&mut self) -> Option<RunEnd> {
        let (marks, ended) = (self.host.host.marks(), self.host.host.ended());
        for mark in &marks[self.marks_seen..] {
            self.asked.insert((mark.program, mark.rank), mark.kind);
        }
        for process in &ended[self.ended_seen..] {
            self.asked.remove(&(process.program, process.rank));
        }
        (self.marks_seen, self.ended_seen) = (marks.len(), ended.len());
        // It becomes more detailed with the first process that asks, and less detailed when all agree.
        let most = self.asked.values().copied().max().unwrap_or(0);
        let least = self.asked.values().copied().min().unwrap_or(0);
        let kind = if most == least { most } else { most.max(self.kind) };
        if kind != self.kind {
            self.end_region();
            self.kind = kind;
            self.begin_region();
        }
        if self.mode != ExecutionMode::Markers {
            return None;
        }
        match (&mut self.execution, kind) {
            (Execution::Functional(_), 1..) => {
                // The parameters were checked at the start.
                let changed = self.begin_time();
                debug_assert!(changed.is_ok());
                None
            }
            (Execution::Timed(timed), 0) => match timed.settle(&mut self.host, &mut self.account) {
                Ok(Settled::Idle) => {
                    self.end_time();
                    None
                }
                Ok(Settled::Busy) => None,
                Ok(Settled::Exited(status)) => Some(RunEnd::Exited(status)),
                Err(fault) => Some(RunEnd::Fault(fault)),
            },
            _ => None,
        }
    }

    /// Continues with time, with empty caches, TLBs and predictors.
    fn begin_time(&mut self) -> Result<(), ParameterError> {
        let Execution::Functional(functional) = std::mem::replace(&mut self.execution, Execution::Moving) else {
            unreachable!("the machine is without time")
        };
        for (hart, earlier) in self.earlier.iter_mut().enumerate() {
            add(earlier, functional.counts(hart));
        }
        let (memory, device, states, time) = functional.into_parts();
        let messages = std::mem::take(&mut self.messages);
        let diagram = self.diagram.take();
        let parts = Parts { memory, moped: device.into_moped(), messages, states, time, diagram };
        self.execution = Execution::Timed(Box::new(Timed::new(&self.timing, parts, &mut self.account)?));
        self.begin_region();
        Ok(())
    }

    /// Continues without time. Nothing is under way.
    fn end_time(&mut self) {
        let Execution::Timed(timed) = std::mem::replace(&mut self.execution, Execution::Moving) else { return };
        self.execution = match timed.into_parts() {
            Ok(Parts { memory, moped, messages, states, time, diagram }) => {
                (self.messages, self.diagram) = (messages, diagram);
                if let Some(timeline) = &mut self.account.timeline {
                    timeline.stop(time);
                }
                let turns = FunctionalParameters { quantum: self.quantum };
                let device = FunctionalMoped::new(moped);
                Execution::Functional(Box::new(Functional::new(memory, device, &states, time, turns)))
            }
            Err(timed) => Execution::Timed(timed),
        };
    }

    fn begin_region(&mut self) {
        if let Execution::Timed(timed) = &self.execution {
            self.begun = Some(timed.snapshot(&mut self.account));
        }
    }

    fn end_region(&mut self) {
        if let (Execution::Timed(timed), Some(begin)) = (&self.execution, self.begun.take()) {
            let end = timed.snapshot(&mut self.account);
            if end.cycle > begin.cycle {
                self.regions.push(MeasuredRegion { kind: self.kind, begin, end });
            }
        }
    }
}

fn add(sum: &mut ExecutedCounts, counts: ExecutedCounts) {
    sum.user += counts.user;
    sum.supervisor += counts.supervisor;
    sum.exceptions += counts.exceptions;
    sum.interrupts += counts.interrupts;
    sum.stretches += counts.stretches;
}
