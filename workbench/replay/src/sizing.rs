// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How many entries a matching structure needs: overflows at every size, from one pass over the operations.
//!
//! A structure of `n` entries *overflows* when an entry is inserted while it is full. Two rules say what it holds
//! ([`Holds`]); for each the overflows at every `n` follow from one number for each insertion, as the misses of every
//! cache size follow from stack distances (Mattson et al., IBM Systems Journal 9(2), 1970):
//! - the oldest of a queue: the length of the queue before the insertion. It overflows every `n` up to that length.
//! - places of both queues: the number of the place that the entry gets if there is no limit and the lowest free place
//!   is taken. Those below `n` are taken and given back as the `n` places of a limited structure are, so it overflows
//!   every `n` up to that number.
//!
//! A *search* is that of an arrival among the posted receives, or that of a post or probe among the unexpected
//! messages. Its depth is the position of its match from the oldest entry on, or the length of the queue without a
//! match: with at least so many of the oldest entries in the structure, it ends there.
//!
//! The order of operations is that in which an engine accepted them. Outcomes are those of `spec/matching.md`.
//! Cost: a few logarithms of the length of a queue for each operation. Memory: in proportion to the longest queues.

mod buckets;
mod counts;
mod rows;
mod sizer;

use std::collections::BTreeMap;

use mb_core::columns::Mergeable;

pub use self::buckets::BucketCurves;
pub use self::counts::WeightedCounts;
pub use self::rows::{SizingBucket, SizingNeed, SizingPoint, SizingRows};
pub use self::sizer::Sizer;

/// The counts of one queue.
#[derive(Clone, PartialEq, Eq, Debug, Default, Mergeable)]
pub struct QueueCurves {
    /// Insertions by the length of the queue before them.
    pub insertions: WeightedCounts,
    /// Searches by their depth.
    pub searches: WeightedCounts,
    /// Picoseconds by the length of the queue.
    pub time: WeightedCounts,
}

impl QueueCurves {
    /// The longest that the queue was.
    #[must_use]
    pub fn longest(&self) -> usize {
        self.insertions.largest().map_or(0, |length| length + 1)
    }
}

/// Both queues.
#[derive(Clone, PartialEq, Eq, Debug, Default, Mergeable)]
pub struct Queues<T> {
    /// Of the posted receives.
    pub posted: T,
    /// Of the unexpected messages.
    pub unexpected: T,
}

/// The counts of one receiver, or of several together: numbers of entries stay those of one receiver, and how often
/// they occurred is added.
#[derive(Clone, PartialEq, Eq, Debug, Default, Mergeable)]
pub struct Sizing {
    /// The queues.
    pub queues: Queues<QueueCurves>,
    /// Insertions into either queue by the place that they get in one structure for both.
    pub places: Queues<WeightedCounts>,
    /// The entries of each communicator, as if it had queues of its own.
    pub communicators: BTreeMap<u32, Queues<QueueCurves>>,
    /// The queues divided by the source, for each number of buckets that was asked for.
    pub buckets: Vec<Queues<BucketCurves>>,
}
