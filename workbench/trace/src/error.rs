// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Errors of traces: file, place in it, what was found, what was expected, what to do, and the
//! violated rule.

use std::fmt;
use std::path::{Path, PathBuf};

use mb_input::Refusal;

/// Why a trace could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The operating system reported an error.
    #[error("{}: {source}", path.display())]
    Io {
        /// File or directory.
        path: PathBuf,
        /// Its reason.
        source: std::io::Error,
    },
    /// The trace violates a rule of `spec/trace.md`.
    #[error(transparent)]
    Defect(Box<TraceDefect>),
    /// The trace cannot be mapped or written.
    #[error("{}: {reason}", path.display())]
    Refused {
        /// File or directory.
        path: PathBuf,
        /// What was found and expected.
        reason: String,
    },
    /// The progress callback returned `Break`.
    #[error("interrupted")]
    Interrupted,
}

/// A violated rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceDefect {
    /// The file.
    pub file: PathBuf,
    /// The place in it.
    pub place: FileLocation,
    /// The number of the rule in `spec/trace.md`; 0 stands for its section 2 (`meta.json`).
    pub rule: u8,
    /// What was found, what was expected and, where the reader can help it, what to do.
    pub reason: String,
}

/// A place in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileLocation {
    /// The file as a whole, its header or its index.
    File,
    /// A rank as a whole.
    Rank(u32),
    /// One record.
    Record {
        /// World rank.
        rank: u32,
        /// Position in the rank, from 0.
        index: u64,
    },
}

impl fmt::Display for TraceDefect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.file.display())?;
        match self.place {
            FileLocation::File => {}
            FileLocation::Rank(rank) => write!(f, "rank {rank}: ")?,
            FileLocation::Record { rank, index } => write!(f, "rank {rank}, record {index}: ")?,
        }
        match self.rule {
            0 => write!(f, "{} (section 2)", self.reason),
            rule => write!(f, "{} (T-{rule})", self.reason),
        }
    }
}

impl std::error::Error for TraceDefect {}

impl TraceError {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { path: path.into(), source }
    }

    pub(crate) fn input(path: &Path) -> impl FnOnce(Refusal) -> Self {
        move |refusal| Self::Refused { path: path.to_owned(), reason: refusal.expecting("a file of a trace") }
    }

    pub(crate) fn defect(file: impl Into<PathBuf>, place: FileLocation, rule: u8, reason: impl Into<String>) -> Self {
        Self::Defect(Box::new(TraceDefect { file: file.into(), place, rule, reason: reason.into() }))
    }
}
