// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sound words and programs at random.

use mb_asm::layout::{Combine, CompareOp, ComputeOp, Half, MaskMode};
use mb_asm::word::{
    Address, Alu, AluReg, Branch, ByteSelect, Chain, Condition, DataCopy, FieldPermute, Input, Merge, Operand2, Output,
    Pop, Predicate, Sections, Ternary, TernaryReg, TruthTable, Word,
};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

fn alu_reg(least: u8) -> impl Strategy<Value = AluReg> {
    (least..16).prop_map(|index| AluReg::new(index).expect("below 16"))
}

fn ternary_reg(least: u8) -> impl Strategy<Value = TernaryReg> {
    (least..16).prop_map(|index| TernaryReg::new(index).expect("below 16"))
}

fn predicate(from: std::ops::Range<u8>) -> impl Strategy<Value = Predicate> {
    from.prop_map(|index| Predicate::new(index).expect("below 16"))
}

fn operand2() -> impl Strategy<Value = Operand2> {
    let value = prop_oneof![0u32..4, any::<u32>()];
    let immediate = option::of((select(&Half::ALL[..]), value));
    (alu_reg(0), immediate).prop_map(|(reg, immediate)| Operand2 { reg, immediate })
}

/// A grouping and some of the sections where its groups end.
fn sections() -> impl Strategy<Value = (Chain, Sections)> {
    (0u8..8, 0u8..16).prop_filter_map("a comparison writes something", |(bits, wanted)| {
        let chain = Chain::new(bits)?;
        let ends = (0..4).filter(|&section| chain.ends_at(section)).fold(0, |bits, section| bits | 1 << section);
        let enable = Sections::new(wanted & ends)?;
        (enable != Sections::default()).then_some((chain, enable))
    })
}

fn alu() -> impl Strategy<Value = Alu> {
    let guard = || prop_oneof![Just(Predicate::TRUE), predicate(0..16)];
    let compute = (select(&ComputeOp::ALL[..]), guard(), alu_reg(1), alu_reg(0), operand2(), 0u8..8).prop_map(
        |(op, guard, rd, rs1, operand2, chain)| {
            let chain = if op.is_logic() { Chain::SPLIT } else { Chain::new(chain).expect("three bits") };
            Alu::Compute { op, guard, rd, rs1, operand2, chain }
        },
    );
    let compare =
        (select(&CompareOp::ALL[..]), alu_reg(0), operand2(), sections(), select(&Combine::ALL[..])).prop_map(
            |(op, rs1, operand2, (chain, enable), combine)| Alu::Compare { op, rs1, operand2, chain, enable, combine },
        );
    let permute = (guard(), alu_reg(1), alu_reg(0), alu_reg(0), prop::array::uniform8(0u64..17)).prop_map(
        |(guard, rd, rs1, rs2, codes)| {
            let control = codes.iter().rev().fold(0, |control, code| control << 5 | code);
            let select = ByteSelect::from_control(control).expect("selectors up to 16");
            Alu::Permute { guard, rd, rs1, rs2, select }
        },
    );
    prop_oneof![compute, compare, permute]
}

fn ternary() -> impl Strategy<Value = Ternary> {
    let registers = (ternary_reg(0), ternary_reg(0), ternary_reg(0));
    (registers, select(&MaskMode::ALL[..]), sections(), select(&Combine::ALL[..])).prop_map(
        |((m0, m1, mask), mode, (chain, enable), combine)| Ternary { m0, m1, mask, mode, chain, enable, combine },
    )
}

fn merge() -> impl Strategy<Value = Merge> {
    (predicate(0..16), predicate(0..16), 0u8..16, predicate(1..8)).prop_map(|(a, b, table, rd)| {
        let table = TruthTable::new(table).expect("four bits");
        Merge { a, b, table, rd }
    })
}

fn branch() -> impl Strategy<Value = Branch> {
    let condition = prop_oneof![
        Just(Condition::Always),
        Just(Condition::NoItem),
        predicate(1..16).prop_map(Condition::If),
        predicate(1..16).prop_map(Condition::Unless),
    ];
    (condition, 0usize..1024)
        .prop_map(|(condition, target)| Branch { condition, target: Address::new(target).expect("within the store") })
}

fn copy() -> impl Strategy<Value = DataCopy> {
    let output = option::of(select(&[Output::More, Output::Last][..]));
    (predicate(0..16), alu_reg(0), option::of(ternary_reg(1)), output)
        .prop_map(|(guard, rs, ternary, output)| DataCopy { guard, rs, ternary, output })
}

fn input() -> impl Strategy<Value = Input> {
    let permute = prop_oneof![Just(FieldPermute::IDENTITY), any::<u8>().prop_map(FieldPermute::from_bits)];
    let pop =
        (option::of(alu_reg(1)), option::of((ternary_reg(1), permute))).prop_map(|(alu, ternary)| Pop { alu, ternary });
    (any::<bool>(), option::of(pop)).prop_map(|(needs, pop)| Input { needs_input: needs || pop.is_some(), pop })
}

/// A word without faults.
pub(crate) fn word() -> impl Strategy<Value = Word> {
    let predicate = prop_oneof![
        Just([None, None]),
        merge().prop_map(|unit| [Some(unit), None]),
        (merge(), merge()).prop_map(|(first, second)| [Some(first), Some(second)]),
    ];
    (input(), option::of(alu()), option::of(ternary()), predicate, option::of(branch()), option::of(copy()))
        .prop_map(|(input, alu, ternary, predicate, branch, copy)| Word {
            input,
            alu,
            ternary,
            predicate,
            branch,
            copy,
        })
        .prop_filter("a sound word", |word| word.faults().is_empty())
}

/// Words that make a program: targets before the last two words, branches with their delay slots, a closed end.
pub(crate) fn program() -> impl Strategy<Value = Vec<Word>> {
    prop::collection::vec(word(), 3..40).prop_map(|mut words| {
        let count = words.len();
        let mut shadow = 0;
        for (at, word) in words.iter_mut().enumerate() {
            if at == count - 3 {
                word.branch = Some(Branch { condition: Condition::Always, target: Address::default() });
            } else if at < shadow || at + 5 >= count {
                // In the shadow of an unconditional branch, or casting one on the closing branch, or without slots.
                word.branch = None;
            }
            let Some(branch) = &mut word.branch else { continue };
            branch.target = Address::new(branch.target.index() % (count - 2)).expect("within the program");
            if branch.condition == Condition::Always {
                shadow = at + 3;
            }
        }
        words
    })
}
