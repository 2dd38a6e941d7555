// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A capture on the machine `netproc`, with every decision checked.

use std::ops::ControlFlow;

use mb_core::ParameterError;
use mb_netproc::parameters::ProcessorTiming;
use mb_netproc::processor::Processor;
use mb_netproc::{
    Arrival, LoadedProgram, PacketMachineParameters, PacketRun, PassageObserver, RunError, SetupError, Tables,
    TimedChip, machine,
};

use crate::arrivals::arrivals;
use crate::capture::{Capture, CaptureError};
use crate::check::{Checker, DecisionMismatch, Expectations};
use crate::filters::FilterSet;
use crate::routes::RouteTable;

/// Seed of filters and routes. Generated captures use the same, so that routes match their destinations.
pub const TABLES_SEED: u64 = 1;

/// Why a run cannot begin.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SessionError {
    /// The capture is wrong.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The program, or its tables.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// Parameters from which nothing can be built.
    #[error(transparent)]
    Parameters(#[from] ParameterError),
    /// A capture without packets.
    #[error("found no packets; expected at least one")]
    Empty,
}

/// A run with the check of its decisions.
#[derive(Clone, PartialEq, Debug)]
pub struct Checked {
    /// The measurements, and why the run ended early.
    pub run: PacketRun,
    /// Packets checked.
    pub checked: u64,
    /// Decisions that differ from the references.
    pub mismatch_count: u64,
    /// The first of them.
    pub mismatches: Vec<DecisionMismatch>,
    /// Instructions of hart 0 before the first packet, which are executed without timing.
    pub start_instructions: u64,
}

impl Checked {
    /// A run that ended before the first packet.
    fn failed(error: Box<RunError>) -> Self {
        let run = PacketRun::failed(error);
        Self { run, checked: 0, mismatch_count: 0, mismatches: Vec::new(), start_instructions: 0 }
    }
}

/// The filters of a run.
#[must_use]
pub fn filters(parameters: &PacketMachineParameters) -> FilterSet {
    let mut filters = FilterSet::of_scenarios(parameters.filters, TABLES_SEED).filters().to_vec();
    if let Some(application) = parameters.application.application() {
        for filter in &mut filters {
            filter.application = application;
        }
    }
    FilterSet::new(filters)
}

/// The routes of a run.
#[must_use]
pub fn routes(parameters: &PacketMachineParameters) -> RouteTable {
    RouteTable::generate(parameters.routes, TABLES_SEED)
}

/// A capture with the machine that is to run it.
pub struct CaptureSession {
    parameters: PacketMachineParameters,
    image: LoadedProgram,
    arrivals: Vec<Arrival>,
    filters: FilterSet,
    routes: RouteTable,
}

impl CaptureSession {
    /// Loads `program` with filters and routes.
    ///
    /// # Errors
    /// The capture is empty or has packets without a link header, or the program does not fit.
    pub fn new(parameters: &PacketMachineParameters, program: &[u8], capture: &Capture) -> Result<Self, SessionError> {
        let (filters, routes) = (filters(parameters), routes(parameters));
        let arrivals = arrivals(capture, &filters)?;
        if arrivals.is_empty() {
            return Err(SessionError::Empty);
        }
        let tables =
            Tables { filters: filters.filters().to_vec(), routes: routes.routes().to_vec(), routes6: routes.routes6() };
        let image =
            LoadedProgram::new(program, parameters.harts(), &parameters.spine(), &tables, parameters.heap_bytes)?;
        Ok(Self { parameters: parameters.clone(), image, arrivals, filters, routes })
    }

    /// The program and its memory.
    #[must_use]
    pub const fn image(&self) -> &LoadedProgram {
        &self.image
    }

    /// Runs `packets` packets: the capture, from its start again when it ends. The start of the program is executed
    /// without timing. `observer` sees every later instruction of a processor that is simulated cycle by cycle.
    ///
    /// # Errors
    /// No processor can be built from the parameters.
    pub fn run(
        &self,
        packets: u64,
        observer: Option<&mut dyn PassageObserver>,
        progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Result<Checked, SessionError> {
        let parameters = &self.parameters;
        let mut started = match self.image.start(parameters.limits(), progress) {
            Ok(started) => started,
            Err(error) => return Ok(Checked::failed(error)),
        };
        let start_instructions = started.instructions;
        let checked = match parameters.timing {
            ProcessorTiming::Functional => self.check(&mut started.harts, packets, progress),
            ProcessorTiming::Cycles => {
                let (cores, memory) = parameters.bus_clock();
                let chip = TimedChip::new(&parameters.chip(), &parameters.memory(), started, observer)?;
                self.check(&mut chip.with_memory_clock(cores, memory), packets, progress)
            }
        };
        Ok(Checked { start_instructions, ..checked })
    }

    fn check<P: Processor>(
        &self,
        processor: &mut P,
        packets: u64,
        progress: &mut dyn FnMut(u64) -> ControlFlow<()>,
    ) -> Checked {
        let spine = self.parameters.spine();
        let mut checker = Checker::new(Expectations {
            filters: self.filters.clone(),
            default_application: spine.default_application,
            routes: self.routes.lookup(),
            buffer_bytes: spine.buffer_bytes,
            des_keys: spine.des_keys,
            des_iv: spine.des_iv,
            flows: spine.flows,
        });
        let config = self.parameters.controller(packets);
        let limits = self.parameters.limits();
        let run = machine::run(&self.image, processor, config, &self.arrivals, limits, &mut checker, progress);
        if run.error.is_none() {
            checker.finish();
        }
        Checked {
            run,
            checked: checker.checked,
            mismatch_count: checker.mismatch_count,
            mismatches: checker.mismatches,
            start_instructions: 0,
        }
    }
}
