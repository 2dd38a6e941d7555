// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random words, on few registers.

use mb_asm::layout::{Combine, CompareOp, ComputeOp, Half, MaskMode};
use mb_asm::word::{
    Address, Alu, AluReg, Branch, ByteSelect, ByteSource, Chain, Condition, DataCopy, FieldPermute, Input, Merge,
    Operand2, Output, Pop, Predicate, Sections, Ternary, TernaryReg, TruthTable, Word,
};
use mb_core::random;

/// Numbers without a pattern.
pub(crate) struct RandomWords(pub(crate) random::Random);

impl RandomWords {
    pub(crate) fn next(&mut self) -> u64 {
        self.0.next()
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0.below(limit)
    }

    fn yes(&mut self) -> bool {
        self.below(2) == 1
    }

    pub(crate) fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        self.0.pick(choices)
    }

    /// Few registers, so that words meet on them.
    fn alu(&mut self) -> AluReg {
        AluReg::new(self.below(5) as u8).unwrap()
    }

    fn ternary(&mut self) -> TernaryReg {
        TernaryReg::new(self.below(5) as u8).unwrap()
    }

    fn predicate(&mut self) -> Predicate {
        Predicate::new(self.of(&[0, 1, 2, 3, 8, 9, 11, 12, 15])).unwrap()
    }

    pub(crate) fn value(&mut self) -> u64 {
        match self.below(4) {
            0 => self.below(3),
            1 => u64::MAX - self.below(3),
            2 => self.next() << 17 ^ self.next(),
            _ => self.below(4) << 16 | self.below(4) << 48 | self.below(2) << 31,
        }
    }

    fn chain(&mut self) -> Chain {
        Chain::new(self.below(8) as u8).unwrap()
    }

    fn operand2(&mut self) -> Operand2 {
        let half = self.of(&[None, Some(Half::Low), Some(Half::High)]);
        Operand2 { reg: self.alu(), immediate: half.map(|half| (half, self.value() as u32)) }
    }

    /// The highest sections of some groups; never none.
    fn enable(&mut self, chain: Chain) -> Sections {
        let ends = (0..4).filter(|&section| chain.ends_at(section)).fold(0, |bits, section| bits | 1 << section);
        let some = ends & self.below(16) as u8;
        Sections::new(if some == 0 { ends } else { some }).unwrap()
    }

    fn alu_slot(&mut self) -> Option<Alu> {
        let chain = self.chain();
        match self.below(6) {
            0 => None,
            1 | 2 => Some(Alu::Compare {
                op: self.of(&[
                    CompareOp::Equal,
                    CompareOp::NotEqual,
                    CompareOp::Less,
                    CompareOp::GreaterEqual,
                    CompareOp::LessEqual,
                    CompareOp::Greater,
                    CompareOp::LessSigned,
                    CompareOp::GreaterEqualSigned,
                    CompareOp::LessEqualSigned,
                    CompareOp::GreaterSigned,
                ]),
                rs1: self.alu(),
                operand2: self.operand2(),
                chain,
                enable: self.enable(chain),
                combine: self.of(&[Combine::Overwrite, Combine::And, Combine::Or]),
            }),
            3 => Some(Alu::Permute {
                guard: self.predicate(),
                rd: self.alu(),
                rs1: self.alu(),
                rs2: self.alu(),
                select: ByteSelect::new(std::array::from_fn(|_| match self.below(3) {
                    0 => ByteSource::Zero,
                    1 => ByteSource::First(self.below(8) as u8),
                    _ => ByteSource::Second(self.below(8) as u8),
                })),
            }),
            _ => {
                let op = self.of(&[
                    ComputeOp::Add,
                    ComputeOp::Sub,
                    ComputeOp::And,
                    ComputeOp::Or,
                    ComputeOp::Xor,
                    ComputeOp::AndNot,
                    ComputeOp::Nor,
                ]);
                let chain = if op.is_logic() { Chain::SPLIT } else { chain };
                let (guard, rd, rs1) = (self.predicate(), self.alu(), self.alu());
                Some(Alu::Compute { op, guard, rd, rs1, operand2: self.operand2(), chain })
            }
        }
    }

    fn word(&mut self, size: u64) -> Word {
        let chain = self.chain();
        let ternary = self.yes().then(|| Ternary {
            m0: self.ternary(),
            m1: self.ternary(),
            mask: self.ternary(),
            mode: self.of(&[MaskMode::Ignore, MaskMode::Care]),
            chain,
            enable: self.enable(chain),
            combine: self.of(&[Combine::Overwrite, Combine::And, Combine::Or]),
        });
        let merge = |random: &mut Self| Merge {
            a: random.predicate(),
            b: random.predicate(),
            table: TruthTable::new(random.below(16) as u8).unwrap(),
            rd: Predicate::new(1 + random.below(3) as u8).unwrap(),
        };
        let predicate = match self.below(3) {
            0 => [None, None],
            1 => [Some(merge(self)), None],
            _ => [Some(merge(self)), Some(merge(self))],
        };
        let pop = self.yes().then(|| Pop {
            alu: self.yes().then(|| self.alu()),
            ternary: self.yes().then(|| (self.ternary(), FieldPermute::from_bits(self.next() as u8))),
        });
        let condition = match self.predicate() {
            Predicate::TRUE if self.yes() => Condition::Always,
            Predicate::TRUE => Condition::NoItem,
            predicate if self.yes() => Condition::If(predicate),
            predicate => Condition::Unless(predicate),
        };
        let branch = (self.below(4) == 0)
            .then(|| Branch { condition, target: Address::new(self.below(size - 2) as usize).unwrap() });
        let copy = self.yes().then(|| DataCopy {
            guard: self.predicate(),
            rs: self.alu(),
            ternary: self.yes().then(|| self.ternary()),
            output: self.of(&[None, Some(Output::More), Some(Output::Last)]),
        });
        let needs_input = pop.is_some() || branch.is_some_and(|branch| branch.condition == Condition::NoItem);
        let input = Input { needs_input: needs_input || self.below(8) == 0, pop };
        Word { input, alu: self.alu_slot(), ternary, predicate, branch, copy }
    }

    /// A word that the instruction set allows.
    pub(crate) fn sound_word(&mut self, size: u64) -> Word {
        loop {
            let word = self.word(size);
            if word.faults().is_empty() {
                return word;
            }
        }
    }
}
