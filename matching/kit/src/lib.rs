// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Components of engines.
//!
//! - [`busy`]: the busy time of operations that overlap.
//! - [`linked`]: a memory of elements linked into lists, with its free list, as hardware has it.
//! - [`kanata`]: pipeline diagrams.
//! - [`lists`]: posted receives and unexpected messages that count the entries a walk would visit without
//!   visiting them.
//! - [`overlapping`]: the engine around a machine whose operations overlap, simulated cycle by cycle.
//! - [`server`]: the engine around a service that computes every answer at the offer.
//!
//! This crate performs no I/O, reads no clock and holds no global state.

pub mod busy;
pub mod kanata;
pub mod linked;
pub mod lists;
pub mod overlapping;
pub mod server;

pub use busy::BusyTime;
pub use linked::LinkedMemory;
pub use lists::{MatchLists, PostedReceives, UnexpectedMessages};
pub use overlapping::{Answered, Overlapping, OverlappingMachine};
pub use server::{InTurn, InputQueue, OperationServer, Served, Server};
