// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Fields of the instruction word, their packing and the operation tables.
//!
//! Generated from `spec/isa/match_unit.toml` by `make gen`; do not edit.

/// Bits of an instruction word.
pub const WORD_BITS: u32 = 164;

/// Words of the microcode store, and addresses that a branch can reach.
pub const STORE_WORDS: usize = 1024;

/// The fields of one word, each with its bits at the low end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Fields {
    /// Immediate that replaces one half of operand 2; in a permute, the low 32 bits of the byte
    /// selectors.
    pub alu_imm: u32,
    /// Which half of operand 2 the immediate replaces; the other half comes from register rs2
    /// unchanged.
    pub alu_imm_sel: u8,
    /// How a comparison result enters its predicate; in a permute, bit 0 is bit 39 of the byte
    /// selectors and bit 1 is zero.
    pub alu_combine: u8,
    /// Bit s lets the comparison result of section s be written to predicate p(8+s); in a
    /// permute, bits 38 to 35 of the byte selectors.
    pub alu_cmp_we: u8,
    /// Bit i chains section i to section i+1; in a permute, bits 34 to 32 of the byte selectors;
    /// zero in logic operations, where it would have no effect.
    pub alu_simd: u8,
    /// ALU register read as operand 2.
    pub alu_rs2: u8,
    /// ALU register read as operand 1.
    pub alu_rs1: u8,
    /// ALU register that receives the result; zero in comparisons, never zero in other
    /// operations.
    pub alu_rd: u8,
    /// Predicate that guards the write of the result; zero in comparisons, which are not
    /// predicated.
    pub alu_pred: u8,
    /// The operation; zero is an idle slot, whose other fields are zero.
    pub alu_op: u8,
    /// How the result enters its predicate.
    pub ternary_combine: u8,
    /// Bit s lets the result of section s be written to predicate p(12+s); zero is an idle slot,
    /// whose other fields are zero.
    pub ternary_we: u8,
    /// Bit i chains section i to section i+1.
    pub ternary_simd: u8,
    /// Whether a mask bit of one lets the bit take part or leaves it out.
    pub ternary_mode: u8,
    /// Ternary register read as the mask.
    pub ternary_mask: u8,
    /// Ternary register read as match1.
    pub ternary_m1: u8,
    /// Ternary register read as match0.
    pub ternary_m0: u8,
    /// First input of logic unit 0.
    pub predicate_a0: u8,
    /// Second input of logic unit 0.
    pub predicate_b0: u8,
    /// Truth table of logic unit 0: bit 2a+b is the result for inputs a and b.
    pub predicate_lut0: u8,
    /// Predicate p1 to p7 that receives the result of logic unit 0; zero is an idle unit, whose
    /// other fields are zero.
    pub predicate_rd0: u8,
    /// First input of logic unit 1.
    pub predicate_a1: u8,
    /// Second input of logic unit 1.
    pub predicate_b1: u8,
    /// Truth table of logic unit 1.
    pub predicate_lut1: u8,
    /// Predicate p1 to p7 that receives the result of logic unit 1; zero is an idle unit; unit 1
    /// is used only together with unit 0.
    pub predicate_rd1: u8,
    /// Address of the target word.
    pub branch_target: u16,
    /// Predicate that is tested; p0 with polarity zero tests the input FIFO instead: the branch
    /// is taken when the tag at the head is not item.
    pub branch_pred: u8,
    /// Value of the predicate on which the branch is taken.
    pub branch_polarity: u8,
    /// The slot holds a branch; zero is an idle slot, whose other fields are zero.
    pub branch_enable: u8,
    /// The whole word waits until the input FIFO holds a word; set in every word that pops or
    /// tests the tag.
    pub input_needs: u8,
    /// Bits 2i+1 and 2i name the 16-bit field of the popped word that goes to field i of the
    /// ternary register; zero without a ternary destination.
    pub input_permute: u8,
    /// Ternary register that receives the permuted word; zero is none.
    pub input_trd: u8,
    /// ALU register that receives the word unchanged; zero is none.
    pub input_ard: u8,
    /// Take the word at the head; zero is an idle slot, whose destination fields are zero.
    pub input_pop: u8,
    /// The word sent is the last of an answer.
    pub copy_last: u8,
    /// Send the register to the output FIFO.
    pub copy_out: u8,
    /// Ternary register that receives the copy; zero is none; zero with out zero is an idle
    /// slot, whose other fields are zero.
    pub copy_trd: u8,
    /// ALU register that is read; a0 sends zero.
    pub copy_rs: u8,
    /// Predicate that guards both destinations.
    pub copy_pred: u8,
}

/// Slot and name, offset and width of every field, the lowest first.
pub const FIELDS: [(&str, usize, usize); 39] = [
    ("alu.imm", 0, 32),
    ("alu.imm_sel", 32, 2),
    ("alu.combine", 34, 2),
    ("alu.cmp_we", 36, 4),
    ("alu.simd", 40, 3),
    ("alu.rs2", 43, 4),
    ("alu.rs1", 47, 4),
    ("alu.rd", 51, 4),
    ("alu.pred", 55, 4),
    ("alu.op", 59, 5),
    ("ternary.combine", 64, 2),
    ("ternary.we", 66, 4),
    ("ternary.simd", 70, 3),
    ("ternary.mode", 73, 1),
    ("ternary.mask", 74, 4),
    ("ternary.m1", 78, 4),
    ("ternary.m0", 82, 4),
    ("predicate.a0", 86, 4),
    ("predicate.b0", 90, 4),
    ("predicate.lut0", 94, 4),
    ("predicate.rd0", 98, 3),
    ("predicate.a1", 101, 4),
    ("predicate.b1", 105, 4),
    ("predicate.lut1", 109, 4),
    ("predicate.rd1", 113, 3),
    ("branch.target", 116, 10),
    ("branch.pred", 126, 4),
    ("branch.polarity", 130, 1),
    ("branch.enable", 131, 1),
    ("input.needs", 132, 1),
    ("input.permute", 133, 8),
    ("input.trd", 141, 4),
    ("input.ard", 145, 4),
    ("input.pop", 149, 1),
    ("copy.last", 150, 1),
    ("copy.out", 151, 1),
    ("copy.trd", 152, 4),
    ("copy.rs", 156, 4),
    ("copy.pred", 160, 4),
];

impl Fields {
    /// Packs the fields into a word, least significant bits first.
    ///
    /// # Panics
    /// When a value has more bits than its field.
    #[must_use]
    pub const fn pack(self) -> [u64; 3] {
        let mut word = [0; 3];
        put(&mut word, 0, 32, self.alu_imm as u64);
        put(&mut word, 32, 2, self.alu_imm_sel as u64);
        put(&mut word, 34, 2, self.alu_combine as u64);
        put(&mut word, 36, 4, self.alu_cmp_we as u64);
        put(&mut word, 40, 3, self.alu_simd as u64);
        put(&mut word, 43, 4, self.alu_rs2 as u64);
        put(&mut word, 47, 4, self.alu_rs1 as u64);
        put(&mut word, 51, 4, self.alu_rd as u64);
        put(&mut word, 55, 4, self.alu_pred as u64);
        put(&mut word, 59, 5, self.alu_op as u64);
        put(&mut word, 64, 2, self.ternary_combine as u64);
        put(&mut word, 66, 4, self.ternary_we as u64);
        put(&mut word, 70, 3, self.ternary_simd as u64);
        put(&mut word, 73, 1, self.ternary_mode as u64);
        put(&mut word, 74, 4, self.ternary_mask as u64);
        put(&mut word, 78, 4, self.ternary_m1 as u64);
        put(&mut word, 82, 4, self.ternary_m0 as u64);
        put(&mut word, 86, 4, self.predicate_a0 as u64);
        put(&mut word, 90, 4, self.predicate_b0 as u64);
        put(&mut word, 94, 4, self.predicate_lut0 as u64);
        put(&mut word, 98, 3, self.predicate_rd0 as u64);
        put(&mut word, 101, 4, self.predicate_a1 as u64);
        put(&mut word, 105, 4, self.predicate_b1 as u64);
        put(&mut word, 109, 4, self.predicate_lut1 as u64);
        put(&mut word, 113, 3, self.predicate_rd1 as u64);
        put(&mut word, 116, 10, self.branch_target as u64);
        put(&mut word, 126, 4, self.branch_pred as u64);
        put(&mut word, 130, 1, self.branch_polarity as u64);
        put(&mut word, 131, 1, self.branch_enable as u64);
        put(&mut word, 132, 1, self.input_needs as u64);
        put(&mut word, 133, 8, self.input_permute as u64);
        put(&mut word, 141, 4, self.input_trd as u64);
        put(&mut word, 145, 4, self.input_ard as u64);
        put(&mut word, 149, 1, self.input_pop as u64);
        put(&mut word, 150, 1, self.copy_last as u64);
        put(&mut word, 151, 1, self.copy_out as u64);
        put(&mut word, 152, 4, self.copy_trd as u64);
        put(&mut word, 156, 4, self.copy_rs as u64);
        put(&mut word, 160, 4, self.copy_pred as u64);
        word
    }
    /// Unpacks the fields of a word; bits beyond the word are ignored.
    #[must_use]
    pub const fn unpack(word: [u64; 3]) -> Self {
        Self {
            alu_imm: take(word, 0, 32) as u32,
            alu_imm_sel: take(word, 32, 2) as u8,
            alu_combine: take(word, 34, 2) as u8,
            alu_cmp_we: take(word, 36, 4) as u8,
            alu_simd: take(word, 40, 3) as u8,
            alu_rs2: take(word, 43, 4) as u8,
            alu_rs1: take(word, 47, 4) as u8,
            alu_rd: take(word, 51, 4) as u8,
            alu_pred: take(word, 55, 4) as u8,
            alu_op: take(word, 59, 5) as u8,
            ternary_combine: take(word, 64, 2) as u8,
            ternary_we: take(word, 66, 4) as u8,
            ternary_simd: take(word, 70, 3) as u8,
            ternary_mode: take(word, 73, 1) as u8,
            ternary_mask: take(word, 74, 4) as u8,
            ternary_m1: take(word, 78, 4) as u8,
            ternary_m0: take(word, 82, 4) as u8,
            predicate_a0: take(word, 86, 4) as u8,
            predicate_b0: take(word, 90, 4) as u8,
            predicate_lut0: take(word, 94, 4) as u8,
            predicate_rd0: take(word, 98, 3) as u8,
            predicate_a1: take(word, 101, 4) as u8,
            predicate_b1: take(word, 105, 4) as u8,
            predicate_lut1: take(word, 109, 4) as u8,
            predicate_rd1: take(word, 113, 3) as u8,
            branch_target: take(word, 116, 10) as u16,
            branch_pred: take(word, 126, 4) as u8,
            branch_polarity: take(word, 130, 1) as u8,
            branch_enable: take(word, 131, 1) as u8,
            input_needs: take(word, 132, 1) as u8,
            input_permute: take(word, 133, 8) as u8,
            input_trd: take(word, 141, 4) as u8,
            input_ard: take(word, 145, 4) as u8,
            input_pop: take(word, 149, 1) as u8,
            copy_last: take(word, 150, 1) as u8,
            copy_out: take(word, 151, 1) as u8,
            copy_trd: take(word, 152, 4) as u8,
            copy_rs: take(word, 156, 4) as u8,
            copy_pred: take(word, 160, 4) as u8,
        }
    }
}

const fn put(word: &mut [u64; 3], offset: usize, bits: usize, value: u64) {
    assert!(value >> bits == 0, "a value has more bits than its field");
    word[offset / 64] |= value << (offset % 64);
    if offset % 64 + bits > 64 {
        word[offset / 64 + 1] |= value >> (64 - offset % 64);
    }
}

/// The bits `offset` to `offset + bits - 1` of a word, at the low end; at most 32 of them.
#[must_use]
pub const fn take(word: [u64; 3], offset: usize, bits: usize) -> u64 {
    let mut value = word[offset / 64] >> (offset % 64);
    if offset % 64 + bits > 64 {
        value |= word[offset / 64 + 1] << (64 - offset % 64);
    }
    value & ((1 << bits) - 1)
}

/// An ALU operation that writes a register.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ComputeOp {
    /// `add`: Each group of the result is operand 1 plus operand 2, modulo the group's width.
    Add,
    /// `sub`: Each group of the result is operand 1 minus operand 2, modulo the group's width.
    Sub,
    /// `and`: Bitwise and.
    And,
    /// `or`: Bitwise or; with a0 as operand 1 it moves a register or loads a constant.
    Or,
    /// `xor`: Bitwise exclusive or.
    Xor,
    /// `andn`: Operand 1 and the complement of operand 2.
    AndNot,
    /// `nor`: The complement of the bitwise or; with a0 as operand 1 it is the complement.
    Nor,
}

impl ComputeOp {
    /// Every value, in the order of the codes.
    pub const ALL: [Self; 7] = [
        Self::Add,
        Self::Sub,
        Self::And,
        Self::Or,
        Self::Xor,
        Self::AndNot,
        Self::Nor,
    ];
    /// Its bits in the field `alu.op`.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Add => 1,
            Self::Sub => 2,
            Self::And => 3,
            Self::Or => 4,
            Self::Xor => 5,
            Self::AndNot => 6,
            Self::Nor => 7,
        }
    }
    /// The value with these bits, if there is one.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Add),
            2 => Some(Self::Sub),
            3 => Some(Self::And),
            4 => Some(Self::Or),
            5 => Some(Self::Xor),
            6 => Some(Self::AndNot),
            7 => Some(Self::Nor),
            _ => None,
        }
    }
    /// Its text in a program.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Sub => "sub",
            Self::And => "and",
            Self::Or => "or",
            Self::Xor => "xor",
            Self::AndNot => "andn",
            Self::Nor => "nor",
        }
    }
    /// The value with this text, if there is one.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|value| value.text() == text)
    }
}

/// The ALU operation that rearranges bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PermuteOp {
    /// `perm`: Each byte of the result is any byte of operand 1 (selector 0 to 7), any byte of
    /// operand 2 (selector 8 to 15) or zero (selector 16); selector i is bits 5i+4 to 5i of the
    /// 40-bit control.
    Permute,
}

impl PermuteOp {
    /// Every value, in the order of the codes.
    pub const ALL: [Self; 1] = [Self::Permute];
    /// Its bits in the field `alu.op`.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Permute => 8,
        }
    }
    /// The value with these bits, if there is one.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            8 => Some(Self::Permute),
            _ => None,
        }
    }
    /// Its text in a program.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Permute => "perm",
        }
    }
    /// The value with this text, if there is one.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|value| value.text() == text)
    }
}

/// An ALU comparison: each group compares operand 1 with operand 2 and gives its result at
/// the group's highest section.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CompareOp {
    /// `eq`: Holds when the operands are equal.
    Equal,
    /// `ne`: Holds when the operands differ.
    NotEqual,
    /// `lt`: Holds when operand 1 is below operand 2, both unsigned.
    Less,
    /// `ge`: Holds when operand 1 is not below operand 2, both unsigned.
    GreaterEqual,
    /// `le`: Holds when operand 1 is not above operand 2, both unsigned.
    LessEqual,
    /// `gt`: Holds when operand 1 is above operand 2, both unsigned.
    Greater,
    /// `slt`: Holds when operand 1 is below operand 2, both in two's complement.
    LessSigned,
    /// `sge`: Holds when operand 1 is not below operand 2, both in two's complement.
    GreaterEqualSigned,
    /// `sle`: Holds when operand 1 is not above operand 2, both in two's complement.
    LessEqualSigned,
    /// `sgt`: Holds when operand 1 is above operand 2, both in two's complement.
    GreaterSigned,
}

impl CompareOp {
    /// Every value, in the order of the codes.
    pub const ALL: [Self; 10] = [
        Self::Equal,
        Self::NotEqual,
        Self::Less,
        Self::GreaterEqual,
        Self::LessEqual,
        Self::Greater,
        Self::LessSigned,
        Self::GreaterEqualSigned,
        Self::LessEqualSigned,
        Self::GreaterSigned,
    ];
    /// Its bits in the field `alu.op`.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Equal => 16,
            Self::NotEqual => 17,
            Self::Less => 18,
            Self::GreaterEqual => 19,
            Self::LessEqual => 20,
            Self::Greater => 21,
            Self::LessSigned => 26,
            Self::GreaterEqualSigned => 27,
            Self::LessEqualSigned => 28,
            Self::GreaterSigned => 29,
        }
    }
    /// The value with these bits, if there is one.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            16 => Some(Self::Equal),
            17 => Some(Self::NotEqual),
            18 => Some(Self::Less),
            19 => Some(Self::GreaterEqual),
            20 => Some(Self::LessEqual),
            21 => Some(Self::Greater),
            26 => Some(Self::LessSigned),
            27 => Some(Self::GreaterEqualSigned),
            28 => Some(Self::LessEqualSigned),
            29 => Some(Self::GreaterSigned),
            _ => None,
        }
    }
    /// Its text in a program.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Equal => "eq",
            Self::NotEqual => "ne",
            Self::Less => "lt",
            Self::GreaterEqual => "ge",
            Self::LessEqual => "le",
            Self::Greater => "gt",
            Self::LessSigned => "slt",
            Self::GreaterEqualSigned => "sge",
            Self::LessEqualSigned => "sle",
            Self::GreaterSigned => "sgt",
        }
    }
    /// The value with this text, if there is one.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|value| value.text() == text)
    }
}

/// The half of operand 2 that the immediate replaces; code 0 means no immediate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Half {
    /// `low`: The immediate is bits 31 to 0 of operand 2.
    Low,
    /// `high`: The immediate is bits 63 to 32 of operand 2.
    High,
}

impl Half {
    /// Every value, in the order of the codes.
    pub const ALL: [Self; 2] = [Self::Low, Self::High];
    /// Its bits in the field `alu.imm_sel`.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Low => 1,
            Self::High => 2,
        }
    }
    /// The value with these bits, if there is one.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Low),
            2 => Some(Self::High),
            _ => None,
        }
    }
    /// Its text in a program.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::High => "high",
        }
    }
    /// The value with this text, if there is one.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|value| value.text() == text)
    }
}

/// How a comparison result enters its predicate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Combine {
    /// `=`: The predicate becomes the result.
    Overwrite,
    /// `&=`: The predicate becomes its old value and the result.
    And,
    /// `|=`: The predicate becomes its old value or the result.
    Or,
}

impl Combine {
    /// Every value, in the order of the codes.
    pub const ALL: [Self; 3] = [Self::Overwrite, Self::And, Self::Or];
    /// Its bits in the field `alu.combine`.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Overwrite => 0,
            Self::And => 1,
            Self::Or => 2,
        }
    }
    /// The value with these bits, if there is one.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Overwrite),
            1 => Some(Self::And),
            2 => Some(Self::Or),
            _ => None,
        }
    }
    /// Its text in a program.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Overwrite => "=",
            Self::And => "&=",
            Self::Or => "|=",
        }
    }
    /// The value with this text, if there is one.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|value| value.text() == text)
    }
}

/// What a one in the mask means.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MaskMode {
    /// `ignore`: Bits whose mask bit is one are left out of the comparison.
    Ignore,
    /// `care`: Only bits whose mask bit is one take part in the comparison.
    Care,
}

impl MaskMode {
    /// Every value, in the order of the codes.
    pub const ALL: [Self; 2] = [Self::Ignore, Self::Care];
    /// Its bits in the field `ternary.mode`.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Ignore => 0,
            Self::Care => 1,
        }
    }
    /// The value with these bits, if there is one.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Ignore),
            1 => Some(Self::Care),
            _ => None,
        }
    }
    /// Its text in a program.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Ignore => "ignore",
            Self::Care => "care",
        }
    }
    /// The value with this text, if there is one.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|value| value.text() == text)
    }
}

/// The rule by which a text, a word or a program is rejected.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rule {
    /// Text that is not a statement, a directive or a label.
    Syntax,
    /// A name that is unknown, given twice or reserved.
    Names,
    /// A number outside the range that its place allows.
    Range,
    /// A statement for a slot that cannot execute it, or for a slot that the word already uses.
    Slot,
    /// A guard on anything but an ALU result, a copy or a branch.
    Predication,
    /// Writing a0, t0 or p0.
    ConstantRegister,
    /// Two slots of one word that write the same register or predicate.
    TwoWriters,
    /// Writing p8 to p15 from the predicate unit, p12 to p15 from the ALU, p8 to p11 from the
    /// ternary unit, or p1 to p7 from a comparison.
    PredicateReach,
    /// Enabling the comparison result of a section that is not the highest of its group.
    InnerSection,
    /// An immediate in a permute: the field holds byte selectors.
    ImmediateAndPermute,
    /// Popping the input FIFO or testing its tag in a word that is not tagged as needing input.
    MissingWait,
    /// A branch to an address that holds no word of the program.
    Target,
    /// A branch whose two delay slots are not both words of the program.
    DelaySlots,
    /// A branch that execution reaches only in delay slots of unconditional branches: it is
    /// always cancelled.
    DeadBranch,
    /// A program that can run past its last word: the third word from the end must be an
    /// unconditional branch, and no branch may go to the two words after it.
    End,
    /// More words than the microcode store holds.
    Store,
}

impl Rule {
    /// Every rule, in the order of the specification.
    pub const ALL: [Self; 16] = [
        Self::Syntax,
        Self::Names,
        Self::Range,
        Self::Slot,
        Self::Predication,
        Self::ConstantRegister,
        Self::TwoWriters,
        Self::PredicateReach,
        Self::InnerSection,
        Self::ImmediateAndPermute,
        Self::MissingWait,
        Self::Target,
        Self::DelaySlots,
        Self::DeadBranch,
        Self::End,
        Self::Store,
    ];
    /// Its short name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::Names => "names",
            Self::Range => "range",
            Self::Slot => "slot",
            Self::Predication => "predication",
            Self::ConstantRegister => "constant register",
            Self::TwoWriters => "two writers",
            Self::PredicateReach => "predicate reach",
            Self::InnerSection => "inner section",
            Self::ImmediateAndPermute => "immediate and permute",
            Self::MissingWait => "missing wait",
            Self::Target => "target",
            Self::DelaySlots => "delay slots",
            Self::DeadBranch => "dead branch",
            Self::End => "end",
            Self::Store => "store",
        }
    }
    /// What it rejects.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Syntax => "Text that is not a statement, a directive or a label.",
            Self::Names => "A name that is unknown, given twice or reserved.",
            Self::Range => "A number outside the range that its place allows.",
            Self::Slot => {
                "A statement for a slot that cannot execute it, or for a slot that the word already uses."
            }
            Self::Predication => {
                "A guard on anything but an ALU result, a copy or a branch."
            }
            Self::ConstantRegister => "Writing a0, t0 or p0.",
            Self::TwoWriters => {
                "Two slots of one word that write the same register or predicate."
            }
            Self::PredicateReach => {
                "Writing p8 to p15 from the predicate unit, p12 to p15 from the ALU, p8 to p11 from the ternary unit, or p1 to p7 from a comparison."
            }
            Self::InnerSection => {
                "Enabling the comparison result of a section that is not the highest of its group."
            }
            Self::ImmediateAndPermute => {
                "An immediate in a permute: the field holds byte selectors."
            }
            Self::MissingWait => {
                "Popping the input FIFO or testing its tag in a word that is not tagged as needing input."
            }
            Self::Target => "A branch to an address that holds no word of the program.",
            Self::DelaySlots => {
                "A branch whose two delay slots are not both words of the program."
            }
            Self::DeadBranch => {
                "A branch that execution reaches only in delay slots of unconditional branches: it is always cancelled."
            }
            Self::End => {
                "A program that can run past its last word: the third word from the end must be an unconditional branch, and no branch may go to the two words after it."
            }
            Self::Store => "More words than the microcode store holds.",
        }
    }
}
