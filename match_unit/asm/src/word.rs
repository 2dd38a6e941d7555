// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The decoded instruction word: one type per slot, its validity rules, and its 164-bit form.
//!
//! Contract: each meaning has one encoding. [`Word::decode`] rejects unknown codes, bits without effect and every
//! [`WordFault`]; on what it accepts, decoding and encoding are inverse.
//! Source: `spec/isa/match_unit.toml` (manual: `docs/isa_match_unit.md`), which names the paper's sections.

mod coding;
mod fault;
mod operand;
mod register;
mod section;

use std::fmt;

use crate::layout::{Combine, CompareOp, ComputeOp, MaskMode};

pub use coding::{DecodeError, Encoded};
pub use fault::WordFault;
pub use operand::{ByteSelect, ByteSource, FieldPermute, Operand2, TruthTable};
pub use register::{Address, AluReg, Predicate, Register, TernaryReg};
pub use section::{Chain, Group, Sections};

/// The input slot: waiting for input and taking it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Input {
    /// The word waits until the input FIFO holds a word.
    pub needs_input: bool,
    /// Take the word at the head.
    pub pop: Option<Pop>,
}

/// Where a popped word goes; nowhere if both are `None`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Pop {
    /// ALU register that receives the word as it came.
    pub alu: Option<AluReg>,
    /// Ternary register that receives the permuted word.
    pub ternary: Option<(TernaryReg, FieldPermute)>,
}

/// The ALU slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Alu {
    /// Arithmetic or logic into a register.
    Compute {
        /// The operation.
        op: ComputeOp,
        /// The result is written only when this predicate is one.
        guard: Predicate,
        /// Receives the result; not a0.
        rd: AluReg,
        /// Operand 1.
        rs1: AluReg,
        /// Operand 2.
        operand2: Operand2,
        /// Boundaries that carries cross; [`Chain::SPLIT`] in logic operations.
        chain: Chain,
    },
    /// A comparison into predicates p8 to p11; never predicated.
    Compare {
        /// The operation.
        op: CompareOp,
        /// Operand 1.
        rs1: AluReg,
        /// Operand 2.
        operand2: Operand2,
        /// Which sections are compared as one number.
        chain: Chain,
        /// Sections whose results are written; each the highest of its group.
        enable: Sections,
        /// How a result enters its predicate.
        combine: Combine,
    },
    /// A byte permute into a register.
    Permute {
        /// The result is written only when this predicate is one.
        guard: Predicate,
        /// Receives the result; not a0.
        rd: AluReg,
        /// Operand 1.
        rs1: AluReg,
        /// Operand 2.
        rs2: AluReg,
        /// Where each byte comes from.
        select: ByteSelect,
    },
}

impl ComputeOp {
    /// Whether sections have no effect on it.
    #[must_use]
    pub const fn is_logic(self) -> bool {
        !matches!(self, Self::Add | Self::Sub)
    }
}

/// The ternary slot: equality of two registers under a mask, into predicates p12 to p15.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Ternary {
    /// Compared with `m1`.
    pub m0: TernaryReg,
    /// Compared with `m0`.
    pub m1: TernaryReg,
    /// The mask.
    pub mask: TernaryReg,
    /// The meaning of a one in the mask.
    pub mode: MaskMode,
    /// Which sections are compared as one number.
    pub chain: Chain,
    /// Sections whose results are written; each the highest of its group.
    pub enable: Sections,
    /// How a result enters its predicate.
    pub combine: Combine,
}

/// One logic unit of the predicate slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Merge {
    /// First input.
    pub a: Predicate,
    /// Second input.
    pub b: Predicate,
    /// The function.
    pub table: TruthTable,
    /// Receives the result; p1 to p7.
    pub rd: Predicate,
}

/// The branch slot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Branch {
    /// When it is taken.
    pub condition: Condition,
    /// Where it goes, after its two delay slots.
    pub target: Address,
}

/// When a branch is taken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Condition {
    /// Always: predicate p0 on one.
    Always,
    /// When the predicate, not p0, is one.
    If(Predicate),
    /// When the predicate, not p0, is zero.
    Unless(Predicate),
    /// When the word at the head of the input FIFO is not tagged as item: predicate p0 on zero.
    NoItem,
}

/// The copy slot: an ALU register to a ternary register, to the output FIFO, or both.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DataCopy {
    /// Nothing is written or sent unless this predicate is one.
    pub guard: Predicate,
    /// The register that is read.
    pub rs: AluReg,
    /// Ternary register that receives it.
    pub ternary: Option<TernaryReg>,
    /// Whether it is sent to the output FIFO.
    pub output: Option<Output>,
}

/// The mark of a word that is sent to the output FIFO.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Output {
    /// More words of this answer follow.
    More,
    /// The last word of an answer.
    Last,
}

/// One instruction word. The default is the idle word, all bits zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Word {
    /// The input slot.
    pub input: Input,
    /// The ALU slot.
    pub alu: Option<Alu>,
    /// The ternary slot.
    pub ternary: Option<Ternary>,
    /// The two logic units of the predicate slot; the second is used only together with the first.
    pub predicate: [Option<Merge>; 2],
    /// The branch slot.
    pub branch: Option<Branch>,
    /// The copy slot.
    pub copy: Option<DataCopy>,
}

/// The six slots.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Slot {
    /// Input FIFO to registers.
    Input,
    /// Arithmetic, logic, comparison, permute.
    Alu,
    /// Masked equality.
    Ternary,
    /// Predicate logic.
    Predicate,
    /// Branch.
    Branch,
    /// Register to register or output FIFO.
    Copy,
}

impl Slot {
    /// Every slot, in the order of a listing's columns.
    pub const ALL: [Self; 6] = [Self::Input, Self::Alu, Self::Ternary, Self::Predicate, Self::Branch, Self::Copy];

    /// Its name in `spec/isa/match_unit.toml` and in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Alu => "alu",
            Self::Ternary => "ternary",
            Self::Predicate => "predicate",
            Self::Branch => "branch",
            Self::Copy => "copy",
        }
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Word {
    /// The registers this word writes and the slot that writes each, in the order of the slots.
    #[must_use]
    pub fn writes(&self) -> Vec<(Slot, Register)> {
        let mut writes = Vec::new();
        if let Some(pop) = self.input.pop {
            writes.extend(pop.alu.map(|reg| (Slot::Input, Register::Alu(reg))));
            writes.extend(pop.ternary.map(|(reg, _)| (Slot::Input, Register::Ternary(reg))));
        }
        match self.alu {
            Some(Alu::Compute { rd, .. } | Alu::Permute { rd, .. }) => writes.push((Slot::Alu, Register::Alu(rd))),
            Some(Alu::Compare { enable, .. }) => {
                writes.extend(enable.iter().map(|s| (Slot::Alu, Register::Predicate(Predicate::of_alu(s)))));
            }
            None => {}
        }
        if let Some(t) = self.ternary {
            writes.extend(t.enable.iter().map(|s| (Slot::Ternary, Register::Predicate(Predicate::of_ternary(s)))));
        }
        for merge in self.predicate.into_iter().flatten() {
            writes.push((Slot::Predicate, Register::Predicate(merge.rd)));
        }
        if let Some(reg) = self.copy.and_then(|copy| copy.ternary) {
            writes.push((Slot::Copy, Register::Ternary(reg)));
        }
        writes
    }

    /// Whether the slot does anything; an input slot that only waits does.
    #[must_use]
    pub fn uses(&self, slot: Slot) -> bool {
        match slot {
            Slot::Input => self.input.needs_input || self.input.pop.is_some(),
            Slot::Alu => self.alu.is_some(),
            Slot::Ternary => self.ternary.is_some(),
            Slot::Predicate => self.predicate.iter().any(Option::is_some),
            Slot::Branch => self.branch.is_some(),
            Slot::Copy => self.copy.is_some(),
        }
    }
}
