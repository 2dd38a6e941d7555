// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs the public RISC-V unit tests for user-level instructions, `rv64ui` to `rv64ud`, in their
//! environment for one hart in machine mode.
//!
//! The environment writes and reads machine-mode registers before the test. Here they are plain
//! storage, and mret jumps to mepc. A test ends with ecall: 93 in a7, and in a0 either 0 or
//! `2 * number + 1` of the case that failed. Instructions are decoded when they are executed, as
//! tests change their code.

use std::collections::BTreeMap;

use crate::isa::{AtomicKind, Counter, Effect, FloatStatus, Operation, extend};
use crate::{Fault, Isa, LoadError, Memory, Program};

/// The result of a unit test.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnitTestVerdict {
    /// Every case passed.
    Passed,
    /// This case failed.
    Failed(u64),
}

/// A unit test that has no verdict.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum UnitTestError {
    /// It is for another instruction set.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// It cannot continue.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// It makes another call than exit.
    #[error("pc {pc:#x}: system call {number}; expected 93 (exit) from a unit test")]
    Call {
        /// Address of the call.
        pc: u64,
        /// Its number.
        number: u64,
    },
    /// It does not end.
    #[error("pc {pc:#x}: no end after {instructions} instructions; expected one")]
    Endless {
        /// Address of the next instruction.
        pc: u64,
        /// Instructions executed.
        instructions: u64,
    },
}

/// mret.
const RETURN: u32 = 0x3020_0073;
/// Number of mepc.
const MEPC: u16 = 0x341;
/// Number of mhartid.
const MHARTID: u16 = 0xf14;
/// Most instructions of a test.
const LIMIT: u64 = 100_000_000;

struct UnitTestMachine {
    memory: Memory,
    pc: u64,
    registers: [u64; 64],
    float_status: FloatStatus,
    control: BTreeMap<u16, u64>,
    reservation: Option<u64>,
    instructions: u64,
}

/// Runs a unit test, an ELF file.
///
/// # Errors
/// The file cannot be loaded, or has no verdict.
pub fn unit_test(file: &[u8]) -> Result<UnitTestVerdict, UnitTestError> {
    let program = Program::load_code(file, true)?;
    if program.isa() != Isa::Rv64 {
        return Err(LoadError::WrongIsa { found: program.isa(), expected: Isa::Rv64 }.into());
    }
    // The same bytes, with code that can be written.
    let loaded = program.memory(0);
    let range = loaded.range();
    let length = (range.end - range.start) as usize;
    let mut memory = Memory::new(range.start, length);
    if let Some(bytes) = loaded.get(range.start, length) {
        memory.write(range.start, bytes).map_err(|error| Fault::of(error, program.entry(), range.start, 1))?;
    }
    let mut machine = UnitTestMachine {
        memory,
        pc: program.entry(),
        registers: [0; 64],
        float_status: FloatStatus::default(),
        control: BTreeMap::new(),
        reservation: None,
        instructions: 0,
    };
    while machine.instructions < LIMIT {
        if let Some(verdict) = machine.step()? {
            return Ok(verdict);
        }
        machine.instructions += 1;
    }
    Err(UnitTestError::Endless { pc: machine.pc, instructions: LIMIT })
}

impl UnitTestMachine {
    fn load(&self, address: u64, width: u8) -> Result<u64, Fault> {
        let found = self.memory.get(address, width.into());
        let found = found.ok_or(Fault::Access { pc: self.pc, address, bytes: width })?;
        Ok(found.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }

    fn store(&mut self, address: u64, width: u8, value: u64) -> Result<(), Fault> {
        let bytes = value.to_le_bytes();
        self.memory.write(address, &bytes[..width.into()]).map_err(|error| Fault::of(error, self.pc, address, width))
    }

    fn step(&mut self) -> Result<Option<UnitTestVerdict>, UnitTestError> {
        let pc = self.pc;
        let low = self.load(pc, 2)?;
        let high = if low & 3 == 3 { self.load(pc + 2, 2)? } else { 0 };
        let word = (low | high << 16) as u32;
        if word == RETURN {
            self.pc = self.control.get(&MEPC).copied().unwrap_or(0);
            return Ok(None);
        }
        let operation = Operation::decode(word, pc);
        let operands = operation.sources().map(|register| self.registers[usize::from(register)]);
        let mut next = pc.wrapping_add(operation.instruction().bytes.into());
        let result = match operation.evaluate(pc, operands, self.float_status.rounding) {
            Effect::Value(value) => value,
            Effect::Float { value, flags } => {
                self.float_status.flags |= flags;
                value
            }
            Effect::Branch { next: target, link, .. } => {
                next = target;
                link
            }
            Effect::Load { address, width, extension } => extension.extend(self.load(address, width)?, width),
            Effect::Store { address, width, value } => {
                self.store(address, width, value)?;
                0
            }
            Effect::Atomic { address, width, kind, operand } => self.atomic(address, width, kind, operand)?,
            Effect::Fence(_) | Effect::FenceInstruction | Effect::Pause | Effect::WaitOnReservation { .. } => 0,
            Effect::Csr(access) => match access.counter() {
                Some(Counter::Cycle | Counter::Time | Counter::Retired) => self.instructions,
                None => self.float_status.access(&access).unwrap_or_else(|| {
                    let old = self.control.get(&access.number).copied().unwrap_or(0);
                    if access.writes && access.number != MHARTID {
                        self.control.insert(access.number, access.combine(old));
                    }
                    old
                }),
            },
            Effect::Call => {
                return match (self.registers[17], self.registers[10]) {
                    (93, 0) => Ok(Some(UnitTestVerdict::Passed)),
                    (93, status) => Ok(Some(UnitTestVerdict::Failed(status >> 1))),
                    (number, _) => Err(UnitTestError::Call { pc, number }),
                };
            }
            Effect::Illegal(word) => return Err(Fault::Illegal { pc, word }.into()),
        };
        if operation.destination() != 0 {
            self.registers[usize::from(operation.destination())] = result;
        }
        self.pc = next;
        Ok(None)
    }

    fn atomic(&mut self, address: u64, width: u8, kind: AtomicKind, operand: u64) -> Result<u64, Fault> {
        if !address.is_multiple_of(width.into()) {
            return Err(Fault::Access { pc: self.pc, address, bytes: width });
        }
        let old = extend(self.load(address, width)?, width, true);
        match kind {
            AtomicKind::LoadReserved => self.reservation = Some(address / Memory::RESERVATION_GRANULE),
            AtomicKind::StoreConditional => {
                if self.reservation.take() != Some(address / Memory::RESERVATION_GRANULE) {
                    return Ok(1);
                }
                self.store(address, width, operand)?;
                return Ok(0);
            }
            kind => self.store(address, width, kind.combine(old, operand))?,
        }
        Ok(old)
    }
}
