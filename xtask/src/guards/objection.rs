// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a guard objects to.

use std::fmt;

/// A rule that is broken, and where.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Objection {
    /// Path from the root.
    pub(crate) path: String,
    /// Line, counted from 1.
    pub(crate) line: usize,
    /// What was found and what the rule expects.
    pub(crate) reason: String,
}

impl Objection {
    pub(crate) fn new(path: &str, line: usize, reason: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, reason: reason.into() }
    }
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.reason)
    }
}
