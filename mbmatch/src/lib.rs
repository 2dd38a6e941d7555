// SPDX-License-Identifier: Apache-2.0 OR MIT
//! mbmatch: the matching of an MPI library or a libfabric provider, as a library of its own.
//!
//! A [`Matcher`] holds the posted receives and the unexpected messages of a receiver. [`Matcher::post`] and
//! [`Matcher::arrive`] find each other's entries in MPI's order: always the oldest that fits, wildcards or not
//! (`spec/matching.md`). Envelopes have 64 match bits and a source, patterns 64 ignore bits and a source or any: the
//! form of Portals 4, libfabric and UEC, onto which MPI's communicator, source and tag map (README).
//!
//! ```
//! use mbmatch::{Arrived, Envelope, Matcher, Options, Pattern, Posted, Structure};
//!
//! let mut matcher = Matcher::new(Structure::default(), Options::default());
//! let any_source = Pattern { bits: 7, ignore: 0, source: None };
//! assert!(matches!(matcher.post(any_source, 0xa)?, Posted::Waiting(_)));
//! assert_eq!(matcher.arrive(Envelope { bits: 7, source: 3 }, 0xb)?, Arrived::Matched { user: 0xa });
//! # Ok::<(), mbmatch::OutOfMemory>(())
//! ```

#![allow(clippy::inline_always, reason = "measured: the hot paths are made of functions of a few instructions")]

mod adaptive;
mod bins;
mod c;
mod heads;
mod list;
mod log;
mod matcher;
mod pool;
mod scan;
mod types;
mod vector;

pub use matcher::{Matcher, Options, Structure, UnknownStructure};
pub use scan::VectorUnit;
pub use types::{Arrived, Envelope, Handle, Memory, Message, OutOfMemory, Pattern, Posted};
