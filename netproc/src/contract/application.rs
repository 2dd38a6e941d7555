// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The applications of workers.

use mb_core::parameters::Choice;

/// The application of a worker (`NP_APP_*`; the discriminants are its numbers).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Choice)]
pub enum Application {
    /// Drops the packet.
    Null = 0,
    /// Forwards a datagram by the longest prefix of its destination.
    IpForward = 1,
    /// Follows TCP connections and reads the request lines of HTTP.
    #[choice("httpmon")]
    HttpMon = 2,
    /// Computes the MD5 digest of the payload.
    #[choice("md5")]
    Md5 = 3,
    /// Encrypts the payload with 3DES.
    #[choice("3des")]
    TripleDes = 4,
    /// The user's handler.
    User = 5,
}

impl Application {
    /// The applications of crowley2000, in the order of its Table 2.
    pub const PAPER: [Self; 4] = [Self::IpForward, Self::HttpMon, Self::Md5, Self::TripleDes];

    /// The application of a number in guest memory; `None` for a packet that the OS thread dropped.
    #[must_use]
    pub fn of(number: u16) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

/// The OS thread dropped the packet (`NP_APP_NONE`).
pub const APP_NONE: u16 = 0xff;
