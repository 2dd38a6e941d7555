// SPDX-License-Identifier: Apache-2.0 OR MIT
//! RV64: the 64-bit RISC-V base with multiplication, atomics, compressed instructions and counters
//! (RV64IMAC, Zicntr, Zifencei).
//!
//! `docs/processors.md` lists them; every other word is [`Fault::Illegal`]. Behaviour that the
//! architecture leaves to the implementation: loads and stores may have any alignment, atomics must
//! be aligned; the reservation granule is [`Memory::RESERVATION_GRANULE`].
//!
//! Source: The RISC-V Instruction Set Manual, Volume I: Unprivileged Architecture.

mod compressed;
mod decode;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use self::decode::{Kind, Op};
use super::decoded_text::DecodedText;
use super::{Hart, InstructionClass, Retired, StaticInstruction, Step};
use crate::loader::{Isa, LoadError, Program};
use crate::memory::{Fault, Memory};
use crate::syscall::{Service, Syscall, SyscallHandler, SyscallResult};

/// A hardware thread of RV64.
#[derive(Clone, Debug)]
pub struct Rv64 {
    text: Arc<DecodedText<Op, 1>>,
    number: u32,
    pc: u64,
    /// x0 to x31, then one that takes results for x0. The length is a power of two, so that masked
    /// indices need no bounds check.
    registers: [u64; 64],
    /// Instructions executed.
    retired: u64,
}

impl Rv64 {
    /// Loads a program into `count` threads, numbered from 0. Each is at the entry; all registers
    /// are zero.
    ///
    /// # Errors
    /// The program is for another instruction set.
    pub fn load(program: &Program, count: u32) -> Result<Vec<Self>, LoadError> {
        if program.isa() != Isa::Rv64 {
            return Err(LoadError::WrongIsa { found: program.isa(), expected: Isa::Rv64 });
        }
        let code = program.code();
        let text = DecodedText::new(&code, |pc| {
            // After the last byte the code continues with zeros, which are an illegal instruction.
            let mut bytes = [0; 4];
            let rest = &program.text()[(pc - code.start) as usize..];
            let there = rest.len().min(4);
            bytes[..there].copy_from_slice(&rest[..there]);
            decode::decode(u32::from_le_bytes(bytes), pc)
        });
        let thread = Self::new(Arc::new(text), program.entry());
        Ok((0..count).map(|number| Self { number, ..thread.clone() }).collect())
    }

    fn new(text: Arc<DecodedText<Op, 1>>, pc: u64) -> Self {
        Self { text, number: 0, pc, registers: [0; 64], retired: 0 }
    }

    /// General register `index`, `0 <= index < 32`.
    #[must_use]
    pub fn register(&self, index: usize) -> u64 {
        self.registers[..32][index]
    }

    #[inline]
    fn get(&self, index: u8) -> u64 {
        self.registers[usize::from(index & 63)]
    }

    #[inline]
    fn set(&mut self, index: u8, value: u64) {
        self.registers[usize::from(index & 63)] = value;
    }

    #[inline]
    fn read<const N: usize>(&self, memory: &Memory, address: u64) -> Result<[u8; N], Fault> {
        memory.read(address).ok_or(Fault::Access { pc: self.pc, address, bytes: N as u8 })
    }

    #[inline]
    fn write<const N: usize>(&self, memory: &mut Memory, address: u64, bytes: [u8; N]) -> Result<(), Fault> {
        memory.store(self.number, address, bytes).map_err(|denied| Fault::of(denied, self.pc, address, N as u8))
    }

    /// The value that a load writes to its register.
    #[inline]
    fn load_value(&self, kind: Kind, memory: &Memory, address: u64) -> Result<u64, Fault> {
        Ok(match kind {
            Kind::LoadByte => i8::from_le_bytes(self.read(memory, address)?) as u64,
            Kind::LoadHalf => i16::from_le_bytes(self.read(memory, address)?) as u64,
            Kind::LoadWord => i32::from_le_bytes(self.read(memory, address)?) as u64,
            Kind::LoadByteUnsigned => u8::from_le_bytes(self.read(memory, address)?).into(),
            Kind::LoadHalfUnsigned => u16::from_le_bytes(self.read(memory, address)?).into(),
            Kind::LoadWordUnsigned => u32::from_le_bytes(self.read(memory, address)?).into(),
            _ => u64::from_le_bytes(self.read(memory, address)?),
        })
    }

    /// Executes an operation of the A extension; returns its result.
    fn atomic(&self, op: &Op, memory: &mut Memory) -> Result<u64, Fault> {
        let (address, b) = (self.get(op.a), self.get(op.b));
        if !address.is_multiple_of(op.instruction.access.into()) {
            return Err(Fault::Access { pc: self.pc, address, bytes: op.instruction.access });
        }
        let wide = op.instruction.access == 8;
        let kind = if wide { Kind::LoadDouble } else { Kind::LoadWord };
        let old = self.load_value(kind, memory, address)?;
        let new = match op.kind {
            Kind::LoadReserveWord | Kind::LoadReserveDouble => {
                memory.reserve(self.number, address);
                return Ok(old);
            }
            Kind::StoreConditionalWord | Kind::StoreConditionalDouble => {
                if !memory.reserved(self.number, address) {
                    memory.release(self.number);
                    return Ok(1);
                }
                b
            }
            _ => combine(op.imm, old, if wide { b } else { b as i32 as u64 }),
        };
        if wide {
            self.write(memory, address, new.to_le_bytes())?;
        } else {
            self.write(memory, address, (new as u32).to_le_bytes())?;
        }
        let conditional = matches!(op.kind, Kind::StoreConditionalWord | Kind::StoreConditionalDouble);
        if conditional {
            memory.release(self.number);
        }
        Ok(if conditional { 0 } else { old })
    }

    /// Makes the system call of `ecall`.
    fn call<H: SyscallHandler>(&self, memory: &mut Memory, handler: &mut H) -> SyscallResult {
        let service = match self.registers[17] {
            93 | 94 => Service::Exit,
            64 => Service::Write,
            number => Service::of(number),
        };
        let arguments = [10, 11, 12, 13].map(|index| self.registers[index]);
        handler.call(Syscall { thread: self.number, service, arguments }, memory)
    }

    /// Whether a branch is taken.
    #[inline]
    fn branches(kind: Kind, a: u64, b: u64) -> bool {
        match kind {
            Kind::BranchEqual => a == b,
            Kind::BranchNotEqual => a != b,
            Kind::BranchLess => (a as i64) < b as i64,
            Kind::BranchNotLess => a as i64 >= b as i64,
            Kind::BranchLessUnsigned => a < b,
            _ => a >= b,
        }
    }
}

impl Hart for Rv64 {
    fn pc(&self) -> u64 {
        self.pc
    }

    fn jump(&mut self, pc: u64) {
        self.pc = pc & !1;
    }

    fn set_argument(&mut self, index: usize, value: u64) {
        self.registers[10..18][index] = value;
    }

    fn set_stack(&mut self, address: u64) {
        self.registers[2] = address;
    }

    fn set_thread(&mut self, thread: u32) {
        self.number = thread;
    }

    #[inline]
    fn is_system(&self) -> bool {
        self.text.at(self.pc).is_some_and(|op| op.instruction.class == InstructionClass::System)
    }

    fn instruction_at(&self, pc: u64) -> Option<StaticInstruction> {
        self.text.at(pc).filter(|op| op.kind != Kind::Illegal).map(|op| op.instruction)
    }

    #[expect(clippy::too_many_lines, reason = "one match arm for each operation")]
    #[inline]
    fn step<H: SyscallHandler>(&mut self, memory: &mut Memory, handler: &mut H) -> Result<Step, Fault> {
        let pc = self.pc;
        let Some(&op) = self.text.at(pc) else {
            return Err(Fault::Access { pc, address: pc, bytes: 2 });
        };
        let (a, b, imm) = (self.get(op.a), self.get(op.b), op.imm);
        let mut next = pc.wrapping_add(op.instruction.bytes.into());
        let mut address = 0;
        let mut taken = false;
        let result = match op.kind {
            Kind::Constant => imm,
            Kind::Jump => {
                taken = true;
                std::mem::replace(&mut next, imm)
            }
            Kind::JumpRegister => {
                taken = true;
                std::mem::replace(&mut next, a.wrapping_add(imm) & !1)
            }
            Kind::BranchEqual
            | Kind::BranchNotEqual
            | Kind::BranchLess
            | Kind::BranchNotLess
            | Kind::BranchLessUnsigned
            | Kind::BranchNotLessUnsigned => {
                taken = Self::branches(op.kind, a, b);
                if taken {
                    next = imm;
                }
                0
            }
            Kind::LoadByte
            | Kind::LoadHalf
            | Kind::LoadWord
            | Kind::LoadDouble
            | Kind::LoadByteUnsigned
            | Kind::LoadHalfUnsigned
            | Kind::LoadWordUnsigned => {
                address = a.wrapping_add(imm);
                self.load_value(op.kind, memory, address)?
            }
            Kind::StoreByte => {
                address = a.wrapping_add(imm);
                self.write(memory, address, (b as u8).to_le_bytes())?;
                0
            }
            Kind::StoreHalf => {
                address = a.wrapping_add(imm);
                self.write(memory, address, (b as u16).to_le_bytes())?;
                0
            }
            Kind::StoreWord => {
                address = a.wrapping_add(imm);
                self.write(memory, address, (b as u32).to_le_bytes())?;
                0
            }
            Kind::StoreDouble => {
                address = a.wrapping_add(imm);
                self.write(memory, address, b.to_le_bytes())?;
                0
            }
            Kind::AddImm => a.wrapping_add(imm),
            Kind::LessImm => u64::from((a as i64) < imm as i64),
            Kind::LessUnsignedImm => u64::from(a < imm),
            Kind::XorImm => a ^ imm,
            Kind::OrImm => a | imm,
            Kind::AndImm => a & imm,
            Kind::ShiftLeftImm => a << (imm & 63),
            Kind::ShiftRightImm => a >> (imm & 63),
            Kind::ShiftRightSignedImm => (a as i64 >> (imm & 63)) as u64,
            Kind::AddImmWord => word(a.wrapping_add(imm)),
            Kind::ShiftLeftImmWord => word(a << (imm & 31)),
            Kind::ShiftRightImmWord => word((a as u32 >> (imm & 31)).into()),
            Kind::ShiftRightSignedImmWord => (a as i32 >> (imm & 31)) as u64,
            Kind::Add => a.wrapping_add(b),
            Kind::Sub => a.wrapping_sub(b),
            Kind::ShiftLeft => a << (b & 63),
            Kind::Less => u64::from((a as i64) < b as i64),
            Kind::LessUnsigned => u64::from(a < b),
            Kind::Xor => a ^ b,
            Kind::ShiftRight => a >> (b & 63),
            Kind::ShiftRightSigned => (a as i64 >> (b & 63)) as u64,
            Kind::Or => a | b,
            Kind::And => a & b,
            Kind::AddWord => word(a.wrapping_add(b)),
            Kind::SubWord => word(a.wrapping_sub(b)),
            Kind::ShiftLeftWord => word(a << (b & 31)),
            Kind::ShiftRightWord => word((a as u32 >> (b & 31)).into()),
            Kind::ShiftRightSignedWord => (a as i32 >> (b & 31)) as u64,
            Kind::Mul => a.wrapping_mul(b),
            Kind::MulHigh => ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64,
            Kind::MulHighSignedUnsigned => ((i128::from(a as i64) * i128::from(b)) >> 64) as u64,
            Kind::MulHighUnsigned => ((u128::from(a) * u128::from(b)) >> 64) as u64,
            Kind::Div if b == 0 => u64::MAX,
            Kind::Div => (a as i64).wrapping_div(b as i64) as u64,
            Kind::DivUnsigned => a.checked_div(b).unwrap_or(u64::MAX),
            Kind::Rem if b == 0 => a,
            Kind::Rem => (a as i64).wrapping_rem(b as i64) as u64,
            Kind::RemUnsigned => a.checked_rem(b).unwrap_or(a),
            Kind::MulWord => word(a.wrapping_mul(b)),
            Kind::DivWord if b as i32 == 0 => u64::MAX,
            Kind::DivWord => (a as i32).wrapping_div(b as i32) as u64,
            Kind::DivUnsignedWord => (a as u32).checked_div(b as u32).unwrap_or(u32::MAX) as i32 as u64,
            Kind::RemWord if b as i32 == 0 => word(a),
            Kind::RemWord => (a as i32).wrapping_rem(b as i32) as u64,
            Kind::RemUnsignedWord => (a as u32).checked_rem(b as u32).unwrap_or(a as u32) as i32 as u64,
            Kind::LoadReserveWord
            | Kind::LoadReserveDouble
            | Kind::StoreConditionalWord
            | Kind::StoreConditionalDouble
            | Kind::AtomicWord
            | Kind::AtomicDouble => {
                address = a;
                self.atomic(&op, memory)?
            }
            Kind::Cycle => handler.cycle(),
            Kind::Retired => self.retired,
            Kind::Nothing => 0,
            Kind::Call => match self.call(memory, handler) {
                SyscallResult::Value(value) => value,
                SyscallResult::Wait => return Ok(Step::Waiting),
                SyscallResult::Exit(status) => return Ok(Step::Exited(status)),
            },
            Kind::Illegal => return Err(Fault::Illegal { pc, word: imm as u32 }),
        };
        self.set(op.d, result);
        self.pc = next;
        self.retired = self.retired.wrapping_add(1);
        Ok(Step::Retired(Retired { pc, next, address, taken, instruction: op.instruction }))
    }
}

/// The low 32 bits, sign-extended.
const fn word(value: u64) -> u64 {
    value as i32 as u64
}

/// The value that an atomic operation writes; `which` is its number in the encoding. Words are
/// sign-extended, which changes neither the signed nor the unsigned order.
fn combine(which: u64, old: u64, operand: u64) -> u64 {
    match which {
        0 => old.wrapping_add(operand),
        1 => operand,
        4 => old ^ operand,
        8 => old | operand,
        12 => old & operand,
        16 => (old as i64).min(operand as i64) as u64,
        20 => (old as i64).max(operand as i64) as u64,
        24 => old.min(operand),
        _ => old.max(operand),
    }
}
