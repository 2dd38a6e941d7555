// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One rank: its program, its NIC, its receive engine.
//!
//! [`Rank::advance`] runs everything that happens at this rank before a given time, in order of time; at equal times the engine comes first, then
//! messages from the network, collectives, the program. What other ranks must know leaves through [`Outside::outbox`] and arrives at least one network
//! latency later, so ranks can run one after the other within a window of that length.
//!
//! Records are executed in the order of the file. Each thread has a clock of its own; a record starts when its thread is ready, no earlier
//! than the records before it started, and no earlier than the calls returned whose done records stand before it. Compute time is the thread's CPU time between the end of one call and the begin of the next.

#![expect(clippy::inline_always, reason = "calls on the path of every message cost a tenth of the replay")]

mod answers;
mod arrivals;
mod collectives;
mod ending;
mod nic;
mod probes;
mod program;

use std::collections::{BTreeMap, VecDeque};

use mb_core::engine::{Completion, Engine};
use mb_core::matching::{Envelope, Initiator, Op, Pattern};
use mb_core::mpi::{self, Context, Traffic};
use mb_core::time::Picos;
use mb_trace::{Communicators, Record};

use self::arrivals::Arrivals;
use crate::assignment::Assignment;
use crate::collective::Step;
use crate::config::ReplayConfig;
use crate::network::Times;
use crate::report::Totals;
use crate::requests::Requests;
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

    /// Order of arrival: time, source, and a reply before what its sender injects at the same time, whichever was known first.
    #[inline]
    fn key(&self) -> u128 {
        u128::from(self.at.0) << 64 | u128::from(u64::from(self.source) << 1 | u64::from(self.kind != ItemKind::Reply))
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
    /// Thread that waits for the engine's answer to the post.
    poster: Option<u16>,
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
    /// By a matched probe.
    taken: bool,
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
    /// The receive took another message than in the recording: messages that waited for it may go on.
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

/// Records, of one cache line each, that are asked for ahead: about what a rank needs in one window.
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
    /// `program_at` must be found anew.
    stale: bool,
    pub(crate) finished: bool,

    engine: Box<dyn Engine>,
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
    schedules: Vec<Option<Box<Schedule>>>,
    /// Earliest of a retry, an effect of an answer, a collective's round.
    rare_at: Picos,
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

    /// Brings the next records nearer. They lie in as many places as there are ranks, too many for the processor to foresee.
    #[inline]
    pub(crate) fn prefetch(&self) {
        #[cfg(target_arch = "x86_64")]
        for record in self.records.iter().skip(self.cursor).take(PREFETCHED) {
            use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
            // SAFETY: a prefetch reads nothing that the program sees and cannot fault; the pointer is that of a live record.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(std::ptr::from_ref(record).cast()) };
        }
    }

    /// When something happens here next, as far as this rank knows.
    #[inline]
    pub(crate) fn next_event(&self) -> Picos {
        self.next_beside_engine().min(self.engine_at)
    }

    /// The same without the engine.
    #[inline]
    fn next_beside_engine(&self) -> Picos {
        let item = self.arrivals.next_at().max(self.rx_free);
        let item = if self.arrivals.next_at() == Picos::MAX { Picos::MAX } else { item };
        item.min(self.program_at).min(self.rare_at)
    }

    /// Finds the earliest of what most ranks never have.
    fn find_rare(&mut self) {
        let later = self.later.front().map_or(Picos::MAX, |(at, _)| *at);
        let schedules = self.schedules.iter().flatten().map(|schedule| schedule.next_at);
        self.rare_at = schedules.min().unwrap_or(Picos::MAX).min(later).min(self.retry_at);
    }

    /// Runs all that happens before `until`.
    pub(crate) fn advance(&mut self, world: &World, until: Picos, out: &mut Outside) {
        self.arrivals.sort();
        loop {
            if self.stale {
                self.look_ahead(world);
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
                self.step(world, now, out);
            } else if let Some(item) = self.arrivals.pop() {
                self.receive_item(world, now, item, out);
            } else {
                self.step(world, now, out);
            }
        }
    }

    /// Lets the engine run, whose next event is at `now`, before `until`. A backlog is offered again at each of its events.
    #[inline]
    fn run_engine(&mut self, world: &World, now: Picos, until: Picos, out: &mut Outside) {
        if !self.backlog.is_empty() {
            self.engine.run_until(now, &mut out.done);
            self.answers(world, out);
            self.retry(world, now, out);
            return;
        }
        // At equal times the engine comes first.
        let until = self.next_beside_engine().min(until - Picos(1));
        self.engine.run_to_completion(until, &mut out.done);
        self.answers(world, out);
    }

    /// One of the things that most ranks never have, due at `now`.
    #[cold]
    fn rare(&mut self, world: &World, now: Picos, out: &mut Outside) {
        if now == self.retry_at {
            self.retry(world, now, out);
        } else if self.later.front().is_some_and(|(at, _)| *at == now) {
            match self.later.pop_front() {
                Some((_, Later::Close(ordinal))) => self.close(world, now, ordinal, out),
                Some((_, Later::Probe(thread))) => self.offer_probe(world, now, thread, out),
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
    announced: bool,
    target: Target,
}

/// Scales recorded CPU time.
#[inline]
fn compute_time(world: &World, ns: u64) -> Picos {
    if ns == 0 {
        return Picos::ZERO;
    }
    let picos = ns.saturating_mul(1000);
    let scale = world.config.cpu_scale;
    // Exact in the common case; floating point has 53 bits, enough for 2.5 hours in picoseconds.
    #[expect(clippy::float_cmp, reason = "exactly one means: do not scale")]
    let unscaled = scale == 1.0;
    let scaled = if unscaled { picos } else { (picos as f64 * scale) as u64 };
    Picos(scaled.min(END.0))
}

/// `each` for every one of `bytes`; the end of time when that is later.
#[inline]
fn times(each: Picos, bytes: u64) -> Picos {
    Picos(each.0.saturating_mul(bytes).min(END.0))
}

/// `span` after `at`, or twice the end of time when that is later.
#[inline]
fn after(at: Picos, span: Picos) -> Picos {
    Picos(at.0.saturating_add(span.0).min(2 * END.0))
}

/// No replay goes beyond 2^62 ps, 53 days. Spans are cut off here and their sums at twice this, so that no hostile size or time
/// overflows before the replay gets there and ends.
pub(crate) const END: Picos = Picos(1 << 62);
