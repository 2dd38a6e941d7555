// SPDX-License-Identifier: Apache-2.0 OR MIT
//! MOPED as a receive engine: one table of descriptors for receives and sends, walked by a state machine, and
//! back-off into software lists when it is full.
//!
//! - [`engine`]: the engine; [`parameters`]: what it is built from.
//! - `table`: the table of the matching MOPED; `software`: the lists, and what back-off and return cost.
//!
//! The walk and the types of parameters are those of [`mb_moped`], which simulates the whole device.
//! Source: Gu, Lumetta, Kumar and Sun (`gu2011`).

pub mod engine;
pub mod parameters;
mod software;
mod table;

pub use engine::{ENTRY, MopedEngine, MopedEngineCounters};
pub use parameters::MopedEngineParameters;
