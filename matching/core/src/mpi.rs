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

/// Whether a message is one of a point-to-point call.
#[must_use]
#[inline]
pub const fn is_user(envelope: &Envelope) -> bool {
    envelope.bits & (1 << 32) == 0
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

/// Arguments of a call that MPI does not allow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CallError {
    /// The source is not a rank of the communicator and none of the special values.
    #[error("source: found {0}, expected a rank of the communicator")]
    Source(i32),
    /// The tag is negative and none of the special values.
    #[error("tag: found {0}, expected at least 0")]
    Tag(i32),
}

/// What a receive or probe with these arguments looks for; `None` when it is one of `MPI_PROC_NULL`, which takes
/// part in no matching (clauses N-2 and N-3).
///
/// `world_rank` translates a rank of the communicator (of its remote group, if it is an intercommunicator) into one
/// of `MPI_COMM_WORLD`.
///
/// # Errors
/// When source or tag is neither a rank or tag nor a special value.
pub fn call_pattern(
    context: Context,
    traffic: Traffic,
    source: i32,
    tag: i32,
    world_rank: impl FnOnce(u32) -> Option<Initiator>,
) -> Result<Option<Pattern>, CallError> {
    let tag = match tag {
        ANY_TAG => None,
        tag => Some(u32::try_from(tag).map_err(|_| CallError::Tag(tag))?),
    };
    let source = match source {
        PROC_NULL => return Ok(None),
        ANY_SOURCE => None,
        rank => Some(u32::try_from(rank).ok().and_then(world_rank).ok_or(CallError::Source(rank))?),
    };
    Ok(Some(pattern(context, traffic, source, tag)))
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
        let of_collective = envelope(HERE, Traffic::Collective, Initiator(0), 0);
        assert!(!any.accepts(&of_collective));
        assert!(!is_user(&of_collective));
        assert!(is_user(&envelope(HERE, Traffic::User, Initiator(0), u32::MAX)));
    }

    #[test]
    fn a_call_names_its_source_by_a_rank_of_the_communicator() {
        let call = |source, tag| {
            call_pattern(HERE, Traffic::User, source, tag, |rank| (rank < 2).then_some(Initiator(rank + 10)))
        };
        assert_eq!(call(1, 4), Ok(Some(pattern(HERE, Traffic::User, Some(Initiator(11)), Some(4)))));
        assert_eq!(call(ANY_SOURCE, ANY_TAG), Ok(Some(pattern(HERE, Traffic::User, None, None))));
        assert_eq!(call(PROC_NULL, 4), Ok(None));
        assert_eq!(call(2, 4).unwrap_err().to_string(), "source: found 2, expected a rank of the communicator");
        assert_eq!(call(-7, 4).unwrap_err().to_string(), "source: found -7, expected a rank of the communicator");
        assert_eq!(call(1, -3).unwrap_err().to_string(), "tag: found -3, expected at least 0");
    }
}
