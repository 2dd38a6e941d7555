// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sessions on the match unit: run, trace, debug, profile, export.
//!
//! - [`session`]: runs; [`debugger`]: runs with breakpoints.
//! - [`trace`], [`profile`], [`export`]: a run cycle by cycle, summed up by label, and as files for viewers.

pub mod debugger;
pub mod export;
pub mod profile;
pub mod session;
pub mod trace;
