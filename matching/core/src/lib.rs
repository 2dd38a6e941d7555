// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Definitions that every other crate of matchbench uses: units, match operations, the engine interface.
//!
//! - [`time`]: [`Picos`], [`Cycles`], [`Clock`], [`Bytes`]. No conversion between them is implicit.
//! - [`matching`]: envelopes, patterns, operations and outcomes (`spec/matching.md`).
//! - [`mpi`]: the one mapping of MPI's (communicator, source, tag) onto match bits.
//! - [`names`]: what is said about a name that does not exist.
//! - [`random`]: the generator of random numbers; every stream starts from a seed that the caller gives.
//! - [`capacity`]: what happens when the structure of an engine is full.
//! - [`columns`]: result columns, each declared once.
//! - [`engine`]: the [`Engine`] trait and what the catalog holds of an engine.
//! - [`parameters`]: typed parameters, and their values with sources.
//!
//! This crate performs no I/O, reads no clock and holds no global state.

extern crate self as mb_core;

pub mod capacity;
pub mod columns;
pub mod engine;
pub mod matching;
pub mod mpi;
pub mod names;
pub mod parameters;
pub mod random;
pub mod time;

pub use capacity::{CapacityEvents, Delays, Holds};
pub use engine::{
    Accepted, BareRun, BuildOwn, Completion, Engine, EngineCard, EngineEntry, EngineFault, EngineOrigin, Measurable,
    OwnKind, Placement, QueueLengths, ReplayEngine, Shortcuts, Timing,
};
pub use matching::{Envelope, Initiator, MsgId, Op, Outcome, Pattern, ProbeId, RecvId};
pub use parameters::{Parameter, ParameterError, ParameterSet, ParameterSpec, Parameters, Source, Sourced};
pub use time::{Bytes, Clock, Cycles, Picos};
