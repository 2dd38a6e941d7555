// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Collectives in progress. Blocking and nonblocking ones progress alike, independently of the
//! program: a round starts when the previous one is complete (not modelled: libraries that make
//! progress only within MPI calls).

use mb_core::matching::{Initiator, Op, RecvId};
use mb_core::mpi::{self, Context, Traffic};
use mb_core::time::Picos;
use mb_trace::{CollectiveOp, Flags, Kind, Record};

use super::{Activity, CollectiveSchedule, CompletionTarget, Finished, Outgoing, Rank, Receive, SharedSink, World};
use crate::collective::{CollectiveCall, NeighbourSizes, OtherGroup, RoundMessage, plan_neighbours};
use crate::requests::RequestState;

/// Whether MPI defines this collective on intercommunicators.
const fn is_across(op: CollectiveOp) -> bool {
    !matches!(op, CollectiveOp::Scan | CollectiveOp::Exscan)
}

impl CollectiveSchedule {
    /// World rank of the peer of one of its messages.
    pub(super) fn world_rank(&self, world: &World, step: &RoundMessage) -> u32 {
        world.communicators.world_rank(self.groups[usize::from(step.across)], step.peer)
    }
}

impl Rank<'_> {
    pub(super) fn collective(&mut self, world: &World, now: Picos, thread: u16, record: &Record, out: &mut SharedSink) {
        let blocking = record.has(Flags::BLOCKING);
        let view = world.communicators.view(self.id, record.comm);
        let known = CollectiveOp::from_tag(record.tag);
        let algorithm = known.and_then(|op| world.config.collectives.algorithm(op));
        let mut steps = Vec::new();
        let neighbours = world.communicators.neighbours(self.id, record.comm);
        match (known, algorithm, neighbours) {
            (Some(op @ (CollectiveOp::NeighborAllgather | CollectiveOp::NeighborAlltoall)), _, Some(neighbours)) => {
                let sizes = NeighbourSizes { sent: record.bytes, received: record.aux, counts: &self.extra_words() };
                plan_neighbours(op, neighbours, sizes, &mut steps);
                self.totals.collectives_expanded += 1;
            }
            (Some(op), Some(algorithm), _) if !view.is_inter() || is_across(op) => {
                let ranks = world.communicators.size(view.local);
                let peers = world.communicators.size(view.remote);
                let extra = self.extra_words();
                // Forms with counts in both directions list the sent ones first.
                let counts = &extra[..extra.len().min(peers as usize)];
                let other = view.is_inter().then_some(OtherGroup { ranks: peers, root: record.peer });
                let (rank, root) = (view.rank, record.peer.max(0) as u32);
                let (sent, received) = (record.bytes, record.aux);
                CollectiveCall { op, algorithm, rank, ranks, root, sent, received, counts, other }.plan(&mut steps);
                self.totals.collectives_expanded += 1;
            }
            _ => self.totals.skip(record),
        }
        // Every member counts every collective, whether it takes part or not.
        let count = self.collectives_of.entry(view.comm).or_default();
        let tag = *count;
        *count = count.wrapping_add(1);
        if steps.is_empty() {
            if !blocking {
                self.requests.insert(record.request, RequestState::Finished { at: now, ideal: now, overhead: false });
            }
            return;
        }
        let target = if blocking {
            self.threads[usize::from(thread)].activity = Activity::Collective;
            CompletionTarget::Thread(thread)
        } else {
            self.requests.insert(record.request, RequestState::Pending);
            CompletionTarget::Request(record.request)
        };
        let schedule = Box::new(CollectiveSchedule {
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
            groups: [view.local, view.remote],
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

    /// The words of the Extra records at the cursor.
    pub(super) fn extra_words(&self) -> Vec<u64> {
        let extras = self.records[self.cursor..].iter().take_while(|record| record.kind == Kind::Extra as u8);
        extras.flat_map(|record| record.extra_words().into_iter().take(record.tag as usize)).collect()
    }

    pub(super) fn run_schedules(&mut self, world: &World, now: Picos, out: &mut SharedSink) {
        for number in 0..self.schedules.len() {
            if self.schedules[number].as_ref().is_some_and(|schedule| schedule.next_at == now) {
                self.run_round(world, now, number as u32, out);
            }
        }
    }

    /// Posts the receives of the next round, then starts its sends.
    pub(super) fn run_round(&mut self, world: &World, now: Picos, number: u32, out: &mut SharedSink) {
        let schedule = self.schedules[number as usize].as_mut().expect("a round belongs to a schedule");
        let from = schedule.next;
        let round = schedule.steps[from].round;
        let to = from + schedule.steps[from..].iter().take_while(|step| step.round == round).count();
        schedule.next = to;
        schedule.next_at = Picos::MAX;
        schedule.time = now;
        schedule.ideal = now;
        schedule.received = 0;
        // One more than the messages, so that the round does not end while its messages are
        // started.
        schedule.pending = (to - from) as u32 + 1;
        let (comm, tag) = (schedule.comm, schedule.tag);
        let mut clock = now;
        for at in from..to {
            let schedule = self.schedules[number as usize].as_mut().expect("its round is not over");
            let step = schedule.steps[at];
            let peer = schedule.world_rank(world, &step);
            let target = CompletionTarget::Schedule(number);
            if let Some(bytes) = step.sends {
                clock += world.times.send_overhead;
                let rendezvous = bytes > world.times.eager_limit;
                let message = Outgoing { destination: peer, comm, tag, bytes, rendezvous, target };
                self.transmit(world, clock, Traffic::Collective, message, out);
                if !rendezvous {
                    self.complete(world, target, Finished { at: clock, ideal: clock, overhead: false }, out);
                }
            } else {
                schedule.received += 1;
                let source = Some(Initiator(peer));
                let pattern = mpi::pattern(Context::new(comm), Traffic::Collective, source, Some(tag));
                let slot = self.receives.insert(Receive {
                    target,
                    offered: now,
                    accepted: now,
                    room: step.room,
                    ordinal: u32::MAX,
                    depth: 0,
                    posting_thread: None,
                    queued: false,
                }) as u32;
                self.offer(world, now, Op::Post { recv: RecvId(u64::from(slot)), pattern }, out);
            }
        }
        self.complete(
            world,
            CompletionTarget::Schedule(number),
            Finished { at: clock, ideal: clock, overhead: false },
            out,
        );
    }

    pub(super) fn round_done(&mut self, world: &World, number: u32, out: &mut SharedSink) {
        let schedule = self.schedules[number as usize].as_mut().expect("the schedule exists until its last round ends");
        let end = schedule.time + world.times.recv_overhead * u64::from(schedule.received);
        schedule.delay += schedule.time - schedule.ideal;
        if schedule.next < schedule.steps.len() {
            schedule.next_at = end;
            self.rare_at = self.rare_at.min(end);
        } else {
            let finished = Finished { at: end, ideal: end.saturating_sub(schedule.delay), overhead: false };
            let target = schedule.target;
            self.schedules[number as usize] = None;
            self.complete(world, target, finished, out);
        }
    }
}
