// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The statistics of one rank or of all ranks.

use mb_core::columns::{Columns, Mergeable};
use mb_core::mpi::{ANY_SOURCE, ANY_TAG, PROC_NULL};

use super::distribution::Distribution;
use crate::open::Trace;
use crate::record::{CollectiveOp, Flags, Kind};

/// Statistics of one rank or of all ranks: the numbers of `matchbench trace stats`, in its order.
#[derive(Clone, PartialEq, Eq, Debug, Default, Columns, Mergeable)]
pub struct Stats {
    /// Records.
    pub records: u64,
    /// Time from the first record to the last; of all ranks: the longest.
    #[merge(max)]
    pub wall_ns: u64,
    /// Wall time in recorded calls, summed.
    pub calls_wall_ns: u64,
    /// Messages sent, without those to `MPI_PROC_NULL`.
    #[column(unit = "messages")]
    pub sent: u64,
    /// Their bytes.
    #[column(unit = "B")]
    pub sent_bytes: u64,
    /// Messages received, without those from `MPI_PROC_NULL`.
    #[column(unit = "messages")]
    pub received: u64,
    /// Their bytes.
    #[column(unit = "B")]
    pub received_bytes: u64,
    /// Messages sent to this rank that matched no receive.
    #[column(unit = "messages")]
    pub never_received: u64,
    /// Receives whose message has no send in the trace: the sender's records are truncated.
    #[column(unit = "receives")]
    pub without_send: u64,
    /// Receives posted and matched probes, without those from `MPI_PROC_NULL`.
    ///
    /// Each receives one message. The receive of the message that a matched probe took counts no second time.
    #[column(unit = "receives")]
    pub receives: u64,
    /// Among them: matched probes.
    #[column(unit = "receives")]
    pub matched_probes: u64,
    /// Among them: neither finished nor cancelled when the records end.
    #[column(unit = "receives")]
    pub unfinished: u64,
    /// Among them: cancelled.
    #[column(unit = "receives")]
    pub cancelled: u64,
    /// Among them: with `MPI_ANY_SOURCE` and a tag.
    #[column(unit = "receives")]
    pub any_source: u64,
    /// Among them: with a source and `MPI_ANY_TAG`.
    #[column(unit = "receives")]
    pub any_tag: u64,
    /// Among them: with both wildcards.
    #[column(unit = "receives")]
    pub any_both: u64,
    /// Partitioned messages, in no other number: starts of sends, which are not matched.
    #[column(unit = "messages")]
    pub partitioned: u64,
    /// Plain probes that found a message.
    #[column(unit = "probes")]
    pub probes: u64,
    /// Among them: with a wildcard.
    #[column(unit = "probes")]
    pub probes_wildcard: u64,
    /// Unsuccessful tests: calls of `MPI_Test*` that completed nothing.
    #[column(unit = "calls")]
    pub test_misses: u64,
    /// Calls of `MPI_Iprobe` and `MPI_Improbe` that found no message.
    #[column(unit = "calls")]
    pub probe_misses: u64,
    /// Calls that wait or test and completed something.
    #[column(unit = "calls")]
    pub waits: u64,
    /// Collectives by [`CollectiveOp`], the barrier first.
    #[column(none)]
    #[computed(collectives: u64 = self.collectives.iter().sum::<u64>(),
        unit = "calls", meaning = "collectives, counted on every rank")]
    pub collectives: [u64; CollectiveOp::ALL.len()],
    /// Calls that are not recorded in detail.
    #[column(unit = "calls")]
    pub other_calls: u64,
    /// Ranks from which messages were received; of all ranks: the maximum of any rank.
    #[column(unit = "ranks")]
    #[merge(max)]
    pub sources: u64,
    /// Distinct tags of messages received.
    #[merge(keep)]
    pub tags: u64,
    /// Communicators in which messages were received.
    #[merge(keep)]
    pub communicators: u64,
    /// Messages that arrived before their receive was posted, or matched no receive.
    #[column(unit = "messages")]
    #[computed(unexpected_share: Option<f64> = self.unexpected_share(),
        meaning = "their share of all messages that arrived, 0 to 1")]
    pub unexpected: u64,
    /// PRQ length at each arrival.
    #[column(none)]
    #[computed(posted_length_mean: Option<f64> = self.posted_length.mean(),
        unit = "entries", meaning = "mean length of the PRQ when a message arrives")]
    pub posted_length: Distribution,
    /// Maximum length of the PRQ.
    #[column(unit = "entries")]
    #[merge(max)]
    pub posted_max: u64,
    /// PRQ search depth of each arrival that matched: entries visited, the matching one included.
    #[column(none)]
    #[computed(posted_depth_mean: Option<f64> = self.posted_depth.mean(), unit = "entries",
        meaning = "mean search depth of the messages that find a receive: its position in the PRQ")]
    #[computed(posted_depth_max: u64 = self.posted_depth.max, unit = "entries", meaning = "their maximum")]
    pub posted_depth: Distribution,
    /// UMQ length at each posted receive or matched probe.
    #[column(none)]
    #[computed(unexpected_length_mean: Option<f64> = self.unexpected_length.mean(), unit = "entries",
        meaning = "mean length of the UMQ when a receive is posted or a matched probe searches")]
    pub unexpected_length: Distribution,
    /// Maximum length of the UMQ.
    #[column(unit = "entries")]
    #[merge(max)]
    pub unexpected_max: u64,
    /// UMQ search depth of each receive or matched probe that matched: entries visited, the matching one included.
    #[column(none)]
    #[computed(unexpected_depth_mean: Option<f64> = self.unexpected_depth.mean(), unit = "entries",
        meaning = "mean search depth of the receives and matched probes that find a message: its position in the UMQ")]
    #[computed(unexpected_depth_max: u64 = self.unexpected_depth.max, unit = "entries", meaning = "their maximum")]
    pub unexpected_depth: Distribution,
}

impl Stats {
    /// Share of the messages that were unexpected, or `None` without messages.
    #[must_use]
    pub fn unexpected_share(&self) -> Option<f64> {
        let arrived = self.posted_length.count;
        (arrived > 0).then(|| self.unexpected as f64 / arrived as f64)
    }

    /// Counts everything that follows from the records of `rank` alone.
    pub(super) fn count(&mut self, trace: &Trace, rank: u32) {
        let records = trace.rank(rank);
        self.records = records.len() as u64;
        for record in records {
            let Some(kind) = record.kind() else { continue };
            if kind == Kind::Extra {
                continue;
            }
            let span = u64::from(record.wall_span_ns);
            self.wall_ns = self.wall_ns.max(record.wall_ns().saturating_add(span));
            if kind != Kind::Done {
                self.calls_wall_ns += span;
            }
            let wildcards = (record.peer == ANY_SOURCE, record.tag == ANY_TAG);
            match kind {
                Kind::Send if record.has(Flags::PARTITIONED) => self.partitioned += u64::from(record.peer != PROC_NULL),
                Kind::Send if record.peer != PROC_NULL => {
                    self.sent += 1;
                    self.sent_bytes = self.sent_bytes.saturating_add(record.bytes);
                }
                Kind::Recv | Kind::Probe if record.is_receiving(kind) => {
                    self.receives += 1;
                    self.matched_probes += u64::from(kind == Kind::Probe);
                    match wildcards {
                        (true, false) => self.any_source += 1,
                        (false, true) => self.any_tag += 1,
                        (true, true) => self.any_both += 1,
                        (false, false) => {}
                    }
                }
                Kind::Probe if record.peer != PROC_NULL => {
                    self.probes += 1;
                    self.probes_wildcard += u64::from(wildcards != (false, false));
                }
                Kind::Miss if record.has(Flags::PROBE) => {
                    self.probe_misses = self.probe_misses.saturating_add(record.aux);
                }
                Kind::Miss => self.test_misses = self.test_misses.saturating_add(record.aux),
                Kind::Wait => self.waits += 1,
                Kind::Other => self.other_calls += 1,
                Kind::Collective => {
                    if let Some(op) = CollectiveOp::from_tag(record.tag) {
                        self.collectives[op as usize - 1] += 1;
                    }
                }
                _ => {}
            }
        }
    }
}
