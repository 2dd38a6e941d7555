// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sessions on the match unit, and what to make of them.
//!
//! - [`session`]: runs and the debugger.
//! - [`trace`], [`profile`] and [`export`]: what happened, cycle by cycle.

pub mod export;
pub mod profile;
pub mod session;
pub mod trace;
