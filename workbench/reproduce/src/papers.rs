// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The papers. To add one, write a folder that exports a `PAPER` and add it to [`PAPERS`].

pub mod crowley2000;
pub mod gu2011;
pub mod hemmert2007;
pub mod tanabe2013;
pub mod xiong2018;

use crate::registry::RegisteredPaper;

/// Every paper, in the order of the ledger.
pub static PAPERS: [&dyn RegisteredPaper; 5] =
    [&hemmert2007::PAPER, &tanabe2013::PAPER, &xiong2018::PAPER, &gu2011::PAPER, &crowley2000::PAPER];
