// SPDX-License-Identifier: Apache-2.0 OR MIT
//! MOPED after Gu, Lumetta, Kumar and Sun (`gu2011`): a device beside the L2 of each core of a chip, which matches
//! sends with receives of MPI programs and copies messages line by line through the coherence protocol.
//!
//! | module | contents |
//! |---|---|
//! | [`contract`] | `moped/mpi/moped.h` as Rust types |
//! | [`parameters`], [`presets`] | what the devices are built from, with sources |
//! | [`device`] | the devices of a chip, cycle by cycle: [`Moped`] |
//! | [`matching`] | the state machine that matches, and its walk of the table |
//! | `node`, `ports`, `copying`, `copy`, `walk`, `backoff`, `message` | parts of one device |
//! | [`descriptor`] | descriptors, and which of them match |
//! | [`functional`] | the same devices without time |
//! | [`counters`] | what they have done |
//! | [`kernel`] | the kernel of chips, with the memory that it starts in and its host |
//! | [`machine`] | the whole machine without time: cores, kernel, memory, devices, programs |
//! | [`storage`] | bits of storage, recomputed from the structures |
//!
//! This crate performs no I/O, reads no clock and holds no global state.

mod backoff;
pub mod contract;
mod copy;
mod copying;
pub mod counters;
pub mod descriptor;
pub mod device;
pub mod functional;
pub mod kernel;
pub mod machine;
pub mod matching;
mod message;
mod node;
pub mod parameters;
mod pending;
mod ports;
pub mod presets;
mod search;
pub mod storage;
mod walk;

pub use counters::{MatchEvent, MopedCounters};
pub use descriptor::Descriptor;
pub use device::Moped;
pub use functional::FunctionalMoped;
pub use machine::Machine;
pub use parameters::MopedParameters;
