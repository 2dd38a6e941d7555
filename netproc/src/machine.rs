// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The whole machine: a program, its configuration and a processor, run until every packet is accounted for.

use std::ops::{ControlFlow, Range};

use mb_processor::{Isa, LoadError, Memory, Program};

use crate::contract::{
    DEVICE, Filter, HartStatus, MAX_HARTS, Phase, Route, Route6, SpineConfig, TableAddresses, error_text,
};
use crate::controller::{Arrival, Controller, ControllerConfig, PacketOutcome, StoreEffect};
use crate::functional::HandlerRules;
use crate::processor::{Bytes, DeviceStore, Processor, ProcessorEvent};
use crate::report::{PacketReport, WindowCounts};
use crate::run_error::{self, RunError, RunErrorCause};

/// Cycles between two looks at what harts do.
const WATCH: u64 = 8192;

/// Lines between the arrays that the host writes.
const LINE: u64 = 64;

/// Why a program cannot be loaded into a machine.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SetupError {
    /// Not a program for RV64.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A symbol of the contract is missing.
    #[error("the program has no symbol `{0}`; expected a program of `matchbench netproc build` or of netproc/spine")]
    Symbol(&'static str),
    /// Program, tables and heap reach the registers of the controller.
    #[error(
        "program, tables and heap end at {found:#x}; expected at most {DEVICE:#x}; use less memory or fewer routes"
    )]
    Memory {
        /// Their end.
        found: u64,
    },
    /// A number of harts that SPINE does not support.
    #[error("found {0} harts; expected 1 to {MAX_HARTS}")]
    Harts(u32),
}

/// Symbols that every program of the contract has.
const CONFIG: &str = "np_config";
const STATUS: &str = "np_status";

/// The program of a file, which is for RV64 and has the symbols of the contract.
///
/// # Errors
/// It is none.
pub fn check_program(file: &[u8]) -> Result<Program, SetupError> {
    let program = Program::load(file)?;
    if program.isa() != Isa::Rv64 {
        return Err(LoadError::WrongIsa { found: program.isa(), expected: Isa::Rv64 }.into());
    }
    for name in [CONFIG, STATUS] {
        program.symbol(name).ok_or(SetupError::Symbol(name))?;
    }
    Ok(program)
}

/// Tables that the host gives to SPINE.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tables {
    /// Filters, in the order in which they apply.
    pub filters: Vec<Filter>,
    /// Routes of IPv4, in order of prefix and length.
    pub routes: Vec<Route>,
    /// Routes of IPv6, likewise.
    pub routes6: Vec<Route6>,
}

/// A loaded program with its tables: the memory from which every run starts.
#[derive(Clone, Debug)]
pub struct LoadedProgram {
    program: Program,
    memory: Memory,
    harts: u32,
    status: u64,
    spine: SpineConfig,
    heap: Range<u64>,
}

impl LoadedProgram {
    /// Loads `file`, writes the configuration for `harts` harts and the tables, and leaves `heap` bytes for SPINE.
    ///
    /// # Errors
    /// The file is not a program of the contract, or does not fit with its tables.
    pub fn new(file: &[u8], harts: u32, config: &SpineConfig, tables: &Tables, heap: u64) -> Result<Self, SetupError> {
        if !(1..=MAX_HARTS).contains(&harts) {
            return Err(SetupError::Harts(harts));
        }
        let program = check_program(file)?;
        let symbol = |name| program.symbol(name).map(|found| found.address).ok_or(SetupError::Symbol(name));
        let (config_address, status) = (symbol(CONFIG)?, symbol(STATUS)?);
        let end = program.memory(0).range().end;
        let filters: Vec<u8> = tables.filters.iter().flat_map(Filter::encode).collect();
        let routes: Vec<u8> = tables.routes.iter().flat_map(Route::encode).collect();
        let routes6: Vec<u8> = tables.routes6.iter().flat_map(Route6::encode).collect();
        let mut next = end.next_multiple_of(LINE);
        let [at_filters, at_routes, at_routes6] = [&filters, &routes, &routes6].map(|bytes| {
            let here = next;
            next = (next + bytes.len() as u64).next_multiple_of(LINE);
            here
        });
        let heap_end = next.saturating_add(heap.next_multiple_of(LINE));
        if heap_end > DEVICE {
            return Err(SetupError::Memory { found: heap_end });
        }
        let layout = TableAddresses {
            filters: (at_filters, tables.filters.len()),
            routes4: (at_routes, tables.routes.len()),
            routes6: (at_routes6, tables.routes6.len()),
            heap: (next, heap_end),
        };
        let mut memory = program.memory((heap_end - end) as usize);
        let encoded = config.encode(harts, &layout);
        for (address, bytes, name) in [
            (config_address, &encoded[..], "np_config"),
            (at_filters, &filters, "np_config"),
            (at_routes, &routes, "np_config"),
            (at_routes6, &routes6, "np_config"),
        ] {
            memory.write(address, bytes).map_err(|_| SetupError::Symbol(name))?;
        }
        if memory.get(status, harts as usize * HartStatus::BYTES as usize).is_none() {
            return Err(SetupError::Symbol("np_status"));
        }
        Ok(Self { program, memory, harts, status, spine: config.clone(), heap: next..heap_end })
    }

    /// The program.
    #[must_use]
    pub const fn program(&self) -> &Program {
        &self.program
    }

    /// Memory at the start.
    #[must_use]
    pub const fn memory(&self) -> &Memory {
        &self.memory
    }

    /// A copy of the memory at the start; its heap is zero.
    pub(crate) fn fresh_memory(&self) -> Memory {
        self.memory.copy_up_to(self.heap.start)
    }

    /// The number of harts.
    #[must_use]
    pub const fn harts(&self) -> u32 {
        self.harts
    }

    /// The memory that the user's handler may write.
    #[must_use]
    pub fn handler_rules(&self) -> HandlerRules {
        let address = |name| self.program.symbol(name).map(|found| found.address);
        let object = |name| self.program.symbol(name).map(|found| found.address..found.address + found.bytes);
        let (Some(text), Some(text_end), Some(data), Some(data_end), Some(stacks)) = (
            address("np_handler_text"),
            address("np_handler_text_end"),
            address("np_handler_data"),
            address("np_handler_data_end"),
            object("np_stacks"),
        ) else {
            return HandlerRules::default();
        };
        HandlerRules {
            text: text..text_end,
            data: data..data_end,
            library: ["memcpy", "memmove", "memset"].into_iter().filter_map(object).collect(),
            code: self.program.code(),
            stacks,
            // A static object of SPINE; a handler may have another one of this name.
            states: object("states").filter(|found| found.end - found.start == HandlerRules::STATES_BYTES),
            status: self.status..self.status + u64::from(self.harts) * HartStatus::BYTES,
            flows: HandlerRules::flows_of(&self.spine, self.heap.start),
            heap: self.heap.clone(),
            buffer_bytes: self.spine.buffer_bytes.into(),
            buffers: self.spine.buffers.into(),
        }
    }

    /// The function that contains `pc`, and the distance from its start.
    #[must_use]
    pub fn symbolize(&self, pc: u64) -> Option<(&str, u64)> {
        let functions = self.program.symbols().filter(|(_, symbol)| symbol.bytes > 0 && symbol.address <= pc);
        let (name, symbol) = functions.max_by_key(|(_, symbol)| symbol.address)?;
        (pc < symbol.address + symbol.bytes).then_some((name, pc - symbol.address))
    }

    /// The error at `place`, with what its hart does and the function of its instruction.
    #[expect(clippy::unnecessary_box_returns, reason = "every caller returns the box as its error")]
    pub(crate) fn error<P: Processor>(&self, processor: &P, place: Place, cause: RunErrorCause) -> Box<RunError> {
        let Place { cycle, hart, pc } = place;
        let status = hart.and_then(|hart| processor.status(hart).or_else(|| self.status(processor, hart)));
        let symbol = pc.and_then(|pc| self.symbolize(pc));
        let place = run_error::StopLocation {
            cycle,
            hart,
            packet: status.and_then(|found| found.packet),
            application: status.and_then(|found| found.application),
            phase: status.and_then(|found| found.phase),
            pc,
            symbol: symbol.map(|(name, offset)| (name.to_owned(), offset)),
        };
        Box::new(RunError { place, cause })
    }

    fn status(&self, memory: &impl Bytes, hart: u32) -> Option<HartStatus> {
        memory.read(self.status + u64::from(hart) * HartStatus::BYTES).map(|bytes| HartStatus::decode(&bytes))
    }
}

/// Receives every packet that software has reported, in the order of the reports.
pub trait Judge {
    /// Compares what the handler decided with what it must decide. `arrival` is the packet as it arrived.
    fn judge(&mut self, outcome: &PacketOutcome, arrival: &Arrival);
}

/// Accepts every decision.
impl Judge for () {
    fn judge(&mut self, _: &PacketOutcome, _: &Arrival) {}
}

/// Bounds of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Most cycles that a hart may spend on one packet.
    pub handler: u64,
    /// Most cycles before the start of reception.
    pub setup: u64,
}

/// A run: what was measured, up to the error if there was one.
#[derive(Clone, PartialEq, Debug)]
pub struct PacketRun {
    /// What was measured.
    pub report: PacketReport,
    /// Why the run ended early.
    pub error: Option<Box<RunError>>,
}

impl PacketRun {
    /// A run that ended before the first packet.
    #[must_use]
    pub fn failed(error: Box<RunError>) -> Self {
        Self { report: PacketReport { is_balanced: true, ..PacketReport::default() }, error: Some(error) }
    }
}

/// Where a run ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) cycle: u64,
    pub(crate) hart: Option<u32>,
    pub(crate) pc: Option<u64>,
}

impl Place {
    /// An instruction of a hart.
    pub(crate) const fn of(cycle: u64, hart: u32, pc: u64) -> Self {
        Self { cycle, hart: Some(hart), pc: Some(pc) }
    }
}

/// Runs `processor`, which holds the memory of `image`, until every packet is accounted for. `progress` is called with
/// the number of packets completed and can end the run.
pub fn run<P: Processor, J: Judge>(
    image: &LoadedProgram,
    processor: &mut P,
    config: ControllerConfig,
    arrivals: &[Arrival],
    limits: Limits,
    judge: &mut J,
    progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
) -> PacketRun {
    let mut runner = Runner {
        image,
        controller: Controller::new(config, arrivals),
        watched: vec![Watched::default(); image.harts as usize],
        snapshots: Vec::new(),
        limits,
    };
    let error = runner.run(processor, judge, progress).err();
    let packets = runner.controller.account.completed();
    let last = WindowCounts { cycle: processor.cycle(), packets, counts: processor.counts() };
    let report = PacketReport::new(&runner.controller, runner.snapshots, last);
    PacketRun { report, error }
}

/// A run that ends early.
type Stop = Box<RunError>;

/// The packet on which a hart works, and since when.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Watched {
    packet: Option<u64>,
    phase: Option<Phase>,
    since: u64,
}

struct Runner<'a> {
    image: &'a LoadedProgram,
    controller: Controller<'a>,
    watched: Vec<Watched>,
    snapshots: Vec<WindowCounts>,
    limits: Limits,
}

impl Runner<'_> {
    fn run<P: Processor, J: Judge>(
        &mut self,
        processor: &mut P,
        judge: &mut J,
        progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let mut events = Vec::new();
        let mut watch = WATCH;
        while !self.controller.is_finished() {
            let cycle = processor.cycle();
            self.controller
                .advance(cycle, processor)
                .map_err(|misuse| self.stop(processor, RunErrorCause::Misuse(misuse)))?;
            if processor.is_idle() && self.controller.next_event().is_none() && self.controller.is_stuck() {
                return Err(self.stop(processor, RunErrorCause::Deadlock));
            }
            let next = self.controller.next_event().unwrap_or(u64::MAX);
            let until = next.max(cycle).min(watch);
            events.clear();
            let stopped = processor.run(until, &mut events).err();
            for event in events.drain(..) {
                match event {
                    ProcessorEvent::Transferred { tag, .. } => self.controller.transferred(tag, processor),
                    ProcessorEvent::Store(store) => self.serve(&store, processor, judge)?,
                }
            }
            if let Some(stopped) = stopped {
                let place = Place::of(processor.cycle(), stopped.hart, stopped.error.pc());
                return Err(self.image.error(processor, place, RunErrorCause::Hart(stopped.error)));
            }
            if processor.cycle() > watch {
                watch = processor.cycle() + WATCH;
                self.look(processor)?;
                if progress(self.controller.account.completed()).is_break() {
                    return Err(self.stop(processor, RunErrorCause::Interrupted));
                }
            }
        }
        Ok(())
    }

    fn serve<P: Processor, J: Judge>(&mut self, store: &DeviceStore, processor: &P, judge: &mut J) -> Result<(), Stop> {
        let effect = self.controller.store(store, processor).map_err(|misuse| {
            let place = Place::of(store.cycle, store.hart, store.pc);
            self.image.error(processor, place, RunErrorCause::Misuse(misuse))
        })?;
        match effect {
            StoreEffect::None => {}
            StoreEffect::Ready => {
                self.snapshots.push(WindowCounts { cycle: store.cycle, packets: 0, counts: processor.counts() });
            }
            StoreEffect::Complete(outcome) => {
                judge.judge(&outcome, self.controller.arrival(outcome.packet));
                let packets = self.controller.account.completed();
                if packets.is_multiple_of(PacketReport::WINDOW) {
                    self.snapshots.push(WindowCounts { cycle: store.cycle, packets, counts: processor.counts() });
                }
            }
            StoreEffect::Error => {
                let status = processor.status(store.hart).or_else(|| self.image.status(processor, store.hart));
                let (code, value, pc) =
                    status.map_or((0, 0, store.pc), |found| (found.error, found.error_value, found.error_pc));
                let cause = RunErrorCause::Software { code, text: error_text(code, value) };
                return Err(self.image.error(processor, Place::of(store.cycle, store.hart, pc), cause));
            }
        }
        Ok(())
    }

    /// Ends the run if a hart has worked on one packet for too long, or if the start takes too long.
    fn look<P: Processor>(&mut self, processor: &P) -> Result<(), Stop> {
        let cycle = processor.cycle();
        if self.controller.ready().is_none() && cycle > self.limits.setup {
            let place = Place::of(cycle, 0, processor.pc(0));
            return Err(self.image.error(processor, place, RunErrorCause::Setup(self.limits.setup)));
        }
        for hart in 0..self.image.harts {
            let Some(status) = self.image.status(processor, hart) else { continue };
            let watched = &mut self.watched[hart as usize];
            if (watched.packet, watched.phase) != (status.packet, status.phase) {
                *watched = Watched { packet: status.packet, phase: status.phase, since: cycle };
            }
            if watched.packet.is_some() && cycle - watched.since > self.limits.handler {
                let place = Place::of(cycle, hart, processor.pc(hart));
                return Err(self.image.error(processor, place, RunErrorCause::Loop(self.limits.handler)));
            }
        }
        Ok(())
    }

    /// An error that is about no hart.
    #[expect(clippy::unnecessary_box_returns, reason = "every caller returns the box as its error")]
    fn stop<P: Processor>(&self, processor: &P, cause: RunErrorCause) -> Stop {
        self.image.error(processor, Place { cycle: processor.cycle(), hart: None, pc: None }, cause)
    }
}
