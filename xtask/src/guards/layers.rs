// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Dependencies between crates point down. The rules are those of `ARCHITECTURE.md`; the
//! dependencies come from the manifests.
//!
//! 1. A crate depends on crates of lower layers and of its own product, never on another product of its layer.
//! 2. An engine never depends on another engine.
//! 3. `mbmatch` depends on no crate of the workspace, not even in tests; `mpi` on `matching` alone.
//! 4. What exists for tests (`mb-oracle`, `mb-testkit`) is a dev-dependency, except where the oracle is the product.

use super::Objection;
use crate::tree::Tree;
use crate::workspace::{Crate, Dependency};

/// Products from the bottom to the top; those in one row are independent of each other.
pub(crate) const LAYERS: &[&[&str]] = &[
    &["matching"],
    &["mbmatch", "processor", "match_unit", "mpi"],
    &["moped", "netproc"],
    &["engines"],
    &["workbench"],
    &["fuzz"],
];

/// Crates outside of the layers: they build the repository and stand alone.
const TOOLS: &[&str] = &["xtask"];

/// Crates that exist for tests, and the crates that may contain them all the same.
const FOR_TESTS: &[(&str, &[&str])] =
    &[("mb-oracle", &["mb-conform", "mb-ideal", "mb-testkit"]), ("mb-testkit", &["mb-own"])];

/// Objects to every dependency that breaks a rule and to crates that are not named after their folder.
pub(crate) fn check(tree: &Tree) -> Vec<Objection> {
    let mut objections = Vec::new();
    for subject in tree.crates() {
        let path = format!("{}/Cargo.toml", subject.folder);
        let text = tree.text(&path).unwrap_or_default();
        let mut object = |needle: &str, reason: String| {
            let line = text.lines().position(|line| line.contains(needle)).map_or(1, |index| index + 1);
            objections.push(Objection::new(&path, line, reason));
        };
        let stands_alone = !subject.folder.contains('/') && ["mbmatch", "xtask"].contains(&subject.folder.as_str());
        let name = if stands_alone { subject.folder.clone() } else { crate_name(tree, subject) };
        if subject.name != name {
            object("name", format!("found crate `{}`, expected `{name}`, after its folder", subject.name));
        }
        if layer(subject.product()).is_none() && !TOOLS.contains(&subject.product()) {
            object(
                "name",
                format!("`{}` has no layer; add it to LAYERS in xtask/src/guards/layers.rs", subject.product()),
            );
            continue;
        }
        for dependency in &subject.dependencies {
            let Some(used) = tree.crates().iter().find(|known| known.name == dependency.name) else { continue };
            if let Some(reason) = broken_rule(subject, dependency, used) {
                object(
                    &dependency.name,
                    format!("`{}` must not depend on `{}`: {reason}", subject.folder, used.folder),
                );
            }
        }
    }
    objections
}

/// The crate of a folder is named after it. An engine that runs on the machine of its name is called after both.
fn crate_name(tree: &Tree, subject: &Crate) -> String {
    let name = subject.last_folder();
    let suffix = if subject.product() == "engines" && tree.crates().iter().any(|known| known.folder == name) {
        "_engine"
    } else {
        ""
    };
    format!("mb-{name}{suffix}")
}

fn layer(product: &str) -> Option<usize> {
    LAYERS.iter().position(|row| row.contains(&product))
}

/// Why `subject` must not have `used` as this dependency.
fn broken_rule(subject: &Crate, dependency: &Dependency, used: &Crate) -> Option<&'static str> {
    let (own, other) = (subject.product(), used.product());
    if own == "mbmatch" || TOOLS.contains(&own) {
        return Some("it stands alone");
    }
    if own == "mpi" && other != "matching" {
        return Some("it depends on `matching` alone");
    }
    if other == "engines" && own == "engines" {
        return Some("an engine never depends on another engine");
    }
    if let Some((_, exceptions)) = FOR_TESTS.iter().find(|(name, _)| *name == used.name)
        && !dependency.dev
        && !exceptions.contains(&subject.name.as_str())
    {
        return Some("it exists for tests; make it a dev-dependency");
    }
    if own != other && layer(own) <= layer(other) {
        return Some("dependencies point down");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::crate_of;

    /// What is said of a crate with these dependencies, beside a workspace that is in order.
    fn objections(folder: &str, name: &str, dependencies: &[&str]) -> Vec<String> {
        let mut crates = vec![
            crate_of("matching/core", "mb-core", &[]),
            crate_of("matching/oracle", "mb-oracle", &["mb-core"]),
            crate_of("matching/testkit", "mb-testkit", &["mb-core", "mb-oracle"]),
            crate_of("mbmatch", "mbmatch", &[]),
            crate_of("processor", "mb-processor", &["mb-core", "dev:mb-testkit"]),
            crate_of("match_unit/unit", "mb-unit", &[]),
            crate_of("mpi/conform", "mb-conform", &["mb-core", "mb-oracle"]),
            crate_of("engines/ideal", "mb-ideal", &["mb-core", "mb-oracle", "dev:mb-testkit"]),
            crate_of("engines/linear", "mb-linear", &["mb-core"]),
            crate_of("processor/firmware", "mb-firmware", &["mb-processor"]),
            crate_of("netproc", "mb-netproc", &["mb-firmware"]),
            crate_of("workbench/catalog", "mb-catalog", &["mb-ideal", "mb-linear"]),
        ];
        crates.retain(|known| known.folder != folder);
        crates.push(crate_of(folder, name, dependencies));
        check(&Tree::of_crates(crates)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn dependencies_that_point_down_are_accepted() {
        assert_eq!(objections("engines/alpu", "mb-alpu", &["mb-core", "mb-unit", "dev:mb-oracle"]), [""; 0]);
        assert_eq!(objections("netproc", "mb-netproc", &["mb-firmware", "mb-processor"]), [""; 0]);
        assert_eq!(objections("engines/alpu", "mb-alpu", &["mb-netproc"]), [""; 0]);
        assert_eq!(objections("engines/netproc", "mb-netproc_engine", &["mb-netproc"]), [""; 0]);
        assert_eq!(objections("workbench/replay", "mb-replay", &["mb-core", "dev:mb-linear"]), [""; 0]);
    }

    #[test]
    fn an_engine_that_uses_another_engine_is_rejected() {
        assert_eq!(
            objections("engines/alpu", "mb-alpu", &["dev:mb-linear"]),
            ["engines/alpu/Cargo.toml:1: `engines/alpu` must not depend on `engines/linear`: \
              an engine never depends on another engine"]
        );
    }

    #[test]
    fn an_engine_that_contains_the_oracle_is_rejected() {
        assert_eq!(
            objections("engines/alpu", "mb-alpu", &["mb-oracle"]),
            ["engines/alpu/Cargo.toml:1: `engines/alpu` must not depend on `matching/oracle`: \
              it exists for tests; make it a dev-dependency"]
        );
    }

    #[test]
    fn mbmatch_with_any_dependency_on_the_workspace_is_rejected() {
        assert_eq!(
            objections("mbmatch", "mbmatch", &["dev:mb-oracle"]),
            ["mbmatch/Cargo.toml:1: `mbmatch` must not depend on `matching/oracle`: it stands alone"]
        );
    }

    #[test]
    fn conform_above_anything_but_matching_is_rejected() {
        assert_eq!(
            objections("mpi/conform", "mb-conform", &["mb-unit"]),
            [
                "mpi/conform/Cargo.toml:1: `mpi/conform` must not depend on `match_unit/unit`: it depends on `matching` alone"
            ]
        );
    }

    #[test]
    fn a_dependency_that_points_up_or_sideways_is_rejected() {
        for (folder, name, used, path) in [
            ("matching/kit", "mb-kit", "mb-processor", "processor"),
            ("match_unit/session", "mb-session", "mb-processor", "processor"),
            ("processor/firmware", "mb-firmware", "mb-catalog", "workbench/catalog"),
            ("processor/firmware", "mb-firmware", "mb-netproc", "netproc"),
            ("netproc", "mb-netproc", "mb-linear", "engines/linear"),
        ] {
            assert_eq!(
                objections(folder, name, &[used]),
                [format!("{folder}/Cargo.toml:1: `{folder}` must not depend on `{path}`: dependencies point down")]
            );
        }
    }

    #[test]
    fn a_crate_that_is_not_named_after_its_folder_is_rejected() {
        assert_eq!(
            objections("engines/alpu", "alpu", &[]),
            ["engines/alpu/Cargo.toml:1: found crate `alpu`, expected `mb-alpu`, after its folder"]
        );
    }

    #[test]
    fn a_crate_without_a_layer_is_rejected() {
        assert_eq!(
            objections("util/text", "mb-text", &[]),
            ["util/text/Cargo.toml:1: `util` has no layer; add it to LAYERS in xtask/src/guards/layers.rs"]
        );
    }
}
