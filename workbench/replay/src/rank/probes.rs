// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Probes. A probe that was successful in the recording waits until the replay has its message, and
//! searches again whenever an unexpected message arrives that it accepts. An unsuccessful probe
//! searches once. Repeated searches of a polling program in between are not modelled.
//!
//! A matched probe matches its message: it is accounted as a receive that is posted when the probe is called.

use mb_core::capacity::Delays;
use mb_core::matching::{Envelope, Initiator, MsgId, Op, Pattern, ProbeId};
use mb_core::mpi::{self, Context, PROC_NULL, Traffic};
use mb_core::time::Picos;
use mb_trace::{Kind, Record};

use super::{Activity, DeferredEffect, Message, Probing, Rank, SharedSink, Thread, World};
use crate::assignment::pattern_of;
use crate::config::Wildcards;
use crate::report::accumulate;

impl Probing {
    /// A probe that is called at `now`.
    pub(super) fn new(pattern: Pattern, now: Picos) -> Self {
        Self {
            pattern,
            wanted: None,
            ordinal: None,
            miss: false,
            idle: false,
            offered: now,
            search: now,
            accepted: now,
            arrival: Delays::default(),
            depth: 0,
        }
    }
}

impl Rank<'_> {
    pub(super) fn probe(
        &mut self,
        world: &World,
        now: Picos,
        thread: u16,
        record: &Record,
        miss: bool,
        out: &mut SharedSink,
    ) {
        if record.peer == PROC_NULL {
            return;
        }
        let ordinal = (!miss && record.is_receiving(Kind::Probe)).then(|| {
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
        state.probe = Probing { wanted, ordinal, miss, ..Probing::new(pattern, now) };
        self.offer_probe(world, now, thread, out);
    }

    pub(super) fn offer_probe(&mut self, world: &World, now: Picos, thread: u16, out: &mut SharedSink) {
        let state = &mut self.threads[usize::from(thread)].probe;
        (state.search, state.accepted) = (now, now);
        let Probing { pattern, ordinal, .. } = *state;
        let probe = ProbeId(u64::from(thread));
        let op = if ordinal.is_some() { Op::MatchedProbe { probe, pattern } } else { Op::Probe { probe, pattern } };
        self.offer(world, now, op, out);
    }

    /// Handles the completion of a probe at `at`.
    pub(super) fn probed(
        &mut self,
        world: &World,
        thread: u16,
        found: Option<MsgId>,
        (at, visits, delays): (Picos, u32, Delays),
        out: &mut SharedSink,
    ) {
        let Thread { probe, record, .. } = self.threads[usize::from(thread)];
        let Some(slot) = found.map(|msg| msg.0 as u32) else {
            accumulate(&mut self.totals.probe_search, at - probe.search);
            if probe.miss {
                self.end_probe(thread, at, probe.offered);
            } else {
                self.threads[usize::from(thread)].probe.idle = true;
                self.idle_probes += 1;
            }
            return;
        };
        let Message { envelope, mut offered, .. } = self.messages[slot as usize];
        let other = probe.wanted.is_some_and(|wanted| wanted != envelope);
        if let Some(ordinal) = probe.ordinal {
            let ordinals = (ordinal, self.messages[slot as usize].ordinal);
            self.taken.insert(self.records[record].request, slot);
            self.took(thread, slot, (at, visits, delays), out);
            if self.assignment.is_some() {
                self.compare(ordinals, at);
            }
        } else {
            accumulate(&mut self.totals.probe_search, at - probe.search);
            if other {
                let there = |(_, message): &(usize, &Message)| {
                    message.queued && !message.taken && Some(message.envelope) == probe.wanted
                };
                if world.config.wildcards == Wildcards::Recorded {
                    let Some((_, wanted)) = self.messages.iter().find(there) else {
                        self.threads[usize::from(thread)].probe.idle = true;
                        self.idle_probes += 1;
                        return;
                    };
                    offered = wanted.offered;
                }
                self.totals.probes_diverged += 1;
            }
        }
        self.end_probe(thread, at, probe.offered.max(offered));
    }

    /// Accounts for the match of a matched probe with the message in `slot`.
    fn took(&mut self, thread: u16, slot: u32, (at, visits, delays): (Picos, u32, Delays), out: &mut SharedSink) {
        let probe = self.threads[usize::from(thread)].probe;
        let message = &mut self.messages[slot as usize];
        message.taken = true;
        self.unexpected -= 1;
        self.totals.received += 1;
        let offered = probe.offered.max(message.offered);
        let latency = at - offered;
        self.totals.match_latency.add(latency);
        let mut refused = probe.accepted - probe.search;
        let mut all = delays;
        if message.offered > probe.offered {
            // The search of the arrival is part of the latency too.
            refused += message.accepted - message.offered;
            all.waiting += probe.arrival.waiting;
            all.beyond += probe.arrival.beyond;
        }
        accumulate(&mut self.totals.match_refused, refused);
        accumulate(&mut self.totals.match_waiting, all.waiting);
        accumulate(&mut self.totals.match_beyond, all.beyond);
        out.visits.add(visits, latency);
        if self.lists.is_some() {
            out.depths.add(probe.depth, latency);
        }
    }

    /// The probe of `thread` has its result at `at`; with an engine that takes no time it would have it at `ideal`.
    fn end_probe(&mut self, thread: u16, at: Picos, ideal: Picos) {
        let polls = self.threads[usize::from(thread)].polls;
        let notice = |time| polls.map_or(time, |polls| polls.notice(time));
        accumulate(&mut self.totals.blocked_on_matching, notice(at).saturating_sub(notice(ideal)));
        self.resume(thread, notice(at));
    }

    /// Wakes the probes that accept an unexpected message that arrived.
    #[cold]
    pub(super) fn wake_probes(&mut self, world: &World, envelope: Envelope, delays: Delays, at: Picos) {
        let mut woken = Vec::new();
        for (number, thread) in (0..=u16::MAX).zip(&mut self.threads) {
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
                probe.arrival = delays;
                self.idle_probes -= 1;
                woken.push(number);
            }
        }
        for thread in woken {
            self.defer(at, DeferredEffect::OfferProbe(thread));
        }
    }
}
