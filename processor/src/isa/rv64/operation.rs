// SPDX-License-Identifier: Apache-2.0 OR MIT
//! RV64 instructions without state: a decoded instruction, and its effect on given operands.

use super::csr::CsrAccess;
use super::effect::{Effect, Extension, FenceOrder};
use super::float::{self, Double, Rounding, Single};
use super::kind::Kind;
use crate::{BranchKind, RegisterNumber, StaticInstruction};

/// Index of the register that takes results for x0, and that no instruction reads.
pub(super) const SINK: u8 = 64;

/// What receives the effect of an instruction: [`Effect`] as method calls, so that a receiver
/// needs no second dispatch.
pub(crate) trait Actions {
    type Output;
    /// The value of a third operand. Only operations of floating point ask for it.
    fn third(&self, register: u8) -> u64;
    /// The dynamic rounding mode.
    fn rounding(&self) -> Rounding;
    fn value(&mut self, value: u64) -> Self::Output;
    fn float(&mut self, value: u64, flags: u8) -> Self::Output;
    fn branch(&mut self, taken: bool, next: u64, link: u64) -> Self::Output;
    fn load<const WIDTH: u8>(&mut self, address: u64, extension: Extension) -> Self::Output;
    fn store<const WIDTH: u8>(&mut self, address: u64, value: u64) -> Self::Output;
    /// Every other effect.
    fn other(&mut self, effect: Effect) -> Self::Output;
}

/// Returns the effect itself.
struct AsEffect {
    third: u64,
    rounding: Rounding,
}

impl Actions for AsEffect {
    type Output = Effect;

    #[inline]
    fn third(&self, _: u8) -> u64 {
        self.third
    }
    #[inline]
    fn rounding(&self) -> Rounding {
        self.rounding
    }
    #[inline]
    fn value(&mut self, value: u64) -> Effect {
        Effect::Value(value)
    }
    #[inline]
    fn float(&mut self, value: u64, flags: u8) -> Effect {
        Effect::Float { value, flags }
    }
    #[inline]
    fn branch(&mut self, taken: bool, next: u64, link: u64) -> Effect {
        Effect::Branch { taken, next, link }
    }
    #[inline]
    fn load<const WIDTH: u8>(&mut self, address: u64, extension: Extension) -> Effect {
        Effect::Load { address, width: WIDTH, extension }
    }
    #[inline]
    fn store<const WIDTH: u8>(&mut self, address: u64, value: u64) -> Effect {
        Effect::Store { address, width: WIDTH, value }
    }
    #[inline]
    fn other(&mut self, effect: Effect) -> Effect {
        effect
    }
}

/// A decoded instruction of RV64, without a state: 24 bytes.
///
/// [`evaluate`](Self::evaluate) is the only definition of what an instruction means; functional
/// execution ([`Rv64`](super::Rv64)) and pipelines that read operands when an instruction executes
/// both use it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operation {
    pub(super) kind: Kind,
    /// Destination, or [`SINK`].
    pub(super) d: u8,
    /// Operands, 0 to 63; 0 for none.
    pub(super) a: u8,
    pub(super) b: u8,
    pub(super) c: u8,
    pub(super) imm: u64,
    pub(super) instruction: StaticInstruction,
}

impl Operation {
    /// Class, branch kind, registers, length and access length.
    #[inline]
    #[must_use]
    pub fn instruction(&self) -> StaticInstruction {
        self.instruction
    }

    /// Whether the instruction is illegal.
    #[inline]
    #[must_use]
    pub fn is_illegal(&self) -> bool {
        self.kind == Kind::Illegal
    }

    /// The registers whose values are the operands of [`evaluate`](Self::evaluate); 0 where the
    /// instruction reads no register. Numbers from 32 on are floating-point registers. In a store
    /// or an atomic, the first is the base of the address and the second the data.
    #[inline]
    #[must_use]
    pub fn sources(&self) -> [u8; 3] {
        let [first, second, third] = self.instruction.sources;
        let list = if second == RegisterNumber::NONE { [first, third, second] } else { [first, second, third] };
        list.map(|register| if register == RegisterNumber::NONE { 0 } else { register.0 })
    }

    /// The register that the instruction writes, or 0 for none; from 32 on, a floating-point
    /// register.
    #[inline]
    #[must_use]
    pub fn destination(&self) -> u8 {
        let first = self.instruction.destinations[0];
        if first == RegisterNumber::NONE { 0 } else { first.0 }
    }

    /// The fixed target of a branch or jump; `None` for other instructions and for jumps to an
    /// address in a register.
    #[inline]
    #[must_use]
    pub fn target(&self) -> Option<u64> {
        let fixed = matches!(self.instruction.branch, BranchKind::Conditional) || self.kind == Kind::Jump;
        fixed.then_some(self.imm)
    }

    /// The acquire bit of an atomic: no later access of the hart is performed before this one.
    #[inline]
    #[must_use]
    pub fn acquires(&self) -> bool {
        matches!(self.kind, Kind::Atomic(_)) && self.imm & 2 != 0
    }

    /// The release bit of an atomic: every earlier access of the hart is performed before this one.
    #[inline]
    #[must_use]
    pub fn releases(&self) -> bool {
        matches!(self.kind, Kind::Atomic(_)) && self.imm & 1 != 0
    }

    /// Whether the effect depends on the dynamic rounding mode.
    #[inline]
    #[must_use]
    pub fn rounds_dynamically(&self) -> bool {
        matches!(self.kind, Kind::Single(op) | Kind::Double(op) if op.rounds()) && self.imm >> 12 & 7 == 7
    }

    /// The effect of the instruction at `pc`, with the values of its [`sources`](Self::sources) and
    /// the dynamic rounding mode. It depends on nothing else, and changes nothing.
    #[inline]
    #[must_use]
    pub fn evaluate(&self, pc: u64, operands: [u64; 3], rounding: Rounding) -> Effect {
        let [a, b, third] = operands;
        self.apply(pc, a, b, &mut AsEffect { third, rounding })
    }

    /// Passes the effect of the instruction at `pc` to `actions`, with the values of its first two sources.
    /// This is the only definition of what instructions mean.
    #[expect(clippy::too_many_lines, reason = "one match arm for each operation")]
    #[expect(clippy::inline_always, reason = "functional execution is a quarter slower with a second dispatch")]
    #[inline(always)]
    pub(crate) fn apply<A: Actions>(&self, pc: u64, a: u64, b: u64, actions: &mut A) -> A::Output {
        let imm = self.imm;
        let link = pc.wrapping_add(self.instruction.bytes.into());
        let address = a.wrapping_add(imm);
        let target = |taken: bool| if taken { imm } else { link };
        let value = match self.kind {
            Kind::Constant => imm,
            Kind::Jump => {
                let taken = true;
                return actions.branch(taken, target(taken), link);
            }
            Kind::JumpRegister => return actions.branch(true, address & !1, link),
            Kind::BranchEqual => {
                let taken = a == b;
                return actions.branch(taken, target(taken), link);
            }
            Kind::BranchNotEqual => {
                let taken = a != b;
                return actions.branch(taken, target(taken), link);
            }
            Kind::BranchLess => {
                let taken = (a as i64) < b as i64;
                return actions.branch(taken, target(taken), link);
            }
            Kind::BranchNotLess => {
                let taken = a as i64 >= b as i64;
                return actions.branch(taken, target(taken), link);
            }
            Kind::BranchLessUnsigned => {
                let taken = a < b;
                return actions.branch(taken, target(taken), link);
            }
            Kind::BranchNotLessUnsigned => {
                let taken = a >= b;
                return actions.branch(taken, target(taken), link);
            }
            Kind::LoadByte => return actions.load::<1>(address, Extension::Sign),
            Kind::LoadHalf => return actions.load::<2>(address, Extension::Sign),
            Kind::LoadWord => return actions.load::<4>(address, Extension::Sign),
            Kind::LoadDouble => return actions.load::<8>(address, Extension::Sign),
            Kind::LoadByteUnsigned => return actions.load::<1>(address, Extension::Zero),
            Kind::LoadHalfUnsigned => return actions.load::<2>(address, Extension::Zero),
            Kind::LoadWordUnsigned => return actions.load::<4>(address, Extension::Zero),
            Kind::LoadSingle => return actions.load::<4>(address, Extension::NanBox),
            Kind::StoreByte => return actions.store::<1>(address, b),
            Kind::StoreHalf => return actions.store::<2>(address, b),
            Kind::StoreWord => return actions.store::<4>(address, b),
            Kind::StoreDouble => return actions.store::<8>(address, b),
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
            Kind::ShiftAdd(amount) => b.wrapping_add(a << (amount & 3)),
            Kind::ShiftAddUnsignedWord(amount) => b.wrapping_add(u64::from(a as u32) << (amount & 3)),
            Kind::ShiftLeftImmUnsignedWord => u64::from(a as u32) << (imm & 63),
            Kind::AndNot => a & !b,
            Kind::OrNot => a | !b,
            Kind::Xnor => !(a ^ b),
            Kind::LeadingZeros => a.leading_zeros().into(),
            Kind::LeadingZerosWord => (a as u32).leading_zeros().into(),
            Kind::TrailingZeros => a.trailing_zeros().into(),
            Kind::TrailingZerosWord => (a as u32).trailing_zeros().into(),
            Kind::Ones => a.count_ones().into(),
            Kind::OnesWord => (a as u32).count_ones().into(),
            Kind::Max => (a as i64).max(b as i64) as u64,
            Kind::MaxUnsigned => a.max(b),
            Kind::Min => (a as i64).min(b as i64) as u64,
            Kind::MinUnsigned => a.min(b),
            Kind::SignExtendByte => a as i8 as u64,
            Kind::SignExtendHalf => a as i16 as u64,
            Kind::ZeroExtendHalf => (a as u16).into(),
            Kind::RotateLeft => a.rotate_left(b as u32 & 63),
            Kind::RotateLeftWord => word((a as u32).rotate_left(b as u32 & 31).into()),
            Kind::RotateRight => a.rotate_right(b as u32 & 63),
            Kind::RotateRightWord => word((a as u32).rotate_right(b as u32 & 31).into()),
            Kind::RotateRightImm => a.rotate_right(imm as u32 & 63),
            Kind::RotateRightImmWord => word((a as u32).rotate_right(imm as u32 & 31).into()),
            Kind::OrCombineBytes => or_combine_bytes(a),
            Kind::ReverseBytes => a.swap_bytes(),
            Kind::Atomic(kind) => {
                let width = self.instruction.access;
                let operand = if width == 4 { word(b) } else { b };
                return actions.other(Effect::Atomic { address: a, width, kind, operand });
            }
            Kind::Single(op) => {
                return match float::evaluate::<Single>(
                    op,
                    imm as u32,
                    [a, b, actions.third(self.c)],
                    actions.rounding(),
                ) {
                    Some((value, flags)) => actions.float(value, flags),
                    None => actions.other(Effect::Illegal(imm as u32)),
                };
            }
            Kind::Double(op) => {
                return match float::evaluate::<Double>(
                    op,
                    imm as u32,
                    [a, b, actions.third(self.c)],
                    actions.rounding(),
                ) {
                    Some((value, flags)) => actions.float(value, flags),
                    None => actions.other(Effect::Illegal(imm as u32)),
                };
            }
            Kind::Csr => return actions.other(Effect::Csr(CsrAccess::of(imm as u32, a))),
            Kind::Fence => return actions.other(Effect::Fence(FenceOrder::of(imm as u32))),
            Kind::FenceInstruction => return actions.other(Effect::FenceInstruction),
            Kind::Pause => return actions.other(Effect::Pause),
            Kind::WaitOnReservation(short) => return actions.other(Effect::WaitOnReservation { short }),
            Kind::Call => return actions.other(Effect::Call),
            Kind::Illegal => return actions.other(Effect::Illegal(imm as u32)),
        };
        actions.value(value)
    }
}

/// The low 32 bits, sign-extended.
const fn word(value: u64) -> u64 {
    value as i32 as u64
}

/// Each byte becomes 0xff, or stays 0.
const fn or_combine_bytes(value: u64) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    // Bit 7 of each byte: whether one of its bits is set. The sums do not carry into the next byte.
    let set = (((value & LOW) + LOW) | value) & !LOW;
    (set >> 7) * 0xff
}

#[cfg(test)]
mod tests {
    use super::Operation;

    #[test]
    fn an_operation_has_24_bytes() {
        assert_eq!(size_of::<Operation>(), 24);
    }
}
