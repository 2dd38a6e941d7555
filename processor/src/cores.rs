// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Timing models of cores: when each instruction of a thread is executed.

pub mod barrel;
pub mod chip;
mod float;
pub mod functional;
pub mod out_of_order;
pub mod predictor;

pub use float::FloatLatencies;
