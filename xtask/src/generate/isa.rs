// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What follows from `spec/isa/match_unit.toml`: the bits and operation tables of `match_unit/asm` and the manual.
//!
//! The specification is checked on the way: fields tile the word, codes fit their field and are unique.

use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;

use super::Generated;
use crate::tree::Tree;

const SPEC: &str = "spec/isa/match_unit.toml";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Spec {
    title: String,
    paper: String,
    word_bits: u32,
    store_words: u32,
    state: Vec<Item>,
    slot: Vec<Slot>,
    codes: Vec<Codes>,
    rule: Vec<Item>,
    refusal: Vec<Item>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    name: String,
    meaning: String,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Slot {
    name: String,
    offset: u32,
    bits: u32,
    meaning: String,
    source: String,
    field: Vec<Field>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Field {
    name: String,
    offset: u32,
    bits: u32,
    meaning: String,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Codes {
    name: String,
    field: String,
    #[serde(default)]
    also: Vec<String>,
    meaning: String,
    value: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Value {
    name: String,
    text: String,
    code: u32,
    meaning: String,
    source: String,
}

/// Layout and manual of the match unit.
pub(crate) fn match_unit(tree: &Tree, _: &Path) -> Result<Vec<Generated>, String> {
    let text = tree.text(SPEC).ok_or_else(|| format!("{SPEC}: missing"))?;
    let spec: Spec = toml::from_str(text).map_err(|error| format!("{SPEC}: {error}"))?;
    check(&spec).map_err(|reason| format!("{SPEC}: {reason}"))?;
    Ok(vec![
        Generated { path: "match_unit/asm/src/layout.rs".to_owned(), text: layout(&spec) },
        Generated { path: "docs/isa_match_unit.md".to_owned(), text: manual(&spec) },
    ])
}

fn check(spec: &Spec) -> Result<(), String> {
    let mut next = 0;
    for slot in &spec.slot {
        if slot.offset != next {
            return Err(format!("slot {} begins at bit {}, expected {next}", slot.name, slot.offset));
        }
        for field in &slot.field {
            if field.offset != next || field.bits == 0 || field.bits > 32 {
                return Err(format!(
                    "field {}.{} is {} bits at bit {}, expected 1 to 32 bits at {next}",
                    slot.name, field.name, field.bits, field.offset
                ));
            }
            next += field.bits;
        }
        if next != slot.offset + slot.bits {
            return Err(format!("slot {} has {} bits, its fields have {}", slot.name, slot.bits, next - slot.offset));
        }
    }
    if next != spec.word_bits {
        return Err(format!("the slots have {next} bits, the word {}", spec.word_bits));
    }
    let mut taken: Vec<(&str, u32)> = Vec::new();
    for codes in &spec.codes {
        for place in std::iter::once(&codes.field).chain(&codes.also) {
            let Some(field) = find(spec, place) else {
                return Err(format!("codes {} name the unknown field {place}", codes.name));
            };
            for value in &codes.value {
                if value.code >> field.bits != 0 {
                    return Err(format!(
                        "code {} of {} does not fit the {} bits of {place}",
                        value.code, value.name, field.bits
                    ));
                }
                if taken.contains(&(place, value.code)) {
                    return Err(format!("code {} of {place} is given twice", value.code));
                }
                taken.push((place, value.code));
            }
        }
    }
    Ok(())
}

fn find<'a>(spec: &'a Spec, place: &str) -> Option<&'a Field> {
    let (slot, field) = place.split_once('.')?;
    spec.slot.iter().find(|s| s.name == slot)?.field.iter().find(|f| f.name == field)
}

fn rust_type(bits: u32) -> &'static str {
    match bits {
        0..=8 => "u8",
        9..=16 => "u16",
        _ => "u32",
    }
}

fn layout(spec: &Spec) -> String {
    let mut out = format!(
        "// SPDX-License-Identifier: Apache-2.0 OR MIT\n\
         //! Fields of the instruction word, their packing and the operation tables.\n\
         //!\n\
         //! Generated from `{SPEC}` by `make gen`; do not edit.\n\n\
         /// Bits of an instruction word.\n\
         pub const WORD_BITS: u32 = {};\n\n\
         /// Words the microcode store holds, and addresses a branch can reach.\n\
         pub const STORE_WORDS: usize = {};\n\n\
         /// The fields of one word, each with its bits at the low end.\n\
         #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]\n\
         pub struct Fields {{\n",
        spec.word_bits, spec.store_words
    );
    let fields = || spec.slot.iter().flat_map(|slot| slot.field.iter().map(move |field| (slot, field)));
    for (slot, field) in fields() {
        write!(out, "    /// {}\n    pub {}_{}: {},\n", field.meaning, slot.name, field.name, rust_type(field.bits))
            .expect("a string takes all text");
    }
    let count = fields().count();
    write!(
        out,
        "}}\n\n/// Slot and name, offset and width of every field, the lowest first.\n\
         pub const FIELDS: [(&str, usize, usize); {count}] = [\n"
    )
    .expect("a string takes all text");
    for (slot, field) in fields() {
        writeln!(out, "    (\"{}.{}\", {}, {}),", slot.name, field.name, field.offset, field.bits)
            .expect("a string takes all text");
    }
    out.push_str("];\n\nimpl Fields {\n    /// The word these fields make, least significant bits first.\n");
    out.push_str("    ///\n    /// # Panics\n    /// When a value has more bits than its field.\n");
    out.push_str("    #[must_use]\n    pub const fn pack(self) -> [u64; 3] {\n        let mut word = [0; 3];\n");
    for (slot, field) in fields() {
        writeln!(
            out,
            "        put(&mut word, {}, {}, self.{}_{} as u64);",
            field.offset, field.bits, slot.name, field.name
        )
        .expect("a string takes all text");
    }
    out.push_str("        word\n    }\n\n    /// The fields of a word; bits beyond the word are not looked at.\n");
    out.push_str("    #[must_use]\n    pub const fn unpack(word: [u64; 3]) -> Self {\n        Self {\n");
    for (slot, field) in fields() {
        writeln!(
            out,
            "            {}_{}: take(word, {}, {}) as {},",
            slot.name,
            field.name,
            field.offset,
            field.bits,
            rust_type(field.bits)
        )
        .expect("a string takes all text");
    }
    out.push_str("        }\n    }\n}\n");
    out.push_str(PACKING);
    for codes in &spec.codes {
        enumeration(&mut out, codes);
    }
    rules(&mut out, &spec.refusal);
    out
}

const PACKING: &str = "
const fn put(word: &mut [u64; 3], offset: usize, bits: usize, value: u64) {
    assert!(value >> bits == 0, \"a value has more bits than its field\");
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
";

fn enumeration(out: &mut String, codes: &Codes) {
    let name = &codes.name;
    let mut put = |line: String| {
        out.push_str(&line);
        out.push('\n');
    };
    put(format!("\n/// {}", codes.meaning));
    put("#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]".into());
    put(format!("pub enum {name} {{"));
    for value in &codes.value {
        put(format!("    /// `{}`: {}\n    {},", value.text, value.meaning, value.name));
    }
    put(format!("}}\n\nimpl {name} {{\n    /// Every value, in the order of the codes."));
    let list = codes.value.iter().map(|v| format!("Self::{}", v.name)).collect::<Vec<_>>().join(", ");
    put(format!("    pub const ALL: [Self; {}] = [{list}];\n", codes.value.len()));
    put(format!("    /// Its bits in the field `{}`.\n    #[must_use]", codes.field));
    put("    pub const fn code(self) -> u8 {\n        match self {".into());
    for value in &codes.value {
        put(format!("            Self::{} => {},", value.name, value.code));
    }
    put("        }\n    }\n\n    /// The value with these bits, if there is one.\n    #[must_use]".into());
    put("    pub const fn from_code(code: u8) -> Option<Self> {\n        match code {".into());
    for value in &codes.value {
        put(format!("            {} => Some(Self::{}),", value.code, value.name));
    }
    put("            _ => None,\n        }\n    }\n\n    /// How it is written in a program.\n    #[must_use]".into());
    put("    pub const fn text(self) -> &'static str {\n        match self {".into());
    for value in &codes.value {
        put(format!("            Self::{} => {:?},", value.name, value.text));
    }
    put("        }\n    }\n\n    /// The value that is written so, if there is one.\n    #[must_use]".into());
    put("    pub fn from_text(text: &str) -> Option<Self> {".into());
    put("        Self::ALL.into_iter().find(|value| value.text() == text)\n    }\n}".into());
}

fn rules(out: &mut String, refusals: &[Item]) {
    let camel = |name: &str| -> String {
        let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
        name.split(' ').map(capital).collect()
    };
    let mut put = |line: String| {
        out.push_str(&line);
        out.push('\n');
    };
    put("\n/// Why a text, a word or a program is refused.".into());
    put("#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]\npub enum Rule {".into());
    for item in refusals {
        put(format!("    /// {}\n    {},", item.meaning, camel(&item.name)));
    }
    put("}\n\nimpl Rule {\n    /// Every rule, in the order of the specification.".into());
    let list = refusals.iter().map(|item| format!("Self::{}", camel(&item.name))).collect::<Vec<_>>().join(", ");
    put(format!("    pub const ALL: [Self; {}] = [{list}];\n", refusals.len()));
    for (method, doc, of) in [
        ("name", "Its short name.", (|item| &item.name) as fn(&Item) -> &String),
        ("meaning", "What is refused.", |item| &item.meaning),
    ] {
        let head = if method == "name" { "" } else { "        }\n    }\n\n" };
        put(format!("{head}    /// {doc}\n    #[must_use]\n    pub const fn {method}(self) -> &'static str {{"));
        put("        match self {".into());
        for item in refusals {
            put(format!("            Self::{} => {:?},", camel(&item.name), of(item)));
        }
    }
    put("        }\n    }\n}".into());
}

fn manual(spec: &Spec) -> String {
    let mut out = format!(
        "<!-- Generated from {SPEC} by `make gen`; do not edit. -->\n# {}\n\n\
         Source Hemmert et al. are {}.\n\
         \"ours\" marks what that paper leaves open, with the reason for the choice.\n\
         The word has {} bits, bit 0 is the least significant one, and the microcode store holds {} words.\n\
         How programs are written is described in `match_unit/asm/README.md`, how they are stored in `spec/isa/image.md`.\n",
        spec.title, spec.paper, spec.word_bits, spec.store_words
    );
    let mut put = |text: String| {
        out.push_str(&text);
        out.push('\n');
    };
    put("\n## State\n".into());
    items(&mut put, "what", &spec.state);
    put("\n## The six slots\n\n| slot | bits | width | meaning | source |\n|---|---|---|---|---|".into());
    for slot in &spec.slot {
        put(format!(
            "| [{0}](#slot-{0}) | {1} to {2} | {3} | {4} | {5} |",
            slot.name,
            slot.offset + slot.bits - 1,
            slot.offset,
            slot.bits,
            cell(&slot.meaning),
            cell(&slot.source)
        ));
    }
    for slot in &spec.slot {
        put(format!("\n## Slot {}\n\n{}\n", slot.name, slot.meaning));
        put("| field | bits | width | meaning | source |\n|---|---|---|---|---|".into());
        for field in slot.field.iter().rev() {
            let high = field.offset + field.bits - 1;
            let range = if field.bits == 1 { high.to_string() } else { format!("{high} to {}", field.offset) };
            put(format!(
                "| {} | {range} | {} | {} | {} |",
                field.name,
                field.bits,
                cell(&field.meaning),
                cell(&field.source)
            ));
        }
        for codes in spec.codes.iter().filter(|c| c.field.starts_with(&format!("{}.", slot.name))) {
            let places = std::iter::once(&codes.field).chain(&codes.also).map(|f| format!("`{f}`"));
            put(format!("\n### {}: {}\n", places.collect::<Vec<_>>().join(", "), codes.name));
            put(format!("{}\n\n| text | code | meaning | source |\n|---|---|---|---|", codes.meaning));
            for value in &codes.value {
                put(format!(
                    "| `{}` | {} | {} | {} |",
                    cell(&value.text),
                    value.code,
                    cell(&value.meaning),
                    cell(&value.source)
                ));
            }
        }
    }
    put("\n## Execution\n".into());
    items(&mut put, "rule", &spec.rule);
    put("\n## What is refused\n\nThe assembler, the decoder and the image reader refuse:\n".into());
    items(&mut put, "name", &spec.refusal);
    out
}

fn items(put: &mut impl FnMut(String), head: &str, list: &[Item]) {
    put(format!("| {head} | meaning | source |\n|---|---|---|"));
    for item in list {
        put(format!("| {} | {} | {} |", item.name, cell(&item.meaning), cell(&item.source)));
    }
}

/// Text inside a table: a bar would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the generator says of the specification in the tree with one piece of it replaced.
    fn refusal(from: &str, to: &str) -> String {
        let spec = include_str!("../../../spec/isa/match_unit.toml");
        assert!(spec.contains(from), "the specification has no {from:?}");
        let changed = spec.replacen(from, to, 1);
        match_unit(&Tree::of(&[(SPEC, &changed)]), Path::new("")).expect_err("an impossible specification")
    }

    #[test]
    fn fields_that_leave_a_gap_are_refused() {
        assert_eq!(
            refusal("offset = 32", "offset = 33"),
            "spec/isa/match_unit.toml: field alu.imm_sel is 2 bits at bit 33, expected 1 to 32 bits at 32"
        );
    }

    #[test]
    fn a_word_of_another_size_is_refused() {
        assert_eq!(
            refusal("word_bits = 164", "word_bits = 163"),
            "spec/isa/match_unit.toml: the slots have 164 bits, the word 163"
        );
    }

    #[test]
    fn a_code_given_twice_is_refused() {
        assert_eq!(refusal("code = 16", "code = 7"), "spec/isa/match_unit.toml: code 7 of alu.op is given twice");
    }

    #[test]
    fn a_code_that_does_not_fit_is_refused() {
        assert_eq!(
            refusal("code = 16", "code = 32"),
            "spec/isa/match_unit.toml: code 32 of Equal does not fit the 5 bits of alu.op"
        );
    }
}
