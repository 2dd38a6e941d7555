// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Executes the records of point-to-point calls: sends, receives, waits, cancels.
//!
//! The recorded CPU time inside MPI calls is not replayed. The overheads of the network replace it
//! and, for an engine on the host, the completion times of the engine. A wait ends when the
//! requests that it completed in the recording are complete. Completions are processed in order of
//! time, with one receive overhead per received message.

use mb_core::matching::{Op, Pattern, RecvId};
use mb_core::mpi::{PROC_NULL, Traffic};
use mb_core::time::Picos;
use mb_trace::{Flags, Kind, Record};

use super::{
    Activity, CompletionTarget, Finished, Outgoing, PollLoop, Probing, Rank, Receive, SharedSink, Thread, World,
    compute_time,
};
use crate::assignment::pattern_of;
use crate::config::Wildcards;
use crate::report::accumulate;
use crate::requests::{RequestEntry, RequestState};

impl Rank<'_> {
    /// Finds the next record and when it can start.
    #[inline(always)]
    pub(super) fn find_next_record(&mut self, world: &World) {
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
                // The time of a thread before its first call is not in the trace: the thread is
                // assumed to start here.
                state.clock = self.floor;
                state.cpu_end_ns = record.cpu_ns();
            }
            if state.activity != Activity::Ready {
                self.program_at = Picos::MAX;
                return;
            }
            if record.kind == Kind::Thread as u8 {
                // Another thread with a CPU time of its own, which starts here too.
                state.cpu_end_ns = u64::MAX;
                self.cursor += 1;
                continue;
            }
            if state.polls.is_some_and(|polls| self.cursor < polls.end) && record.kind == Kind::Miss as u8 {
                self.cursor += 1;
                continue;
            }
            if record.kind == Kind::Done as u8 {
                // Its call has returned: later records of other threads start later.
                self.floor = self.floor.max(state.clock);
                self.cursor += 1;
                continue;
            }
            self.compute = compute_time(world, record.cpu_ns().saturating_sub(state.cpu_end_ns));
            self.program_at = (state.clock + self.compute).max(self.floor);
            return;
        }
    }

    #[cold]
    pub(super) fn add_threads(&mut self, last: usize) {
        let pattern = Pattern { bits: 0, ignore: 0, initiator: None };
        let fresh = Thread {
            clock: Picos::ZERO,
            cpu_end_ns: u64::MAX,
            activity: Activity::Ready,
            begin: Picos::ZERO,
            pending: 0,
            record: 0,
            probe: Probing::new(pattern, Picos::ZERO),
            polls: None,
        };
        self.threads.resize(last + 1, fresh);
    }

    /// Executes the next record at time `now`.
    pub(super) fn execute_record(&mut self, world: &World, now: Picos, out: &mut SharedSink) {
        let records = self.records;
        let record = &records[self.cursor];
        let thread = record.thread;
        let state = &mut self.threads[usize::from(thread)];
        accumulate(&mut self.totals.compute, self.compute);
        state.clock = now;
        state.begin = now;
        state.record = self.cursor;
        state.cpu_end_ns = record.cpu_ns().saturating_add(u64::from(record.cpu_span_ns));
        self.floor = now;
        self.cursor += 1;
        self.stale = true;
        match record.kind() {
            Some(Kind::Send) => self.send(world, now, thread, record, out),
            Some(Kind::Recv) => self.receive(world, now, thread, record, out),
            Some(Kind::Wait) => self.wait(world, thread, record.aux, out),
            Some(Kind::Probe) => self.probe(world, now, thread, record, false, out),
            Some(Kind::Miss) => self.poll(world, now, thread, record, out),
            Some(Kind::Cancel) => self.cancel(world, now, thread, record.request, out),
            Some(Kind::Free) => self.free(record.request),
            Some(Kind::Collective) => self.collective(world, now, thread, record, out),
            Some(Kind::Partition) => self.partition(world, now, thread, record, out),
            // These records have no modelled effect; a Done record was handled by its wait.
            Some(
                Kind::Init
                | Kind::Finalize
                | Kind::Comm
                | Kind::CommFree
                | Kind::Other
                | Kind::Done
                | Kind::Extra
                | Kind::Thread
                | Kind::Site
                | Kind::Topology,
            )
            | None => {}
        }
    }

    /// The thread's call ends at `clock`.
    pub(super) fn resume(&mut self, thread: u16, clock: Picos) {
        let state = &mut self.threads[usize::from(thread)];
        accumulate(&mut self.totals.in_mpi, clock - state.begin);
        state.clock = clock;
        state.activity = Activity::Ready;
        state.polls = None;
        self.stale = true;
    }

    pub(super) fn send(&mut self, world: &World, now: Picos, thread: u16, record: &Record, out: &mut SharedSink) {
        let blocking = record.has(Flags::BLOCKING);
        if record.peer == PROC_NULL {
            if !blocking {
                self.requests.insert(record.request, RequestState::Finished { at: now, ideal: now, overhead: false });
            }
            return;
        }
        if record.has(Flags::PARTITIONED) {
            self.start_partitioned_send(world, now, record);
            return;
        }
        let view = world.communicators.view(self.id, record.comm);
        let destination = world.communicators.world_rank(view.remote, record.peer as u32);
        let clock = now + world.times.send_overhead;
        let rendezvous = record.bytes > world.times.eager_limit || record.has(Flags::SYNCHRONOUS);
        let local = !rendezvous || record.has(Flags::BUFFERED);
        let target = match (local, blocking) {
            (true, _) => CompletionTarget::None,
            (false, true) => CompletionTarget::Thread(thread),
            (false, false) => CompletionTarget::Request(record.request),
        };
        let message =
            Outgoing { destination, comm: view.comm, tag: record.tag as u32, bytes: record.bytes, rendezvous, target };
        self.totals.sent_user += 1;
        self.transmit(world, clock, Traffic::User, message, out);
        if !blocking {
            let finished = RequestState::Finished { at: clock, ideal: clock, overhead: false };
            self.requests.insert(record.request, if local { finished } else { RequestState::Pending });
        } else if !local {
            self.threads[usize::from(thread)].activity = Activity::Sending;
            return;
        }
        self.resume(thread, clock);
    }

    pub(super) fn receive(&mut self, world: &World, now: Picos, thread: u16, record: &Record, out: &mut SharedSink) {
        let blocking = record.has(Flags::BLOCKING);
        if record.peer == PROC_NULL {
            if !blocking {
                self.requests.insert(record.request, RequestState::Finished { at: now, ideal: now, overhead: false });
            }
            return;
        }
        if record.has(Flags::PARTITIONED) {
            self.start_partitioned_receive(world, now, record, out);
            return;
        }
        let target = CompletionTarget::Request(record.request);
        let ordinal = self.ordinal;
        let slot = if record.has(Flags::MATCHED) {
            self.requests.insert(record.request, RequestState::Pending);
            None
        } else {
            self.ordinal += 1;
            let posting_thread = (world.host && !blocking).then_some(thread);
            let receive = Receive {
                target,
                offered: now,
                accepted: now,
                room: record.bytes,
                ordinal,
                depth: 0,
                posting_thread,
                queued: false,
            };
            let slot = self.receives.insert(receive) as u32;
            self.requests.insert(record.request, RequestState::Receiving(slot));
            Some(slot)
        };
        let state = &mut self.threads[usize::from(thread)];
        if blocking {
            state.activity = Activity::Waiting;
            state.pending = 1;
            self.requests.get_mut(record.request).expect("it was inserted above").waiter = Some(thread);
        } else if world.host && slot.is_some() {
            state.activity = Activity::AwaitingEngine;
        }
        if let Some(slot) = slot {
            let pattern = pattern_of(world.communicators, self.id, record.comm, record.peer, record.tag);
            self.offer(world, now, Op::Post { recv: RecvId(u64::from(slot)), pattern }, out);
        } else if let Some(slot) = self.taken.remove(&(record.aux as u32)) {
            let message = self.messages[slot as usize];
            self.totals.truncated += u64::from(message.bytes > record.bytes);
            self.transfer(world, slot, target, now, now, out);
        }
    }

    /// A wait for the requests of the next `count` Done records of the thread.
    pub(super) fn wait(&mut self, world: &World, thread: u16, count: u64, out: &mut SharedSink) {
        let mut pending = 0;
        let mut left = count;
        for record in &self.records[self.cursor..] {
            if left == 0 {
                break;
            }
            if record.kind == Kind::Done as u8 && record.thread == thread {
                left -= 1;
                for number in record.ended() {
                    if let Some(entry) = self.requests.get_mut(number)
                        && !matches!(entry.state, RequestState::Finished { .. })
                    {
                        entry.waiter = Some(thread);
                        pending += 1;
                    }
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

    /// Ends a wait or blocking receive whose requests are all complete. The processor handles them
    /// in order of completion.
    pub(super) fn finish_wait(&mut self, world: &World, thread: u16, out: &mut SharedSink) {
        let state = &self.threads[usize::from(thread)];
        let at = state.record;
        let records = self.records;
        let mut end = WaitEnd::new(state.begin, world.times.recv_overhead, &mut out.finished);
        let mut contiguous = false;
        let call = &records[at];
        if call.kind == Kind::Wait as u8 {
            let mut left = call.aux;
            let mut next = at + 1;
            while left > 0
                && let Some(record) = records.get(next)
            {
                next += 1;
                if record.kind == Kind::Done as u8 && record.thread == thread {
                    left -= 1;
                    for number in record.ended() {
                        end.add(self.requests.remove(number));
                    }
                }
            }
            if next - at - 1 == call.aux as usize {
                // The Done records directly follow the wait.
                self.cursor = next;
                contiguous = true;
            }
        } else {
            end.add(self.requests.remove(call.request));
        }
        let (clock, ideal) = end.clocks(state.polls);
        accumulate(&mut self.totals.blocked_on_matching, clock.saturating_sub(ideal));
        if contiguous {
            self.floor = self.floor.max(clock);
        }
        self.resume(thread, clock);
    }

    pub(super) fn cancel(&mut self, world: &World, now: Picos, thread: u16, number: u32, out: &mut SharedSink) {
        let Some(entry) = self.requests.get_mut(number) else { return };
        let RequestState::Receiving(slot) = entry.state else { return };
        let ordinal = self.receives[slot as usize].ordinal;
        let recorded = world.config.wildcards == Wildcards::Recorded;
        let assignment = self.assignment.as_ref().filter(|_| recorded);
        if assignment.is_some_and(|assignment| assignment.was_cancelled_too_late(ordinal)) {
            // Its message may arrive later than in the recording and must find the receive.
            return;
        }
        if world.host {
            self.threads[usize::from(thread)].activity = Activity::AwaitingEngine;
            self.cancelling.push((slot, thread));
        }
        self.offer(world, now, Op::Cancel { recv: RecvId(u64::from(slot)) }, out);
        self.close(world, now, ordinal, out);
    }

    pub(super) fn free(&mut self, number: u32) {
        let Some(entry) = self.requests.get_mut(number) else { return };
        if matches!(entry.state, RequestState::Finished { .. }) {
            self.requests.remove(number);
        } else {
            entry.state = RequestState::Detached;
        }
    }
}

/// Computes the end of a call that handles its requests in order of completion.
struct WaitEnd<'a> {
    /// Start of the call.
    begin: Picos,
    /// Receive overhead per message.
    overhead: Picos,
    /// The clock after the requests that were complete at the start of the call. Only their
    /// overheads count, in any order.
    clock: Picos,
    /// Requests that were completed later.
    later: &'a mut Vec<Finished>,
    /// Some of them would have been completed earlier with an engine that takes no time.
    delayed: bool,
    sorted: bool,
    last: Picos,
}

impl<'a> WaitEnd<'a> {
    fn new(begin: Picos, overhead: Picos, scratch: &'a mut Vec<Finished>) -> Self {
        scratch.clear();
        Self { begin, overhead, clock: begin, later: scratch, delayed: false, sorted: true, last: begin }
    }

    #[inline]
    fn add(&mut self, request: Option<RequestEntry>) {
        let Some(RequestEntry { state: RequestState::Finished { at, ideal, overhead }, .. }) = request else { return };
        if at <= self.begin {
            self.clock += if overhead { self.overhead } else { Picos::ZERO };
            return;
        }
        self.delayed |= ideal != at;
        self.sorted &= self.last <= at;
        self.last = at;
        self.later.push(Finished { at, ideal, overhead });
    }

    /// When the call ends, and when it would end with an engine that takes no time. A loop of `polls` notices the last
    /// completion at one of its polls.
    fn clocks(self, polls: Option<PollLoop>) -> (Picos, Picos) {
        let end = |finished: &[Finished], time: fn(&Finished) -> Picos| {
            let noticed = finished.last().and_then(|last| Some(polls?.notice(time(last)) - time(last)));
            finished.iter().fold(self.clock, |clock, one| {
                let clock = clock.max(time(one));
                if one.overhead { clock + self.overhead } else { clock }
            }) + noticed.unwrap_or(Picos::ZERO)
        };
        if !self.sorted {
            self.later.sort_unstable_by_key(|one| one.at);
        }
        let clock = end(self.later, |one| one.at);
        if !self.delayed {
            return (clock, clock);
        }
        self.later.sort_unstable_by_key(|one| one.ideal);
        (clock, end(self.later, |one| one.ideal))
    }
}
