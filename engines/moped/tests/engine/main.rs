// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The engine against the device that it models, against the oracle, and against closed formulas.

mod against_device;
mod chip;
mod timing;
