// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A library is compiled for its unit tests, and read for the examples in its comments, if it has some and only then:
//! otherwise every run of the tests compiles it once more for nothing. Unit tests of a library with `test = false`, and
//! examples of one with `doctest = false`, would never run.

use super::Objection;
use crate::tree::{Tree, extension};

/// A kind of tests of a library.
struct Kind {
    /// The name of the kind.
    name: &'static str,
    /// The key below `[lib]` that leaves them out.
    key: &'static str,
    /// Whether a source has some.
    is_in: fn(&str) -> bool,
}

const KINDS: [Kind; 3] = [
    Kind { name: "unit tests", key: "test", is_in: has_unit_tests },
    // With benchmarks, a library is compiled for unit tests too.
    Kind { name: "unit tests", key: "bench", is_in: has_unit_tests },
    Kind { name: "examples in comments", key: "doctest", is_in: has_examples },
];

/// Objects to tests that the manifest leaves out, and to a library without tests whose manifest does not.
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
        let line = text.lines().position(|line| line == "[lib]").map_or(1, |index| index + 1);
        for Kind { name, key, is_in } in KINDS {
            let is_left_out = library.and_then(|library| library.get(key)) == Some(&toml::Value::Boolean(false));
            let mut files = tree.texts().filter(|(file, _)| file.starts_with(&sources) && extension(file) == "rs");
            let reason = match files.find(|(_, text)| is_in(text)) {
                Some((file, _)) if is_left_out && key != "bench" => {
                    format!("{name} in {file} and `{key} = false` found, which leaves them out; remove the line")
                }
                None if !is_left_out => {
                    format!(
                        "found no {name}, expected `{key} = false` below `[lib]`; add it, to compile the library once"
                    )
                }
                _ => continue,
            };
            objections.push(Objection::new(path, line, reason));
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

    const NEITHER: &str = "[package]\nname = \"a\"\n\n[lib]\ntest = false\nbench = false\ndoctest = false\n";
    const BOTH: &str = "[package]\nname = \"a\"\n";
    const TEST: &str = "mod tests {\n    #[test]\n    fn it_adds() {}\n}\n";
    const EXAMPLE: &str = "//! ```text\n//! a -> b\n//! ```\n//! ```should_panic\n//! panic!()\n//! ```\n";

    #[test]
    fn tests_that_would_never_run_are_rejected() {
        assert_objections(
            check,
            &[
                ("engines/a/Cargo.toml", NEITHER),
                ("engines/a/src/lib.rs", EXAMPLE),
                ("engines/a/src/b.rs", TEST),
                ("engines/b/Cargo.toml", BOTH),
                ("engines/b/src/lib.rs", EXAMPLE),
                ("engines/b/src/b.rs", TEST),
            ],
            &[
                "engines/a/Cargo.toml:4: unit tests in engines/a/src/b.rs and `test = false` found, \
                 which leaves them out; remove the line",
                "engines/a/Cargo.toml:4: examples in comments in engines/a/src/lib.rs and `doctest = false` found, \
                 which leaves them out; remove the line",
            ],
        );
    }

    #[test]
    fn a_library_that_is_compiled_twice_for_no_test_is_rejected() {
        assert_objections(
            check,
            &[
                ("engines/a/Cargo.toml", BOTH),
                ("engines/a/src/lib.rs", "// No `#[test]` here.\n/// ```text\n/// a -> b\n/// ```\nstruct A;\n"),
                ("engines/a/tests/b.rs", TEST),
                ("engines/ab/Cargo.toml", NEITHER),
                ("engines/ab/src/lib.rs", "mod b;\n"),
                ("engines/b/Cargo.toml", BOTH),
                ("engines/b/src/main.rs", "fn main() {}\n"),
            ],
            &[
                "engines/a/Cargo.toml:1: found no unit tests, expected `test = false` below `[lib]`; \
                 add it, to compile the library once",
                "engines/a/Cargo.toml:1: found no unit tests, expected `bench = false` below `[lib]`; \
                 add it, to compile the library once",
                "engines/a/Cargo.toml:1: found no examples in comments, expected `doctest = false` below `[lib]`; \
                 add it, to compile the library once",
            ],
        );
    }
}
