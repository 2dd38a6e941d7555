// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The match unit: register files, predicates, branch unit, and one instruction word after the other.
//!
//! The pipeline reads in the first cycle, operates in the second and writes in the third. With its forwarding paths and
//! its read-before-write FIFO ports every result reaches the next word and none reaches its own, so a word can be executed
//! whole in the cycle it issues; what it sends leaves [`WRITE_STAGE`] cycles later. `match_unit/unit/tests/pipeline.rs`
//! holds this against a second model that has the three stages, the latches and the forwarding paths.
//!
//! Cost: words are decoded once; a word takes about ten nanoseconds and no allocation.
//! Source: Hemmert et al. (`hemmert2007`) sections 4.1 and 4.2; `spec/isa/match_unit.toml`.

use mb_asm::layout::{Combine, CompareOp, ComputeOp, MaskMode};
use mb_asm::word::{Alu, Condition, Output, Word};

/// Cycles from the issue of a word to the stage that writes its results: the third of three stages.
pub const WRITE_STAGE: u64 = 2;

/// Words of the delay after a taken branch.
pub(crate) const DELAY_SLOTS: u8 = 2;

/// Where results without a destination go: one past the architectural registers.
pub(crate) const NOWHERE: u8 = 16;

/// What a word of the input FIFO belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Tag {
    /// The header of a message, or the pattern of a search of the unexpected list.
    Header,
    /// A list item.
    Item,
    /// The end of the list; carries no data, and a pop passes over it.
    End,
}

/// What the input FIFO shows to a word that needs input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// The word that a pop takes.
    pub word: u64,
    /// The tag of whatever is at the head, an end mark included.
    pub tag: Tag,
}

/// A word sent to the output FIFO.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sent {
    /// The word.
    pub word: u64,
    /// Whether it closes an answer.
    pub last: bool,
}

/// What the word at the program counter asks of the input FIFO.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    /// Nothing.
    Nothing,
    /// Something at the head, be it an end mark.
    Head,
    /// A word to take.
    Word,
}

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

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BranchKind {
    None,
    If,
    Unless,
    NoItem,
}

/// Groups of sections: the bits of each, how far its top bit is from bit 63, and the predicate its comparison sets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Groups {
    pub(crate) count: u8,
    pub(crate) mask: [u64; 4],
    pub(crate) up: [u8; 4],
    pub(crate) predicate: [u16; 4],
}

/// One instruction word in the form that executes fast. Unused slots have harmless operands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Micro {
    pub(crate) need: Need,
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

/// What executing one word did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Issued {
    /// Address of the word.
    pub at: u16,
    /// Whether it took the word at the head of the input FIFO.
    pub popped: bool,
    /// What it sends; it arrives in the output FIFO in the write stage.
    pub sent: Option<Sent>,
    /// Whether its branch is taken.
    pub taken: bool,
    /// Whether its branch was cancelled by a taken one before it.
    pub cancelled: bool,
}

/// The architectural state, as a debugger shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct State {
    /// Address of the next word.
    pub pc: u16,
    /// ALU registers.
    pub alu: [u64; 16],
    /// Ternary registers.
    pub ternary: [u64; 16],
    /// Predicates, p0 in bit 0.
    pub predicates: u16,
    /// A taken branch that still has delay slots to run: how many, and where it goes.
    pub branch: Option<(u8, u16)>,
}

/// One match unit with its program.
#[derive(Clone, Debug)]
pub struct Unit {
    store: Box<[Micro]>,
    alu: [u64; 17],
    ternary: [u64; 17],
    predicates: u32,
    pc: u16,
    shadow: u8,
    target: u16,
}

impl Unit {
    /// A unit in reset that holds `words`.
    ///
    /// # Panics
    /// When `words` is empty or longer than a 10-bit address reaches, which the assembler refuses.
    #[must_use]
    pub fn new(words: &[Word]) -> Self {
        assert!(!words.is_empty() && words.len() <= mb_asm::layout::STORE_WORDS, "the program fits the store");
        Self {
            store: words.iter().map(Micro::from_word).collect(),
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

    /// What the next word waits for; `None` beyond the end of the program.
    #[inline]
    #[must_use]
    pub fn need(&self) -> Option<Need> {
        self.store.get(usize::from(self.pc)).map(|word| word.need)
    }

    /// The word at an address.
    pub(crate) fn micro(&self, at: u16) -> &Micro {
        &self.store[usize::from(at)]
    }

    /// Whether a taken branch still has delay slots to run.
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

    /// Puts `word` where the pop of the word at `at` puts it.
    pub(crate) fn take_again(&mut self, at: u16, word: u64) {
        let micro = &self.store[usize::from(at)];
        self.alu[usize::from(micro.pop_alu)] = word;
        self.ternary[usize::from(micro.pop_ternary)] = permute_fields(micro.permute, word);
    }

    /// Address of the next word.
    #[must_use]
    pub const fn pc(&self) -> u16 {
        self.pc
    }

    /// Registers, predicates, program counter and branch in flight.
    #[must_use]
    pub fn state(&self) -> State {
        let first = |file: &[u64; 17]| {
            let mut registers = [0; 16];
            registers.copy_from_slice(&file[..16]);
            registers
        };
        State {
            pc: self.pc,
            alu: first(&self.alu),
            ternary: first(&self.ternary),
            predicates: self.predicates as u16,
            branch: (self.shadow > 0).then_some((self.shadow, self.target)),
        }
    }

    /// Executes the next word. `head` is what the input FIFO shows; it is looked at only if [`Unit::need`] says so.
    ///
    /// # Panics
    /// Beyond the end of the program.
    #[inline]
    pub fn issue(&mut self, head: Head) -> Issued {
        let at = self.pc;
        let word = &self.store[usize::from(at)];
        let old = self.predicates;
        let holds = |predicate: u8| old >> predicate & 1 == 1;

        // Everything is read before anything is written: results of a word do not reach the word itself.
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
        let popped = word.need == Need::Word;
        if popped {
            self.alu[usize::from(word.pop_alu)] = head.word;
            let permuted = if word.permute == IDENTITY { head.word } else { permute_fields(word.permute, head.word) };
            self.ternary[usize::from(word.pop_ternary)] = permuted;
        }
        let mut sent = None;
        if word.copy && holds(word.copy_guard) {
            self.ternary[usize::from(word.copy_ternary)] = copied;
            sent = word.output.map(|output| Sent { word: copied, last: output == Output::Last });
        }
        self.predicates = new;

        let wanted = match word.branch {
            BranchKind::None => false,
            BranchKind::If => holds(word.predicate),
            BranchKind::Unless => !holds(word.predicate),
            BranchKind::NoItem => head.tag != Tag::Item,
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

const IDENTITY: u8 = 0b11_10_01_00;

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

    /// Compares two groups that were moved to the top of the word.
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
    fn compute(self, word: &Micro, first: u64, second: u64) -> u64 {
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

/// An operation on each group by itself: what a group carries or borrows beyond its top is masked off, and what lies
/// below it is zero in both operands.
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

const NO_GROUPS: Groups = Groups { count: 0, mask: [0; 4], up: [0; 4], predicate: [0; 4] };

impl Micro {
    const IDLE: Self = Self {
        need: Need::Nothing,
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

    fn from_word(word: &Word) -> Self {
        let mut micro = Self::IDLE;
        if word.input.needs_input {
            micro.need = Need::Head;
        }
        if let Some(pop) = word.input.pop {
            micro.need = Need::Word;
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

    /// The predicates that it may write, as bits.
    pub(crate) fn written_predicates(&self) -> u32 {
        let of = |groups: &Groups| {
            groups.predicate[..usize::from(groups.count)].iter().fold(0, |bits, bit| bits | u32::from(*bit))
        };
        let compared = if self.alu.compares() { of(&self.groups) } else { 0 };
        let merged = self.merge[..usize::from(self.merges)].iter().fold(0, |bits, merge| bits | 1 << merge.3);
        compared | of(&self.ternary_groups) | merged
    }

    fn set_operand2(&mut self, operand: mb_asm::word::Operand2) {
        self.rs2 = operand.reg.index() as u8;
        self.immediate = operand.value(0);
        self.keep = operand.value(u64::MAX) ^ self.immediate;
    }
}

impl Groups {
    /// The groups of `chain` whose highest section `wanted` accepts; their predicates start at `first`.
    fn new(chain: mb_asm::word::Chain, wanted: impl Fn(usize) -> bool, first: usize) -> Self {
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
