// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The codes and records of the MPI conformance check, in Rust and in C, from one table.

use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;

use super::Generated;
use crate::tree::Tree;

const SPEC: &str = "spec/conform/codes.toml";
const RUST: &str = "mpi/conform/src/codes.rs";
const C: &str = "mpi/conform/c/codes.h";

/// Columns of a comment.
const WIDTH: usize = 100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Spec {
    constant: Vec<Constant>,
    codes: Vec<Codes>,
    record: Vec<Record>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Constant {
    name: String,
    value: i32,
    meaning: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Codes {
    name: String,
    prefix: String,
    meaning: String,
    value: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Value {
    name: String,
    code: i32,
    meaning: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    name: String,
    meaning: String,
    /// Name of the numbers that follow the fields, if any do.
    tail: Option<String>,
    field: Vec<Field>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Field {
    name: String,
    meaning: String,
}

/// The Rust module and the C header.
pub(crate) fn codes(tree: &Tree, _: &Path) -> Result<Vec<Generated>, String> {
    let text = tree.text(SPEC).ok_or_else(|| format!("{SPEC}: the file is missing"))?;
    let spec: Spec = toml::from_str(text).map_err(|error| format!("{SPEC}: {error}"))?;
    check(&spec).map_err(|reason| format!("{SPEC}: {reason}"))?;
    Ok(vec![Generated { path: RUST.to_owned(), text: rust(&spec) }, Generated { path: C.to_owned(), text: c(&spec) }])
}

/// Names are unique in C, and the codes of an enumeration are consecutive.
fn check(spec: &Spec) -> Result<(), String> {
    for codes in &spec.codes {
        for pair in codes.value.windows(2) {
            if pair[1].code != pair[0].code + 1 {
                return Err(format!(
                    "{}.{}: found code {}, expected {}",
                    codes.name,
                    pair[1].name,
                    pair[1].code,
                    pair[0].code + 1
                ));
            }
        }
    }
    let mut names: Vec<String> = spec.constant.iter().map(|constant| constant.name.clone()).collect();
    names.extend(spec.codes.iter().flat_map(|codes| codes.value.iter().map(|value| c_name(codes, value))));
    names.extend(spec.record.iter().map(|record| record.name.clone()));
    names.sort();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("the name {} is used twice", pair[0])),
        None => Ok(()),
    }
}

fn rust(spec: &Spec) -> String {
    let mut text = format!(
        "// SPDX-License-Identifier: Apache-2.0 OR MIT\n\
         //! Codes and records shared with the C runner. Generated from {SPEC}: run `make gen`.\n\n\
         use zerocopy::{{FromBytes, Immutable, IntoBytes, KnownLayout}};\n"
    );
    for constant in &spec.constant {
        let _ = write!(
            text,
            "\n{}pub const {}: i32 = {};\n",
            doc("", &constant.meaning),
            constant.name,
            number(constant, "_")
        );
    }
    for codes in &spec.codes {
        rust_enum(codes, &mut text);
    }
    for record in &spec.record {
        let _ = write!(
            text,
            "\n{}#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, FromBytes, IntoBytes, KnownLayout, Immutable)]\n\
             #[repr(C)]\npub struct {} {{\n",
            doc("", &record.meaning),
            record.name
        );
        for field in &record.field {
            let _ = writeln!(text, "{}    pub {}: i32,", doc("    ", &field.meaning), field.name);
        }
        text.push_str("}\n");
    }
    text
}

fn rust_enum(codes: &Codes, text: &mut String) {
    let _ = write!(
        text,
        "\n{}#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]\n#[repr(i32)]\npub enum {} {{\n",
        doc("", &codes.meaning),
        codes.name
    );
    for value in &codes.value {
        let _ = writeln!(text, "{}    {} = {},", doc("    ", &value.meaning), value.name, value.code);
    }
    let _ = write!(
        text,
        "}}\n\nimpl {} {{\n    /// Every value, in the order of the codes.\n    #[rustfmt::skip]\n    pub const ALL: [Self; {}] = [\n",
        codes.name,
        codes.value.len()
    );
    for value in &codes.value {
        let _ = writeln!(text, "        Self::{},", value.name);
    }
    let first = codes.value.first().map_or(0, |value| value.code);
    let index = if first == 0 { "code".to_owned() } else { format!("code.checked_sub({first})?") };
    let _ = write!(
        text,
        "    ];\n\n    /// Its number.\n    #[must_use]\n    pub const fn code(self) -> i32 {{\n        self as i32\n    }}\n\n\
         \x20   /// The value with this number, if there is one.\n    #[must_use]\n    \
         pub fn from_code(code: i32) -> Option<Self> {{\n        \
         Self::ALL.get(usize::try_from({index}).ok()?).copied()\n    }}\n}}\n"
    );
}

fn c(spec: &Spec) -> String {
    let mut text = format!(
        "/* SPDX-License-Identifier: Apache-2.0 OR MIT */\n\
         /* Codes and records shared with the Rust judge. Generated from {SPEC}: run `make gen`. */\n\
         #ifndef MATCHBENCH_CONFORM_CODES_H\n#define MATCHBENCH_CONFORM_CODES_H\n\nenum {{\n"
    );
    for constant in &spec.constant {
        let _ = writeln!(text, "{}  {} = {},", comment("  ", &constant.meaning), constant.name, number(constant, ""));
    }
    text.push_str("};\n");
    for codes in &spec.codes {
        let _ = write!(text, "\n{}enum {{\n", comment("", &codes.meaning));
        for value in &codes.value {
            let _ = writeln!(text, "{}  {} = {},", comment("  ", &value.meaning), c_name(codes, value), value.code);
        }
        let _ = writeln!(text, "  {}S = {},\n}};", snake(&codes.name).to_uppercase(), codes.value.len());
    }
    for record in &spec.record {
        let _ = write!(text, "\n{}typedef struct {{\n", comment("", &record.meaning));
        for field in &record.field {
            let _ = writeln!(text, "{}  int {};", comment("  ", &field.meaning), field.name);
        }
        if let Some(tail) = &record.tail {
            let _ = writeln!(text, "  int {tail}[];");
        }
        let _ = writeln!(text, "}} {};", record.name);
    }
    text.push_str("\n#endif\n");
    text
}

/// Large constants in hexadecimal, with `separator` between the halves.
fn number(constant: &Constant, separator: &str) -> String {
    let value = constant.value;
    if value > 0xffff { format!("0x{:04x}{separator}{:04x}", value >> 16, value & 0xffff) } else { value.to_string() }
}

fn c_name(codes: &Codes, value: &Value) -> String {
    format!("{}_{}", codes.prefix, snake(&value.name).to_uppercase())
}

/// `FoundNothing` as `Found_Nothing`.
fn snake(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter);
    }
    snake
}

/// `text` as Rust documentation, wrapped.
fn doc(indent: &str, text: &str) -> String {
    let lines = wrap(text, WIDTH - indent.len() - 4);
    format!("{indent}/// {}\n", lines.join(&format!("\n{indent}/// ")))
}

/// `text` as a C comment, wrapped.
fn comment(indent: &str, text: &str) -> String {
    let lines = wrap(text, WIDTH - indent.len() - 6);
    format!("{indent}/* {} */\n", lines.join(&format!("\n{indent} * ")))
}

fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = r#"
        constant = [{ name = "ANY", value = -1, meaning = "Any." }, { name = "MAGIC", value = 0x4f43424d, meaning = "M." }]
        codes = [{ name = "Call", prefix = "CALL", meaning = "Calls.", value = [
            { name = "Wait", code = 1, meaning = "W." }, { name = "FoundNothing", code = 2, meaning = "F." } ] }]
        record = [{ name = "Part", meaning = "P.", tail = "rest", field = [{ name = "words", meaning = "W." }] }]
    "#;

    fn generated(table: &str) -> Result<Vec<Generated>, String> {
        codes(&Tree::of(&[(SPEC, table)]), Path::new(""))
    }

    #[test]
    fn both_languages_hold_the_same_numbers() {
        let files = generated(TABLE).unwrap();
        let [rust, c] = &files[..] else { panic!("two files") };
        for line in ["pub const ANY: i32 = -1;", "pub const MAGIC: i32 = 0x4f43_424d;", "    FoundNothing = 2,"] {
            assert!(rust.text.contains(line), "{line}\n{}", rust.text);
        }
        for line in
            ["  ANY = -1,", "  MAGIC = 0x4f43424d,", "  CALL_FOUND_NOTHING = 2,", "  CALLS = 2,", "  int rest[];"]
        {
            assert!(c.text.contains(line), "{line}\n{}", c.text);
        }
    }

    #[test]
    fn a_gap_in_the_codes_and_a_name_used_twice_are_refused() {
        let gap = generated(&TABLE.replace("code = 2", "code = 3")).unwrap_err();
        assert_eq!(gap, format!("{SPEC}: Call.FoundNothing: found code 3, expected 2"));
        let twice = generated(&TABLE.replace("\"MAGIC\"", "\"ANY\"")).unwrap_err();
        assert_eq!(twice, format!("{SPEC}: the name ANY is used twice"));
    }

    #[test]
    fn long_comments_are_wrapped() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
    }
}
