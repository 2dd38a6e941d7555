// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Encoding and decoding of words. Each meaning has one encoding: bits without effect are rejected.

use std::fmt;

use super::{
    Address, Alu, AluReg, Branch, ByteSelect, Chain, Condition, DataCopy, FieldPermute, Input, Merge, Operand2, Output,
    Pop, Predicate, Sections, Ternary, TernaryReg, TruthTable, Word, WordFault,
};
use crate::layout::{Combine, CompareOp, ComputeOp, FIELDS, Fields, Half, MaskMode, PermuteOp, WORD_BITS, take};

/// Why bits are not an instruction word.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DecodeError {
    /// Bits beyond the word.
    #[error("found bits above bit {} set; expected zeros", WORD_BITS - 1)]
    Beyond,
    /// A code without meaning.
    #[error("field {field}: unknown code {code}")]
    UnknownCode {
        /// Slot and field.
        field: &'static str,
        /// What stands there.
        code: u8,
    },
    /// A field that must be zero in this word.
    #[error("field {field}: found a value without effect in this word; expected zero")]
    Unused {
        /// Slot and field.
        field: &'static str,
    },
    /// A word that must not be.
    #[error("{} slot: {fault}", fault.slot())]
    WordFault {
        /// What it says.
        #[from]
        fault: WordFault,
    },
}

/// A word's 164 bits; bit 0 is bit 0 of the first element. Bits beyond the word are zero in what
/// [`Word::encode`] makes.
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
    /// When a code is unknown, a bit is set that has no effect, or the word has a [`WordFault`].
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
            let control = select.control();
            fields.alu_imm = control as u32;
            fields.alu_simd = (control >> 32 & 7) as u8;
            fields.alu_cmp_we = (control >> 35 & 15) as u8;
            fields.alu_combine = (control >> 39) as u8;
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
