// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Files that a user names.

use std::os::fd::{IntoRawFd, RawFd};
use std::path::PathBuf;

use mb_input::InputLimit;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::bad_input;

/// Reads a file: its bytes; `limit` is `settings`, `text` or `binary`.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "converted from Python's")]
pub(crate) fn read_input<'py>(
    py: Python<'py>,
    path: PathBuf,
    expected: &str,
    limit: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let limit = match limit {
        "settings" => InputLimit::Settings,
        "text" => InputLimit::Text,
        _ => InputLimit::Binary,
    };
    let read = py.detach(|| mb_input::read(&path, limit));
    match read {
        Ok(bytes) => Ok(PyBytes::new(py, &bytes)),
        Err(refusal) => Err(bad_input(format!("{}: {}", path.display(), refusal.expecting(expected)))),
    }
}

/// Opens a file: its descriptor.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "converted from Python's")]
pub(crate) fn open_input(path: PathBuf, expected: &str) -> PyResult<RawFd> {
    match mb_input::open(&path) {
        Ok((file, _)) => Ok(file.into_raw_fd()),
        Err(refusal) => Err(bad_input(format!("{}: {}", path.display(), refusal.expecting(expected)))),
    }
}
