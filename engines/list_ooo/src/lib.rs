// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Lists in memory, searched by compiled code on an out-of-order core: the embedded processor of
//! Hemmert et al., and one of today.
//!
//! - [`engine`]: the receive engine; [`machine`]: the firmware on its core; [`parameters`]: what both are built from.
//! - [`pipeline`]: what happens in them, drawn.
//!
//! Source: Hemmert et al. (`hemmert2007`), section 5.2; see `README.md` for what is the paper's and
//! what is ours.

pub mod engine;
pub mod machine;
pub mod parameters;
pub mod pipeline;

pub use engine::{ENTRY, ListOoo};
