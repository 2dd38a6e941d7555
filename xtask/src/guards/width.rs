// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Comments wrap at the declared width: rustfmt wraps code, and leaves comments as they are.
//!
//! The width is `max_width` of `rustfmt.toml`; ruff checks Python. Generated files are not read.

use super::Objection;
use crate::tree::{Tree, extension};

const CONFIG: &str = "rustfmt.toml";
const SOURCES: &[&str] = &["rs", "c", "h", "cpp", "S", "f90", "sh"];
const COMMENT_MARKS: &[&str] = &["//", "/*", "*", "#", "!"];

/// Objects to every comment line that is longer than the declared width.
pub(crate) fn check(tree: &Tree) -> Vec<Objection> {
    let Some(width) = declared_width(tree) else {
        return vec![Objection::new(CONFIG, 1, "found no `max_width`; expected the width at which comments wrap")];
    };
    let mut objections = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| SOURCES.contains(&extension(path))) {
        if text.lines().take(5).any(|line| line.contains("Generated from")) {
            continue;
        }
        for (line, number) in text.lines().zip(1..) {
            let found = line.chars().count();
            let is_comment = COMMENT_MARKS.iter().any(|mark| line.trim_start().starts_with(mark));
            // An attribute is code; an address or a row of a table cannot be wrapped.
            let is_exempt = line.trim_start().starts_with("#[") || line.contains("://") || line.contains("//! |");
            if is_comment && !is_exempt && found > width {
                let reason = format!("found a comment of {found} columns, expected at most {width}; wrap it");
                objections.push(Objection::new(path, number, reason));
            }
        }
    }
    objections
}

fn declared_width(tree: &Tree) -> Option<usize> {
    let config: toml::Table = tree.text(CONFIG)?.parse().ok()?;
    usize::try_from(config.get("max_width")?.as_integer()?).ok()
}

#[cfg(test)]
mod tests {
    use super::super::assert_objections;
    use super::*;

    const WIDTH: &str = "max_width = 20\n";

    #[test]
    fn a_comment_beyond_the_declared_width_is_rejected() {
        assert_objections(
            check,
            &[("rustfmt.toml", WIDTH), ("a.rs", "// One.\n    // A comment that does not end.\n")],
            &["a.rs:2: found a comment of 35 columns, expected at most 20; wrap it"],
        );
    }

    #[test]
    fn code_addresses_and_generated_files_are_not_read() {
        assert_objections(
            check,
            &[
                ("rustfmt.toml", WIDTH),
                ("a.rs", "let a = \"a text that rustfmt leaves\";\n// https://example.org/a/long/path\n"),
                ("b.rs", "// Generated from a table.\n// A comment that does not end.\n"),
            ],
            &[],
        );
    }

    #[test]
    fn a_repository_without_a_declared_width_is_rejected() {
        assert_objections(
            check,
            &[],
            &["rustfmt.toml:1: found no `max_width`; expected the width at which comments wrap"],
        );
    }
}
