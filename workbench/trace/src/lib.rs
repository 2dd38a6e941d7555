// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reads, checks, writes, analyses and generates traces of MPI programs. The format is
//! `spec/trace.md`.
//!
//! - [`Trace::open`] maps a trace and checks its headers; [`Trace::rank`] returns the records of a
//!   rank, in place.
//! - [`Trace::check`] checks every rule of the format and returns the [`Communicators`], which
//!   translate local communicator numbers and ranks into global ones. After a check, code may index
//!   by any field of a record.
//! - [`RankBuilder`] builds the records of a rank in program order. [`TraceWriter`] stores them;
//!   [`Trace::in_memory`] does not use the disk.
//!
//! ```
//! use std::ops::ControlFlow;
//!
//! use mb_trace::generate::{Halo3dParameters, Plan};
//!
//! let plan = Plan::of(&Halo3dParameters::default(), 8, 1)?;
//! let trace = plan.in_memory();
//! let comms = trace.check(|_ranks_done| ControlFlow::Continue(()))?;
//! let total = trace.stats(&comms, |_rank, _stats| ControlFlow::Continue(()))?;
//! assert_eq!((total.sent, total.never_received), (8 * 6 * 100, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Truncated, corrupted, mixed-up or forged files give a [`TraceError`], never a panic.

mod agreement;
mod calls;
mod check;
pub mod columns;
mod communicators;
mod content;
mod counts;
mod error;
pub mod generate;
mod header;
mod meta;
mod open;
mod rank_builder;
pub mod record;
mod state;
pub mod stats;
mod topology;
mod trace_state;
mod writer;

pub use calls::{CallSum, Calls};
pub use communicators::{CommView, Communicators, RankRun};
pub use error::{FileLocation, TraceDefect, TraceError};
pub use header::file_bytes;
pub use meta::{Meta, TraceOrigin};
pub use open::Trace;
pub use rank_builder::{RankBuilder, Request, Status};
pub use record::{CollectiveOp, Flags, Header, Kind, Record};
pub use state::{Host, LeftOut, Omission};
pub use stats::{Distribution, Stats};
pub use topology::{NeighbourLists, TopologyForm};
pub use trace_state::TraceState;
pub use writer::{TraceForm, TraceWriter};
