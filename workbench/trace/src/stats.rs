// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a trace says about matching: messages, list lengths, search depths, unexpected messages, wildcards.
//!
//! A trace does not say when a message arrived. It is taken to arrive as early as it can: when its send began, by the
//! recorded wall clocks, but not after the call returned that finished its receive, and not before an earlier message of
//! the same sender. Calls of the receiver at the same time come first (a message takes some time). Each receive takes the
//! message that it took in the recording; the k-th send of a (communicator, source, tag) goes to the k-th receive that got one, as MPI's
//! order demands. So lists are as long, and messages as unexpected, as the recorded times allow: a lower bound for
//! posted lists and an upper one for unexpected messages on one host; clocks of several hosts that differ by more than a
//! latency shift both. `matchbench compare` knows arrival times of its own.
//!
//! Each rank has one list of posted receives and one of unexpected messages, for all communicators, searched from the oldest on.
//! Depths are counted by order statistics: O(log n) each, however deep. Memory: 40 bytes per message of the
//! ranks at hand, which are taken in blocks (each block reads the trace once more), and what the largest rank needs.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use mb_core::mpi::{ANY_SOURCE, ANY_TAG, PROC_NULL};

use crate::communicators::Communicators;
use crate::error::TraceError;
use crate::open::Trace;
use crate::record::{CollectiveOp, Flags, Kind};

/// Messages looked at together, unless a single rank has more.
const BLOCK_MESSAGES: usize = 1 << 22;

/// Buckets of a [`Distribution`]: no list has 2^48 entries.
const BUCKETS: usize = 49;

/// How often which number occurred, in powers of two.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Distribution {
    /// Numbers counted.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
    /// The largest, 0 if there is none.
    pub max: u64,
    /// How many were 0; 1; 2 or 3; 4 to 7; and so on.
    pub buckets: [u64; BUCKETS],
}

impl Default for Distribution {
    fn default() -> Self {
        Self { count: 0, sum: 0, max: 0, buckets: [0; BUCKETS] }
    }
}

impl Distribution {
    /// Counts `number`.
    pub fn add(&mut self, number: u64) {
        self.count += 1;
        self.sum += number;
        self.max = self.max.max(number);
        self.buckets[((u64::BITS - number.leading_zeros()) as usize).min(BUCKETS - 1)] += 1;
    }

    /// Counts what `other` counted.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
        for (mine, theirs) in self.buckets.iter_mut().zip(other.buckets) {
            *mine += theirs;
        }
    }

    /// The mean, or `None` of nothing.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Smallest and largest number of each bucket that is not empty, and how many fell into it.
    pub fn ranges(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        let bounds = |bucket: usize| if bucket == 0 { (0, 0) } else { (1 << (bucket - 1), (1 << bucket) - 1) };
        let filled = self.buckets.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(move |(bucket, &count)| (bounds(bucket).0, bounds(bucket).1, count))
    }
}

/// The numbers of one rank, or of all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Records.
    pub records: u64,
    /// Time from the first record to the last, ns; of all ranks: the longest.
    pub wall_ns: u64,
    /// Wall time within recorded calls, ns.
    pub calls_wall_ns: u64,
    /// Messages sent, `MPI_PROC_NULL` apart.
    pub sent: u64,
    /// Their bytes; the largest number if it would be larger.
    pub sent_bytes: u64,
    /// Messages received, `MPI_PROC_NULL` apart.
    pub received: u64,
    /// Their bytes, likewise.
    pub received_bytes: u64,
    /// Messages sent to this rank that no receive took.
    pub never_received: u64,
    /// Receives that finished with a message that nobody sent: the sender's records are cut off.
    pub without_send: u64,
    /// Receives posted, `MPI_PROC_NULL` and those of matched probes apart.
    pub receives: u64,
    /// Among them: neither finished nor cancelled when the records end.
    pub unfinished: u64,
    /// Among them: cancelled.
    pub cancelled: u64,
    /// Among them: with `MPI_ANY_SOURCE` and a tag.
    pub any_source: u64,
    /// Among them: with a source and `MPI_ANY_TAG`.
    pub any_tag: u64,
    /// Among them: with both.
    pub any_both: u64,
    /// Probes that found a message, matched ones included.
    pub probes: u64,
    /// Among them: with a wildcard.
    pub probes_wildcard: u64,
    /// Calls of `MPI_Test*` that found nothing.
    pub test_misses: u64,
    /// Calls of `MPI_Iprobe` and `MPI_Improbe` that found nothing.
    pub probe_misses: u64,
    /// Calls that wait or test and found something.
    pub waits: u64,
    /// Calls that are not recorded in detail.
    pub other_calls: u64,
    /// Collectives by [`CollectiveOp`], from barrier on.
    pub collectives: [u64; 12],
    /// Ranks from which messages were received; of all ranks: the most of any.
    pub sources: u64,
    /// Tags of messages received; of all ranks: of any.
    pub tags: u64,
    /// Communicators in which messages were received; of all ranks: of any.
    pub communicators: u64,
    /// Messages that arrived before their receive was posted, or that no receive took.
    pub unexpected: u64,
    /// Posted receives found by each arriving message: length of the list.
    pub posted_length: Distribution,
    /// Posted receives visited by each arriving message that found its receive, that one included.
    pub posted_depth: Distribution,
    /// Unexpected messages found by each receive that was posted, or matched probe: length of the list.
    pub unexpected_length: Distribution,
    /// Unexpected messages visited by each receive or matched probe that found its message, that one included.
    pub unexpected_depth: Distribution,
    /// Longest list of posted receives at any time.
    pub posted_max: u64,
    /// Longest list of unexpected messages at any time.
    pub unexpected_max: u64,
}

impl Stats {
    /// Share of the messages received that arrived before their receive, or `None` when there are none.
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
            // Misses may be many: they are counts of a file, not of records.
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

    /// Counts what its own records say of a rank.
    fn count(&mut self, trace: &Trace, rank: u32) {
        let records = trace.rank(rank);
        self.records = records.len() as u64;
        for record in records {
            let Some(kind) = record.kind() else { continue };
            if kind == Kind::Extra {
                continue;
            }
            let span = u64::from(record.wall_span_ns);
            self.wall_ns = self.wall_ns.max(record.wall_ns.saturating_add(span));
            if kind != Kind::Done {
                self.calls_wall_ns += span;
            }
            let wildcards = (record.peer == ANY_SOURCE, record.tag == ANY_TAG);
            match kind {
                Kind::Send if record.peer != PROC_NULL => {
                    self.sent += 1;
                    self.sent_bytes = self.sent_bytes.saturating_add(record.bytes);
                }
                Kind::Recv if record.peer != PROC_NULL && !record.has(Flags::MATCHED) => {
                    self.receives += 1;
                    match wildcards {
                        (true, false) => self.any_source += 1,
                        (false, true) => self.any_tag += 1,
                        (true, true) => self.any_both += 1,
                        (false, false) => {}
                    }
                }
                Kind::Probe => {
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

/// A message on its way to a rank.
#[derive(Clone, Copy, Default)]
struct Message {
    comm: u32,
    source: u32,
    tag: i32,
    /// Time of the send, ns since 1970 or since the start of a generated trace.
    sent_ns: u64,
    /// Record of the send in its rank: order among sends of the same source, and between sources at the same time.
    order: u64,
}

impl Message {
    fn channel(&self) -> (u32, u32, i32) {
        (self.comm, self.source, self.tag)
    }
}

/// A moment of a rank: time, and the record before which it lies.
type Moment = (u64, u64);

/// A receive or a matched probe that takes a message.
#[derive(Clone, Copy)]
struct Taker {
    /// When it searches the unexpected messages.
    at: Moment,
    /// Record of the call: order among takers of a channel.
    order: u64,
    /// Communicator, source and tag of the message it took, or `None`.
    took: Option<(u32, u32, i32)>,
    /// When the call returned that said so.
    done: Moment,
    /// Index of the message in the rank's messages.
    message: Option<u32>,
}

/// What a rank does that changes its lists.
#[derive(Clone, Copy)]
enum Step {
    Take(u32),
    Cancel(u32),
}

/// Counts the living among numbered entries, in O(log n): Fenwick's tree.
struct Living(Vec<u32>);

impl Living {
    fn new(entries: usize) -> Self {
        Self(vec![0; entries + 1])
    }

    fn change(&mut self, entry: u32, by: i32) {
        let mut at = entry as usize + 1;
        while at < self.0.len() {
            self.0[at] = self.0[at].wrapping_add_signed(by);
            at += at & at.wrapping_neg();
        }
    }

    /// The living up to `entry`, which is counted if it lives.
    fn up_to(&self, entry: u32) -> u64 {
        let (mut at, mut sum) = (entry as usize + 1, 0);
        while at > 0 {
            sum += u64::from(self.0[at]);
            at &= at - 1;
        }
        sum
    }
}

/// Entries in order of age with the numbers under which they joined.
struct List {
    living: Living,
    length: u64,
    longest: u64,
    joined: u32,
    /// Number under which each item joined, plus one; 0 when it is not in the list.
    place: Vec<u32>,
}

impl List {
    fn new(items: usize) -> Self {
        Self { living: Living::new(items), length: 0, longest: 0, joined: 0, place: vec![0; items] }
    }

    fn append(&mut self, item: u32) {
        self.living.change(self.joined, 1);
        self.joined += 1;
        self.place[item as usize] = self.joined;
        self.length += 1;
        self.longest = self.longest.max(self.length);
    }

    /// Removes `item` and tells how many entries a search for it visits, or `None` when it is not in the list.
    fn take(&mut self, item: u32) -> Option<u64> {
        let number = std::mem::take(&mut self.place[item as usize]).checked_sub(1)?;
        let depth = self.living.up_to(number);
        self.living.change(number, -1);
        self.length -= 1;
        Some(depth)
    }
}

impl Trace {
    /// Computes the statistics of each rank, hands them to `each` in order of rank, and returns those of all together.
    /// `comms` are those that [`Trace::check`] returned. `each` can stop the work.
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
                    if record.kind == Kind::Send as u8 && record.peer != PROC_NULL {
                        let (comm, to) = destination(rank, record.comm, record.peer);
                        let sent_ns = self.epoch_ns(rank).saturating_add(record.wall_ns);
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
            // As many ranks as their messages allow.
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
                RankLists {
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

struct RankLists<'a> {
    trace: &'a Trace,
    comms: &'a Communicators,
    rank: u32,
    stats: &'a mut Stats,
    tags: &'a mut BTreeSet<i32>,
    communicators: &'a mut BTreeSet<u32>,
}

impl RankLists<'_> {
    fn count(mut self, messages: &mut [Message]) {
        let (mut takers, steps) = self.takers();
        self.distinct(&takers);
        messages.sort_unstable_by_key(|message| (message.channel(), message.order));
        self.pair(&mut takers, messages);
        self.play(&takers, &steps, messages);
    }

    /// What this rank does, from its records.
    fn takers(&mut self) -> (Vec<Taker>, Vec<(Moment, Step)>) {
        let records = self.trace.rank(self.rank);
        let epoch = self.trace.epoch_ns(self.rank);
        let mut takers: Vec<Taker> = Vec::new();
        let mut steps: Vec<(Moment, Step)> = Vec::new();
        // Of each request the taker, plus one; requests count up, so this is as long as the rank at most.
        let mut of_request: Vec<u32> = Vec::new();
        // Of each thread when its last wait, receive or probe returns: time, and record behind its Done records.
        let mut returns: BTreeMap<u16, Moment> = BTreeMap::new();
        let mut cancelling: Vec<(u32, usize)> = Vec::new();
        let mut now = 0;
        for (index, record) in records.iter().enumerate() {
            let Some(kind) = record.kind() else { continue };
            if kind == Kind::Extra {
                continue;
            }
            // Threads may have written their records slightly out of order.
            now = now.max(epoch.saturating_add(record.wall_ns));
            let at = (now, index as u64);
            let returned = now.saturating_add(u64::from(record.wall_span_ns));
            match kind {
                Kind::Wait => {
                    let behind = (index as u64).saturating_add(record.aux).saturating_add(1);
                    returns.insert(record.thread, (returned, behind));
                }

                Kind::Probe | Kind::Recv => {
                    returns.insert(record.thread, (returned, index as u64 + 1));
                    let searches =
                        if kind == Kind::Probe { record.has(Flags::MATCHED) } else { !record.has(Flags::MATCHED) };
                    if searches && record.peer != PROC_NULL {
                        let number = takers.len() as u32;
                        let slot = record.request as usize;
                        if slot >= of_request.len() {
                            of_request.resize(slot + 1, 0);
                        }
                        of_request[slot] = number + 1;
                        let view = self.comms.view(self.rank, record.comm);
                        // Until the Done tells source and tag: whose ranks its source counts.
                        let took = Some((view.comm, view.remote, 0));
                        let never = (u64::MAX, u64::MAX);
                        takers.push(Taker { at, order: index as u64, took, done: never, message: None });
                        if kind == Kind::Recv {
                            steps.push((at, Step::Take(number)));
                        }
                    }
                }
                Kind::Cancel => {
                    if let Some(number) = of_request.get(record.request as usize).and_then(|slot| slot.checked_sub(1)) {
                        cancelling.push((number, steps.len()));
                        steps.push((at, Step::Cancel(number)));
                    }
                }
                Kind::Done => {
                    let (time, behind) = returns.get(&record.thread).copied().unwrap_or_default();
                    for request in record.ended() {
                        let slot = of_request.get_mut(request as usize).map(std::mem::take).unwrap_or_default();
                        let Some(number) = slot.checked_sub(1) else { continue };
                        let taker = &mut takers[number as usize];
                        let begun = &records[taker.order as usize];
                        let done = record.done_of(request, begun);
                        taker.done = (time.max(returned), behind.max(index as u64));
                        if done.has(Flags::CANCELLED) {
                            self.stats.cancelled += 1;
                            taker.took = None;
                            continue;
                        }
                        self.stats.received += 1;
                        self.stats.received_bytes = self.stats.received_bytes.saturating_add(done.bytes);
                        let (comm, remote, _) = taker.took.expect("not finished before");
                        taker.took = Some((comm, self.comms.world_rank(remote, done.peer as u32), done.tag));
                        if begun.kind == Kind::Probe as u8 {
                            taker.at = at;
                            steps.push((at, Step::Take(number)));
                        }
                    }
                }
                _ => {}
            }
        }
        for number in of_request.into_iter().filter_map(|slot| slot.checked_sub(1)) {
            takers[number as usize].took = None;
            self.stats.unfinished +=
                u64::from(records[takers[number as usize].order as usize].kind == Kind::Recv as u8);
        }
        // A cancel that came too late changes nothing.
        for (number, step) in cancelling {
            if takers[number as usize].took.is_some() {
                steps[step].1 = Step::Take(u32::MAX);
            }
        }
        steps.retain(|(_, step)| !matches!(step, Step::Take(u32::MAX)));
        (takers, steps)
    }

    fn distinct(&mut self, takers: &[Taker]) {
        let distinct = |mut all: Vec<u64>| {
            all.sort_unstable();
            all.dedup();
            all
        };
        let took = || takers.iter().filter_map(|taker| taker.took);
        let tags = distinct(took().map(|(_, _, tag)| tag as u64).collect());
        let communicators = distinct(took().map(|(comm, _, _)| u64::from(comm)).collect());
        self.stats.sources = distinct(took().map(|(_, source, _)| u64::from(source)).collect()).len() as u64;
        self.stats.tags = tags.len() as u64;
        self.stats.communicators = communicators.len() as u64;
        self.tags.extend(tags.iter().map(|&tag| tag as i32));
        self.communicators.extend(communicators.iter().map(|&comm| comm as u32));
    }

    /// Gives each taker its message: the k-th of a channel to the k-th. `messages` stand in order of channels.
    fn pair(&mut self, takers: &mut [Taker], messages: &[Message]) {
        let mut order: Vec<u32> = (0..takers.len() as u32).filter(|&at| takers[at as usize].took.is_some()).collect();
        order.sort_unstable_by_key(|&at| (takers[at as usize].took, takers[at as usize].order));
        let mut next = 0;
        for at in order {
            let taker = &mut takers[at as usize];
            let wanted = taker.took.expect("kept for it");
            while next < messages.len() && messages[next].channel() < wanted {
                next += 1;
            }
            if next < messages.len() && messages[next].channel() == wanted {
                taker.message = Some(next as u32);
                next += 1;
            } else {
                self.stats.without_send += 1;
            }
        }
    }

    /// Goes through calls and arrivals in order of time.
    fn play(&mut self, takers: &[Taker], steps: &[(Moment, Step)], messages: &[Message]) {
        const NOBODY: u32 = u32::MAX;
        let mut taker_of = vec![NOBODY; messages.len()];
        for (number, taker) in takers.iter().enumerate() {
            if let Some(message) = taker.message {
                taker_of[message as usize] = number as u32;
            }
        }
        self.stats.never_received += taker_of.iter().filter(|&&taker| taker == NOBODY).count() as u64;
        let arrivals = arrivals(messages, |message| match taker_of[message] {
            NOBODY => (u64::MAX, u64::MAX),
            taker => takers[taker as usize].done,
        });
        let (mut posted, mut unexpected) = (List::new(takers.len()), List::new(messages.len()));
        let mut arrivals = arrivals.into_iter().peekable();
        let mut steps = steps.iter().peekable();
        loop {
            let arrives = match (arrivals.peek(), steps.peek()) {
                (None, None) => break,
                (Some((moment, _)), Some((at, _))) => moment < at,
                (arrival, _) => arrival.is_some(),
            };
            if arrives {
                let (_, message) = arrivals.next().expect("peeked");
                self.stats.posted_length.add(posted.length);
                let taker = taker_of[message as usize];
                if let Some(depth) = (taker != NOBODY).then(|| posted.take(taker)).flatten() {
                    self.stats.posted_depth.add(depth);
                } else {
                    self.stats.unexpected += 1;
                    unexpected.append(message);
                }
                continue;
            }
            match steps.next().expect("peeked").1 {
                Step::Take(number) => {
                    self.stats.unexpected_length.add(unexpected.length);
                    let message = takers[number as usize].message;
                    if let Some(depth) = message.and_then(|message| unexpected.take(message)) {
                        self.stats.unexpected_depth.add(depth);
                    } else {
                        posted.append(number);
                    }
                }
                Step::Cancel(number) => {
                    posted.take(number);
                }
            }
        }
        self.stats.posted_max = posted.longest;
        self.stats.unexpected_max = unexpected.longest;
    }
}

/// When each message arrives, in order, and which it is. `done`: when the receive of a message was known to be finished.
fn arrivals(messages: &[Message], done: impl Fn(usize) -> Moment) -> Vec<(Moment, u32)> {
    let mut by_source: Vec<u32> = (0..messages.len() as u32).collect();
    by_source.sort_unstable_by_key(|&at| (messages[at as usize].source, messages[at as usize].order));
    let mut moments: Vec<(Moment, u32)> = Vec::with_capacity(messages.len());
    let mut later: Option<(u32, Moment)> = None;
    for &at in by_source.iter().rev() {
        let message = &messages[at as usize];
        let mut moment = (message.sent_ns, u64::MAX).min(done(at as usize));
        if let Some((source, limit)) = later
            && source == message.source
        {
            moment = moment.min(limit);
        }
        later = Some((message.source, moment));
        moments.push((moment, at));
    }
    moments.sort_unstable_by_key(|&(moment, at)| {
        let message = &messages[at as usize];
        (moment, message.order, message.source)
    });
    moments
}
