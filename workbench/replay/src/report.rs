// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The result of a replay: totals, one row per rank, distributions. Everything is counted; nothing
//! is sampled.

use mb_core::capacity::CapacityEvents;
use mb_core::columns::{Columns, Mergeable};
use mb_core::time::Picos;
use mb_trace::Record;

use crate::sizing::Sizing;
use crate::snapshot::{Cut, Deepest};

/// Counts of times in buckets of relative width 1/16, exact below 32 ps; the largest value is kept
/// exactly.
#[derive(Clone, PartialEq, Eq, Debug, Default, Mergeable)]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    sum: u64,
    #[merge(max)]
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

    /// What `of` says of the values; nothing without values.
    fn if_any(&self, of: impl Fn(&Self) -> Picos) -> Option<Picos> {
        (self.count > 0).then(|| of(self))
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
#[derive(Clone, PartialEq, Eq, Debug, Default, Columns)]
pub struct LatencyBin {
    /// Smallest number of entries in this bin.
    #[column(none)]
    pub from: u32,
    /// Largest number of entries in this bin.
    #[column(none)]
    pub to: u32,
    /// Searches that ended with a match.
    #[column(none)]
    pub matches: u64,
    /// Their match latencies.
    #[column(none)]
    #[computed(match_latency_mean_ns: Option<f64> = mean(self.latency.sum(), self.matches),
        meaning = "mean of their match latencies")]
    #[computed(match_latency_median_ns: Option<Picos> = self.latency.if_any(|all| all.quantile(0.5)),
        meaning = "median of their match latencies, at most 1/16 too high")]
    #[computed(match_latency_p99_ns: Option<Picos> = self.latency.if_any(|all| all.quantile(0.99)),
        meaning = "99th percentile, at most 1/16 too high")]
    #[computed(match_latency_p999_ns: Option<Picos> = self.latency.if_any(|all| all.quantile(0.999)),
        meaning = "99.9th percentile, at most 1/16 too high")]
    #[computed(match_latency_max_ns: Option<Picos> = self.latency.if_any(Histogram::max),
        meaning = "largest of their match latencies")]
    pub latency: Histogram,
}

/// A row of the table `depths`.
#[derive(Columns)]
pub struct DepthRow<'a> {
    /// Smallest search depth in this bin: position of the match, from the oldest entry on, in the queue that the later
    /// of receive and message searched, when the engine accepted it; counted in lists of the replay, not reported by
    /// the engine.
    #[column(unit = "entries")]
    pub depth_from: u32,
    /// Largest search depth in this bin.
    #[column(unit = "entries")]
    pub depth_to: u32,
    /// Matches of this depth; none on an engine that breaks MPI's order.
    pub matches: u64,
    /// The bin.
    #[column(nested)]
    pub bin: &'a LatencyBin,
}

/// A row of the table `visits`.
#[derive(Columns)]
pub struct VisitsRow<'a> {
    /// Smallest number of entries visited in this bin.
    #[column(unit = "entries")]
    pub visits_from: u32,
    /// Largest number of entries visited in this bin.
    #[column(unit = "entries")]
    pub visits_to: u32,
    /// Searches with so many visits that ended with a match.
    pub matches: u64,
    /// The bin.
    #[column(nested)]
    pub bin: &'a LatencyBin,
}

/// Queue lengths within one interval of simulated time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Columns, Mergeable)]
pub struct TimeBin {
    /// Start of the interval in simulated time; all intervals of a replay have the same length.
    #[merge(keep)]
    pub from: Picos,
    /// Longest posted-receive queue of any rank in the interval.
    #[column(unit = "entries")]
    #[merge(max)]
    pub posted_max: u32,
    /// Longest unexpected-message queue of any rank in the interval.
    #[column(unit = "entries")]
    #[merge(max)]
    pub unexpected_max: u32,
    /// Engine operations in the interval, over all ranks.
    pub operations: u64,
}

/// Numbers of one rank, or of all ranks together. In the order of the table `results`, which is documented in
/// `spec/results.md`.
#[derive(Clone, PartialEq, Eq, Debug, Default, Columns, Mergeable)]
pub struct Totals {
    /// Application time: when the last rank finished.
    ///
    /// Of one rank: when its last thread finished.
    #[merge(max)]
    pub time: Picos,
    /// Compute time, summed over ranks.
    ///
    /// After scaling.
    pub compute: Picos,
    /// Time in MPI calls, waiting included, summed over ranks.
    pub in_mpi: Picos,
    /// Part of `in_mpi_ns` that an engine with zero time would save, computed for each wait separately.
    pub blocked_on_matching: Picos,
    /// From the time at which the later of receive (or matched probe) and message was offered to the engine until the
    /// match.
    #[column(none)]
    #[computed(match_latency_mean_ns: Option<Picos> = self.match_latency.if_any(Histogram::mean),
        meaning = "mean time from the offer of the later of receive and message to the completion")]
    #[computed(match_latency_median_ns: Option<Picos> = self.match_latency.if_any(|all| all.quantile(0.5)),
        meaning = "its median, at most 1/16 too high")]
    #[computed(match_latency_p99_ns: Option<Picos> = self.match_latency.if_any(|all| all.quantile(0.99)),
        meaning = "its 99th percentile, at most 1/16 too high")]
    #[computed(match_latency_p999_ns: Option<Picos> = self.match_latency.if_any(|all| all.quantile(0.999)),
        meaning = "its 99.9th percentile, at most 1/16 too high")]
    #[computed(match_latency_max_ns: Option<Picos> = self.match_latency.if_any(Histogram::max), meaning = "its maximum, exact")]
    #[computed(match_search_mean_ns: Option<f64> = self.mean(self.match_search()),
        meaning = "part of the mean outside of the next three columns: search")]
    pub match_latency: Histogram,
    /// Part of the sum of `match_latency` in which the engine worked on older operations.
    #[column(none)]
    #[computed(match_waiting_mean_ns: Option<f64> = self.mean(self.match_waiting),
        meaning = "part of the mean in which the engine worked on older operations")]
    pub match_waiting: Picos,
    /// Part before the later of receive and message was accepted.
    #[column(none)]
    #[computed(match_refused_mean_ns: Option<f64> = self.mean(self.match_refused),
        meaning = "part of the mean before the later of receive and message was accepted")]
    pub match_refused: Picos,
    /// Part that was spent beyond the structure of the engine. What is left is search.
    #[column(none)]
    #[computed(match_beyond_mean_ns: Option<f64> = self.mean(self.match_beyond),
        meaning = "part of the mean that was spent on entries beyond the structure of the engine")]
    #[computed(matches: u64 = self.match_latency.count(),
        meaning = "matches of a receive or matched probe with a message")]
    pub match_beyond: Picos,
    /// Time in which probes searched that took no message, summed over ranks: plain probes, and matched probes that
    /// found none.
    pub probe_search: Picos,
    /// Unsuccessful tests and probes of loops that were replayed as waiting for the event that ended them.
    pub polls_waiting: u64,
    /// Unsuccessful tests and probes that were replayed as recorded, with the computation between them.
    ///
    /// Their loop does work between polls, or something else than a test or probe ended it.
    pub polls_recorded: u64,
    /// Searches of a list: posts, arrivals and probes.
    pub searches: u64,
    /// Entries visited by all searches.
    #[column(unit = "entries")]
    #[computed(visits_mean: Option<f64> = (self.searches > 0).then(|| self.visits as f64 / self.searches as f64),
        unit = "entries", meaning = "`visits` over `searches`")]
    pub visits: u64,
    /// Most entries visited by one search.
    #[column(unit = "entries")]
    #[merge(max)]
    pub visits_max: u32,
    /// Longest posted-receive queue (PRQ) of any rank.
    #[column(unit = "entries")]
    #[merge(max)]
    pub posted_max: u32,
    /// Longest unexpected-message queue (UMQ) of any rank.
    #[column(unit = "entries")]
    #[merge(max)]
    pub unexpected_max: u32,
    /// Operations given to the engines.
    pub operations: u64,
    /// How often structures were full.
    #[column(nested)]
    pub capacity: CapacityEvents,
    /// Operations that an engine did not accept when they were first offered.
    pub refused: u64,
    /// Offers that an engine refused, repeated ones included.
    pub busy_answers: u64,
    /// Time that the engines were busy, summed over ranks.
    pub engine_busy: Picos,
    /// Messages sent, including those of expanded collectives.
    #[column(unit = "messages")]
    pub sent: u64,
    /// Bytes sent.
    #[column(unit = "B")]
    pub sent_bytes: u64,
    /// Messages sent by point-to-point calls.
    #[column(unit = "messages")]
    pub sent_user: u64,
    /// Messages that matched a receive or a matched probe.
    #[column(unit = "messages")]
    pub received: u64,
    /// Messages that matched no receive.
    #[column(unit = "messages")]
    pub never_received: u64,
    /// Receives that matched no message.
    #[column(unit = "receives")]
    pub never_matched: u64,
    /// Messages that were unexpected.
    #[column(unit = "messages")]
    pub unexpected: u64,
    /// Among them: of point-to-point calls.
    #[column(internal)]
    pub unexpected_user: u64,
    /// Receives cancelled.
    #[column(unit = "receives")]
    pub cancelled: u64,
    /// Messages longer than the receive that they matched.
    ///
    /// An error in MPI, but a match.
    #[column(unit = "messages")]
    pub truncated: u64,
    /// Messages delayed so that wildcard receives match as in the recording.
    ///
    /// They are held back outside of the engine.
    #[column(unit = "messages")]
    pub held_messages: u64,
    /// Sum of these delays.
    pub held: Picos,
    /// With free wildcards: receives that matched another message than in the recording.
    #[column(unit = "receives")]
    pub diverged: u64,
    /// Probes that found another message than in the recording.
    ///
    /// With recorded wildcards the program continues with the recorded one.
    #[column(unit = "probes")]
    pub probes_diverged: u64,
    /// Collectives replayed as point-to-point messages, counted on every rank.
    pub collectives_expanded: u64,
    /// Collectives replayed in zero time, counted on every rank.
    ///
    /// Neighbour forms without a topology in the trace.
    pub collectives_skipped: u64,
    /// Partitioned messages, in no other number: starts of sends, which no engine matches.
    #[column(unit = "messages")]
    pub partitioned: u64,
    /// Bytes that skipped collectives contributed in the recording.
    #[column(internal)]
    pub skipped_bytes: u64,
    /// Recorded time within them.
    #[column(internal)]
    pub skipped: Picos,
}

/// Adds to a sum of spans; saturates at 213 days.
#[inline]
pub(crate) fn accumulate(sum: &mut Picos, span: Picos) {
    *sum = Picos(sum.0.saturating_add(span.0));
}

/// The mean of `count` spans, ns; nothing without one.
fn mean(sum: Picos, count: u64) -> Option<f64> {
    (count > 0).then(|| sum.as_ns() / count as f64)
}

impl Totals {
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

    /// The mean over matches of a part of the latency.
    fn mean(&self, sum: Picos) -> Option<f64> {
        mean(sum, self.match_latency.count())
    }
}

/// One rank.
#[derive(Clone, PartialEq, Eq, Debug, Default, Columns)]
pub struct RankReport {
    /// World rank.
    pub rank: u32,
    /// Its numbers.
    #[column(nested)]
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

/// A row of the table `queues`.
#[derive(Columns)]
pub struct WatchedRow {
    /// World rank.
    rank: u32,
    /// Start of the interval in simulated time; all intervals of a replay have the same length.
    from: Picos,
    /// Longest posted-receive queue of the rank in the interval.
    #[column(unit = "entries")]
    posted_max: u32,
    /// Longest unexpected-message queue of the rank in the interval.
    #[column(unit = "entries")]
    unexpected_max: u32,
    /// Engine operations of the rank in the interval.
    operations: u64,
}

impl WatchedRank {
    /// Its rows.
    pub fn rows(&self) -> impl Iterator<Item = WatchedRow> {
        self.timeline.iter().map(|&TimeBin { from, posted_max, unexpected_max, operations }| WatchedRow {
            rank: self.rank,
            from,
            posted_max,
            unexpected_max,
            operations,
        })
    }
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
