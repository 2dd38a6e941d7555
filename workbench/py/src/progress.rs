// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reports progress of long operations to a Python callable. An exception raised by it, or Ctrl-C,
//! stops the operation.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// Shortest time between two calls of Python, except for the last: short enough for a display and
/// for Ctrl-C.
const PAUSE: Duration = Duration::from_millis(20);

/// A callable `progress(done, total)`, or none, and the exception it raised.
pub(crate) struct Progress {
    callable: Option<Py<PyAny>>,
    told: Option<Instant>,
    raised: Option<PyErr>,
}

impl Progress {
    pub(crate) const fn new(callable: Option<Py<PyAny>>) -> Self {
        Self { callable, told: None, raised: None }
    }

    /// Reports progress. Must be called detached from the interpreter; the caller stops when it
    /// returns `Break`.
    #[expect(clippy::disallowed_methods, reason = "the frequency of progress reports changes no result")]
    pub(crate) fn tell(&mut self, done: u64, total: u64) -> ControlFlow<()> {
        if self.raised.is_some() {
            return ControlFlow::Break(());
        }
        if done < total && self.told.is_some_and(|told| told.elapsed() < PAUSE) {
            return ControlFlow::Continue(());
        }
        self.told = Some(Instant::now());
        let told = Python::attach(|py| {
            py.check_signals()?;
            self.callable.as_ref().map_or(Ok(()), |callable| callable.call1(py, (done, total)).map(|_| ()))
        });
        match told {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.raised = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    /// Returns the exception that was raised, if any. It takes precedence over the result of the
    /// operation.
    pub(crate) fn finish(self) -> PyResult<()> {
        self.raised.map_or(Ok(()), Err)
    }
}
