// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Instructions that each part of the software executes for a packet: counted on one hart without
//! timing, by the ranges of addresses of `netproc/spine/netproc.ld`.

use std::ops::{ControlFlow, Range};

use mb_netproc::contract::{Application, Classifier, ControllerRegister};
use mb_netproc::processor::{Bytes, DeviceStore, DmaTransfer, OutsideMemory, ProcessorCounts, ProcessorEvent, Stopped};
use mb_netproc::{FunctionalHarts, LoadedProgram, Processor};
use mb_packets::{Mix, Sizes};
use mb_processor::rv64::Operation;
use mb_processor::{BranchKind, InstructionClass};

use super::experiment::{Assumptions, Experiment, PaperChip, Work};
use crate::error::MeasureError;

/// Packets of a count; bursts are as long, so that every packet is of the application.
const PACKETS: u64 = 48;

/// Instructions by the classes of Table 2.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Classes {
    /// Loads, stores and atomics.
    pub memory: f64,
    /// Branches and jumps.
    pub control: f64,
    /// The others.
    pub other: f64,
}

impl Classes {
    /// All instructions.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.memory + self.control + self.other
    }

    fn add(&mut self, operation: &Operation) {
        let instruction = operation.instruction();
        match instruction.class {
            InstructionClass::Load | InstructionClass::Store | InstructionClass::Atomic => self.memory += 1.0,
            _ if instruction.branch != BranchKind::None => self.control += 1.0,
            _ => self.other += 1.0,
        }
    }

    fn over(self, packets: f64) -> Self {
        Self { memory: self.memory / packets, control: self.control / packets, other: self.other / packets }
    }

    /// The sum of both.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            memory: self.memory + other.memory,
            control: self.control + other.control,
            other: self.other + other.other,
        }
    }
}

/// Mean instructions for a packet, by part of the software.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Counted {
    /// The OS thread.
    pub os: Classes,
    /// The worker, without classification and application.
    pub worker: Classes,
    /// Classification by generated code.
    pub classify: Classes,
    /// The application.
    pub application: Classes,
}

/// Counts what a packet of `application` executes; lengths of MD5's and 3DES's datagrams are drawn
/// from `sizes`.
///
/// # Errors
/// When the run fails.
pub fn count(application: Application, sizes: Sizes) -> Result<Counted, MeasureError> {
    let mix = match application {
        Application::HttpMon => Mix::HttpMon,
        Application::Md5 => Mix::Md5,
        Application::TripleDes => Mix::TripleDes,
        _ => Mix::IpForward,
    };
    let experiment = Experiment {
        chip: PaperChip::Cmp(1),
        work: Work::Scenario(mix, sizes),
        classifier: Classifier::Dpf,
        packets: PACKETS,
        assumptions: Assumptions::default(),
    };
    let (filters, routes, arrivals) = experiment.input()?;
    let image = experiment.image(&filters, &routes)?;
    let parameters = experiment.parameters()?;
    let mut observed = Observed::new(&image);
    let (controller, limits) = (parameters.controller(PACKETS), parameters.limits());
    let proceed = &mut |_| ControlFlow::Continue(());
    let run = mb_netproc::run(&image, &mut observed, controller, &arrivals, limits, &mut (), proceed);
    if let Some(error) = run.error {
        return Err(MeasureError::Run { run: format!("{application:?} on one hart"), what: error.to_string() });
    }
    let packets = run.report.completed() as f64;
    let [os, worker, classify, application] = observed.counts.map(|classes| classes.over(packets));
    Ok(Counted { os, worker, classify, application })
}

/// One hart that counts its instructions from the start of reception on.
struct Observed {
    hart: FunctionalHarts,
    /// Addresses of OS thread, worker, classifier and applications.
    parts: [Range<u64>; 4],
    /// The end of the program; the generated classifier lies behind it.
    code_end: u64,
    counts: [Classes; 4],
}

impl Observed {
    fn new(image: &LoadedProgram) -> Self {
        let address = |name: &str| image.program().symbol(name).map_or(0, |symbol| symbol.address);
        let part = |name: &str| address(&format!("np_{name}_text"))..address(&format!("np_{name}_text_end"));
        Self {
            hart: FunctionalHarts::new(image.memory().clone(), image.program().entry(), 1, image.handler_rules()),
            parts: ["os", "worker", "classify", "app"].map(part),
            code_end: image.program().code().end,
            counts: [Classes::default(); 4],
        }
    }

    fn executed(&self) -> u64 {
        self.hart.instructions(0)
    }

    fn note(&mut self, pc: u64) {
        // The generated classifier is part 2, wherever it lies.
        let part = self.parts.iter().position(|part| part.contains(&pc)).or((pc >= self.code_end).then_some(2));
        let word = self.hart.bytes(pc, 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_le_bytes);
        let half = || self.hart.bytes(pc, 2).and_then(|bytes| bytes.try_into().ok()).map(u16::from_le_bytes);
        let word = word.or_else(|| half().map(u32::from));
        if let (Some(part), Some(word)) = (part, word) {
            self.counts[part].add(&Operation::decode(word, pc));
        }
    }
}

impl Bytes for Observed {
    fn bytes(&self, address: u64, length: usize) -> Option<&[u8]> {
        self.hart.bytes(address, length)
    }
}

impl Processor for Observed {
    fn run(&mut self, until: u64, events: &mut Vec<ProcessorEvent>) -> Result<(), Stopped> {
        loop {
            let (pc, before) = (self.hart.pc(0), self.executed());
            self.hart.run(self.hart.cycle(), events)?;
            if self.executed() > before {
                self.note(pc);
            }
            let ready = |event: &ProcessorEvent| {
                matches!(event, ProcessorEvent::Store(DeviceStore { offset, .. })
                    if ControllerRegister::at(*offset) == Some(ControllerRegister::Ready))
            };
            if events.iter().any(ready) {
                self.counts = [Classes::default(); 4];
            }
            if !events.is_empty() || self.hart.cycle() > until {
                return Ok(());
            }
        }
    }

    fn cycle(&self) -> u64 {
        self.hart.cycle()
    }

    fn transfer(&mut self, tag: u64, transfer: DmaTransfer<'_>) -> Result<(), OutsideMemory> {
        self.hart.transfer(tag, transfer)
    }

    fn pc(&self, hart: u32) -> u64 {
        self.hart.pc(hart)
    }

    fn is_idle(&self) -> bool {
        self.hart.is_idle()
    }

    fn counts(&self) -> ProcessorCounts {
        self.hart.counts()
    }
}
