// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Events that happen in a cycle without a request.

use super::cache::Block;
use super::protocol::{CacheState, Impossible};
use super::{CoherentMemory, Event};
use crate::memory::system::{CompletedRequest, Device};

impl<D: Device> CoherentMemory<D> {
    /// Runs the next cycle that has events.
    ///
    /// # Panics
    /// The protocol has no transition for an event.
    pub(super) fn run(&mut self, completed: &mut Vec<CompletedRequest>) {
        self.now = self.calendar.next;
        self.calendar.proceed(self.now);
        let mut number = 0;
        while let Some(event) = self.calendar.get(number) {
            number += 1;
            if let Err(impossible) = self.happen(event, completed) {
                panic!("cycle {}: {impossible}", self.now);
            }
        }
        self.calendar.finish();
    }

    fn happen(&mut self, event: Event, completed: &mut Vec<CompletedRequest>) -> Result<(), Impossible> {
        match event {
            Event::Send(number) => self.inject(number),
            Event::Arrive(number) => self.arrive(number, completed)?,
            Event::Bank(number) => self.reach_bank(number),
            Event::Serve(number) => self.serve_home(number)?,
            Event::Lookup { node, line } => self.look_up(node.into(), line, completed)?,
            Event::Drain(node) => self.drain(node.into(), completed)?,
            Event::Access(node) => self.access_device(node.into(), completed),
            Event::Line { node, work } => self.begin_work(node.into(), work, completed)?,
            Event::Message(number) => self.message_arrives(number),
        }
        Ok(())
    }

    /// A message enters the switch.
    pub(super) fn inject(&mut self, number: u32) {
        let flight = self.flights.get(number);
        let kind = flight.message.kind;
        let bytes = if kind.has_data() { 64 } else { 0 };
        let (from, to) = (flight.message.from.into(), flight.to.into());
        let (at, busy) = self.switch.send(self.now, from, to, bytes);
        let statistics = &mut self.statistics.messages[kind as usize];
        statistics.messages += 1;
        statistics.link_cycles += busy;
        self.calendar.push(at, if kind.is_to_home() { Event::Bank(number) } else { Event::Arrive(number) });
    }

    /// The L2 has looked for a line: it leaves the caches for its MSHR.
    pub(super) fn look_up(
        &mut self,
        node: usize,
        line: u64,
        completed: &mut Vec<CompletedRequest>,
    ) -> Result<(), Impossible> {
        let caches = &mut self.nodes[node];
        let Some(mshr) = caches.mshr(line) else { return Ok(()) };
        if caches.mshrs[mshr].active && !caches.mshrs[mshr].state.is_stable() {
            // The end of the transaction serves those who wait.
            return Ok(());
        }
        if !caches.mshrs[mshr].active {
            let (state, block) = caches.extract(line).unwrap_or((CacheState::I, Block::ZERO));
            let entry = &mut caches.mshrs[mshr];
            (entry.active, entry.state, entry.block) = (true, state, block);
            if state != CacheState::I {
                caches.statistics.core.local += 1;
            }
        }
        self.serve(node, mshr, completed)
    }
}
