// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One rank: its program, its NIC and its receive engine.
//!
//! [`Rank::advance`] runs the events of this rank before a given time, in order of time. At equal
//! times the engine comes first, then retries, deferred effects and collectives, then packets from
//! the network, then the program. Packets for other ranks leave through [`SharedSink::outbox`] and
//! arrive at least one network latency later, so ranks can be simulated one after the other within
//! a window of that length.
//!
//! Records are executed in the order of the file. Each thread has its own clock. A record starts
//! when its thread is ready, no earlier than the records before it, and no earlier than the return
//! of the calls whose Done records precede it. Compute time is the CPU time of the thread between
//! the end of one call and the start of the next.

#![expect(clippy::inline_always, reason = "calls on the path of every message cost a tenth of the replay's time")]

mod arrivals;
mod collectives;
mod completions;
mod nic;
mod packet;
mod partitioned;
mod partitions;
mod polling;
mod polls;
mod probes;
mod program;
mod spans;
mod unfinished;
mod world;

use std::collections::{BTreeMap, VecDeque};

use mb_core::capacity::Delays;
use mb_core::engine::{Completion, ReplayEngine};
use mb_core::matching::{Envelope, Op, Pattern};
use mb_core::time::Picos;
use mb_kit::MatchLists;
use mb_trace::Record;
use slab::Slab;

use self::arrivals::Arrivals;
use self::packet::{Packet, PacketKind};
use self::partitions::{Partitioned, Partitions};
use self::polls::PollLoop;
pub(crate) use self::spans::END;
use self::spans::{after, compute_time, times};
pub(crate) use self::world::World;
use crate::assignment::Assignment;
use crate::collective::RoundMessage;
use crate::report::Totals;
use crate::requests::Requests;
use crate::sizing::Sizer;
use crate::snapshot::Watcher;
use crate::stats::{Latencies, Timeline};

/// Output and scratch space that all ranks share while they run one after the other.
pub(crate) struct SharedSink {
    /// Packets for other ranks, with the world ranks of their destinations.
    pub(crate) outbox: Vec<(u32, Packet)>,
    pub(crate) depths: Latencies,
    pub(crate) visits: Latencies,
    pub(crate) timeline: Timeline,
    /// Queue lengths of the ranks that the configuration names.
    pub(crate) watched: Vec<(u32, Timeline)>,
    /// Those of the packets on their way.
    partitions: Slab<Partitions>,
    /// Scratch space.
    done: Vec<Completion>,
    finished: Vec<Finished>,
}

impl SharedSink {
    pub(crate) fn new(watched: &[u32]) -> Self {
        Self {
            outbox: Vec::new(),
            depths: Latencies::default(),
            visits: Latencies::default(),
            timeline: Timeline::new(),
            watched: watched.iter().map(|&rank| (rank, Timeline::new())).collect(),
            partitions: Slab::default(),
            done: Vec::new(),
            finished: Vec::new(),
        }
    }
}

/// The target of a completed operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CompletionTarget {
    None,
    Request(u32),
    /// The thread is in a blocking send.
    Thread(u16),
    Schedule(u32),
}

/// A posted receive.
#[derive(Clone, Copy, Debug)]
struct Receive {
    target: CompletionTarget,
    offered: Picos,
    /// Later than `offered` if the engine refused the post, or an operation before it.
    accepted: Picos,
    room: u64,
    /// Position among the receives of the rank, in posting order.
    ordinal: u32,
    /// Depth of the search of its post, if that found a message; 0 otherwise, and if depths are not reported.
    depth: u32,
    /// Thread that is blocked until the engine has processed the post.
    posting_thread: Option<u16>,
    queued: bool,
}

/// A message, from the arrival of its header to the completion of its receive.
#[derive(Clone, Copy, Debug)]
struct Message {
    envelope: Envelope,
    bytes: u64,
    offered: Picos,
    /// Later than `offered` if the engine refused the arrival, or an operation before it.
    accepted: Picos,
    /// When the data of an eager message has arrived.
    ready: Picos,
    /// Ordinal of the receive that took it in the recording.
    ordinal: u32,
    /// Depth of the search of its arrival, if that found a receive; 0 otherwise, and if depths are not reported.
    depth: u32,
    /// Sender's slot.
    token: u32,
    rendezvous: bool,
    /// In the queue of unexpected messages; an eager one also after it was matched.
    queued: bool,
    /// Taken by a matched probe.
    taken: bool,
    /// Once matched: the completion of its receive, and how long matching took.
    target: CompletionTarget,
    delay: Picos,
}

/// A rendezvous send that waits for its reply.
#[derive(Clone, Copy, Debug)]
struct Sending {
    target: CompletionTarget,
    destination: u32,
    bytes: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Activity {
    Ready,
    /// In a wait or a blocking receive, with `pending` requests incomplete.
    Waiting,
    /// Blocked until the engine has processed a post or a cancel.
    AwaitingEngine,
    /// In a blocking send.
    Sending,
    Probing,
    Collective,
    /// In `MPI_Parrived`.
    AwaitingPartitions,
}

#[derive(Clone, Copy, Debug)]
struct Thread {
    clock: Picos,
    cpu_end_ns: u64,
    activity: Activity,
    /// Start of the current call.
    begin: Picos,
    pending: u32,
    /// Record of the current call.
    record: usize,
    probe: Probing,
    /// The loop of polls in which the thread is, if it is replayed as waiting.
    polls: Option<PollLoop>,
}

#[derive(Clone, Copy, Debug)]
struct Probing {
    pattern: Pattern,
    /// The message that the probe found in the recording, if any.
    wanted: Option<Envelope>,
    /// Matched probes: position among the receives of the rank, in posting order.
    ordinal: Option<u32>,
    /// The recorded call was unsuccessful.
    miss: bool,
    /// The engine has found nothing so far.
    idle: bool,
    /// Start of the call, start of the newest search, and when the engine accepted that.
    offered: Picos,
    search: Picos,
    accepted: Picos,
    /// Part of the newest message's arrival at an idle probe in which the engine worked on older operations, or beyond
    /// its structure.
    arrival: Delays,
    /// Matched probes: depth of the search that found a message; 0 if depths are not reported.
    depth: u32,
}

/// A completed request.
#[derive(Clone, Copy, Debug)]
struct Finished {
    at: Picos,
    ideal: Picos,
    overhead: bool,
}

/// An effect of a completion that happens at the time of the completion, not when it becomes known.
enum DeferredEffect {
    /// The receive took another message than in the recording: messages held back for it can be
    /// offered.
    CloseReceive(u32),
    /// The thread's probe is offered again.
    OfferProbe(u16),
}

/// A collective in progress.
struct CollectiveSchedule {
    steps: Vec<RoundMessage>,
    next: usize,
    pending: u32,
    /// Start of the next round; `MAX` during a round.
    next_at: Picos,
    /// Latest completion in the round, and the same with an engine that takes no time.
    time: Picos,
    ideal: Picos,
    received: u32,
    /// Delay caused by matching over all rounds.
    delay: Picos,
    target: CompletionTarget,
    comm: u32,
    /// The group of this rank, and that of its peers in an intercommunicator.
    groups: [u32; 2],
    tag: u32,
}

/// Records prefetched, one cache line each: about as many as a rank executes in one window.
#[cfg(target_arch = "x86_64")]
const PREFETCHED: usize = 16;

pub(crate) struct Rank<'a> {
    pub(crate) id: u32,
    records: &'a [Record],
    pub(crate) cursor: usize,
    floor: Picos,
    threads: Vec<Thread>,
    program_at: Picos,
    /// Compute time before the next record.
    compute: Picos,
    /// `program_at` is outdated.
    stale: bool,
    pub(crate) finished: bool,

    engine: Box<dyn ReplayEngine>,
    engine_at: Picos,
    backlog: VecDeque<Op>,
    retry_at: Picos,

    tx_free: Picos,
    rx_free: Picos,
    pub(crate) arrivals: Arrivals,

    receives: Slab<Receive>,
    messages: Slab<Message>,
    sends: Slab<Sending>,
    requests: Requests,
    schedules: Vec<Option<Box<CollectiveSchedule>>>,
    /// Earliest of the retry, the deferred effects and the rounds of collectives.
    rare_at: Picos,
    collectives_of: BTreeMap<u32, u32>,

    partitioned: Partitioned,

    assignment: Option<Box<Assignment<Packet>>>,
    ordinal: u32,
    /// Effects of engine completions, by the time of the completion.
    deferred: VecDeque<(Picos, DeferredEffect)>,
    /// Messages taken by matched probes, by the probe's number.
    taken: BTreeMap<u32, u32>,
    cancelling: Vec<(u32, u16)>,
    idle_probes: u32,

    posted: u32,
    unexpected: u32,
    pub(crate) totals: Totals,
    /// The reference lists, if depths are reported.
    lists: Option<Box<MatchLists>>,
    pub(crate) sizer: Option<Box<Sizer>>,
    pub(crate) watcher: Option<Box<Watcher>>,
}

impl<'a> Rank<'a> {
    pub(crate) fn new(world: &World, id: u32, records: &'a [Record], engine: Box<dyn ReplayEngine>) -> Self {
        let mut rank = Self {
            id,
            records,
            cursor: 0,
            floor: Picos::ZERO,
            threads: Vec::new(),
            program_at: Picos::MAX,
            compute: Picos::ZERO,
            stale: true,
            finished: false,
            engine,
            engine_at: Picos::MAX,
            backlog: VecDeque::new(),
            retry_at: Picos::MAX,
            tx_free: Picos::ZERO,
            rx_free: Picos::ZERO,
            arrivals: Arrivals::default(),
            receives: Slab::default(),
            messages: Slab::default(),
            sends: Slab::default(),
            requests: Requests::default(),
            schedules: Vec::new(),
            rare_at: Picos::MAX,
            collectives_of: BTreeMap::new(),
            partitioned: Partitioned::default(),
            assignment: Assignment::new(world.communicators, id, records).map(Box::new),
            ordinal: 0,
            deferred: VecDeque::new(),
            taken: BTreeMap::new(),
            cancelling: Vec::new(),
            idle_probes: 0,
            posted: 0,
            unexpected: 0,
            totals: Totals::default(),
            lists: world.config.depths.then(Box::default),
            sizer: world.config.sizing.as_ref().map(|buckets| Box::new(Sizer::new(buckets))),
            watcher: world.config.snapshots.as_ref().map(|snapshots| Box::new(Watcher::new(snapshots, id))),
        };
        rank.find_next_record(world);
        rank
    }

    /// Prefetches the next records. The records of all ranks form too many streams for the hardware
    /// prefetcher.
    #[inline]
    pub(crate) fn prefetch(&self) {
        #[cfg(target_arch = "x86_64")]
        for record in self.records.iter().skip(self.cursor).take(PREFETCHED) {
            use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
            // SAFETY: a prefetch has no architectural effect and cannot fault; the pointer is that
            // of a valid record.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(std::ptr::from_ref(record).cast()) };
        }
    }

    /// Time of the next event of this rank that is known now.
    #[inline]
    pub(crate) fn next_event(&self) -> Picos {
        self.next_beside_engine().min(self.engine_at)
    }

    /// Time of the next event other than those of the engine.
    #[inline]
    fn next_beside_engine(&self) -> Picos {
        let item = self.arrivals.next_at().max(self.rx_free);
        let item = if self.arrivals.next_at() == Picos::MAX { Picos::MAX } else { item };
        item.min(self.program_at).min(self.rare_at)
    }

    /// Recomputes `rare_at`.
    fn find_rare(&mut self) {
        let later = self.deferred.front().map_or(Picos::MAX, |(at, _)| *at);
        let schedules = self.schedules.iter().flatten().map(|schedule| schedule.next_at);
        self.rare_at = schedules.min().unwrap_or(Picos::MAX).min(later).min(self.retry_at);
    }

    /// Runs all events before `until`.
    pub(crate) fn advance(&mut self, world: &World, until: Picos, out: &mut SharedSink) {
        self.arrivals.sort();
        loop {
            if self.stale {
                self.find_next_record(world);
            }
            let now = self.next_event();
            if now >= until {
                return;
            }
            if now == self.engine_at {
                self.run_engine(world, now, until, out);
            } else if now == self.rare_at {
                self.rare(world, now, out);
            } else if now == self.program_at && now < self.arrivals.next_at().max(self.rx_free) {
                self.execute_record(world, now, out);
            } else if let Some(item) = self.arrivals.pop() {
                self.receive_packet(world, now, item, out);
            } else {
                self.execute_record(world, now, out);
            }
        }
    }

    /// Runs the engine, whose next event is at `now`, up to `until`. With a backlog it stops at
    /// each event to offer the backlog again.
    #[inline]
    fn run_engine(&mut self, world: &World, now: Picos, until: Picos, out: &mut SharedSink) {
        if !self.backlog.is_empty() {
            self.engine.run_until(now, &mut out.done);
            self.handle_completions(world, out);
            self.retry(world, now, out);
            return;
        }
        // At equal times the engine comes first.
        let until = self.next_beside_engine().min(until - Picos(1));
        self.engine.run_to_completion(until, &mut out.done);
        self.handle_completions(world, out);
    }

    /// Handles a retry, a deferred effect or a round of a collective that is due at `now`.
    #[cold]
    fn rare(&mut self, world: &World, now: Picos, out: &mut SharedSink) {
        if now == self.retry_at {
            self.retry(world, now, out);
        } else if self.deferred.front().is_some_and(|(at, _)| *at == now) {
            match self.deferred.pop_front() {
                Some((_, DeferredEffect::CloseReceive(ordinal))) => self.close(world, now, ordinal, out),
                Some((_, DeferredEffect::OfferProbe(thread))) => self.offer_probe(world, now, thread, out),
                None => {}
            }
        } else {
            self.run_schedules(world, now, out);
        }
        self.find_rare();
    }
}

#[derive(Clone, Copy)]
struct Outgoing {
    destination: u32,
    comm: u32,
    tag: u32,
    bytes: u64,
    rendezvous: bool,
    target: CompletionTarget,
}
