// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Harts that execute one instruction at a step, without timing. Each has an instruction cache that
//! only its own fence.i empties, so a missing fence.i is found.

use std::ops::Range;
use std::sync::OnceLock;

use mb_netproc::spine::Spine;
use mb_processor::rv64::{AtomicKind, Effect, Operation, Rounding, extend};
use mb_processor::{InstructionClass, Memory, Program};

use crate::contract::phase;

/// First address of the controller's registers.
const DEVICE: Range<u64> = 0x1000_0000..0x1000_1000;

/// Executed instructions by class.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Counts {
    /// Loads, stores and atomics.
    pub(crate) memory: u64,
    /// Branches and jumps.
    pub(crate) control: u64,
    pub(crate) other: u64,
}

impl Counts {
    pub(crate) fn total(self) -> u64 {
        self.memory + self.control + self.other
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.memory += other.memory;
        self.control += other.control;
        self.other += other.other;
    }

    fn count(&mut self, operation: &Operation) {
        let instruction = operation.instruction();
        match instruction.class {
            InstructionClass::Load | InstructionClass::Store | InstructionClass::Atomic => self.memory += 1,
            _ if instruction.branch != mb_processor::BranchKind::None => self.control += 1,
            _ => self.other += 1,
        }
    }
}

/// The result of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    Executed,
    /// The hart waits for the loss of its reservation.
    Waits,
    /// A store to a register of the controller.
    Device {
        offset: u64,
        value: u64,
    },
    /// The instruction at `pc` cannot be executed.
    Fault {
        pc: u64,
        address: u64,
    },
}

/// A hart.
#[derive(Clone, Debug)]
pub(crate) struct Hart {
    number: usize,
    pub(crate) pc: u64,
    registers: [u64; 64],
    text: &'static [Operation],
    text_range: Range<u64>,
    /// Instructions that the hart has fetched from writable memory since its first fence.i, by address. Before that, it
    /// has fetched all of it as it was at the start, before the program writes code there.
    cache: Option<Vec<Option<Operation>>>,
    cache_range: Range<u64>,
    /// The granule of its reservation.
    reservation: Option<u64>,
    waits: bool,
    pub(crate) phase: usize,
    status: u64,
    /// By phase.
    pub(crate) counts: [Counts; phase::COUNT],
}

/// The decoded instructions of a program, which is loaded at the same addresses in every machine.
fn text(spine: Spine, program: &Program) -> &'static [Operation] {
    static TEXTS: [OnceLock<Vec<Operation>>; Spine::ALL.len()] = [const { OnceLock::new() }; Spine::ALL.len()];
    TEXTS[spine as usize].get_or_init(|| {
        let memory = program.memory(0);
        let decode = |pc| Operation::decode(word_at(&memory, pc).unwrap_or(0), pc);
        program.code().step_by(2).map(decode).collect()
    })
}

/// All harts of a program.
pub(crate) fn harts(spine: Spine, program: &Program, count: u32) -> Vec<Hart> {
    let text_range = program.code();
    let text = text(spine, program);
    let code = program.symbol("np_code").expect("np_code");
    let status = program.symbol("np_status").expect("np_status").address;
    let hart = |number: u32| {
        let mut registers = [0; 64];
        registers[10] = number.into();
        registers[11] = count.into();
        Hart {
            number: number as usize,
            pc: program.entry(),
            registers,
            text,
            text_range: text_range.clone(),
            cache: None,
            cache_range: code.address..code.address + code.bytes,
            reservation: None,
            waits: false,
            phase: phase::START,
            status: status + 64 * u64::from(number),
            counts: [Counts::default(); phase::COUNT],
        }
    };
    (0..count).map(hart).collect()
}

fn word_at(memory: &Memory, pc: u64) -> Option<u32> {
    let low = u16::from_le_bytes(memory.read(pc)?);
    let high = memory.read(pc + 2).map_or(0, u16::from_le_bytes);
    Some(u32::from(high) << 16 | u32::from(low))
}

fn granule(address: u64) -> u64 {
    address / 64
}

/// Ends the reservations of all harts but `except` on the bytes, after a write.
pub(crate) fn written(harts: &mut [Hart], except: Option<usize>, address: u64, length: u64) {
    let touched = granule(address)..=granule(address + length.max(1) - 1);
    for (number, hart) in harts.iter_mut().enumerate() {
        if Some(number) != except && hart.reservation.is_some_and(|held| touched.contains(&held)) {
            hart.reservation = None;
        }
    }
}

/// Executes the next instruction of a hart.
pub(crate) fn step(harts: &mut [Hart], number: usize, memory: &mut Memory) -> Event {
    let hart = &mut harts[number];
    if hart.waits {
        if hart.reservation.is_some() {
            return Event::Waits;
        }
        hart.waits = false;
    }
    let pc = hart.pc;
    let Some(operation) = hart.fetch(memory) else { return Event::Fault { pc, address: pc } };
    let operands = operation.sources().map(|register| hart.registers[usize::from(register)]);
    let mut next = pc + u64::from(operation.instruction().bytes);
    let mut result = 0;
    let mut event = Event::Executed;
    let mut store = None;
    match operation.evaluate(pc, operands, Rounding::NearestEven) {
        Effect::Value(value) => result = value,
        Effect::Branch { next: target, link, .. } => (next, result) = (target, link),
        Effect::Load { address, width, extension } => match load(memory, address, width) {
            Some(value) => result = extension.extend(value, width),
            None => return Event::Fault { pc, address },
        },
        Effect::Store { address, width: 8, value } if DEVICE.contains(&address) && address % 8 == 0 => {
            event = Event::Device { offset: address - DEVICE.start, value };
        }
        Effect::Store { address, width, value } => store = Some((address, width, value)),
        Effect::Atomic { address, width, kind, operand } => {
            let Some(old) = load(memory, address, width).filter(|_| address.is_multiple_of(width.into())) else {
                return Event::Fault { pc, address };
            };
            let old = extend(old, width, true);
            result = old;
            match kind {
                AtomicKind::LoadReserved => hart.reservation = Some(granule(address)),
                AtomicKind::StoreConditional => {
                    let held = hart.reservation.take() == Some(granule(address));
                    result = u64::from(!held);
                    store = held.then_some((address, width, operand));
                }
                _ => store = Some((address, width, kind.combine(old, operand))),
            }
        }
        Effect::FenceInstruction => {
            let size = (hart.cache_range.end - hart.cache_range.start) as usize / 2;
            hart.cache.get_or_insert_with(|| vec![None; size]).fill(None);
        }
        Effect::Fence(_) | Effect::Pause => {}
        Effect::WaitOnReservation { .. } => hart.waits = hart.reservation.is_some(),
        // The programs have no floating point.
        Effect::Float { .. } | Effect::Csr(_) | Effect::Call | Effect::Illegal(_) => {
            return Event::Fault { pc, address: pc };
        }
    }
    if let Some((address, width, value)) = store {
        if memory.write(address, &value.to_le_bytes()[..width.into()]).is_err() {
            return Event::Fault { pc, address };
        }
        if address == hart.status + 8 {
            hart.phase = value as usize;
        }
        written(harts, Some(number), address, width.into());
    }
    let hart = &mut harts[number];
    if operation.destination() != 0 {
        hart.registers[usize::from(operation.destination())] = result;
    }
    hart.pc = next;
    hart.counts[hart.phase].count(&operation);
    event
}

fn load(memory: &Memory, address: u64, width: u8) -> Option<u64> {
    let mut bytes = [0; 8];
    bytes[..width.into()].copy_from_slice(memory.get(address, width.into())?);
    Some(u64::from_le_bytes(bytes))
}

impl Hart {
    /// The instruction at pc: decoded text, or the hart's copy of generated code.
    fn fetch(&mut self, memory: &Memory) -> Option<Operation> {
        if !self.pc.is_multiple_of(2) {
            return None;
        }
        if self.text_range.contains(&self.pc) {
            return self.text.get((self.pc - self.text_range.start) as usize / 2).copied();
        }
        if !self.cache_range.contains(&self.pc) {
            return None;
        }
        let Some(cache) = &mut self.cache else { return Some(Operation::decode(0, 0)) };
        let entry = &mut cache[(self.pc - self.cache_range.start) as usize / 2];
        if entry.is_none() {
            *entry = Some(Operation::decode(word_at(memory, self.pc)?, self.pc));
        }
        *entry
    }

    pub(crate) fn number(&self) -> usize {
        self.number
    }

    pub(crate) fn waits(&self) -> bool {
        self.waits && self.reservation.is_some()
    }
}
