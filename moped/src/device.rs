// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The MOPEDs of a chip, cycle by cycle.

use std::collections::{BTreeMap, VecDeque};

use mb_processor::line_port::{LineEvent, LinePort};

use crate::contract::{Id, ProcessAddress, State};
use crate::counters::{MatchEvent, MopedCounters};
use crate::message::Message;
use crate::node::{Node, Slot};
use crate::parameters::MopedParameters;

/// The MOPEDs of all nodes of a chip.
///
/// In each cycle the memory advances first, then [`Moped::advance`], then the cores make their accesses through
/// [`Device`](mb_processor::system::Device): what a MOPED does with an access begins in the next cycle. Cycles may be
/// skipped up to the earlier of [`Moped::next_event`] and the memory's next event.
#[derive(Clone, Debug)]
pub struct Moped {
    pub(crate) nodes: Vec<Node>,
    /// Messages under way in the switch, by tag.
    travelling: BTreeMap<u64, Message>,
    next_tag: u64,
    /// Messages of a node to itself, with the cycle in which they arrive.
    local: Vec<VecDeque<(u64, Message)>>,
    next: Option<u64>,
    events: Vec<LineEvent>,
}

impl Moped {
    /// MOPEDs without descriptors.
    #[must_use]
    pub fn new(parameters: &MopedParameters) -> Self {
        let nodes = parameters.nodes;
        Self {
            nodes: (0..nodes).map(|number| Node::new(number, parameters)).collect(),
            travelling: BTreeMap::new(),
            next_tag: 0,
            local: vec![VecDeque::new(); nodes],
            next: None,
            events: Vec::new(),
        }
    }

    /// A core writes its `satp`: the physical address of the page table that it uses. Reservations record it.
    ///
    /// The descriptor that was stored to the poll port is dropped. Otherwise a process that moves away between the
    /// store and the load of a poll, polls elsewhere and comes back would load the state of its earlier descriptor,
    /// because program and rank of the cached value are its own (section 4.1 compares these alone).
    pub fn set_page_table(&mut self, core: usize, root: u64) {
        self.nodes[core].root = root;
        self.nodes[core].poll = None;
    }

    /// Whether the MOPED of a core requests an interrupt: a page fault waits for the kernel.
    #[must_use]
    pub fn interrupts(&self, core: usize) -> bool {
        !self.nodes[core].faults.is_empty()
    }

    /// The page faults that wait at a core: process, virtual address of the page, and whether it is a receive's.
    pub fn faults(&self, core: usize) -> impl Iterator<Item = (ProcessAddress, u64, bool)> {
        self.nodes[core].faults.iter().map(|fault| (fault.owner, fault.address, fault.is_receive))
    }

    /// The activity of the MOPED of a node.
    #[must_use]
    pub fn counters(&self, node: usize) -> MopedCounters {
        self.nodes[node].counters
    }

    /// The state of a descriptor as its MOPED knows it; nothing if it is free.
    #[must_use]
    pub fn state(&self, id: Id) -> Option<State> {
        self.nodes[usize::from(id.node)].table.get(id.entry.into()).map(|entry| entry.state)
    }

    /// Descriptors in the table of a node, own and forwarded ones.
    #[must_use]
    pub fn used(&self, node: usize) -> usize {
        self.nodes[node].table.used()
    }

    /// Active matches of a node.
    #[must_use]
    pub fn active(&self, node: usize) -> usize {
        self.nodes[node].slots.iter().filter(|slot| !matches!(slot, Slot::Free)).count()
    }

    /// Records the events of matching from here on.
    pub fn log(&mut self) {
        for node in &mut self.nodes {
            node.log = Some(Vec::new());
        }
    }

    /// Takes the events of matching of a node.
    pub fn take_log(&mut self, node: usize) -> Vec<MatchEvent> {
        self.nodes[node].log.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The next cycle in which something happens without an access or an event of the memory.
    #[must_use]
    pub fn next_event(&self) -> Option<u64> {
        self.next
    }

    pub(crate) fn wake(&mut self, cycle: u64) {
        self.next = Some(self.next.map_or(cycle + 1, |next| next.min(cycle + 1)));
    }

    /// Runs a cycle. The events of the port are those up to this cycle.
    pub fn advance(&mut self, cycle: u64, port: &mut impl LinePort) {
        let mut next: Option<u64> = None;
        let mut at = |time: u64| next = Some(next.map_or(time, |earlier| earlier.min(time)));
        for number in 0..self.nodes.len() {
            let node = &mut self.nodes[number];
            port.line_events(number, &mut self.events);
            let timers = [node.search_end(), node.selection_end(), self.local[number].front().map(|(time, _)| *time)];
            let timer = timers.into_iter().flatten().min();
            if !node.changed && self.events.is_empty() && timer.is_none_or(|time| time > cycle) {
                if let Some(time) = timer {
                    at(time);
                }
                continue;
            }
            node.changed = false;
            flush(node, cycle, port, &mut self.travelling, &mut self.next_tag, &mut self.local[number]);
            for event in self.events.drain(..) {
                if let LineEvent::Message { from, tag, .. } = event {
                    if let Some(message) = self.travelling.remove(&tag) {
                        node.receive(from, message);
                    }
                } else {
                    node.line_event(&event);
                }
            }
            while self.local[number].front().is_some_and(|(time, _)| *time <= cycle)
                && let Some((_, message)) = self.local[number].pop_front()
            {
                node.receive(number, message);
            }
            node.step_search(cycle);
            node.step_slots(cycle);
            node.step_walker();
            node.step_copies(cycle, port);
            node.step_invalidations();
            flush(node, cycle, port, &mut self.travelling, &mut self.next_tag, &mut self.local[number]);
            if node.changed {
                at(cycle + 1);
            }
            for time in node.search_end().into_iter().chain(node.selection_end()) {
                at(time.max(cycle + 1));
            }
            if let Some((time, _)) = self.local[number].front() {
                at(*time);
            }
        }
        self.next = next;
    }

    /// Whether nothing is under way: no message, search or copy.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.travelling.is_empty() && self.local.iter().all(VecDeque::is_empty) && self.nodes.iter().all(Node::is_idle)
    }
}

/// Sends the messages of a node.
fn flush(
    node: &mut Node,
    cycle: u64,
    port: &mut impl LinePort,
    travelling: &mut BTreeMap<u64, Message>,
    next_tag: &mut u64,
    local: &mut VecDeque<(u64, Message)>,
) {
    for (to, message) in node.outbox.drain(..) {
        if to == node.number {
            local.push_back((cycle + 1, message));
            continue;
        }
        let parameters = &node.parameters;
        let bytes = if message.has_descriptor() { parameters.descriptor_bytes } else { parameters.control_bytes };
        *next_tag += 1;
        travelling.insert(*next_tag, message);
        port.send(cycle, node.number, to, bytes, *next_tag);
    }
}
