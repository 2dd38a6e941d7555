// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The microcoded match unit and its list manager as a receive engine: [`engine`] on the unit of `match_unit/unit`.
//!
//! Source: Hemmert et al. (`hemmert2007`); see `README.md` for what is the paper's and what is ours.

pub mod engine;

pub use engine::{ENTRY, MatchUnitEngine, MatchUnitParameters, ProgramName};
