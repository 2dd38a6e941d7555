// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The state of partitioned communication at one rank: what was started, has arrived and is waited for.

use std::collections::{BTreeMap, VecDeque};

use mb_core::time::Picos;

/// A pair of inits, from the point of view of the receiver: world rank of the sender, communicator,
/// tag, and number among those with the same.
pub(super) type Pair = (u32, u32, u32, u32);

/// Partitions on their way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Partitions {
    pub(super) pair: Pair,
    pub(super) first: u32,
    pub(super) count: u32,
    /// Partitions of the whole message, as the sender counts them.
    pub(super) of: u32,
}

/// An active send.
#[derive(Debug)]
pub(super) struct Sending {
    pub(super) destination: u32,
    /// Its first number is this rank.
    pub(super) pair: Pair,
    pub(super) bytes: u64,
    pub(super) partitions: u32,
    /// Partitions that are not ready.
    pub(super) left: u32,
    /// When the data of the others has left the NIC.
    pub(super) sent: Picos,
}

/// What has arrived of one start of a send: runs of partitions with the time of their last byte.
#[derive(Debug)]
pub(super) struct Arrived {
    pub(super) of: u32,
    pub(super) missing: u32,
    pub(super) runs: Vec<(u32, u32, Picos)>,
}

impl Arrived {
    /// When the last byte arrived of the part `first` to `first + count` of `parts`; `None` while some
    /// of it is missing. The receiver may count other partitions than the sender.
    pub(super) fn when(&self, first: u32, count: u32, parts: u32) -> Option<Picos> {
        let scale = |part: u64| part * u64::from(self.of);
        let parts = u64::from(parts.max(1));
        let (low, high) = (scale(u64::from(first)) / parts, scale(u64::from(first) + u64::from(count)).div_ceil(parts));
        let (mut found, mut latest) = (0, Picos::ZERO);
        for &(from, length, at) in &self.runs {
            let (from, to) = (u64::from(from), u64::from(from) + u64::from(length));
            let common = to.min(high).saturating_sub(from.max(low));
            if common > 0 {
                found += common;
                latest = latest.max(at);
            }
        }
        (found >= high - low).then_some(latest)
    }
}

/// An active receive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Receiving {
    pub(super) request: u32,
    pub(super) partitions: u32,
    pub(super) since: Picos,
}

/// Starts of sends that have arrived in part, and active receives, both in order: the first belong
/// together.
#[derive(Debug, Default)]
pub(super) struct Channel {
    pub(super) arrived: VecDeque<Arrived>,
    pub(super) receiving: VecDeque<Receiving>,
}

/// A thread that waits for partitions which had arrived in the recording.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) thread: u16,
    pub(super) pair: Pair,
    pub(super) request: u32,
    pub(super) first: u32,
    pub(super) count: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Partitioned {
    pub(super) sends: BTreeMap<u32, Sending>,
    /// The pair of each active receive.
    pub(super) receives: BTreeMap<u32, Pair>,
    pub(super) channels: BTreeMap<Pair, Channel>,
    pub(super) waiting: Vec<Waiting>,
}

impl Partitioned {
    /// Partitions of an active send that are not ready, and all of them.
    pub(super) fn unready(&self, request: u32) -> (u32, u32) {
        self.sends.get(&request).map_or((0, 0), |send| (send.left, send.partitions))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_there_when_every_partition_that_it_meets_is() {
        let ns = Picos::from_ns;
        let mut arrived = Arrived { of: 8, missing: 4, runs: vec![(0, 2, ns(5)), (3, 2, ns(9))] };
        // Of 4 parts, the first is the partitions 0 and 1 of the sender, the second 2 and 3.
        assert_eq!(arrived.when(0, 1, 4), Some(ns(5)));
        assert_eq!(arrived.when(1, 1, 4), None);
        arrived.runs.push((2, 1, ns(7)));
        assert_eq!(arrived.when(1, 1, 4), Some(ns(9)));
        assert_eq!(arrived.when(0, 2, 4), Some(ns(9)));
        // Of 3 parts, the first ends within the partition 2 of the sender.
        assert_eq!(arrived.when(0, 1, 3), Some(ns(7)));
        assert_eq!(arrived.when(2, 1, 3), None);
    }
}
