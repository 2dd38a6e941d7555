// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The state of an access to a port.

/// An access of a core that is under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    /// Address and value; the value of a load is none.
    pub(crate) key: (u64, Option<u64>),
    pub(crate) started: u64,
    /// It is performed by another MOPED.
    pub(crate) away: bool,
    pub(crate) answer: Option<u64>,
}
