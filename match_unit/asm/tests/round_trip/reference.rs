// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A second decoder, written from `spec/isa/match_unit.toml` alone and sharing no code with the first: it looks fields
//! up by name, bit by bit, and writes every statement in its longest form.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use mb_asm::Encoded;

pub(crate) struct Reference {
    /// First bit and width of each field.
    fields: BTreeMap<String, (usize, usize)>,
    /// Text of each code, by the name of the codes.
    codes: BTreeMap<String, BTreeMap<u64, String>>,
}

/// One word being read; remembers which fields were looked at.
struct Reading<'a> {
    reference: &'a Reference,
    bits: Encoded,
    seen: RefCell<BTreeSet<String>>,
}

impl Reference {
    pub(crate) fn new() -> Self {
        let text = include_str!("../../../../spec/isa/match_unit.toml");
        let spec: toml::Table = text.parse().expect("the specification is TOML");
        let number = |value: &toml::Value, key: &str| value[key].as_integer().expect("a number") as usize;
        let name = |value: &toml::Value, key: &str| value[key].as_str().expect("a text").to_owned();
        let list = |value: &toml::Value| value.as_array().expect("a list").clone();
        let mut fields = BTreeMap::new();
        for slot in list(&spec["slot"]) {
            for field in list(&slot["field"]) {
                let key = format!("{}.{}", name(&slot, "name"), name(&field, "name"));
                fields.insert(key, (number(&field, "offset"), number(&field, "bits")));
            }
        }
        let mut codes = BTreeMap::new();
        for group in list(&spec["codes"]) {
            let values = list(&group["value"]);
            let table = values.iter().map(|value| (number(value, "code") as u64, name(value, "text"))).collect();
            codes.insert(name(&group, "name"), table);
        }
        Self { fields, codes }
    }

    /// The word's text, or `None` if the word is refused.
    pub(crate) fn text(&self, bits: Encoded) -> Option<String> {
        let reading = Reading { reference: self, bits, seen: RefCell::default() };
        let text = reading.word()?;
        let seen = reading.seen.borrow().clone();
        let unused_are_zero = self.fields.keys().all(|field| seen.contains(field) || reading.get(field) == 0);
        unused_are_zero.then_some(text)
    }
}

impl Reading<'_> {
    fn get(&self, field: &str) -> u64 {
        self.seen.borrow_mut().insert(field.to_owned());
        let (first, width) = self.reference.fields[field];
        let bytes = self.bits.to_bytes();
        (first..first + width).rev().fold(0, |value, bit| value << 1 | u64::from(bytes[bit / 8] >> (bit % 8) & 1))
    }

    fn code(&self, codes: &str, value: u64) -> Option<&str> {
        self.reference.codes[codes].get(&value).map(String::as_str)
    }

    fn word(&self) -> Option<String> {
        let mut statements = Vec::new();
        let mut written = Vec::new();
        let waits = self.get("input.needs") == 1;
        if waits {
            statements.push("wait".to_owned());
        }
        if self.get("input.pop") == 1 {
            if !waits {
                return None;
            }
            let mut targets = Vec::new();
            match self.get("input.ard") {
                0 => {}
                reg => targets.push(format!("a{reg}")),
            }
            written.extend(targets.clone());
            match self.get("input.trd") {
                0 => {}
                reg => {
                    let permute = self.get("input.permute");
                    let sources: Vec<String> = (0..4).rev().map(|i| (permute >> (2 * i) & 3).to_string()).collect();
                    written.push(format!("t{reg}"));
                    targets.push(format!("t{reg}[{}]", sources.join(" ")));
                }
            }
            if targets.is_empty() {
                targets.push("_".to_owned());
            }
            statements.push(format!("{} = in", targets.join(", ")));
        }
        statements.extend(self.alu(&mut written)?);
        statements.extend(self.ternary(&mut written)?);
        statements.extend(self.predicate(&mut written)?);
        statements.extend(self.branch(waits)?);
        statements.extend(self.copy(&mut written));
        let different: BTreeSet<&String> = written.iter().collect();
        if different.len() < written.len() {
            return None;
        }
        Some(if statements.is_empty() { "nop".to_owned() } else { statements.join(" || ") })
    }

    fn alu(&self, written: &mut Vec<String>) -> Option<Vec<String>> {
        let op = self.get("alu.op");
        if op == 0 {
            return Some(Vec::new());
        }
        if let Some(text) = self.code("ComputeOp", op) {
            let (rd, guard) = (self.get("alu.rd"), self.get("alu.pred"));
            if rd == 0 {
                return None;
            }
            let groups = if matches!(text, "add" | "sub") { groups(self.get("alu.simd")) } else { String::new() };
            written.push(format!("a{rd}"));
            Some(vec![format!("a{rd} = {text}{groups} a{}, {} if p{guard}", self.get("alu.rs1"), self.second()?)])
        } else if let Some(text) = self.code("CompareOp", op) {
            let simd = self.get("alu.simd");
            let targets = targets(self.get("alu.cmp_we"), simd, 8)?;
            written.extend(targets.clone());
            let combine = self.code("Combine", self.get("alu.combine"))?;
            let operands = format!("a{}, {}", self.get("alu.rs1"), self.second()?);
            Some(vec![format!("{} {combine} {text}{} {operands}", targets.join(", "), groups(simd))])
        } else {
            let text = self.code("PermuteOp", op)?;
            let (rd, guard) = (self.get("alu.rd"), self.get("alu.pred"));
            let top = self.get("alu.combine");
            if rd == 0 || top > 1 {
                return None;
            }
            let control =
                self.get("alu.imm") + (self.get("alu.simd") << 32) + (self.get("alu.cmp_we") << 35) + (top << 39);
            let mut bytes = Vec::new();
            for place in (0..8).rev() {
                bytes.push(match control >> (5 * place) & 31 {
                    code @ 0..8 => format!("x{code}"),
                    code @ 8..16 => format!("y{}", code - 8),
                    16 => "0".to_owned(),
                    _ => return None,
                });
            }
            written.push(format!("a{rd}"));
            let operands = format!("a{}, a{}", self.get("alu.rs1"), self.get("alu.rs2"));
            Some(vec![format!("a{rd} = {text} {operands} [{}] if p{guard}", bytes.join(" "))])
        }
    }

    fn second(&self) -> Option<String> {
        let reg = self.get("alu.rs2");
        let select = self.get("alu.imm_sel");
        if select == 0 {
            return Some(format!("a{reg}"));
        }
        let half = self.code("Half", select)?;
        let value = self.get("alu.imm");
        Some(if half == "low" { format!("{{a{reg}.hi, {value}}}") } else { format!("{{{value}, a{reg}.lo}}") })
    }

    fn ternary(&self, written: &mut Vec<String>) -> Option<Vec<String>> {
        let enable = self.get("ternary.we");
        if enable == 0 {
            return Some(Vec::new());
        }
        let simd = self.get("ternary.simd");
        let targets = targets(enable, simd, 12)?;
        written.extend(targets.clone());
        let combine = self.code("Combine", self.get("ternary.combine"))?;
        let mode = self.code("MaskMode", self.get("ternary.mode"))?;
        let (m0, m1, mask) = (self.get("ternary.m0"), self.get("ternary.m1"), self.get("ternary.mask"));
        let targets = targets.join(", ");
        Some(vec![format!("{targets} {combine} match{} t{m0}, t{m1} {mode} t{mask}", groups(simd))])
    }

    fn predicate(&self, written: &mut Vec<String>) -> Option<Vec<String>> {
        let mut statements = Vec::new();
        for unit in 0..2 {
            let rd = self.get(&format!("predicate.rd{unit}"));
            if rd == 0 {
                continue;
            }
            if statements.len() < unit {
                return None;
            }
            let [a, b, table] = ["a", "b", "lut"].map(|field| self.get(&format!("predicate.{field}{unit}")));
            written.push(format!("p{rd}"));
            statements.push(format!("p{rd} = lut {table} p{a}, p{b}"));
        }
        Some(statements)
    }

    fn branch(&self, waits: bool) -> Option<Vec<String>> {
        if self.get("branch.enable") == 0 {
            return Some(Vec::new());
        }
        let target = self.get("branch.target");
        let condition = match (self.get("branch.polarity"), self.get("branch.pred")) {
            (0, 0) if !waits => return None,
            (0, 0) => "!in.item".to_owned(),
            (0, predicate) => format!("!p{predicate}"),
            (_, predicate) => format!("p{predicate}"),
        };
        Some(vec![format!("goto {target} if {condition}")])
    }

    fn copy(&self, written: &mut Vec<String>) -> Option<String> {
        let (trd, out) = (self.get("copy.trd"), self.get("copy.out"));
        let mut targets = Vec::new();
        if trd != 0 {
            written.push(format!("t{trd}"));
            targets.push(format!("t{trd}"));
        }
        if out == 1 {
            targets.push(if self.get("copy.last") == 1 { "out.last" } else { "out" }.to_owned());
        }
        if targets.is_empty() {
            return None;
        }
        Some(format!("{} = a{} if p{}", targets.join(", "), self.get("copy.rs"), self.get("copy.pred")))
    }
}

/// The widths of the groups, highest first, with the dot before them.
fn groups(simd: u64) -> String {
    let mut widths = vec![16];
    for boundary in 0..3 {
        if simd >> boundary & 1 == 1 {
            *widths.last_mut().expect("never empty") += 16;
        } else {
            widths.push(16);
        }
    }
    let widths: Vec<String> = widths.iter().rev().map(ToString::to_string).collect();
    format!(".{}", widths.join(":"))
}

/// The predicates from `base` on that are enabled; `None` if there is none or one inside a group.
fn targets(enable: u64, simd: u64, base: usize) -> Option<Vec<String>> {
    let inside = enable & simd;
    let names: Vec<String> = (0..4).filter(|s| enable >> s & 1 == 1).map(|s| format!("p{}", base + s)).collect();
    (inside == 0 && !names.is_empty()).then_some(names)
}
