// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Probes. A probe that was successful in the recording waits until the replay has its message, and
//! searches again whenever an unexpected message arrives that it accepts. An unsuccessful probe
//! searches once. Repeated searches of a polling program in between are not modelled.

use mb_core::matching::{Envelope, Initiator, MsgId, Op, ProbeId};
use mb_core::mpi::{self, Context, PROC_NULL, Traffic};
use mb_core::time::Picos;
use mb_trace::{Kind, Record};

use super::{Activity, DeferredEffect, Message, Probing, Rank, SharedSink, Thread, World};
use crate::assignment::{is_receiving, pattern_of};
use crate::config::Wildcards;

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

    pub(super) fn offer_probe(&mut self, world: &World, now: Picos, thread: u16, out: &mut SharedSink) {
        let Probing { pattern, ordinal, .. } = self.threads[usize::from(thread)].probe;
        let probe = ProbeId(u64::from(thread));
        let op = if ordinal.is_some() { Op::MatchedProbe { probe, pattern } } else { Op::Probe { probe, pattern } };
        self.offer(world, now, op, out);
    }

    /// Handles the completion of a probe at `at`.
    pub(super) fn probed(&mut self, world: &World, thread: u16, found: Option<MsgId>, at: Picos) {
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
        let envelope = self.messages[slot as usize].envelope;
        let other = probe.wanted.is_some_and(|wanted| wanted != envelope);
        if let Some(ordinal) = probe.ordinal {
            let message = &mut self.messages[slot as usize];
            message.taken = true;
            let ordinals = (ordinal, message.ordinal);
            self.unexpected -= 1;
            self.totals.received += 1;
            self.taken.insert(self.records[record].request, slot);
            if self.assignment.is_some() {
                self.compare(ordinals, at);
            }
        } else if other {
            let there = |(_, message): (usize, &Message)| {
                message.queued && !message.taken && Some(message.envelope) == probe.wanted
            };
            let recorded = world.config.wildcards == Wildcards::Recorded;
            if recorded && !self.messages.iter().any(there) {
                self.threads[usize::from(thread)].probe.idle = true;
                self.idle_probes += 1;
                return;
            }
            self.totals.probes_diverged += 1;
        }
        self.resume(thread, at);
    }

    /// Wakes the probes that accept an unexpected message that arrived.
    #[cold]
    pub(super) fn wake_probes(&mut self, world: &World, envelope: Envelope, at: Picos) {
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
                self.idle_probes -= 1;
                woken.push(number);
            }
        }
        for thread in woken {
            self.defer(at, DeferredEffect::OfferProbe(thread));
        }
    }
}
