// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The end of a replay: unreceived messages, unmatched receives, and the calls that ranks are
//! blocked in.

use mb_core::matching::{Initiator, Pattern};
use mb_core::mpi;
use mb_core::time::Picos;
use mb_trace::{CollectiveOp, Flags, Kind};

use super::{Activity, CompletionTarget, Message, PacketKind, Rank, Thread, World};
use crate::assignment::pattern_of;
use crate::requests::RequestState;

impl Rank<'_> {
    /// Fills in the totals that are known only at the end of the replay.
    pub(crate) fn finish_totals(&mut self) {
        let held = self.assignment.as_ref().map_or(0, |assignment| assignment.waiting().count());
        let unmatched = |(_, message): &(usize, &Message)| message.target == CompletionTarget::None && !message.taken;
        let left = self.messages.iter().filter(unmatched).count();
        let in_flight = self
            .arrivals
            .iter()
            .filter(|item| matches!(item.kind, PacketKind::Eager | PacketKind::RequestToSend))
            .count();
        self.totals.never_received = (held + left + in_flight) as u64;
        self.totals.never_matched = self.receives.len() as u64;
        self.totals.engine_busy = self.engine.busy();
        self.totals.capacity = self.engine.capacity_events();
        if !self.finished {
            self.totals.time = self.threads.iter().map(|thread| thread.clock).max().unwrap_or(Picos::ZERO);
        }
    }

    /// The call that blocks the program longest: its record, start time, a description, and the
    /// ranks it waits for.
    pub(crate) fn blocked_call(&self, world: &World) -> Option<(u64, Picos, String, Vec<u32>)> {
        if self.finished {
            return None;
        }
        let thread = self.threads.iter().filter(|thread| thread.activity != Activity::Ready).min_by_key(|t| t.begin)?;
        let record = &self.records[thread.record];
        let (waits, ranks) = match thread.activity {
            Activity::Ready => return None,
            Activity::Waiting => self.open_requests(world, thread),
            Activity::AwaitingEngine => ("a completion of its engine".to_owned(), Vec::new()),
            Activity::Sending => {
                let view = world.communicators.view(self.id, record.comm);
                let to = world.communicators.world_rank(view.remote, record.peer as u32);
                (format!("MPI_Send of {} bytes with tag {} to rank {to}", record.bytes, record.tag), vec![to])
            }
            Activity::AwaitingPartitions => {
                let begun = |each: &&mb_trace::Record| each.kind == Kind::Recv as u8 && each.request == record.request;
                let receive = self.records[..thread.record].iter().rfind(begun).unwrap_or(record);
                let view = world.communicators.view(self.id, receive.comm);
                let from = world.communicators.world_rank(view.remote, receive.peer as u32);
                (format!("MPI_Parrived of a message with tag {} from rank {from}", receive.tag), vec![from])
            }
            Activity::Probing => {
                let what = if thread.probe.ordinal.is_some() { "MPI_Mprobe" } else { "MPI_Probe" };
                let sought = thread.probe.wanted.map_or(thread.probe.pattern, Pattern::exactly);
                describe_receive(what, &sought)
            }
            Activity::Collective => {
                let schedule = self.schedules.iter().flatten().find(|schedule| {
                    schedule.target == CompletionTarget::Thread(record.thread) && schedule.next <= schedule.steps.len()
                });
                let peers = schedule.map_or(Vec::new(), |schedule| {
                    let done = &schedule.steps[..schedule.next];
                    let round = done.last().map_or(0, |step| step.round);
                    let receives = done.iter().filter(|step| step.round == round && step.sends.is_none());
                    receives.map(|step| schedule.world_rank(world, step)).collect()
                });
                let name = CollectiveOp::from_tag(record.tag).map_or("a collective".to_owned(), |op| format!("{op:?}"));
                (format!("{name} with rank{} {}", if peers.len() == 1 { "" } else { "s" }, join(&peers)), peers)
            }
        };
        Some((thread.record as u64, thread.begin, waits, ranks))
    }

    pub(super) fn open_requests(&self, world: &World, thread: &Thread) -> (String, Vec<u32>) {
        let own = self.records[thread.record].thread;
        let open = self.requests.iter().filter(|(_, entry)| {
            entry.waiter == Some(own) && !matches!(entry.state, RequestState::Finished { .. } | RequestState::Detached)
        });
        let mut texts = Vec::new();
        let mut ranks = Vec::new();
        for (number, _) in open {
            // The call that created the request precedes the wait.
            let made = self.records[..=thread.record].iter().rfind(|record| {
                record.request == number && matches!(record.kind(), Some(Kind::Send | Kind::Recv | Kind::Collective))
            });
            let Some(made) = made else { continue };
            if texts.len() == 4 {
                texts.push("more".to_owned());
                break;
            }
            let view = world.communicators.view(self.id, made.comm);
            if made.has(Flags::PARTITIONED) && made.kind != Kind::Collective as u8 {
                let other = world.communicators.world_rank(view.remote, made.peer as u32);
                texts.push(if made.kind == Kind::Recv as u8 {
                    ranks.push(other);
                    format!("a partitioned message with tag {} from rank {other}", made.tag)
                } else {
                    let (unready, all) = self.partitioned.unready(number);
                    format!("{unready} of {all} partitions with tag {} to rank {other} to be ready", made.tag)
                });
                continue;
            }
            if made.kind == Kind::Recv as u8 && !made.has(Flags::MATCHED) {
                let pattern = pattern_of(world.communicators, self.id, made.comm, made.peer, made.tag);
                let (text, named) = describe_receive("MPI_Recv", &pattern);
                texts.push(text);
                ranks.extend(named);
            } else if made.kind == Kind::Send as u8 {
                let to = world.communicators.world_rank(view.remote, made.peer as u32);
                texts.push(format!("MPI_Send of {} bytes with tag {} to rank {to}", made.bytes, made.tag));
                ranks.push(to);
            } else if made.kind == Kind::Recv as u8 {
                texts.push("MPI_Mrecv of a message whose data is missing".to_owned());
            } else {
                let name = CollectiveOp::from_tag(made.tag).map_or("collective".to_owned(), |op| format!("{op:?}"));
                texts.push(format!("a nonblocking {name}"));
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
