// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Matching statistics of a trace: messages, queue lengths, search depths, unexpected messages,
//! wildcards.
//!
//! A trace does not record when a message arrived. Each message is assumed to arrive as early as
//! the recorded times allow: when its send began (by the recorded wall clocks), but no later than
//! the return of the call that completed its receive, and no later than any later message of the
//! same sender. Calls of the receiver at the same time come first, because a message takes some
//! time.
//!
//! Each receive takes the message that it took in the recording: the k-th send of a (communicator,
//! source, tag) belongs to the k-th receive that completed with these values, as MPI's ordering
//! rule demands. The result is a lower bound of the PRQ length and an upper bound of the UMQ length
//! for ranks on one host. Clocks of several hosts that differ by more than a latency shift both.
//! `matchbench compare` simulates arrival times instead.
//!
//! Each rank has one PRQ and one UMQ for all communicators, searched from the oldest entry on.
//!
//! Cost: O(log n) per search, whatever its depth. Memory: 40 bytes per message of the current block
//! of ranks, and the queues of the largest rank. Each block reads the trace once more.

mod arrivals;
mod distribution;
mod queue;
mod rank;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use mb_core::mpi::{ANY_SOURCE, ANY_TAG, PROC_NULL};

use self::arrivals::Message;
pub use self::distribution::Distribution;
use self::rank::RankQueues;
use crate::communicators::Communicators;
use crate::error::TraceError;
use crate::open::Trace;
use crate::record::{CollectiveOp, Flags, Kind};

/// Messages per block of ranks, unless a single rank has more.
const BLOCK_MESSAGES: usize = 1 << 22;

/// Statistics of one rank or of all ranks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Records.
    pub records: u64,
    /// Time from the first record to the last, ns. Of all ranks: the longest.
    pub wall_ns: u64,
    /// Wall time within recorded calls, ns.
    pub calls_wall_ns: u64,
    /// Messages sent, without those to `MPI_PROC_NULL`.
    pub sent: u64,
    /// Bytes sent; saturates.
    pub sent_bytes: u64,
    /// Messages received, without those from `MPI_PROC_NULL`.
    pub received: u64,
    /// Bytes received; saturates.
    pub received_bytes: u64,
    /// Messages sent to this rank that were never received.
    pub never_received: u64,
    /// Receives that completed with a message whose send is not in the trace, because the sender's
    /// records are cut off.
    pub without_send: u64,
    /// Receives posted, and matched probes, each of which receives one message; without those from
    /// `MPI_PROC_NULL`. The receive of the message that a matched probe took counts no second time.
    pub receives: u64,
    /// Among them: matched probes.
    pub matched_probes: u64,
    /// Starts of partitioned sends. No other number includes partitioned messages, which are not matched.
    pub partitioned: u64,
    /// Among the receives: neither completed nor cancelled when the records end.
    pub unfinished: u64,
    /// Among them: cancelled.
    pub cancelled: u64,
    /// Among them: with `MPI_ANY_SOURCE` and a tag.
    pub any_source: u64,
    /// Among them: with a source and `MPI_ANY_TAG`.
    pub any_tag: u64,
    /// Among them: with both.
    pub any_both: u64,
    /// Plain probes that found a message.
    pub probes: u64,
    /// Among them: with a wildcard.
    pub probes_wildcard: u64,
    /// Unsuccessful calls of `MPI_Test*`.
    pub test_misses: u64,
    /// Unsuccessful calls of `MPI_Iprobe` and `MPI_Improbe`.
    pub probe_misses: u64,
    /// Calls of `MPI_Wait*`, and successful calls of `MPI_Test*`.
    pub waits: u64,
    /// Calls that are not recorded in detail.
    pub other_calls: u64,
    /// Collectives by [`CollectiveOp`], the barrier first.
    pub collectives: [u64; CollectiveOp::ALL.len()],
    /// Ranks from which messages were received. Of all ranks: the largest such number.
    pub sources: u64,
    /// Distinct tags of messages received.
    pub tags: u64,
    /// Distinct communicators in which messages were received.
    pub communicators: u64,
    /// Messages that arrived before their receive was posted, or were never received.
    pub unexpected: u64,
    /// PRQ length at each arrival.
    pub posted_length: Distribution,
    /// PRQ search depth of each arrival that matched: entries visited, the matching one included.
    pub posted_depth: Distribution,
    /// UMQ length at each posted receive or matched probe.
    pub unexpected_length: Distribution,
    /// UMQ search depth of each receive or matched probe that matched: entries visited, the
    /// matching one included.
    pub unexpected_depth: Distribution,
    /// Largest PRQ length at any time.
    pub posted_max: u64,
    /// Largest UMQ length at any time.
    pub unexpected_max: u64,
}

impl Stats {
    /// Share of the messages that were unexpected, or `None` without messages.
    #[must_use]
    pub fn unexpected_share(&self) -> Option<f64> {
        let arrived = self.posted_length.count;
        (arrived > 0).then(|| self.unexpected as f64 / arrived as f64)
    }

    fn merge(&mut self, other: &Self) {
        self.wall_ns = self.wall_ns.max(other.wall_ns);
        self.sent_bytes = self.sent_bytes.saturating_add(other.sent_bytes);
        self.received_bytes = self.received_bytes.saturating_add(other.received_bytes);
        self.sources = self.sources.max(other.sources);
        self.posted_max = self.posted_max.max(other.posted_max);
        self.unexpected_max = self.unexpected_max.max(other.unexpected_max);
        let mine = [
            &mut self.records,
            &mut self.calls_wall_ns,
            &mut self.sent,
            &mut self.received,
            &mut self.never_received,
            &mut self.without_send,
            &mut self.receives,
            &mut self.matched_probes,
            &mut self.partitioned,
            &mut self.unfinished,
            &mut self.cancelled,
            &mut self.any_source,
            &mut self.any_tag,
            &mut self.any_both,
            &mut self.probes,
            &mut self.probes_wildcard,
            &mut self.test_misses,
            &mut self.probe_misses,
            &mut self.waits,
            &mut self.other_calls,
            &mut self.unexpected,
        ];
        let theirs = [
            other.records,
            other.calls_wall_ns,
            other.sent,
            other.received,
            other.never_received,
            other.without_send,
            other.receives,
            other.matched_probes,
            other.partitioned,
            other.unfinished,
            other.cancelled,
            other.any_source,
            other.any_tag,
            other.any_both,
            other.probes,
            other.probes_wildcard,
            other.test_misses,
            other.probe_misses,
            other.waits,
            other.other_calls,
            other.unexpected,
        ];
        for (mine, theirs) in mine.into_iter().zip(theirs) {
            // Unsuccessful tests and probes are numbers read from the trace, so their sum can
            // overflow.
            *mine = mine.saturating_add(theirs);
        }
        for (mine, theirs) in self.collectives.iter_mut().zip(other.collectives) {
            *mine += theirs;
        }
        self.posted_length.merge(&other.posted_length);
        self.posted_depth.merge(&other.posted_depth);
        self.unexpected_length.merge(&other.unexpected_length);
        self.unexpected_depth.merge(&other.unexpected_depth);
    }

    /// Counts everything that follows from the records of `rank` alone.
    fn count(&mut self, trace: &Trace, rank: u32) {
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

impl Trace {
    /// Computes the statistics of each rank, passes them to `each` in order of ranks, and returns
    /// those of all ranks. `comms` are those that [`Trace::check`] returned. `each` can stop the
    /// computation.
    ///
    /// # Errors
    /// [`TraceError::Interrupted`] when `each` breaks.
    ///
    /// # Panics
    /// When `comms` are not those of this trace.
    pub fn stats(
        &self,
        comms: &Communicators,
        mut each: impl FnMut(u32, &Stats) -> ControlFlow<()>,
    ) -> Result<Stats, TraceError> {
        let destination = |rank: u32, comm: u32, peer: i32| {
            let view = comms.view(rank, comm);
            (view.comm, comms.world_rank(view.remote, peer as u32))
        };
        let for_each_send = |each: &mut dyn FnMut(u32, Message)| {
            for rank in 0..self.ranks() {
                for (index, record) in self.rank(rank).iter().enumerate() {
                    if record.kind == Kind::Send as u8 && record.peer != PROC_NULL && !record.has(Flags::PARTITIONED) {
                        let (comm, to) = destination(rank, record.comm, record.peer);
                        let sent_ns = self.epoch_ns(rank).saturating_add(record.wall_ns());
                        each(to, Message { comm, source: rank, tag: record.tag, sent_ns, order: index as u64 });
                    }
                }
            }
        };
        let mut counts = vec![0_usize; self.ranks() as usize];
        for_each_send(&mut |to, _| counts[to as usize] += 1);

        let mut total = Stats::default();
        let (mut tags, mut communicators) = (BTreeSet::new(), BTreeSet::new());
        let mut first = 0;
        while first < counts.len() {
            // The next block of ranks.
            let mut last = first;
            let mut starts = vec![0];
            while last < counts.len() && (last == first || starts[last - first] + counts[last] <= BLOCK_MESSAGES) {
                starts.push(starts[last - first] + counts[last]);
                last += 1;
            }
            let mut messages = vec![Message::default(); starts[last - first]];
            let mut next = starts.clone();
            for_each_send(&mut |to, message| {
                if (first..last).contains(&(to as usize)) {
                    let slot = &mut next[to as usize - first];
                    messages[*slot] = message;
                    *slot += 1;
                }
            });
            for rank in first..last {
                let mine = &mut messages[starts[rank - first]..starts[rank - first + 1]];
                let mut of_rank = Stats::default();
                of_rank.count(self, rank as u32);
                RankQueues {
                    trace: self,
                    comms,
                    rank: rank as u32,
                    stats: &mut of_rank,
                    tags: &mut tags,
                    communicators: &mut communicators,
                }
                .count(mine);
                if each(rank as u32, &of_rank).is_break() {
                    return Err(TraceError::Interrupted);
                }
                total.merge(&of_rank);
            }
            first = last;
        }
        total.tags = tags.len() as u64;
        total.communicators = communicators.len() as u64;
        Ok(total)
    }
}
