// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the papers claim, measured on the models.
//!
//! - [`ledger`]: the claims, read strictly from `spec/claims.toml`.
//! - [`Subject`]: what is measured, and how.
//! - [`tanabe2013::Designs`], [`xiong2018::Designs`]: the same for Tanabe and Ohta and Xiong et al.
//! - [`registry`]: which measurement belongs to which claim, and why the model differs where it does.
//! - [`verdict`]: ours against theirs.
//! - [`reproduce`]: all of it for one paper.
//! - [`contradictions`]: where a paper contradicts itself, with what comes of both statements.
//! - [`study`]: what a paper's figures ask, draw and assume; [`curve`]: what they are drawn from.
//! - [`benchmarks`]: those of Tanabe and Ohta and Xiong et al. on any engine; [`depth`]: curves of studies that run them.
//! - [`area`]: what a design's storage costs in silicon.
//!
//! `docs/reproduce.md` says what a verdict means.

pub mod area;
pub mod benchmarks;
pub mod contradictions;
pub mod curve;
pub mod depth;
mod formula;
mod hemmert2007;
pub mod ledger;
mod probe;
pub mod registry;
mod report;
pub mod study;
mod subject;
pub mod tanabe2013;
pub mod verdict;
pub mod xiong2018;

pub use hemmert2007::{
    Agreement, Answer, Band, Build, Parameter, Pass, Processor, Run, Setup, Silicon, Simulated, band,
};
pub use report::{Figures, Finding, JudgedReading, ReproduceError, depth_figures, figures, reproduce};
pub use subject::{Bound, MeasureError, Point, Processors, STUDY, Subject, UNIT};
