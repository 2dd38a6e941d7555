// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Harts without timing: each executes one instruction in a cycle, and accesses take no time.
//!
//! Each hart keeps decoded instructions until its own fence.i, as a hardware instruction cache may. A program that
//! writes code and lacks the fence.i of a hart therefore fails here.

mod execute;

use mb_processor::Memory;
use mb_processor::rv64::{FloatStatus, Operation};

use crate::contract::HartStatus;
use crate::processor::{
    Bytes, DeviceStore, DmaTransfer, HartCounts, OutsideMemory, Processor, ProcessorCounts, ProcessorEvent, Stopped,
};
use crate::protection::Protection;

pub use crate::protection::HandlerRules;

/// Decoded instructions that a hart keeps; a power of two.
const DECODED: usize = 4096;

/// Bytes of a line whose accesses are followed.
const LINE: u64 = 64;

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
    /// Writes the result of an instruction to its destination, and continues at `next`.
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

    /// The protection, which observes the stores of harts.
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

    /// The output of the program to its console.
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
