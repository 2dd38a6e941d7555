// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Passes the git revision of the sources to the crate, so that every result row can name it: in an archive of a commit
//! the one that `git archive` wrote, in a checkout that of git, and otherwise "unknown".

use std::fs::read_to_string;
use std::process::Command;

const ARCHIVED: &str = "../../packaging/revision";

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

fn main() {
    let archived = read_to_string(ARCHIVED).ok().filter(|text| !text.starts_with('$'));
    let revision = archived.or_else(|| git(&["rev-parse", "HEAD"]));
    let short = revision.as_deref().and_then(|revision| revision.get(..12)).unwrap_or("unknown");
    println!("cargo::rustc-env=MATCHBENCH_REVISION={short}");
    // The reflog grows with every commit and checkout; HEAD itself mostly just names a branch.
    if let Some(log) = git(&["rev-parse", "--path-format=absolute", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
    println!("cargo::rerun-if-changed={ARCHIVED}");
    println!("cargo::rerun-if-changed=build.rs");
}
