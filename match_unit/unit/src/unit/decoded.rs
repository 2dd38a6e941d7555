// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Instruction words decoded for execution: register numbers, masks and operation kinds in flat fields.

use mb_asm::layout::{Combine, CompareOp, ComputeOp, MaskMode};
use mb_asm::word::{Alu, Chain, Condition, Operand2, Output, Word};

/// Register number for results without a destination: one past the architectural registers.
pub(crate) const NOWHERE: u8 = 16;

/// The condition of the next word on the input FIFO.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InputNeed {
    /// Nothing.
    Nothing,
    /// A word or an end mark at the head.
    Head,
    /// A word to pop.
    Word,
}

/// The field permute that changes nothing.
pub(crate) const IDENTITY: u8 = 0b11_10_01_00;

/// The operation of the ALU slot. Comparisons follow [`AluKind::Permute`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AluKind {
    Idle,
    Add,
    Sub,
    And,
    Or,
    Xor,
    AndNot,
    Nor,
    Permute,
    Equal,
    NotEqual,
    Less,
    GreaterEqual,
    LessEqual,
    Greater,
    LessSigned,
    GreaterEqualSigned,
    LessEqualSigned,
    GreaterSigned,
}

/// The condition of the branch slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BranchKind {
    None,
    If,
    Unless,
    NoItem,
}

/// Groups of sections: the mask of each, the shift that aligns its top bit with bit 63, and the bit of the predicate
/// that its comparison writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Groups {
    pub(crate) count: u8,
    pub(crate) mask: [u64; 4],
    pub(crate) up: [u8; 4],
    pub(crate) predicate: [u16; 4],
}

/// One instruction word, decoded. Unused slots read register 0 and write [`NOWHERE`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct DecodedWord {
    pub(crate) need: InputNeed,
    pub(crate) pop_alu: u8,
    pub(crate) pop_ternary: u8,
    pub(crate) permute: u8,
    pub(crate) alu: AluKind,
    pub(crate) guard: u8,
    pub(crate) rd: u8,
    pub(crate) rs1: u8,
    pub(crate) rs2: u8,
    pub(crate) keep: u64,
    pub(crate) immediate: u64,
    pub(crate) select: u64,
    pub(crate) groups: Groups,
    pub(crate) combine: Combine,
    pub(crate) ternary: bool,
    pub(crate) m0: u8,
    pub(crate) m1: u8,
    pub(crate) mask: u8,
    pub(crate) flip: u64,
    pub(crate) ternary_groups: Groups,
    pub(crate) ternary_combine: Combine,
    pub(crate) merges: u8,
    pub(crate) merge: [(u8, u8, u8, u8); 2],
    pub(crate) branch: BranchKind,
    pub(crate) predicate: u8,
    pub(crate) target: u16,
    pub(crate) copy: bool,
    pub(crate) copy_guard: u8,
    pub(crate) copy_from: u8,
    pub(crate) copy_ternary: u8,
    pub(crate) output: Option<Output>,
}

const NO_GROUPS: Groups = Groups { count: 0, mask: [0; 4], up: [0; 4], predicate: [0; 4] };

impl DecodedWord {
    const IDLE: Self = Self {
        need: InputNeed::Nothing,
        pop_alu: NOWHERE,
        pop_ternary: NOWHERE,
        permute: IDENTITY,
        alu: AluKind::Idle,
        guard: 0,
        rd: NOWHERE,
        rs1: 0,
        rs2: 0,
        keep: u64::MAX,
        immediate: 0,
        select: 0,
        groups: NO_GROUPS,
        combine: Combine::Overwrite,
        ternary: false,
        m0: 0,
        m1: 0,
        mask: 0,
        flip: 0,
        ternary_groups: NO_GROUPS,
        ternary_combine: Combine::Overwrite,
        merges: 0,
        merge: [(0, 0, 0, 0); 2],
        branch: BranchKind::None,
        predicate: 0,
        target: 0,
        copy: false,
        copy_guard: 0,
        copy_from: 0,
        copy_ternary: NOWHERE,
        output: None,
    };

    pub(super) fn from_word(word: &Word) -> Self {
        let mut micro = Self::IDLE;
        if word.input.needs_input {
            micro.need = InputNeed::Head;
        }
        if let Some(pop) = word.input.pop {
            micro.need = InputNeed::Word;
            micro.pop_alu = pop.alu.map_or(NOWHERE, |reg| reg.index() as u8);
            if let Some((reg, permute)) = pop.ternary {
                micro.pop_ternary = reg.index() as u8;
                micro.permute = permute.bits();
            }
        }
        if let Some(alu) = word.alu {
            micro.set_alu(alu);
        }
        if let Some(ternary) = word.ternary {
            micro.ternary = true;
            micro.m0 = ternary.m0.index() as u8;
            micro.m1 = ternary.m1.index() as u8;
            micro.mask = ternary.mask.index() as u8;
            micro.flip = if ternary.mode == MaskMode::Ignore { u64::MAX } else { 0 };
            micro.ternary_groups = Groups::new(ternary.chain, |section| ternary.enable.contains(section), 12);
            micro.ternary_combine = ternary.combine;
        }
        for merge in word.predicate.into_iter().flatten() {
            let place = usize::from(micro.merges);
            let (a, b) = (merge.a.index() as u8, merge.b.index() as u8);
            micro.merge[place] = (a, b, merge.table.bits(), merge.rd.index() as u8);
            micro.merges += 1;
        }
        if let Some(branch) = word.branch {
            micro.target = branch.target.index() as u16;
            (micro.branch, micro.predicate) = match branch.condition {
                Condition::Always => (BranchKind::If, 0),
                Condition::If(predicate) => (BranchKind::If, predicate.index() as u8),
                Condition::Unless(predicate) => (BranchKind::Unless, predicate.index() as u8),
                Condition::NoItem => (BranchKind::NoItem, 0),
            };
        }
        if let Some(copy) = word.copy {
            micro.copy = true;
            micro.copy_guard = copy.guard.index() as u8;
            micro.copy_from = copy.rs.index() as u8;
            micro.copy_ternary = copy.ternary.map_or(NOWHERE, |reg| reg.index() as u8);
            micro.output = copy.output;
        }
        micro
    }

    fn set_alu(&mut self, alu: Alu) {
        match alu {
            Alu::Compute { op, guard, rd, rs1, operand2, chain } => {
                self.alu = match op {
                    ComputeOp::Add => AluKind::Add,
                    ComputeOp::Sub => AluKind::Sub,
                    ComputeOp::And => AluKind::And,
                    ComputeOp::Or => AluKind::Or,
                    ComputeOp::Xor => AluKind::Xor,
                    ComputeOp::AndNot => AluKind::AndNot,
                    ComputeOp::Nor => AluKind::Nor,
                };
                self.guard = guard.index() as u8;
                self.rd = rd.index() as u8;
                self.rs1 = rs1.index() as u8;
                self.set_operand2(operand2);
                self.groups = Groups::new(chain, |section| chain.ends_at(section), 8);
            }
            Alu::Compare { op, rs1, operand2, chain, enable, combine } => {
                self.alu = match op {
                    CompareOp::Equal => AluKind::Equal,
                    CompareOp::NotEqual => AluKind::NotEqual,
                    CompareOp::Less => AluKind::Less,
                    CompareOp::GreaterEqual => AluKind::GreaterEqual,
                    CompareOp::LessEqual => AluKind::LessEqual,
                    CompareOp::Greater => AluKind::Greater,
                    CompareOp::LessSigned => AluKind::LessSigned,
                    CompareOp::GreaterEqualSigned => AluKind::GreaterEqualSigned,
                    CompareOp::LessEqualSigned => AluKind::LessEqualSigned,
                    CompareOp::GreaterSigned => AluKind::GreaterSigned,
                };
                self.rs1 = rs1.index() as u8;
                self.set_operand2(operand2);
                self.groups = Groups::new(chain, |section| enable.contains(section), 8);
                self.combine = combine;
            }
            Alu::Permute { guard, rd, rs1, rs2, select } => {
                self.alu = AluKind::Permute;
                self.guard = guard.index() as u8;
                self.rd = rd.index() as u8;
                self.rs1 = rs1.index() as u8;
                self.rs2 = rs2.index() as u8;
                self.select = select.control();
            }
        }
    }

    /// Bit set of the predicates that the word may write.
    pub(crate) fn written_predicates(&self) -> u32 {
        let of = |groups: &Groups| {
            groups.predicate[..usize::from(groups.count)].iter().fold(0, |bits, bit| bits | u32::from(*bit))
        };
        let compared = if self.alu.compares() { of(&self.groups) } else { 0 };
        let merged = self.merge[..usize::from(self.merges)].iter().fold(0, |bits, merge| bits | 1 << merge.3);
        compared | of(&self.ternary_groups) | merged
    }

    fn set_operand2(&mut self, operand: Operand2) {
        self.rs2 = operand.reg.index() as u8;
        self.immediate = operand.value(0);
        self.keep = operand.value(u64::MAX) ^ self.immediate;
    }
}

impl Groups {
    /// The groups of `chain` whose highest section `wanted` accepts; their predicates start at `first`.
    fn new(chain: Chain, wanted: impl Fn(usize) -> bool, first: usize) -> Self {
        let mut groups = NO_GROUPS;
        for group in chain.groups().filter(|group| wanted(group.high)) {
            let place = usize::from(groups.count);
            groups.mask[place] = group.mask();
            groups.up[place] = 16 * (3 - group.high as u8);
            groups.predicate[place] = 1 << (first + group.high);
            groups.count += 1;
        }
        groups
    }
}
