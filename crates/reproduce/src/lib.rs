// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the papers claim, measured on the models.
//!
//! - [`ledger`]: the claims, read strictly from `spec/claims.toml`.
//! - [`Subject`]: what is measured, and how.
//! - [`registry`]: which measurement belongs to which claim, and why the model differs where it does.
//! - [`verdict`]: ours against theirs.
//! - [`reproduce`]: all of it for one paper.
//!
//! `docs/reproduce.md` says what a verdict means.

mod formula;
pub mod ledger;
mod probe;
pub mod registry;
mod report;
mod s0;
mod subject;
pub mod verdict;

pub use report::{Finding, JudgedReading, ReproduceError, reproduce};
pub use subject::{Bound, MeasureError, Point, Subject, UNIT};
