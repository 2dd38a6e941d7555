// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Probes. A probe that found a message in the recording waits until the replay has that message, searching anew whenever an unexpected
//! message comes that it accepts; one that found nothing searches once. What a spinning program would search in between is not modelled.

use mb_core::matching::{Envelope, Initiator, MsgId, Op, ProbeId};
use mb_core::mpi::{self, Context, PROC_NULL, Traffic};
use mb_core::time::Picos;
use mb_trace::{Kind, Record};

use super::{Activity, Later, Message, Outside, Probing, Rank, Thread, World};
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
        out: &mut Outside,
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

    pub(super) fn offer_probe(&mut self, world: &World, now: Picos, thread: u16, out: &mut Outside) {
        let Probing { pattern, ordinal, .. } = self.threads[usize::from(thread)].probe;
        let probe = ProbeId(u64::from(thread));
        let op = if ordinal.is_some() { Op::MatchedProbe { probe, pattern } } else { Op::Probe { probe, pattern } };
        self.offer(world, now, op, out);
    }

    /// A probe's answer at `at`.
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
        let envelope = self.messages.at(slot).envelope;
        let other = probe.wanted.is_some_and(|wanted| wanted != envelope);
        if let Some(ordinal) = probe.ordinal {
            let message = self.messages.at(slot);
            message.taken = true;
            let ordinals = (ordinal, message.ordinal);
            self.unexpected -= 1;
            self.totals.received += 1;
            self.taken.insert(self.records[record].request, slot);
            if self.assignment.is_some() {
                self.compare(ordinals, at);
            }
        } else if other {
            let there = |(_, message): (u32, &Message)| {
                message.listed && !message.taken && Some(message.envelope) == probe.wanted
            };
            let recorded = world.config.wildcards == Wildcards::Recorded;
            if recorded && !self.messages.live().any(there) {
                self.threads[usize::from(thread)].probe.idle = true;
                self.idle_probes += 1;
                return;
            }
            self.totals.probes_diverged += 1;
        }
        self.resume(thread, at);
    }

    /// An unexpected message came: whose probe looks for it?
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
            self.set_off(at, Later::Probe(thread));
        }
    }
}
