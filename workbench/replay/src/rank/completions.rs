// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Offers operations to the engine and handles its completions.
//!
//! Effects on matching (a held-back message is offered, a probe searches again) happen at the time
//! of the completion, not when it becomes known. So an engine that computes completions ahead of
//! time is replayed like one that does not.

use mb_core::capacity::Delays;
use mb_core::engine::{Accepted, Completion};
use mb_core::matching::{MsgId, Op, Outcome, RecvId};
use mb_core::mpi::{self, Traffic};
use mb_core::time::Picos;

use super::{CompletionTarget, DeferredEffect, Finished, Packet, PacketKind, Rank, SharedSink, World, after, times};
use crate::report::accumulate;
use crate::requests::RequestState;

impl Rank<'_> {
    #[inline(always)]
    pub(super) fn offer(&mut self, world: &World, now: Picos, op: Op, out: &mut SharedSink) {
        if !self.backlog.is_empty() {
            self.totals.refused += 1;
            self.backlog.push_back(op);
            return;
        }
        if self.engine_at == Picos::MAX
            && let Some(completion) = self.engine.answer(now, op)
        {
            self.count(now, op);
            self.handle_completion(world, completion, out);
            return;
        }
        if !self.offer_now(world, now, op, out) {
            self.totals.refused += 1;
        }
    }

    /// Counts an operation that the engine has accepted.
    #[inline(always)]
    fn count(&mut self, now: Picos, op: Op) {
        self.totals.operations += 1;
        if let Some(lists) = &mut self.lists
            && let (Outcome::Matched(..) | Outcome::Probed(_, Some(_)), depth) = lists.apply(op)
        {
            match op {
                Op::Post { recv, .. } => self.receives[recv.0 as usize].depth = depth,
                Op::Arrive { msg, .. } => self.messages[msg.0 as usize].depth = depth,
                Op::MatchedProbe { probe, .. } => self.threads[probe.0 as usize].probe.depth = depth,
                Op::Cancel { .. } | Op::Probe { .. } => {}
            }
        }
        if let Some(sizer) = &mut self.sizer {
            sizer.apply(now, op);
        }
        if let Some(watcher) = &mut self.watcher {
            watcher.apply(now, op);
        }
    }

    #[inline]
    pub(super) fn offer_now(&mut self, world: &World, now: Picos, op: Op, out: &mut SharedSink) -> bool {
        match self.engine.offer(now, op) {
            Accepted::Yes => {
                self.count(now, op);
                self.engine.settle(&mut out.done);
                self.handle_completions(world, out);
                true
            }
            Accepted::Busy { retry_at } => {
                self.totals.busy_answers += 1;
                self.retry_at = retry_at;
                self.rare_at = self.rare_at.min(retry_at);
                self.engine_at = self.engine.next_event().unwrap_or(Picos::MAX);
                self.backlog.push_front(op);
                false
            }
        }
    }

    pub(super) fn retry(&mut self, world: &World, now: Picos, out: &mut SharedSink) {
        if self.retry_at < Picos::MAX {
            self.retry_at = Picos::MAX;
            self.find_rare();
        }
        while let Some(op) = self.backlog.pop_front() {
            match op {
                Op::Post { recv, .. } => self.receives[recv.0 as usize].accepted = now,
                Op::Arrive { msg, .. } => self.messages[msg.0 as usize].accepted = now,
                Op::Probe { probe, .. } | Op::MatchedProbe { probe, .. } => {
                    self.threads[probe.0 as usize].probe.accepted = now;
                }
                Op::Cancel { .. } => {}
            }
            if !self.offer_now(world, now, op, out) {
                return;
            }
        }
    }

    /// Handles the completions that the engine returned.
    #[inline]
    pub(super) fn handle_completions(&mut self, world: &World, out: &mut SharedSink) {
        self.engine_at = self.engine.next_event().unwrap_or(Picos::MAX);
        let mut done = std::mem::take(&mut out.done);
        for completion in done.drain(..) {
            self.handle_completion(world, completion, out);
        }
        out.done = done;
    }

    pub(super) fn handle_completion(
        &mut self,
        world: &World,
        Completion { at, outcome, visits, delays }: Completion,
        out: &mut SharedSink,
    ) {
        let searched = !matches!(outcome, Outcome::Cancelled(_) | Outcome::NotCancelled(_));
        if searched {
            self.totals.searches += 1;
            self.totals.visits += u64::from(visits);
            self.totals.visits_max = self.totals.visits_max.max(visits);
        }
        match outcome {
            Outcome::Posted(recv) => {
                let receive = &mut self.receives[recv.0 as usize];
                receive.queued = true;
                let posting_thread = receive.posting_thread;
                self.posted += 1;
                self.totals.posted_max = self.totals.posted_max.max(self.posted);
                self.resume_posting_thread(posting_thread, at);
            }
            Outcome::Unexpected(msg) => {
                let message = &mut self.messages[msg.0 as usize];
                message.queued = true;
                let envelope = message.envelope;
                self.unexpected += 1;
                self.totals.unexpected += 1;
                self.totals.unexpected_user += u64::from(mpi::is_user(&envelope));
                self.totals.unexpected_max = self.totals.unexpected_max.max(self.unexpected);
                if self.idle_probes > 0 {
                    self.wake_probes(world, envelope, delays, at);
                }
            }
            Outcome::Matched(recv, msg) => self.matched(world, recv, msg, (at, visits, delays), out),
            Outcome::Cancelled(recv) => {
                let receive = self.receives.remove(recv.0 as usize);
                self.posted -= 1;
                self.totals.cancelled += 1;
                self.resume_cancelling_thread(recv, at);
                self.complete(world, receive.target, Finished { at, ideal: at, overhead: false }, out);
            }
            Outcome::NotCancelled(recv) => self.resume_cancelling_thread(recv, at),
            Outcome::Probed(probe, found) => self.probed(world, probe.0 as u16, found, (at, visits, delays), out),
        }
        out.timeline.add(at, self.posted, self.unexpected);
        for (rank, timeline) in &mut out.watched {
            if *rank == self.id {
                timeline.add(at, self.posted, self.unexpected);
            }
        }
    }

    #[inline(always)]
    pub(super) fn matched(
        &mut self,
        world: &World,
        recv: RecvId,
        msg: MsgId,
        (at, visits, delays): (Picos, u32, Delays),
        out: &mut SharedSink,
    ) {
        let receive = self.receives.remove(recv.0 as usize);
        let message = &mut self.messages[msg.0 as usize];
        let offered = receive.offered.max(message.offered);
        self.posted -= u32::from(receive.queued);
        self.unexpected -= u32::from(message.queued);
        self.totals.received += 1;
        self.totals.truncated += u64::from(message.bytes > receive.room);
        let latency = at - offered;
        self.totals.match_latency.add(latency);
        accumulate(&mut self.totals.match_refused, receive.accepted.max(message.accepted) - offered);
        accumulate(&mut self.totals.match_waiting, delays.waiting);
        accumulate(&mut self.totals.match_beyond, delays.beyond);
        out.visits.add(visits, latency);
        if self.lists.is_some() {
            // One of the two searched and found the other.
            out.depths.add(receive.depth.max(message.depth), latency);
        }
        let ordinals = (receive.ordinal, message.ordinal);
        if receive.ordinal != u32::MAX && self.assignment.is_some() {
            self.compare(ordinals, at);
        }
        if !receive.queued {
            self.resume_posting_thread(receive.posting_thread, at);
        }
        self.transfer(world, msg.0 as u32, receive.target, at, offered, out);
    }

    pub(super) fn resume_posting_thread(&mut self, posting_thread: Option<u16>, at: Picos) {
        if let Some(posting_thread) = posting_thread {
            accumulate(&mut self.totals.blocked_on_matching, at - self.threads[usize::from(posting_thread)].begin);
            self.resume(posting_thread, at);
        }
    }

    pub(super) fn resume_cancelling_thread(&mut self, recv: RecvId, at: Picos) {
        if let Some(found) = self.cancelling.iter().position(|(slot, _)| u64::from(*slot) == recv.0) {
            let (_, thread) = self.cancelling.swap_remove(found);
            self.resume(thread, at);
        }
    }

    /// Compares a match at `at` with the recording. `receive` and `message` are ordinals of
    /// receives; they are equal if the receive took this message in the recording. If not, messages
    /// held back for the receive can be offered.
    pub(super) fn compare(&mut self, (receive, message): (u32, u32), at: Picos) {
        if receive == message {
            return;
        }
        let diverges = self.assignment.as_ref().is_some_and(|assignment| assignment.diverges(receive, message));
        self.totals.diverged += u64::from(diverges);
        self.defer(at, DeferredEffect::CloseReceive(receive));
    }

    pub(super) fn defer(&mut self, at: Picos, what: DeferredEffect) {
        let after = self.deferred.iter().rposition(|(earlier, _)| *earlier <= at).map_or(0, |found| found + 1);
        self.deferred.insert(after, (at, what));
        self.rare_at = self.rare_at.min(at);
    }

    /// Delivers the message in `slot` to `target`. It was matched at `matched`; an engine that
    /// takes no time would have matched it at `ideal`.
    #[inline(always)]
    pub(super) fn transfer(
        &mut self,
        world: &World,
        slot: u32,
        target: CompletionTarget,
        matched: Picos,
        ideal: Picos,
        out: &mut SharedSink,
    ) {
        let message = &mut self.messages[slot as usize];
        if message.rendezvous {
            // It waits for its data only: a probe that looks for its own message must not see it.
            message.queued = false;
            message.target = target;
            message.delay = matched - ideal;
            if let CompletionTarget::Request(number) = target
                && let Some(entry) = self.requests.get_mut(number)
                && matches!(entry.state, RequestState::Receiving(_))
            {
                // The slot of the receive may be reused: a cancel must not find it.
                entry.state = RequestState::Pending;
            }
            let reply = Packet {
                at: matched,
                bytes: message.delay.0,
                source: self.id,
                comm: 0,
                tag: slot,
                token: message.token,
                kind: PacketKind::ClearToSend,
                traffic: Traffic::User,
            };
            let destination = message.envelope.initiator.0;
            self.launch(world, destination, matched, reply, out);
            return;
        }
        let message = self.messages.remove(slot as usize);
        let copy = if message.queued { times(world.times.copy_per_byte, message.bytes) } else { Picos::ZERO };
        let complete = |known: Picos| after(known.max(message.ready), copy);
        let finished = Finished { at: complete(matched), ideal: complete(ideal), overhead: true };
        self.complete(world, target, finished, out);
    }

    #[inline(always)]
    pub(super) fn complete(
        &mut self,
        world: &World,
        target: CompletionTarget,
        finished: Finished,
        out: &mut SharedSink,
    ) {
        match target {
            CompletionTarget::None => {}
            CompletionTarget::Request(number) => {
                let Some(entry) = self.requests.get_mut(number) else { return };
                if entry.state == RequestState::Detached {
                    self.requests.remove(number);
                    return;
                }
                let Finished { at, ideal, overhead } = finished;
                entry.state = RequestState::Finished { at, ideal, overhead };
                let waiter = entry.waiter;
                if let Some(waiter) = waiter {
                    let thread = &mut self.threads[usize::from(waiter)];
                    thread.pending -= 1;
                    if thread.pending == 0 {
                        self.finish_wait(world, waiter, out);
                    }
                }
            }
            CompletionTarget::Thread(thread) => {
                accumulate(&mut self.totals.blocked_on_matching, finished.at.saturating_sub(finished.ideal));
                self.resume(thread, finished.at);
            }
            CompletionTarget::Schedule(number) => {
                let schedule =
                    self.schedules[number as usize].as_mut().expect("a schedule exists until its last round ends");
                schedule.time = schedule.time.max(finished.at);
                schedule.ideal = schedule.ideal.max(finished.ideal);
                schedule.pending -= 1;
                if schedule.pending == 0 {
                    self.round_done(world, number, out);
                }
            }
        }
    }
}
