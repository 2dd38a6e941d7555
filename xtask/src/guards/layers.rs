// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arrows point down: which crate may depend on which, read from the manifests.
//!
//! ```text
//! python -> py -> replay, reproduce, cosim, measure -> catalog -> engines, machines -> guest -> parts, asm -> core <- trace
//! ```
//! An engine never depends on another engine, only `ideal` contains the oracle, and what exists for tests
//! (`testkit`, `oracle`) is otherwise a dev-dependency.

use toml::{Table, Value};

use super::Objection;
use crate::tree::Tree;

/// What a folder is to the layer rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role<'a> {
    /// A folder of crates, or xtask.
    Shared(&'a str),
    /// A folder of engines.
    Engine(&'a str),
    /// A folder of machines.
    Machine(&'a str),
    /// The matcher that other people take into their programs: its folder, below its engine's.
    Matcher(&'a str),
}

/// The matcher depends on nothing of ours, and only its engine depends on it, or what stands above.
const MATCHER: (&str, &str) = ("engines/host_native/library", "matcher");

/// What a shared crate may depend on; `engines` stands for every engine and machine.
const MAY_USE: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("oracle", &["core"]),
    ("trace", &["core"]),
    ("asm", &["core"]),
    ("parts", &["core"]),
    ("guest", &["core", "parts"]),
    ("testkit", &["core", "oracle", "parts"]),
    ("catalog", &["core", "engines"]),
    ("replay", &["core", "trace", "parts", "catalog"]),
    ("cosim", &["core", "parts", "asm", "catalog"]),
    ("measure", &["core", "trace", "parts", "catalog"]),
    ("conform", &["core", "oracle"]),
    ("reproduce", &["core", "trace", "parts", "guest", "asm", "catalog", "engines"]),
    ("py", &["core", "trace", "asm", "engines", "catalog", "replay", "reproduce", "conform", "cosim", "measure"]),
    ("xtask", &["core", "trace", "asm", "catalog"]),
];

/// What every engine and machine may depend on.
const ENGINE_MAY_USE: &[&str] = &["core", "parts", "guest", "asm"];

/// What every crate's tests may depend on besides.
const TESTS_MAY_USE: &[&str] = &["core", "parts", "trace", "oracle", "testkit"];

/// Objects to every dependency that points up or sideways, and to crates that are not named after their folder.
pub(crate) fn check(tree: &Tree) -> Vec<Objection> {
    let mut objections = Vec::new();
    for (path, text) in tree.texts() {
        if let Some(folder) = path.strip_suffix("/Cargo.toml")
            && let Some(role) = role_of_folder(folder)
        {
            check_manifest(path, text, role, &mut objections);
        }
    }
    objections
}

fn role_of_folder(folder: &str) -> Option<Role<'_>> {
    if folder == MATCHER.0 {
        return Some(Role::Matcher(MATCHER.1));
    }
    match folder.split_once('/') {
        Some(("crates", name)) => Some(Role::Shared(name)),
        Some(("engines", name)) => Some(Role::Engine(name)),
        Some(("machines", name)) => Some(Role::Machine(name)),
        None if folder == "xtask" => Some(Role::Shared("xtask")),
        _ => None,
    }
}

fn check_manifest(path: &str, text: &str, role: Role<'_>, objections: &mut Vec<Objection>) {
    let manifest: Table = match text.parse() {
        Ok(manifest) => manifest,
        Err(error) => return objections.push(Objection::new(path, 1, format!("not TOML: {error}"))),
    };
    let (Role::Shared(folder) | Role::Engine(folder) | Role::Machine(folder) | Role::Matcher(folder)) = role;
    let expected = if folder == "xtask" { folder.to_owned() } else { format!("mb-{folder}") };
    let name = manifest.get("package").and_then(|package| package.get("name")).and_then(Value::as_str);
    if name != Some(&expected) {
        objections.push(Objection::new(path, 1, format!("the crate must be called `{expected}`, after its folder")));
    }
    if let Role::Shared(name) = role
        && !MAY_USE.iter().any(|(known, _)| *known == name)
    {
        objections.push(Objection::new(
            path,
            1,
            format!("`{name}` has no place in the layers of xtask/src/guards/layers.rs"),
        ));
    }
    for (dependency, for_tests) in dependencies(&manifest) {
        let Some(used) = dependency.strip_prefix("mb-") else { continue };
        if !(may_use(role, used) || for_tests && tests_may_use(role, used)) {
            let kind = if for_tests { "a dev-dependency" } else { "a dependency" };
            let line = line_of(text, &dependency);
            objections.push(Objection::new(path, line, format!("`{folder}` must not have `{used}` as {kind}")));
        }
    }
}

fn may_use(role: Role<'_>, used: &str) -> bool {
    match role {
        Role::Engine("ideal") if used == "oracle" => true,
        Role::Engine("host_native") | Role::Shared("measure") if used == MATCHER.1 => true,
        Role::Matcher(_) => false,
        Role::Engine(_) | Role::Machine(_) => ENGINE_MAY_USE.contains(&used),
        Role::Shared(name) => MAY_USE.iter().any(|(known, allowed)| {
            *known == name && (allowed.contains(&used) || allowed.contains(&"engines") && is_engine(used))
        }),
    }
}

/// Tests of a crate above the engines may also build the engines themselves, and the matcher is timed with our stopwatch.
fn tests_may_use(role: Role<'_>, used: &str) -> bool {
    let above_engines = matches!(role, Role::Shared(name) if MAY_USE.iter().any(|(known, allowed)| {
        *known == name && allowed.contains(&"catalog")
    }));
    let times_matcher = matches!(role, Role::Matcher(_)) && used == "measure";
    TESTS_MAY_USE.contains(&used) || above_engines && is_engine(used) || times_matcher
}

/// A name that no shared crate has is an engine's or a machine's.
fn is_engine(name: &str) -> bool {
    name != MATCHER.1 && MAY_USE.iter().all(|(known, _)| *known != name)
}

/// Every dependency's package name and whether only tests have it.
fn dependencies(manifest: &Table) -> Vec<(String, bool)> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let tables =
        std::iter::once(manifest).chain(targets.into_iter().flat_map(Table::values).filter_map(Value::as_table));
    let mut found = Vec::new();
    for table in tables {
        for (key, for_tests) in [("dependencies", false), ("build-dependencies", false), ("dev-dependencies", true)] {
            for (name, value) in table.get(key).and_then(Value::as_table).into_iter().flatten() {
                let package = value.get("package").and_then(Value::as_str).unwrap_or(name);
                found.push((package.to_owned(), for_tests));
            }
        }
    }
    found
}

fn line_of(text: &str, needle: &str) -> usize {
    text.lines().position(|line| line.contains(needle)).map_or(1, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::super::assert_objections;
    use super::*;

    fn rejected(path: &str, name: &str, table: &str, dependency: &str, expected: &[&str]) {
        let text = format!("[package]\nname = \"{name}\"\n[{table}]\n{dependency}\n");
        assert_objections(check, &[(path, &text)], expected);
    }

    #[test]
    fn an_engine_that_uses_another_engine_is_rejected() {
        rejected(
            "engines/alpu/Cargo.toml",
            "mb-alpu",
            "dev-dependencies",
            "mb-linear = { path = \"../linear\" }",
            &["engines/alpu/Cargo.toml:4: `alpu` must not have `linear` as a dev-dependency"],
        );
    }

    #[test]
    fn an_engine_that_contains_the_oracle_is_rejected() {
        rejected(
            "engines/alpu/Cargo.toml",
            "mb-alpu",
            "dependencies",
            "mb-oracle.workspace = true",
            &["engines/alpu/Cargo.toml:4: `alpu` must not have `oracle` as a dependency"],
        );
    }

    #[test]
    fn a_matcher_that_needs_anything_of_ours_and_an_engine_that_needs_the_matcher_are_rejected() {
        rejected(
            "engines/host_native/library/Cargo.toml",
            "mb-matcher",
            "dependencies",
            "mb-core.workspace = true",
            &["engines/host_native/library/Cargo.toml:4: `matcher` must not have `core` as a dependency"],
        );
        rejected(
            "engines/linear/Cargo.toml",
            "mb-linear",
            "dependencies",
            "mb-matcher.workspace = true",
            &["engines/linear/Cargo.toml:4: `linear` must not have `matcher` as a dependency"],
        );
    }

    #[test]
    fn the_testkit_outside_of_tests_is_rejected() {
        rejected(
            "crates/replay/Cargo.toml",
            "mb-replay",
            "dependencies",
            "mb-testkit.workspace = true",
            &["crates/replay/Cargo.toml:4: `replay` must not have `testkit` as a dependency"],
        );
    }

    #[test]
    fn a_dependency_that_points_up_is_rejected_even_for_one_target_and_under_another_name() {
        rejected(
            "crates/core/Cargo.toml",
            "mb-core",
            "target.'cfg(unix)'.dependencies",
            "above = { package = \"mb-parts\", path = \"../parts\" }",
            &["crates/core/Cargo.toml:4: `core` must not have `parts` as a dependency"],
        );
    }

    #[test]
    fn a_crate_that_is_not_named_after_its_folder_is_rejected() {
        rejected(
            "engines/alpu/Cargo.toml",
            "alpu",
            "dependencies",
            "",
            &["engines/alpu/Cargo.toml:1: the crate must be called `mb-alpu`, after its folder"],
        );
    }

    #[test]
    fn a_crate_without_a_place_in_the_layers_is_rejected() {
        rejected(
            "crates/util/Cargo.toml",
            "mb-util",
            "dependencies",
            "",
            &["crates/util/Cargo.toml:1: `util` has no place in the layers of xtask/src/guards/layers.rs"],
        );
    }

    #[test]
    fn arrows_that_point_down_are_accepted() {
        for (path, name, table, dependency) in [
            ("engines/ideal/Cargo.toml", "mb-ideal", "dependencies", "mb-oracle.workspace = true"),
            ("engines/alpu/Cargo.toml", "mb-alpu", "dev-dependencies", "mb-oracle.workspace = true"),
            ("engines/alpu/Cargo.toml", "mb-alpu", "dependencies", "mb-parts.workspace = true"),
            ("engines/host_native/Cargo.toml", "mb-host_native", "dependencies", "mb-matcher.workspace = true"),
            ("engines/host_native/library/Cargo.toml", "mb-matcher", "dev-dependencies", "mb-testkit.workspace = true"),
            ("crates/catalog/Cargo.toml", "mb-catalog", "dependencies", "mb-alpu.workspace = true"),
            ("crates/replay/Cargo.toml", "mb-replay", "dev-dependencies", "mb-alpu.workspace = true"),
            ("crates/reproduce/Cargo.toml", "mb-reproduce", "dependencies", "mb-alpu.workspace = true"),
        ] {
            rejected(path, name, table, dependency, &[]);
        }
    }
}
