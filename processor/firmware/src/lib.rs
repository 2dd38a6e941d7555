// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The firmware of receive engines and the benchmarks of processors, and the system-call handlers that they need.
//!
//! - [`Guest`]: the committed ELF files.
//! - [`Nic`]: the handler of a receive engine's firmware: operations in, outcomes out.
//! - [`Bench`]: the handler of the benchmark of hemmert2007 figure 5: cycles of each pass.
//! - [`watched`]: the same benchmark on cores that run from mark to mark, with its visits counted.
//! - [`layout`]: the structures that program and host share; `processor/firmware/README.md` lists their fields.
//!
//! Calls for threads and locks are not served here, but by the barrel-threaded cores.

mod bench;
mod images;
pub mod layout;
mod nic;
pub mod watched;

pub use bench::{AddressRange, Bench, HEADERS, PASSES, position};
pub use images::Guest;
pub use nic::{FirmwareAnswer, Nic, Visit};

/// Numbers of [`Service::Custom`](mb_processor::Service::Custom); `processor/firmware/host.h` has the same
/// numbers.
pub mod service {
    pub use mb_processor::barrel::service::*;

    /// Returns the address of the next descriptor; waits for one.
    pub const NEXT: u16 = 0;
    /// Reports that the answer is in the descriptor at this address.
    pub const ANSWER: u16 = 1;
    /// Reports a mark to an observer.
    pub const MARK: u16 = 2;
    /// Returns memory that was not used before.
    pub const MORE: u16 = 3;
}
