// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The manifest of a library without unit tests, or without examples in its comments, has `test = false` or
//! `doctest = false`: it is compiled once less. With such a line, tests that are added would never run.

use super::Objection;
use crate::tree::{Tree, extension};

/// Objects to tests that the manifest leaves out.
pub(crate) fn check(tree: &Tree) -> Vec<Objection> {
    let mut objections = Vec::new();
    for (path, manifest) in tree.texts().filter(|(path, _)| path.ends_with("/Cargo.toml")) {
        let sources = format!("{}src/", path.trim_end_matches("Cargo.toml"));
        let kinds = [("test = false", has_unit_tests as fn(&str) -> bool), ("doctest = false", has_examples)];
        for (key, is_in) in kinds {
            let Some(line) = manifest.lines().position(|line| line == key) else { continue };
            let mut files = tree.texts().filter(|(file, _)| file.starts_with(&sources) && extension(file) == "rs");
            if let Some((file, _)) = files.find(|(_, text)| is_in(text)) {
                let reason = format!("`{key}` leaves out tests in {file}; remove the line");
                objections.push(Objection::new(path, line + 1, reason));
            }
        }
    }
    objections
}

fn has_unit_tests(text: &str) -> bool {
    text.lines().any(|line| line.trim() == "#[test]")
}

/// Whether comments have a fenced block that `cargo test` takes for Rust.
fn has_examples(text: &str) -> bool {
    let comments = text.lines().map(str::trim_start).filter(|line| line.starts_with("///") || line.starts_with("//!"));
    let mut fences = comments.filter_map(|line| line[3..].trim_start().strip_prefix("```"));
    // Every second fence ends a block.
    while let Some(words) = fences.next() {
        if !["text", "toml", "c", "console"].contains(&words) {
            return true;
        }
        fences.next();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::assert_objections;
    use super::*;

    #[test]
    fn tests_that_would_never_run_are_rejected() {
        let neither = "[package]\nname = \"a\"\n\n[lib]\ntest = false\nbench = false\ndoctest = false\n";
        let test = "mod tests {\n    #[test]\n    fn it_adds() {}\n}\n";
        let example = "//! ```text\n//! a -> b\n//! ```\n//! ```should_panic\n//! panic!()\n//! ```\n";
        assert_objections(
            check,
            &[
                ("engines/a/Cargo.toml", neither),
                ("engines/a/src/lib.rs", example),
                ("engines/a/src/b.rs", test),
                ("engines/b/Cargo.toml", "[package]\nname = \"b\"\n"),
                ("engines/b/src/lib.rs", test),
                ("engines/c/Cargo.toml", neither),
                ("engines/c/src/lib.rs", "// No `#[test]` here.\n/// ```text\n/// a -> b\n/// ```\nstruct A;\n"),
            ],
            &[
                "engines/a/Cargo.toml:5: `test = false` leaves out tests in engines/a/src/b.rs; remove the line",
                "engines/a/Cargo.toml:7: `doctest = false` leaves out tests in engines/a/src/lib.rs; remove the line",
            ],
        );
    }
}
