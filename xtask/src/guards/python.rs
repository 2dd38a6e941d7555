// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Python computes no model result: the package has no engine class, though a user may write one
//! (`matchbench.PythonEngine`; `ARCHITECTURE.md`, *Deliberately absent*).

use super::Objection;
use crate::tree::{Tree, extension};

/// The base class of engines in Python.
const BASE: &str = "PythonEngine";

/// Objects to a class of the package whose bases name [`BASE`]. Templates, which are written for users, end in `.in`.
pub(crate) fn check(tree: &Tree) -> Vec<Objection> {
    let package = tree.texts().filter(|(path, _)| path.starts_with("python/") && extension(path) == "py");
    let mut objections = Vec::new();
    for (path, text) in package {
        for (line, number) in text.lines().zip(1..) {
            let bases = line.trim_start().strip_prefix("class ").and_then(|class| class.split_once('('));
            if bases.is_some_and(|(_, bases)| bases.contains(BASE)) {
                let reason = format!("a subclass of `{BASE}`: Python computes no model result; write it in Rust");
                objections.push(Objection::new(path, number, reason));
            }
        }
    }
    objections
}

#[cfg(test)]
mod tests {
    use super::super::assert_objections;
    use super::*;

    #[test]
    fn an_engine_in_the_package_is_rejected_and_one_of_a_user_is_not() {
        let engine = "import matchbench as mb\n\n\nclass Fast(mb.PythonEngine):\n    pass\n";
        assert_objections(
            check,
            &[
                ("python/matchbench/fast.py", engine),
                ("python/matchbench/engines/_templates/engine_python/a.py.in", engine),
                ("tests/test_own_engine.py", engine),
                ("python/matchbench/engines/python_engine.py", "class PythonEngine:\n    pass\n"),
            ],
            &["python/matchbench/fast.py:4: a subclass of `PythonEngine`: Python computes no model result; \
               write it in Rust"],
        );
    }
}
