// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The guards: rules of this repository that no compiler checks.
//!
//! Contract: a guard is a pure function from the tree to objections. Each has a test with a case that it rejects.

mod cards;
mod clauses;
mod headers;
mod layers;
mod libraries;
mod machine;
mod models;
mod names;
mod python;
mod tests_named;

use std::fmt;

pub(crate) use layers::LAYERS;

use crate::tree::Tree;

/// A rule that is broken, and where.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Objection {
    /// Path from the root.
    pub(crate) path: String,
    /// Line, counted from 1.
    pub(crate) line: usize,
    /// What was found and what the rule expects.
    pub(crate) reason: String,
}

impl Objection {
    pub(crate) fn new(path: &str, line: usize, reason: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, reason: reason.into() }
    }
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.reason)
    }
}

/// A guard under its name.
type Guard = (&'static str, fn(&Tree) -> Vec<Objection>);

/// Every guard, in the order in which they run.
const GUARDS: &[Guard] = &[
    ("layers", layers::check),
    ("libraries", libraries::check),
    ("models", models::check),
    ("names", names::check),
    ("python", python::check),
    ("headers", headers::check),
    ("machine", machine::check),
    ("cards", cards::check),
    ("clauses", clauses::check),
    ("tests", tests_named::check),
];

/// Runs the named guards, or all when none is named.
///
/// # Errors
/// When there is no guard of a given name.
pub(crate) fn run(tree: &Tree, names: &[&str]) -> Result<Vec<Objection>, String> {
    if let Some(unknown) = names.iter().find(|name| GUARDS.iter().all(|(known, _)| known != *name)) {
        let known: Vec<&str> = GUARDS.iter().map(|(name, _)| *name).collect();
        return Err(format!("unknown guard `{unknown}`; expected one of: {}", known.join(", ")));
    }
    let chosen = GUARDS.iter().filter(|(name, _)| names.is_empty() || names.contains(name));
    Ok(chosen.flat_map(|(_, check)| check(tree)).collect())
}

/// Fails unless `check` says exactly `expected` (as `path:line: reason`) about a tree of the given files.
#[cfg(test)]
pub(crate) fn assert_objections(check: fn(&Tree) -> Vec<Objection>, files: &[(&str, &str)], expected: &[&str]) {
    let found: Vec<String> = check(&Tree::of(files)).iter().map(ToString::to_string).collect();
    assert_eq!(found, expected);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_that_does_not_exist_is_refused() {
        let error = run(&Tree::of(&[]), &["colour"]).expect_err("there is no such guard");
        assert!(error.starts_with("unknown guard `colour`; expected one of: "), "{error}");
    }
}
