// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the papers claim, measured on the models.
//!
//! - [`ledger`]: the claims, read strictly from `spec/claims.toml`.
//! - [`Subject`]: what is measured, and how.
//! - [`s1::Designs`], [`s2::Designs`]: the same for S1 and S2.
//! - [`registry`]: which measurement belongs to which claim, and why the model differs where it does.
//! - [`verdict`]: ours against theirs.
//! - [`reproduce`]: all of it for one paper.
//! - [`contradictions`]: where a paper contradicts itself, with what comes of both statements.
//! - [`study`]: what a paper's figures ask, draw and assume; [`curve`]: what they are drawn from.
//! - [`benchmarks`]: those of S1 and S2 on any engine; [`depth`]: curves of studies that run them.
//! - [`area`]: what a design's storage costs in silicon.
//!
//! `docs/reproduce.md` says what a verdict means.

pub mod area;
pub mod benchmarks;
pub mod contradictions;
pub mod curve;
pub mod depth;
mod formula;
pub mod ledger;
mod probe;
pub mod registry;
mod report;
mod s0;
pub mod s1;
pub mod s2;
pub mod study;
mod subject;
pub mod verdict;

pub use report::{Figures, Finding, JudgedReading, ReproduceError, depth_figures, figures, reproduce};
pub use s0::{Agreement, Answer, Band, Build, Parameter, Pass, Processor, Run, Setup, Silicon, Simulated, band};
pub use subject::{Bound, MeasureError, Point, Processors, STUDY, Subject, UNIT};
