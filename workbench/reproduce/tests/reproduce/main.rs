// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One test binary, so that what several files of tests measure on is built once.

mod area;
mod benchmarks;
mod common;
mod contradictions;
mod crowley2000;
mod evidence;
mod explanations;
mod figure5;
mod formula;
mod gu2011;
mod hemmert2007;
mod layers;
mod ledger;
mod processors;
mod statistics;
mod study;
mod tanabe2013;
mod verdicts;
mod xiong2018;
