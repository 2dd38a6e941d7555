// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Two levels for each queue: a content-addressable memory (CAM) that compares all its entries at once, and hardware
//! lists after it that are walked in parallel.
//!
//! - [`engine`]: the engine of the catalog, which calculates the cycle of every event.
//! - [`hardware`]: the same hardware register by register, stepped from cycle to cycle; with [`Corrections`] to
//!   leave out it is the design as published, which does not keep MPI's order.
//! - [`stepped`]: that hardware as an engine: the preset `paper_literal`.
//!
//! Source: `xiong2018`.

pub mod engine;
pub mod hardware;
mod lanes;
mod levels;
mod parameters;
pub mod stepped;

pub use engine::{CamList, CamListCounters, ENTRY};
pub use hardware::{Corrections, Hazard, SteppedHardware};
pub use parameters::{Arbiter, CamListParameters, HardwareConfig, ListSearch, OutcomeOrder};
pub use stepped::Stepped;
