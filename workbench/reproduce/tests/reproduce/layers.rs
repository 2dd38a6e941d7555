// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Imports inside this crate run down, and generic modules name no paper.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use mb_reproduce::REGISTRY;

/// Modules from the bottom row to the top one; a module uses only modules of lower rows.
const ROWS: [&[&str]; 9] = [
    &["area", "curve", "formula", "statistics", "error"],
    &["chart"],
    &["benchmarks", "ledger", "preset_value", "probe"],
    &["study", "verdict"],
    &["figures", "claim_test", "evidence", "explanation"],
    &["depth", "report", "contradictions"],
    &["registry"],
    &["papers"],
    &["lib"],
];

fn row(module: &str) -> usize {
    ROWS.iter().position(|row| row.contains(&module)).unwrap_or_else(|| panic!("`{module}` is in no row"))
}

/// Every source file with the module of the top level that it belongs to.
fn sources() -> Vec<(String, PathBuf)> {
    fn walk(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { walk(&path, found) } else { found.push(path) }
        }
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    walk(&source, &mut paths);
    let module = |path: &Path| {
        let first = path.strip_prefix(&source).unwrap().iter().next().unwrap();
        Path::new(first).file_stem().unwrap().to_str().unwrap().to_owned()
    };
    paths.into_iter().map(|path| (module(&path), path)).collect()
}

/// A line without its comment and its string literals.
fn code(line: &str) -> String {
    line.split("//").next().unwrap_or_default().split('"').step_by(2).collect()
}

/// Modules of the top level that a line names behind `crate::`.
fn used(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split("//").next().unwrap_or_default();
    code.split("crate::")
        .skip(1)
        .map(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap())
}

/// Every use of a module that is not below the one that uses it.
fn upward(module: &str, text: &str) -> Vec<String> {
    let up = |target: &&str| !target.is_empty() && *target != module && row(target) >= row(module);
    text.lines().flat_map(used).filter(up).map(str::to_owned).collect()
}

/// Keys of papers that code contains outside of string literals, which may name presets of engines.
fn papers_named(text: &str) -> BTreeSet<&'static str> {
    REGISTRY.keys().map(|(key, _)| key).filter(|key| text.lines().any(|line| code(line).contains(key))).collect()
}

#[test]
fn modules_use_only_what_is_below_them() {
    for (module, path) in sources() {
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(upward(&module, &text), [""; 0], "{}", path.display());
    }
}

#[test]
fn generic_modules_name_no_paper() {
    for (module, path) in sources().into_iter().filter(|(module, _)| row(module) < row("papers")) {
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(papers_named(&text), BTreeSet::new(), "{module}: {}", path.display());
    }
}

#[test]
fn an_import_that_runs_up_is_found() {
    assert_eq!(upward("verdict", "use crate::papers::tanabe2013::PAPER;\n"), ["papers"]);
    assert_eq!(upward("ledger", "fn f() { crate::verdict::judge() }"), ["verdict"]);
    assert_eq!(upward("report", "use crate::ledger::Claim; // crate::papers"), [""; 0]);
    assert_eq!(papers_named("use super::xiong2018::Designs; // gu2011"), ["xiong2018"].into());
}
