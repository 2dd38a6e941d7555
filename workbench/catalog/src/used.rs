// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which engines a process runs, for the tests: a test that passed is left out until an engine that it ran changes
//! (`tests/unchanged.py`). Builds without `debug_assertions`, such as the package, have nothing of this.

use std::fs::OpenOptions;
use std::io::Write;

/// Names the file that gets a line for each engine that is made, for the first time or again.
const VARIABLE: &str = "MATCHBENCH_ENGINES_USED";

/// Notes that engine `name` computes something.
pub(crate) fn note(name: &str) {
    if !cfg!(debug_assertions) {
        return;
    }
    #[allow(clippy::disallowed_methods, reason = "not a model: only tests set the variable")]
    let Ok(path) = std::env::var(VARIABLE) else { return };
    // Processes that a test starts append to one file; lines of a few bytes stay whole.
    let written = OpenOptions::new()
        .append(true)
        .create(true)
        .open(&path)
        .and_then(|mut file| file.write_all(format!("{name}\n").as_bytes()));
    // Without the line, the test would be left out although the engine has changed.
    written.unwrap_or_else(|error| panic!("{VARIABLE}={path}: {error}"));
}
