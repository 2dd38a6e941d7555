// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The microcoded match unit and its list manager as a receive engine: [`engine`] on the unit of `match_unit/unit`.
//!
//! Source: S0 (`000_491b57cae24201eb.txt`); see `README.md` for what is the paper's and what is ours.

pub mod engine;

pub use engine::{ENTRY, Microcode};
