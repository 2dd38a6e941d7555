// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The decoded instruction word: one type per slot, what a word must not say, and its 164-bit form.
//!
//! Contract: one meaning, one word. [`Word::decode`] refuses unknown codes, bits that have no effect where
//! they stand, and every [`Fault`]; so decoding and encoding are inverse to each other on what it accepts.
//! Source: `spec/isa/match_unit.toml` (manual: `docs/isa_match_unit.md`), which names the paper's sections.

use std::fmt;

use crate::layout::{
    Combine, CompareOp, ComputeOp, FIELDS, Fields, Half, MaskMode, PermuteOp, Rule, STORE_WORDS, WORD_BITS, take,
};

macro_rules! register {
    ($name:ident, $prefix:literal, $doc:literal, $constant:ident, $value:literal) => {
        #[doc = $doc]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(u8);

        impl $name {
            #[doc = concat!("Register 0, which reads as ", $value, " and cannot be written.")]
            pub const $constant: Self = Self(0);
            /// How many there are.
            pub const COUNT: usize = 16;

            /// Register number `index`, if there is one.
            #[must_use]
            pub const fn new(index: u8) -> Option<Self> {
                if index < 16 { Some(Self(index)) } else { None }
            }

            /// Its number, below 16.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }

            /// Whether it is register 0.
            #[must_use]
            pub const fn is_constant(self) -> bool {
                self.0 == 0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), self.0)
            }
        }
    };
}

register!(AluReg, "a", "One of the 16 ALU registers of 64 bits.", ZERO, "zero");
register!(TernaryReg, "t", "One of the 16 ternary registers of 64 bits.", ONES, "all ones");
register!(Predicate, "p", "One of the 16 predicates of one bit.", TRUE, "one");

impl Predicate {
    /// Where the ALU's comparison of `section` (0 to 3) goes: p8 to p11.
    ///
    /// # Panics
    /// When there is no such section.
    #[must_use]
    pub const fn of_alu(section: usize) -> Self {
        assert!(section < 4, "a word has four sections");
        Self(8 + section as u8)
    }

    /// Where the ternary comparison of `section` (0 to 3) goes: p12 to p15.
    ///
    /// # Panics
    /// When there is no such section.
    #[must_use]
    pub const fn of_ternary(section: usize) -> Self {
        assert!(section < 4, "a word has four sections");
        Self(12 + section as u8)
    }

    /// Whether the predicate unit can write it: p1 to p7.
    #[must_use]
    pub const fn is_free(self) -> bool {
        self.0 >= 1 && self.0 <= 7
    }
}

/// An address in the microcode store, in words.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Address(u16);

impl Address {
    /// Word number `index`, if the largest store has it.
    #[must_use]
    pub const fn new(index: usize) -> Option<Self> {
        if index < STORE_WORDS { Some(Self(index as u16)) } else { None }
    }

    /// Its number.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Which of the three boundaries between 16-bit sections an operation crosses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Chain(u8);

/// Sections `low` to `high` that act as one number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Group {
    /// Lowest section, 0 to 3.
    pub low: usize,
    /// Highest section, `low` to 3; a comparison gives its result here.
    pub high: usize,
}

impl Group {
    /// The bits of a 64-bit word that belong to the group.
    #[must_use]
    pub const fn mask(self) -> u64 {
        (u64::MAX << (16 * self.low)) & (u64::MAX >> (16 * (3 - self.high)))
    }

    /// Width in bits: 16, 32, 48 or 64.
    #[must_use]
    pub const fn width(self) -> u32 {
        16 * (self.high - self.low + 1) as u32
    }
}

impl Chain {
    /// All boundaries crossed: one number of 64 bits.
    pub const WHOLE: Self = Self(0b111);
    /// No boundary crossed: four numbers of 16 bits; also what logic operations carry.
    pub const SPLIT: Self = Self(0);

    /// From the `simd` bits: bit i chains section i to section i+1.
    #[must_use]
    pub const fn new(bits: u8) -> Option<Self> {
        if bits < 8 { Some(Self(bits)) } else { None }
    }

    /// The `simd` bits.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether section `section` is chained to the next higher one; never so for section 3.
    #[must_use]
    pub const fn crosses(self, section: usize) -> bool {
        self.0 >> section & 1 == 1
    }

    /// The groups, the one with section 0 first.
    pub fn groups(self) -> impl Iterator<Item = Group> {
        let mut low = 0;
        (0..4).filter(move |&high| !self.crosses(high)).map(move |high| {
            let group = Group { low, high };
            low = high + 1;
            group
        })
    }

    /// Whether `section` is the highest of its group.
    #[must_use]
    pub const fn ends_at(self, section: usize) -> bool {
        !self.crosses(section)
    }
}

/// The widths of the groups from the highest to the lowest, as programs write them: `32:16:16`.
impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups: Vec<Group> = self.groups().collect();
        for (place, group) in groups.iter().rev().enumerate() {
            let colon = if place == 0 { "" } else { ":" };
            write!(f, "{colon}{}", group.width())?;
        }
        Ok(())
    }
}

/// A set of the four sections.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Sections(u8);

impl Sections {
    /// From four bits: bit s is section s.
    #[must_use]
    pub const fn new(bits: u8) -> Option<Self> {
        if bits < 16 { Some(Self(bits)) } else { None }
    }

    /// The four bits.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether `section` is in it.
    #[must_use]
    pub const fn contains(self, section: usize) -> bool {
        self.0 >> section & 1 == 1
    }

    /// Its sections, lowest first.
    #[must_use]
    pub fn iter(self) -> impl DoubleEndedIterator<Item = usize> {
        (0..4).filter(move |&section| self.contains(section))
    }
}

/// Which 16-bit field of a popped word goes to which field of the ternary register.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FieldPermute(u8);

impl FieldPermute {
    /// Every field to its own place.
    pub const IDENTITY: Self = Self(0b11_10_01_00);

    /// From the field's bits: bits 2i+1 and 2i name the source of field i.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// The field's bits.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The source of field `place`, 0 to 3.
    #[must_use]
    pub const fn source(self, place: usize) -> usize {
        (self.0 >> (2 * place) & 3) as usize
    }

    /// The permuted word.
    #[must_use]
    pub const fn apply(self, word: u64) -> u64 {
        let mut result = 0;
        let mut place = 0;
        while place < 4 {
            result |= (word >> (16 * self.source(place)) & 0xffff) << (16 * place);
            place += 1;
        }
        result
    }
}

/// Where one byte of a permute's result comes from.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ByteSource {
    /// Byte 0 to 7 of operand 1; 0 is the least significant.
    First(u8),
    /// Byte 0 to 7 of operand 2.
    Second(u8),
    /// Zero.
    Zero,
}

/// The eight byte selectors of a permute.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ByteSelect(u64);

impl ByteSelect {
    const ZERO_CODE: u64 = 16;

    /// From the sources of bytes 0 to 7 of the result; byte numbers count modulo 8.
    #[must_use]
    pub fn new(sources: [ByteSource; 8]) -> Self {
        Self(sources.iter().enumerate().fold(0, |control, (place, source)| {
            let code = match source {
                ByteSource::First(byte) => u64::from(byte & 7),
                ByteSource::Second(byte) => u64::from(byte & 7) + 8,
                ByteSource::Zero => Self::ZERO_CODE,
            };
            control | code << (5 * place)
        }))
    }

    /// From the 40-bit control, if each of its selectors has a meaning.
    #[must_use]
    pub fn from_control(control: u64) -> Option<Self> {
        let valid = control >> 40 == 0 && (0..8).all(|place| control >> (5 * place) & 31 <= Self::ZERO_CODE);
        valid.then_some(Self(control))
    }

    /// The 40-bit control.
    #[must_use]
    pub const fn control(self) -> u64 {
        self.0
    }

    /// The source of byte `place`, 0 to 7, of the result.
    #[must_use]
    pub const fn source(self, place: usize) -> ByteSource {
        let code = (self.0 >> (5 * place) & 31) as u8;
        match code {
            0..=7 => ByteSource::First(code),
            8..=15 => ByteSource::Second(code - 8),
            _ => ByteSource::Zero,
        }
    }

    /// The permuted bytes of two operands.
    #[must_use]
    pub const fn apply(self, first: u64, second: u64) -> u64 {
        let mut result = 0;
        let mut place = 0;
        while place < 8 {
            let byte = match self.source(place) {
                ByteSource::First(byte) => first >> (8 * byte) & 0xff,
                ByteSource::Second(byte) => second >> (8 * byte) & 0xff,
                ByteSource::Zero => 0,
            };
            result |= byte << (8 * place);
            place += 1;
        }
        result
    }
}

/// Operand 2 of the ALU: a register, one half of which an immediate may replace.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Operand2 {
    /// The register, field `rs2`.
    pub reg: AluReg,
    /// The immediate and the half it replaces.
    pub immediate: Option<(Half, u32)>,
}

impl Operand2 {
    /// The operand, when the register reads as `reg`.
    #[must_use]
    pub const fn value(self, reg: u64) -> u64 {
        match self.immediate {
            None => reg,
            Some((Half::Low, value)) => reg & 0xffff_ffff_0000_0000 | value as u64,
            Some((Half::High, value)) => reg & 0xffff_ffff | (value as u64) << 32,
        }
    }
}

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
    /// What a one in the mask means.
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

/// A boolean function of two inputs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct TruthTable(u8);

impl TruthTable {
    /// From four bits: bit 2a+b is the result for inputs a and b.
    #[must_use]
    pub const fn new(bits: u8) -> Option<Self> {
        if bits < 16 { Some(Self(bits)) } else { None }
    }

    /// The four bits.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The function's value.
    #[must_use]
    pub const fn eval(self, a: bool, b: bool) -> bool {
        self.0 >> (2 * a as u8 + b as u8) & 1 == 1
    }
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

/// What a word sent to the output FIFO is marked as.
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

/// A register of any of the three files.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Register {
    /// Of the ALU.
    Alu(AluReg),
    /// Of the ternary unit.
    Ternary(TernaryReg),
    /// A predicate.
    Predicate(Predicate),
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Alu(reg) => reg.fmt(f),
            Self::Ternary(reg) => reg.fmt(f),
            Self::Predicate(reg) => reg.fmt(f),
        }
    }
}

/// What a word that can be written down must not say.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Fault {
    /// A write to register 0.
    #[error("{register} is constant and cannot be written")]
    ConstantWritten {
        /// The writing slot.
        slot: Slot,
        /// a0, t0 or p0.
        register: Register,
    },
    /// Two writes to one register.
    #[error("{register} is written by {} of one word", writers(*first, *second))]
    TwoWriters {
        /// The slot that comes first in [`Slot::ALL`].
        first: Slot,
        /// The other one.
        second: Slot,
        /// The register.
        register: Register,
    },
    /// The predicate unit writes a comparator's predicate.
    #[error("the predicate unit writes p1 to p7 only, not {0}")]
    PredicateReach(Predicate),
    /// A comparison result is taken from inside a group.
    #[error("section {section} is not the highest of its group in {chain}: it holds no result")]
    InnerSection {
        /// The comparing slot.
        slot: Slot,
        /// The section.
        section: usize,
        /// The grouping.
        chain: Chain,
    },
    /// A comparison or copy that writes nothing.
    #[error("the {0} slot writes nothing")]
    NoTarget(Slot),
    /// A pop without the tag.
    #[error("this word pops the input FIFO but does not say `wait`")]
    PopUnsaid,
    /// A test of the head's tag without the tag.
    #[error("this word tests the head of the input FIFO but does not say `wait`")]
    HeadTestUnsaid,
    /// A branch on p0 being zero.
    #[error("p0 is constantly one: `if !p0` never holds")]
    ConstantTested,
    /// Sections named in an operation that has none.
    #[error("`{}` works on single bits: sections have no effect", .0.text())]
    ChainInLogic(ComputeOp),
    /// Logic unit 1 without logic unit 0.
    #[error("logic unit 1 is used while logic unit 0 is idle")]
    SecondUnitAlone,
}

fn writers(first: Slot, second: Slot) -> String {
    if first == second {
        format!("both halves of the {first} slot")
    } else {
        format!("the {first} and the {second} slot")
    }
}

impl Fault {
    /// The rule it breaks.
    #[must_use]
    pub const fn rule(&self) -> Rule {
        match self {
            Self::ConstantWritten { .. } => Rule::ConstantRegister,
            Self::TwoWriters { .. } => Rule::TwoWriters,
            Self::PredicateReach(_) => Rule::PredicateReach,
            Self::InnerSection { .. } => Rule::InnerSection,
            Self::PopUnsaid | Self::HeadTestUnsaid => Rule::InputUnsaid,
            Self::NoTarget(_) | Self::ConstantTested | Self::ChainInLogic(_) | Self::SecondUnitAlone => Rule::Slot,
        }
    }

    /// The slot at fault; for two writers the second one.
    #[must_use]
    pub const fn slot(&self) -> Slot {
        match *self {
            Self::ConstantWritten { slot, .. } | Self::InnerSection { slot, .. } | Self::NoTarget(slot) => slot,
            Self::TwoWriters { second, .. } => second,
            Self::PredicateReach(_) | Self::SecondUnitAlone => Slot::Predicate,
            Self::PopUnsaid => Slot::Input,
            Self::HeadTestUnsaid | Self::ConstantTested => Slot::Branch,
            Self::ChainInLogic(_) => Slot::Alu,
        }
    }
}

/// Why bits are not an instruction word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DecodeError {
    /// Bits beyond the word.
    #[error("bits above bit {} are set", WORD_BITS - 1)]
    Beyond,
    /// A code without meaning.
    #[error("field {field} has no code {code}")]
    UnknownCode {
        /// Slot and field.
        field: &'static str,
        /// What stands there.
        code: u8,
    },
    /// A field that must be zero in this word.
    #[error("field {field} has no effect in this word and must be zero")]
    Unused {
        /// Slot and field.
        field: &'static str,
    },
    /// A word that must not be.
    #[error("{} slot: {fault}", fault.slot())]
    Fault {
        /// What it says.
        #[from]
        fault: Fault,
    },
}

/// A word's 164 bits; bit 0 is bit 0 of the first element. Bits beyond the word are zero in what [`Word::encode`] makes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Encoded(
    /// The bits, least significant element first.
    pub [u64; 3],
);

impl Encoded {
    /// Bytes of a word.
    pub const BYTES: usize = WORD_BITS.div_ceil(8) as usize;

    /// The 21 bytes, least significant first.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        std::array::from_fn(|place| (self.0[place / 8] >> (8 * (place % 8))) as u8)
    }

    /// From 21 bytes, least significant first.
    #[must_use]
    pub fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        let mut word = [0; 3];
        for (place, byte) in bytes.into_iter().enumerate() {
            word[place / 8] |= u64::from(byte) << (8 * (place % 8));
        }
        Self(word)
    }
}

/// Forty-one hexadecimal digits, most significant first.
impl fmt::Display for Encoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:09x}{:016x}{:016x}", self.0[2], self.0[1], self.0[0])
    }
}

impl Word {
    /// The bits of this word. Whether it may be is [`Word::faults`]' question.
    #[must_use]
    pub fn encode(&self) -> Encoded {
        let mut fields = Fields::default();
        encode_input(&mut fields, self.input);
        if let Some(alu) = self.alu {
            encode_alu(&mut fields, alu);
        }
        if let Some(t) = self.ternary {
            fields.ternary_m0 = t.m0.0;
            fields.ternary_m1 = t.m1.0;
            fields.ternary_mask = t.mask.0;
            fields.ternary_mode = t.mode.code();
            fields.ternary_simd = t.chain.0;
            fields.ternary_we = t.enable.0;
            fields.ternary_combine = t.combine.code();
        }
        if let [Some(m), _] = self.predicate {
            (fields.predicate_a0, fields.predicate_b0) = (m.a.0, m.b.0);
            (fields.predicate_lut0, fields.predicate_rd0) = (m.table.0, m.rd.0 & 7);
        }
        if let [_, Some(m)] = self.predicate {
            (fields.predicate_a1, fields.predicate_b1) = (m.a.0, m.b.0);
            (fields.predicate_lut1, fields.predicate_rd1) = (m.table.0, m.rd.0 & 7);
        }
        if let Some(branch) = self.branch {
            let (polarity, predicate) = match branch.condition {
                Condition::Always => (1, Predicate::TRUE),
                Condition::If(predicate) => (1, predicate),
                Condition::Unless(predicate) => (0, predicate),
                Condition::NoItem => (0, Predicate::TRUE),
            };
            fields.branch_enable = 1;
            fields.branch_polarity = polarity;
            fields.branch_pred = predicate.0;
            fields.branch_target = branch.target.0;
        }
        if let Some(copy) = self.copy {
            fields.copy_pred = copy.guard.0;
            fields.copy_rs = copy.rs.0;
            fields.copy_trd = copy.ternary.map_or(0, |reg| reg.0);
            fields.copy_out = u8::from(copy.output.is_some());
            fields.copy_last = u8::from(copy.output == Some(Output::Last));
        }
        Encoded(fields.pack())
    }

    /// The word with these bits.
    ///
    /// # Errors
    /// When a code is unknown, a bit is set that has no effect, or the word has a [`Fault`].
    pub fn decode(bits: Encoded) -> Result<Self, DecodeError> {
        if bits.0[2] >> (WORD_BITS - 128) != 0 {
            return Err(DecodeError::Beyond);
        }
        let fields = Fields::unpack(bits.0);
        let word = Self {
            input: decode_input(&fields),
            alu: decode_alu(&fields)?,
            ternary: decode_ternary(&fields)?,
            predicate: decode_predicate(&fields),
            branch: decode_branch(&fields),
            copy: decode_copy(&fields),
        };
        // What the decoded word does not say again had no effect: this keeps one word for one meaning.
        let again = word.encode().0;
        let differs =
            |&&(_, offset, width): &&(&str, usize, usize)| take(bits.0, offset, width) != take(again, offset, width);
        if let Some(&(field, ..)) = FIELDS.iter().find(differs) {
            return Err(DecodeError::Unused { field });
        }
        match word.faults().first() {
            Some(&fault) => Err(fault.into()),
            None => Ok(word),
        }
    }

    /// Everything this word says and must not, in the order of the slots.
    #[must_use]
    pub fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        let writes = self.writes();
        for (place, &(slot, register)) in writes.iter().enumerate() {
            let constant = match register {
                Register::Alu(reg) => reg.is_constant(),
                Register::Ternary(reg) => reg.is_constant(),
                Register::Predicate(reg) => reg.is_constant(),
            };
            if constant {
                faults.push(Fault::ConstantWritten { slot, register });
            } else if let Some(&(first, _)) = writes[..place].iter().find(|write| write.1 == register) {
                faults.push(Fault::TwoWriters { first, second: slot, register });
            }
        }
        if self.input.pop.is_some() && !self.input.needs_input {
            faults.push(Fault::PopUnsaid);
        }
        match self.alu {
            Some(Alu::Compute { op, chain, .. }) if op.is_logic() && chain != Chain::SPLIT => {
                faults.push(Fault::ChainInLogic(op));
            }
            Some(Alu::Compare { chain, enable, .. }) => comparison_faults(&mut faults, Slot::Alu, chain, enable),
            _ => {}
        }
        if let Some(Ternary { chain, enable, .. }) = self.ternary {
            comparison_faults(&mut faults, Slot::Ternary, chain, enable);
        }
        if matches!(self.predicate, [None, Some(_)]) {
            faults.push(Fault::SecondUnitAlone);
        }
        for merge in self.predicate.into_iter().flatten() {
            if !merge.rd.is_free() && !merge.rd.is_constant() {
                faults.push(Fault::PredicateReach(merge.rd));
            }
        }
        if self.branch.is_some_and(|branch| branch.condition == Condition::NoItem) && !self.input.needs_input {
            faults.push(Fault::HeadTestUnsaid);
        }
        if self.branch.is_some_and(|branch| branch.condition == Condition::Unless(Predicate::TRUE)) {
            faults.push(Fault::ConstantTested);
        }
        if self.copy.is_some_and(|copy| copy.ternary.is_none() && copy.output.is_none()) {
            faults.push(Fault::NoTarget(Slot::Copy));
        }
        faults
    }

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

fn comparison_faults(faults: &mut Vec<Fault>, slot: Slot, chain: Chain, enable: Sections) {
    if enable == Sections::default() {
        faults.push(Fault::NoTarget(slot));
    }
    let inner = enable.iter().filter(|&section| !chain.ends_at(section));
    faults.extend(inner.map(|section| Fault::InnerSection { slot, section, chain }));
}

fn encode_input(fields: &mut Fields, input: Input) {
    fields.input_needs = u8::from(input.needs_input);
    if let Some(pop) = input.pop {
        fields.input_pop = 1;
        fields.input_ard = pop.alu.map_or(0, |reg| reg.0);
        if let Some((reg, permute)) = pop.ternary {
            fields.input_trd = reg.0;
            fields.input_permute = permute.0;
        }
    }
}

fn encode_alu(fields: &mut Fields, alu: Alu) {
    let operand2 = match alu {
        Alu::Compute { op, guard, rd, rs1, operand2, chain } => {
            fields.alu_op = op.code();
            fields.alu_pred = guard.0;
            fields.alu_rd = rd.0;
            fields.alu_rs1 = rs1.0;
            fields.alu_simd = chain.0;
            operand2
        }
        Alu::Compare { op, rs1, operand2, chain, enable, combine } => {
            fields.alu_op = op.code();
            fields.alu_rs1 = rs1.0;
            fields.alu_simd = chain.0;
            fields.alu_cmp_we = enable.0;
            fields.alu_combine = combine.code();
            operand2
        }
        Alu::Permute { guard, rd, rs1, rs2, select } => {
            fields.alu_op = PermuteOp::Permute.code();
            fields.alu_pred = guard.0;
            fields.alu_rd = rd.0;
            fields.alu_rs1 = rs1.0;
            // The 40 control bits, from low to high: imm 32, simd 3, cmp_we 4, combine 1.
            fields.alu_imm = select.0 as u32;
            fields.alu_simd = (select.0 >> 32 & 7) as u8;
            fields.alu_cmp_we = (select.0 >> 35 & 15) as u8;
            fields.alu_combine = (select.0 >> 39) as u8;
            Operand2 { reg: rs2, immediate: None }
        }
    };
    fields.alu_rs2 = operand2.reg.0;
    if let Some((half, value)) = operand2.immediate {
        fields.alu_imm_sel = half.code();
        fields.alu_imm = value;
    }
}

fn decode_input(fields: &Fields) -> Input {
    let pop = Pop {
        alu: written(fields.input_ard).then_some(AluReg(fields.input_ard)),
        ternary: written(fields.input_trd)
            .then_some((TernaryReg(fields.input_trd), FieldPermute(fields.input_permute))),
    };
    Input { needs_input: fields.input_needs == 1, pop: (fields.input_pop == 1).then_some(pop) }
}

/// Whether a destination field names a register: 0 is none.
const fn written(field: u8) -> bool {
    field != 0
}

fn decode_alu(fields: &Fields) -> Result<Option<Alu>, DecodeError> {
    let (guard, rd, rs1) = (Predicate(fields.alu_pred), AluReg(fields.alu_rd), AluReg(fields.alu_rs1));
    let chain = Chain(fields.alu_simd);
    let operand2 = || {
        let unknown = DecodeError::UnknownCode { field: "alu.imm_sel", code: fields.alu_imm_sel };
        let immediate = match fields.alu_imm_sel {
            0 => None,
            code => Some((Half::from_code(code).ok_or(unknown)?, fields.alu_imm)),
        };
        Ok::<_, DecodeError>(Operand2 { reg: AluReg(fields.alu_rs2), immediate })
    };
    if fields.alu_op == 0 {
        Ok(None)
    } else if let Some(op) = ComputeOp::from_code(fields.alu_op) {
        Ok(Some(Alu::Compute { op, guard, rd, rs1, operand2: operand2()?, chain }))
    } else if let Some(op) = CompareOp::from_code(fields.alu_op) {
        let enable = Sections(fields.alu_cmp_we);
        let combine = decode_combine("alu.combine", fields.alu_combine)?;
        Ok(Some(Alu::Compare { op, rs1, operand2: operand2()?, chain, enable, combine }))
    } else if PermuteOp::from_code(fields.alu_op).is_some() {
        let control = u64::from(fields.alu_imm)
            | u64::from(fields.alu_simd) << 32
            | u64::from(fields.alu_cmp_we) << 35
            | u64::from(fields.alu_combine & 1) << 39;
        let select = ByteSelect::from_control(control).ok_or_else(|| {
            let bad = (0..8).map(|place| (control >> (5 * place) & 31) as u8).find(|&code| code > 16);
            DecodeError::UnknownCode { field: "alu.imm (byte selector)", code: bad.unwrap_or_default() }
        })?;
        Ok(Some(Alu::Permute { guard, rd, rs1, rs2: AluReg(fields.alu_rs2), select }))
    } else {
        Err(DecodeError::UnknownCode { field: "alu.op", code: fields.alu_op })
    }
}

fn decode_combine(field: &'static str, code: u8) -> Result<Combine, DecodeError> {
    Combine::from_code(code).ok_or(DecodeError::UnknownCode { field, code })
}

fn decode_ternary(fields: &Fields) -> Result<Option<Ternary>, DecodeError> {
    if fields.ternary_we == 0 {
        return Ok(None);
    }
    let mode = MaskMode::from_code(fields.ternary_mode)
        .ok_or(DecodeError::UnknownCode { field: "ternary.mode", code: fields.ternary_mode })?;
    Ok(Some(Ternary {
        m0: TernaryReg(fields.ternary_m0),
        m1: TernaryReg(fields.ternary_m1),
        mask: TernaryReg(fields.ternary_mask),
        mode,
        chain: Chain(fields.ternary_simd),
        enable: Sections(fields.ternary_we),
        combine: decode_combine("ternary.combine", fields.ternary_combine)?,
    }))
}

fn decode_predicate(fields: &Fields) -> [Option<Merge>; 2] {
    let unit = |a, b, table, rd| {
        written(rd).then_some(Merge { a: Predicate(a), b: Predicate(b), table: TruthTable(table), rd: Predicate(rd) })
    };
    [
        unit(fields.predicate_a0, fields.predicate_b0, fields.predicate_lut0, fields.predicate_rd0),
        unit(fields.predicate_a1, fields.predicate_b1, fields.predicate_lut1, fields.predicate_rd1),
    ]
}

fn decode_branch(fields: &Fields) -> Option<Branch> {
    let condition = match (fields.branch_polarity, fields.branch_pred) {
        (1, 0) => Condition::Always,
        (_, 0) => Condition::NoItem,
        (1, predicate) => Condition::If(Predicate(predicate)),
        (_, predicate) => Condition::Unless(Predicate(predicate)),
    };
    (fields.branch_enable == 1).then_some(Branch { condition, target: Address(fields.branch_target) })
}

fn decode_copy(fields: &Fields) -> Option<DataCopy> {
    let last = if fields.copy_last == 1 { Output::Last } else { Output::More };
    (written(fields.copy_trd) || fields.copy_out == 1).then_some(DataCopy {
        guard: Predicate(fields.copy_pred),
        rs: AluReg(fields.copy_rs),
        ternary: written(fields.copy_trd).then_some(TernaryReg(fields.copy_trd)),
        output: (fields.copy_out == 1).then_some(last),
    })
}
