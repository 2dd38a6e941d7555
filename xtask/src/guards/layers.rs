// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Arrows point down: which crate may depend on which, read from the manifests.
//!
//! ```text
//! python -> workbench -> engines -> match_unit, guest -> processor, mbmatch -> matching; conform -> matching
//! ```
//! An engine never depends on another engine, only `ideal` contains the oracle, and what exists for tests
//! (`testkit`, `oracle`) is otherwise a dev-dependency.

use toml::{Table, Value};

use super::Objection;
use crate::tree::Tree;

/// What a folder is to the layer rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role<'a> {
    /// A crate of a product or a layer, or xtask.
    Shared(&'a str),
    /// A folder of engines.
    Engine(&'a str),
}

/// Every crate that is no engine: its folder, and what it may depend on; `engines` stands for every engine.
const MAY_USE: &[(&str, &[&str])] = &[
    ("matching/core", &[]),
    ("matching/oracle", &["core"]),
    ("matching/kit", &["core"]),
    ("matching/testkit", &["core", "oracle"]),
    (MBMATCH, &[]),
    ("processor", &["core", "kit"]),
    ("guest", &["core", "processor"]),
    ("match_unit/asm", &[]),
    ("match_unit/unit", &["asm"]),
    ("match_unit/session", &["core", "kit", "asm", "unit"]),
    ("conform", &["core", "oracle"]),
    ("workbench/trace", &["core"]),
    ("workbench/catalog", &["core", "engines"]),
    ("workbench/replay", &["core", "trace"]),
    ("workbench/measure", &["core", "kit"]),
    (
        "workbench/reproduce",
        &["core", "kit", "processor", "guest", "asm", "unit", "session", "trace", "catalog", "engines"],
    ),
    (
        "workbench/py",
        &["core", "asm", "unit", "session", "conform", "trace", "catalog", "replay", "measure", "reproduce", "engines"],
    ),
    ("xtask", &[]),
];

/// mbmatch: it uses no crate of the workspace, also not for its tests, so that its folder can be copied out. Among the
/// engines only its adapter uses it.
const MBMATCH: &str = "mbmatch";

/// What every engine may depend on.
const ENGINE_MAY_USE: &[&str] = &["core", "kit", "processor", "guest", "asm", "unit"];

/// What tests may depend on besides.
const TESTS_MAY_USE: &[&str] = &["core", "kit", "trace", "oracle", "testkit", "session"];

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
    match folder.split_once('/') {
        Some(("engines", name)) => Some(Role::Engine(name)),
        Some(("fuzz", _)) => None,
        _ if folder == "fuzz" => None,
        _ => Some(Role::Shared(folder)),
    }
}

fn check_manifest(path: &str, text: &str, role: Role<'_>, objections: &mut Vec<Objection>) {
    let manifest: Table = match text.parse() {
        Ok(manifest) => manifest,
        Err(error) => return objections.push(Objection::new(path, 1, format!("not TOML: {error}"))),
    };
    let folder = match role {
        Role::Engine(name) => name,
        Role::Shared(folder) => last(folder),
    };
    let expected = if folder == "xtask" || folder == MBMATCH { folder.to_owned() } else { format!("mb-{folder}") };
    let name = manifest.get("package").and_then(|package| package.get("name")).and_then(Value::as_str);
    if name != Some(&expected) {
        objections.push(Objection::new(path, 1, format!("the crate must be called `{expected}`, after its folder")));
    }
    if let Role::Shared(path_of_crate) = role
        && !MAY_USE.iter().any(|(known, _)| *known == path_of_crate)
    {
        objections.push(Objection::new(
            path,
            1,
            format!("`{folder}` has no place in the layers of xtask/src/guards/layers.rs"),
        ));
    }
    for (dependency, for_tests) in dependencies(&manifest) {
        let used = if dependency == MBMATCH { MBMATCH } else { dependency.strip_prefix("mb-").unwrap_or("") };
        if used.is_empty() {
            continue;
        }
        if !(may_use(role, used) || for_tests && tests_may_use(role, used)) {
            let kind = if for_tests { "a dev-dependency" } else { "a dependency" };
            let line = line_of(text, &dependency);
            objections.push(Objection::new(path, line, format!("`{folder}` must not have `{used}` as {kind}")));
        }
    }
}

fn last(folder: &str) -> &str {
    folder.rsplit('/').next().unwrap_or(folder)
}

fn may_use(role: Role<'_>, used: &str) -> bool {
    match role {
        Role::Engine("ideal") if used == "oracle" => true,
        Role::Engine("host_native") if used == MBMATCH => true,
        Role::Engine(_) => ENGINE_MAY_USE.contains(&used),
        Role::Shared(folder) => allowed(folder)
            .is_some_and(|allowed| allowed.contains(&used) || allowed.contains(&"engines") && is_engine(used)),
    }
}

/// Tests and benches of a crate above the engines may also use the engines and mbmatch.
fn tests_may_use(role: Role<'_>, used: &str) -> bool {
    if role == Role::Shared(MBMATCH) {
        return false;
    }
    let above_engines = matches!(role, Role::Shared(folder) if folder.starts_with("workbench/"));
    TESTS_MAY_USE.contains(&used) || above_engines && (is_engine(used) || used == "catalog" || used == MBMATCH)
}

fn allowed(folder: &str) -> Option<&'static [&'static str]> {
    MAY_USE.iter().find(|(known, _)| *known == folder).map(|(_, allowed)| *allowed)
}

/// A name that no shared crate has is an engine's.
fn is_engine(name: &str) -> bool {
    MAY_USE.iter().all(|(known, _)| last(known) != name)
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
    fn mbmatch_with_a_crate_of_the_workspace_is_rejected_and_so_is_an_engine_with_mbmatch() {
        rejected(
            "mbmatch/Cargo.toml",
            "mbmatch",
            "dependencies",
            "mb-core.workspace = true",
            &["mbmatch/Cargo.toml:4: `mbmatch` must not have `core` as a dependency"],
        );
        for of_ours in ["core", "testkit", "oracle", "measure"] {
            rejected(
                "mbmatch/Cargo.toml",
                "mbmatch",
                "dev-dependencies",
                &format!("mb-{of_ours}.workspace = true"),
                &[&format!("mbmatch/Cargo.toml:4: `mbmatch` must not have `{of_ours}` as a dev-dependency")],
            );
        }
        rejected(
            "engines/linear/Cargo.toml",
            "mb-linear",
            "dependencies",
            "mbmatch.workspace = true",
            &["engines/linear/Cargo.toml:4: `linear` must not have `mbmatch` as a dependency"],
        );
    }

    #[test]
    fn the_testkit_outside_of_tests_is_rejected() {
        rejected(
            "workbench/replay/Cargo.toml",
            "mb-replay",
            "dependencies",
            "mb-testkit.workspace = true",
            &["workbench/replay/Cargo.toml:4: `replay` must not have `testkit` as a dependency"],
        );
    }

    #[test]
    fn a_dependency_that_points_up_is_rejected_even_for_one_target_and_under_another_name() {
        rejected(
            "matching/core/Cargo.toml",
            "mb-core",
            "target.'cfg(unix)'.dependencies",
            "above = { package = \"mb-kit\", path = \"../kit\" }",
            &["matching/core/Cargo.toml:4: `core` must not have `kit` as a dependency"],
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
            "workbench/util/Cargo.toml",
            "mb-util",
            "dependencies",
            "",
            &["workbench/util/Cargo.toml:1: `util` has no place in the layers of xtask/src/guards/layers.rs"],
        );
    }

    #[test]
    fn arrows_that_point_down_are_accepted() {
        for (path, name, table, dependency) in [
            ("engines/ideal/Cargo.toml", "mb-ideal", "dependencies", "mb-oracle.workspace = true"),
            ("engines/alpu/Cargo.toml", "mb-alpu", "dev-dependencies", "mb-oracle.workspace = true"),
            ("engines/alpu/Cargo.toml", "mb-alpu", "dependencies", "mb-kit.workspace = true"),
            ("engines/host_native/Cargo.toml", "mb-host_native", "dependencies", "mbmatch.workspace = true"),
            ("mbmatch/Cargo.toml", "mbmatch", "dev-dependencies", "fastrand = \"2\""),
            ("workbench/measure/Cargo.toml", "mb-measure", "dev-dependencies", "mbmatch.workspace = true"),
            ("workbench/catalog/Cargo.toml", "mb-catalog", "dependencies", "mb-alpu.workspace = true"),
            ("workbench/replay/Cargo.toml", "mb-replay", "dev-dependencies", "mb-alpu.workspace = true"),
            ("workbench/reproduce/Cargo.toml", "mb-reproduce", "dependencies", "mb-alpu.workspace = true"),
        ] {
            rejected(path, name, table, dependency, &[]);
        }
    }
}
