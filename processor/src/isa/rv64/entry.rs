// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The table as the decoder uses it: for a word, the first line that fits to it.

use super::effect::AtomicKind as A;
use super::float::FloatOp as F;
use super::kind::Kind;
use super::line::{Format, Line};
use super::operation::Operation;
use super::table::instructions;
use crate::InstructionClass;

macro_rules! entry {
    ($bits:literal $class:ident $format:ident $kind:expr) => {{
        const LINE: Line = Line::new($bits, InstructionClass::$class, Format::$format, $kind);
        Entry {
            mask: LINE.mask,
            value: LINE.value,
            has_rounding: LINE.has_rounding,
            operation: |word, pc| LINE.operation(word, pc),
        }
    }};
}

/// A line as the decoder uses it: in its function, the line is constant.
pub(super) struct Entry {
    mask: u32,
    value: u32,
    has_rounding: bool,
    pub(super) operation: fn(u32, u64) -> Operation,
}

impl Entry {
    /// For a word that no line fits to.
    pub(super) const ILLEGAL: Self = entry!("................................" Integer Word Kind::Illegal);

    /// The first line that fits to a word.
    pub(super) fn of(word: u32) -> Option<&'static Self> {
        let (first, end) = CANDIDATES[index(word)];
        let line = ENTRIES[first.into()..end.into()].iter().find(|line| word & line.mask == line.value)?;
        let is_reserved = line.has_rounding && matches!(word >> 12 & 7, 5 | 6);
        (!is_reserved).then_some(line)
    }
}

/// The bits that tell most instructions apart: opcode, funct3, and five bits of funct7.
const fn index(word: u32) -> usize {
    let funct7 = word >> 25 & 1 | (word >> 27 & 1) << 1 | (word >> 29) << 2;
    (word >> 2 & 31 | (word >> 12 & 7) << 5 | funct7 << 8) as usize
}

/// The first of the lines that fit to an index, and the end of these lines.
static CANDIDATES: [(u8, u8); 1 << 13] = {
    let mut candidates = [(0, 0); 1 << 13];
    let mut number = 0;
    while number < ENTRIES.len() {
        let free = index(!ENTRIES[number].mask);
        let mut part = 0;
        loop {
            let candidate = &mut candidates[index(ENTRIES[number].value) | part];
            if candidate.1 == 0 {
                candidate.0 = number as u8;
            }
            candidate.1 = number as u8 + 1;
            // The next subset of the free bits.
            part = part.wrapping_sub(free) & free;
            if part == 0 {
                break;
            }
        }
        number += 1;
    }
    candidates
};

macro_rules! entries {
    ($($name:literal $bits:literal $class:ident $format:ident $($own:ident)? $(= $shared:ident $(($of:expr))?)?;)*) => {
        /// The table. Where two lines fit to a word, the first one holds.
        static ENTRIES: [Entry; NAMES.len()] = [
            $(entry!($bits $class $format $(Kind::$own)? $(Kind::$shared $(($of))?)?),)*
        ];

        /// The names of the lines. One with braces stands for two instructions.
        const NAMES: &[&str] = &[$($name),*];
    };
}

instructions!(entries);

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The instructions of a name with braces.
    fn each(name: &str) -> Vec<String> {
        let Some((before, rest)) = name.split_once('{') else { return vec![name.to_owned()] };
        let (formats, after) = rest.split_once('}').expect("a closing brace");
        formats.split(',').map(|format| format!("{before}{format}{after}")).collect()
    }

    #[test]
    fn the_page_lists_the_instructions_of_the_table() {
        let page = include_str!("../../../docs/processors.md");
        let section = page.split("### RV64").nth(1).and_then(|rest| rest.split("\n#").next()).expect("a section");
        // Those of C expand to others, and those of Zicntr are accesses of Zicsr.
        let rows = section.lines().filter(|row| row.starts_with("| ") && !row.starts_with("| C "));
        let rows = rows.skip(1).filter(|row| !row.starts_with("| Zicntr "));
        let names = rows.flat_map(|row| row.split('|').nth(2).expect("a second column").split([' ', ';']));
        let listed: BTreeSet<String> = names.filter(|name| !name.is_empty()).map(str::to_owned).collect();
        assert_eq!(listed, NAMES.iter().copied().flat_map(each).collect());
    }

    #[test]
    fn every_line_has_a_word_with_known_results() {
        let words = include_str!("../../../tests/isa/rv64.txt").lines();
        let words = words.filter_map(|line| u32::from_str_radix(line.split_whitespace().next()?, 16).ok());
        let found: Vec<_> = words.filter_map(Entry::of).collect();
        for (line, name) in ENTRIES.iter().zip(NAMES) {
            assert!(found.iter().any(|entry| std::ptr::eq(*entry, line)), "{name}: no word in tests/isa/rv64.txt");
        }
    }
}
