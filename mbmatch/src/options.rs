// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The structure of a matcher, and its parameters.

use std::fmt;
use std::str::FromStr;

use crate::heap::Allocator;
use crate::scan::VectorUnit;

/// The data structure of a matcher. Every structure gives the same outcomes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum Structure {
    /// A linked list through request objects.
    List,
    /// Heads of 16 bytes side by side, bodies elsewhere.
    Heads,
    /// Keys in packed blocks, compared 64 at a time.
    Vector,
    /// Lists by hash, with sequence numbers across them.
    Bins,
    /// Chosen at run time: short queues side by side, longer ones by hash, wildcards by class or by
    /// vector.
    #[default]
    Adaptive,
}

impl Structure {
    /// Every structure, the simplest first.
    pub const ALL: &[Self] = &[Self::List, Self::Heads, Self::Vector, Self::Bins, Self::Adaptive];

    /// Its name, which [`FromStr`] parses.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Heads => "heads",
            Self::Vector => "vector",
            Self::Bins => "bins",
            Self::Adaptive => "adaptive",
        }
    }
}

impl fmt::Display for Structure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Structure {
    type Err = UnknownStructure;

    fn from_str(name: &str) -> Result<Self, UnknownStructure> {
        Self::ALL.iter().copied().find(|structure| structure.name() == name).ok_or(UnknownStructure)
    }
}

/// No structure has this name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownStructure;

impl fmt::Display for UnknownStructure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = Structure::ALL.iter().map(|structure| structure.name()).collect();
        write!(f, "unknown structure; expected one of: {}", names.join(", "))
    }
}

impl std::error::Error for UnknownStructure {}

/// Parameters of a matcher. The defaults are the fastest; other values of the first three are for experiments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Options {
    /// `list`: bytes from one request object to the next, rounded up to whole nodes of 48 bytes.
    /// Open MPI's ob1 has 768.
    pub request_bytes: usize,
    /// `bins`: the number of bins.
    pub bins: usize,
    /// `vector` and `adaptive`: the vector unit. `None`, or one that this processor lacks, selects
    /// the best available.
    pub vector_unit: Option<VectorUnit>,
    /// Where memory comes from; `None`: from the global allocator.
    pub allocator: Option<Allocator>,
    /// The most bytes that may be allocated for both queues; `usize::MAX`: no limit. A call that needs more is out of
    /// memory. Not counted are the lists that [`Matcher::receives`](crate::Matcher::receives),
    /// [`Matcher::messages`](crate::Matcher::messages) and the visits make, and the old copy of what grows.
    pub limit_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { request_bytes: 48, bins: 256, vector_unit: None, allocator: None, limit_bytes: usize::MAX }
    }
}
