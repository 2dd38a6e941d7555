// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The processor cycle by cycle: a chip above private L1 caches and a shared L2.
//!
//! The chip pauses at the end of a cycle in which a store reaches the controller or a transfer completes.

use mb_core::ParameterError;
use mb_processor::chip::{CallHandler, Chip, ChipConfig, ChipFault, ChipStop, HartStatistics, IssueStall};
use mb_processor::shared_l2::{L1Statistics, SharedL2, SharedL2Config};
use mb_processor::system::{
    AddressKind, CompletedKind, CompletedRequest, FetchAnswer, MemoryAnswer, MemoryRequest, MemorySystem,
};
use mb_processor::{Service, Syscall, SyscallResult};

use crate::contract::HartStatus;
use crate::processor::{
    Bytes, DeviceStore, DmaTransfer, HartCounts, HartError, NamedCount, OutsideMemory, Processor, ProcessorCounts,
    ProcessorEvent, Stopped,
};
use crate::registers::ControllerRegisters;
use crate::start::Started;
use crate::watch::{Observed, PassageObserver, Watch};

/// The tag of a completion that pauses the chip, as something has reached the controller.
const REACHED: u32 = u32::MAX;

/// Caches and memory. A cycle in which something reaches the controller ends with a completion.
#[derive(Debug)]
struct Board {
    memory: SharedL2<ControllerRegisters>,
}

impl MemorySystem for Board {
    #[inline]
    fn fetch(&mut self, cycle: u64, core: usize, context: u8, address: u64) -> FetchAnswer {
        self.memory.fetch(cycle, core, context, address)
    }

    #[inline]
    fn fetch_at_once(&mut self, cycle: u64, core: usize, address: u64) -> Option<(u64, u32)> {
        self.memory.fetch_at_once(cycle, core, address)
    }

    #[inline]
    fn code(&self, core: usize, address: u64) -> Option<u16> {
        self.memory.code(core, address)
    }

    #[inline]
    fn request(&mut self, cycle: u64, request: MemoryRequest) -> MemoryAnswer {
        self.memory.request(cycle, request)
    }

    #[expect(clippy::inline_always, reason = "a call costs half as much as the load")]
    #[inline(always)]
    fn load_at_once(&mut self, cycle: u64, core: usize, context: u8, address: u64, width: u8) -> Option<(u64, u64)> {
        self.memory.load_at_once(cycle, core, context, address, width)
    }

    #[inline]
    fn advance(&mut self, cycle: u64, completed: &mut Vec<CompletedRequest>) {
        self.memory.advance(cycle, completed);
        if !self.memory.device().is_idle() {
            let source = CompletedKind::Dma;
            completed.push(CompletedRequest { source, core: 0, context: 0, tag: REACHED, at: cycle, value: 0 });
        }
    }

    #[inline]
    fn next_event(&self) -> Option<u64> {
        self.memory.next_event()
    }

    #[inline]
    fn drained(&self, core: usize, context: u8) -> bool {
        self.memory.drained(core, context)
    }

    #[inline]
    fn reserved(&self, core: usize, context: u8) -> bool {
        self.memory.reserved(core, context)
    }

    fn invalidate_instructions(&mut self, core: usize) {
        self.memory.invalidate_instructions(core);
    }

    #[inline]
    fn region(&self, address: u64, width: u8) -> AddressKind {
        self.memory.region(address, width)
    }

    fn bytes(&self, address: u64, length: usize) -> Option<&[u8]> {
        self.memory.bytes(address, length)
    }
}

/// Console and errors of system calls.
#[derive(Clone, Debug, Default)]
struct Calls {
    console: Vec<u8>,
    /// A call that does not exist: hart and number.
    unknown: Option<(u32, u64)>,
}

impl CallHandler for Calls {
    fn call<M: MemorySystem>(&mut self, _: u64, call: Syscall, memory: &mut M) -> SyscallResult {
        match call.service {
            Service::Exit => SyscallResult::Exit(call.arguments[0]),
            Service::Write => {
                let [_, address, length, ..] = call.arguments;
                match usize::try_from(length).ok().and_then(|length| memory.bytes(address, length)) {
                    Some(bytes) => {
                        self.console.extend_from_slice(bytes);
                        SyscallResult::Value(length)
                    }
                    // EFAULT.
                    None => SyscallResult::Value(-14_i64 as u64),
                }
            }
            Service::Custom(number) => self.refuse(call.thread, Service::CUSTOM + u64::from(number)),
            Service::Unknown(number) => self.refuse(call.thread, number),
        }
    }
}

impl Calls {
    fn refuse(&mut self, hart: u32, number: u64) -> SyscallResult {
        self.unknown.get_or_insert((hart, number));
        SyscallResult::Wait
    }
}

/// A chip with its caches and memory.
pub struct TimedChip<'a> {
    chip: Chip,
    board: Board,
    calls: Calls,
    watch: Watch,
    observer: Option<&'a mut dyn PassageObserver>,
    /// Stores of the start, which are the first events.
    start: Vec<DeviceStore>,
}

impl<'a> TimedChip<'a> {
    /// A chip in cycle 0 whose harts continue where those of `started` are. Its instructions are shown to `observer`.
    ///
    /// # Errors
    /// An invalid configuration, or another number of harts.
    pub fn new(
        chip: &ChipConfig,
        caches: &SharedL2Config,
        started: Started,
        observer: Option<&'a mut dyn PassageObserver>,
    ) -> Result<Self, ParameterError> {
        let registers = ControllerRegisters::new(chip.contexts);
        let mut cores = Chip::new(chip, 0)?;
        let (harts, found) = (chip.harts(), started.harts.count());
        if harts != found {
            let text = format!("{found} harts have started; expected {harts}, those of the chip");
            return Err(ParameterError::Contradiction(text));
        }
        for hart in 0..harts {
            cores.set_pc(hart, started.harts.pc(hart as u32));
            for index in 1..32 {
                cores.set_register(hart, index, started.harts.register(hart as u32, index));
            }
        }
        let touched = started.harts.touched();
        let (memory, protection, start) = started.harts.into_parts();
        let mut memory = SharedL2::new(caches, memory, registers)?;
        for (address, written) in touched {
            memory.warm(address, written);
        }
        Ok(Self {
            chip: cores,
            board: Board { memory },
            calls: Calls::default(),
            watch: Watch::new(protection, harts),
            observer,
            start,
        })
    }

    /// Gives memory its own clock: `memory` cycles of it take as long as `processor` cycles of the cores.
    ///
    /// # Panics
    /// A number is 0.
    #[must_use]
    pub fn with_memory_clock(mut self, processor: u64, memory: u64) -> Self {
        self.board.memory = self.board.memory.with_memory_clock(processor, memory);
        self
    }

    /// The cores.
    #[must_use]
    pub const fn chip(&self) -> &Chip {
        &self.chip
    }

    /// Violations of the rules for harts, found since the last run.
    fn broken_rule(&self) -> Option<Stopped> {
        let load = self.board.memory.device().load().map(|(hart, address)| {
            let pc = self.chip.pc(hart as usize);
            Stopped { hart, error: HartError::DeviceLoad { pc, address } }
        });
        let call = || {
            let (hart, number) = self.calls.unknown?;
            Some(Stopped { hart, error: HartError::Call { pc: self.chip.pc(hart as usize), number } })
        };
        load.or_else(call)
    }
}

impl Bytes for TimedChip<'_> {
    fn bytes(&self, address: u64, length: usize) -> Option<&[u8]> {
        self.board.bytes(address, length)
    }
}

impl Processor for TimedChip<'_> {
    fn run(&mut self, until: u64, events: &mut Vec<ProcessorEvent>) -> Result<(), Stopped> {
        events.extend(self.start.drain(..).map(ProcessorEvent::Store));
        while events.is_empty() && self.chip.now() <= until {
            let end = until.saturating_add(1);
            let (board, calls, watch) = (&mut self.board, &mut self.calls, &mut self.watch);
            let stop = match self.observer.as_deref_mut() {
                None => self.chip.run_observed(end, board, calls, watch),
                Some(observer) => self.chip.run_observed(end, board, calls, &mut Observed { watch, observer }),
            };
            for store in self.board.memory.device_mut().take_stores() {
                let pc = self.watch.arrived(store.hart).expect("a store commits before it reaches the controller");
                events.push(ProcessorEvent::Store(DeviceStore { pc, ..store }));
            }
            for done in self.chip.transfers().into_iter().filter(|done| done.tag != REACHED) {
                // The bytes are read from memory when they are needed.
                self.board.memory.take_read(done.tag);
                events.push(ProcessorEvent::Transferred { cycle: done.at, tag: done.tag.into() });
            }
            let stop = stop.map_err(|ChipFault { hart, fault, .. }| {
                let fault = HartError::Fault(fault);
                let error = self.watch.refused(hart, fault.pc()).unwrap_or(fault);
                Stopped { hart: hart as u32, error }
            })?;
            if let Some(stopped) = self.broken_rule() {
                return Err(stopped);
            }
            if let ChipStop::Exited { hart, status } = stop {
                let pc = self.chip.pc(hart);
                return Err(Stopped { hart: hart as u32, error: HartError::Exit { pc, status } });
            }
        }
        Ok(())
    }

    fn cycle(&self) -> u64 {
        self.chip.now()
    }

    fn transfer(&mut self, tag: u64, transfer: DmaTransfer<'_>) -> Result<(), OutsideMemory> {
        let (now, tag) = (self.chip.now(), tag as u32);
        let started = match transfer {
            DmaTransfer::Write { address, bytes } => self.board.memory.dma_write(now, tag, address, bytes),
            DmaTransfer::Read { address, length } => self.board.memory.dma_read(now, tag, address, length as usize),
        };
        if started { Ok(()) } else { Err(OutsideMemory) }
    }

    fn pc(&self, hart: u32) -> u64 {
        self.chip.pc(hart as usize)
    }

    fn status(&self, hart: u32) -> Option<HartStatus> {
        self.watch.protection.status(hart)
    }

    fn is_idle(&self) -> bool {
        self.start.is_empty() && self.chip.next_event().is_none() && self.board.next_event().is_none()
    }

    fn counts(&self) -> ProcessorCounts {
        let harts: Vec<&HartStatistics> =
            (0..self.chip.config().harts()).map(|hart| self.chip.statistics(hart)).collect();
        let count = |hart: &&HartStatistics| HartCounts {
            instructions: hart.committed,
            used: hart.used,
            squashed: hart.used_squashed,
        };
        ProcessorCounts {
            harts: harts.iter().map(count).collect(),
            causes: CAUSES.to_vec(),
            lost: harts.iter().map(|hart| hart.empty.to_vec()).collect(),
            memory: self.memory_counts(&harts),
        }
    }
}

/// Names of [`IssueStall::ALL`].
const CAUSES: [&str; IssueStall::ALL.len()] = [
    "waiting",
    "dependences",
    "memory",
    "queue full",
    "no register",
    "window full",
    "instruction cache",
    "branch",
    "serial",
    "fetch",
    "halted",
];

impl TimedChip<'_> {
    fn memory_counts(&self, harts: &[&HartStatistics]) -> Vec<NamedCount> {
        let statistics = self.board.memory.statistics();
        let sum = |caches: &[L1Statistics], of: fn(&L1Statistics) -> u64| caches.iter().map(of).sum::<u64>();
        let all = |of: fn(&HartStatistics) -> u64| harts.iter().map(|hart| of(hart)).sum::<u64>();
        let (instruction, data) = (&statistics.instruction, &statistics.data);
        [
            ("branches", all(|hart| hart.branches)),
            ("mispredicted", all(|hart| hart.mispredicted)),
            ("misfetched", all(|hart| hart.misfetched)),
            ("l1i hits", sum(instruction, |cache| cache.hits)),
            ("l1i misses", sum(instruction, |cache| cache.misses)),
            ("l1d hits", sum(data, |cache| cache.hits)),
            ("l1d misses", sum(data, |cache| cache.misses + cache.merged)),
            ("l1d forwarded", sum(data, |cache| cache.forwarded)),
            ("l1d stores", sum(data, |cache| cache.stores)),
            ("l1d invalidated", sum(data, |cache| cache.invalidated)),
            ("l1d invalidated by DMA", sum(data, |cache| cache.invalidated_by_dma)),
            ("l1d bank conflicts", sum(data, |cache| cache.bank_conflicts)),
            ("l2 hits", statistics.l2.hits),
            ("l2 misses", statistics.l2.misses + statistics.l2.merged),
            ("l2 write-backs", statistics.l2.write_backs),
            ("l1-l2 bus busy cycles", statistics.bus.busy()),
            ("l1-l2 bus: requests", statistics.bus.requests),
            ("l1-l2 bus: lines", statistics.bus.lines),
            ("l1-l2 bus: stores", statistics.bus.stores),
            ("l1-l2 bus: atomics", statistics.bus.atomics),
            ("l1-l2 bus: devices", statistics.bus.devices),
            ("memory bus busy cycles", statistics.memory.busy()),
            ("memory bus: fills", statistics.memory.fills),
            ("memory bus: write-backs", statistics.memory.write_backs),
            ("memory bus: DMA", statistics.memory.dma_writes + statistics.memory.dma_reads),
        ]
        .into_iter()
        .map(|(name, value)| NamedCount { name: name.to_owned(), value })
        .collect()
    }
}
