// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Lists in memory, searched by packet handlers of SPINE on the network processors of Crowley et al.
//!
//! - [`engine`]: the receive engine; [`machine`]: the firmware on its processor; [`interface`]: the network interface
//!   beside it; [`parameters`]: what all are built from.
//!
//! Source: Crowley, Fiuczynski, Baer and Bershad, *Characterizing Processor Architectures for Programmable Network
//! Interfaces*, ICS 2000 (`crowley2000`); see `README.md` for what is the paper's and what is ours.

pub mod engine;
pub mod interface;
pub mod machine;
pub mod parameters;

pub use engine::{ENTRY, Netproc};
