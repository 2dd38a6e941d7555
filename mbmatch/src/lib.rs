// SPDX-License-Identifier: Apache-2.0 OR MIT
//! mbmatch: message matching for MPI libraries and libfabric providers.
//!
//! A [`Matcher`] holds the posted-receive queue (PRQ) and the unexpected-message queue (UMQ) of one
//! receiver. [`Matcher::post`] and [`Matcher::arrive`] match receives and messages in MPI's order:
//! always the oldest entry that fits, wildcards or not. An envelope has 64 match bits and a source;
//! a pattern has match bits, ignore bits, and a source or any. This is the form of Portals 4,
//! libfabric and UEC; the README maps MPI's communicator, source and tag to it.
//!
//! How entries are stored is a choice of [`Structure`]; the outcomes are the same for all. The
//! default is described in `src/adaptive/mod.rs`.
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

// `#[inline(always)]` is used on the paths of post, arrive, cancel and probe. They are layers of
// functions of a few instructions each; a call in between costs as much as the work, and keeps
// values in memory that belong in registers.
#![allow(clippy::inline_always, reason = "measured: the fast paths are layers of functions of a few instructions")]

mod adaptive;
mod bins;
mod c;
mod halves;
mod heads;
mod heap;
mod list;
mod log;
mod matcher;
mod options;
mod pool;
mod ring;
mod scan;
mod types;
mod vector;
mod walked;

pub use heap::{Allocate, Allocator, Release};
pub use matcher::Matcher;
pub use options::{Options, Structure, UnknownStructure};
pub use scan::VectorUnit;
pub use types::{
    Arrived, Counters, Envelope, Handle, Memory, Message, OutOfMemory, Pattern, Posted, QueueCounters, QueuedMessage,
    QueuedReceive, SourceChange, Visit,
};
