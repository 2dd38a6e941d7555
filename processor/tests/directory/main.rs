// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The coherent memory: its protocol in an explorer of states, closed formulas of time, memory order,
//! and random requests against a flat memory.

mod explore;
mod model;
mod random;
mod tester;
