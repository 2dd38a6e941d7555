// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `fuzz/` is a workspace with a `Cargo.lock` of its own, which only the fuzz targets read. Cargo rewrites a file that
//! is out of date, so that a run of the fuzz targets would change the repository.

use std::collections::BTreeSet;

use super::Objection;
use crate::tree::Tree;

const LOCK: &str = "fuzz/Cargo.lock";

/// Objects to crates of this repository whose dependencies differ from those in `fuzz/Cargo.lock`.
pub(crate) fn check(tree: &Tree) -> Vec<Objection> {
    let Some(text) = tree.text(LOCK) else { return Vec::new() };
    let lock: toml::Table = match text.parse() {
        Ok(lock) => lock,
        Err(error) => return vec![Objection::new(LOCK, 1, format!("not TOML: {}", error.message()))],
    };
    let mut objections = Vec::new();
    for package in lock.get("package").and_then(toml::Value::as_array).into_iter().flatten() {
        let (Some(name), None) = (package.get("name").and_then(toml::Value::as_str), package.get("source")) else {
            continue;
        };
        let line = text.lines().position(|line| line == format!("name = \"{name}\"")).map_or(1, |index| index + 1);
        let Some(expected) = dependencies(tree, name) else {
            let reason = format!("found crate `{name}`, which is not in the repository; {REMEDY}");
            objections.push(Objection::new(LOCK, line, reason));
            continue;
        };
        // The version stands behind the name where several are locked.
        let locked = package.get("dependencies").and_then(toml::Value::as_array).into_iter().flatten();
        let locked = locked.filter_map(|dependency| dependency.as_str()?.split(' ').next().map(str::to_owned));
        let locked: BTreeSet<String> = locked.collect();
        for missing in expected.difference(&locked) {
            let reason = format!("found no `{missing}` among the dependencies of `{name}`; {REMEDY}");
            objections.push(Objection::new(LOCK, line, reason));
        }
        for stale in locked.difference(&expected) {
            let reason = format!("found `{stale}` among the dependencies of `{name}`, unlike its manifest; {REMEDY}");
            objections.push(Objection::new(LOCK, line, reason));
        }
    }
    objections
}

const REMEDY: &str = "run `cargo metadata` in fuzz/";

/// The packages that the crate of a name depends on, without those of its tests and optional ones.
fn dependencies(tree: &Tree, name: &str) -> Option<BTreeSet<String>> {
    let manifests = tree.texts().filter(|(path, _)| path.ends_with("Cargo.toml"));
    let manifest = manifests.filter_map(|(_, text)| text.parse::<toml::Table>().ok()).find(|manifest| {
        let package = manifest.get("package").and_then(|package| package.get("name"));
        package.and_then(toml::Value::as_str) == Some(name)
    })?;
    let tables = ["dependencies", "build-dependencies"].into_iter().filter_map(|kind| manifest.get(kind)?.as_table());
    let needed = tables.flatten().filter(|(_, value)| value.get("optional") != Some(&toml::Value::Boolean(true)));
    let renamed = |value: &toml::Value| Some(value.get("package")?.as_str()?.to_owned());
    Some(needed.map(|(key, value)| renamed(value).unwrap_or_else(|| key.clone())).collect())
}

#[cfg(test)]
mod tests {
    use super::super::assert_objections;
    use super::*;

    #[test]
    fn a_lock_that_differs_from_manifests_is_rejected() {
        let manifest = "[package]\nname = \"mb-a\"\n[dependencies]\nb.workspace = true\nmy-c = { package = \"c\", version = \"1\" }\n\
                        d = { version = \"1\", optional = true }\n[build-dependencies]\ne = \"1\"\n[dev-dependencies]\nf = \"1\"\n";
        let lock = |dependencies: &str| {
            format!(
                "version = 4\n\n[[package]]\nname = \"b\"\nversion = \"1.0.0\"\nsource = \"registry\"\ndependencies = [\"x\"]\n\n\
                 [[package]]\nname = \"mb-a\"\nversion = \"0.1.0\"\ndependencies = [{dependencies}]\n"
            )
        };
        let files = |lock: &str, expected: &[&str]| {
            assert_objections(check, &[(LOCK, lock), ("a/Cargo.toml", manifest)], expected);
        };
        files(&lock("\"b\", \"c 1.2.0\", \"e\""), &[]);
        files(
            &lock("\"b\", \"e\", \"f\""),
            &[
                "fuzz/Cargo.lock:10: found no `c` among the dependencies of `mb-a`; run `cargo metadata` in fuzz/",
                "fuzz/Cargo.lock:10: found `f` among the dependencies of `mb-a`, unlike its manifest; run `cargo \
                 metadata` in fuzz/",
            ],
        );
        files(
            "[[package]]\nname = \"mb-gone\"\n",
            &[
                "fuzz/Cargo.lock:2: found crate `mb-gone`, which is not in the repository; run `cargo metadata` in fuzz/",
            ],
        );
        files("package", &["fuzz/Cargo.lock:1: not TOML: key with no value, expected `=`"]);
    }
}
