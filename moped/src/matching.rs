// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The state machine that matches (section 4.2 of the paper).
//!
//! It takes the oldest descriptor that needs a search and visits the older ones of the table, from the oldest on: a
//! send finds the oldest receive that accepts it, a receive the oldest send that it accepts. Younger descriptors are
//! not considered, because an older one that needs no search any more may have to take them. The literal form takes
//! slots instead of ages.
//!
//! The decision is made when a search begins, and has its effect when the search ends.

use crate::contract::{Id, Kind, State};
use crate::counters::MatchEvent;
use crate::descriptor::{Descriptor, Pair, Role};
use crate::message::Message;
use crate::node::Node;
use crate::parameters::MatchOrder;
use crate::search::{End, Search};

/// The walk of a search: the slot that it finds, and how many entries it visits.
///
/// `waiting` has slot and age of every entry of the table that waits for a match, in order of slots; `before` is the
/// age of the descriptor that is matched, and `accepts` tells whether the entry of a slot matches it. By age, the
/// older entries are visited from the oldest on; by slot, all `entries` of the table, empty ones too.
pub fn walk(
    order: MatchOrder,
    entries: usize,
    before: u64,
    waiting: impl Iterator<Item = (usize, u64)>,
    accepts: impl Fn(usize) -> bool,
) -> (Option<usize>, u64) {
    if order == MatchOrder::Slot {
        return match waiting.map(|(slot, _)| slot).find(|slot| accepts(*slot)) {
            Some(slot) => (Some(slot), slot as u64 + 1),
            None => (None, entries as u64),
        };
    }
    let mut older: Vec<_> = waiting.filter(|(_, age)| *age < before).collect();
    older.sort_unstable_by_key(|(_, age)| *age);
    match older.iter().position(|(slot, _)| accepts(*slot)) {
        Some(place) => (Some(older[place].0), place as u64 + 1),
        None => (None, older.len() as u64),
    }
}

impl Node {
    /// Ends the search whose time has come, and begins the next one.
    pub(crate) fn step_search(&mut self, cycle: u64) {
        if let Some(search) = self.search {
            if search.ready > cycle {
                return;
            }
            self.search = None;
            self.changed = true;
            self.end_search(search.end);
        }
        if !self.search_due {
            return;
        }
        let Some(index) = self.next_search() else {
            self.search_due = false;
            return;
        };
        let (found, visited) = self.find(index);
        self.counters.searches += 1;
        self.counters.visited += visited;
        let ready = cycle + self.parameters.find_cycles + visited * self.parameters.walk_cycles;
        let end = self.decide(index, found);
        self.search = Some(Search { ready, end });
        self.changed = true;
        if ready == cycle {
            self.search = None;
            self.end_search(end);
        }
    }

    /// When the search that is under way ends.
    pub(crate) fn search_end(&self) -> Option<u64> {
        self.search.map(|search| search.ready)
    }

    fn next_search(&self) -> Option<usize> {
        let waiting = self
            .table
            .iter()
            .filter(|(_, entry)| entry.needs_match && !self.programs.is_stopped(entry.descriptor.owner.program));
        match self.parameters.order {
            MatchOrder::Age => waiting.min_by_key(|(_, entry)| entry.age).map(|(index, _)| index),
            MatchOrder::Slot => waiting.map(|(index, _)| index).next(),
        }
    }

    /// The descriptor that matches that of an entry, and how many were visited.
    fn find(&self, index: usize) -> (Option<usize>, u64) {
        let Some(subject) = self.table.get(index) else { return (None, 0) };
        let own = &subject.descriptor;
        let matches = |other: &Descriptor| match own.kind {
            Some(Kind::Send) => other.kind == Some(Kind::Receive) && other.accepts(own),
            _ => own.accepts(other),
        };
        let waiting = self.table.iter().filter(|(_, entry)| entry.unmatched).map(|(slot, entry)| (slot, entry.age));
        let accepts = |slot: usize| self.table.get(slot).is_some_and(|entry| matches(&entry.descriptor));
        walk(self.parameters.order, self.table.len(), subject.age, waiting, accepts)
    }

    /// Marks the result of a search, so that no other search takes it.
    fn decide(&mut self, index: usize, found: Option<usize>) -> End {
        let Some(entry) = self.table.get_mut(index) else { return End::Nothing };
        entry.needs_match = false;
        let subject = entry.descriptor;
        let (kind, id) = (subject.kind, subject.id);
        self.note(MatchEvent::Searched(subject));
        let Some(entry) = self.table.get_mut(index) else { return End::Nothing };
        if matches!(kind, Some(Kind::Probe | Kind::MatchedProbe)) {
            entry.unmatched = false;
            let send = found.and_then(|send| self.table.get_mut(send)).map(|send| {
                if kind == Some(Kind::MatchedProbe) {
                    (send.unmatched, send.needs_match, send.taken_by) = (false, false, Some(id));
                }
                send.descriptor
            });
            let found_id = send.map(|send| send.id);
            self.note(match (kind, found_id) {
                (Some(Kind::MatchedProbe), Some(send)) => MatchEvent::Matched { receive: id, send },
                _ => MatchEvent::Probed { probe: id, found: found_id },
            });
            let found = send.map(|send| (send.rank.unwrap_or(0), send.tag, send.length));
            return End::Probe { probe: index, found };
        }
        let Some(other) = found else { return End::Nothing };
        let (receive, send) = if kind == Some(Kind::Send) { (other, index) } else { (index, other) };
        let mut ids = [id; 2];
        for (place, entry) in [receive, send].into_iter().enumerate() {
            if let Some(entry) = self.table.get_mut(entry) {
                (entry.unmatched, entry.needs_match) = (false, false);
                ids[place] = entry.descriptor.id;
            }
        }
        self.note(MatchEvent::Matched { receive: ids[0], send: ids[1] });
        End::Match { receive, send }
    }

    fn end_search(&mut self, end: End) {
        match end {
            End::Nothing => {}
            End::Match { receive, send } => self.give(receive, send),
            End::Probe { probe, found } => {
                let Some(entry) = self.table.get(probe) else { return };
                let (id, role) = (entry.descriptor.id, entry.role);
                if role == Role::Own {
                    self.probed(id, found);
                } else {
                    self.free(probe);
                    self.send(id.node.into(), Message::Probed { id, found });
                }
            }
        }
    }

    /// Gives a matched pair to the MOPED of its receive.
    fn give(&mut self, receive: usize, send: usize) {
        self.counters.matched += 1;
        let Some(entry) = self.table.get(receive) else { return };
        let (id, role) = (entry.descriptor.id, entry.role);
        if role == Role::Own {
            self.pair(receive, Pair::Here(send));
            return;
        }
        self.free(receive);
        self.give_to(id, send);
    }

    fn give_to(&mut self, receive: Id, send: usize) {
        if let Some(entry) = self.table.get_mut(send) {
            if entry.role == Role::Own {
                entry.state = State::Matched;
            }
            let descriptor = entry.descriptor;
            self.send(receive.node.into(), Message::Pair { receive, send: descriptor, entry: send });
        }
    }

    /// A receive takes what its matched probe has found; here the send waits.
    pub(crate) fn take(&mut self, receive: Descriptor) {
        let found = self.table.iter().find(|(_, entry)| entry.taken_by == Some(receive.id)).map(|(index, _)| index);
        let Some(send) = found else { return };
        if let Some(entry) = self.table.get_mut(send) {
            entry.taken_by = None;
        }
        self.counters.matched += 1;
        if usize::from(receive.id.node) == self.number {
            self.pair(receive.id.entry.into(), Pair::Here(send));
        } else {
            self.give_to(receive.id, send);
        }
    }

    /// The answer to a probe of this MOPED.
    pub(crate) fn probed(&mut self, id: Id, found: Option<(u16, u32, u32)>) {
        let Some(entry) = self.table.get_mut(id.entry.into()) else { return };
        let Some((rank, tag, length)) = found else {
            entry.state = State::NoMessage;
            return;
        };
        let is_matched = entry.descriptor.kind == Some(Kind::MatchedProbe);
        entry.state = if is_matched { State::Found } else { State::Complete };
        let own = &mut entry.descriptor;
        (own.rank, own.tag, own.length) = (Some(rank), tag, length);
    }
}
