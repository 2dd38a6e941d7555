// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The microcoded match unit and its list manager, cycle by cycle.
//!
//! - [`unit`]: the match unit (registers, predicates, branches), one 164-bit word per cycle.
//! - [`list_manager`]: both lists, their stream into the unit, and the unit's answers.
//! - [`match_processor`]: the unit with its list manager; searches in, results and cycles out.
//! - [`programs`]: the match programs of `ucode/`; [`golden`]: reference functions for them.
//! - [`template`]: a match program to start from.
//! - [`layout`]: the fields of items and headers.
//!
//! Source: Hemmert et al. (`hemmert2007`); `engines/match_unit/README.md` separates the paper's parameters from ours.

mod fast_forward;
pub mod golden;
pub mod layout;
mod list;
pub mod list_manager;
pub mod match_processor;
pub mod observer;
pub mod programs;
pub mod template;
pub mod unit;
