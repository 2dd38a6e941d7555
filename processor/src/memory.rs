// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory, in two forms.
//!
//! For cores that execute an instruction at once, [`Memory`] holds the values, without time, and
//! [`hierarchy`] the time, without values. For cores whose instructions take values at their own
//! time, a [`MemorySystem`](system::MemorySystem) holds both.

mod backing;
pub mod directory;
mod fixed_latency;
mod flat;
pub mod hierarchy;
pub mod line_port;
pub mod shared_l2;
pub mod system;

pub use fixed_latency::FixedLatency;
pub use flat::{Fault, Memory, WriteError};
