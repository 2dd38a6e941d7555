// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random MPI programs, executed without time by a random scheduler: every trace that comes out is
//! the recording of a possible run.
//!
//! What a receive or probe takes is decided by the reference matcher, one per rank; messages are
//! delivered one by one, in order per pair of ranks. A thread blocks only on ranks that can still
//! help it (no cycle of ranks), so that every run can be brought to an end: helpers then send,
//! receive or enter what is missing. Sends above the eager limit and synchronous ones complete with
//! their receive; collectives when all have entered.

mod calls;

use std::collections::{BTreeMap, VecDeque};

use mb_core::matching::{Envelope, Initiator, MsgId, Op, Outcome, ProbeId};
use mb_core::mpi::{self, Context, Traffic};
use mb_core::random;
use mb_oracle::Oracle;
use mb_trace::{CollectiveOp, Flags, Kind, RankBuilder, RankRun, Record, Request, Status, TopologyForm};

use crate::common::{ANY, ANY_TAG};

/// What to generate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) ranks: u32,
    pub(crate) threads: usize,
    pub(crate) steps: u32,
    /// Largest message that can be sent without its receive.
    pub(crate) eager: u64,
}

/// A recording, and what a faithful replay of it must count.
#[derive(Debug)]
pub(crate) struct Recording {
    pub(crate) ranks: Vec<Vec<Record>>,
    pub(crate) sent: u64,
    pub(crate) received: u64,
    pub(crate) never_matched: u64,
    pub(crate) cancelled: u64,
}

/// Numbers that choose among what is counted with `usize`.
struct Choices(random::Random);

impl Choices {
    fn below(&mut self, limit: usize) -> usize {
        self.0.below(limit as u64) as usize
    }

    fn one_in(&mut self, limit: usize) -> bool {
        self.below(limit) == 0
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        self.0.pick(from)
    }
}

struct Comm {
    sides: [Vec<u32>; 2],
    inter: bool,
    /// A periodic Cartesian topology of one dimension.
    ring: bool,
    /// What every member enters, in order, with the root as a position among the members, and how many have.
    collectives: Vec<(CollectiveOp, i32, u64, usize)>,
}

impl Comm {
    fn peers(&self, rank: u32) -> &[u32] {
        &self.sides[usize::from(self.inter && self.sides[0].contains(&rank))]
    }

    fn members(&self) -> impl Iterator<Item = u32> {
        self.sides[..=usize::from(self.inter)].iter().flatten().copied()
    }
}

struct Message {
    from: u32,
    to: u32,
    comm: usize,
    tag: i32,
    bytes: u64,
    envelope: Envelope,
    waits_for_receive: bool,
    matched: bool,
    received: bool,
}

struct Receive {
    comm: usize,
    source: i32,
    tag: i32,
    room: u64,
    helper: u32,
    message: Option<usize>,
    cancelled: bool,
    cancel_called: bool,
}

#[derive(Clone, Copy)]
enum What {
    Send(usize),
    Receive(usize),
    Ready,
    Collective(usize, usize),
}

#[derive(Clone, Copy)]
struct Open {
    request: Request,
    what: What,
}

enum Blocked {
    No,
    /// In a blocking receive, a wait, or (with a call that writes no Done) a send or collective.
    On(Vec<Open>, bool),
    Probe(Probe),
}

#[derive(Clone, Copy)]
struct Probe {
    comm: usize,
    source: i32,
    tag: i32,
    matched: bool,
    helper: u32,
}

struct Rank {
    program: RankBuilder,
    oracle: Oracle,
    /// Communicators by local number.
    comms: Vec<usize>,
    open: Vec<Open>,
    threads: Vec<Blocked>,
    /// Matched probes that were not received: number, message.
    found: Vec<(u32, usize)>,
    entered: BTreeMap<usize, usize>,
}

pub(crate) struct Reference {
    random: Choices,
    eager: u64,
    comms: Vec<Comm>,
    messages: Vec<Message>,
    receives: Vec<Receive>,
    wires: BTreeMap<(u32, u32), VecDeque<usize>>,
    ranks: Vec<Rank>,
    cancelled: u64,
}

impl Reference {
    /// Runs a random program to its end.
    pub(crate) fn record(plan: Plan) -> Recording {
        let mut random = Choices(random::Random::of(plan.seed, &[]));
        let all: Vec<u32> = (0..plan.ranks).collect();
        let mut comms =
            vec![Comm { sides: [all.clone(), all.clone()], inter: false, ring: false, collectives: Vec::new() }];
        for &rank in &all {
            comms.push(Comm { sides: [vec![rank], vec![rank]], inter: false, ring: false, collectives: Vec::new() });
        }
        for _ in 0..random.below(4) {
            let mut sides = [Vec::new(), Vec::new()];
            for &rank in &all {
                sides[random.below(2)].push(rank);
            }
            let inter = random.one_in(2);
            if sides[0].is_empty() || sides[1].is_empty() {
                continue;
            }
            if !inter {
                let [one, other] = &mut sides;
                other.clone_from(one);
            }
            comms.push(Comm { sides, inter, ring: !inter && random.one_in(2), collectives: Vec::new() });
        }
        let ranks = all.iter().map(|&rank| {
            let mut program = RankBuilder::new(rank, plan.ranks);
            let mut local = vec![0, 1 + rank as usize];
            for (number, comm) in comms.iter().enumerate().skip(1 + plan.ranks as usize) {
                let Some(side) = comm.sides.iter().position(|side| side.contains(&rank)) else { continue };
                let runs = |side: &[u32]| side.iter().map(|&member| RankRun::one(member)).collect::<Vec<_>>();
                let remote = comm.inter.then(|| runs(&comm.sides[1 - side]));
                program.comm(number as u64 | 1 << 63, &runs(&comm.sides[side]), remote.as_deref());
                local.push(number);
                if comm.ring {
                    let at = comm.sides[0].iter().position(|member| *member == rank).expect("a member");
                    let size = comm.sides[0].len();
                    let beside = [(at + size - 1) % size, (at + 1) % size].map(|rank| rank as i32);
                    program.topology(TopologyForm::Cartesian, &beside, &beside);
                }
            }
            let threads = (0..=random.below(plan.threads)).map(|_| Blocked::No).collect();
            let (oracle, open, found, entered) = (Oracle::new(), Vec::new(), Vec::new(), BTreeMap::new());
            Rank { program, oracle, comms: local, open, threads, found, entered }
        });
        let ranks = ranks.collect();
        let mut run = Self {
            random,
            eager: plan.eager,
            comms,
            messages: Vec::new(),
            receives: Vec::new(),
            wires: BTreeMap::new(),
            ranks,
            cancelled: 0,
        };
        for _ in 0..plan.steps {
            if run.random.one_in(3) {
                let wires: Vec<_> = run.wires.keys().copied().collect();
                if !wires.is_empty() {
                    let wire = run.random.pick(&wires);
                    run.deliver(wire);
                }
            } else {
                let rank = run.random.below(run.ranks.len());
                let thread = run.random.below(run.ranks[rank].threads.len());
                if !run.resume(rank, thread) {
                    run.act(rank, thread);
                }
            }
        }
        run.finish()
    }

    fn local(&self, rank: usize, comm: usize) -> u32 {
        self.ranks[rank].comms.iter().position(|known| *known == comm).expect("a member") as u32
    }

    fn deliver(&mut self, wire: (u32, u32)) {
        let Some(queue) = self.wires.get_mut(&wire) else { return };
        if let Some(message) = queue.pop_front() {
            let (msg, envelope) = (MsgId(message as u64), self.messages[message].envelope);
            let (outcome, _) = self.ranks[wire.1 as usize].oracle.apply(Op::Arrive { msg, envelope });
            self.matched(outcome);
        }
        if self.wires[&wire].is_empty() {
            self.wires.remove(&wire);
        }
    }

    fn matched(&mut self, outcome: Outcome) {
        if let Outcome::Matched(recv, msg) = outcome {
            self.receives[recv.0 as usize].message = Some(msg.0 as usize);
            let message = &mut self.messages[msg.0 as usize];
            (message.matched, message.received) = (true, true);
        }
    }

    fn is_complete(&self, open: &Open) -> bool {
        match open.what {
            What::Send(message) => !self.messages[message].waits_for_receive || self.messages[message].received,
            What::Receive(receive) => self.receives[receive].message.is_some() || self.receives[receive].cancelled,
            What::Ready => true,
            What::Collective(comm, at) => {
                let comm = &self.comms[comm];
                comm.collectives[at].3 == comm.members().count()
            }
        }
    }

    fn status(&self, message: usize) -> Status {
        let Message { from, to, comm, tag, bytes, .. } = self.messages[message];
        let source = self.comms[comm].peers(to).iter().position(|peer| *peer == from).expect("it sent") as i32;
        Status { source, tag, bytes }
    }

    fn done(&mut self, rank: usize, open: Open) {
        let Open { request, what } = open;
        let (flags, request) = match what {
            What::Receive(receive) => match self.receives[receive] {
                Receive { message: Some(message), room, .. } => {
                    let status = self.status(message);
                    (if status.bytes > room { Flags::FAILED } else { 0 }, Request { status, ..request })
                }
                _ => (Flags::CANCELLED, Request { status: Status::default(), ..request }),
            },
            _ => (0, request),
        };
        self.ranks[rank].program.done_with(flags, request);
    }

    /// Ranks that `open` waits for.
    fn helpers(&self, open: &Open) -> Vec<u32> {
        match open.what {
            _ if self.is_complete(open) => Vec::new(),
            What::Send(message) => vec![self.messages[message].to],
            What::Receive(receive) => vec![self.receives[receive].helper],
            What::Ready => Vec::new(),
            What::Collective(comm, at) => self.late(comm, at),
        }
    }

    fn late(&self, comm: usize, at: usize) -> Vec<u32> {
        let entered = |rank: &u32| self.ranks[*rank as usize].entered.get(&comm).copied().unwrap_or(0) > at;
        self.comms[comm].members().filter(|rank| !entered(rank)).collect()
    }

    fn waits_for(&self, rank: usize) -> Vec<u32> {
        let mut found = Vec::new();
        for thread in &self.ranks[rank].threads {
            match thread {
                Blocked::No => return Vec::new(),
                Blocked::On(open, _) => found.extend(open.iter().flat_map(|open| self.helpers(open))),
                Blocked::Probe(probe) => found.push(probe.helper),
            }
        }
        found
    }

    /// Whether a thread can wait for these ranks without closing a cycle.
    fn may_wait(&mut self, rank: usize, thread: usize, mut next: Vec<u32>) -> bool {
        self.ranks[rank].threads[thread] = Blocked::On(Vec::new(), true);
        let others = self.waits_for(rank);
        let goes_on = self.ranks[rank].threads.iter().any(|thread| matches!(thread, Blocked::No));
        self.ranks[rank].threads[thread] = Blocked::No;
        next.extend(others);
        let mut seen = vec![false; self.ranks.len()];
        while let Some(other) = next.pop() {
            if other as usize == rank && !goes_on {
                return false;
            }
            if !std::mem::replace(&mut seen[other as usize], true) {
                next.extend(self.waits_for(other as usize));
            }
        }
        true
    }

    /// Whether the thread is in a call, which returns if it can.
    fn resume(&mut self, rank: usize, thread: usize) -> bool {
        match &self.ranks[rank].threads[thread] {
            Blocked::No => return false,
            Blocked::On(open, dones) => {
                if open.iter().all(|open| self.is_complete(open)) {
                    let (open, dones) = (open.clone(), *dones);
                    self.ranks[rank].program.thread(thread as u16);
                    for open in open.into_iter().filter(|_| dones) {
                        self.done(rank, open);
                    }
                    self.ranks[rank].threads[thread] = Blocked::No;
                }
            }
            &Blocked::Probe(probe) => {
                if self.look(rank, thread, probe, Flags::BLOCKING) {
                    self.ranks[rank].threads[thread] = Blocked::No;
                }
            }
        }
        true
    }

    fn pattern(&self, rank: usize, comm: usize, source: i32, tag: i32) -> mb_core::Pattern {
        let source = (source != ANY).then(|| Initiator(self.comms[comm].peers(rank as u32)[source as usize]));
        let tag = (tag != ANY_TAG).then_some(tag as u32);
        mpi::pattern(Context::new(comm as u32), Traffic::User, source, tag)
    }

    /// A probe: records it if it finds something.
    fn look(&mut self, rank: usize, thread: usize, probe: Probe, flags: u8) -> bool {
        let pattern = self.pattern(rank, probe.comm, probe.source, probe.tag);
        let id = ProbeId(0);
        let op = if probe.matched { Op::MatchedProbe { probe: id, pattern } } else { Op::Probe { probe: id, pattern } };
        let (Outcome::Probed(_, Some(found)), _) = self.ranks[rank].oracle.apply(op) else { return false };
        let message = found.0 as usize;
        let (status, local) = (self.status(message), self.local(rank, probe.comm));
        let flags = flags | if probe.matched { Flags::MATCHED } else { 0 };
        let program = &mut self.ranks[rank].program;
        program.thread(thread as u16);
        let number = program.probe(flags, local, probe.source, probe.tag, status);
        if probe.matched {
            self.messages[message].matched = true;
            self.ranks[rank].found.push((number, message));
        }
        true
    }

    fn free_thread(&self, rank: u32) -> Option<usize> {
        self.ranks[rank as usize].threads.iter().position(|thread| matches!(thread, Blocked::No))
    }

    /// Brings every call to its end, with the help of those that are in none.
    fn finish(mut self) -> Recording {
        let mut rounds = 0;
        loop {
            while let Some((&wire, _)) = self.wires.first_key_value() {
                self.deliver(wire);
            }
            let mut blocked = false;
            for rank in 0..self.ranks.len() {
                for open in self.ranks[rank].open.clone() {
                    // A late rank enters the collective that others began.
                    if matches!(open.what, What::Collective(..)) && !self.is_complete(&open) {
                        blocked = true;
                        self.help(rank, &open);
                    }
                }
                for thread in 0..self.ranks[rank].threads.len() {
                    self.resume(rank, thread);
                    match &self.ranks[rank].threads[thread] {
                        Blocked::No => {}
                        Blocked::On(open, _) => {
                            blocked = true;
                            for open in open.clone() {
                                self.help(rank, &open);
                            }
                        }
                        &Blocked::Probe(Probe { comm, tag, helper, .. }) => {
                            blocked = true;
                            self.help_with_a_message(rank, comm, helper, tag);
                        }
                    }
                }
            }
            if !blocked && self.wires.is_empty() {
                break;
            }
            rounds += 1;
            assert!(rounds < 10_000, "the generator is stuck");
        }
        let ranks = (0..self.ranks.len()).map(|rank| {
            self.ranks[rank].program.thread(0);
            let open = std::mem::take(&mut self.ranks[rank].open);
            let done: Vec<_> = open.into_iter().filter(|open| self.is_complete(open)).collect();
            let (kind, flags, aux) = (Kind::Wait as u8, Flags::BLOCKING, done.len() as u64);
            self.ranks[rank].program.push(Record { kind, flags, aux, ..Record::default() });
            for open in done {
                self.done(rank, open);
            }
            self.ranks[rank].program.clone().finalize()
        });
        Recording {
            ranks: ranks.collect(),
            sent: self.messages.len() as u64,
            received: self.messages.iter().filter(|message| message.matched).count() as u64,
            never_matched: self.ranks.iter().map(|rank| rank.oracle.queue_lengths().posted as u64).sum(),
            cancelled: self.cancelled,
        }
    }

    fn help(&mut self, rank: usize, open: &Open) {
        if self.is_complete(open) {
            return;
        }
        match open.what {
            What::Send(message) => {
                let Message { from, to, comm, tag, .. } = self.messages[message];
                let Some(thread) = self.free_thread(to) else { return };
                if let Some(at) = self.ranks[to as usize].found.iter().position(|(_, found)| *found == message) {
                    let last = self.ranks[to as usize].found.len() - 1;
                    self.ranks[to as usize].found.swap(at, last);
                    self.ranks[to as usize].program.thread(thread as u16);
                    while self.ranks[to as usize].found.iter().any(|(_, found)| *found == message) {
                        self.act_mrecv(to as usize, 1 << 20);
                    }
                    return;
                }
                let source = self.comms[comm].peers(to).iter().position(|peer| *peer == from).expect("it sent");
                self.ranks[to as usize].program.thread(thread as u16);
                let open = self.receive(to as usize, comm, source as i32, tag, 1 << 20, 0);
                self.ranks[to as usize].open.push(open);
            }
            What::Receive(receive) => {
                let Receive { comm, tag, helper, .. } = self.receives[receive];
                self.help_with_a_message(rank, comm, helper, tag);
            }
            What::Ready => {}
            What::Collective(comm, at) => {
                for late in self.late(comm, at) {
                    if let Some(thread) = self.free_thread(late) {
                        self.ranks[late as usize].program.thread(thread as u16);
                        let open = self.enter(late as usize, comm, false);
                        self.ranks[late as usize].open.push(open);
                    }
                }
            }
        }
    }

    fn help_with_a_message(&mut self, rank: usize, comm: usize, helper: u32, tag: i32) {
        let Some(thread) = self.free_thread(helper) else { return };
        let tag = if tag == ANY_TAG { 0 } else { tag };
        let to = self.comms[comm].peers(helper).iter().position(|peer| *peer as usize == rank).expect("a peer");
        self.ranks[helper as usize].program.thread(thread as u16);
        let open = self.send(helper as usize, comm, to, tag, 0, 0);
        self.ranks[helper as usize].open.push(open);
    }
}
