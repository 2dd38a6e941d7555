// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Words and programs to text that assembles to the same bits, and the listing of a program.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};

use crate::layout::{Combine, ComputeOp, Half, MaskMode, STORE_WORDS};
use crate::program::{DEFAULT_ITEM_WORDS, MatchProgram};
use crate::word::{
    Address, Alu, AluReg, Branch, ByteSelect, ByteSource, Chain, Condition, DataCopy, FieldPermute, Input, Merge,
    Operand2, Output, Predicate, Sections, Slot, Ternary, Word,
};

/// The statements of the word, as programs write them, separated by `||`; branch targets are numbers.
impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&|target| target.to_string()))
    }
}

impl Word {
    /// Each statement of the word with its slot, in the order of [`Slot::ALL`]; `target` names an address.
    #[must_use]
    pub fn statements(&self, target: &dyn Fn(Address) -> String) -> Vec<(Slot, String)> {
        let mut statements = input(self.input);
        statements.extend(self.alu.map(|alu_slot| (Slot::Alu, alu(alu_slot))));
        statements.extend(self.ternary.map(|slot| (Slot::Ternary, ternary(slot))));
        statements.extend(self.predicate.into_iter().flatten().map(|unit| (Slot::Predicate, merge(unit))));
        statements.extend(self.branch.map(|slot| (Slot::Branch, branch(slot, target))));
        statements.extend(self.copy.map(|slot| (Slot::Copy, copy(slot))));
        statements
    }

    /// The whole word on one line; `target` names an address.
    #[must_use]
    pub fn text(&self, target: &dyn Fn(Address) -> String) -> String {
        let statements: Vec<String> = self.statements(target).into_iter().map(|statement| statement.1).collect();
        if statements.is_empty() { "nop".to_owned() } else { statements.join(" || ") }
    }
}

/// The program as text: labels and segments as it has them, other branch targets as `L` and the address.
#[must_use]
pub fn disassemble(program: &MatchProgram) -> String {
    let labels = labels(program);
    let name = |target| name_of(&labels, target);
    let mut out = String::new();
    if program.store != STORE_WORDS {
        let _ = writeln!(out, ".store {}", program.store);
    }
    if program.item_words != DEFAULT_ITEM_WORDS {
        let _ = writeln!(out, ".items {}", program.item_words);
    }
    let margin = labels.values().flatten().map(|name| name.len() + 2).max().unwrap_or(0);
    for (at, word) in program.words.iter().enumerate() {
        for segment in program.segments.iter().filter(|segment| segment.first == at) {
            let _ = writeln!(out, ".segment {}", segment.name);
        }
        let names = labels.get(&at).map_or(&[][..], Vec::as_slice);
        let (last, before) = names.split_last().map_or((None, &[][..]), |(last, before)| (Some(last), before));
        for name in before {
            let _ = writeln!(out, "{name}:");
        }
        let label = last.map_or(String::new(), |name| format!("{name}:"));
        let text = word.text(&name);
        let _ = writeln!(out, "{label:margin$}{text}");
    }
    write_behind(&mut out, &labels, program);
    out
}

/// Labels after the last word.
fn write_behind(out: &mut String, labels: &BTreeMap<usize, Vec<String>>, program: &MatchProgram) {
    for name in labels.get(&program.words.len()).into_iter().flatten() {
        let _ = writeln!(out, "{name}:");
    }
}

/// Names of addresses: the program's labels, and a generated one for each branch target without a label.
fn labels(program: &MatchProgram) -> BTreeMap<usize, Vec<String>> {
    let mut labels: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for (name, address) in &program.labels {
        labels.entry(address.index()).or_default().push(name.clone());
    }
    let targets: BTreeSet<usize> = program.words.iter().filter_map(|word| Some(word.branch?.target.index())).collect();
    for target in targets {
        let name = format!("L{target}");
        let taken = program.labels.contains_key(&name)
            || program.constants.contains_key(&name)
            || program.registers.contains_key(&name);
        if target < program.words.len() && !taken && !labels.contains_key(&target) {
            labels.insert(target, vec![name]);
        }
    }
    labels
}

fn name_of(labels: &BTreeMap<usize, Vec<String>>, target: Address) -> String {
    match labels.get(&target.index()).and_then(|names| names.first()) {
        Some(name) => name.clone(),
        None => target.to_string(),
    }
}

/// Addresses, encodings, slot occupancy and text of a program, and its words by segment and slot.
///
/// Occupancy shows a letter for each used slot: input, ALU, ternary, predicate, branch, copy.
#[must_use]
pub fn listing(program: &MatchProgram) -> String {
    let labels = labels(program);
    let name = |target| name_of(&labels, target);
    let mut out = format!("; {}: {} words, store of {}", program.name, program.words.len(), program.store);
    if program.item_words != DEFAULT_ITEM_WORDS {
        let _ = write!(out, ", items of {} words", program.item_words);
    }
    out.push('\n');
    let _ = writeln!(out, "{:>4}  {:41}  slots   {:>5}  text", "addr", "encoding", "line");
    for (at, word) in program.words.iter().enumerate() {
        for segment in program.segments.iter().filter(|segment| segment.first == at) {
            let _ = writeln!(out, "; segment {}: {} words", segment.name, segment.words);
        }
        for name in labels.get(&at).into_iter().flatten() {
            let _ = writeln!(out, "{name}:");
        }
        let (line, text) = program
            .lines
            .get(at)
            .map_or_else(|| ("-".to_owned(), word.text(&name)), |line| (line.number.to_string(), line.text.clone()));
        let _ = writeln!(out, "{at:>4}  {}  {}  {line:>5}  {text}", word.encode(), occupancy(word));
    }
    write_behind(&mut out, &labels, program);
    let count = |slot| program.words.iter().filter(|word| word.uses(slot)).count();
    let used = Slot::ALL.map(|slot| format!("{slot} {}", count(slot))).join(", ");
    let _ = writeln!(out, "; words that use a slot: {used}");
    out
}

fn occupancy(word: &Word) -> String {
    Slot::ALL.into_iter().zip("IATPBC".chars()).map(|(slot, c)| if word.uses(slot) { c } else { '.' }).collect()
}

fn input(slot: Input) -> Vec<(Slot, String)> {
    let mut statements = Vec::new();
    if slot.needs_input {
        statements.push((Slot::Input, "wait".to_owned()));
    }
    if let Some(pop) = slot.pop {
        let mut targets: Vec<String> = pop.alu.iter().map(ToString::to_string).collect();
        if let Some((reg, permute)) = pop.ternary {
            targets.push(format!("{reg}{}", fields(permute)));
        }
        let targets = if targets.is_empty() { "_".to_owned() } else { targets.join(", ") };
        statements.push((Slot::Input, format!("{targets} = in")));
    }
    statements
}

fn fields(permute: FieldPermute) -> String {
    if permute == FieldPermute::IDENTITY {
        return String::new();
    }
    let sources: Vec<String> = (0..4).rev().map(|place| permute.source(place).to_string()).collect();
    format!("[{}]", sources.join(" "))
}

fn alu(slot: Alu) -> String {
    match slot {
        Alu::Compute { op: ComputeOp::Or, guard, rd, rs1: AluReg::ZERO, operand2, .. } => {
            format!("{rd} = {}{}", second(operand2), condition(guard))
        }
        Alu::Compute { op, guard, rd, rs1, operand2, chain } => {
            let sections = if op.is_logic() { String::new() } else { groups(chain) };
            format!("{rd} = {}{sections} {rs1}, {}{}", op.text(), second(operand2), condition(guard))
        }
        Alu::Compare { op, rs1, operand2, chain, enable, combine } => {
            let targets = targets(enable, Predicate::of_alu, combine);
            format!("{targets} {}{} {rs1}, {}", op.text(), groups(chain), second(operand2))
        }
        Alu::Permute { guard, rd, rs1, rs2, select } => {
            format!("{rd} = perm {rs1}, {rs2} [{}]{}", bytes(select), condition(guard))
        }
    }
}

fn second(operand: Operand2) -> String {
    let Operand2 { reg, immediate } = operand;
    match immediate {
        None => reg.to_string(),
        Some((Half::Low, value)) if reg.is_constant() => constant(value),
        Some((Half::Low, value)) => format!("{{{reg}.hi, {}}}", constant(value)),
        Some((Half::High, value)) => format!("{{{}, {reg}.lo}}", constant(value)),
    }
}

fn constant(value: u32) -> String {
    if value < 1024 { value.to_string() } else { format!("{value:#x}") }
}

/// The sources of the bytes, highest first, runs joined.
fn bytes(select: ByteSelect) -> String {
    let sources: Vec<ByteSource> = (0..8).rev().map(|place| select.source(place)).collect();
    let mut parts: Vec<String> = Vec::new();
    let mut place = 0;
    while place < 8 {
        let (letter, byte, wrap): (char, u8, fn(u8) -> ByteSource) = match sources[place] {
            ByteSource::Zero => {
                parts.push("0".to_owned());
                place += 1;
                continue;
            }
            ByteSource::First(byte) => ('x', byte, ByteSource::First),
            ByteSource::Second(byte) => ('y', byte, ByteSource::Second),
        };
        let run = |step: i8| {
            let follows = |&(i, source): &(usize, &ByteSource)| {
                u8::try_from(byte as i8 + step * i as i8).is_ok_and(|b| b < 8 && *source == wrap(b))
            };
            sources[place..].iter().enumerate().take_while(follows).count()
        };
        let (down, up) = (run(-1), run(1));
        let length = down.max(up);
        let end = if down >= up { byte + 1 - length as u8 } else { byte + (length as u8 - 1) };
        parts.push(if length == 1 { format!("{letter}{byte}") } else { format!("{letter}{byte}:{end}") });
        place += length;
    }
    parts.join(" ")
}

fn groups(chain: Chain) -> String {
    if chain == Chain::WHOLE { String::new() } else { format!(".{chain}") }
}

fn targets(enable: Sections, of: fn(usize) -> Predicate, combine: Combine) -> String {
    let names: Vec<String> = enable.iter().rev().map(|section| of(section).to_string()).collect();
    format!("{} {}", names.join(", "), combine.text())
}

fn condition(guard: Predicate) -> String {
    if guard.is_constant() { String::new() } else { format!(" if {guard}") }
}

fn ternary(slot: Ternary) -> String {
    let Ternary { m0, m1, mask, mode, chain, enable, combine } = slot;
    let targets = targets(enable, Predicate::of_ternary, combine);
    let mode: &str = MaskMode::text(mode);
    format!("{targets} match{} {m0}, {m1} {mode} {mask}", groups(chain))
}

fn merge(unit: Merge) -> String {
    let Merge { a, b, table, rd } = unit;
    let function = match (a.is_constant(), b.is_constant(), table.bits()) {
        (true, true, 0b0000) => "0".to_owned(),
        (true, true, 0b1111) => "1".to_owned(),
        (_, true, 0b1100) => format!("{a}"),
        (_, true, 0b0011) => format!("!{a}"),
        (_, _, 0b1000) => format!("{a} & {b}"),
        (_, _, 0b0100) => format!("{a} & !{b}"),
        (_, _, 0b0010) => format!("!{a} & {b}"),
        (_, _, 0b0001) => format!("!{a} & !{b}"),
        (_, _, 0b1110) => format!("{a} | {b}"),
        (_, _, 0b1101) => format!("{a} | !{b}"),
        (_, _, 0b1011) => format!("!{a} | {b}"),
        (_, _, 0b0111) => format!("!{a} | !{b}"),
        (_, _, 0b0110) => format!("{a} ^ {b}"),
        (_, _, 0b1001) => format!("{a} ^ !{b}"),
        (_, _, bits) => format!("lut {bits:#06b} {a}, {b}"),
    };
    format!("{rd} = {function}")
}

fn branch(slot: Branch, target: &dyn Fn(Address) -> String) -> String {
    let condition = match slot.condition {
        Condition::Always => String::new(),
        Condition::If(predicate) => format!(" if {predicate}"),
        Condition::Unless(predicate) => format!(" if !{predicate}"),
        Condition::NoItem => " if !in.item".to_owned(),
    };
    format!("goto {}{condition}", target(slot.target))
}

fn copy(slot: DataCopy) -> String {
    let DataCopy { guard, rs, ternary, output } = slot;
    let mut targets: Vec<String> = ternary.iter().map(ToString::to_string).collect();
    targets.extend(output.map(|kind| if kind == Output::Last { "out.last" } else { "out" }.to_owned()));
    format!("{} = {rs}{}", targets.join(", "), condition(guard))
}
