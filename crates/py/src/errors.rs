// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Rust errors as the one Python exception tree. The message is the Rust error's own.

use pyo3::create_exception;
use pyo3::exceptions::PyException;

create_exception!(
    matchbench,
    MatchbenchError,
    PyException,
    "Bad input, or work that cannot be done; the message says what and where."
);
