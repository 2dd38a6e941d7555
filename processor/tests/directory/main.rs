// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The coherent memory: its protocol in a state explorer, closed formulas of time, memory order,
//! and random requests against a flat memory.

#[expect(dead_code, reason = "another test uses the other instructions")]
#[path = "../chip/assembler.rs"]
mod assembler;
mod bench;
mod explore;
mod formulas;
mod host;
mod litmus;
mod model;
mod programs;
mod random;
mod tester;
