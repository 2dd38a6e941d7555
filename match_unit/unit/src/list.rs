// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The two lists of a receiver.

/// One of the two lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum List {
    /// The posted-receive queue (PRQ).
    Posted,
    /// The unexpected-message queue (UMQ).
    Unexpected,
}
