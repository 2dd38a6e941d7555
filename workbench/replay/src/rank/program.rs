// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The records of point-to-point calls: sends, receives, waits, cancels.
//!
//! A call's processor time inside MPI is not replayed; it is replaced by the network's overheads and, for an engine on the host, by the engine's
//! answers. A wait ends when the requests that the recording names are complete; their completions are handled in order of time,
//! each received message for one receive overhead.

use mb_core::matching::{Op, Pattern, RecvId};
use mb_core::mpi::{PROC_NULL, Traffic};
use mb_core::time::Picos;
use mb_trace::{Flags, Kind, Record};

use super::{Activity, Finished, Outgoing, Outside, Probing, Rank, Receive, Target, Thread, World, compute_time};
use crate::assignment::pattern_of;
use crate::config::Wildcards;
use crate::report::accumulate;
use crate::requests::{Entry, State};

impl Rank<'_> {
    /// Finds the next record and when it can start.
    #[inline(always)]
    pub(super) fn look_ahead(&mut self, world: &World) {
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
                // Its call has returned: what other threads do behind it in the recording comes later.
                self.floor = self.floor.max(state.clock);
                self.cursor += 1;
                continue;
            }
            self.compute = compute_time(world, record.cpu_ns.saturating_sub(state.cpu_end_ns));
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
            probe: Probing { pattern, wanted: None, ordinal: None, miss: false, idle: false },
        };
        self.threads.resize(last + 1, fresh);
    }

    /// Executes the next record at time `now`.
    pub(super) fn step(&mut self, world: &World, now: Picos, out: &mut Outside) {
        let records = self.records;
        let record = &records[self.cursor];
        let thread = record.thread;
        let state = &mut self.threads[usize::from(thread)];
        accumulate(&mut self.totals.compute, self.compute);
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
    pub(super) fn resume(&mut self, thread: u16, clock: Picos) {
        let state = &mut self.threads[usize::from(thread)];
        accumulate(&mut self.totals.in_mpi, clock - state.begin);
        state.clock = clock;
        state.activity = Activity::Ready;
        self.stale = true;
    }

    pub(super) fn send(&mut self, world: &World, now: Picos, thread: u16, record: &Record, out: &mut Outside) {
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

    pub(super) fn receive(&mut self, world: &World, now: Picos, thread: u16, record: &Record, out: &mut Outside) {
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
            let poster = (world.host && !blocking).then_some(thread);
            let receive = Receive { target, offered: now, room: record.bytes, ordinal, poster, listed: false };
            let slot = self.receives.insert(receive);
            self.requests.insert(record.request, State::Receiving(slot));
            Some(slot)
        };
        let state = &mut self.threads[usize::from(thread)];
        if blocking {
            state.activity = Activity::Waiting;
            state.pending = 1;
            self.requests.get_mut(record.request).expect("it was inserted above").waiter = Some(thread);
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
    pub(super) fn wait(&mut self, world: &World, thread: u16, count: u64, out: &mut Outside) {
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
                        && !matches!(entry.state, State::Finished { .. })
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

    /// All requests of the thread's wait or blocking receive are complete: the processor handles them in order of completion.
    pub(super) fn finish_wait(&mut self, world: &World, thread: u16, out: &mut Outside) {
        let state = &self.threads[usize::from(thread)];
        let at = state.record;
        let records = self.records;
        let mut ending = Ending::new(state.begin, world.times.recv_overhead, &mut out.finished);
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
                        ending.add(self.requests.remove(number));
                    }
                }
            }
            if next - at - 1 == call.aux as usize {
                // Nothing stands between the wait and its done records.
                self.cursor = next;
                contiguous = true;
            }
        } else {
            ending.add(self.requests.remove(call.request));
        }
        let (clock, ideal) = ending.clocks();
        accumulate(&mut self.totals.blocked_on_matching, clock.saturating_sub(ideal));
        if contiguous {
            self.floor = self.floor.max(clock);
        }
        self.resume(thread, clock);
    }

    pub(super) fn cancel(&mut self, world: &World, now: Picos, thread: u16, number: u32, out: &mut Outside) {
        let Some(entry) = self.requests.get_mut(number) else { return };
        let State::Receiving(slot) = entry.state else { return };
        let ordinal = self.receives.at(slot).ordinal;
        let recorded = world.config.wildcards == Wildcards::Recorded;
        let assignment = self.assignment.as_ref().filter(|_| recorded);
        if assignment.is_some_and(|assignment| assignment.was_cancelled_in_vain(ordinal)) {
            // Its message may come later here than in the recording: it must find the receive.
            return;
        }
        if world.host {
            self.threads[usize::from(thread)].activity = Activity::Answering;
            self.cancelling.push((slot, thread));
        }
        self.offer(world, now, Op::Cancel { recv: RecvId(u64::from(slot)) }, out);
        self.close(world, now, ordinal, out);
    }

    pub(super) fn free(&mut self, number: u32) {
        let Some(entry) = self.requests.get_mut(number) else { return };
        if matches!(entry.state, State::Finished { .. }) {
            self.requests.remove(number);
        } else {
            entry.state = State::Detached;
        }
    }
}

/// The end of a call that handles its requests in order of completion.
struct Ending<'a> {
    /// When the call began.
    begin: Picos,
    /// Of a received message.
    overhead: Picos,
    /// The clock behind what was complete when the call began: it costs its overheads, whatever the order.
    clock: Picos,
    /// What was complete later.
    later: &'a mut Vec<Finished>,
    /// Some of it would have been complete earlier with an engine that takes no time.
    delayed: bool,
    sorted: bool,
    last: Picos,
}

impl<'a> Ending<'a> {
    fn new(begin: Picos, overhead: Picos, scratch: &'a mut Vec<Finished>) -> Self {
        scratch.clear();
        Self { begin, overhead, clock: begin, later: scratch, delayed: false, sorted: true, last: begin }
    }

    #[inline]
    fn add(&mut self, request: Option<Entry>) {
        let Some(Entry { state: State::Finished { at, ideal, overhead }, .. }) = request else { return };
        if at <= self.begin {
            self.clock += if overhead { self.overhead } else { Picos::ZERO };
            return;
        }
        self.delayed |= ideal != at;
        self.sorted &= self.last <= at;
        self.last = at;
        self.later.push(Finished { at, ideal, overhead });
    }

    /// When the call ends, and when it would end with an engine that takes no time.
    fn clocks(self) -> (Picos, Picos) {
        let end = |finished: &[Finished], time: fn(&Finished) -> Picos| {
            finished.iter().fold(self.clock, |clock, one| {
                let clock = clock.max(time(one));
                if one.overhead { clock + self.overhead } else { clock }
            })
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
