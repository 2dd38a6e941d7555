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

create_exception!(
    matchbench,
    TraceError,
    MatchbenchError,
    "A trace breaks a rule of `spec/trace.md`; the message says which, where, and what was found and expected."
);

/// `error` as the exception that its kind calls for.
pub(crate) fn trace_error(error: mb_trace::TraceError) -> PyErr {
    match error {
        mb_trace::TraceError::Defect(defect) => TraceError::new_err(defect.to_string()),
        other => bad_input(other),
    }
}

/// `error` as the exception that ends a command with "bad input".
pub(crate) fn bad_input(error: impl Display) -> PyErr {
    MatchbenchError::new_err(error.to_string())
}
