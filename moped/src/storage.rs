// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Storage of one MOPED, recomputed from the fields of its structures.
//!
//! Section 4.6 of the paper gives 24 bytes for a descriptor, about 70 for an active match, 71 for a line, and just over
//! 2 kB for all. The fields of figures 7 and 9 give these with the widths of a machine of 2011: virtual addresses of 32
//! bits, and physical addresses of 48 bits ([`Widths::PAPER`]); figure 9 itself has addresses of 64 bits.

use crate::parameters::{MopedParameters, WalkStart};

/// Widths in bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Widths {
    /// Virtual address of a buffer.
    pub virtual_address: u64,
    /// Physical address of a line.
    pub line_address: u64,
    /// Physical address of a page.
    pub page_address: u64,
    /// Pointer to a page table.
    pub page_table: u64,
}

impl Widths {
    /// 32-bit processors with physical addresses of 48 bits.
    pub const PAPER: Self = Self { virtual_address: 32, line_address: 48, page_address: 48, page_table: 32 };
    /// As [`Self::PAPER`], with the addresses of figure 9.
    pub const FIGURE_9: Self = Self { line_address: 64, page_address: 64, ..Self::PAPER };
    /// As simulated: Sv39 with physical addresses of 56 bits, of which lines and pages have no low bits.
    pub const SV39: Self = Self { virtual_address: 39, line_address: 50, page_address: 44, page_table: 44 };
}

/// Where a field comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldSource {
    /// The paper names it.
    Paper,
    /// MPI's order, back-off without loss, or the simulated form needs it.
    Correction,
    /// Probe, cancel, truncation and status.
    Extension,
}

/// Which structure a field belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Structure {
    /// An entry of the table of outstanding descriptors.
    Descriptor,
    /// An entry of the table of active matches, without its lines.
    Active,
    /// A send or receive line.
    Line,
    /// A program.
    Program,
    /// The rest of the MOPED.
    Device,
}

/// A field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its structure.
    pub structure: Structure,
    /// Its name.
    pub name: &'static str,
    /// Bits.
    pub bits: u64,
    /// Where it comes from.
    pub origin: FieldSource,
}

/// Bits that tell `values` values apart.
const fn bits_of(values: usize) -> u64 {
    values.next_power_of_two().trailing_zeros() as u64
}

const LENGTH: u64 = 32;
const TAG: u64 = 32;
const CONTEXT: u64 = 16;
const COMMUNICATOR_RANK: u64 = 16;
const RANK: u64 = 9;
/// Number of a line of a message.
const LINE_NUMBER: u64 = LENGTH - 6;

/// The fields of a MOPED.
#[must_use]
pub fn fields(parameters: &MopedParameters, widths: Widths) -> Vec<Field> {
    use FieldSource::{Correction, Extension, Paper};
    use Structure::{Active, Descriptor, Device, Line, Program};
    let entry = bits_of(parameters.descriptors);
    let node = bits_of(parameters.nodes);
    let program = bits_of(parameters.programs);
    let id = node + entry;
    let early = if parameters.walk_start == WalkStart::Valid { 2 * (widths.page_address + 1) } else { 0 };
    let count = bits_of(parameters.descriptors + 1);
    let nodes = bits_of(parameters.nodes + 1);
    let ring = bits_of(parameters.walk_lines);
    [
        (Descriptor, "status RVNMAC", 6, Paper),
        (Descriptor, "send or receive", 1, Paper),
        (Descriptor, "program", program, Paper),
        (Descriptor, "rank in the program", RANK, Paper),
        (Descriptor, "descriptor id, or link", id, Paper),
        (Descriptor, "page table", widths.page_table, Paper),
        (Descriptor, "virtual address", widths.virtual_address, Paper),
        (Descriptor, "length", LENGTH, Paper),
        (Descriptor, "context", CONTEXT, Paper),
        (Descriptor, "sender's rank", COMMUNICATOR_RANK, Paper),
        (Descriptor, "tag", TAG, Paper),
        (Descriptor, "any sender, any tag", 2, Correction),
        (Descriptor, "receiver's rank in the program", RANK, Correction),
        (Descriptor, "older and younger entry", 2 * entry, Correction),
        (Descriptor, "own, forwarded or partner", 2, Correction),
        (Descriptor, "link to the send of a pair, and where it is", id + 2, Correction),
        (Descriptor, "first two pages", early, Paper),
        (Descriptor, "revoked, cancelled or bad buffer, withdrawal under way", 3, Extension),
        (Descriptor, "kind beyond send and receive", 2, Extension),
        (Descriptor, "matched probe that has taken it", id + 1, Extension),
        (Descriptor, "truncated", 1, Extension),
        (Active, "descriptor ids", 2 * id, Paper),
        (Active, "virtual addresses", 2 * widths.virtual_address, Paper),
        (Active, "page table pointers", 2 * widths.page_table, Paper),
        (Active, "CR3", 2 * widths.page_table, Paper),
        (Active, "two pages each", 4 * widths.page_address, Paper),
        (Active, "size", LENGTH, Paper),
        (Active, "next lines, and lines written", 3 * LINE_NUMBER, Paper),
        (Active, "shift", 6, Paper),
        (Active, "translations valid, at walk, at fault", 12, Correction),
        (Line, "address", widths.line_address, Paper),
        (Line, "state", 2, Paper),
        (Line, "First, Last, mark, leftCopy, rightCopy", 5, Paper),
        (Line, "data", 512, Paper),
        (Line, "write-back under way", 1, Correction),
        (Program, "back-off bit", 1, Paper),
        (Program, "descriptors of the program here", count, Paper),
        (Program, "known everywhere, ending, drained, owes a report", 4, Correction),
        (Program, "episode", 29, Correction),
        (Program, "of the home: raised, resumed, ending, MOPEDs that are set, drained", 3 + 2 * nodes, Correction),
        (Device, "poll cache", program + RANK + id, Paper),
        (Device, "word of the poll", 3, Extension),
        (Device, "walker: staged lines", parameters.walk_lines as u64 * (512 + widths.line_address), Paper),
        (Device, "walker: level, table, address, target", 2 + widths.page_table + 27 + 5 + ring, Paper),
        (Device, "oldest and youngest entry", 2 * entry, Correction),
        (Device, "descriptors in flight", count, Correction),
        (Device, "page fault, and MOPEDs that have one", program + RANK + 28 + parameters.nodes as u64, Paper),
        (Device, "page that is withdrawn, and MOPEDs that owe", widths.page_table + 27 + nodes, Paper),
    ]
    .into_iter()
    .map(|(structure, name, bits, origin)| Field { structure, name, bits, origin })
    .collect()
}

/// Bits of one of a structure, from the fields of these origins.
#[must_use]
pub fn bits(fields: &[Field], structure: Structure, origins: &[FieldSource]) -> u64 {
    let counted = |field: &&Field| field.structure == structure && origins.contains(&field.origin);
    fields.iter().filter(counted).map(|field| field.bits).sum()
}

/// How many of a structure a MOPED has.
#[must_use]
pub fn instances(parameters: &MopedParameters, structure: Structure) -> u64 {
    (match structure {
        Structure::Descriptor => parameters.descriptors,
        Structure::Active => parameters.active,
        Structure::Line => 2 * parameters.lines * parameters.active,
        Structure::Program => parameters.programs,
        Structure::Device => 1,
    }) as u64
}

/// Bytes of one of a structure, rounded up, from the fields of these origins.
#[must_use]
pub fn bytes(fields: &[Field], structure: Structure, origins: &[FieldSource]) -> u64 {
    bits(fields, structure, origins).div_ceil(8)
}

/// The storage that the paper counts: descriptors, active matches and lines, each rounded to bytes, without early
/// translations.
#[must_use]
pub fn published_bytes(parameters: &MopedParameters, widths: Widths) -> u64 {
    let parameters = MopedParameters { walk_start: WalkStart::Active, ..parameters.clone() };
    let fields = fields(&parameters, widths);
    [Structure::Descriptor, Structure::Active, Structure::Line]
        .into_iter()
        .map(|structure| instances(&parameters, structure) * bytes(&fields, structure, &[FieldSource::Paper]))
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets;

    #[test]
    fn the_fields_of_figures_7_and_9_have_the_published_sizes() {
        let parameters = MopedParameters { walk_start: WalkStart::Active, ..presets::parameters("base") };
        let of = |widths, structure| bytes(&fields(&parameters, widths), structure, &[FieldSource::Paper]);
        assert_eq!(of(Widths::PAPER, Structure::Descriptor), 24);
        assert_eq!((of(Widths::PAPER, Structure::Line), of(Widths::FIGURE_9, Structure::Line)), (71, 73));
        // The paper says "about 70".
        assert_eq!((of(Widths::PAPER, Structure::Active), of(Widths::FIGURE_9, Structure::Active)), (65, 73));
        // 64 * 24 + 70 + 8 * 71 = 2174.
        let totals = [published_bytes(&parameters, Widths::PAPER), published_bytes(&parameters, Widths::FIGURE_9)];
        assert_eq!(totals, [64 * 24 + 65 + 8 * 71, 64 * 24 + 73 + 8 * 73]);
        assert!(totals[0] <= 2174 && 2174 <= totals[1]);
    }

    #[test]
    fn corrections_and_extensions_are_counted_apart() {
        let parameters = presets::parameters("base");
        let fields = fields(&parameters, Widths::SV39);
        let all = [Structure::Descriptor, Structure::Active, Structure::Line, Structure::Program, Structure::Device];
        let total = |origin| {
            let bits = all.map(|structure| instances(&parameters, structure) * bits(&fields, structure, &[origin]));
            bits.iter().sum::<u64>() / 8
        };
        let found = [FieldSource::Paper, FieldSource::Correction, FieldSource::Extension].map(total);
        assert_eq!(found, [3147, 392, 136]);
    }

    #[test]
    fn early_translations_do_not_fit_into_24_bytes() {
        let parameters = presets::parameters("base");
        let fields = fields(&parameters, Widths::PAPER);
        assert_eq!(bytes(&fields, Structure::Descriptor, &[FieldSource::Paper]), 36);
    }
}
