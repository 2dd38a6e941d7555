// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every clause of a specification that code, cases or prose cite exists, and no number is given twice.
//!
//! A clause is defined by a line of a file in `spec/` that starts with its id and a full stop
//! (`T-1. A directory holds ...`) and cited by its id anywhere. Letters that no file of `spec/`
//! defines are not clause ids.

use std::collections::BTreeMap;

use super::Objection;
use crate::tree::{Tree, extension};

const CITING_EXTENSIONS: &[&str] = &["rs", "py", "pyi", "md", "toml", "c", "h"];

/// Objects to citations of clauses that do not exist and to ids that are defined twice.
pub(crate) fn check(tree: &Tree) -> Vec<Objection> {
    let mut objections = Vec::new();
    let mut defined: BTreeMap<&str, &str> = BTreeMap::new();
    for (path, text) in tree.texts().filter(|(path, _)| path.starts_with("spec/") && extension(path) == "md") {
        for (line, number) in text.lines().zip(1..) {
            let line = line.trim_start_matches(['#', '*', '-', ' ']);
            if let Some(id) = ids(line).next()
                && line.strip_prefix(id).is_some_and(|rest| rest.starts_with('.'))
                && let Some(other) = defined.insert(id, path)
            {
                objections.push(Objection::new(path, number, format!("{id} is defined already, in {other}")));
            }
        }
    }
    let prefixes: Vec<&str> = defined.keys().map(|id| prefix(id)).collect();
    for (path, text) in tree.texts().filter(|(path, _)| CITING_EXTENSIONS.contains(&extension(path))) {
        for (line, number) in text.lines().zip(1..) {
            for id in ids(line) {
                if prefixes.contains(&prefix(id)) && !defined.contains_key(id) {
                    objections.push(Objection::new(path, number, format!("no clause of spec/ is called {id}")));
                }
            }
        }
    }
    objections
}

fn prefix(id: &str) -> &str {
    id.split_once('-').map_or(id, |(prefix, _)| prefix)
}

/// Everything of the form `T-1`: capital letters, a hyphen and a number, not part of a longer word.
fn ids(line: &str) -> impl Iterator<Item = &str> {
    let words = line.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'));
    words.filter(|word| {
        word.split_once('-').is_some_and(|(letters, digits)| {
            !letters.is_empty()
                && letters.bytes().all(|byte| byte.is_ascii_uppercase())
                && !digits.is_empty()
                && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::super::assert_objections;
    use super::*;

    // Ids in halves, so that this file cites nothing.
    const SPEC: &str = concat!("Q-", "1. The oldest wins.\n\nQ-", "2. Size takes no part.\n");

    #[test]
    fn a_citation_of_a_clause_that_does_not_exist_is_rejected() {
        let case = concat!("clause = \"Q-", "3\"\n");
        assert_objections(
            check,
            &[("spec/cases/a.toml", case), ("spec/matching.md", SPEC)],
            &[concat!("spec/cases/a.toml:1: no clause of spec/ is called Q-", "3")],
        );
    }

    #[test]
    fn a_clause_that_is_defined_twice_is_rejected() {
        let again = concat!("Q-", "2. The youngest wins.\n");
        assert_objections(
            check,
            &[("spec/a.md", again), ("spec/matching.md", SPEC)],
            &[concat!("spec/matching.md:3: Q-", "2 is defined already, in spec/a.md")],
        );
    }

    #[test]
    fn citations_of_clauses_and_foreign_ids_are_accepted() {
        let source = concat!("// Q-", "1, UTF-", "8, x86-", "64, sha-", "256\n");
        assert_objections(check, &[("spec/matching.md", SPEC), ("matching/core/src/a.rs", source)], &[]);
    }
}
