// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The result of a replay: totals, one row per rank, distributions. Everything is counted; nothing
//! is sampled.

use mb_core::capacity::CapacityEvents;
use mb_core::time::Picos;
use mb_trace::Record;

use crate::sizing::Sizing;
use crate::snapshot::{Cut, Deepest};

/// Counts of times in buckets of relative width 1/16, exact below 32 ps; the largest value is kept
/// exactly.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    sum: u64,
    max: Picos,
}

const SUB_BITS: u32 = 4;

impl Histogram {
    /// Adds one value.
    #[inline]
    pub fn add(&mut self, value: Picos) {
        let bucket = Self::bucket(value.0);
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
        self.count += 1;
        self.sum = self.sum.saturating_add(value.0);
        self.max = self.max.max(value);
    }

    /// Adds all of `other`'s values.
    pub fn merge(&mut self, other: &Self) {
        if other.buckets.len() > self.buckets.len() {
            self.buckets.resize(other.buckets.len(), 0);
        }
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
        self.max = self.max.max(other.max);
    }

    #[inline]
    fn bucket(value: u64) -> usize {
        if value < 1 << (SUB_BITS + 1) {
            return value as usize;
        }
        let exponent = value.ilog2();
        let sub = (value >> (exponent - SUB_BITS)) as usize & ((1 << SUB_BITS) - 1);
        (((exponent - SUB_BITS + 1) as usize) << SUB_BITS) + sub
    }

    /// Largest value that falls into `bucket`.
    fn upper(bucket: usize) -> u64 {
        if bucket < 1 << (SUB_BITS + 1) {
            return bucket as u64;
        }
        let exponent = (bucket >> SUB_BITS) as u32 + SUB_BITS - 1;
        let sub = (bucket & ((1 << SUB_BITS) - 1)) as u64;
        let step = 1_u64 << (exponent - SUB_BITS);
        (1_u64 << exponent) + (sub + 1) * step - 1
    }

    /// How many values.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Their sum (saturating).
    #[must_use]
    pub const fn sum(&self) -> Picos {
        Picos(self.sum)
    }

    /// The largest value, exactly.
    #[must_use]
    pub const fn max(&self) -> Picos {
        self.max
    }

    /// The mean, or zero without values.
    #[must_use]
    pub fn mean(&self) -> Picos {
        Picos(self.sum.checked_div(self.count).unwrap_or(0))
    }

    /// The smallest bucket bound that at least `share` of the values do not exceed: at most 1/16
    /// above the true quantile.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Picos {
        let wanted = ((self.count as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return Picos(Self::upper(bucket)).min(self.max);
            }
        }
        self.max
    }
}

/// Matches whose searches had about the same depth, or visited about as many entries.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LatencyBin {
    /// Smallest number of entries in this bin.
    pub from: u32,
    /// Largest number of entries in this bin.
    pub to: u32,
    /// Searches that ended with a match.
    pub matches: u64,
    /// Their match latencies.
    pub latency: Histogram,
}

/// Queue lengths within one span of simulated time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TimeBin {
    /// Begin of the span; all spans of a report are equally long.
    pub from: Picos,
    /// Longest list of posted receives of any rank.
    pub posted_max: u32,
    /// Longest list of unexpected messages of any rank.
    pub unexpected_max: u32,
    /// Engine operations in the span, over all ranks.
    pub operations: u64,
}

/// Numbers of one rank, or summed over ranks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Totals {
    /// When the last thread of the rank (of the last rank) finished: the application's time.
    pub time: Picos,
    /// Compute time, after scaling.
    pub compute: Picos,
    /// Time spent in calls, waiting included.
    pub in_mpi: Picos,
    /// Part of `in_mpi` that an engine that takes no time would have saved, computed for each wait
    /// separately.
    pub blocked_on_matching: Picos,
    /// Time for which messages were held back outside the engine so that wildcard receives took the
    /// recorded message.
    pub held: Picos,
    /// How many messages were held back.
    pub held_messages: u64,
    /// Messages sent, those of expanded collectives included.
    pub sent: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Messages sent by point-to-point calls.
    pub sent_user: u64,
    /// Messages received: matched with a receive, or taken by a matched probe.
    pub received: u64,
    /// Messages that were never received.
    pub never_received: u64,
    /// Receives posted that were never matched.
    pub never_matched: u64,
    /// Messages that were unexpected.
    pub unexpected: u64,
    /// Among them: of point-to-point calls.
    pub unexpected_user: u64,
    /// Receives cancelled.
    pub cancelled: u64,
    /// Messages longer than the receive they matched (an error in MPI, but a match).
    pub truncated: u64,
    /// With free wildcards: receives that took another message than in the recording.
    pub diverged: u64,
    /// Probes that found another message than in the recording. With recorded wildcards the program
    /// continues with the recorded one.
    pub probes_diverged: u64,
    /// Collectives replayed as point-to-point messages.
    pub collectives: u64,
    /// Collectives replayed as if they took no time (neighbour forms without a topology in the trace).
    pub collectives_skipped: u64,
    /// Partitioned messages: starts of sends. No other number of messages includes them, and no engine matches them.
    pub partitioned: u64,
    /// Bytes that they contributed in the recording.
    pub skipped_bytes: u64,
    /// Recorded time within them.
    pub skipped: Picos,
    /// Engine operations.
    pub operations: u64,
    /// Times the engine answered "busy".
    pub busy_answers: u64,
    /// Operations that were not accepted when they were first offered.
    pub refused: u64,
    /// How often the structure of the engine was full.
    pub capacity: CapacityEvents,
    /// Time the engine worked.
    pub engine_busy: Picos,
    /// Entries visited by all searches.
    pub visits: u64,
    /// Most entries visited by one search.
    pub visits_max: u32,
    /// Searches: posts, arrivals and probes.
    pub searches: u64,
    /// Time in which probes searched that took no message: plain ones, and matched ones that found none.
    pub probe_search: Picos,
    /// Unsuccessful tests and probes that were replayed as waiting for the event that ended their loop.
    pub polls_waiting: u64,
    /// Unsuccessful tests and probes whose loop was replayed as recorded: it does work between polls, or something
    /// else than a test or probe ended it.
    pub polls_recorded: u64,
    /// Longest list of posted receives.
    pub posted_max: u32,
    /// Longest list of unexpected messages.
    pub unexpected_max: u32,
    /// From the time at which the later of receive (or matched probe) and message was offered to the engine until the
    /// match.
    pub match_latency: Histogram,
    /// Part of the sum of `match_latency` before the later of receive and message was accepted.
    pub match_refused: Picos,
    /// Part in which the engine worked on older operations.
    pub match_waiting: Picos,
    /// Part that was spent beyond the structure of the engine. What is left is search.
    pub match_beyond: Picos,
}

/// Adds to a sum of spans; saturates at 213 days.
#[inline]
pub(crate) fn accumulate(sum: &mut Picos, span: Picos) {
    *sum = Picos(sum.0.saturating_add(span.0));
}

impl Totals {
    /// Adds the numbers of one rank. Fields that are maxima take the maximum.
    pub(crate) fn add(&mut self, other: &Self) {
        self.time = self.time.max(other.time);
        accumulate(&mut self.compute, other.compute);
        accumulate(&mut self.in_mpi, other.in_mpi);
        accumulate(&mut self.blocked_on_matching, other.blocked_on_matching);
        accumulate(&mut self.held, other.held);
        accumulate(&mut self.engine_busy, other.engine_busy);
        self.held_messages += other.held_messages;
        self.sent += other.sent;
        self.sent_bytes = self.sent_bytes.saturating_add(other.sent_bytes);
        self.sent_user += other.sent_user;
        self.received += other.received;
        self.never_received += other.never_received;
        self.never_matched += other.never_matched;
        self.unexpected += other.unexpected;
        self.unexpected_user += other.unexpected_user;
        self.cancelled += other.cancelled;
        self.truncated += other.truncated;
        self.diverged += other.diverged;
        self.probes_diverged += other.probes_diverged;
        self.collectives += other.collectives;
        self.collectives_skipped += other.collectives_skipped;
        self.partitioned += other.partitioned;
        self.skipped_bytes = self.skipped_bytes.saturating_add(other.skipped_bytes);
        accumulate(&mut self.skipped, other.skipped);
        self.operations += other.operations;
        self.busy_answers += other.busy_answers;
        self.refused += other.refused;
        self.capacity.add(&other.capacity);
        self.visits += other.visits;
        self.visits_max = self.visits_max.max(other.visits_max);
        self.searches += other.searches;
        accumulate(&mut self.probe_search, other.probe_search);
        self.polls_waiting = self.polls_waiting.saturating_add(other.polls_waiting);
        self.polls_recorded = self.polls_recorded.saturating_add(other.polls_recorded);
        self.posted_max = self.posted_max.max(other.posted_max);
        self.unexpected_max = self.unexpected_max.max(other.unexpected_max);
        self.match_latency.merge(&other.match_latency);
        accumulate(&mut self.match_refused, other.match_refused);
        accumulate(&mut self.match_waiting, other.match_waiting);
        accumulate(&mut self.match_beyond, other.match_beyond);
    }

    /// Counts a collective that is replayed as if it took no time.
    pub(crate) fn skip(&mut self, record: &Record) {
        self.collectives_skipped += 1;
        self.skipped_bytes = self.skipped_bytes.saturating_add(record.bytes);
        accumulate(&mut self.skipped, Picos::from_ns(u64::from(record.wall_span_ns)));
    }

    /// The part of the sum of `match_latency` that is neither refusal nor waiting nor beyond the structure.
    #[must_use]
    pub fn match_search(&self) -> Picos {
        let rest = self.match_latency.sum().saturating_sub(self.match_refused);
        rest.saturating_sub(self.match_waiting).saturating_sub(self.match_beyond)
    }
}

/// One rank.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RankReport {
    /// World rank.
    pub rank: u32,
    /// Its numbers.
    pub totals: Totals,
}

/// Queue lengths of one rank over time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WatchedRank {
    /// World rank.
    pub rank: u32,
    /// Up to 1024 bins.
    pub timeline: Vec<TimeBin>,
}

/// A rank that did not finish, and the call it is blocked in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unfinished {
    /// World rank.
    pub rank: u32,
    /// Record of the call.
    pub record: u64,
    /// Start of the call.
    pub since: Picos,
    /// Description of the call.
    pub waits: String,
    /// World ranks that the call names.
    pub waits_for: Vec<u32>,
}

/// The result of a replay.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Over all ranks: sums, and maxima where the field is a maximum or `time`.
    pub total: Totals,
    /// By rank.
    pub ranks: Vec<RankReport>,
    /// Matches by search depth, if it was asked for: the position of the match in the queue of the reference lists,
    /// from the oldest entry on, when the engine accepted the later of receive and message. It does not depend on how
    /// the engine searches. In bins that grow by powers of two.
    pub depths: Vec<LatencyBin>,
    /// Matches by entries that the engine visited, in the same bins.
    pub visits: Vec<LatencyBin>,
    /// Queue lengths over time; up to 1024 bins.
    pub timeline: Vec<TimeBin>,
    /// Queue lengths over time of the ranks that the configuration names, in its order.
    pub watched: Vec<WatchedRank>,
    /// Ranks that did not finish, because of a deadlock, a mismatch or a truncated trace.
    pub unfinished: Vec<Unfinished>,
    /// A cycle among `unfinished`, as world ranks each waiting for the next, if there is one.
    pub cycle: Vec<u32>,
    /// Remarks for the user, one sentence each.
    pub notes: Vec<String>,
    /// By rank, if it was asked for.
    pub sizing: Vec<Sizing>,
    /// The deepest search by rank, if it was asked for.
    pub deepest: Vec<Deepest>,
    /// The snapshot that was asked for.
    pub cut: Option<Cut>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_bucket_ends_where_the_next_begins() {
        for bucket in 0..900 {
            let upper = Histogram::upper(bucket);
            assert_eq!(Histogram::bucket(upper), bucket);
            assert_eq!(Histogram::bucket(upper + 1), bucket + 1);
        }
    }

    proptest! {
        #[test]
        fn a_quantile_is_at_most_a_sixteenth_too_high(mut values in prop::collection::vec(0_u64..1 << 40, 1..200), share in 0.01_f64..1.0) {
            let mut histogram = Histogram::default();
            for &value in &values {
                histogram.add(Picos(value));
            }
            values.sort_unstable();
            let at = ((values.len() as f64 * share).ceil() as usize).max(1) - 1;
            let found = histogram.quantile(share).0;
            prop_assert!(found >= values[at]);
            prop_assert!(found <= values[at] + values[at] / 16 + 1);
        }
    }
}
