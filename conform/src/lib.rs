// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Trials: random programs for an MPI library, and what MPI allows to come of them.
//!
//! - [`program`]: what the ranks of a small job call; [`rules`]: which of these programs are asked of an MPI, and why they
//!   end; [`generate`]: random ones; [`shrink`]: simpler ones; [`emit`]: one of them in C.
//! - [`wire`]: programs for the interpreter, and the outcomes it writes; [`outcome`], [`history`]: what they say.
//! - [`judge`], [`violation`]: whether MPI allows it; [`arrival`]: whether `spec/matching.md` does as well; [`report`]: of many programs.
//! - [`simulate`]: libraries that do what they may, to check the judge and to list what is allowed.
//!
//! Nothing here calls MPI: `conform/c/conform.c` does, and `docs/mpi-conform.md` tells the whole story.

#![expect(clippy::trivially_copy_pass_by_ref, reason = "what a step holds is looked at where it is")]

pub mod arrival;
pub mod emit;
pub mod generate;
pub mod history;
pub mod judge;
pub mod outcome;
pub mod program;
pub mod report;
pub mod rules;
pub mod shrink;
pub mod simulate;
mod text;
pub mod violation;
pub mod wire;

/// The C program that performs trials on an MPI: every source file with its text, the one to compile first.
pub const RUNNER: [(&str, &str); 2] =
    [("conform.c", include_str!("../c/conform.c")), ("outcomes.h", include_str!("../c/outcomes.h"))];
