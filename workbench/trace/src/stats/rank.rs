// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The queues of one rank: pairs its receives with the messages sent to it and runs both through
//! the PRQ and the UMQ.

use std::collections::{BTreeMap, BTreeSet};

use mb_core::mpi::{ANY_SOURCE, ANY_TAG};

use super::arrivals::{Channel, EventTime, Message, NEVER, arrivals};
use super::numbers::Stats;
use super::queue::Queue;
use crate::communicators::Communicators;
use crate::open::Trace;
use crate::record::{Flags, Kind};

/// A receive or a matched probe.
#[derive(Clone, Copy)]
struct Receive {
    /// When it searches the UMQ.
    at: EventTime,
    /// Index of its record. Orders the receives of a channel.
    order: u64,
    /// Channel of the message that it took, or `None`. Until its Done record is read: communicator,
    /// group of the sources, 0.
    channel: Option<Channel>,
    /// When the call returned that completed it.
    done: EventTime,
    /// The message that it took, as an index into the messages of the rank.
    message: Option<u32>,
    /// MPI does not report what it took ([`Flags::UNKNOWN`]); `channel` is then what was asked for, with wildcards.
    unknown: bool,
}

impl Receive {
    /// Whether the trace says which message it took.
    const fn has_channel(&self) -> bool {
        self.channel.is_some() && !self.unknown
    }
}

/// A call of the rank that changes its queues. The numbers index the receives.
#[derive(Clone, Copy)]
enum Call {
    Receive(u32),
    Cancel(u32),
    /// `MPI_Cancel` of a receive that took a message all the same.
    LateCancel,
}

pub(super) struct RankQueues<'a> {
    pub(super) trace: &'a Trace,
    pub(super) comms: &'a Communicators,
    pub(super) rank: u32,
    pub(super) stats: &'a mut Stats,
    pub(super) tags: &'a mut BTreeSet<i32>,
    pub(super) communicators: &'a mut BTreeSet<u32>,
}

impl RankQueues<'_> {
    /// Counts everything that depends on both the records of this rank and the `messages` sent to
    /// it.
    pub(super) fn count(mut self, messages: &mut [Message]) {
        let (mut receives, calls) = self.read_calls();
        self.count_distinct(&receives);
        messages.sort_unstable_by_key(|message| (message.channel(), message.order));
        self.assign_messages(&mut receives, messages);
        self.assign_unknown(&mut receives, messages);
        self.run_queues(&receives, &calls, messages);
    }

    /// The receives of this rank and the calls that change its queues, from its records.
    fn read_calls(&mut self) -> (Vec<Receive>, Vec<(EventTime, Call)>) {
        let records = self.trace.rank(self.rank);
        let epoch = self.trace.epoch_ns(self.rank);
        let mut receives: Vec<Receive> = Vec::new();
        let mut calls: Vec<(EventTime, Call)> = Vec::new();
        // Receive of each request, plus one. Request numbers count up, so this is at most as long
        // as the rank.
        let mut of_request: Vec<u32> = Vec::new();
        // By thread: when its last wait, receive or probe returns, and the index behind the Done
        // records of that call.
        let mut returns: BTreeMap<u16, EventTime> = BTreeMap::new();
        let mut cancels: Vec<(u32, usize)> = Vec::new();
        let mut now = 0;
        for (index, record) in records.iter().enumerate() {
            let Some(kind) = record.kind() else { continue };
            if kind == Kind::Extra {
                continue;
            }
            // The records of several threads may be slightly out of order.
            now = now.max(epoch.saturating_add(record.wall_ns()));
            let at = (now, index as u64);
            let returned = now.saturating_add(u64::from(record.wall_span_ns));
            match kind {
                Kind::Wait => {
                    let behind = (index as u64).saturating_add(record.aux).saturating_add(1);
                    returns.insert(record.thread, (returned, behind));
                }
                Kind::Probe | Kind::Recv => {
                    returns.insert(record.thread, (returned, index as u64 + 1));
                    if record.is_receiving(kind) {
                        let number = receives.len() as u32;
                        let slot = record.request as usize;
                        if slot >= of_request.len() {
                            of_request.resize(slot + 1, 0);
                        }
                        of_request[slot] = number + 1;
                        let view = self.comms.view(self.rank, record.comm);
                        let channel = Some((view.comm, view.remote, 0));
                        let order = index as u64;
                        receives.push(Receive { at, order, channel, done: NEVER, message: None, unknown: false });
                        if kind == Kind::Recv {
                            calls.push((at, Call::Receive(number)));
                        }
                    }
                }
                Kind::Cancel => {
                    if let Some(number) = of_request.get(record.request as usize).and_then(|slot| slot.checked_sub(1)) {
                        cancels.push((number, calls.len()));
                        calls.push((at, Call::Cancel(number)));
                    }
                }
                Kind::Done => {
                    let (time, behind) = returns.get(&record.thread).copied().unwrap_or_default();
                    for request in record.ended() {
                        let slot = of_request.get_mut(request as usize).map(std::mem::take).unwrap_or_default();
                        let Some(number) = slot.checked_sub(1) else { continue };
                        let receive = &mut receives[number as usize];
                        let started = &records[receive.order as usize];
                        let done = record.done_of(request, started);
                        receive.done = (time.max(returned), behind.max(index as u64));
                        if done.has(Flags::CANCELLED) {
                            self.stats.cancelled += 1;
                            receive.channel = None;
                            continue;
                        }
                        self.stats.received += 1;
                        self.stats.received_bytes = self.stats.received_bytes.saturating_add(done.bytes);
                        receive.unknown = done.has(Flags::UNKNOWN);
                        let (comm, remote, _) = receive.channel.expect("a request is completed once");
                        receive.channel = Some((comm, self.comms.world_rank(remote, done.peer as u32), done.tag));
                        if started.kind == Kind::Probe as u8 {
                            receive.at = at;
                            calls.push((at, Call::Receive(number)));
                        }
                    }
                }
                _ => {}
            }
        }
        for number in of_request.into_iter().filter_map(|slot| slot.checked_sub(1)) {
            let receive = &mut receives[number as usize];
            receive.channel = None;
            self.stats.unfinished += 1;
        }
        for (number, call) in cancels {
            if receives[number as usize].channel.is_some() {
                calls[call].1 = Call::LateCancel;
            }
        }
        (receives, calls)
    }

    /// Counts the sources, tags and communicators of the messages received.
    fn count_distinct(&mut self, receives: &[Receive]) {
        let distinct = |mut all: Vec<u64>| {
            all.sort_unstable();
            all.dedup();
            all
        };
        let channels = || receives.iter().filter(|receive| receive.has_channel()).filter_map(|receive| receive.channel);
        let tags = distinct(channels().map(|(_, _, tag)| tag as u64).collect());
        let communicators = distinct(channels().map(|(comm, _, _)| u64::from(comm)).collect());
        self.stats.sources = distinct(channels().map(|(_, source, _)| u64::from(source)).collect()).len() as u64;
        self.stats.tags = tags.len() as u64;
        self.stats.communicators = communicators.len() as u64;
        self.tags.extend(tags.iter().map(|&tag| tag as i32));
        self.communicators.extend(communicators.iter().map(|&comm| comm as u32));
    }

    /// Assigns the k-th message of each channel to the k-th receive of that channel. `messages` are
    /// sorted by channel.
    fn assign_messages(&mut self, receives: &mut [Receive], messages: &[Message]) {
        let mut order: Vec<u32> =
            (0..receives.len() as u32).filter(|&at| receives[at as usize].has_channel()).collect();
        order.sort_unstable_by_key(|&at| (receives[at as usize].channel, receives[at as usize].order));
        let mut next = 0;
        for at in order {
            let receive = &mut receives[at as usize];
            let wanted = receive.channel.expect("only receives with a channel are in this list");
            while next < messages.len() && messages[next].channel() < wanted {
                next += 1;
            }
            if next < messages.len() && messages[next].channel() == wanted {
                receive.message = Some(next as u32);
                next += 1;
            } else {
                self.stats.without_send += 1;
            }
        }
    }

    /// Assigns the messages that no other receive took to those of which MPI does not report what they took: each
    /// takes the oldest one that it can.
    fn assign_unknown(&self, receives: &mut [Receive], messages: &[Message]) {
        if !receives.iter().any(|receive| receive.unknown) {
            return;
        }
        let mut taken = vec![false; messages.len()];
        for message in receives.iter().filter_map(|receive| receive.message) {
            taken[message as usize] = true;
        }
        let mut left: Vec<u32> = (0..messages.len() as u32).filter(|&at| !taken[at as usize]).collect();
        left.sort_by_key(|&at| (messages[at as usize].sent_ns, messages[at as usize].order));
        let records = self.trace.rank(self.rank);
        for receive in receives.iter_mut().filter(|receive| receive.unknown) {
            let posted = &records[receive.order as usize];
            let view = self.comms.view(self.rank, posted.comm);
            let found = left.iter().position(|&at| {
                let message = &messages[at as usize];
                message.comm == view.comm
                    && (posted.peer == ANY_SOURCE
                        || message.source == self.comms.world_rank(view.remote, posted.peer as u32))
                    && (posted.tag == ANY_TAG || message.tag == posted.tag)
            });
            receive.message = found.map(|at| left.remove(at));
        }
    }

    /// Runs calls and arrivals through both queues in order of time.
    fn run_queues(&mut self, receives: &[Receive], calls: &[(EventTime, Call)], messages: &[Message]) {
        const NO_RECEIVE: u32 = u32::MAX;
        let mut receive_of = vec![NO_RECEIVE; messages.len()];
        for (number, receive) in receives.iter().enumerate() {
            if let Some(message) = receive.message {
                receive_of[message as usize] = number as u32;
            }
        }
        self.stats.never_received += receive_of.iter().filter(|&&receive| receive == NO_RECEIVE).count() as u64;
        let arrivals = arrivals(messages, |message| match receive_of[message] {
            NO_RECEIVE => NEVER,
            receive => receives[receive as usize].done,
        });
        let (mut posted, mut unexpected) = (Queue::new(receives.len()), Queue::new(messages.len()));
        let mut arrivals = arrivals.into_iter().peekable();
        let mut calls = calls.iter().peekable();
        loop {
            let arrival_is_next = match (arrivals.peek(), calls.peek()) {
                (None, None) => break,
                (Some((time, _)), Some((at, _))) => time < at,
                (arrival, _) => arrival.is_some(),
            };
            if arrival_is_next {
                let (_, message) = arrivals.next().expect("it was peeked");
                self.stats.posted_length.add(posted.length());
                let receive = receive_of[message as usize];
                if let Some(depth) = (receive != NO_RECEIVE).then(|| posted.remove(receive)).flatten() {
                    self.stats.posted_depth.add(depth);
                } else {
                    self.stats.unexpected += 1;
                    unexpected.append(message);
                }
                continue;
            }
            match calls.next().expect("it was peeked").1 {
                Call::Receive(number) => {
                    self.stats.unexpected_length.add(unexpected.length());
                    let message = receives[number as usize].message;
                    if let Some(depth) = message.and_then(|message| unexpected.remove(message)) {
                        self.stats.unexpected_depth.add(depth);
                    } else {
                        posted.append(number);
                    }
                }
                Call::Cancel(number) => {
                    posted.remove(number);
                }
                Call::LateCancel => {}
            }
        }
        self.stats.posted_max = posted.longest();
        self.stats.unexpected_max = unexpected.longest();
    }
}
