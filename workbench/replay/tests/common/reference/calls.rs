// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The calls of a rank, chosen at random.

use mb_core::matching::{Initiator, Op, Outcome, RecvId};
use mb_core::mpi::{self, Context, PROC_NULL, Traffic};
use mb_trace::{CollectiveOp, Flags, Kind, Record, Request, Status};

use super::{Blocked, Message, Open, Probe, Receive, Reference, What};
use crate::common::{ANY, ANY_TAG};

const SIZES: [u64; 5] = [0, 8, 400, 3000, 20_000];
const OPS: [CollectiveOp; 9] = [
    CollectiveOp::Barrier,
    CollectiveOp::Bcast,
    CollectiveOp::Reduce,
    CollectiveOp::Allreduce,
    CollectiveOp::Gather,
    CollectiveOp::Scatter,
    CollectiveOp::Allgather,
    CollectiveOp::ReduceScatter,
    CollectiveOp::Alltoall,
];

impl Reference {
    pub(super) fn send(&mut self, rank: usize, comm: usize, to: usize, tag: i32, bytes: u64, flags: u8) -> Open {
        let local = self.local(rank, comm);
        let program = &mut self.ranks[rank].program;
        let request = if flags & Flags::BLOCKING == 0 {
            program.isend_with(flags, local, to as i32, tag, bytes)
        } else {
            program.send(local, to as i32, tag, bytes);
            let status = Status::default();
            Request { number: 0, status, implied: None }
        };
        let receiver = self.comms[comm].peers(rank as u32)[to];
        let from = Initiator(rank as u32);
        let large = bytes > self.eager || flags & Flags::SYNCHRONOUS != 0;
        self.wires.entry((rank as u32, receiver)).or_default().push_back(self.messages.len());
        self.messages.push(Message {
            from: rank as u32,
            to: receiver,
            comm,
            tag,
            bytes,
            envelope: mpi::envelope(Context::new(comm as u32), Traffic::User, from, tag as u32),
            waits_for_receive: large && flags & Flags::BUFFERED == 0,
            matched: false,
            received: false,
        });
        Open { request, what: What::Send(self.messages.len() - 1) }
    }

    pub(super) fn receive(&mut self, rank: usize, comm: usize, source: i32, tag: i32, room: u64, flags: u8) -> Open {
        let local = self.local(rank, comm);
        let request = self.ranks[rank].program.irecv_with(flags, local, source, tag, room);
        let pattern = self.pattern(rank, comm, source, tag);
        let recv = RecvId(self.receives.len() as u64);
        let helper = self.helper(rank, comm, source);
        self.receives.push(Receive {
            comm,
            source,
            tag,
            room,
            helper,
            message: None,
            cancelled: false,
            cancel_called: false,
        });
        let (outcome, _) = self.ranks[rank].oracle.apply(Op::Post { recv, pattern });
        self.matched(outcome);
        Open { request, what: What::Receive(recv.0 as usize) }
    }

    fn helper(&mut self, rank: usize, comm: usize, source: i32) -> u32 {
        let peers = self.comms[comm].peers(rank as u32);
        if source == ANY { self.random.pick(peers) } else { peers[source as usize] }
    }

    /// Enters the next collective of `comm`, which it creates if no rank has entered it.
    pub(super) fn enter(&mut self, rank: usize, comm: usize, blocking: bool) -> Open {
        let entered = self.ranks[rank].entered.entry(comm).or_default();
        let at = *entered;
        *entered += 1;
        let size = self.comms[comm].members().count();
        if at == self.comms[comm].collectives.len() {
            let among_neighbours = self.comms[comm].ring && self.random.one_in(2);
            let op = if among_neighbours { CollectiveOp::NeighborAlltoall } else { self.random.pick(&OPS) };
            let rooted =
                matches!(op, CollectiveOp::Bcast | CollectiveOp::Reduce | CollectiveOp::Gather | CollectiveOp::Scatter);
            let root = if rooted { self.random.below(size) as i32 } else { -1 };
            let bytes = if op == CollectiveOp::Barrier { 0 } else { self.random.pick(&SIZES) };
            self.comms[comm].collectives.push((op, root, bytes, 0));
        }
        self.comms[comm].collectives[at].3 += 1;
        let (op, root, bytes, _) = self.comms[comm].collectives[at];
        let root = self.root(rank as u32, comm, root);
        let bytes = if root == -3 { 0 } else { bytes };
        let local = self.local(rank, comm);
        let peers = self.comms[comm].peers(rank as u32).len();
        let counts = vec![bytes; if op == CollectiveOp::Alltoall && bytes == 8 { 2 * peers } else { 0 }];
        let program = &mut self.ranks[rank].program;
        let request = if blocking {
            program.collective(op, local, root, bytes, bytes, &counts);
            let status = Status::default();
            Request { number: 0, status, implied: None }
        } else {
            program.icollective(op, local, root, bytes, bytes, &counts)
        };
        Open { request, what: What::Collective(comm, at) }
    }

    /// The root that `rank` names, of the member at this position.
    fn root(&self, rank: u32, comm: usize, root: i32) -> i32 {
        let comm = &self.comms[comm];
        let Some(member) = usize::try_from(root).ok().and_then(|at| comm.members().nth(at)) else { return root };
        match comm.peers(rank).iter().position(|peer| *peer == member) {
            Some(at) => at as i32,
            None if rank == member => -4,
            None => -3,
        }
    }

    pub(super) fn act(&mut self, rank: usize, thread: usize) {
        let count = self.ranks[rank].comms.len();
        let chosen = self.random.below(count);
        let comm = self.ranks[rank].comms[chosen];
        let peers = self.comms[comm].peers(rank as u32).len();
        let peer = self.random.below(peers);
        let tag = self.random.below(3) as i32;
        let source = if self.random.one_in(3) { ANY } else { peer as i32 };
        let sought = if self.random.one_in(3) { ANY_TAG } else { tag };
        let room = if self.random.one_in(8) { 100 } else { 1 << 20 };
        self.ranks[rank].program.thread(thread as u16);
        match self.random.below(20) {
            0..4 => self.act_send(rank, thread, comm, peer, tag),
            4..7 => {
                let open = self.receive(rank, comm, source, sought, room, 0);
                self.ranks[rank].open.push(open);
            }
            7 => self.act_receive(rank, thread, comm, source, sought, room),
            8 | 9 => self.act_wait(rank, thread),
            10 => {
                let open = &self.ranks[rank].open;
                let done: Vec<usize> = (0..open.len()).filter(|&at| self.is_complete(&open[at])).collect();
                if done.is_empty() {
                    let calls = 1 + self.random.below(5) as u64;
                    self.ranks[rank].program.miss(calls);
                    return;
                }
                let at = self.random.pick(&done);
                let open = self.ranks[rank].open.swap_remove(at);
                self.ranks[rank].program.push(Record { kind: Kind::Wait as u8, aux: 1, ..Record::default() });
                self.done(rank, open);
            }
            11 => {
                let bytes = self.random.pick(&SIZES);
                let open = vec![
                    self.send(rank, comm, peer, tag, bytes, Flags::SENDRECV),
                    self.receive(rank, comm, source, sought, room, Flags::SENDRECV),
                ];
                self.wait(rank, thread, open);
            }
            12 => {
                let matched = self.random.one_in(2);
                let probe = Probe { comm, source, tag: sought, matched, helper: 0 };
                if !self.look(rank, thread, probe, 0) {
                    let local = self.local(rank, comm);
                    self.ranks[rank].program.probe_miss(local, source, sought, 3);
                }
            }
            13 => {
                let (matched, helper) = (self.random.one_in(2), self.helper(rank, comm, source));
                if self.may_wait(rank, thread, vec![helper]) {
                    let probe = Probe { comm, source, tag: sought, matched, helper };
                    self.ranks[rank].threads[thread] = Blocked::Probe(probe);
                }
            }
            14 | 15 => self.act_mrecv(rank, room),
            16 => self.act_cancel(rank),
            17 => self.act_free(rank),
            18 => {
                let at = self.ranks[rank].entered.get(&comm).copied().unwrap_or(0);
                let late = self.late(comm, at).into_iter().filter(|late| *late as usize != rank).collect::<Vec<_>>();
                let blocking = self.random.one_in(2) && self.may_wait(rank, thread, late);
                let open = self.enter(rank, comm, blocking);
                if blocking {
                    self.ranks[rank].threads[thread] = Blocked::On(vec![open], false);
                } else {
                    self.ranks[rank].open.push(open);
                }
            }
            _ => {
                let ns = self.random.pick(&[0, 1, 50, 700, 5000]);
                self.ranks[rank].program.compute(ns);
            }
        }
    }

    fn act_send(&mut self, rank: usize, thread: usize, comm: usize, peer: usize, tag: i32) {
        if self.random.one_in(20) {
            let local = self.local(rank, comm);
            let program = &mut self.ranks[rank].program;
            program.send(local, PROC_NULL, tag, 8);
            let request = program.isend(local, PROC_NULL, tag, 8);
            self.ranks[rank].open.push(Open { request, what: What::Ready });
            return;
        }
        let bytes = self.random.pick(&SIZES);
        let mode = self.random.pick(&[0, 0, 0, Flags::SYNCHRONOUS, Flags::BUFFERED, Flags::READY]);
        let receiver = self.comms[comm].peers(rank as u32)[peer];
        if mode == 0 && self.random.one_in(2) && (bytes <= self.eager || self.may_wait(rank, thread, vec![receiver])) {
            let open = self.send(rank, comm, peer, tag, bytes, Flags::BLOCKING);
            self.ranks[rank].threads[thread] = Blocked::On(vec![open], false);
            return;
        }
        let persistent = if self.random.one_in(4) { Flags::PERSISTENT } else { 0 };
        let open = self.send(rank, comm, peer, tag, bytes, mode | persistent);
        self.ranks[rank].open.push(open);
    }

    fn act_receive(&mut self, rank: usize, thread: usize, comm: usize, source: i32, tag: i32, room: u64) {
        if self.random.one_in(20) {
            let local = self.local(rank, comm);
            let program = &mut self.ranks[rank].program;
            let nothing = Status { source: PROC_NULL, tag: ANY_TAG, bytes: 0 };
            program.recv(local, PROC_NULL, tag, room, nothing);
            program.probe(Flags::BLOCKING, local, PROC_NULL, tag, nothing);
            let request = program.irecv(local, PROC_NULL, tag, room);
            self.ranks[rank].open.push(Open { request, what: What::Ready });
            return;
        }
        let helper = self.helper(rank, comm, source);
        if !self.may_wait(rank, thread, vec![helper]) {
            return;
        }
        let open = self.receive(rank, comm, source, tag, room, Flags::BLOCKING);
        if let What::Receive(receive) = open.what {
            self.receives[receive].helper = helper;
        }
        self.ranks[rank].threads[thread] = Blocked::On(vec![open], true);
    }

    fn act_wait(&mut self, rank: usize, thread: usize) {
        let mut chosen = Vec::new();
        let mut at = 0;
        let share = 1 + self.random.below(4);
        while at < self.ranks[rank].open.len() {
            if self.random.one_in(share) {
                chosen.push(self.ranks[rank].open.swap_remove(at));
            } else {
                at += 1;
            }
        }
        self.wait(rank, thread, chosen);
    }

    /// A wait for all of `open`, or for those that are complete if all of them could be a deadlock.
    fn wait(&mut self, rank: usize, thread: usize, open: Vec<Open>) {
        let helpers = open.iter().flat_map(|open| self.helpers(open)).collect();
        let waits = if self.may_wait(rank, thread, helpers) {
            open
        } else {
            let (done, left) = open.into_iter().partition(|open| self.is_complete(open));
            self.ranks[rank].open.extend::<Vec<_>>(left);
            done
        };
        let (kind, flags, aux) = (Kind::Wait as u8, Flags::BLOCKING, waits.len() as u64);
        self.ranks[rank].program.push(Record { kind, flags, aux, ..Record::default() });
        self.ranks[rank].threads[thread] = Blocked::On(waits, true);
    }

    pub(super) fn act_mrecv(&mut self, rank: usize, room: u64) {
        let found = self.ranks[rank].found.len();
        if found == 0 {
            return;
        }
        let at = self.random.below(found);
        let (number, message) = self.ranks[rank].found.swap_remove(at);
        let local = self.local(rank, self.messages[message].comm);
        let request = self.ranks[rank].program.mrecv(local, number, room);
        self.messages[message].received = true;
        self.receives.push(Receive {
            comm: self.messages[message].comm,
            source: ANY,
            tag: ANY_TAG,
            room,
            helper: 0,
            message: Some(message),
            cancelled: false,
            cancel_called: true,
        });
        self.ranks[rank].open.push(Open { request, what: What::Receive(self.receives.len() - 1) });
    }

    fn act_cancel(&mut self, rank: usize) {
        for Open { request, what } in self.ranks[rank].open.clone() {
            let What::Receive(receive) = what else { continue };
            if self.receives[receive].cancel_called || self.random.one_in(2) {
                continue;
            }
            self.receives[receive].cancel_called = true;
            self.ranks[rank].program.cancel(request);
            let recv = RecvId(receive as u64);
            let (outcome, _) = self.ranks[rank].oracle.apply(Op::Cancel { recv });
            self.receives[receive].cancelled = outcome == Outcome::Cancelled(recv);
            self.cancelled += u64::from(self.receives[receive].cancelled);
            return;
        }
    }

    fn act_free(&mut self, rank: usize) {
        let may = |open: &Open| match open.what {
            What::Send(_) => true,
            What::Receive(receive) => {
                let Receive { source, tag, cancel_called, .. } = self.receives[receive];
                // What a freed wildcard receive takes is not in a trace.
                source != ANY && tag != ANY_TAG && !cancel_called
            }
            What::Ready | What::Collective(..) => false,
        };
        if let Some(at) = self.ranks[rank].open.iter().position(may) {
            let open = self.ranks[rank].open.swap_remove(at);
            self.ranks[rank].program.free(open.request);
        }
    }
}
