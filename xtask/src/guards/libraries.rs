// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A library is compiled for its unit tests if it has some, and only then: a second compilation for none is time that
//! every run of the tests takes, and unit tests of a library with `test = false` would never run.

use super::Objection;
use crate::tree::{Tree, extension};

/// Objects to `test = false` of a library with unit tests, and to its absence from a library without them.
pub(crate) fn check(tree: &Tree) -> Vec<Objection> {
    let mut objections = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| path.ends_with("/Cargo.toml")) {
        let sources = format!("{}src/", path.trim_end_matches("Cargo.toml"));
        if tree.text(&format!("{sources}lib.rs")).is_none() {
            continue;
        }
        let manifest: toml::Table = match text.parse() {
            Ok(manifest) => manifest,
            Err(error) => {
                objections.push(Objection::new(path, 1, format!("not TOML: {}", error.message())));
                continue;
            }
        };
        let library = manifest.get("lib").and_then(toml::Value::as_table);
        let is_tested = library.and_then(|library| library.get("test")) != Some(&toml::Value::Boolean(false));
        let has_tests = |(file, text): &(&str, &str)| {
            file.starts_with(&sources) && extension(file) == "rs" && text.lines().any(|line| line.trim() == "#[test]")
        };
        let line = text.lines().position(|line| line == "[lib]").map_or(1, |index| index + 1);
        match tree.texts().find(has_tests) {
            Some((file, _)) if !is_tested => objections.push(Objection::new(
                path,
                line,
                format!(
                    "unit tests in {file} and `test = false` found, which leaves them out; remove the line, or move \
                     the tests to {}tests",
                    sources.trim_end_matches("src/")
                ),
            )),
            None if is_tested => objections.push(Objection::new(
                path,
                line,
                "no unit test found in the library, expected `test = false` below `[lib]`; without it the library is \
                 compiled twice",
            )),
            _ => {}
        }
    }
    objections
}

#[cfg(test)]
mod tests {
    use super::super::assert_objections;
    use super::*;

    const TESTED: &str = "mod tests {\n    #[test]\n    fn it_adds() {}\n}\n";

    #[test]
    fn unit_tests_that_would_never_run_are_rejected() {
        assert_objections(
            check,
            &[
                ("engines/a/Cargo.toml", "[package]\nname = \"a\"\n\n[lib]\ntest = false\n"),
                ("engines/a/src/lib.rs", "mod b;\n"),
                ("engines/a/src/b.rs", TESTED),
            ],
            &[
                "engines/a/Cargo.toml:4: unit tests in engines/a/src/b.rs and `test = false` found, which leaves them out; \
               remove the line, or move the tests to engines/a/tests",
            ],
        );
    }

    #[test]
    fn a_library_that_is_compiled_twice_for_no_test_is_rejected() {
        assert_objections(
            check,
            &[
                ("engines/a/Cargo.toml", "[package]\nname = \"a\"\n"),
                ("engines/a/src/lib.rs", "// No `#[test]` here.\n"),
                ("engines/a/tests/b.rs", TESTED),
                ("engines/ab/Cargo.toml", "[package]\nname = \"ab\"\n"),
                ("engines/ab/src/lib.rs", TESTED),
                ("engines/b/Cargo.toml", "[package]\nname = \"b\"\n"),
                ("engines/b/src/main.rs", "fn main() {}\n"),
            ],
            &["engines/a/Cargo.toml:1: no unit test found in the library, expected `test = false` below `[lib]`; \
               without it the library is compiled twice"],
        );
    }
}
