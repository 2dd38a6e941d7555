// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The claims of the papers, measured on the models.
//!
//! Each module uses only modules of the rows below its own. Only `papers` names a paper:
//!
//! ```text
//! lib                                     REGISTRY, claims
//! papers                                  one PAPER per folder, and the list of all
//! registry                                a paper as a value; lookup by key or alias
//! depth, report, contradictions           curves of a study; verdicts; pairs of statements
//! figures, claim_test, evidence,          what figures are drawn from; how a claim is measured;
//! explanation                             what is predicted; numbers inside explanations
//! study, verdict                          study.toml; the rules by which a claim holds
//! benchmarks, ledger, preset_value, probe runs on any engine; claims.toml; what a row points at; microcode programs
//! chart                                   series over any axis
//! area, curve, formula, statistics, error silicon from storage; points; arithmetic; means; errors
//! ```
//!
//! To add a paper: its claims in `spec/claims.toml`, a folder in `papers/`, and a line in
//! `papers.rs`.
//! Test: `modules_use_only_what_is_below_them`, `generic_modules_name_no_paper`.
//!
//! `docs/reproduce.md` says what a verdict means.

pub mod area;
pub mod benchmarks;
pub mod chart;
pub mod claim_test;
pub mod contradictions;
pub mod curve;
pub mod depth;
pub mod error;
pub mod evidence;
pub mod explanation;
pub mod figures;
pub mod formula;
pub mod ledger;
pub mod papers;
pub mod preset_value;
mod probe;
pub mod registry;
pub mod report;
pub mod statistics;
pub mod study;
pub mod verdict;

pub use error::{MeasureError, ReproduceError};
pub use figures::Figures;
pub use registry::{Paper, RegisteredPaper, Registry, Reproduction};
pub use report::{Finding, JudgedInterpretation};

use ledger::{Claim, LEDGER, LEDGER_NAME};

/// All papers.
pub static REGISTRY: Registry = Registry(&papers::PAPERS);

/// Every claim of the project's ledger.
///
/// # Errors
/// When the ledger cannot be read.
pub fn claims() -> Result<Vec<Claim>, error::LedgerError> {
    ledger::read(LEDGER_NAME, LEDGER)
}
