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
mod numbers;
mod queue;
mod rank;

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use mb_core::columns::Mergeable as _;
use mb_core::mpi::PROC_NULL;

use self::arrivals::Message;
pub use self::distribution::Distribution;
pub use self::numbers::Stats;
use self::rank::RankQueues;
use crate::communicators::Communicators;
use crate::error::TraceError;
use crate::open::Trace;
use crate::record::{Flags, Kind};

/// Messages per block of ranks, unless a single rank has more.
const BLOCK_MESSAGES: usize = 1 << 22;

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
