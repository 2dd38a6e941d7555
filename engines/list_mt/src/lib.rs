// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Lists in memory, searched by a thread for each operation on barrel-threaded cores: the
//! multithreaded processors of Hemmert et al.
//!
//! - [`engine`]: the receive engine; [`machine`]: the firmware on its cores; [`parameters`]: what both are built from.
//!
//! Source: Hemmert et al. (`hemmert2007`), sections 5.1 and 5.3; see `README.md` for what is the
//! paper's and what is ours.

pub mod engine;
pub mod machine;
pub mod parameters;

pub use engine::{ENTRY, ListMt};
