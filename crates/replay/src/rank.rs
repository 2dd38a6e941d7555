// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One rank: its program, its NIC, its receive engine.
//!
//! [`Rank::advance`] runs everything that happens at this rank before a given time, in order of time; at equal times the engine comes first, then
//! messages from the network, collectives, the program. What other ranks must know leaves through [`Outside::outbox`] and arrives at least one network
//! latency later, so ranks can run one after the other within a window of that length.
//!
//! Records are executed in the order of the file. Each thread has a clock of its own; a record starts when its thread is ready and no earlier
//! than the records before it started. Compute time is the thread's CPU time between the end of one call and the begin of the next.

use std::collections::{BTreeMap, VecDeque};

use mb_core::engine::{Accepted, Completion, Engine};
use mb_core::matching::{Envelope, Initiator, MsgId, Op, Outcome, Pattern, ProbeId, RecvId};
use mb_core::mpi::{self, Context, PROC_NULL, Traffic};
use mb_core::time::Picos;
use mb_trace::{CollectiveOp, Communicators, Flags, Kind, Record};

use crate::assignment::{Assignment, Held, is_receiving, pattern_of};
use crate::collective::{Call, Step};
use crate::config::{ReplayConfig, Wildcards};
use crate::network::Times;
use crate::report::Totals;
use crate::requests::{NO_WAITER, Requests, State};
use crate::slab::Slab;
use crate::stats::{Depths, Timeline};

/// What all ranks share and none changes.
pub(crate) struct World<'a> {
    pub(crate) communicators: &'a Communicators,
    pub(crate) config: &'a ReplayConfig,
    pub(crate) times: Times,
    /// The engine runs on the rank's processor.
    pub(crate) host: bool,
}

/// What a rank leaves for others while it runs.
pub(crate) struct Outside {
    /// Items for other ranks, with their world ranks.
    pub(crate) outbox: Vec<(u32, Item)>,
    pub(crate) depths: Depths,
    pub(crate) timeline: Timeline,
    /// Scratch space.
    done: Vec<Completion>,
    finished: Vec<Finished>,
}

impl Outside {
    pub(crate) fn new() -> Self {
        Self {
            outbox: Vec::new(),
            depths: Depths::default(),
            timeline: Timeline::new(),
            done: Vec::new(),
            finished: Vec::new(),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ItemKind {
    /// Header and data of a message.
    Eager,
    /// Header of a message whose data waits for a reply. `token`: the sender's slot.
    Announce,
    /// The receiver is ready. `token`: the sender's slot; `tag`: the receiver's message slot; `bytes`: the time in ps that matching took.
    Reply,
    /// Data of an announced message. `token`: the receiver's message slot.
    Data,
}

/// Something that crosses the network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item {
    /// When its first byte reaches the receiver's NIC.
    pub(crate) at: Picos,
    pub(crate) bytes: u64,
    /// World rank of the sender.
    pub(crate) source: u32,
    comm: u32,
    tag: u32,
    token: u32,
    kind: ItemKind,
    traffic: Traffic,
}

impl Item {
    fn envelope(&self) -> Envelope {
        mpi::envelope(Context::new(self.comm), self.traffic, Initiator(self.source), self.tag)
    }

    /// Order of arrival. A reply goes before what its sender injects at the same time, whichever was known first.
    fn key(&self) -> (Picos, u32, bool) {
        (self.at, self.source, self.kind != ItemKind::Reply)
    }
}

/// Who learns that an operation is complete.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Target {
    Nobody,
    Request(u32),
    /// The thread is in a blocking send.
    Thread(u16),
    Schedule(u32),
}

/// A posted receive.
#[derive(Clone, Copy, Debug)]
struct Receive {
    target: Target,
    offered: Picos,
    room: u64,
    /// Position among the receives of its rank.
    ordinal: u32,
    /// Thread that waits for the engine's answer to the post, or `NO_WAITER`.
    poster: u16,
    listed: bool,
}

/// A message between its header's arrival and its receive's completion.
#[derive(Clone, Copy, Debug)]
struct Message {
    envelope: Envelope,
    bytes: u64,
    offered: Picos,
    /// When an eager message's data are there.
    ready: Picos,
    /// Ordinal of the receive that took it in the recording.
    ordinal: u32,
    /// Sender's slot.
    token: u32,
    announced: bool,
    listed: bool,
    /// Once matched: whose receive, and how long matching took.
    target: Target,
    delay: Picos,
}

/// A send that waits for its reply.
#[derive(Clone, Copy, Debug)]
struct Sending {
    target: Target,
    destination: u32,
    bytes: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Activity {
    Ready,
    /// In a wait, a blocking receive: `pending` requests are missing.
    Waiting,
    /// For the engine's answer to a post or cancel.
    Answering,
    /// In a blocking send.
    Sending,
    Probing,
    Collective,
}

#[derive(Clone, Copy, Debug)]
struct Thread {
    clock: Picos,
    cpu_end_ns: u64,
    activity: Activity,
    /// When the call began that it is in.
    begin: Picos,
    pending: u32,
    /// Record of the call.
    record: usize,
    probe: Probing,
}

#[derive(Clone, Copy, Debug)]
struct Probing {
    pattern: Pattern,
    /// What the recording's probe found, if it found something.
    wanted: Option<Envelope>,
    /// `MPI_Mprobe` forms: position among the receives.
    ordinal: Option<u32>,
    /// The recorded call found nothing.
    miss: bool,
    /// The engine found nothing so far.
    idle: bool,
}

/// A completed request, as a wait sees it.
#[derive(Clone, Copy, Debug)]
struct Finished {
    at: Picos,
    ideal: Picos,
    overhead: bool,
}

enum Later {
    /// The receive is matched or cancelled: messages that waited for it may go on.
    Close(u32),
    /// The thread's probe is offered again.
    Probe(u16),
}

/// A collective in progress.
struct Schedule {
    steps: Vec<Step>,
    next: usize,
    pending: u32,
    /// When the next round begins; `MAX` while one is under way.
    next_at: Picos,
    /// Latest completion of the round, and what it would be with an engine that takes no time.
    time: Picos,
    ideal: Picos,
    received: u32,
    /// Delay by matching over all rounds.
    delay: Picos,
    target: Target,
    comm: u32,
    group: u32,
    tag: u32,
}

pub(crate) struct Rank<'a> {
    pub(crate) id: u32,
    records: &'a [Record],
    pub(crate) cursor: usize,
    floor: Picos,
    threads: Vec<Thread>,
    program_at: Picos,
    stale: bool,
    pub(crate) finished: bool,

    engine: Box<dyn Engine>,
    engine_at: Picos,
    backlog: VecDeque<Op>,
    retry_at: Picos,

    tx_free: Picos,
    rx_free: Picos,
    pub(crate) incoming: Vec<Item>,
    queue: VecDeque<Item>,

    receives: Slab<Receive>,
    messages: Slab<Message>,
    sends: Slab<Sending>,
    requests: Requests,
    schedules: Vec<Option<Box<Schedule>>>,
    schedule_at: Picos,
    collectives_of: BTreeMap<u32, u32>,

    assignment: Option<Box<Assignment<Item>>>,
    ordinal: u32,
    /// What an answer of the engine sets off, at the time of that answer, in order of time.
    later: VecDeque<(Picos, Later)>,
    /// Messages taken by matched probes, by the probe's number.
    taken: BTreeMap<u32, u32>,
    cancelling: Vec<(u32, u16)>,
    idle_probes: u32,

    posted: u32,
    unexpected: u32,
    pub(crate) totals: Totals,
}

impl<'a> Rank<'a> {
    pub(crate) fn new(world: &World, id: u32, records: &'a [Record], engine: Box<dyn Engine>) -> Self {
        let mut rank = Self {
            id,
            records,
            cursor: 0,
            floor: Picos::ZERO,
            threads: Vec::new(),
            program_at: Picos::MAX,
            stale: true,
            finished: false,
            engine,
            engine_at: Picos::MAX,
            backlog: VecDeque::new(),
            retry_at: Picos::MAX,
            tx_free: Picos::ZERO,
            rx_free: Picos::ZERO,
            incoming: Vec::new(),
            queue: VecDeque::new(),
            receives: Slab::default(),
            messages: Slab::default(),
            sends: Slab::default(),
            requests: Requests::default(),
            schedules: Vec::new(),
            schedule_at: Picos::MAX,
            collectives_of: BTreeMap::new(),
            assignment: Assignment::new(world.communicators, id, records).map(Box::new),
            ordinal: 0,
            later: VecDeque::new(),
            taken: BTreeMap::new(),
            cancelling: Vec::new(),
            idle_probes: 0,
            posted: 0,
            unexpected: 0,
            totals: Totals::default(),
        };
        rank.look_ahead(world);
        rank
    }

    /// When something happens here next, as far as this rank knows.
    pub(crate) fn next_event(&self) -> Picos {
        let item = self.queue.front().map_or(Picos::MAX, |item| item.at.max(self.rx_free));
        let later = self.later.front().map_or(Picos::MAX, |(at, _)| *at);
        item.min(later).min(self.program_at).min(self.engine_at).min(self.retry_at).min(self.schedule_at)
    }

    /// Runs all that happens before `until`.
    pub(crate) fn advance(&mut self, world: &World, until: Picos, out: &mut Outside) {
        self.sort_in();
        loop {
            if self.stale {
                self.look_ahead(world);
            }
            let now = self.next_event();
            if now >= until {
                return;
            }
            if now == self.engine_at {
                self.engine.run_until(now, &mut out.done);
                self.answers(world, out);
                self.retry(world, now, out);
            } else if now == self.retry_at {
                self.retry(world, now, out);
            } else if self.later.front().is_some_and(|(at, _)| *at == now) {
                match self.later.pop_front() {
                    Some((_, Later::Close(ordinal))) => self.close(world, now, ordinal, out),
                    Some((_, Later::Probe(thread))) => self.offer_probe(world, now, thread, out),
                    None => {}
                }
            } else if self.queue.front().is_some_and(|item| item.at.max(self.rx_free) == now) {
                let item = self.queue.pop_front().expect("an item was at the front");
                self.receive_item(world, now, item, out);
            } else if now == self.schedule_at {
                self.run_schedules(world, now, out);
            } else {
                self.step(world, now, out);
            }
        }
    }

    /// Merges `incoming` into the queue, by time, then source; one source's items keep their order.
    fn sort_in(&mut self) {
        if self.incoming.is_empty() {
            return;
        }
        self.incoming.sort_by_key(Item::key);
        let first = self.incoming[0].key();
        let mut later = Vec::new();
        while self.queue.back().is_some_and(|item| item.key() > first) {
            later.extend(self.queue.pop_back());
        }
        let mut new = self.incoming.drain(..).peekable();
        while let Some(old) = later.pop() {
            while let Some(item) = new.next_if(|item| item.key() < old.key()) {
                self.queue.push_back(item);
            }
            self.queue.push_back(old);
        }
        self.queue.extend(new);
    }

    // ---- the program ------------------------------------------------------------------------------------------

    /// Finds the next record and when it can start.
    fn look_ahead(&mut self, world: &World) {
        self.stale = false;
        loop {
            let Some(record) = self.records.get(self.cursor) else {
                self.program_at = Picos::MAX;
                if !self.finished && self.threads.iter().all(|thread| thread.activity == Activity::Ready) {
                    self.finished = true;
                    let end = self.threads.iter().map(|thread| thread.clock).max();
                    self.totals.time = end.unwrap_or(Picos::ZERO);
                }
                return;
            };
            if record.kind == Kind::Extra as u8 {
                self.cursor += 1;
                continue;
            }
            let thread = usize::from(record.thread);
            if thread >= self.threads.len() {
                self.add_threads(thread);
            }
            let state = &mut self.threads[thread];
            if state.cpu_end_ns == u64::MAX {
                // A thread's time before its first call is not in the trace: it is taken to start here.
                state.clock = self.floor;
                state.cpu_end_ns = record.cpu_ns;
            }
            if state.activity != Activity::Ready {
                self.program_at = Picos::MAX;
                return;
            }
            if record.kind == Kind::Done as u8 {
                self.cursor += 1;
                continue;
            }
            let compute = compute_time(world, record.cpu_ns.saturating_sub(state.cpu_end_ns));
            self.program_at = (state.clock + compute).max(self.floor);
            return;
        }
    }

    #[cold]
    fn add_threads(&mut self, last: usize) {
        let pattern = Pattern { bits: 0, ignore: 0, initiator: None };
        let fresh = Thread {
            clock: Picos::ZERO,
            cpu_end_ns: u64::MAX,
            activity: Activity::Ready,
            begin: Picos::ZERO,
            pending: 0,
            record: 0,
            probe: Probing { pattern, wanted: None, ordinal: None, miss: false, idle: false },
        };
        self.threads.resize(last + 1, fresh);
    }

    /// Executes the next record at time `now`.
    fn step(&mut self, world: &World, now: Picos, out: &mut Outside) {
        let records = self.records;
        let record = &records[self.cursor];
        let thread = record.thread;
        let state = &mut self.threads[usize::from(thread)];
        let compute = compute_time(world, record.cpu_ns.saturating_sub(state.cpu_end_ns));
        self.totals.compute += compute;
        state.clock = now;
        state.begin = now;
        state.record = self.cursor;
        state.cpu_end_ns = record.cpu_ns.saturating_add(u64::from(record.cpu_span_ns));
        self.floor = now;
        self.cursor += 1;
        self.stale = true;
        match record.kind() {
            Some(Kind::Send) => self.send(world, now, thread, record, out),
            Some(Kind::Recv) => self.receive(world, now, thread, record, out),
            Some(Kind::Wait) => self.wait(world, thread, record.aux, out),
            Some(Kind::Probe) => self.probe(world, now, thread, record, false, out),
            Some(Kind::Miss) if record.has(Flags::PROBE) => self.probe(world, now, thread, record, true, out),
            Some(Kind::Cancel) => self.cancel(world, now, thread, record.request, out),
            Some(Kind::Free) => self.free(record.request),
            Some(Kind::Collective) => self.collective(world, now, thread, record, out),
            // Nothing of these takes part in communication as far as it is modelled; a done record's wait has done its work.
            Some(
                Kind::Init
                | Kind::Finalize
                | Kind::Comm
                | Kind::CommFree
                | Kind::Other
                | Kind::Miss
                | Kind::Done
                | Kind::Extra,
            )
            | None => {}
        }
    }

    /// The thread's call ends at `clock`.
    fn resume(&mut self, thread: u16, clock: Picos) {
        let state = &mut self.threads[usize::from(thread)];
        self.totals.in_mpi += clock - state.begin;
        state.clock = clock;
        state.activity = Activity::Ready;
        self.stale = true;
    }

    fn send(&mut self, world: &World, now: Picos, thread: u16, record: &Record, out: &mut Outside) {
        let blocking = record.has(Flags::BLOCKING);
        if record.peer == PROC_NULL {
            if !blocking {
                self.requests.insert(record.request, State::Finished { at: now, ideal: now, overhead: false });
            }
            return;
        }
        let view = world.communicators.view(self.id, record.comm);
        let destination = world.communicators.world_rank(view.remote, record.peer as u32);
        let clock = now + world.times.send_overhead;
        let announced = record.bytes > world.times.eager_limit.0 || record.has(Flags::SYNCHRONOUS);
        let local = !announced || record.has(Flags::BUFFERED);
        let target = match (local, blocking) {
            (true, _) => Target::Nobody,
            (false, true) => Target::Thread(thread),
            (false, false) => Target::Request(record.request),
        };
        let message =
            Outgoing { destination, comm: view.comm, tag: record.tag as u32, bytes: record.bytes, announced, target };
        self.totals.sent_user += 1;
        self.transmit(world, clock, Traffic::User, message, out);
        if !blocking {
            let finished = State::Finished { at: clock, ideal: clock, overhead: false };
            self.requests.insert(record.request, if local { finished } else { State::Pending });
        } else if !local {
            self.threads[usize::from(thread)].activity = Activity::Sending;
            return;
        }
        self.resume(thread, clock);
    }

    fn receive(&mut self, world: &World, now: Picos, thread: u16, record: &Record, out: &mut Outside) {
        let blocking = record.has(Flags::BLOCKING);
        if record.peer == PROC_NULL {
            if !blocking {
                self.requests.insert(record.request, State::Finished { at: now, ideal: now, overhead: false });
            }
            return;
        }
        let target = Target::Request(record.request);
        let ordinal = self.ordinal;
        let slot = if record.has(Flags::MATCHED) {
            self.requests.insert(record.request, State::Pending);
            None
        } else {
            self.ordinal += 1;
            let poster = if world.host && !blocking { thread } else { NO_WAITER };
            let receive = Receive { target, offered: now, room: record.bytes, ordinal, poster, listed: false };
            let slot = self.receives.insert(receive);
            self.requests.insert(record.request, State::Receiving(slot));
            Some(slot)
        };
        let state = &mut self.threads[usize::from(thread)];
        if blocking {
            state.activity = Activity::Waiting;
            state.pending = 1;
            self.requests.get_mut(record.request).expect("it was inserted above").waiter = thread;
        } else if world.host && slot.is_some() {
            state.activity = Activity::Answering;
        }
        if let Some(slot) = slot {
            let pattern = pattern_of(world.communicators, self.id, record.comm, record.peer, record.tag);
            self.offer(world, now, Op::Post { recv: RecvId(u64::from(slot)), pattern }, out);
        } else if let Some(slot) = self.taken.remove(&(record.aux as u32)) {
            let message = *self.messages.at(slot);
            self.totals.truncated += u64::from(message.bytes > record.bytes);
            self.transfer(world, slot, target, now, now, out);
        }
    }

    /// A wait for the `count` requests that the thread's next done records name.
    fn wait(&mut self, world: &World, thread: u16, count: u64, out: &mut Outside) {
        let mut pending = 0;
        let mut left = count;
        for record in &self.records[self.cursor..] {
            if left == 0 {
                break;
            }
            if record.kind == Kind::Done as u8 && record.thread == thread {
                left -= 1;
                if let Some(entry) = self.requests.get_mut(record.request)
                    && !matches!(entry.state, State::Finished { .. })
                {
                    entry.waiter = thread;
                    pending += 1;
                }
            }
        }
        let state = &mut self.threads[usize::from(thread)];
        state.pending = pending;
        state.activity = Activity::Waiting;
        if pending == 0 {
            self.finish_wait(world, thread, out);
        }
    }

    /// All requests of the thread's wait or blocking receive are complete: the processor handles them in order of completion.
    fn finish_wait(&mut self, world: &World, thread: u16, out: &mut Outside) {
        let state = &self.threads[usize::from(thread)];
        let (begin, at) = (state.begin, state.record);
        let records = self.records;
        let finished = &mut out.finished;
        finished.clear();
        let mut take = |number| {
            if let Some(entry) = self.requests.remove(number)
                && let State::Finished { at, ideal, overhead } = entry.state
            {
                finished.push(Finished { at, ideal, overhead });
            }
        };
        let call = &records[at];
        if call.kind == Kind::Wait as u8 {
            let own = |record: &&Record| record.kind == Kind::Done as u8 && record.thread == thread;
            records[at + 1..].iter().filter(own).take(call.aux as usize).for_each(|record| take(record.request));
        } else {
            take(call.request);
        }
        if self.threads.len() == 1 && call.kind == Kind::Wait as u8 {
            // Nothing stands between the wait and its done records.
            self.cursor = records.len().min(at + 1 + call.aux as usize);
        }
        let overhead = world.times.recv_overhead;
        let end = |finished: &[Finished], time: fn(&Finished) -> Picos| {
            finished.iter().fold(begin, |clock, one| {
                let clock = clock.max(time(one));
                if one.overhead { clock + overhead } else { clock }
            })
        };
        if !finished.is_sorted_by_key(|one| one.at) {
            finished.sort_unstable_by_key(|one| one.at);
        }
        let clock = end(finished, |one| one.at);
        if finished.iter().any(|one| one.ideal != one.at) {
            finished.sort_unstable_by_key(|one| one.ideal);
            let ideal = end(finished, |one| one.ideal);
            self.totals.blocked_on_matching += clock.saturating_sub(ideal);
        }
        self.resume(thread, clock);
    }

    fn cancel(&mut self, world: &World, now: Picos, thread: u16, number: u32, out: &mut Outside) {
        let Some(entry) = self.requests.get_mut(number) else { return };
        let State::Receiving(slot) = entry.state else { return };
        if world.host {
            self.threads[usize::from(thread)].activity = Activity::Answering;
            self.cancelling.push((slot, thread));
        }
        self.offer(world, now, Op::Cancel { recv: RecvId(u64::from(slot)) }, out);
    }

    fn free(&mut self, number: u32) {
        let Some(entry) = self.requests.get_mut(number) else { return };
        if matches!(entry.state, State::Finished { .. }) {
            self.requests.remove(number);
        } else {
            entry.state = State::Detached;
        }
    }

    // ---- probes -----------------------------------------------------------------------------------------------

    fn probe(&mut self, world: &World, now: Picos, thread: u16, record: &Record, miss: bool, out: &mut Outside) {
        if record.peer == PROC_NULL {
            return;
        }
        let ordinal = (!miss && is_receiving(Kind::Probe, record)).then(|| {
            self.ordinal += 1;
            self.ordinal - 1
        });
        let done = self.records[self.cursor..]
            .iter()
            .find(|next| next.thread == thread && next.kind != Kind::Extra as u8)
            .filter(|next| !miss && next.kind == Kind::Done as u8 && next.request == record.request);
        let view = world.communicators.view(self.id, record.comm);
        let wanted = done.filter(|done| done.peer >= 0 && done.tag >= 0).map(|done| {
            let source = Initiator(world.communicators.world_rank(view.remote, done.peer as u32));
            mpi::envelope(Context::new(view.comm), Traffic::User, source, done.tag as u32)
        });
        let pattern = pattern_of(world.communicators, self.id, record.comm, record.peer, record.tag);
        let state = &mut self.threads[usize::from(thread)];
        state.activity = Activity::Probing;
        state.probe = Probing { pattern, wanted, ordinal, miss, idle: false };
        self.offer_probe(world, now, thread, out);
    }

    fn offer_probe(&mut self, world: &World, now: Picos, thread: u16, out: &mut Outside) {
        let Probing { pattern, ordinal, .. } = self.threads[usize::from(thread)].probe;
        let probe = ProbeId(u64::from(thread));
        let op = if ordinal.is_some() { Op::MatchedProbe { probe, pattern } } else { Op::Probe { probe, pattern } };
        self.offer(world, now, op, out);
    }

    /// A probe's answer at `at`.
    fn probed(&mut self, world: &World, thread: u16, found: Option<MsgId>, at: Picos) {
        let Thread { probe, record, .. } = self.threads[usize::from(thread)];
        let Some(slot) = found.map(|msg| msg.0 as u32) else {
            if probe.miss {
                self.resume(thread, at);
            } else {
                self.threads[usize::from(thread)].probe.idle = true;
                self.idle_probes += 1;
            }
            return;
        };
        let envelope = self.messages.at(slot).envelope;
        let other = probe.wanted.is_some_and(|wanted| wanted != envelope);
        if let Some(ordinal) = probe.ordinal {
            let message = self.messages.at(slot);
            self.totals.diverged += u64::from(self.assignment.is_some() && message.ordinal != ordinal);
            self.unexpected -= 1;
            self.totals.received += 1;
            self.taken.insert(self.records[record].request, slot);
            if self.assignment.is_some() {
                self.set_off(at, Later::Close(ordinal));
            }
        } else if other {
            let there = |(slot, message): (u32, &Message)| {
                message.listed && Some(message.envelope) == probe.wanted && !self.is_taken(slot)
            };
            let recorded = world.config.wildcards == Wildcards::Recorded;
            if recorded && !self.messages.live().any(there) {
                self.threads[usize::from(thread)].probe.idle = true;
                self.idle_probes += 1;
                return;
            }
            self.totals.probes_diverged += 1;
        }
        self.resume(thread, at);
    }

    /// Whether a matched probe has taken the message in `slot`.
    fn is_taken(&self, slot: u32) -> bool {
        self.taken.values().any(|taken| *taken == slot)
    }

    /// An unexpected message came: whose probe looks for it?
    #[cold]
    fn wake_probes(&mut self, world: &World, envelope: Envelope, at: Picos) {
        let mut woken = Vec::new();
        for (number, thread) in (0..).zip(&mut self.threads) {
            let probe = &mut thread.probe;
            if thread.activity != Activity::Probing || !probe.idle {
                continue;
            }
            let fits = match probe.wanted {
                Some(wanted) if world.config.wildcards == Wildcards::Recorded => wanted == envelope,
                _ => probe.pattern.accepts(&envelope),
            };
            if fits {
                probe.idle = false;
                self.idle_probes -= 1;
                woken.push(number);
            }
        }
        for thread in woken {
            self.set_off(at, Later::Probe(thread));
        }
    }

    // ---- the engine -------------------------------------------------------------------------------------------

    #[inline]
    fn offer(&mut self, world: &World, now: Picos, op: Op, out: &mut Outside) {
        if !self.backlog.is_empty() {
            self.backlog.push_back(op);
            return;
        }
        self.offer_now(world, now, op, out);
    }

    #[inline]
    fn offer_now(&mut self, world: &World, now: Picos, op: Op, out: &mut Outside) -> bool {
        match self.engine.offer(now, op) {
            Accepted::Yes => {
                self.totals.operations += 1;
                self.engine.settle(&mut out.done);
                self.answers(world, out);
                true
            }
            Accepted::Busy { retry_at } => {
                self.totals.busy_answers += 1;
                self.retry_at = retry_at;
                self.engine_at = self.engine.next_event().unwrap_or(Picos::MAX);
                self.backlog.push_front(op);
                false
            }
        }
    }

    fn retry(&mut self, world: &World, now: Picos, out: &mut Outside) {
        self.retry_at = Picos::MAX;
        while let Some(op) = self.backlog.pop_front() {
            if !self.offer_now(world, now, op, out) {
                return;
            }
        }
    }

    /// Handles what the engine handed out.
    #[inline]
    fn answers(&mut self, world: &World, out: &mut Outside) {
        self.engine_at = self.engine.next_event().unwrap_or(Picos::MAX);
        let mut done = std::mem::take(&mut out.done);
        for completion in done.drain(..) {
            self.answer(world, completion, out);
        }
        out.done = done;
    }

    fn answer(&mut self, world: &World, Completion { at, outcome, visits }: Completion, out: &mut Outside) {
        let searched = !matches!(outcome, Outcome::Cancelled(_) | Outcome::NotCancelled(_));
        if searched {
            self.totals.searches += 1;
            self.totals.visits += u64::from(visits);
            self.totals.visits_max = self.totals.visits_max.max(visits);
        }
        match outcome {
            Outcome::Posted(recv) => {
                let receive = self.receives.at(recv.0 as u32);
                receive.listed = true;
                let poster = receive.poster;
                self.posted += 1;
                self.totals.posted_max = self.totals.posted_max.max(self.posted);
                self.answer_poster(poster, at);
            }
            Outcome::Unexpected(msg) => {
                let message = self.messages.at(msg.0 as u32);
                message.listed = true;
                let envelope = message.envelope;
                self.unexpected += 1;
                self.totals.unexpected += 1;
                self.totals.unexpected_max = self.totals.unexpected_max.max(self.unexpected);
                if self.idle_probes > 0 {
                    self.wake_probes(world, envelope, at);
                }
            }
            Outcome::Matched(recv, msg) => self.matched(world, recv, msg, at, visits, out),
            Outcome::Cancelled(recv) => {
                let receive = self.receives.remove(recv.0 as u32);
                self.posted -= 1;
                self.totals.cancelled += 1;
                if self.assignment.is_some() {
                    self.set_off(at, Later::Close(receive.ordinal));
                }
                self.answer_cancel(recv, at);
                self.complete(world, receive.target, Finished { at, ideal: at, overhead: false }, out);
            }
            Outcome::NotCancelled(recv) => self.answer_cancel(recv, at),
            Outcome::Probed(probe, found) => self.probed(world, probe.0 as u16, found, at),
        }
        out.timeline.add(at, self.posted, self.unexpected);
    }

    fn matched(&mut self, world: &World, recv: RecvId, msg: MsgId, at: Picos, visits: u32, out: &mut Outside) {
        let receive = self.receives.remove(recv.0 as u32);
        let message = self.messages.at(msg.0 as u32);
        let offered = receive.offered.max(message.offered);
        self.posted -= u32::from(receive.listed);
        self.unexpected -= u32::from(message.listed);
        self.totals.received += 1;
        self.totals.truncated += u64::from(message.bytes > receive.room);
        let latency = at - offered;
        self.totals.match_latency.add(latency);
        out.depths.add(visits, latency);
        if self.assignment.is_some() && receive.ordinal != u32::MAX {
            self.totals.diverged += u64::from(message.ordinal != receive.ordinal);
            self.set_off(at, Later::Close(receive.ordinal));
        }
        if !receive.listed {
            self.answer_poster(receive.poster, at);
        }
        self.transfer(world, msg.0 as u32, receive.target, at, offered, out);
    }

    fn answer_poster(&mut self, poster: u16, at: Picos) {
        if poster != NO_WAITER {
            self.totals.blocked_on_matching += at - self.threads[usize::from(poster)].begin;
            self.resume(poster, at);
        }
    }

    fn answer_cancel(&mut self, recv: RecvId, at: Picos) {
        if let Some(found) = self.cancelling.iter().position(|(slot, _)| u64::from(*slot) == recv.0) {
            let (_, thread) = self.cancelling.swap_remove(found);
            self.resume(thread, at);
        }
    }

    fn close(&mut self, world: &World, now: Picos, ordinal: u32, out: &mut Outside) {
        let waiting = self.assignment.as_mut().map_or_else(Vec::new, |assignment| assignment.close(ordinal));
        for held in waiting {
            self.admit(world, now, held, out);
        }
    }

    fn set_off(&mut self, at: Picos, what: Later) {
        let after = self.later.iter().rposition(|(earlier, _)| *earlier <= at).map_or(0, |found| found + 1);
        self.later.insert(after, (at, what));
    }

    /// The message in `slot` goes to `target`'s buffer: matched at `matched`, which a faster engine would have known at `ideal`.
    fn transfer(&mut self, world: &World, slot: u32, target: Target, matched: Picos, ideal: Picos, out: &mut Outside) {
        let message = self.messages.at(slot);
        if message.announced {
            message.target = target;
            message.delay = matched - ideal;
            let reply = Item {
                at: matched,
                bytes: message.delay.0,
                source: self.id,
                comm: 0,
                tag: slot,
                token: message.token,
                kind: ItemKind::Reply,
                traffic: Traffic::User,
            };
            let destination = message.envelope.initiator.0;
            self.launch(world, destination, matched, reply, out);
            return;
        }
        let message = self.messages.remove(slot);
        let copy = if message.listed { times(world.times.copy_per_byte, message.bytes) } else { Picos::ZERO };
        let finished =
            Finished { at: matched.max(message.ready) + copy, ideal: ideal.max(message.ready) + copy, overhead: true };
        self.complete(world, target, finished, out);
    }

    fn complete(&mut self, world: &World, target: Target, finished: Finished, out: &mut Outside) {
        match target {
            Target::Nobody => {}
            Target::Request(number) => {
                let Some(entry) = self.requests.get_mut(number) else { return };
                if entry.state == State::Detached {
                    self.requests.remove(number);
                    return;
                }
                let Finished { at, ideal, overhead } = finished;
                entry.state = State::Finished { at, ideal, overhead };
                let waiter = entry.waiter;
                if waiter != NO_WAITER {
                    let thread = &mut self.threads[usize::from(waiter)];
                    thread.pending -= 1;
                    if thread.pending == 0 {
                        self.finish_wait(world, waiter, out);
                    }
                }
            }
            Target::Thread(thread) => {
                self.totals.blocked_on_matching += finished.at.saturating_sub(finished.ideal);
                self.resume(thread, finished.at);
            }
            Target::Schedule(number) => {
                let schedule = self.schedules[number as usize].as_mut().expect("a schedule lives until its last round");
                schedule.time = schedule.time.max(finished.at);
                schedule.ideal = schedule.ideal.max(finished.ideal);
                schedule.pending -= 1;
                if schedule.pending == 0 {
                    self.round_done(world, number, out);
                }
            }
        }
    }

    // ---- the NIC ----------------------------------------------------------------------------------------------

    /// Sends `message`, which the processor has handed over at `ready`.
    fn transmit(&mut self, world: &World, ready: Picos, traffic: Traffic, message: Outgoing, out: &mut Outside) {
        let Outgoing { destination, comm, tag, bytes, announced, target } = message;
        self.totals.sent += 1;
        self.totals.sent_bytes = self.totals.sent_bytes.saturating_add(bytes);
        let (kind, token, occupied) = if announced {
            (ItemKind::Announce, self.sends.insert(Sending { target, destination, bytes }), Picos::ZERO)
        } else {
            (ItemKind::Eager, 0, times(world.times.per_byte, bytes))
        };
        let inject = self.occupy_sender(world, destination, ready, occupied);
        let item = Item { at: inject, bytes, source: self.id, comm, tag, token, kind, traffic };
        self.launch(world, destination, inject, item, out);
    }

    /// When the NIC can begin to send; it is then busy for `occupied` or the gap.
    fn occupy_sender(&mut self, world: &World, destination: u32, ready: Picos, occupied: Picos) -> Picos {
        if destination == self.id {
            return ready;
        }
        let inject = ready.max(self.tx_free);
        self.tx_free = inject + occupied.max(world.times.gap);
        inject
    }

    /// `item` leaves at `leaves`. What a rank sends to itself does not cross the network.
    fn launch(&mut self, world: &World, destination: u32, leaves: Picos, item: Item, out: &mut Outside) {
        if destination == self.id {
            let item = Item { at: leaves, ..item };
            let after = self.queue.iter().rposition(|earlier| earlier.key() <= item.key()).map_or(0, |at| at + 1);
            self.queue.insert(after, item);
        } else {
            out.outbox.push((destination, Item { at: leaves + world.times.latency, ..item }));
        }
    }

    /// The first byte of `item` is taken in by the NIC at `now`.
    fn receive_item(&mut self, world: &World, now: Picos, item: Item, out: &mut Outside) {
        let carried = if matches!(item.kind, ItemKind::Eager | ItemKind::Data) { item.bytes } else { 0 };
        let local = item.source == self.id;
        let taken = if local { Picos::ZERO } else { times(world.times.per_byte, carried) };
        if !local {
            self.rx_free = now + taken.max(world.times.gap);
        }
        match item.kind {
            ItemKind::Eager | ItemKind::Announce => {
                let envelope = item.envelope();
                let ordinal = match &mut self.assignment {
                    Some(assignment) if item.traffic == Traffic::User => assignment.arrival(&envelope),
                    _ => u32::MAX,
                };
                let admitted = self.admit(world, now, Held { item, envelope, ordinal, since: now }, out);
                self.totals.held_messages += u64::from(!admitted);
            }
            ItemKind::Reply => {
                let sending = self.sends.remove(item.token);
                let occupied = times(world.times.per_byte, sending.bytes);
                let inject = self.occupy_sender(world, sending.destination, now, occupied);
                let data = Item {
                    at: inject,
                    bytes: sending.bytes,
                    source: self.id,
                    token: item.tag,
                    kind: ItemKind::Data,
                    ..item
                };
                self.launch(world, sending.destination, inject, data, out);
                let at = inject + if local { Picos::ZERO } else { occupied };
                let finished = Finished { at, ideal: at.saturating_sub(Picos(item.bytes)), overhead: false };
                self.complete(world, sending.target, finished, out);
            }
            ItemKind::Data => {
                let message = self.messages.remove(item.token);
                let at = now + taken;
                let finished = Finished { at, ideal: at.saturating_sub(message.delay), overhead: true };
                self.complete(world, message.target, finished, out);
            }
        }
    }

    /// Offers a message to the engine, unless a bound receive must be closed first; says whether it was offered.
    fn admit(&mut self, world: &World, now: Picos, held: Held<Item>, out: &mut Outside) -> bool {
        let recorded = world.config.wildcards == Wildcards::Recorded && held.item.traffic == Traffic::User;
        let admitted = match &mut self.assignment {
            Some(assignment) if recorded => assignment.admit(held),
            _ => Some(held),
        };
        let Some(Held { item, envelope, ordinal, since }) = admitted else { return false };
        self.totals.held += now - since;
        let announced = item.kind == ItemKind::Announce;
        let local = item.source == self.id;
        let taken = if announced || local { Picos::ZERO } else { times(world.times.per_byte, item.bytes) };
        let slot = self.messages.insert(Message {
            envelope,
            bytes: item.bytes,
            offered: now,
            ready: since + taken,
            ordinal,
            token: item.token,
            announced,
            listed: false,
            target: Target::Nobody,
            delay: Picos::ZERO,
        });
        self.offer(world, now, Op::Arrive { msg: MsgId(u64::from(slot)), envelope }, out);
        true
    }

    // ---- collectives ------------------------------------------------------------------------------------------

    fn collective(&mut self, world: &World, now: Picos, thread: u16, record: &Record, out: &mut Outside) {
        let blocking = record.has(Flags::BLOCKING);
        let view = world.communicators.view(self.id, record.comm);
        let known = CollectiveOp::from_tag(record.tag);
        let algorithm = known.and_then(|op| world.config.collectives.algorithm(op));
        let mut steps = Vec::new();
        match (known, algorithm) {
            (Some(op), Some(algorithm)) if !view.is_inter() => {
                let ranks = world.communicators.size(view.local);
                let extra = self.extra_words();
                // Both-way forms list what is sent first.
                let counts = &extra[..extra.len().min(ranks as usize)];
                let (rank, root) = (view.rank, record.peer.max(0) as u32);
                let (sent, received) = (record.bytes, record.aux);
                Call { op, algorithm, rank, ranks, root, sent, received, counts }.plan(&mut steps);
                self.totals.collectives += 1;
            }
            _ => self.totals.collectives_skipped += 1,
        }
        if steps.is_empty() {
            if !blocking {
                self.requests.insert(record.request, State::Finished { at: now, ideal: now, overhead: false });
            }
            return;
        }
        let target = if blocking {
            self.threads[usize::from(thread)].activity = Activity::Collective;
            Target::Thread(thread)
        } else {
            self.requests.insert(record.request, State::Pending);
            Target::Request(record.request)
        };
        let count = self.collectives_of.entry(view.comm).or_default();
        let tag = *count;
        *count = count.wrapping_add(1);
        let schedule = Box::new(Schedule {
            steps,
            next: 0,
            pending: 0,
            next_at: Picos::MAX,
            time: now,
            ideal: now,
            received: 0,
            delay: Picos::ZERO,
            target,
            comm: view.comm,
            group: view.local,
            tag,
        });
        let free = self.schedules.iter().position(Option::is_none);
        let number = free.unwrap_or_else(|| {
            self.schedules.push(None);
            self.schedules.len() - 1
        });
        self.schedules[number] = Some(schedule);
        self.run_round(world, now, number as u32, out);
    }

    /// The words of the extra records behind the record before the cursor.
    fn extra_words(&self) -> Vec<u64> {
        let extras = self.records[self.cursor..].iter().take_while(|record| record.kind == Kind::Extra as u8);
        extras.flat_map(|record| record.extra_words().into_iter().take(record.tag as usize)).collect()
    }

    fn run_schedules(&mut self, world: &World, now: Picos, out: &mut Outside) {
        for number in 0..self.schedules.len() {
            if self.schedules[number].as_ref().is_some_and(|schedule| schedule.next_at == now) {
                self.run_round(world, now, number as u32, out);
            }
        }
        self.find_schedule();
    }

    fn find_schedule(&mut self) {
        let times = self.schedules.iter().flatten().map(|schedule| schedule.next_at);
        self.schedule_at = times.min().unwrap_or(Picos::MAX);
    }

    /// Posts the receives of the next round, then starts its sends.
    fn run_round(&mut self, world: &World, now: Picos, number: u32, out: &mut Outside) {
        let schedule = self.schedules[number as usize].as_mut().expect("a round belongs to a live schedule");
        let from = schedule.next;
        let round = schedule.steps[from].round;
        let to = from + schedule.steps[from..].iter().take_while(|step| step.round == round).count();
        schedule.next = to;
        schedule.next_at = Picos::MAX;
        schedule.time = now;
        schedule.ideal = now;
        schedule.received = 0;
        // One more than there are steps, so that the round does not end while it begins.
        schedule.pending = (to - from) as u32 + 1;
        let (comm, group, tag) = (schedule.comm, schedule.group, schedule.tag);
        let mut clock = now;
        for at in from..to {
            let schedule = self.schedules[number as usize].as_mut().expect("its round is not over");
            let step = schedule.steps[at];
            let peer = world.communicators.world_rank(group, step.peer);
            let target = Target::Schedule(number);
            if let Some(bytes) = step.sends {
                clock += world.times.send_overhead;
                let announced = bytes > world.times.eager_limit.0;
                let message = Outgoing { destination: peer, comm, tag, bytes, announced, target };
                self.transmit(world, clock, Traffic::Collective, message, out);
                if !announced {
                    self.complete(world, target, Finished { at: clock, ideal: clock, overhead: false }, out);
                }
            } else {
                schedule.received += 1;
                let source = Some(Initiator(peer));
                let pattern = mpi::pattern(Context::new(comm), Traffic::Collective, source, Some(tag));
                let slot = self.receives.insert(Receive {
                    target,
                    offered: now,
                    room: u64::MAX,
                    ordinal: u32::MAX,
                    poster: NO_WAITER,
                    listed: false,
                });
                self.offer(world, now, Op::Post { recv: RecvId(u64::from(slot)), pattern }, out);
            }
        }
        self.complete(world, Target::Schedule(number), Finished { at: clock, ideal: clock, overhead: false }, out);
    }

    fn round_done(&mut self, world: &World, number: u32, out: &mut Outside) {
        let schedule = self.schedules[number as usize].as_mut().expect("its round is over, not the schedule");
        let end = schedule.time + world.times.recv_overhead * u64::from(schedule.received);
        schedule.delay += schedule.time - schedule.ideal;
        if schedule.next < schedule.steps.len() {
            schedule.next_at = end;
        } else {
            let finished = Finished { at: end, ideal: end.saturating_sub(schedule.delay), overhead: false };
            let target = schedule.target;
            self.schedules[number as usize] = None;
            self.complete(world, target, finished, out);
        }
        self.find_schedule();
    }

    // ---- the end ----------------------------------------------------------------------------------------------

    /// Closes the books: what is left in the lists was never received or never matched.
    pub(crate) fn settle_up(&mut self) {
        let held = self.assignment.as_ref().map_or(0, |assignment| assignment.waiting().count());
        let unmatched = self.messages.live().filter(|(_, message)| message.target == Target::Nobody);
        let left = unmatched.filter(|(slot, _)| !self.is_taken(*slot)).count();
        let queued = self.queue.iter().chain(&self.incoming);
        let in_flight = queued.filter(|item| matches!(item.kind, ItemKind::Eager | ItemKind::Announce)).count();
        self.totals.never_received = (held + left + in_flight) as u64;
        self.totals.never_matched = self.receives.len() as u64;
        self.totals.engine_busy = self.engine.busy();
        if !self.finished {
            self.totals.time = self.threads.iter().map(|thread| thread.clock).max().unwrap_or(Picos::ZERO);
        }
    }

    /// The thread that keeps the program from going on: the record of its call, since when, what it waits for, and for which ranks.
    pub(crate) fn waiting(&self, world: &World) -> Option<(u64, Picos, String, Vec<u32>)> {
        if self.finished {
            return None;
        }
        let thread = self.threads.iter().filter(|thread| thread.activity != Activity::Ready).min_by_key(|t| t.begin)?;
        let record = &self.records[thread.record];
        let (waits, ranks) = match thread.activity {
            Activity::Ready => return None,
            Activity::Waiting => self.waiting_requests(world, thread),
            Activity::Answering => ("an answer of its engine".to_owned(), Vec::new()),
            Activity::Sending => {
                let view = world.communicators.view(self.id, record.comm);
                let to = world.communicators.world_rank(view.remote, record.peer as u32);
                (format!("MPI_Send of {} bytes with tag {} to rank {to}", record.bytes, record.tag), vec![to])
            }
            Activity::Probing => {
                let what = if thread.probe.ordinal.is_some() { "MPI_Mprobe" } else { "MPI_Probe" };
                let sought = thread.probe.wanted.map_or(thread.probe.pattern, Pattern::exactly);
                describe_receive(what, &sought)
            }
            Activity::Collective => {
                let schedule = self.schedules.iter().flatten().find(|schedule| {
                    schedule.target == Target::Thread(record.thread) && schedule.next <= schedule.steps.len()
                });
                let peers = schedule.map_or(Vec::new(), |schedule| {
                    let done = &schedule.steps[..schedule.next];
                    let round = done.last().map_or(0, |step| step.round);
                    let receives = done.iter().filter(|step| step.round == round && step.sends.is_none());
                    receives.map(|step| world.communicators.world_rank(schedule.group, step.peer)).collect()
                });
                let name = CollectiveOp::from_tag(record.tag).map_or("a collective".to_owned(), |op| format!("{op:?}"));
                (format!("{name} with rank{} {}", if peers.len() == 1 { "" } else { "s" }, join(&peers)), peers)
            }
        };
        Some((thread.record as u64, thread.begin, waits, ranks))
    }

    fn waiting_requests(&self, world: &World, thread: &Thread) -> (String, Vec<u32>) {
        let own = self.records[thread.record].thread;
        let open = self.requests.iter().filter(|(_, entry)| {
            entry.waiter == own && !matches!(entry.state, State::Finished { .. } | State::Detached)
        });
        let mut texts = Vec::new();
        let mut ranks = Vec::new();
        for (number, _) in open {
            // The call that made the request stands before the wait.
            let made = self.records[..=thread.record].iter().rfind(|record| {
                record.request == number && matches!(record.kind(), Some(Kind::Send | Kind::Recv | Kind::Collective))
            });
            let Some(made) = made else { continue };
            if texts.len() == 4 {
                texts.push("more".to_owned());
                break;
            }
            let view = world.communicators.view(self.id, made.comm);
            if made.kind == Kind::Recv as u8 && !made.has(Flags::MATCHED) {
                let pattern = pattern_of(world.communicators, self.id, made.comm, made.peer, made.tag);
                let (text, named) = describe_receive("MPI_Recv", &pattern);
                texts.push(text);
                ranks.extend(named);
            } else if made.kind == Kind::Send as u8 {
                let to = world.communicators.world_rank(view.remote, made.peer as u32);
                texts.push(format!("MPI_Send of {} bytes with tag {} to rank {to}", made.bytes, made.tag));
                ranks.push(to);
            } else {
                texts.push("a collective or matched receive".to_owned());
            }
        }
        ranks.sort_unstable();
        ranks.dedup();
        (texts.join(", "), ranks)
    }

    pub(crate) fn length(&self) -> usize {
        self.records.len()
    }
}

#[derive(Clone, Copy)]
struct Outgoing {
    destination: u32,
    comm: u32,
    tag: u32,
    bytes: u64,
    announced: bool,
    target: Target,
}

fn describe_receive(what: &str, pattern: &Pattern) -> (String, Vec<u32>) {
    let tag = if pattern.ignore == 0 { (pattern.bits & mpi::TAG_BITS).to_string() } else { "MPI_ANY_TAG".to_owned() };
    match pattern.initiator {
        Some(Initiator(rank)) => (format!("{what} with tag {tag} from rank {rank}"), vec![rank]),
        None => (format!("{what} with tag {tag} from MPI_ANY_SOURCE"), Vec::new()),
    }
}

fn join(ranks: &[u32]) -> String {
    ranks.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

/// Scales recorded CPU time.
#[inline]
fn compute_time(world: &World, ns: u64) -> Picos {
    let picos = ns.saturating_mul(1000);
    let scale = world.config.cpu_scale;
    // Exact in the common case; floating point has 53 bits, enough for 2.5 hours in picoseconds.
    #[expect(clippy::float_cmp, reason = "exactly one means: do not scale")]
    let unscaled = scale == 1.0;
    if unscaled { Picos(picos) } else { Picos((picos as f64 * scale) as u64) }
}

/// `each` for every one of `bytes`; the end of time when that does not fit.
#[inline]
fn times(each: Picos, bytes: u64) -> Picos {
    Picos(each.0.saturating_mul(bytes).min(1 << 62))
}
