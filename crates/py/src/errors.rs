// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Rust errors as the one Python exception tree. The message is the Rust error's own.

use std::fmt::Display;

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(
    matchbench,
    MatchbenchError,
    PyException,
    "Bad input, or work that cannot be done; the message says what and where."
);

/// `error` as the exception that ends a command with "bad input".
pub(crate) fn bad_input(error: impl Display) -> PyErr {
    MatchbenchError::new_err(error.to_string())
}
