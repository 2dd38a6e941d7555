// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The firmware of a receive engine on a network processor: operations in, answers out in order of time.
//!
//! Cycles count from the end of the boot, when all harts wait for the first packet.

use std::collections::VecDeque;

use mb_core::{Cycles, Op, ParameterError};
use mb_firmware::layout;
use mb_kit::Answered;
use mb_netproc::contract::{Application, Classifier, ClassifyIn, ControllerRegister, DEVICE, Idle, SpineConfig};
use mb_netproc::functional::HandlerRules;
use mb_netproc::processor::{DeviceStore, ProcessorEvent};
use mb_netproc::registers::ControllerRegisters;
use mb_netproc::{FunctionalHarts, LoadedProgram, Processor, Tables};
use mb_processor::chip::{CallHandler, Chip, ChipObserver, ChipStop, HartStatistics, Passage};
use mb_processor::shared_l2::{SharedL2, SharedL2Statistics};
use mb_processor::system::MemorySystem;
use mb_processor::{InstructionClass, Syscall, SyscallResult};

use crate::interface::Interface;
use crate::parameters::NetprocParts;

/// Bytes of a buffer: no frame is longer than 110.
const BUFFER_BYTES: u32 = 128;

/// Memory for a buffer with its record, at most.
const BUFFER_PITCH: u64 = 448;

/// Memory for tables that the firmware does not use.
const TABLES: u64 = 1 << 18;

/// Most cycles of the start.
const BOOT: u64 = 100_000_000;

/// Entries by which memory grows, at least.
const PIECE: u64 = 1024;

/// Loads of the fields of entries that each visit reads once, by one hart since its last report.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Loads {
    matches: u32,
    names: u32,
}

/// Counts visits of entries among the instructions that commit.
#[derive(Clone, Debug)]
struct Visits {
    /// The first entry.
    entries: u64,
    /// By hart.
    current: Vec<Loads>,
    /// Of the packets that were reported and not collected, by hart.
    reported: Vec<VecDeque<Loads>>,
}

/// Offsets of these fields in an entry.
const MATCHES: u64 = layout::visited(&Op::Probe {
    probe: mb_core::ProbeId(0),
    pattern: mb_core::Pattern { bits: 0, ignore: 0, initiator: None },
});
const NAMES: u64 = layout::visited(&Op::Cancel { recv: mb_core::RecvId(0) });

impl ChipObserver for Visits {
    #[inline]
    fn committed(&mut self, passage: &Passage, _: u64) {
        if passage.address < self.entries {
            return;
        }
        match passage.instruction.class {
            InstructionClass::Load if passage.address < DEVICE => {
                let loads = &mut self.current[passage.hart];
                match (passage.address - self.entries) % layout::BYTES {
                    MATCHES => loads.matches += 1,
                    NAMES => loads.names += 1,
                    _ => {}
                }
            }
            InstructionClass::Store
                if passage.address >= DEVICE
                    && ControllerRegister::at(passage.address - DEVICE) == Some(ControllerRegister::Complete) =>
            {
                let loads = std::mem::take(&mut self.current[passage.hart]);
                self.reported[passage.hart].push_back(loads);
            }
            _ => {}
        }
    }
}

/// The firmware makes no calls.
struct NoCalls;

impl CallHandler for NoCalls {
    fn call<M: MemorySystem>(&mut self, _: u64, call: Syscall, _: &mut M) -> SyscallResult {
        panic!("firmware: unexpected call {call:?}")
    }
}

/// A network processor whose firmware waits for operations.
#[derive(Clone, Debug)]
pub struct FirmwareProcessor {
    chip: Chip,
    interface: Interface,
    visits: Visits,
    /// Cycles of delivery of outstanding operations, from packet `first` on.
    starts: VecDeque<Option<Cycles>>,
    first: u64,
    operations: usize,
    /// Operations that were not answered.
    outstanding: usize,
    /// Entries for which there is memory.
    entries: u64,
    boot: u64,
}

impl FirmwareProcessor {
    /// Boots the firmware `file` with empty lists.
    ///
    /// # Errors
    /// No such processor or memory can be built.
    ///
    /// # Panics
    /// The firmware does not start.
    pub fn new(parameters: &NetprocParts, file: &[u8]) -> Result<Self, ParameterError> {
        let contradiction = |error: String| ParameterError::Contradiction(error);
        let chip = &parameters.chip;
        if !parameters.ring_slots.is_power_of_two() {
            let found = parameters.ring_slots;
            return Err(contradiction(format!("ring_slots is {found}; expected a power of two")));
        }
        if parameters.buffers <= parameters.ring_slots {
            let (buffers, slots) = (parameters.buffers, parameters.ring_slots);
            return Err(contradiction(format!("buffers is {buffers} and ring_slots {slots}; expected more buffers")));
        }
        let harts = chip.harts() as u32;
        let heap = u64::from(parameters.ring_slots) * 32 + u64::from(parameters.buffers) * BUFFER_PITCH + TABLES;
        let image = LoadedProgram::new(file, harts, &spine(parameters), &Tables::default(), heap)
            .map_err(|error| contradiction(format!("network processor: {error}")))?;
        let entries = image.memory().range().end;
        let Started { harts: started, stores } = start(&image);
        let mut cores = Chip::new(chip, image.program().entry())?;
        for hart in 0..harts {
            cores.set_pc(hart as usize, started.pc(hart));
            for index in 1..32 {
                cores.set_register(hart as usize, index, started.register(hart, index));
            }
        }
        let memory = SharedL2::new(&parameters.memory, started.into_memory(), ControllerRegisters::new(chip.contexts))?;
        let mut machine = Self {
            chip: cores,
            interface: Interface::new(memory),
            visits: Visits {
                entries,
                current: vec![Loads::default(); harts as usize],
                reported: vec![VecDeque::new(); harts as usize],
            },
            starts: VecDeque::new(),
            first: 0,
            operations: parameters.operations,
            outstanding: 0,
            entries: 0,
            boot: 0,
        };
        machine.interface.replay(&stores);
        // All harts wait again, and the interface has read its slots.
        while let Some(next) = machine.next_cycle() {
            assert!(next < BOOT, "all harts wait within {BOOT} cycles");
            machine.run(next + 1);
        }
        assert!(machine.interface.is_ready(), "the firmware starts");
        machine.boot = machine.chip.now();
        Ok(machine)
    }

    /// Runs the cycles of the chip before `until`, or to the end of a cycle with an answer.
    fn run(&mut self, until: u64) {
        match self.chip.run_observed(until, &mut self.interface, &mut NoCalls, &mut self.visits) {
            Ok(ChipStop::Until | ChipStop::Transfer) => {}
            Ok(stop) => panic!("the firmware never ends: {stop:?}"),
            Err(fault) => panic!("the firmware does not fault: {fault}"),
        }
    }

    fn next_cycle(&self) -> Option<u64> {
        let (core, memory) = (self.chip.next_event(), self.interface.next_event());
        core.into_iter().chain(memory).min().map(|cycle| cycle.max(self.chip.now()))
    }

    /// Runs every cycle before `until`; no effect if `until` has passed.
    ///
    /// # Panics
    /// The firmware faults.
    pub fn run_until(&mut self, until: Cycles) {
        let until = self.boot + until.0;
        while self.chip.now() < until {
            self.run(until);
        }
    }

    /// As [`run_until`](Self::run_until), but ends after the first cycle with an answer.
    ///
    /// # Panics
    /// As [`run_until`](Self::run_until).
    pub fn run_to_answer(&mut self, until: Cycles) {
        let until = self.boot + until.0;
        if self.chip.now() < until {
            self.interface.stop_at_answer(true);
            self.run(until);
            self.chip.transfers().clear();
            self.interface.stop_at_answer(false);
        }
    }

    /// Delivers `op` in cycle `at`, up to which all cycles have been run. Returns whether fewer operations than the
    /// limit are outstanding. The lists have at most `length` entries when all operations before are done.
    ///
    /// # Panics
    /// The lists exceed the addresses below the registers of the interface: about 4 million entries.
    pub fn deliver(&mut self, op: &Op, at: Cycles, length: usize) -> bool {
        if self.outstanding == self.operations {
            return false;
        }
        // Each outstanding operation changes the length by at most 1, and holds at most one entry more.
        self.provide((length + 2 * (self.outstanding + 1)) as u64);
        self.outstanding += 1;
        self.starts.push_back(Some(at));
        self.interface.deliver(op, self.boot + at.0);
        true
    }

    /// Provides memory for this many entries.
    fn provide(&mut self, entries: u64) {
        if entries <= self.entries {
            return;
        }
        let limit = (DEVICE - self.visits.entries) / layout::BYTES;
        assert!(entries <= limit, "firmware: {entries} entries; expected at most {limit}");
        let new = entries.max(self.entries * 2).max(PIECE).min(limit);
        self.interface.grow(((new - self.entries) * layout::BYTES) as usize);
        self.entries = new;
    }

    /// Removes and returns the oldest answer.
    ///
    /// # Panics
    /// The firmware reports a packet twice.
    pub fn answered(&mut self) -> Option<Answered> {
        let answer = self.interface.answered()?;
        let loads = self.visits.reported[answer.hart].pop_front().expect("a report has committed before it arrives");
        let visits = if layout::visited(&answer.op) == NAMES { loads.names } else { loads.matches };
        let start = self.starts[(answer.number - self.first) as usize].take().expect("an operation is answered once");
        while let Some(None) = self.starts.front() {
            self.starts.pop_front();
            self.first += 1;
        }
        self.outstanding -= 1;
        Some(Answered { outcome: answer.outcome, visits, start, at: Cycles(answer.cycle + 1 - self.boot) })
    }

    /// The cycle of the next event, if there is one without another delivery.
    #[must_use]
    pub fn next_event(&self) -> Option<Cycles> {
        self.next_cycle().map(|cycle| Cycles(cycle - self.boot))
    }

    /// Event counts of a hart, including the boot.
    #[must_use]
    pub fn statistics(&self, hart: usize) -> &HartStatistics {
        self.chip.statistics(hart)
    }

    /// Event counts of caches and buses, including the boot.
    #[must_use]
    pub fn memory_statistics(&self) -> SharedL2Statistics {
        self.interface.memory().statistics()
    }
}

/// Harts that have executed the start of the firmware, up to where all wait, and their stores to the interface.
struct Started {
    harts: FunctionalHarts,
    stores: Vec<DeviceStore>,
}

/// Executes the start of the firmware without timing.
fn start(image: &LoadedProgram) -> Started {
    let entry = image.program().entry();
    let mut harts = FunctionalHarts::new(image.memory().clone(), entry, image.harts(), HandlerRules::default());
    let (mut stores, mut events) = (Vec::new(), Vec::new());
    while !harts.is_idle() {
        assert!(harts.cycle() < BOOT, "the firmware starts within {BOOT} cycles");
        harts.run(BOOT, &mut events).unwrap_or_else(|stopped| panic!("the firmware does not fault: {stopped:?}"));
        stores.extend(events.drain(..).filter_map(|event| match event {
            ProcessorEvent::Store(store) => Some(store),
            ProcessorEvent::Transferred { .. } => None,
        }));
    }
    Started { harts, stores }
}

/// SPINE calls the user's handler for every packet, without classification.
const fn spine(parameters: &NetprocParts) -> SpineConfig {
    SpineConfig {
        classifier: Classifier::Hardware,
        classify_in: ClassifyIn::Worker,
        idle: Idle::Wait,
        os_idle: Idle::Wait,
        os: parameters.os,
        ring_slots: parameters.ring_slots,
        buffers: parameters.buffers,
        buffer_bytes: BUFFER_BYTES,
        default_application: Some(Application::User),
        flow_buckets: 1,
        flows: 1,
        des_keys: [0; 24],
        des_iv: [0; 8],
    }
}
