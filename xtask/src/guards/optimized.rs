// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `xtask/linted.sh` has a list of the test programs that are compiled with optimization. A renamed program would be
//! compiled without it, and only the time of the tests would show that.

use std::path::Path;

use super::Objection;
use crate::tree::Tree;

const SCRIPT: &str = "xtask/linted.sh";
/// The line before the list: patterns of the shell, separated by bars. The last is that of all other sources.
const BEGIN: &str = "case $source in";

/// Objects to entries of the list that match no source.
pub(crate) fn check(tree: &Tree) -> Vec<Objection> {
    let lines = || tree.text(SCRIPT).unwrap_or_default().lines().enumerate();
    let Some((begin, _)) = lines().find(|(_, line)| *line == BEGIN) else {
        return vec![Objection::new(
            SCRIPT,
            1,
            format!("found no line `{BEGIN}`, expected the list of optimized tests"),
        )];
    };
    let mut objections = Vec::new();
    for (number, line) in lines().skip(begin + 1) {
        let entries = line.split(')').next().unwrap_or_default();
        if entries.trim() == "*" {
            break;
        }
        for entry in entries.split([' ', '|', '\\']).filter(|entry| !entry.is_empty()) {
            if !tree.paths().any(|path| is_source(entry, path)) {
                let reason = format!("found no source of tests for `{entry}`; correct the entry or remove it");
                objections.push(Objection::new(SCRIPT, number + 1, reason));
            }
        }
    }
    objections
}

/// Whether a path is of Rust, and that of an entry: a path, or the beginning of paths with an asterisk behind it.
fn is_source(entry: &str, path: &str) -> bool {
    let is_named = entry.strip_suffix('*').map_or(path == entry, |beginning| path.starts_with(beginning));
    is_named && Path::new(path).extension() == Some("rs".as_ref())
}

#[cfg(test)]
mod tests {
    use super::super::assert_objections;
    use super::*;

    #[test]
    fn entries_without_a_source_are_rejected() {
        let script = "set -eu\ncase $source in\n  a/tests/* | b/tests/one.rs | \\\n    c/tests/*) level=1 ;;\n  \
                      b/tests/two.rs) level=3 ;;\n  *) other=d/tests/* ;;\nesac\n";
        assert_objections(
            check,
            &[
                (SCRIPT, script),
                ("a/tests/deep/one.rs", ""),
                ("b/tests/one.rs", ""),
                ("c/tests/one.md", ""),
                ("b/tests/two.rs.txt", ""),
            ],
            &[
                "xtask/linted.sh:4: found no source of tests for `c/tests/*`; correct the entry or remove it",
                "xtask/linted.sh:5: found no source of tests for `b/tests/two.rs`; correct the entry or remove it",
            ],
        );
        assert_objections(
            check,
            &[("xtask/linted.sh", "case $path in\n")],
            &["xtask/linted.sh:1: found no line `case $source in`, expected the list of optimized tests"],
        );
    }
}
