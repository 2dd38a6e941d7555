// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sections 4.1 and 4.2: the structure of the match unit, read back by small programs.
//!
//! Numbers of ports are found from outside: how many registers one word can change, and how many
//! change what it does.

use std::collections::BTreeSet;

use mb_asm::layout::{ComputeOp, FIELDS};
use mb_unit::unit::{Issued, UnitState};

use super::Subject;
use super::subject::{self, cycles};
use crate::claim_test::{ClaimTest, Interpretation, Interpretations, count, fact, measure, number};
use crate::error::MeasureError;
use crate::probe::{Trail, assembles, run};
use crate::verdict::Measured;

pub(super) const TESTS: &[ClaimTest<Subject>] = &[
    measure("hemmert2007.mu.ops_per_cycle", operations_of_a_word),
    measure("hemmert2007.mu.slots", slots),
    measure("hemmert2007.mu.pipeline_stages", pipeline_stages),
    measure("hemmert2007.mu.native_word", |_| bits_held("a1")),
    measure("hemmert2007.mu.word_semantics", result_to_use),
    measure("hemmert2007.mu.instr_bits", |_| count(FIELDS.iter().map(|&(_, _, bits)| bits).sum())),
    measure("hemmert2007.mu.rf_alu_width", |_| bits_held("a1")),
    measure("hemmert2007.mu.rf_alu_entries", |_| names("out = a")),
    measure("hemmert2007.mu.rf_alu_wports", |_| count(changed(|state| state.alu.to_vec())?)),
    measure("hemmert2007.mu.rf_alu_rports", |_| influences(File::Alu)),
    measure("hemmert2007.mu.rf_alu_r0", |_| text(constant("a0 = 7")?.alu[0].to_string())),
    measure("hemmert2007.mu.rf_ternary_width", |_| bits_held("t1")),
    measure("hemmert2007.mu.rf_ternary_entries", |_| names("p15 = match t0, t0 care t")),
    measure("hemmert2007.mu.rf_ternary_wports", |_| count(changed(|state| state.ternary.to_vec())?)),
    measure("hemmert2007.mu.rf_ternary_rports", |_| influences(File::Ternary)),
    measure("hemmert2007.mu.rf_ternary_r0", |_| text(format!("0x{:016X}", constant("t0 = a0")?.ternary[0]))),
    measure("hemmert2007.mu.rf_port_order", port_order),
    measure("hemmert2007.mu.pred_entries", |_| names("goto end if p")),
    measure("hemmert2007.mu.pred_rports", |_| influences(File::Predicate)),
    measure("hemmert2007.mu.pred_direct", |_| count(written_by_comparisons()?)),
    measure("hemmert2007.mu.pred_p0", |_| number(u32::from(constant("p0 = 0")?.predicates & 1))),
    measure("hemmert2007.mu.pred_unit_writable", |_| {
        count((0..64).filter(|p| assembles(&format!("p{p} = 1"))).count())
    }),
    measure("hemmert2007.mu.alu_no_mul_shift", no_multiply_no_shift),
    measure("hemmert2007.mu.alu_permute", byte_choices),
    measure("hemmert2007.mu.alu_simd_sections", |_| count(predicates_of("p11, p10, p9, p8 = eq.16:16:16:16 a0, a0")?)),
    measure("hemmert2007.mu.alu_simd_bits", |_| width("alu.simd")),
    measure("hemmert2007.mu.alu_cmp_we_bits", |_| width("alu.cmp_we")),
    measure("hemmert2007.mu.alu_imm_bits", |_| width("alu.imm")),
    measure("hemmert2007.mu.alu_const64_instrs", words_of_a_constant),
    measure("hemmert2007.mu.alu_predicated_write", predication),
    measure("hemmert2007.mu.cmp_combine_modes", combine_modes),
    measure("hemmert2007.mu.cmp_combine_saves", combining_saves),
    measure("hemmert2007.mu.tern_inputs", |_| influences(File::Ternary)),
    measure("hemmert2007.mu.tern_mask_modes", mask_modes),
    measure("hemmert2007.mu.tern_simd", |_| {
        count(predicates_of("p15, p14, p13, p12 = match.16:16:16:16 t0, t0 care t0")?)
    }),
    measure("hemmert2007.mu.tern_in_permute", field_choices),
    measure("hemmert2007.mu.pred_logic_units", logic_units),
    measure("hemmert2007.mu.branch_fields", branch_fields),
    measure("hemmert2007.mu.branch_delay_slots", delay_slots),
    measure("hemmert2007.mu.branch_in_shadow", cancelled_branches),
    measure("hemmert2007.mu.fifo_stall", stalling),
    measure("hemmert2007.mu.fifo_dest", destinations),
    measure("hemmert2007.mu.copy_unit", copy_never_stalls),
];

/// A word that uses every slot, with each port of each register file on a register of its own.
const FULL: &str = "wait || a1, t1 = in || a5 = add a2, a3 if p4 || p15, p14, p13, p12 = match.16:16:16:16 t2, t3 care t4 \
                    || p1 = lut 6 p2, p3 || p4 = lut 6 p5, p6 || goto end if p7 || t5, out = a4 if p1";

/// The register file of which a register is varied in a run of [`FULL`].
#[derive(Clone, Copy)]
enum File {
    Alu,
    Ternary,
    Predicate,
}

/// Runs [`FULL`] with known registers, one of them with its lowest bit the other way round.
fn full(flipped: Option<(File, usize)>) -> Result<Trail, MeasureError> {
    let mut text = Vec::new();
    let mut input = Vec::new();
    for register in 1..16 {
        let flip = |file: u64| match flipped {
            Some((File::Alu, place)) if file == 0 => u64::from(place == register),
            Some((File::Ternary, place)) if file == 1 => u64::from(place == register),
            _ => 0,
        };
        text.push(format!("wait || a{register} = in\nwait || t{register} = in"));
        // Squares, so that no sum of two is a third by chance.
        input.push((16 * (register * register) as u64) ^ flip(0));
        // t2 and t3 differ in their lowest bit, which the mask in t4 lets take part.
        input.push(u64::from(matches!(register, 2 | 4)) ^ flip(1));
    }
    for predicate in 1..8 {
        let one = !matches!(flipped, Some((File::Predicate, place)) if place == predicate);
        text.push(format!("p{predicate} = {}", u8::from(one)));
    }
    // What a taken branch runs before its target, which is the end.
    text.push(format!("{FULL}\nnop\nnop"));
    input.push(u64::MAX);
    run(&text.join("\n"), &input)
}

/// The word itself within a run of [`FULL`]: the state before it, the state after it, and what it
/// did.
fn full_word(trail: &Trail) -> (&UnitState, &UnitState, &Issued) {
    let at = 30 + 7;
    (&trail.states[at], &trail.states[at + 1], &trail.issued[at])
}

/// How many registers of `file` make a difference to what the word does.
fn influences(file: File) -> Interpretations {
    let base = full(None)?;
    let (_, base_after, base_did) = full_word(&base);
    let mut readers = 0;
    for place in 1..16 {
        if matches!(file, File::Predicate) && place > 7 {
            continue; // written by comparisons only; the word reads seven of the others
        }
        let other = full(Some((file, place)))?;
        let (_, after, did) = full_word(&other);
        // The register itself differs in any case.
        let without = |state: &UnitState| {
            let mut state = *state;
            match file {
                File::Alu => state.alu[place] = 0,
                File::Ternary => state.ternary[place] = 0,
                File::Predicate => state.predicates &= !(1 << place),
            }
            state
        };
        readers += usize::from(without(after) != without(base_after) || did != base_did);
    }
    count(readers)
}

/// How many registers of a file the word changes.
fn changed(file: fn(&UnitState) -> Vec<u64>) -> Result<usize, MeasureError> {
    let trail = full(None)?;
    let (before, after, _) = full_word(&trail);
    Ok(file(before).iter().zip(file(after)).filter(|(old, new)| *old != new).count())
}

fn operations_of_a_word(_: &Subject) -> Interpretations {
    let trail = full(None)?;
    let (before, after, did) = full_word(&trail);
    let merged = (before.predicates ^ after.predicates) & 0x00fe != 0;
    let compared = (before.predicates ^ after.predicates) & 0xf000 != 0;
    let seen = [did.popped, did.sent.is_some(), before.alu[5] != after.alu[5], compared, merged, did.taken];
    count(seen.into_iter().filter(|&seen| seen).count())
}

fn slots(_: &Subject) -> Interpretations {
    let slots: BTreeSet<_> =
        FIELDS.iter().filter_map(|(name, _, _)| name.split_once('.').map(|(slot, _)| slot)).collect();
    count(slots.len())
}

fn pipeline_stages(subject: &Subject) -> Interpretations {
    let search = subject.search_nth(1)?;
    let sent = search.events.iter().rev().find(|event| event.issued.sent.is_some());
    let sent = sent.ok_or(MeasureError::NotSeen("a word of the answer"))?;
    number((search.answer.at - subject.memory.reaction - sent.cycle + 1) as f64)
}

/// How many bits of a word of ones arrive in a register.
fn bits_held(register: &str) -> Interpretations {
    let end = run(&format!("wait || {register} = in"), &[u64::MAX])?;
    let state = end.end();
    number(if register.starts_with('a') { state.alu[1] } else { state.ternary[1] }.count_ones())
}

/// How many registers the assembler knows behind `text`, which ends in the letter of their file.
fn names(text: &str) -> Interpretations {
    count((0..64).filter(|place| assembles(&format!("{text}{place}\nnop\nnop"))).count())
}

/// The state after trying to write a constant register, if it can be tried at all.
fn constant(write: &str) -> Result<UnitState, MeasureError> {
    Ok(*run(if assembles(write) { write } else { "nop" }, &[])?.end())
}

#[expect(clippy::unnecessary_wraps, reason = "the form of every measurement")]
fn text(text: String) -> Interpretations {
    Ok(vec![Interpretation::new("", Measured::Text(text))])
}

fn result_to_use(_: &Subject) -> Interpretations {
    let trail = run("a1 = 5 || t1 = a1\nt2 = a1\nt3 = a1", &[])?;
    let first = (1..4).find(|&place| trail.end().ternary[place] == 5).ok_or(MeasureError::NotSeen("the result"))?;
    count(first - 1)
}

fn port_order(_: &Subject) -> Interpretations {
    let popped = run("wait || a1 = in || t1 = a1\nt2 = a1", &[5])?;
    let computed = run("a1 = 5\nt1 = a1\nt2 = a1", &[])?;
    let old = popped.end().ternary[1];
    let so = old == 0 && popped.end().ternary[2] == 5 && computed.end().ternary[1..3] == [5, 5];
    fact(so, if so { "pops and results reach the next word" } else { "a pop or a result is early or late" })
}

/// How many predicates one word's comparisons write.
fn written_by_comparisons() -> Result<usize, MeasureError> {
    predicates_of("p11, p10, p9, p8 = eq.16:16:16:16 a0, a0 || p15, p14, p13, p12 = match.16:16:16:16 t0, t0 care t0")
}

/// How many predicates a word that begins with all of them zero sets.
fn predicates_of(word: &str) -> Result<usize, MeasureError> {
    let trail = run(word, &[])?;
    Ok((trail.end().predicates & !trail.before_last().predicates).count_ones() as usize)
}

fn no_multiply_no_shift(_: &Subject) -> Interpretations {
    let pairs = [(3u64, 5u64), (6, 7), (9, 4)];
    let mut found = Vec::new();
    for operation in ComputeOp::ALL {
        let mut results = Vec::new();
        for (one, two) in pairs {
            let text = format!("wait || a1 = in\nwait || a2 = in\na3 = {} a1, a2", operation.text());
            results.push(run(&text, &[one, two])?.end().alu[3]);
        }
        let is = |result: fn(u64, u64) -> u64| pairs.iter().zip(&results).all(|(&(a, b), &got)| got == result(a, b));
        if is(|a, b| a * b) || is(|a, b| a << b) || is(|a, b| a >> b) {
            found.push(operation.text());
        }
    }
    let shown = format!("{} of {} operations multiply or shift", found.len(), ComputeOp::ALL.len());
    fact(found.is_empty(), shown)
}

fn byte_choices(_: &Subject) -> Interpretations {
    let mut results = BTreeSet::new();
    let choices = (0..8).flat_map(|place| [format!("x{place}"), format!("y{place}")]).chain(["0".to_owned()]);
    for choice in choices {
        let text = format!("wait || a1 = in\nwait || a2 = in\na3 = perm a1, a2 [0 0 0 0 0 0 0 {choice}]");
        results.insert(run(&text, &[0x0807_0605_0403_0201, 0x100f_0e0d_0c0b_0a09])?.end().alu[3]);
    }
    count(results.len())
}

/// Bits of a field of the instruction word.
fn width(field: &'static str) -> Interpretations {
    let found = FIELDS.iter().find(|(name, _, _)| *name == field);
    count(found.map(|&(_, _, bits)| bits).ok_or(MeasureError::NotSeen(field))?)
}

fn words_of_a_constant(_: &Subject) -> Interpretations {
    let trail = run("a1 = 0x89abcdef\na1 = {0x01234567, a1.lo}", &[])?;
    let words = trail.words_until(|state| state.alu[1] == 0x0123_4567_89ab_cdef);
    count(words.ok_or(MeasureError::NotSeen("the constant"))?)
}

fn predication(_: &Subject) -> Interpretations {
    let guarded = |predicate: u8| run(&format!("p1 = {predicate}\na1 = 5 if p1"), &[]).map(|trail| trail.end().alu[1]);
    let (without, with) = (guarded(0)?, guarded(1)?);
    let compare = assembles("p11 = eq a1, a2 if p1");
    let so = without == 0 && with == 5 && !compare;
    let compare = if compare { "taken" } else { "refused" };
    fact(so, format!("{without} without, {with} with; guarded compare {compare}"))
}

fn combine_modes(_: &Subject) -> Interpretations {
    let mut tables = BTreeSet::new();
    for mode in ["=", "&=", "|=", "^="] {
        let mut table = Vec::new();
        for (old, new) in [("eq", "eq"), ("eq", "ne"), ("ne", "eq"), ("ne", "ne")] {
            let text = format!("p11 = {old} a0, a0\np11 {mode} {new} a0, a0");
            if assembles(&text) {
                table.push(run(&text, &[])?.end().predicates >> 11 & 1);
            }
        }
        if !table.is_empty() {
            tables.insert(table);
        }
    }
    count(tables.len())
}

/// Words until `a == b || a == ANY` is known, with the results combined as they are written and in
/// the predicate unit.
fn combining_saves(_: &Subject) -> Interpretations {
    let prologue = "wait || a1 = in\nwait || a2 = in\nwait || a3 = in\n";
    let words = |text: &str, predicate: u32| -> Result<usize, MeasureError> {
        let trail = run(&format!("{prologue}{text}"), &[1, 2, 1])?;
        trail.words_until(|state| state.predicates >> predicate & 1 == 1).ok_or(MeasureError::NotSeen("the condition"))
    };
    let combined = words("p11 = eq a1, a2\np11 |= eq a1, a3", 11)?;
    let merged = words("p11 = eq a1, a2\np11 = eq a1, a3 || p1 = p11\np2 = p1 | p11", 2)?;
    number(merged as f64 - combined as f64)
}

fn mask_modes(_: &Subject) -> Interpretations {
    let mut results = BTreeSet::new();
    for mode in ["care", "ignore"] {
        let text = format!("wait || t1 = in\nwait || t2 = in\nwait || t3 = in\np15 = match t1, t2 {mode} t3");
        // Different where the mask is one, then equal there and different elsewhere.
        let with = |mask: u64| run(&text, &[0xff, 0, mask]).map(|trail| trail.end().predicates >> 15 & 1);
        results.insert((with(0xff)?, with(!0xff)?));
    }
    count(results.len())
}

/// Binary logarithm of the number of ways in which a popped word can reach a ternary register.
fn field_choices(_: &Subject) -> Interpretations {
    let mut results = BTreeSet::new();
    for code in 0..256 {
        let sources = [code >> 6 & 3, code >> 4 & 3, code >> 2 & 3, code & 3].map(|source: u32| source.to_string());
        let trail = run(&format!("wait || t1[{}] = in", sources.join(" ")), &[0x0004_0003_0002_0001])?;
        results.insert(trail.end().ternary[1]);
    }
    number((results.len() as f64).log2())
}

fn logic_units(_: &Subject) -> Interpretations {
    let merges = |units: usize| (1..=units).map(|p| format!("p{p} = 1")).collect::<Vec<_>>().join(" || ");
    let most = (1..=7).rev().find(|&units| assembles(&merges(units))).unwrap_or_default();
    count(predicates_of(&merges(most))?)
}

fn branch_fields(_: &Subject) -> Interpretations {
    count(FIELDS.iter().filter(|(name, _, _)| name.starts_with("branch.") && *name != "branch.enable").count())
}

fn delay_slots(_: &Subject) -> Interpretations {
    let trail = run("goto end\na1 = add a1, 1\na1 = add a1, 1\na1 = add a1, 1\na1 = add a1, 1", &[])?;
    number(trail.end().alu[1] as f64)
}

fn cancelled_branches(_: &Subject) -> Interpretations {
    let text = "p1 = 1\nnop\ngoto far if p1\ngoto near if p1\ngoto near if p1\nnop\nnear: a1 = 1\nnop\nfar: a2 = 1";
    let trail = run(text, &[])?;
    let cancelled = trail.issued.iter().filter(|issued| issued.cancelled).count();
    let so = cancelled == 2 && trail.end().alu[1..3] == [0, 1];
    fact(so, format!("{cancelled} of 2 branches in the delay slots cancelled"))
}

/// Slow memory holds words up in the middle of the item code, branches and their delay slots
/// included.
fn stalling(subject: &Subject) -> Interpretations {
    let slow = mb_unit::list_manager::ListManagerParameters { latency: 61, ..subject.memory };
    let items = subject::list(12);
    let fast = subject.search(&items)?;
    let held = subject.search_in(slow, &items, &subject::header())?;
    let addresses = |search: &subject::Search| search.events.iter().map(|event| event.issued.at).collect::<Vec<_>>();
    let waited = cycles(&held.events) - cycles(&fast.events);
    let so = waited > 0 && addresses(&fast) == addresses(&held) && held.answer.words == fast.answer.words;
    fact(so, format!("{waited} cycles waited, same words in order"))
}

fn destinations(_: &Subject) -> Interpretations {
    let into = |registers: &str| run(&format!("wait || {registers} = in"), &[5]).map(|trail| *trail.end());
    let reached = |state: UnitState| (state.alu[1] == 5, state.ternary[1] == 5);
    let (alu, ternary, both) = (reached(into("a1")?), reached(into("t1")?), reached(into("a1, t1")?));
    let so = alu == (true, false) && ternary == (false, true) && both == (true, true);
    fact(so, if so { "alu, ternary, both" } else { "a destination is missing" })
}

/// Cycles of a search that neither issue a word nor wait for input.
fn copy_never_stalls(subject: &Subject) -> Interpretations {
    let search = subject.search_nth(3)?;
    let [first, .., last] = &search.events[..] else { return Err(MeasureError::NotSeen("a search")) };
    let waited: u64 = search.events[1..].iter().filter_map(|event| event.stall).map(|(cycles, _)| cycles).sum();
    number((last.cycle - first.cycle + 1 - search.events.len() as u64 - waited) as f64)
}
