// SPDX-License-Identifier: Apache-2.0 OR MIT
//! RV64: the 64-bit RISC-V base with multiplication, atomics, floating point, compressed
//! instructions and counters (RV64GC, Zicntr, Zihintpause, Zawrs, Zba, Zbb).
//!
//! A new instruction is a line in `table`, an arm of the match in `operation`, a name in
//! `processor/docs/processors.md`, and a line with known results in `tests/isa/rv64.txt`. Compiler and tests
//! ask for each.
//!
//! `processor/docs/processors.md` lists them; every other word is [`Fault::Illegal`]. Behaviour that the
//! architecture leaves to the implementation: loads and stores may have any alignment, atomics must
//! be aligned; the reservation granule is [`Memory::RESERVATION_GRANULE`].
//!
//! Source: The RISC-V Instruction Set Manual, Volume I: Unprivileged Architecture.

mod compressed;
mod csr;
mod decode;
mod effect;
mod entry;
mod float;
mod kind;
mod line;
mod operation;
pub mod supervisor;
pub mod sv39;
mod table;
mod traps;

#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use self::csr::{Counter, CsrAccess, CsrKind, FloatStatus};
pub use self::effect::{AtomicKind, Effect, Extension, FenceOrder, extend};
pub use self::float::Rounding;
pub(crate) use self::operation::Actions;
pub use self::operation::Operation;
use super::decoded_text::DecodedText;
use super::{Hart, InstructionClass, Retired, StaticInstruction, Step};
use crate::loader::{Isa, LoadError, Program};
use crate::memory::{Fault, Memory};
use crate::syscall::{Service, Syscall, SyscallHandler, SyscallResult};

/// A hardware thread of RV64.
#[derive(Clone, Debug)]
pub struct Rv64 {
    text: Arc<DecodedText<Operation, 1>>,
    number: u32,
    pc: u64,
    /// x0 to x31, f0 to f31, then one that takes results for x0. The length is a power of two, so
    /// that masked indices need no bounds check.
    registers: [u64; 128],
    float_status: FloatStatus,
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
            Operation::decode(u32::from_le_bytes(bytes), pc)
        });
        let thread = Self::new(Arc::new(text), program.entry());
        Ok((0..count).map(|number| Self { number, ..thread.clone() }).collect())
    }

    fn new(text: Arc<DecodedText<Operation, 1>>, pc: u64) -> Self {
        Self { text, number: 0, pc, registers: [0; 128], float_status: FloatStatus::default(), retired: 0 }
    }

    /// General register `index`, `0 <= index < 32`.
    #[must_use]
    pub fn register(&self, index: usize) -> u64 {
        self.registers[..32][index]
    }

    /// Floating-point register `index`, `0 <= index < 32`.
    #[must_use]
    pub fn float_register(&self, index: usize) -> u64 {
        self.registers[32..64][index]
    }

    /// Accrued exceptions and rounding mode.
    #[must_use]
    pub const fn float_status(&self) -> FloatStatus {
        self.float_status
    }

    #[inline]
    fn get(&self, index: u8) -> u64 {
        self.registers[usize::from(index & 127)]
    }

    #[inline]
    fn set(&mut self, index: u8, value: u64) {
        self.registers[usize::from(index & 127)] = value;
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
    fn load_value(&self, memory: &Memory, address: u64, width: u8, extension: Extension) -> Result<u64, Fault> {
        let value = match width {
            1 => u8::from_le_bytes(self.read(memory, address)?).into(),
            2 => u16::from_le_bytes(self.read(memory, address)?).into(),
            4 => u32::from_le_bytes(self.read(memory, address)?).into(),
            _ => u64::from_le_bytes(self.read(memory, address)?),
        };
        Ok(extension.extend(value, width))
    }

    #[inline]
    fn store_value(&self, memory: &mut Memory, address: u64, width: u8, value: u64) -> Result<(), Fault> {
        match width {
            1 => self.write(memory, address, (value as u8).to_le_bytes()),
            2 => self.write(memory, address, (value as u16).to_le_bytes()),
            4 => self.write(memory, address, (value as u32).to_le_bytes()),
            _ => self.write(memory, address, value.to_le_bytes()),
        }
    }

    /// Executes an access of the A extension; returns its result.
    fn atomic(
        &self,
        memory: &mut Memory,
        address: u64,
        width: u8,
        kind: AtomicKind,
        operand: u64,
    ) -> Result<u64, Fault> {
        if !address.is_multiple_of(width.into()) {
            return Err(Fault::Access { pc: self.pc, address, bytes: width });
        }
        let old = self.load_value(memory, address, width, Extension::Sign)?;
        if kind == AtomicKind::LoadReserved {
            memory.reserve(self.number, address);
            return Ok(old);
        }
        let conditional = kind == AtomicKind::StoreConditional;
        if conditional && !memory.reserved(self.number, address) {
            memory.release(self.number);
            return Ok(1);
        }
        self.store_value(memory, address, width, kind.combine(old, operand))?;
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
        let arguments = [10, 11, 12, 13, 14, 15].map(|index| self.registers[index]);
        handler.call(Syscall { thread: self.number, pc: self.pc, service, arguments }, memory)
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
        self.text.at(pc).filter(|op| !op.is_illegal()).map(|op| op.instruction)
    }

    #[inline]
    fn step<H: SyscallHandler>(&mut self, memory: &mut Memory, handler: &mut H) -> Result<Step, Fault> {
        let pc = self.pc;
        let Some(&op) = self.text.at(pc) else {
            return Err(Fault::Access { pc, address: pc, bytes: 2 });
        };
        let (a, b) = (self.get(op.a), self.get(op.b));
        let next = pc.wrapping_add(op.instruction.bytes.into());
        let mut execution = Execution { hart: self, memory, handler, next, address: 0, taken: false };
        let result = match op.apply(pc, a, b, &mut execution) {
            Executed::Result(result) => result,
            Executed::Step(step) => return Ok(step),
            Executed::Fault(fault) => return Err(fault),
        };
        let Execution { next, address, taken, .. } = execution;
        self.set(op.d, result);
        self.pc = next;
        self.retired = self.retired.wrapping_add(1);
        Ok(Step::Retired(Retired { pc, next, address, taken, instruction: op.instruction }))
    }
}

/// The effects of one step so far.
struct Execution<'a, H> {
    hart: &'a mut Rv64,
    memory: &'a mut Memory,
    handler: &'a mut H,
    next: u64,
    address: u64,
    taken: bool,
}

enum Executed {
    /// The value for the destination.
    Result(u64),
    /// The instruction does not retire.
    Step(Step),
    Fault(Fault),
}

impl From<Result<u64, Fault>> for Executed {
    #[inline]
    fn from(result: Result<u64, Fault>) -> Self {
        result.map_or_else(Self::Fault, Self::Result)
    }
}

impl<H: SyscallHandler> Execution<'_, H> {
    /// Accesses a control and status register: the floating-point status, and counters, which can
    /// only be read.
    fn control(&mut self, access: &CsrAccess) -> Executed {
        match access.counter() {
            Some(Counter::Cycle | Counter::Time) => Executed::Result(self.handler.cycle()),
            Some(Counter::Retired) => Executed::Result(self.hart.retired),
            None => match self.hart.float_status.access(access) {
                Some(old) => Executed::Result(old),
                None => Executed::Fault(Fault::Illegal { pc: self.hart.pc, word: access.word }),
            },
        }
    }
}

impl<H: SyscallHandler> Actions for Execution<'_, H> {
    type Output = Executed;

    #[inline]
    fn third(&self, register: u8) -> u64 {
        self.hart.get(register)
    }

    #[inline]
    fn rounding(&self) -> Rounding {
        self.hart.float_status.rounding
    }

    #[inline]
    fn value(&mut self, value: u64) -> Executed {
        Executed::Result(value)
    }

    #[inline]
    fn float(&mut self, value: u64, flags: u8) -> Executed {
        self.hart.float_status.flags |= flags;
        Executed::Result(value)
    }

    #[inline]
    fn branch(&mut self, taken: bool, next: u64, link: u64) -> Executed {
        self.taken = taken;
        self.next = next;
        Executed::Result(link)
    }

    #[inline]
    fn load<const WIDTH: u8>(&mut self, address: u64, extension: Extension) -> Executed {
        self.address = address;
        self.hart.load_value(self.memory, address, WIDTH, extension).into()
    }

    #[inline]
    fn store<const WIDTH: u8>(&mut self, address: u64, value: u64) -> Executed {
        self.address = address;
        self.hart.store_value(self.memory, address, WIDTH, value).map(|()| 0).into()
    }

    #[inline]
    fn other(&mut self, effect: Effect) -> Executed {
        match effect {
            Effect::Atomic { address, width, kind, operand } => {
                self.address = address;
                self.hart.atomic(self.memory, address, width, kind, operand).into()
            }
            // Execution is sequentially consistent and code cannot change, so fences affect only
            // time. A wait may end at any time; this one ends at once.
            Effect::Fence(_) | Effect::FenceInstruction | Effect::Pause | Effect::WaitOnReservation { .. } => {
                Executed::Result(0)
            }
            Effect::Csr(access) => self.control(&access),
            Effect::Call => match self.hart.call(self.memory, self.handler) {
                SyscallResult::Value(value) => Executed::Result(value),
                SyscallResult::Wait => Executed::Step(Step::Waiting),
                SyscallResult::Exit(status) => Executed::Step(Step::Exited(status)),
            },
            Effect::Illegal(word) => Executed::Fault(Fault::Illegal { pc: self.hart.pc, word }),
            Effect::Value(_)
            | Effect::Float { .. }
            | Effect::Branch { .. }
            | Effect::Load { .. }
            | Effect::Store { .. } => {
                unreachable!("{effect:?} has a method of its own")
            }
        }
    }
}
