// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The match unit: register files, predicates, branch unit, and the execution of instruction words.
//!
//! The pipeline has a read, an operate and a write stage. Forwarding paths and read-before-write FIFO ports make every
//! result available to the next word and to no earlier one. The model therefore executes a word completely in the cycle
//! it issues; a word sent to the output FIFO arrives [`WRITE_STAGE`] cycles later.
//! `match_unit/unit/tests/pipeline/main.rs` compares it with a second model that has stages, latches and forwarding
//! paths.
//!
//! Cost: words are decoded once. Executing a word takes about ten nanoseconds and allocates nothing.
//! Source: Hemmert et al. (`hemmert2007`) sections 4.1 and 4.2; `spec/isa/match_unit.toml`.

mod decoded;

use mb_asm::layout::Combine;
use mb_asm::word::{Output, Register, Word};

pub use decoded::InputNeed;
pub(crate) use decoded::{AluKind, BranchKind, DecodedWord, Groups, IDENTITY, NOWHERE};

/// Cycles from the issue of a word (read stage) to its write stage.
pub const WRITE_STAGE: u64 = 2;

/// Delay slots of a branch.
pub(crate) const DELAY_SLOTS: u8 = 2;

/// Tag of a word in the input FIFO.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FifoTag {
    /// The header of a message, or the pattern of a search of the unexpected list.
    Header,
    /// A list item.
    Item,
    /// End mark of a list. It carries no data; a pop discards it and takes the next word.
    End,
}

/// Head of the input FIFO as a word that needs input reads it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FifoHead {
    /// The word that a pop takes.
    pub word: u64,
    /// The tag of the word or end mark at the head.
    pub tag: FifoTag,
}

/// A word sent to the output FIFO.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutputWord {
    /// The word.
    pub word: u64,
    /// Whether it is the last word of an answer.
    pub last: bool,
}

/// Effects of one executed word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Issued {
    /// Address of the word.
    pub at: u16,
    /// Whether it popped the input FIFO.
    pub popped: bool,
    /// The word it sends, which reaches the output FIFO in the write stage.
    pub sent: Option<OutputWord>,
    /// Whether its branch is taken.
    pub taken: bool,
    /// Whether its branch was cancelled because it is in a delay slot of a taken branch.
    pub cancelled: bool,
}

/// Architectural state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnitState {
    /// Address of the next word.
    pub pc: u16,
    /// ALU registers.
    pub alu: [u64; 16],
    /// Ternary registers.
    pub ternary: [u64; 16],
    /// Predicates, p0 in bit 0.
    pub predicates: u16,
    /// A taken branch with delay slots left: their number, and the branch target.
    pub branch: Option<(u8, u16)>,
}

/// A match unit with its program.
#[derive(Clone, Debug)]
pub struct MatchUnit {
    store: Box<[DecodedWord]>,
    alu: [u64; 17],
    ternary: [u64; 17],
    predicates: u32,
    pc: u16,
    shadow: u8,
    target: u16,
}

impl MatchUnit {
    /// A unit in reset with `words` in its microcode store.
    ///
    /// # Panics
    /// When `words` is empty or exceeds the 10-bit address space. The assembler rejects such programs.
    #[must_use]
    pub fn new(words: &[Word]) -> Self {
        assert!(!words.is_empty() && words.len() <= mb_asm::layout::STORE_WORDS, "the program fits the store");
        Self {
            store: words.iter().map(DecodedWord::from_word).collect(),
            alu: [0; 17],
            ternary: {
                let mut file = [0; 17];
                file[0] = u64::MAX;
                file
            },
            predicates: 1,
            pc: 0,
            shadow: 0,
            target: 0,
        }
    }

    /// The condition of the next word on the input FIFO; `None` beyond the end of the program.
    #[inline]
    #[must_use]
    pub fn need(&self) -> Option<InputNeed> {
        self.store.get(usize::from(self.pc)).map(|word| word.need)
    }

    /// The word at an address.
    pub(crate) fn micro(&self, at: u16) -> &DecodedWord {
        &self.store[usize::from(at)]
    }

    /// Whether a taken branch has delay slots left.
    pub(crate) const fn in_shadow(&self) -> bool {
        self.shadow > 0
    }

    pub(crate) const fn predicate(&self, index: u8) -> bool {
        self.predicates >> index & 1 == 1
    }

    #[inline]
    pub(crate) fn alu_register(&self, index: u8) -> u64 {
        self.alu[usize::from(index)]
    }

    #[inline]
    pub(crate) fn ternary_register(&self, index: u8) -> u64 {
        self.ternary[usize::from(index)]
    }

    /// Writes `word` to the destination registers of the pop at address `at`.
    pub(crate) fn repeat_pop(&mut self, at: u16, word: u64) {
        let micro = &self.store[usize::from(at)];
        self.alu[usize::from(micro.pop_alu)] = word;
        self.ternary[usize::from(micro.pop_ternary)] = permute_fields(micro.permute, word);
    }

    /// Writes a register or predicate from outside; a predicate takes the lowest bit of `value`. False, without effect,
    /// for registers that cannot be written.
    pub fn write(&mut self, register: Register, value: u64) -> bool {
        match register {
            Register::Alu(reg) if !reg.is_constant() => self.alu[reg.index()] = value,
            Register::Ternary(reg) if !reg.is_constant() => self.ternary[reg.index()] = value,
            Register::Predicate(reg) if !reg.is_constant() => {
                let bit = 1 << reg.index();
                self.predicates = if value & 1 == 1 { self.predicates | bit } else { self.predicates & !bit };
            }
            _ => return false,
        }
        true
    }

    /// Address of the next word.
    #[must_use]
    pub const fn pc(&self) -> u16 {
        self.pc
    }

    /// Registers, predicates, program counter and branch in flight.
    #[must_use]
    pub fn state(&self) -> UnitState {
        let first = |file: &[u64; 17]| {
            let mut registers = [0; 16];
            registers.copy_from_slice(&file[..16]);
            registers
        };
        UnitState {
            pc: self.pc,
            alu: first(&self.alu),
            ternary: first(&self.ternary),
            predicates: self.predicates as u16,
            branch: (self.shadow > 0).then_some((self.shadow, self.target)),
        }
    }

    /// Executes the next word. `head` is read only when [`MatchUnit::need`] returns [`InputNeed::Head`] or
    /// [`InputNeed::Word`].
    ///
    /// # Panics
    /// Beyond the end of the program.
    #[inline]
    pub fn issue(&mut self, head: FifoHead) -> Issued {
        let at = self.pc;
        let word = &self.store[usize::from(at)];
        let old = self.predicates;
        let holds = |predicate: u8| old >> predicate & 1 == 1;

        // All operands are read before any result is written: a word does not see its own results.
        let (first, second) =
            (self.alu[usize::from(word.rs1)], self.alu[usize::from(word.rs2)] & word.keep | word.immediate);
        let copied = self.alu[usize::from(word.copy_from)];
        let mut new = old;

        if word.ternary {
            let mask = self.ternary[usize::from(word.mask)] ^ word.flip;
            let differing = (self.ternary[usize::from(word.m0)] ^ self.ternary[usize::from(word.m1)]) & mask;
            let groups = &word.ternary_groups;
            for index in 0..usize::from(groups.count) {
                let equal = differing & groups.mask[index] == 0;
                new = combine(new, groups.predicate[index], equal, word.ternary_combine);
            }
        }
        match word.alu {
            AluKind::Idle => {}
            kind if kind.compares() => {
                let groups = &word.groups;
                for index in 0..usize::from(groups.count) {
                    let (one, two) = (first & groups.mask[index], second & groups.mask[index]);
                    let result = kind.compare(one << groups.up[index], two << groups.up[index]);
                    new = combine(new, groups.predicate[index], result, word.combine);
                }
            }
            kind => {
                if holds(word.guard) {
                    self.alu[usize::from(word.rd)] = kind.compute(word, first, second);
                }
            }
        }
        for &(a, b, table, rd) in &word.merge[..usize::from(word.merges)] {
            let input = 2 * (old >> a & 1) + (old >> b & 1);
            new = new & !(1 << rd) | (u32::from(table) >> input & 1) << rd;
        }
        let popped = word.need == InputNeed::Word;
        if popped {
            self.alu[usize::from(word.pop_alu)] = head.word;
            let permuted = if word.permute == IDENTITY { head.word } else { permute_fields(word.permute, head.word) };
            self.ternary[usize::from(word.pop_ternary)] = permuted;
        }
        let mut sent = None;
        if word.copy && holds(word.copy_guard) {
            self.ternary[usize::from(word.copy_ternary)] = copied;
            sent = word.output.map(|output| OutputWord { word: copied, last: output == Output::Last });
        }
        self.predicates = new;

        let wanted = match word.branch {
            BranchKind::None => false,
            BranchKind::If => holds(word.predicate),
            BranchKind::Unless => !holds(word.predicate),
            BranchKind::NoItem => head.tag != FifoTag::Item,
        };
        let cancelled = self.shadow > 0 && word.branch != BranchKind::None;
        let taken = wanted && !cancelled;
        self.pc = at + 1;
        if self.shadow > 0 {
            self.shadow -= 1;
            if self.shadow == 0 {
                self.pc = self.target;
            }
        } else if taken {
            self.shadow = DELAY_SLOTS;
            self.target = word.target;
        }
        Issued { at, popped, sent, taken, cancelled }
    }
}

#[inline]
fn combine(predicates: u32, bit: u16, result: bool, mode: Combine) -> u32 {
    let bit = u32::from(bit);
    match (mode, result) {
        (Combine::Overwrite | Combine::Or, true) => predicates | bit,
        (Combine::Overwrite | Combine::And, false) => predicates & !bit,
        (Combine::And, true) | (Combine::Or, false) => predicates,
    }
}

#[inline]
pub(crate) fn permute_fields(control: u8, word: u64) -> u64 {
    (0..4).fold(0, |result, place| {
        let source = control >> (2 * place) & 3;
        result | (word >> (16 * source) & 0xffff) << (16 * place)
    })
}

impl AluKind {
    #[inline]
    pub(crate) const fn compares(self) -> bool {
        self as u8 >= Self::Equal as u8
    }

    /// Compares two groups that are shifted to the top of the word.
    #[inline]
    pub(crate) const fn compare(self, first: u64, second: u64) -> bool {
        let (signed_first, signed_second) = (first as i64, second as i64);
        match self {
            Self::Equal => first == second,
            Self::NotEqual => first != second,
            Self::Less => first < second,
            Self::GreaterEqual => first >= second,
            Self::LessEqual => first <= second,
            Self::Greater => first > second,
            Self::LessSigned => signed_first < signed_second,
            Self::GreaterEqualSigned => signed_first >= signed_second,
            Self::LessEqualSigned => signed_first <= signed_second,
            Self::GreaterSigned => signed_first > signed_second,
            _ => false,
        }
    }

    #[inline]
    fn compute(self, word: &DecodedWord, first: u64, second: u64) -> u64 {
        match self {
            Self::Add => by_group(&word.groups, first, second, u64::wrapping_add),
            Self::Sub => by_group(&word.groups, first, second, u64::wrapping_sub),
            Self::And => first & second,
            Self::Or => first | second,
            Self::Xor => first ^ second,
            Self::AndNot => first & !second,
            Self::Nor => !(first | second),
            Self::Permute => permute_bytes(word.select, first, second),
            _ => 0,
        }
    }
}

/// Applies `operation` to each group. Carries and borrows beyond the top of a group are masked off; the bits below it
/// are zero in both operands.
#[inline]
fn by_group(groups: &Groups, first: u64, second: u64, operation: fn(u64, u64) -> u64) -> u64 {
    let mut result = 0;
    for mask in &groups.mask[..usize::from(groups.count)] {
        result |= operation(first & mask, second & mask) & mask;
    }
    result
}

#[inline]
fn permute_bytes(control: u64, first: u64, second: u64) -> u64 {
    (0..8).fold(0, |result, place| {
        let byte = match control >> (5 * place) & 31 {
            code @ 0..=7 => first >> (8 * code) & 0xff,
            code @ 8..=15 => second >> (8 * (code - 8)) & 0xff,
            _ => 0,
        };
        result | byte << (8 * place)
    })
}
