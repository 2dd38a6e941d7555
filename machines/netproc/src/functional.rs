// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Harts without timing: each executes one instruction in a cycle, and accesses take no time.
//!
//! Each hart keeps decoded instructions until its own fence.i, as a hardware instruction cache may. So a program that
//! writes code and lacks a fence.i of some hart fails here.

use mb_processor::rv64::{AtomicKind, Counter, Effect, FloatStatus, Operation, extend};
use mb_processor::{Fault, Memory, WriteError};

use crate::contract::{DEVICE, DEVICE_BYTES, HartStatus};
use crate::processor::{
    Bytes, DeviceStore, DmaTransfer, HartCounts, HartError, OutsideMemory, Processor, ProcessorCounts, ProcessorEvent,
    Stopped,
};
use crate::protection::Protection;

pub use crate::protection::HandlerRules;

/// Decoded instructions that a hart keeps; a power of two.
const DECODED: usize = 4096;

/// Bytes of a line whose accesses are followed.
const LINE: u64 = 64;

/// Number of the system call `write`, and of `exit` and `exit_group`.
const WRITE: u64 = 64;
const EXITS: [u64; 2] = [93, 94];

#[derive(Clone, Debug)]
struct Hart {
    pc: u64,
    /// General and floating-point registers.
    registers: [u64; 64],
    float_status: FloatStatus,
    instructions: u64,
    /// First byte of the granule that it has reserved.
    reservation: Option<u64>,
    decoded: Box<[Decoded; DECODED]>,
}

impl Hart {
    /// Writes the result of an instruction to its destination, and goes on at `next`.
    #[inline]
    const fn finish(&mut self, destination: u8, result: u64, next: u64) {
        self.registers[destination as usize % 64] = result;
        self.registers[0] = 0;
        self.pc = next;
        self.instructions += 1;
    }
}

/// A decoded instruction.
#[derive(Clone, Copy, Debug)]
struct Decoded {
    pc: u64,
    operation: Operation,
    sources: [u8; 3],
    destination: u8,
    bytes: u8,
}

impl Decoded {
    fn new(operation: Operation, pc: u64) -> Self {
        let bytes = operation.instruction().bytes;
        Self { pc, operation, sources: operation.sources(), destination: operation.destination(), bytes }
    }

    /// No instruction: addresses of instructions are even.
    fn none() -> Self {
        Self::new(Operation::decode(0, 0), 1)
    }
}

/// Harts without timing.
#[derive(Clone, Debug)]
pub struct FunctionalHarts {
    memory: Memory,
    harts: Vec<Hart>,
    /// Harts in wrs until their reservation is lost, as bits.
    waiting: u64,
    /// Harts with a reservation, as bits.
    reserved: u64,
    /// All harts, as bits.
    all: u64,
    cycle: u64,
    /// The hart that executes next, if an event interrupted a cycle.
    next: usize,
    protection: Protection,
    finished: Vec<u64>,
    /// Stores of the start, which are the first events.
    start: Vec<DeviceStore>,
    /// The last access to each line, if accesses are followed: its number, times 2, and 1 if the line was ever written.
    touched: Vec<u64>,
    accesses: u64,
    /// Hart 0 stops before it executes the instruction at this address.
    stop: Option<u64>,
    console: Vec<u8>,
}

impl FunctionalHarts {
    /// `harts` harts (1 to 64) at `entry` with their numbers in a0 and their count in a1.
    #[must_use]
    pub fn new(memory: Memory, entry: u64, harts: u32, rules: HandlerRules) -> Self {
        let hart = |number: u32| {
            let mut registers = [0; 64];
            registers[10] = number.into();
            registers[11] = harts.into();
            let decoded = vec![Decoded::none(); DECODED].try_into();
            Hart {
                pc: entry,
                registers,
                float_status: FloatStatus::default(),
                instructions: 0,
                reservation: None,
                decoded: decoded.unwrap_or_else(|_| unreachable!("a vector of this length")),
            }
        };
        Self {
            memory,
            harts: (0..harts).map(hart).collect(),
            waiting: 0,
            reserved: 0,
            all: u64::MAX >> (u64::BITS - harts),
            cycle: 0,
            next: 0,
            protection: Protection::new(rules, harts),
            finished: Vec::new(),
            start: Vec::new(),
            touched: Vec::new(),
            accesses: 0,
            stop: None,
            console: Vec::new(),
        }
    }

    /// General register `index` (0 to 31) of a hart.
    #[must_use]
    pub fn register(&self, hart: u32, index: usize) -> u64 {
        self.harts[hart as usize].registers[index]
    }

    /// The number of harts.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.harts.len()
    }

    /// Instructions that a hart has executed.
    #[must_use]
    pub fn instructions(&self, hart: u32) -> u64 {
        self.harts[hart as usize].instructions
    }

    /// The memory, at the end of a run.
    #[must_use]
    pub fn into_memory(self) -> Memory {
        self.memory
    }

    /// Lets hart 0 stop before it executes the instruction at `pc`, or at none. A run ends there.
    pub(crate) const fn stop_at(&mut self, pc: Option<u64>) {
        self.stop = pc;
    }

    /// Follows accesses from here on.
    pub(crate) fn follow_accesses(&mut self) {
        let range = self.memory.range();
        self.touched = vec![0; ((range.end - range.start) / LINE + 1) as usize];
    }

    /// The lines that were accessed while accesses were followed, the last access last: address, and whether the line
    /// was written.
    pub(crate) fn touched(&self) -> Vec<(u64, bool)> {
        let base = self.memory.range().start;
        let lines = self.touched.iter().zip(0..).filter(|(last, _)| **last > 1);
        let mut lines: Vec<(u64, u64)> = lines.map(|(last, index)| (*last, base + index * LINE)).collect();
        lines.sort_unstable();
        lines.into_iter().map(|(last, address)| (address, last % 2 == 1)).collect()
    }

    #[inline]
    fn touch(&mut self, address: u64, writes: bool) {
        if self.touched.is_empty() {
            return;
        }
        let index = address.wrapping_sub(self.memory.range().start) / LINE;
        if let Some(last) = self.touched.get_mut(index as usize) {
            self.accesses += 1;
            *last = self.accesses << 1 | *last & 1 | u64::from(writes);
        }
    }

    /// What follows the stores of harts.
    pub(crate) const fn protection(&mut self) -> &mut Protection {
        &mut self.protection
    }

    /// Counts cycles and instructions from here on. `stores` are the first events of the next run.
    pub(crate) fn restart(&mut self, stores: Vec<DeviceStore>) {
        self.start = stores;
        self.cycle = 0;
        for hart in &mut self.harts {
            hart.instructions = 0;
        }
    }

    /// Memory, protection and first events, for harts of another kind.
    pub(crate) fn into_parts(self) -> (Memory, Protection, Vec<DeviceStore>) {
        (self.memory, self.protection, self.start)
    }

    /// What the program wrote to its console.
    #[must_use]
    pub fn console(&self) -> &[u8] {
        &self.console
    }

    /// The next hart that executes an instruction in this cycle.
    #[inline]
    const fn next_running(&self) -> Option<usize> {
        // No hart has number 64.
        let from = if self.next < u64::BITS as usize { u64::MAX << self.next } else { 0 };
        let running = self.all & !self.waiting & from;
        if running == 0 { None } else { Some(running.trailing_zeros() as usize) }
    }

    /// Executes an instruction; returns its store, if it is to the controller.
    #[expect(clippy::inline_always, reason = "a call costs as much as most instructions")]
    #[inline(always)]
    fn step(&mut self, number: usize) -> Result<Option<DeviceStore>, HartError> {
        let hart = &mut self.harts[number];
        let pc = hart.pc;
        let place = (pc / 2) as usize % DECODED;
        if hart.decoded[place].pc != pc {
            hart.decoded[place] = Decoded::new(decode(&self.memory, pc).map_err(HartError::Fault)?, pc);
            self.touch(pc, false);
        }
        let hart = &mut self.harts[number];
        let Decoded { operation, sources, destination, bytes, .. } = &hart.decoded[place];
        let register = |source: u8| hart.registers[usize::from(source % 64)];
        let operands = [register(sources[0]), register(sources[1]), register(sources[2])];
        let (destination, next) = (*destination, pc.wrapping_add((*bytes).into()));
        // Most instructions change nothing but their hart.
        let effect = match operation.evaluate(pc, operands, hart.float_status.rounding) {
            Effect::Value(value) => {
                hart.finish(destination, value, next);
                return Ok(None);
            }
            Effect::Branch { next: target, link, .. } => {
                hart.finish(destination, link, target);
                return Ok(None);
            }
            Effect::Load { address, width, extension } if !is_device(address) => {
                let value = load(&self.memory, pc, address, width).map_err(HartError::Fault)?;
                hart.finish(destination, extension.extend(value, width), next);
                self.touch(address, false);
                return Ok(None);
            }
            effect => effect,
        };
        let (event, result) = self.perform(number, pc, effect)?;
        self.harts[number].finish(destination, result, next);
        Ok(event)
    }

    /// Performs the effect of an instruction that is neither a value nor a branch nor a load from memory; returns its
    /// store, if it is to the controller, and its result.
    #[inline(never)]
    fn perform(&mut self, number: usize, pc: u64, effect: Effect) -> Result<(Option<DeviceStore>, u64), HartError> {
        let hart = &mut self.harts[number];
        let mut result = 0;
        let mut event = None;
        match effect {
            Effect::Value(_) | Effect::Branch { .. } => unreachable!("performed by the caller"),
            Effect::Float { value, flags } => {
                result = value;
                hart.float_status.flags |= flags;
            }
            Effect::Load { address, .. } => return Err(HartError::DeviceLoad { pc, address }),
            Effect::Store { address, width, value } if is_device(address) => {
                self.check(number, pc, address, width)?;
                let offset = address - DEVICE;
                event = Some(DeviceStore { cycle: self.cycle, hart: number as u32, pc, offset, width, value });
            }
            Effect::Store { address, width, value } => {
                self.check(number, pc, address, width)?;
                self.store(number, pc, address, width, value)?;
                self.protection.stored(address, width, value);
                self.touch(address, true);
            }
            Effect::Atomic { address, width, kind, operand } => {
                result = self.atomic(number, pc, address, width, kind, operand)?;
                self.touch(address, kind != AtomicKind::LoadReserved);
            }
            Effect::Fence(_) | Effect::Pause => {}
            Effect::FenceInstruction => hart.decoded.fill(Decoded::none()),
            Effect::WaitOnReservation { short } => {
                self.waiting |= u64::from(!short && hart.reservation.is_some()) << number;
            }
            Effect::Csr(access) => {
                let value = match access.counter() {
                    Some(Counter::Cycle | Counter::Time) => Some(self.cycle),
                    Some(Counter::Retired) => Some(hart.instructions),
                    None => hart.float_status.access(&access),
                };
                result = value.ok_or(HartError::Fault(Fault::Illegal { pc, word: access.word }))?;
            }
            Effect::Call => result = self.call(number, pc)?,
            Effect::Illegal(word) => return Err(HartError::Fault(Fault::Illegal { pc, word })),
        }
        Ok((event, result))
    }

    /// Whether the handler may write there.
    fn check(&self, number: usize, pc: u64, address: u64, width: u8) -> Result<(), HartError> {
        match self.protection.refuses(number as u32, pc, address, width) {
            None => Ok(()),
            Some(target) => Err(HartError::ForeignStore { pc, address, width, target }),
        }
    }

    fn store(&mut self, number: usize, pc: u64, address: u64, width: u8, value: u64) -> Result<(), HartError> {
        let bytes = value.to_le_bytes();
        // Constant lengths are copied without a call.
        let written = match width {
            1 => self.memory.write(address, &bytes[..1]),
            2 => self.memory.write(address, &bytes[..2]),
            4 => self.memory.write(address, &bytes[..4]),
            _ => self.memory.write(address, &bytes),
        };
        written.map_err(|denied| {
            HartError::Fault(match denied {
                WriteError::OutOfRange => Fault::Access { pc, address, bytes: width },
                WriteError::Code => Fault::Code { pc, address },
            })
        })?;
        self.written(address, width.into(), Some(number));
        Ok(())
    }

    /// Ends the reservations of other harts than `writer` on granules that were written.
    fn written(&mut self, address: u64, length: u64, writer: Option<usize>) {
        if self.reserved == 0 {
            return;
        }
        let touched = granule(address)..=granule(address + length.max(1) - 1);
        for (number, hart) in self.harts.iter_mut().enumerate() {
            if Some(number) != writer && hart.reservation.is_some_and(|held| touched.contains(&held)) {
                hart.reservation = None;
                self.reserved &= !(1 << number);
                self.waiting &= !(1 << number);
            }
        }
    }

    fn atomic(
        &mut self,
        number: usize,
        pc: u64,
        address: u64,
        width: u8,
        kind: AtomicKind,
        operand: u64,
    ) -> Result<u64, HartError> {
        if !address.is_multiple_of(width.into()) {
            return Err(HartError::Fault(Fault::Access { pc, address, bytes: width }));
        }
        if kind != AtomicKind::LoadReserved {
            self.check(number, pc, address, width)?;
        }
        let old = extend(load(&self.memory, pc, address, width).map_err(HartError::Fault)?, width, true);
        match kind {
            AtomicKind::LoadReserved => {
                self.harts[number].reservation = Some(granule(address));
                self.reserved |= 1 << number;
                Ok(old)
            }
            AtomicKind::StoreConditional => {
                let held = self.harts[number].reservation.take() == Some(granule(address));
                self.reserved &= !(1 << number);
                if held {
                    self.store(number, pc, address, width, operand)?;
                }
                Ok(u64::from(!held))
            }
            _ => {
                self.store(number, pc, address, width, kind.combine(old, operand))?;
                Ok(old)
            }
        }
    }

    /// `write` to the console and `exit`; nothing else exists on a bare machine.
    fn call(&mut self, number: usize, pc: u64) -> Result<u64, HartError> {
        let registers = &self.harts[number].registers;
        match registers[17] {
            WRITE => {
                let (address, length) = (registers[11], registers[12]);
                let bytes = usize::try_from(length).ok().and_then(|length| self.memory.get(address, length));
                let bytes = bytes.ok_or(HartError::Fault(Fault::Access { pc, address, bytes: 1 }))?;
                self.console.extend_from_slice(bytes);
                Ok(length)
            }
            call if EXITS.contains(&call) => Err(HartError::Exit { pc, status: registers[10] }),
            call => Err(HartError::Call { pc, number: call }),
        }
    }
}

impl FunctionalHarts {
    /// Executes cycles in which one hart runs: up to its store to the controller, which interrupts a cycle, the
    /// instruction at which hart 0 stops, the end of the cycle `until`, or the end of another hart's wait.
    fn run_one(&mut self, number: usize, until: u64, events: &mut Vec<ProcessorEvent>) -> Result<(), Stopped> {
        let waiting = self.waiting;
        while self.cycle <= until && self.waiting == waiting {
            if number == 0 && self.stop == Some(self.harts[0].pc) {
                break;
            }
            match self.step(number) {
                Ok(None) => self.cycle += 1,
                Ok(Some(store)) => {
                    self.next = number + 1;
                    events.push(ProcessorEvent::Store(store));
                    break;
                }
                Err(error) => {
                    self.next = number + 1;
                    return Err(Stopped { hart: number as u32, error });
                }
            }
        }
        Ok(())
    }
}

impl Bytes for FunctionalHarts {
    fn bytes(&self, address: u64, length: usize) -> Option<&[u8]> {
        self.memory.get(address, length)
    }
}

impl Processor for FunctionalHarts {
    fn run(&mut self, until: u64, events: &mut Vec<ProcessorEvent>) -> Result<(), Stopped> {
        if !self.start.is_empty() {
            events.extend(self.start.drain(..).map(ProcessorEvent::Store));
            return Ok(());
        }
        loop {
            if self.next == 0 {
                let cycle = self.cycle;
                if !self.finished.is_empty() {
                    events.extend(self.finished.drain(..).map(|tag| ProcessorEvent::Transferred { cycle, tag }));
                }
                if !events.is_empty() || cycle > until {
                    return Ok(());
                }
                if self.waiting == self.all {
                    // Nothing happens before the controller acts.
                    self.cycle = until + 1;
                    return Ok(());
                }
                let running = self.all & !self.waiting;
                if running.is_power_of_two() {
                    self.run_one(running.trailing_zeros() as usize, until, events)?;
                    if self.next != 0 || self.cycle <= until && self.all & !self.waiting == running {
                        // A store, or the instruction at which hart 0 stops.
                        return Ok(());
                    }
                    continue;
                }
            }
            while let Some(number) = self.next_running() {
                if number == 0 && self.stop == Some(self.harts[0].pc) {
                    return Ok(());
                }
                self.next = number + 1;
                match self.step(number) {
                    Ok(None) => {}
                    Ok(Some(store)) => {
                        events.push(ProcessorEvent::Store(store));
                        return Ok(());
                    }
                    Err(error) => return Err(Stopped { hart: number as u32, error }),
                }
            }
            self.next = 0;
            self.cycle += 1;
        }
    }

    fn cycle(&self) -> u64 {
        self.cycle
    }

    fn transfer(&mut self, tag: u64, transfer: DmaTransfer<'_>) -> Result<(), OutsideMemory> {
        match transfer {
            DmaTransfer::Write { address, bytes } => {
                self.memory.write(address, bytes).map_err(|_| OutsideMemory)?;
                self.written(address, bytes.len() as u64, None);
            }
            DmaTransfer::Read { address, length } => {
                self.memory.get(address, length as usize).ok_or(OutsideMemory)?;
            }
        }
        self.finished.push(tag);
        Ok(())
    }

    fn pc(&self, hart: u32) -> u64 {
        self.harts[hart as usize].pc
    }

    fn status(&self, hart: u32) -> Option<HartStatus> {
        self.protection.status(hart)
    }

    fn is_idle(&self) -> bool {
        self.start.is_empty() && self.finished.is_empty() && self.waiting == self.all
    }

    fn counts(&self) -> ProcessorCounts {
        let count = |hart: &Hart| HartCounts { instructions: hart.instructions, used: hart.instructions, squashed: 0 };
        let slots = |hart: &Hart| vec![self.cycle.saturating_sub(hart.instructions)];
        ProcessorCounts {
            harts: self.harts.iter().map(count).collect(),
            causes: vec!["waiting"],
            lost: self.harts.iter().map(slots).collect(),
            memory: Vec::new(),
        }
    }
}

fn is_device(address: u64) -> bool {
    (DEVICE..DEVICE + DEVICE_BYTES).contains(&address)
}

/// The first byte of the reservation granule of `address`.
const fn granule(address: u64) -> u64 {
    address & !(Memory::RESERVATION_GRANULE - 1)
}

/// The instruction at `pc`; one of two bytes may be the last of memory.
fn decode(memory: &Memory, pc: u64) -> Result<Operation, Fault> {
    let outside = Fault::Access { pc, address: pc, bytes: 2 };
    let word = match (memory.read::<4>(pc), memory.read::<2>(pc)) {
        (Some(bytes), _) => u32::from_le_bytes(bytes),
        (None, Some(bytes)) => u16::from_le_bytes(bytes).into(),
        (None, None) => return Err(outside),
    };
    Ok(Operation::decode(word, pc))
}

fn load(memory: &Memory, pc: u64, address: u64, width: u8) -> Result<u64, Fault> {
    // Without a jump for each width, unless the end of memory is near.
    if let Some(bytes) = memory.read(address) {
        return Ok(extend(u64::from_le_bytes(bytes), width, false));
    }
    let value = match width {
        1 => memory.read(address).map(|bytes| u8::from_le_bytes(bytes).into()),
        2 => memory.read(address).map(|bytes| u16::from_le_bytes(bytes).into()),
        4 => memory.read(address).map(|bytes| u32::from_le_bytes(bytes).into()),
        _ => memory.read(address).map(u64::from_le_bytes),
    };
    value.ok_or(Fault::Access { pc, address, bytes: width })
}
