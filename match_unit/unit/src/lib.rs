// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The microcoded match unit and its list manager, cycle by cycle.
//!
//! - [`unit`]: the match unit: registers, predicates, branches, one 164-bit word per cycle.
//! - [`list_manager`]: both lists, their stream into the unit, and the unit's answers.
//! - [`machine`]: the two together; searches in, answers and cycles out.
//! - [`programs`]: the match programs of `ucode/`; [`golden`]: what each must answer.
//! - [`layout`]: what the 64 bytes of an item and of a header mean.
//!
//! Source: Hemmert et al. (`hemmert2007`); `engines/microcode/README.md` says what is the paper's and what is ours.

pub mod golden;
pub mod layout;
pub mod list_manager;
pub mod machine;
pub mod programs;
mod runs;
pub mod unit;
