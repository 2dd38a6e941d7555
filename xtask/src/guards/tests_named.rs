// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A test that prose names (``Test: `name` ``) exists: `ARCHITECTURE.md` names those of each invariant.

use std::collections::BTreeSet;

use super::Objection;
use crate::tree::{Tree, extension};

/// Objects to a test that a page or a comment names and that exists nowhere.
pub(crate) fn check(tree: &Tree) -> Vec<Objection> {
    let functions: BTreeSet<&str> = tree
        .texts()
        .filter(|(path, _)| ["rs", "py"].contains(&extension(path)))
        .flat_map(|(_, text)| text.lines().filter_map(function_name))
        .collect();
    let mut objections = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| ["md", "rs", "c", "h", "py"].contains(&extension(path))) {
        for (line, number) in text.lines().zip(1..).filter(|(line, _)| is_prose(path, line)) {
            let Some((_, names)) = line.split_once("Test: ").or_else(|| line.split_once("Tests: ")) else { continue };
            // Between back-ticks stands every second part.
            for name in names.split('`').skip(1).step_by(2).filter(|name| is_function_name(name)) {
                if !functions.contains(name) {
                    objections.push(Objection::new(path, number, format!("no test is called `{name}`")));
                }
            }
        }
    }
    objections
}

fn is_prose(path: &str, line: &str) -> bool {
    extension(path) == "md" || ["//", "*", "/*", "#"].iter().any(|mark| line.trim_start().starts_with(mark))
}

/// The name a line defines as `fn name` or `def name`.
fn function_name(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("fn ").or_else(|| line.split_once("def "))?;
    rest.split(|c: char| !(c.is_alphanumeric() || c == '_')).next()
}

fn is_function_name(text: &str) -> bool {
    text.contains('_') && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::super::assert_objections;
    use super::*;

    #[test]
    fn a_named_test_that_does_not_exist_is_rejected() {
        assert_objections(
            check,
            &[
                (
                    "ARCHITECTURE.md",
                    "Test: `oldest_wins` in `matching/core`.\nTests: `oldest_wins`, `youngest_wins`.\n",
                ),
                ("matching/core/src/a.rs", "    fn oldest_wins() {}\n"),
            ],
            &["ARCHITECTURE.md:2: no test is called `youngest_wins`"],
        );
    }
}
