// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Presets: a value with its source for every parameter.

use std::borrow::Cow;

use mb_core::parameters::{ParameterError, ParameterSet, Parameters, Source};

use crate::parameters::MopedParameters;

/// The three designs of the paper.
pub const PAPER: [&str; 3] = ["base", "optcopy", "optcache"];
/// The text of the paper without the corrections that MPI's order needs.
pub const LITERAL: [&str; 2] = ["slot_order", "published_backoff"];

const fn paper(place: &'static str) -> Source {
    Source::Paper { key: Cow::Borrowed("gu2011"), place: Cow::Borrowed(place) }
}

const fn assumed(why: &'static str) -> Source {
    Source::Assumed(Cow::Borrowed(why))
}

type Value = (&'static str, &'static str, Source);

const SHARED: &[Value] = &[
    ("nodes", "16", paper("table 1: 16 cores")),
    ("programs", "16", assumed("section 4.1 shares the device among programs and gives no number")),
    ("descriptors", "64", paper("section 4.6: a table of 64 suffices")),
    ("active", "1", paper("section 4.6: a single match")),
    ("lines", "4", paper("table 1: 4 send and 4 receive lines")),
    ("walk_lines", "1", paper("section 4.2: a staging buffer of a single line suffices")),
    ("operations", "2", paper("table 1: 2 operations in a cycle; of the core, as the table names no other clock")),
    ("merge_halves", "2", assumed("figure 9 marks a left and a right half of a line; both are shifted in a cycle")),
    ("design", "base", paper("section 4.5: the base design")),
    ("order", "age", assumed("section 4.2 walks slots, which breaks MPI's order")),
    ("backoff", "stop", assumed("section 4.4 as published breaks MPI's order")),
    ("walk_start", "valid", paper("section 4.2: translation could start as soon as a descriptor is valid")),
    ("hash_factor", "5", assumed("section 4.2 hashes program and rank and gives no function")),
    ("port_cycles", "1", assumed("the access is a register's; its way to the device is the memory system's")),
    ("find_cycles", "1", assumed("section 4.6: find-first-bit")),
    ("walk_cycles", "1", assumed("section 4.6: a linear walk of the table, an entry in a cycle")),
    ("descriptor_bytes", "32", assumed("24 bytes of section 4.6 and a header of 8")),
    ("control_bytes", "8", assumed("a header with a descriptor and a program")),
];

/// The values of a preset that differ from `SHARED`.
fn own(name: &str) -> Option<Vec<Value>> {
    Some(match name {
        "base" => Vec::new(),
        "optcopy" => vec![("design", "optcopy", paper("section 4.5"))],
        "optcache" => vec![("design", "optcache", paper("section 4.5"))],
        "slot_order" => vec![("order", "slot", paper("section 4.2: finds the first descriptor, then walks the table"))],
        "published_backoff" => vec![("backoff", "published", paper("section 4.4"))],
        _ => return None,
    })
}

/// Every value of a preset with its source; `None` if no preset has the name.
///
/// # Errors
/// Those of [`ParameterSet::complete`], which the tests of this crate exclude.
#[must_use]
pub fn preset(name: &str) -> Option<Result<ParameterSet, ParameterError>> {
    let own = own(name)?;
    let is_own = |key: &str| own.iter().any(|(other, _, _)| *other == key);
    let shared = SHARED.iter().filter(|(key, _, _)| !is_own(key)).cloned();
    Some(ParameterSet::complete(MopedParameters::SPECS, shared.chain(own.clone())))
}

/// The parameters of a preset.
///
/// # Panics
/// If no preset has the name.
#[must_use]
pub fn parameters(name: &str) -> MopedParameters {
    match preset(name) {
        Some(Ok(set)) => set.typed(),
        Some(Err(error)) => panic!("preset {name}: {error}"),
        None => panic!("preset {name}: expected one of {PAPER:?} or {LITERAL:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::{Backoff, MatchOrder, MopedDesign};

    #[test]
    fn every_preset_is_complete_and_differs_where_its_name_says() {
        let all: Vec<_> = PAPER.iter().chain(&LITERAL).map(|name| parameters(name)).collect();
        assert_eq!(
            all.iter().map(|each| each.design).collect::<Vec<_>>()[..3],
            [MopedDesign::Base, MopedDesign::Optcopy, MopedDesign::Optcache]
        );
        assert_eq!((all[3].order, all[3].backoff), (MatchOrder::Slot, Backoff::Stop));
        assert_eq!((all[4].order, all[4].backoff), (MatchOrder::Age, Backoff::Published));
        assert!(preset("other").is_none());
    }
}
