// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The programs of `guest/`, and what stands around them when a simulated processor runs them.
//!
//! - [`Guest`]: the committed ELF files.
//! - [`Nic`]: the host of a receive engine's firmware: operations in, outcomes out.
//! - [`Bench`]: the host of the benchmark of hemmert2007 figure 5: cycles of each pass.
//! - [`layout`]: the structures that program and host share; `guest/README.md` has them in tables.
//!
//! Calls about threads and locks are not served here: a model of threaded cores serves them itself.

mod bench;
mod images;
pub mod layout;
mod nic;

pub use bench::{Bench, HEADERS, PASSES, Region, position};
pub use images::Guest;
pub use nic::{Answered, Nic, Visit};

/// Numbers of [`Service::Own`](mb_processor::Service::Own): those of `guest/host.h`.
pub mod service {
    pub use mb_processor::barrel::service::*;

    /// The address of the next descriptor; waits for one.
    pub const NEXT: u16 = 0;
    /// The answer is in the descriptor of this address.
    pub const ANSWER: u16 = 1;
    /// Tells something to whoever watches.
    pub const MARK: u16 = 2;
    /// Memory that was never used before.
    pub const MORE: u16 = 3;
}
