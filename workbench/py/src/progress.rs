// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Progress of long work, told to a Python callable; what it raises stops the work, and so does Ctrl-C.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// Time between two calls of Python, except for the first and the last: often enough for the eye and for Ctrl-C.
const PAUSE: Duration = Duration::from_millis(20);

/// A callable `progress(done, total)`, or none, and what it raised.
pub(crate) struct Progress {
    callable: Option<Py<PyAny>>,
    told: Option<Instant>,
    raised: Option<PyErr>,
}

impl Progress {
    pub(crate) const fn new(callable: Option<Py<PyAny>>) -> Self {
        Self { callable, told: None, raised: None }
    }

    /// Tells how far the work is. Call it without the interpreter, and stop when it breaks.
    #[expect(clippy::disallowed_methods, reason = "how often the user hears of it changes no result")]
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

    /// What was raised, if anything: it goes before any result of the work.
    pub(crate) fn finish(self) -> PyResult<()> {
        self.raised.map_or(Ok(()), Err)
    }
}
