// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Memory in two parts: [`Memory`] holds the values, without time; [`hierarchy`] holds the time,
//! without values.

mod flat;
pub mod hierarchy;

pub use flat::{Fault, Memory, WriteError};
