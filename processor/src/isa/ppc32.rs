// SPDX-License-Identifier: Apache-2.0 OR MIT
//! PPC32: the integer user instructions of 32-bit big-endian PowerPC that compilers emit.
//!
//! `processor/docs/processors.md` lists them; every other word is [`Fault::Illegal`]. Behaviour that the
//! architecture leaves undefined:
//!
//! - A division by zero, or of the most negative number by -1, returns the dividend.
//! - Loads and stores may have any alignment; lwarx and stwcx. must be aligned.
//! - An address wraps around at the end of the address space before it is compared with memory.
//!
//! Source: Power ISA User Instruction Set Architecture, Book I; reservations from Book II.

mod decode;
mod op;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use self::op::{Kind, Op, half};
use super::decoded_text::DecodedText;
use super::{Hart, InstructionClass, Retired, StaticInstruction, Step};
use crate::loader::{Isa, LoadError, Program};
use crate::memory::{Fault, Memory};
use crate::syscall::{Service, Syscall, SyscallHandler, SyscallResult};

/// Bits of the BO field: which of condition and counter are ignored, and what each is compared
/// with.
mod bo {
    pub(super) const ANY_CONDITION: u8 = 0b1_0000;
    pub(super) const CONDITION: u8 = 0b0_1000;
    pub(super) const KEEP_COUNTER: u8 = 0b0_0100;
    pub(super) const COUNTER_ZERO: u8 = 0b0_0010;
}

/// Implemented bits of XER except the carry: summary overflow, overflow, and the string length.
const XER: u32 = 0xc000_007f;
/// Position of the carry in XER, from the right.
const XER_CARRY: u32 = 29;

/// The summary-overflow bit of condition field 0 in CR.
const SO: u32 = 1 << 28;

/// A hardware thread of PPC32.
#[derive(Clone, Debug)]
pub struct Ppc32 {
    text: Arc<DecodedText<Op, 2>>,
    number: u32,
    pc: u32,
    /// General registers, then one that is zero. The length is a power of two, so that masked
    /// indices need no bounds check.
    registers: [u32; 64],
    cr: u32,
    lr: u32,
    ctr: u32,
    carry: bool,
    xer: u32,
}

impl Ppc32 {
    /// Loads a program into `count` threads, numbered from 0. Each is at the entry; all registers
    /// are zero.
    ///
    /// # Errors
    /// The program is for another instruction set.
    pub fn load(program: &Program, count: u32) -> Result<Vec<Self>, LoadError> {
        if program.isa() != Isa::Ppc32 {
            return Err(LoadError::WrongIsa { found: program.isa(), expected: Isa::Ppc32 });
        }
        let code = program.code();
        let text = DecodedText::new(&code, |pc| {
            // Bytes after the last complete word decode as an illegal instruction.
            let bytes = program.text()[(pc - code.start) as usize..].first_chunk().copied();
            decode::decode(bytes.map_or(0, u32::from_be_bytes), pc as u32)
        });
        let thread = Self::new(Arc::new(text), program.entry() as u32);
        Ok((0..count).map(|number| Self { number, ..thread.clone() }).collect())
    }

    fn new(text: Arc<DecodedText<Op, 2>>, pc: u32) -> Self {
        Self { text, number: 0, pc, registers: [0; 64], cr: 0, lr: 0, ctr: 0, carry: false, xer: 0 }
    }

    /// General register `index`, `0 <= index < 32`.
    #[must_use]
    pub fn register(&self, index: usize) -> u32 {
        self.registers[..32][index]
    }

    /// The condition register.
    #[must_use]
    pub fn cr(&self) -> u32 {
        self.cr
    }

    /// The link register.
    #[must_use]
    pub fn lr(&self) -> u32 {
        self.lr
    }

    /// The count register.
    #[must_use]
    pub fn ctr(&self) -> u32 {
        self.ctr
    }

    /// The fixed-point exception register.
    #[must_use]
    pub fn xer(&self) -> u32 {
        self.xer | u32::from(self.carry) << XER_CARRY
    }

    #[inline]
    fn get(&self, index: u8) -> u32 {
        self.registers[usize::from(index & 63)]
    }

    #[inline]
    fn set(&mut self, index: u8, value: u32) {
        self.registers[usize::from(index & 31)] = value;
    }

    /// Sets a condition field, counted from the left.
    #[inline]
    fn set_field(&mut self, field: u8, value: u32) {
        let shift = 28 - 4 * u32::from(field & 7);
        self.cr = self.cr & !(0xf << shift) | value << shift;
    }

    /// Sets a condition field to the result of a comparison and the summary overflow.
    #[inline]
    fn set_order(&mut self, field: u8, order: std::cmp::Ordering) {
        let order = match order {
            std::cmp::Ordering::Less => 8,
            std::cmp::Ordering::Greater => 4,
            std::cmp::Ordering::Equal => 2,
        };
        self.set_field(field, order | self.xer >> 31);
    }

    /// Condition bit `bit`, counted from the left.
    #[inline]
    fn condition(&self, bit: u8) -> bool {
        self.cr >> (31 - u32::from(bit & 31)) & 1 != 0
    }

    /// Adds with a carry in and out.
    #[inline]
    fn add(&mut self, a: u32, b: u32, carry: bool) -> u32 {
        let sum = u64::from(a) + u64::from(b) + u64::from(carry);
        self.carry = sum >> 32 != 0;
        sum as u32
    }

    /// The effective address of a load or store.
    #[inline]
    fn address(&self, op: &Op) -> u32 {
        self.get(op.a).wrapping_add(self.get(op.b)).wrapping_add(op.imm)
    }

    /// Whether a branch with the BO field `options` is taken. Decrements CTR if the options require
    /// it.
    #[inline]
    fn branches(&mut self, options: u8, bit: u8) -> bool {
        let mut taken = true;
        if options & bo::KEEP_COUNTER == 0 {
            self.ctr = self.ctr.wrapping_sub(1);
            taken = (self.ctr == 0) == (options & bo::COUNTER_ZERO != 0);
        }
        taken & ((options & bo::ANY_CONDITION != 0) | (self.condition(bit) == (options & bo::CONDITION != 0)))
    }

    #[inline]
    fn read<const N: usize>(&self, memory: &Memory, address: u32) -> Result<[u8; N], Fault> {
        let outside = || Fault::Access { pc: self.pc.into(), address: address.into(), bytes: N as u8 };
        memory.read(address.into()).ok_or_else(outside)
    }

    #[inline]
    fn write<const N: usize>(&self, memory: &mut Memory, address: u32, bytes: [u8; N]) -> Result<(), Fault> {
        let fault = |denied| Fault::of(denied, self.pc.into(), address.into(), N as u8);
        memory.store(self.number, address.into(), bytes).map_err(fault)
    }

    /// Checks the alignment of lwarx and stwcx.
    fn aligned(&self, address: u32) -> Result<(), Fault> {
        if address.is_multiple_of(4) {
            Ok(())
        } else {
            Err(Fault::Access { pc: self.pc.into(), address: address.into(), bytes: 4 })
        }
    }

    /// Makes the system call of `sc`.
    fn call<H: SyscallHandler>(&self, memory: &mut Memory, handler: &mut H) -> SyscallResult {
        let service = match self.registers[0] {
            1 | 234 => Service::Exit,
            4 => Service::Write,
            number => Service::of(number.into()),
        };
        let arguments = [3, 4, 5, 6, 7, 8].map(|index| self.registers[index].into());
        handler.call(Syscall { thread: self.number, pc: self.pc.into(), service, arguments }, memory)
    }

    /// The value that a load writes to its register.
    #[inline]
    fn load_value(&self, kind: Kind, memory: &Memory, address: u32) -> Result<u32, Fault> {
        Ok(match kind {
            Kind::LoadByte => u8::from_be_bytes(self.read(memory, address)?).into(),
            Kind::LoadHalf => u16::from_be_bytes(self.read(memory, address)?).into(),
            Kind::LoadHalfSigned => i16::from_be_bytes(self.read(memory, address)?) as u32,
            Kind::LoadHalfReversed => u16::from_le_bytes(self.read(memory, address)?).into(),
            Kind::LoadWordReversed => u32::from_le_bytes(self.read(memory, address)?),
            _ => u32::from_be_bytes(self.read(memory, address)?),
        })
    }
}

impl Hart for Ppc32 {
    fn pc(&self) -> u64 {
        self.pc.into()
    }

    fn jump(&mut self, pc: u64) {
        self.pc = pc as u32 & !3;
    }

    fn set_argument(&mut self, index: usize, value: u64) {
        self.registers[3..11][index] = value as u32;
    }

    fn set_stack(&mut self, address: u64) {
        self.registers[1] = address as u32;
    }

    fn set_thread(&mut self, thread: u32) {
        self.number = thread;
    }

    #[inline]
    fn is_system(&self) -> bool {
        self.text.at(self.pc.into()).is_some_and(|op| op.instruction.class == InstructionClass::System)
    }

    fn instruction_at(&self, pc: u64) -> Option<StaticInstruction> {
        self.text.at(pc).filter(|op| op.kind != Kind::Illegal).map(|op| op.instruction)
    }

    #[expect(clippy::too_many_lines, reason = "one match arm for each operation")]
    #[inline]
    fn step<H: SyscallHandler>(&mut self, memory: &mut Memory, handler: &mut H) -> Result<Step, Fault> {
        let pc = self.pc;
        let Some(op) = self.text.at(pc.into()).copied() else {
            return Err(Fault::Access { pc: pc.into(), address: pc.into(), bytes: 4 });
        };
        let op = &op;
        let (a, b, imm) = (self.get(op.a), self.get(op.b), op.imm);
        let mut next = pc.wrapping_add(4);
        let mut address = 0;
        let mut taken = false;
        // Operations with a result in register `d`, and optionally a comparison with zero in
        // condition field 0, leave the match with that result. All others return.
        let result = match op.kind {
            Kind::AddImm => a.wrapping_add(imm),
            Kind::AddImmCarry => self.add(a, imm, false),
            Kind::SubImmCarry => self.add(!a, imm, true),
            Kind::MulImm => a.wrapping_mul(imm),
            Kind::OrImm => a | imm,
            Kind::XorImm => a ^ imm,
            Kind::AndImm => a & imm,
            Kind::Add => a.wrapping_add(b),
            Kind::AddCarry => self.add(a, b, false),
            Kind::AddExtended => self.add(a, b, self.carry),
            Kind::AddMinusOne => self.add(a, u32::MAX, self.carry),
            Kind::AddZero => self.add(a, 0, self.carry),
            Kind::Sub => b.wrapping_sub(a),
            Kind::SubCarry => self.add(!a, b, true),
            Kind::SubExtended => self.add(!a, b, self.carry),
            Kind::SubMinusOne => self.add(!a, u32::MAX, self.carry),
            Kind::SubZero => self.add(!a, 0, self.carry),
            Kind::Neg => a.wrapping_neg(),
            Kind::MulLow => a.wrapping_mul(b),
            Kind::MulHigh => ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32,
            Kind::MulHighUnsigned => ((u64::from(a) * u64::from(b)) >> 32) as u32,
            Kind::Div => (a as i32).checked_div(b as i32).unwrap_or(a as i32) as u32,
            Kind::DivUnsigned => a.checked_div(b).unwrap_or(a),
            Kind::MulHalf => product_of_halves(a, b, imm),
            Kind::MacHalf => self.get(op.d).wrapping_add(product_of_halves(a, b, imm)),
            Kind::And => a & b,
            Kind::AndComplement => a & !b,
            Kind::Or => a | b,
            Kind::OrComplement => a | !b,
            Kind::Xor => a ^ b,
            Kind::Nor => !(a | b),
            Kind::Nand => !(a & b),
            Kind::Equivalent => !(a ^ b),
            Kind::ExtendByte => a as i8 as u32,
            Kind::ExtendHalf => a as i16 as u32,
            Kind::LeadingZeros => a.leading_zeros(),
            // The shift amount has six bits; 32 and above shift everything out.
            Kind::ShiftLeft => (u64::from(a) << (b & 63)) as u32,
            Kind::ShiftRight => (u64::from(a) >> (b & 63)) as u32,
            Kind::ShiftRightSigned => self.shift_right_signed(a, b & 63),
            Kind::ShiftRightSignedImm => self.shift_right_signed(a, op.b.into()),
            Kind::RotateMask => a.rotate_left(op.b.into()) & imm,
            Kind::RotateInsert => a.rotate_left(op.b.into()) & imm | self.get(op.d) & !imm,
            Kind::RotateMaskBy => a.rotate_left(b & 31) & imm,
            Kind::Select => {
                if self.condition(imm as u8) {
                    a
                } else {
                    b
                }
            }
            Kind::MoveFromCr => self.cr,
            Kind::MoveFromXer => self.xer(),
            Kind::MoveFromLr => self.lr,
            Kind::MoveFromCtr => self.ctr,
            Kind::TimeBase => (handler.cycle() >> imm) as u32,
            Kind::LoadByte
            | Kind::LoadHalf
            | Kind::LoadHalfSigned
            | Kind::LoadWord
            | Kind::LoadHalfReversed
            | Kind::LoadWordReversed => {
                address = self.address(op);
                let value = self.load_value(op.kind, memory, address)?;
                if op.variant {
                    self.set(op.a, address);
                }
                self.set(op.d, value);
                return Ok(self.retire(op, next, address, false));
            }
            Kind::LoadReserve => {
                address = self.address(op);
                self.aligned(address)?;
                let value = self.load_value(op.kind, memory, address)?;
                memory.reserve(self.number, address.into());
                value
            }
            kind => {
                match kind {
                    Kind::CmpImm => self.set_order(op.d, (a as i32).cmp(&(imm as i32))),
                    Kind::CmpLogicalImm => self.set_order(op.d, a.cmp(&imm)),
                    Kind::Cmp => self.set_order(op.d, (a as i32).cmp(&(b as i32))),
                    Kind::CmpLogical => self.set_order(op.d, a.cmp(&b)),
                    Kind::BranchIf => {
                        taken = self.branches(op.d, op.a);
                        if op.variant {
                            self.lr = next;
                        }
                        if taken {
                            next = imm;
                        }
                    }
                    Kind::Branch => {
                        if op.variant {
                            self.lr = next;
                        }
                        (taken, next) = (true, imm);
                    }
                    Kind::ReturnIf | Kind::CountIf => {
                        let target = if kind == Kind::ReturnIf { self.lr } else { self.ctr };
                        taken = self.branches(op.d, op.a);
                        if op.variant {
                            self.lr = next;
                        }
                        if taken {
                            next = target & !3;
                        }
                    }
                    Kind::StoreByte => {
                        address = self.address(op);
                        self.write(memory, address, (self.get(op.d) as u8).to_be_bytes())?;
                    }
                    Kind::StoreHalf => {
                        address = self.address(op);
                        self.write(memory, address, (self.get(op.d) as u16).to_be_bytes())?;
                    }
                    Kind::StoreWord => {
                        address = self.address(op);
                        self.write(memory, address, self.get(op.d).to_be_bytes())?;
                    }
                    Kind::StoreHalfReversed => {
                        address = self.address(op);
                        self.write(memory, address, (self.get(op.d) as u16).to_le_bytes())?;
                    }
                    Kind::StoreWordReversed => {
                        address = self.address(op);
                        self.write(memory, address, self.get(op.d).to_le_bytes())?;
                    }
                    Kind::StoreConditional => {
                        address = self.address(op);
                        self.aligned(address)?;
                        let held = memory.reserved(self.number, address.into());
                        if held {
                            self.write(memory, address, self.get(op.d).to_be_bytes())?;
                        } else {
                            // A failed stwcx. still needs a valid address.
                            self.read::<4>(memory, address)?;
                        }
                        memory.release(self.number);
                        self.set_field(0, u32::from(held) << 1 | self.xer >> 31);
                    }
                    Kind::CrLogic => {
                        let pair = u32::from(self.condition(op.a)) << 1 | u32::from(self.condition(op.b));
                        let shift = 31 - u32::from(op.d);
                        self.cr = self.cr & !(1 << shift) | (imm >> pair & 1) << shift;
                    }
                    Kind::MoveField => self.set_field(op.d, self.cr >> (28 - 4 * u32::from(op.a)) & 0xf),
                    Kind::MoveXerToField => {
                        self.set_field(op.d, self.xer() >> 28);
                        self.carry = false;
                        self.xer &= 0x7f;
                    }
                    Kind::MoveToCr => self.cr = self.cr & !imm | a & imm,
                    Kind::MoveToXer => {
                        self.carry = a >> XER_CARRY & 1 != 0;
                        self.xer = a & XER;
                    }
                    Kind::MoveToLr => self.lr = a,
                    Kind::MoveToCtr => self.ctr = a,
                    Kind::SystemCall => match self.call(memory, handler) {
                        SyscallResult::Wait => return Ok(Step::Waiting),
                        SyscallResult::Exit(status) => return Ok(Step::Exited(status)),
                        SyscallResult::Value(value) => {
                            // Linux reports an error (-4095 to -1) by the summary overflow of
                            // condition field 0 and a positive error number.
                            let failed = value > -4096_i64 as u64;
                            self.set(3, if failed { value.wrapping_neg() } else { value } as u32);
                            self.cr = self.cr & !SO | if failed { SO } else { 0 };
                        }
                    },
                    Kind::Nothing => {}
                    _ => return Err(Fault::Illegal { pc: pc.into(), word: imm }),
                }
                if op.variant && op.instruction.class == super::InstructionClass::Store {
                    self.set(op.a, address);
                }
                return Ok(self.retire(op, next, address, taken));
            }
        };
        self.set(op.d, result);
        if op.variant {
            self.set_order(0, (result as i32).cmp(&0));
        }
        Ok(self.retire(op, next, address, taken))
    }
}

impl Ppc32 {
    #[inline]
    fn retire(&mut self, op: &Op, next: u32, address: u32, taken: bool) -> Step {
        let pc = std::mem::replace(&mut self.pc, next);
        Step::Retired(Retired {
            pc: pc.into(),
            next: next.into(),
            address: address.into(),
            taken,
            instruction: op.instruction,
        })
    }

    /// Arithmetic shift right by less than 64. Sets the carry if a negative number loses a one bit.
    fn shift_right_signed(&mut self, value: u32, amount: u32) -> u32 {
        let wide = i64::from(value as i32);
        let result = wide >> amount;
        self.carry = wide < 0 && result << amount != wide;
        result as u32
    }
}

/// The product of the half words that `parts` selects, negated if `parts` contains
/// [`half::NEGATIVE`].
fn product_of_halves(a: u32, b: u32, parts: u32) -> u32 {
    let pick = |value: u32, high: u32| if parts & high == 0 { value as u16 } else { (value >> 16) as u16 };
    let (a, b) = (pick(a, half::HIGH_A), pick(b, half::HIGH_B));
    let product = if parts & half::UNSIGNED == 0 {
        (i32::from(a as i16) * i32::from(b as i16)) as u32
    } else {
        u32::from(a) * u32::from(b)
    };
    if parts & half::NEGATIVE == 0 { product } else { product.wrapping_neg() }
}
