// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random test programs for an MPI library, and a judge that compares their outcomes with those
//! that MPI permits.
//!
//! - [`program`]: a test program; [`rules`]: the rules that make it valid and guarantee that it
//!   ends; [`generate`]: random programs; [`shrink`]: simpler ones; [`emit`]: a program as a C file
//!   for a bug report.
//! - [`codes`], [`wire`]: the files exchanged with the C runner; [`outcome`]: observations;
//!   [`history`]: the same, resolved to steps and messages.
//! - [`judge`], [`violation`]: whether MPI permits an outcome; [`arrival`]: whether the narrower
//!   contract of `spec/matching.md` explains it; [`report`]: verdicts on all programs of a run.
//! - [`traits`]: what a program makes use of, to compare programs that fail with those that do not.
//! - [`simulate`]: simulated libraries, which check the judge and enumerate permitted outcomes.
//!
//! Nothing here calls MPI: the C runner in `mpi/conform/c/` does. `mpi/conform/README.md` describes how the
//! parts work together.

pub mod arrival;
pub mod codes;
pub mod emit;
pub mod feature;
pub mod generate;
pub mod history;
pub mod judge;
pub mod outcome;
pub mod program;
pub mod report;
pub mod rules;
pub mod shrink;
pub mod simulate;
mod style;
mod text;
pub mod traits;
pub mod violation;
pub mod wire;

/// The sources of the C runner with their names. All `.c` files are compiled together.
pub const RUNNER: [(&str, &str); 15] = [
    ("communicators.c", include_str!("../c/communicators.c")),
    ("conform.c", include_str!("../c/conform.c")),
    ("interpreter.c", include_str!("../c/interpreter.c")),
    ("layout.c", include_str!("../c/layout.c")),
    ("payload.c", include_str!("../c/payload.c")),
    ("records.c", include_str!("../c/records.c")),
    ("stack.c", include_str!("../c/stack.c")),
    ("communicators.h", include_str!("../c/communicators.h")),
    ("interpreter.h", include_str!("../c/interpreter.h")),
    ("layout.h", include_str!("../c/layout.h")),
    ("optional.h", include_str!("../c/optional.h")),
    ("payload.h", include_str!("../c/payload.h")),
    ("records.h", include_str!("../c/records.h")),
    ("stack.h", include_str!("../c/stack.h")),
    ("codes.h", include_str!("../c/codes.h")),
];
