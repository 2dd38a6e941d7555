// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Words in bits: decoding and encoding are inverse, and what is refused is refused for its reason.

use mb_asm::layout::{CompareOp, ComputeOp, Half};
use mb_asm::word::{
    Address, Alu, AluReg, Branch, ByteSelect, ByteSource, Chain, Condition, DecodeError, Encoded, FieldPermute,
    Operand2, Predicate, Slot, TruthTable, Word, WordFault,
};
use proptest::prelude::*;

/// A word with `value` at bit `offset` and zero elsewhere.
fn bits(parts: &[(usize, u64)]) -> Encoded {
    let mut word = [0; 3];
    for &(offset, value) in parts {
        word[offset / 64] |= value << (offset % 64);
        if offset % 64 != 0 && offset / 64 < 2 {
            word[offset / 64 + 1] |= value >> (64 - offset % 64);
        }
    }
    Encoded(word)
}

#[test]
fn the_idle_word_is_all_zero() {
    assert_eq!(Word::default().encode(), Encoded([0; 3]));
    assert_eq!(Word::decode(Encoded([0; 3])), Ok(Word::default()));
}

#[test]
fn bits_beyond_the_word_are_refused() {
    let error = Word::decode(bits(&[(164, 1)])).expect_err("bit 164 does not exist");
    assert_eq!(error.to_string(), "found bits above bit 163 set; expected zeros");
}

#[test]
fn an_unknown_operation_is_refused() {
    let error = Word::decode(bits(&[(59, 9)])).expect_err("operation 9 does not exist");
    assert_eq!(error.to_string(), "field alu.op: unknown code 9");
}

#[test]
fn a_bit_without_effect_is_refused() {
    let error = Word::decode(bits(&[(0, 7)])).expect_err("an immediate in an idle slot");
    assert_eq!(error, DecodeError::Unused { field: "alu.imm" });
    assert_eq!(error.to_string(), "field alu.imm: found a value without effect in this word; expected zero");
}

#[test]
fn a_pop_without_wait_is_refused() {
    let error = Word::decode(bits(&[(149, 1)])).expect_err("a pop without wait");
    assert_eq!(error, DecodeError::WordFault { fault: WordFault::PopWithoutWait });
    assert_eq!(error.to_string(), "input slot: found a pop of the input FIFO without `wait`; add `wait` to this word");
}

#[test]
fn an_operation_into_a0_is_refused() {
    let error = Word::decode(bits(&[(59, 1)])).expect_err("add into a0");
    assert_eq!(error.to_string(), "alu slot: found a write of the constant a0; expected another register");
}

#[test]
fn two_writers_of_one_register_are_found() {
    // input: needs, pop, a5; alu: a5 = or a0, a0.
    let error = Word::decode(bits(&[(132, 1), (149, 1), (145, 5), (59, 4), (51, 5)])).expect_err("a5 twice");
    assert_eq!(
        error.to_string(),
        "alu slot: found a5 as destination of the input and the alu slot in one word; expected one writer"
    );
}

#[test]
fn a_branch_on_p0_being_zero_is_the_test_of_the_head() {
    let word = Word::decode(bits(&[(131, 1), (116, 7), (132, 1)])).expect("a branch on the head's tag");
    let target = Address::new(7).expect("within the store");
    assert_eq!(word.branch, Some(Branch { condition: Condition::NoItem, target }));
    let error = Word::decode(bits(&[(131, 1), (116, 7)])).expect_err("without needs");
    assert_eq!(
        error.to_string(),
        "branch slot: found a test of the head of the input FIFO without `wait`; add `wait` to this word"
    );
}

#[test]
fn groups_follow_the_chained_boundaries() {
    let chain = Chain::new(0b011).expect("three bits");
    let groups: Vec<_> = chain.groups().map(|group| (group.low, group.high, group.mask())).collect();
    assert_eq!(groups, [(0, 2, 0x0000_ffff_ffff_ffff), (3, 3, 0xffff_0000_0000_0000)]);
    assert_eq!(chain.to_string(), "16:48");
}

#[test]
fn permutes_move_what_they_name() {
    use ByteSource::{First, Second, Zero};
    let select = ByteSelect::new([First(7), First(0), Second(1), Zero, Zero, Zero, Zero, Second(7)]);
    assert_eq!(select.apply(0x1122_3344_5566_7788, 0xa1a2_a3a4_a5a6_a7a8), 0xa100_0000_00a7_8811);
    // Field 0 to all four places.
    assert_eq!(FieldPermute::from_bits(0).apply(0x1111_2222_3333_4444), 0x4444_4444_4444_4444);
    assert_eq!(FieldPermute::IDENTITY.apply(0x1111_2222_3333_4444), 0x1111_2222_3333_4444);
}

#[test]
fn a_permute_keeps_its_forty_bits() {
    use ByteSource::{First, Second, Zero};
    let reg = |index| AluReg::new(index).expect("below 16");
    let select = ByteSelect::new([Zero, First(7), Second(7), Zero, First(1), Second(2), First(3), Zero]);
    let alu = Alu::Permute { guard: Predicate::TRUE, rd: reg(3), rs1: reg(1), rs2: reg(2), select };
    let word = Word { alu: Some(alu), ..Word::default() };
    assert_eq!(Word::decode(word.encode()), Ok(word));
    assert!(word.uses(Slot::Alu) && !word.uses(Slot::Copy));
}

#[test]
fn an_immediate_replaces_its_half_only() {
    let reg = AluReg::new(1).expect("below 16");
    let value = 0x1111_2222_3333_4444;
    let operand = |immediate| Operand2 { reg, immediate }.value(value);
    assert_eq!(operand(None), value);
    assert_eq!(operand(Some((Half::Low, 0xaaaa_bbbb))), 0x1111_2222_aaaa_bbbb);
    assert_eq!(operand(Some((Half::High, 0xaaaa_bbbb))), 0xaaaa_bbbb_3333_4444);
}

#[test]
fn a_truth_table_is_indexed_by_both_inputs() {
    let a_and_not_b = TruthTable::new(0b0100).expect("four bits");
    let rows = [(false, false), (false, true), (true, false), (true, true)];
    assert_eq!(rows.map(|(a, b)| a_and_not_b.eval(a, b)), [false, false, true, false]);
}

#[test]
fn every_code_comes_back_from_its_bits_and_its_text() {
    for op in ComputeOp::ALL {
        assert_eq!((ComputeOp::from_code(op.code()), ComputeOp::from_text(op.text())), (Some(op), Some(op)));
    }
    for op in CompareOp::ALL {
        assert_eq!((CompareOp::from_code(op.code()), CompareOp::from_text(op.text())), (Some(op), Some(op)));
        assert_eq!(ComputeOp::from_code(op.code()), None, "one code, one operation");
    }
    assert_eq!((ComputeOp::from_code(0), CompareOp::from_code(0)), (None, None), "zero is the idle slot");
}

proptest! {
    #[test]
    fn random_bits_are_refused_or_come_back(low: u64, middle: u64, high in 0u64..1 << 36) {
        let bits = Encoded([low, middle, high]);
        if let Ok(word) = Word::decode(bits) {
            prop_assert_eq!(word.encode(), bits);
        }
    }

    #[test]
    fn bytes_are_the_word(low: u64, middle: u64, high in 0u64..1 << 36) {
        let bits = Encoded([low, middle, high]);
        prop_assert_eq!(Encoded::from_bytes(bits.to_bytes()), bits);
    }
}
