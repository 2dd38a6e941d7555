// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The guards: rules of this repository that no compiler checks.
//!
//! Contract: a guard is a pure function from the tree to objections. Each has a test with a case that it rejects.

mod cards;
mod circles;
mod clauses;
mod headers;
mod layers;
mod libraries;
mod machine;
mod models;
mod names;
mod objection;
mod python;
mod tests_named;

pub(crate) use layers::LAYERS;
pub(crate) use objection::Objection;

use crate::tree::Tree;

/// A guard under its name.
type Guard = (&'static str, fn(&Tree) -> Vec<Objection>);

/// Every guard, in the order in which they run.
const GUARDS: &[Guard] = &[
    ("layers", layers::check),
    ("circles", circles::check),
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
