// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Converts Rust errors into Python exceptions with the same message.

use std::fmt::Display;

use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

create_exception!(
    matchbench,
    MatchbenchError,
    PyException,
    "Invalid input, or an operation that failed. The message names the place, what was found and what was expected."
);

create_exception!(
    matchbench,
    TraceError,
    MatchbenchError,
    "A trace violates a rule of `spec/trace.md`. The message names the place, what was found, what was expected, and the rule."
);

/// Converts `error` into the exception for its kind.
pub(crate) fn trace_error(error: mb_trace::TraceError) -> PyErr {
    match error {
        mb_trace::TraceError::Defect(defect) => TraceError::new_err(defect.to_string()),
        other => bad_input(other),
    }
}

/// Converts `error` into the exception for invalid input.
pub(crate) fn bad_input(error: impl Display) -> PyErr {
    MatchbenchError::new_err(error.to_string())
}
