// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The one mapping of MPI's (communicator, source, tag) onto match bits (`spec/matching.md`, part M).
//!
//! ```text
//!   63            33  32  31                              0
//!  +----------------+----+---------------------------------+
//!  | context id     | k  | tag                             |      initiator = sender's rank in the world
//!  +----------------+----+---------------------------------+
//!                     k = 1 for the messages of a collective, which no user receive may take
//! ```

use crate::matching::{Envelope, Initiator, Pattern};

/// `MPI_ANY_SOURCE` as traces write it (MPI 5.0 ABI).
pub const ANY_SOURCE: i32 = -1;
/// `MPI_ANY_TAG` as traces write it (MPI 5.0 ABI).
pub const ANY_TAG: i32 = -2;
/// `MPI_PROC_NULL` as traces write it (MPI 5.0 ABI).
pub const PROC_NULL: i32 = -3;

/// Bits of the tag; ignored by a receive with `MPI_ANY_TAG`.
pub const TAG_BITS: u64 = 0xffff_ffff;

/// A communicator's number in matching: 31 bits, the same on all of its processes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Context(u32);

impl Context {
    /// Context number `id`.
    ///
    /// # Panics
    /// When `id` does not fit in 31 bits.
    #[must_use]
    pub const fn new(id: u32) -> Self {
        assert!(id < 1 << 31, "a context id has 31 bits");
        Self(id)
    }
}

/// Who sends in a communicator: the user's program, or the implementation inside a collective.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Traffic {
    /// Point-to-point calls of the program.
    User,
    /// Messages that a collective was expanded into.
    Collective,
}

const fn bits(context: Context, traffic: Traffic, tag: u32) -> u64 {
    let kind = match traffic {
        Traffic::User => 0,
        Traffic::Collective => 1,
    };
    ((context.0 as u64) << 33) | (kind << 32) | tag as u64
}

/// The envelope of a message with `tag` from world rank `source`.
#[must_use]
#[inline]
pub const fn envelope(context: Context, traffic: Traffic, source: Initiator, tag: u32) -> Envelope {
    Envelope { bits: bits(context, traffic, tag), initiator: source }
}

/// The pattern of a receive; `None` stands for `MPI_ANY_SOURCE` and `MPI_ANY_TAG`.
#[must_use]
#[inline]
pub const fn pattern(context: Context, traffic: Traffic, source: Option<Initiator>, tag: Option<u32>) -> Pattern {
    match tag {
        Some(tag) => Pattern { bits: bits(context, traffic, tag), ignore: 0, initiator: source },
        None => Pattern { bits: bits(context, traffic, 0), ignore: TAG_BITS, initiator: source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Context = Context::new(5);

    #[test]
    fn wildcards_accept_every_source_and_tag_of_their_communicator_only() {
        let any = pattern(HERE, Traffic::User, None, None);
        assert!(any.accepts(&envelope(HERE, Traffic::User, Initiator(0), 0)));
        assert!(any.accepts(&envelope(HERE, Traffic::User, Initiator(77), u32::MAX)));
        assert!(!any.accepts(&envelope(Context::new(4), Traffic::User, Initiator(0), 0)));
    }

    #[test]
    fn a_wildcard_receive_never_takes_a_message_of_a_collective() {
        let any = pattern(HERE, Traffic::User, None, None);
        assert!(!any.accepts(&envelope(HERE, Traffic::Collective, Initiator(0), 0)));
    }
}
