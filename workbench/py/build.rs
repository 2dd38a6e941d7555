// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Passes the git revision of the sources to the crate, so that every result row can name it.
//! Without git or outside a checkout (a source archive) the revision is "unknown".

use std::process::Command;

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

fn main() {
    let revision = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_else(|| "unknown".to_owned());
    println!("cargo::rustc-env=MATCHBENCH_REVISION={revision}");
    // The reflog grows with every commit and checkout; HEAD itself mostly just names a branch.
    if let Some(log) = git(&["rev-parse", "--path-format=absolute", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
