// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which engines a process uses, for the tests: a test that passed is left out until an engine that it used changes
//! (`tests/unchanged.py`). Builds without `debug_assertions`, such as the package, do not contain it.
//!
//! No code of an engine runs before its preset was found here: its parameters come from nowhere else.

use std::io::ErrorKind;
use std::path::Path;

use crate::ENGINES;

/// Names the folder that gets an empty folder for each engine.
const VARIABLE: &str = "MATCHBENCH_ENGINES_USED";

/// Notes that engine `name` computes something, or that it was chosen to do so.
///
/// A folder needs no descriptor and has no size: tests limit both.
pub(crate) fn note(name: &str) {
    // User-defined engines are not part of the repository.
    if !cfg!(debug_assertions) || ENGINES.iter().all(|entry| entry.card.name != name) {
        return;
    }
    #[allow(clippy::disallowed_methods, reason = "not a model: only tests set the variable")]
    let Some(folder) = std::env::var_os(VARIABLE) else { return };
    match std::fs::create_dir(Path::new(&folder).join(name)) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            // Without the note, the test would be left out although the engine has changed.
            panic!("{VARIABLE}={}: engine `{name}`: {error}", folder.display());
        }
        _ => {}
    }
}
