// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Developer commands: `cargo xtask gen [--check]` writes every generated file, or lists the stale ones;
//! `cargo xtask guard [NAME...]` checks the rules of this repository that no compiler checks.
//!
//! Exit status: 0 done, 1 something is stale or a guard objects, 2 the command line or the repository cannot be read.

mod generate;
mod guards;
mod tree;
mod workspace;

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use crate::tree::Tree;

const USAGE: &str = "usage: cargo xtask gen [--check] | cargo xtask guard [NAME...]";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (lines, status) = match run(&words) {
        Ok(objections) => {
            let status = u8::from(!objections.is_empty());
            (objections, status)
        }
        Err(reason) => (vec![format!("xtask: {reason}")], 2),
    };
    let mut stderr = std::io::stderr().lock();
    for line in lines {
        // Nothing can be reported when stderr is closed; the exit status still holds the result.
        let _ = writeln!(stderr, "{line}");
    }
    ExitCode::from(status)
}

/// Runs one command and returns what it objects to.
fn run(words: &[&str]) -> Result<Vec<String>, String> {
    let root = repository_root()?;
    let tree = Tree::read(root).map_err(|error| format!("{}: {error}", root.display()))?;
    match words {
        ["gen"] => generate::write(root).map(|()| Vec::new()),
        ["gen", "--check"] => generate::stale(&tree, root),
        ["guard", names @ ..] => {
            let objections = guards::run(&tree, names)?;
            Ok(objections.iter().map(ToString::to_string).collect())
        }
        _ => Err(USAGE.to_owned()),
    }
}

/// The folder above this crate.
fn repository_root() -> Result<&'static Path, String> {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or_else(|| "the xtask folder has no parent".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_command_names_the_known_ones() {
        assert_eq!(run(&["polish"]), Err(USAGE.to_owned()));
    }

    #[test]
    fn generated_files_are_fresh() {
        assert_eq!(run(&["gen", "--check"]), Ok(Vec::new()));
    }

    #[test]
    fn the_repository_passes_every_guard() {
        let objections = run(&["guard"]).expect("the repository can be read");
        assert!(objections.is_empty(), "\n{}\n", objections.join("\n"));
    }
}
