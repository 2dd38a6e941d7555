// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What can be wrong with a trace: the file, the place in it, the rule it breaks, what was found and what was expected.

use std::fmt;
use std::path::PathBuf;

/// Why a trace could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The operating system refused.
    #[error("{}: {source}", path.display())]
    Io {
        /// File or directory.
        path: PathBuf,
        /// Its reason.
        source: std::io::Error,
    },
    /// The trace breaks a rule of `spec/trace.md`.
    #[error(transparent)]
    Defect(Box<Defect>),
    /// A trace cannot be written here or like this.
    #[error("{}: {reason}", path.display())]
    Refused {
        /// File or directory.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The progress callback asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// One broken rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Defect {
    /// The file.
    pub file: PathBuf,
    /// Where in it.
    pub place: Place,
    /// The number of the rule in `spec/trace.md`; 0 stands for its section 2 (`meta.json`).
    pub rule: u8,
    /// What was found and what was expected.
    pub reason: String,
}

/// Where in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// The file as a whole, its header or its index.
    File,
    /// A rank in all.
    Rank(u32),
    /// One record.
    Record {
        /// World rank.
        rank: u32,
        /// Position in the rank, from 0.
        index: u64,
    },
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.file.display())?;
        match self.place {
            Place::File => {}
            Place::Rank(rank) => write!(f, "rank {rank}: ")?,
            Place::Record { rank, index } => write!(f, "rank {rank}, record {index}: ")?,
        }
        match self.rule {
            0 => write!(f, "{} (section 2)", self.reason),
            rule => write!(f, "{} (T-{rule})", self.reason),
        }
    }
}

impl std::error::Error for Defect {}

impl TraceError {
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { path: path.into(), source }
    }

    pub(crate) fn defect(file: impl Into<PathBuf>, place: Place, rule: u8, reason: impl Into<String>) -> Self {
        Self::Defect(Box::new(Defect { file: file.into(), place, rule, reason: reason.into() }))
    }
}
