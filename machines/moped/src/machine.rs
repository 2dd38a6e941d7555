// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The whole machine: harts that run the kernel of `guest/kernel`, memory, the devices, and the programs with their
//! files. It executes without time, with time, or changes between both where the programs say so.

mod account;
mod memory;
mod messages;
mod results;
mod symbols;
mod timed;
mod timeline;
mod timing;
mod watch;

use std::collections::BTreeMap;

use mb_core::ParameterError;
use mb_guest::kernel::{Boot, BootError, Ended, KernelHost, UserProgram};
use mb_processor::chip::{self, CallHandler, ChipFault};
use mb_processor::directory::CoherentMemory;
use mb_processor::functional::{
    Counts, Functional, HartState, Host, HostAnswer, HostCall, HostMemory, Parameters, Stop,
};
use mb_processor::linux::Files;
use mb_processor::system::{MemorySystem, NoDevice};
use mb_processor::{Memory, Syscall, SyscallResult};

use self::account::Account;
pub use self::account::{Activity, Cycles};
pub use self::messages::{MessageRecord, Messages};
pub use self::results::{COUNTS, Count, Region, Snapshot};
use self::symbols::Symbols;
use self::timed::{Diagram, Parts, Settled, Timed};
use self::timeline::Timeline;
pub use self::timing::{CoreKind, SETTABLE, TimingParameters, pentium4, two_wide};
pub use self::watch::Waiting;
use self::watch::Watch;
use crate::contract::{CONTROL, PORTS};
use crate::{Counters, FunctionalMoped, Moped, MopedParameters};

/// How the machine executes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// Without time, whatever the programs ask for.
    #[default]
    Functional,
    /// With time from the start on.
    Timing,
    /// As the programs ask for by `mb_mark`: it becomes more detailed when the first process asks for it, and less
    /// detailed when all processes that have asked for anything agree. Warm-up and timing both execute with time and
    /// differ in how their regions are named. At the begin of a program it is functional.
    Markers,
}

/// What the machine is built from. Without time, times are those of [`Functional`]: instructions of one hart; with time
/// they are cycles.
#[derive(Clone, PartialEq, Debug)]
pub struct MachineParameters {
    /// Harts, 1 to 64; process r of a program starts on hart r modulo this.
    pub harts: u32,
    /// Bytes of memory, a multiple of 4096.
    pub memory: u64,
    /// Units of time in a second, as programs see it.
    pub frequency: u64,
    /// Time between timer interrupts while processes share a hart.
    pub slice: u64,
    /// Instructions of a hart's turn, without time.
    pub quantum: u32,
    /// The devices; without them, programs have no ports. Their number of nodes becomes that of harts.
    pub moped: Option<MopedParameters>,
    /// Time without progress that is a deadlock. While processes share a hart it is at least two slices of every
    /// process.
    pub patience: u64,
    /// Time at which a run stops.
    pub limit: u64,
    /// Seed of the random numbers that programs get.
    pub seed: u64,
    /// How it executes.
    pub mode: Mode,
    /// Cores and caches with time. Their numbers of cores and nodes become that of harts. `None`: table 1, with cores
    /// out of order.
    pub timing: Option<TimingParameters>,
}

impl Default for MachineParameters {
    /// 16 harts of 1 GHz, 1 GiB, no device, no limit, no time; 100 million instructions of a hart without progress are
    /// a deadlock.
    fn default() -> Self {
        Self {
            harts: 16,
            memory: 1 << 30,
            frequency: 1_000_000_000,
            slice: 10_000_000,
            quantum: 64,
            moped: None,
            patience: 100_000_000,
            limit: u64::MAX,
            seed: 1,
            mode: Mode::Functional,
            timing: None,
        }
    }
}

/// Why a machine cannot be built.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum MachineError {
    /// It cannot start.
    #[error("{0}")]
    Boot(#[from] BootError),
    /// A parameter of cores, caches or switch.
    #[error("{0}")]
    Parameter(#[from] ParameterError),
}

/// How a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
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
    mode: Mode,
    timing: TimingParameters,
    account: Account,
    messages: Messages,
    /// Counts without time, before the latest change to time.
    earlier: Vec<Counts>,
    /// Time of the latest snapshot of the watch.
    watched: u64,
    /// What each process asks for, by program and rank; and how many markers and ends are in it.
    asked: BTreeMap<(u64, u64), u64>,
    marks_seen: usize,
    ended_seen: usize,
    kind: u64,
    regions: Vec<Region>,
    /// The begin of the current region with time.
    begun: Option<Snapshot>,
    /// The diagram of pipelines, without time.
    diagram: Option<(u64, Diagram)>,
}

/// The host, and how often it was called.
#[derive(Clone, Debug)]
struct Counted<F> {
    host: KernelHost<F>,
    calls: u64,
}

impl<F: Files> Host for Counted<F> {
    fn call(&mut self, call: HostCall, memory: &mut dyn HostMemory) -> HostAnswer {
        self.calls += 1;
        Host::call(&mut self.host, call, memory)
    }
}

impl<F: Files> CallHandler for Counted<F> {
    fn call<M: MemorySystem>(&mut self, cycle: u64, call: Syscall, memory: &mut M) -> SyscallResult {
        CallHandler::call(&mut self.host, cycle, call, memory)
    }

    fn supervisor_call<M: MemorySystem>(&mut self, call: HostCall, memory: &mut M) -> HostAnswer {
        self.calls += 1;
        self.host.supervisor_call(call, memory)
    }
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
        if parameters.mode != Mode::Functional {
            // A bad value is reported here, and not at the first change to time.
            CoherentMemory::new(&timing.memory, Memory::new(mb_guest::kernel::MEMORY_BASE, 64), NoDevice)?;
            chip::Chip::with_supervisor(&timing.core, &timing.translation, &states, 0)?;
        }
        let device = FunctionalMoped::new(Moped::new(&device));
        let turns = Parameters { quantum: parameters.quantum };
        let ranks =
            (0_u32..).zip(programs).flat_map(|(number, program)| (0..program.ranks).map(move |rank| (number, rank)));
        let processes: Vec<_> = ranks.collect();
        let symbols: Vec<_> = programs.iter().map(|program| Symbols::of(program.file)).collect();
        let mut host = KernelHost::new(files, parameters.seed);
        host.stops_at_marks = parameters.mode != Mode::Functional;
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
            earlier: vec![Counts::default(); harts],
            watched: 0,
            asked: BTreeMap::new(),
            marks_seen: 0,
            ended_seen: 0,
            kind: 0,
            regions: Vec::new(),
            begun: None,
            diagram: None,
        };
        if parameters.mode == Mode::Timing {
            machine.begin_time()?;
        }
        Ok(machine)
    }

    /// Runs to the end.
    pub fn run(&mut self) -> End {
        loop {
            if let Some(end) = self.step() {
                return end;
            }
        }
    }

    /// Runs for 50 000 cycles, for two million instructions of a hart without time, or to the end.
    pub fn step(&mut self) -> Option<End> {
        let mut watch = self.watch.take().unwrap_or_else(|| Watch::new(self));
        let next = self.watched.saturating_add(self.patience.div_ceil(4));
        let until = next.min(self.limit);
        let end = match &mut self.execution {
            Execution::Functional(functional) => {
                let until = until.min(functional.time() + STEP_INSTRUCTIONS);
                match functional.run(&mut self.host, until) {
                    Stop::Exited(status) => Some(End::Exited(status)),
                    Stop::Idle => Some(End::Deadlock(self.waiting())),
                    Stop::TrapLoop { hart, handler } => Some(End::TrapLoop { hart, handler }),
                    Stop::Host(_) | Stop::Until => None,
                }
            }
            Execution::Timed(timed) => {
                let until = until.min(timed.chip.now() + STEP_CYCLES);
                match timed.run(until, &mut self.host, &mut self.account) {
                    Ok(chip::Stop::Exited { status, .. }) => Some(End::Exited(status)),
                    Ok(chip::Stop::Halted) => Some(End::Deadlock(self.waiting())),
                    Ok(_) => None,
                    Err(fault) => Some(End::Fault(fault)),
                }
            }
            Execution::Moving => None,
        };
        let end = end.or_else(|| self.follow_programs());
        let end = end.or_else(|| {
            let time = self.time();
            if time >= self.limit {
                return Some(End::Limit(self.waiting()));
            }
            if time < next {
                return None;
            }
            self.watched = time;
            watch.stands_still(self).then(|| End::Deadlock(self.waiting()))
        });
        if end.is_some() {
            self.end_region();
        }
        self.watch = Some(watch);
        end
    }

    /// Changes the mode as the programs ask for.
    fn follow_programs(&mut self) -> Option<End> {
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
        if self.mode != Mode::Markers {
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
                Ok(Settled::Exited(status)) => Some(End::Exited(status)),
                Err(fault) => Some(End::Fault(fault)),
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
                let turns = Parameters { quantum: self.quantum };
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
                self.regions.push(Region { kind: self.kind, begin, end });
            }
        }
    }

    /// The regions with time so far, in order; that which goes on ends at the current cycle.
    #[must_use]
    pub fn regions(&self) -> Vec<Region> {
        let mut regions = self.regions.clone();
        if let (Execution::Timed(timed), Some(begin)) = (&self.execution, &self.begun) {
            let end = timed.snapshot(&mut self.account.clone());
            regions.push(Region { kind: self.kind, begin: begin.clone(), end });
        }
        regions
    }

    /// What the devices moved with time.
    #[must_use]
    pub fn moved(&self) -> &Messages {
        match &self.execution {
            Execution::Timed(timed) => timed.memory.messages(),
            _ => &self.messages,
        }
    }

    /// Records what cores do from here on, for [`timeline`](Self::timeline).
    pub fn record_timeline(&mut self) {
        self.account.timeline = Some(Timeline::default());
    }

    /// What cores and devices did with time, in the Trace Event Format that the Perfetto viewer opens; nothing without
    /// [`record_timeline`](Self::record_timeline). A cycle is shown as a nanosecond.
    #[must_use]
    pub fn timeline(&self) -> Option<String> {
        let mut timeline = self.account.timeline.clone()?;
        timeline.stop(self.time());
        Some(timeline.write(self.harts(), &self.symbols, self.moved()))
    }

    /// Records the pipelines in these cycles, for [`diagram`](Self::diagram).
    pub fn record_diagram(&mut self, cycles: std::ops::Range<u64>) {
        let name: fn(&chip::Passage) -> String = chip::hart_and_pc;
        let diagram = Some((cycles.end, chip::ChipKanata::new(cycles, name)));
        match &mut self.execution {
            Execution::Timed(timed) => timed.diagram = diagram,
            _ => self.diagram = diagram,
        }
    }

    /// Takes the diagram of the pipelines in the Kanata format.
    pub fn diagram(&mut self) -> Option<String> {
        let diagram = match &mut self.execution {
            Execution::Timed(timed) => timed.diagram.take(),
            _ => self.diagram.take(),
        };
        let mut text = String::new();
        diagram?.1.finish(&mut text).ok()?;
        Some(text)
    }

    /// Whether the machine executes with time.
    #[must_use]
    pub fn has_time(&self) -> bool {
        matches!(self.execution, Execution::Timed(_))
    }

    /// Program and rank of each process, in the order of the kernel's process numbers.
    #[must_use]
    pub fn processes(&self) -> &[(u32, u32)] {
        &self.processes
    }

    /// The parameters of cores, caches and switch.
    #[must_use]
    pub fn timing(&self) -> &TimingParameters {
        &self.timing
    }

    /// The state of a hart after its last committed instruction.
    fn state(&self, hart: usize) -> HartState {
        match &self.execution {
            Execution::Functional(functional) => *functional.state(hart),
            Execution::Timed(timed) => timed.state(hart),
            Execution::Moving => HartState::new(0, 0, 0),
        }
    }

    /// Whether a hart waits for an interrupt.
    fn is_waiting(&self, hart: usize) -> bool {
        match &self.execution {
            Execution::Functional(functional) => functional.state(hart).waits,
            Execution::Timed(timed) => timed.chip.is_waiting(hart),
            Execution::Moving => false,
        }
    }

    fn stretches(&self, hart: usize) -> u64 {
        self.counts(hart).stretches + self.account.stretches(hart)
    }

    fn bytes(&self, address: u64, length: usize) -> Option<&[u8]> {
        match &self.execution {
            Execution::Functional(functional) => functional.memory().get(address, length),
            Execution::Timed(timed) => timed.memory.bytes(address, length),
            Execution::Moving => None,
        }
    }

    fn word(&self, address: u64) -> Option<u64> {
        self.bytes(address, 8)?.first_chunk().map(|word| u64::from_le_bytes(*word))
    }

    /// Where the processes are that hold a hart.
    #[must_use]
    pub fn waiting(&self) -> Vec<Waiting> {
        watch::waiting(self)
    }

    /// The processes that ended, in order of time.
    #[must_use]
    pub fn ended(&self) -> &[Ended] {
        self.host.host.ended()
    }

    /// Files, console and markers.
    #[must_use]
    pub fn host(&self) -> &KernelHost<F> {
        &self.host.host
    }

    /// What the kernel wrote, with the function of each address `pc`, and the call of MPI in which it is.
    #[must_use]
    pub fn messages(&self) -> String {
        let mut text = String::new();
        let mut places = self.host.host.places().iter().peekable();
        for line in self.host.host.messages().lines() {
            text.push_str(line);
            let number = |word: &str, radix| {
                let rest = line.split_once(word)?.1.trim_start_matches("0x");
                let end = rest.find(|letter: char| !letter.is_digit(radix)).unwrap_or(rest.len());
                u64::from_str_radix(&rest[..end], radix).ok()
            };
            let program = number("program ", 10).and_then(|program| self.symbols.get(usize::try_from(program).ok()?));
            if let (Some(symbols), Some(pc)) = (program, number("pc ", 16)) {
                if let Some(name) = symbols.name(pc) {
                    text.push_str(" in ");
                    text.push_str(&name);
                }
                let place = number("core ", 10)
                    .and_then(|hart| places.next_if(|place| place.hart as u64 == hart && place.pc == pc));
                let addresses = place.into_iter().flat_map(|place| place.stack.iter().copied());
                if let Some((call, caller)) = symbols.innermost_call(pc, addresses) {
                    text.push_str(", called from ");
                    text.push_str(call);
                    if let Some(caller) = caller {
                        text.push_str(" in ");
                        text.push_str(&caller);
                    }
                }
            }
            text.push('\n');
        }
        text
    }

    /// What a hart did without time.
    #[must_use]
    pub fn counts(&self, hart: usize) -> Counts {
        let mut counts = self.earlier[hart];
        if let Execution::Functional(functional) = &self.execution {
            add(&mut counts, functional.counts(hart));
        }
        counts
    }

    /// Instructions of a hart with time: in user mode, and in the kernel.
    #[must_use]
    pub fn timed_instructions(&self, hart: usize) -> (u64, u64) {
        self.account.instructions(hart)
    }

    /// Number of harts.
    #[must_use]
    pub fn harts(&self) -> usize {
        self.earlier.len()
    }

    /// The time: the longest way of a hart, with its waits.
    #[must_use]
    pub fn time(&self) -> u64 {
        match &self.execution {
            Execution::Functional(functional) => functional.time(),
            Execution::Timed(timed) => timed.chip.now(),
            Execution::Moving => 0,
        }
    }

    fn moped(&mut self) -> &Moped {
        match &mut self.execution {
            Execution::Functional(functional) => functional.device().moped(),
            Execution::Timed(timed) => timed.memory.moped(),
            Execution::Moving => unreachable!("a change of execution is complete"),
        }
    }

    /// What the device of a node did.
    pub fn device(&mut self, node: usize) -> Counters {
        self.moped().counters(node)
    }

    /// Descriptors in the table of a node.
    pub fn descriptors(&mut self, node: usize) -> usize {
        self.moped().used(node)
    }

    /// Physical addresses of lines that the device copied and that are not memory, since the last change of execution.
    pub fn refused_lines(&mut self) -> &[u64] {
        match &mut self.execution {
            Execution::Functional(functional) => functional.device().refused(),
            Execution::Timed(timed) => timed.memory.refused(),
            Execution::Moving => &[],
        }
    }
}

fn add(sum: &mut Counts, counts: Counts) {
    sum.user += counts.user;
    sum.supervisor += counts.supervisor;
    sum.exceptions += counts.exceptions;
    sum.interrupts += counts.interrupts;
    sum.stretches += counts.stretches;
}
