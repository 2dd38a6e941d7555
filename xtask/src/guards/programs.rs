// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A crate whose tests are modules of one program has `autotests = false`. A file of tests that is neither a module of
//! that program nor a program of the manifest would never be compiled.

use super::Objection;
use crate::tree::Tree;

/// Objects to files of tests that belong to no program.
pub(crate) fn check(tree: &Tree) -> Vec<Objection> {
    let mut objections = Vec::new();
    for (path, text) in tree.texts().filter(|(path, _)| path.ends_with("/Cargo.toml")) {
        // What is not TOML, the guard of libraries says.
        let Ok(manifest) = text.parse::<toml::Table>() else { continue };
        let package = manifest.get("package").and_then(toml::Value::as_table);
        if package.and_then(|package| package.get("autotests")) != Some(&toml::Value::Boolean(false)) {
            continue;
        }
        let folder = format!("{}tests/", path.trim_end_matches("Cargo.toml"));
        let programs = manifest.get("test").and_then(toml::Value::as_array).map_or(&[][..], Vec::as_slice);
        let modules = tree.text(&format!("{folder}main.rs")).unwrap_or_default();
        for file in tree.paths() {
            let Some(name) = file.strip_prefix(&folder).and_then(test_of) else { continue };
            let is_module = modules.lines().any(|line| line.strip_prefix("mod ") == Some(&format!("{name};")));
            let is_program = name == "main"
                || programs.iter().any(|program| program.get("name").and_then(toml::Value::as_str) == Some(name));
            if !is_module && !is_program {
                let reason = format!(
                    "a test that is not compiled, with `autotests = false` in {path}; \
                     add `mod {name};` to {folder}main.rs"
                );
                objections.push(Objection::new(file, 1, reason));
            }
        }
    }
    objections
}

/// The name of the test of a file, given its path from the folder of tests: that of the file, or of its folder if it is
/// the file of a program.
fn test_of(path: &str) -> Option<&str> {
    path.strip_suffix("/main.rs").or_else(|| path.strip_suffix(".rs")).filter(|name| !name.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::super::assert_objections;
    use super::*;

    #[test]
    fn tests_that_are_not_compiled_are_rejected() {
        let manifest = "[package]\nname = \"a\"\nautotests = false\n\n[[test]]\nname = \"all\"\npath = \"tests/main.rs\"\n\n\
                        [[test]]\nname = \"d\"\nharness = false\n";
        assert_objections(
            check,
            &[
                ("engines/a/Cargo.toml", manifest),
                ("engines/a/tests/main.rs", "mod b;\n// mod c;\nmod common;\n"),
                ("engines/a/tests/b.rs", ""),
                ("engines/a/tests/c.rs", ""),
                ("engines/a/tests/common/mod.rs", ""),
                ("engines/a/tests/d.rs", ""),
                ("engines/a/tests/e/main.rs", ""),
                ("engines/b/Cargo.toml", "[package]\nname = \"b\"\n"),
                ("engines/b/tests/c.rs", ""),
            ],
            &[
                "engines/a/tests/c.rs:1: a test that is not compiled, with `autotests = false` in engines/a/Cargo.toml; \
                 add `mod c;` to engines/a/tests/main.rs",
                "engines/a/tests/e/main.rs:1: a test that is not compiled, with `autotests = false` in \
                 engines/a/Cargo.toml; add `mod e;` to engines/a/tests/main.rs",
            ],
        );
    }
}
