// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One MOPED: its state, and what it does with messages of others.

use std::collections::VecDeque;

use crate::backoff::{Bit, Programs};
use crate::contract::{Field, Go, Id, Kind, ProcessAddress, State, Word};
use crate::copy::Active;
use crate::counters::{MatchEvent, MopedCounters};
use crate::descriptor::{Descriptor, Pair, Role, Table, TableEntry};
use crate::message::{Access, Fault, Message};
use crate::parameters::{MopedParameters, WalkStart};
use crate::pending::Pending;
use crate::search::Search;
use crate::walk::{Target, Walk, Walker};

/// A slot of the table of active matches.
#[derive(Clone, Debug)]
pub(crate) enum Slot {
    Free,
    /// The match is selected; it is active from this cycle on.
    Selected {
        receive: usize,
        ready: u64,
    },
    /// Waits for the send of this receive.
    Pulled {
        receive: usize,
    },
    Active(Box<Active>),
}

/// A page that must not be accessed any more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Invalidation {
    pub(crate) from: usize,
    pub(crate) root: u64,
    pub(crate) page: u64,
}

/// One MOPED.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) number: usize,
    pub(crate) parameters: MopedParameters,
    pub(crate) table: Table,
    pub(crate) programs: Programs,
    pub(crate) search: Option<Search>,
    pub(crate) slots: Vec<Slot>,
    pub(crate) walker: Walker,
    /// Page table of the process that the core executes.
    pub(crate) root: u64,
    /// The process, descriptor and word of the last store to a poll port.
    pub(crate) poll: Option<(ProcessAddress, Id, Option<Word>)>,
    /// The access of the core that is under way.
    pub(crate) access: Option<Pending>,
    pub(crate) in_flight: u64,
    pub(crate) faults: VecDeque<Fault>,
    pub(crate) walks_at_fault: Vec<(u64, Walk)>,
    pub(crate) invalidations: Vec<Invalidation>,
    pub(crate) invalidating: u64,
    pub(crate) tag: u32,
    pub(crate) outbox: Vec<(usize, Message)>,
    pub(crate) counters: MopedCounters,
    pub(crate) log: Option<Vec<MatchEvent>>,
    /// Something happened in this cycle, or was asked for since the last one.
    pub(crate) changed: bool,
    /// A descriptor may need a search; a matched pair may wait for a slot.
    pub(crate) search_due: bool,
    pub(crate) slots_due: bool,
}

impl Node {
    pub(crate) fn new(number: usize, parameters: &MopedParameters) -> Self {
        Self {
            number,
            parameters: parameters.clone(),
            table: Table::new(parameters.descriptors),
            programs: Programs::new(parameters.nodes, parameters.programs, parameters.backoff),
            search: None,
            slots: vec![Slot::Free; parameters.active],
            walker: Walker::new(parameters.walk_lines),
            root: 0,
            poll: None,
            access: None,
            in_flight: 0,
            faults: VecDeque::new(),
            walks_at_fault: Vec::new(),
            invalidations: Vec::new(),
            invalidating: 0,
            tag: 0,
            outbox: Vec::new(),
            counters: MopedCounters::default(),
            log: None,
            changed: false,
            search_due: false,
            slots_due: false,
        }
    }

    pub(crate) fn send(&mut self, to: usize, message: Message) {
        self.outbox.push((to, message));
    }

    pub(crate) fn note(&mut self, event: MatchEvent) {
        if let Some(log) = &mut self.log {
            log.push(event);
        }
    }

    /// The MOPED that matches the messages to a process.
    pub(crate) fn matching_node(&self, program: u16, receiver: u16) -> usize {
        let hash = u64::from(program) * self.parameters.hash_factor + u64::from(receiver);
        (hash % self.parameters.nodes as u64) as usize
    }

    /// Removes an entry; one that a process has reserved is counted.
    pub(crate) fn free(&mut self, entry: usize) {
        if let Some(removed) = self.table.remove(entry).filter(|removed| removed.role == Role::Own) {
            self.programs.release(removed.descriptor.owner.program, &mut self.outbox);
        }
    }

    /// Software refuses or a table is full.
    pub(crate) fn raise(&mut self, program: u16) {
        self.programs.raise(program, &mut self.outbox);
    }

    /// A store to the data port of a process, for a descriptor of this MOPED. The access waits for the matching MOPED
    /// if `reply` names a node where a process waits that has moved; then the value is false.
    pub(crate) fn store(&mut self, owner: ProcessAddress, word: u64, reply: Option<usize>) -> bool {
        use crate::contract::{FIELD_SHIFT, LENGTH_MAX, VALUE_SHIFT};
        let (id, field, value) = (Id::of(word), Field::of(word >> FIELD_SHIFT & 15), word >> VALUE_SHIFT);
        let index = usize::from(id.entry);
        let Some(entry) = self.table.own(id.entry, owner) else {
            self.counters.misuses += 1;
            return true;
        };
        let open = entry.state == State::Reserved || entry.state == State::Found;
        match field {
            Some(Field::Address) if open => entry.descriptor.address = value,
            Some(Field::Length) if open && value <= LENGTH_MAX => entry.descriptor.length = value as u32,
            Some(Field::Tag) if entry.state == State::Reserved => {
                entry.descriptor.tag = value as u32;
                entry.descriptor.receiver = (value >> 32 & 511) as u16;
            }
            Some(Field::Go) if open => {
                let is_take = Go::of(value).is_some_and(|go| go.kind == Kind::Take);
                match Go::of(value).filter(|_| is_take == (entry.state == State::Found)) {
                    Some(go) => return self.complete(index, go, reply),
                    None => self.counters.misuses += 1,
                }
            }
            Some(Field::Cancel) if entry.state == State::Reserved => self.free(index),
            Some(Field::Cancel) if entry.state == State::Pending => self.withdraw(index, false),
            Some(Field::Cancel) => {}
            _ => self.counters.misuses += 1,
        }
        true
    }

    /// A descriptor is complete: it goes to its matching MOPED.
    fn complete(&mut self, index: usize, go: Go, reply: Option<usize>) -> bool {
        let Some(entry) = self.table.get_mut(index) else { return true };
        entry.descriptor.complete(go);
        let is_take = go.kind == Kind::Take;
        self.counters.posted += u64::from(!matches!(go.kind, Kind::Probe | Kind::MatchedProbe));
        entry.state = if is_take { State::Matched } else { State::Pending };
        let descriptor = entry.descriptor;
        if !is_take && self.programs.is_stopped(descriptor.owner.program) {
            entry.state = State::Revoked;
            self.counters.rejected += 1;
            return true;
        }
        if matches!(go.kind, Kind::Receive | Kind::Take) {
            self.translate_early(index);
        }
        let to = self.matching_node(descriptor.owner.program, descriptor.receiver);
        if to == self.number {
            if is_take {
                self.take(descriptor);
            } else {
                self.arrive(index);
            }
            return true;
        }
        self.counters.forwarded += 1;
        self.in_flight += 1;
        self.send(to, Message::Descriptor { descriptor, reply });
        reply.is_none()
    }

    /// The first two pages of a buffer that will be copied from or to here.
    pub(crate) fn translate_early(&mut self, index: usize) {
        if self.parameters.walk_start != WalkStart::Valid {
            return;
        }
        let Some(entry) = self.table.get(index) else { return };
        let descriptor = entry.descriptor;
        let target = Target::Entry { entry: index, serial: entry.serial };
        for page in 0..descriptor.pages(descriptor.length).min(2) {
            self.walker.add(Walk {
                target,
                page,
                root: descriptor.root,
                address: (descriptor.address & !4095) + page * 4096,
                is_receive: descriptor.kind != Some(Kind::Send),
            });
        }
    }

    /// A completed descriptor of the table waits for a match here.
    pub(crate) fn arrive(&mut self, index: usize) {
        let age = self.table.number();
        self.search_due = true;
        let Some(entry) = self.table.get_mut(index) else { return };
        (entry.unmatched, entry.needs_match, entry.age) = (true, true, age);
    }

    /// Removes an own descriptor from matching, by a cancel or by a poll in back-off.
    pub(crate) fn withdraw(&mut self, index: usize, revoke: bool) {
        let Some(entry) = self.table.get_mut(index) else { return };
        if std::mem::replace(&mut entry.withdrawing, true) {
            return;
        }
        let Descriptor { id, owner, receiver, .. } = entry.descriptor;
        let to = self.matching_node(owner.program, receiver);
        if to == self.number {
            let removed = self.remove_unmatched(id);
            self.withdrawn(id, removed, revoke);
        } else {
            self.send(to, Message::Withdraw { id, owner, revoke });
        }
    }

    /// Removes a descriptor that waits here for a match.
    fn remove_unmatched(&mut self, id: Id) -> bool {
        let Some(index) = self.table.waiting(id) else { return false };
        self.note(MatchEvent::Withdrawn(id));
        if let Some(entry) = self.table.get_mut(index) {
            (entry.unmatched, entry.needs_match) = (false, false);
            if entry.role == Role::Forwarded {
                self.free(index);
            }
        }
        true
    }

    fn withdrawn(&mut self, id: Id, removed: bool, revoke: bool) {
        let Some(entry) = self.table.get_mut(id.entry.into()) else { return };
        entry.withdrawing = false;
        if entry.state == State::Pending {
            entry.state = match (removed, revoke) {
                (true, true) => State::Revoked,
                (true, false) => State::Cancelled,
                // A probe that was not removed has its answer on the way.
                (false, _) if matches!(entry.descriptor.kind, Some(Kind::Probe | Kind::MatchedProbe)) => State::Pending,
                (false, _) => State::Matched,
            };
            if removed && revoke {
                self.counters.revoked += 1;
            }
        }
    }

    /// The value that a poll of a descriptor of this MOPED loads.
    pub(crate) fn load(&mut self, owner: ProcessAddress, word: u64) -> u64 {
        use crate::contract::{TRUNCATED, WORD_SHIFT};
        let id = Id::of(word);
        let index = usize::from(id.entry);
        let bit = self.programs.get(owner.program).bit;
        let word = Word::of(word >> WORD_SHIFT & 7);
        let Some(entry) = self.table.own(id.entry, owner) else {
            // The kernel peeks at every descriptor when a process ends.
            if word != Some(Word::Peek) {
                self.counters.misuses += 1;
            }
            return State::None as u64;
        };
        let waits = entry.state == State::Pending && !entry.withdrawing;
        match word {
            Some(Word::State | Word::Peek) => {}
            Some(Word::Source) => return entry.descriptor.rank.unwrap_or(0).into(),
            Some(Word::Tagged) => return entry.descriptor.tag.into(),
            Some(Word::Bytes) => return entry.descriptor.length.into(),
            Some(Word::Backoff | Word::InFlight) | None => return State::None as u64,
        }
        if waits && bit != Bit::Clear {
            self.withdraw(index, true);
        }
        let Some(entry) = self.table.get(index) else { return State::None as u64 };
        let state = match entry.state {
            // Software must not act on it before the bit is set everywhere.
            State::Revoked if bit != Bit::Set || entry.withdrawing => State::Pending,
            // The answer to a withdrawal must find the entry.
            state if state.is_final() && entry.withdrawing => State::Matched,
            state => state,
        };
        let value = state as u64 | if entry.truncated { TRUNCATED } else { 0 };
        if word == Some(Word::State) && state.is_final() {
            self.free(index);
        }
        value
    }

    /// A message of another MOPED, or of this one to itself.
    pub(crate) fn receive(&mut self, from: usize, message: Message) {
        self.changed = true;
        match message {
            Message::Descriptor { descriptor, reply } => self.receive_descriptor(from, descriptor, reply),
            Message::Taken { reply } => self.landed(reply),
            Message::Rejected { id, reply } => {
                self.landed(reply);
                if let Some(entry) = self.table.get_mut(id.entry.into()) {
                    entry.state = State::Revoked;
                }
            }
            Message::Pair { receive, send, entry } => self.receive_pair(from, receive, send, entry),
            Message::PairTaken { entry } => self.given(entry),
            Message::Pull { receive, entry } => {
                if let Some(found) = self.table.get(entry) {
                    let send = found.descriptor;
                    self.send(from, Message::Pulled { receive, send });
                    self.given(entry);
                }
            }
            Message::Pulled { receive, send } => self.receive_pulled(receive, send),
            Message::Withdraw { id, owner, revoke } => {
                if revoke && self.parameters.backoff == crate::parameters::Backoff::Stop {
                    self.raise(owner.program);
                }
                let removed = self.remove_unmatched(id);
                self.send(from, Message::Withdrawn { id, removed, revoke });
            }
            Message::Withdrawn { id, removed, revoke } => self.withdrawn(id, removed, revoke),
            Message::Probed { id, found } => self.probed(id, found),
            Message::Complete { id, bad } => {
                if let Some(entry) = self.table.get_mut(id.entry.into()) {
                    entry.state = if bad { State::BadBuffer } else { State::Complete };
                }
            }
            Message::Access { owner, from, access } => {
                let value = match access {
                    Access::Store(word) => self.store(owner, word, Some(from)).then_some(0),
                    Access::Poll(word) => Some(self.load(owner, word)),
                };
                if let Some(value) = value {
                    self.send(from, Message::Answer { value });
                }
            }
            Message::Answer { value } => {
                if let Some(access) = &mut self.access {
                    access.answer = Some(value);
                }
            }
            Message::Backoff { program, step } => {
                self.search_due = true;
                self.programs.step(program, step, &mut self.outbox);
            }
            Message::Fault(fault) => self.faults.push_back(fault),
            Message::Resolved { ticket, mapped } => self.resolved(ticket, mapped),
            Message::Invalidate { root, page } => {
                self.walker.invalidate();
                self.invalidations.push(Invalidation { from, root, page });
            }
            Message::Invalidated => self.invalidating -= 1,
        }
    }

    /// A descriptor that was sent to its matching MOPED has arrived.
    fn landed(&mut self, reply: Option<usize>) {
        self.in_flight -= 1;
        if let Some(node) = reply {
            self.send(node, Message::Answer { value: 0 });
        }
    }

    fn receive_descriptor(&mut self, from: usize, descriptor: Descriptor, reply: Option<usize>) {
        let program = descriptor.owner.program;
        if descriptor.kind == Some(Kind::Take) {
            self.send(from, Message::Taken { reply });
            self.take(descriptor);
            return;
        }
        let free = self.table.free().filter(|_| !self.programs.is_stopped(program));
        let Some(index) = free else {
            self.counters.rejected += 1;
            self.raise(program);
            self.send(from, Message::Rejected { id: descriptor.id, reply });
            return;
        };
        self.table.put(index, descriptor, Role::Forwarded);
        self.arrive(index);
        self.send(from, Message::Taken { reply });
    }

    /// The send of a pair is at its receive's MOPED; the entry of the matching MOPED is not needed any more.
    fn given(&mut self, entry: usize) {
        if self.table.get(entry).is_some_and(|found| found.role == Role::Forwarded) {
            self.free(entry);
        }
    }

    /// A matched pair from the matching MOPED.
    fn receive_pair(&mut self, from: usize, receive: Id, send: Descriptor, entry: usize) {
        // The send was reserved here too: it has an entry.
        let own = (usize::from(send.id.node) == self.number).then_some(usize::from(send.id.entry));
        let place = own.or_else(|| {
            let free = self.table.free()?;
            self.table.put(free, send, Role::Partner);
            Some(free)
        });
        if place.is_some() {
            self.send(from, Message::PairTaken { entry });
        }
        self.pair(receive.entry.into(), place.map_or(Pair::Held(from, entry), Pair::Here));
    }

    /// A receive of this MOPED is matched.
    pub(crate) fn pair(&mut self, receive: usize, pair: Pair) {
        let age = self.table.number();
        self.slots_due = true;
        if let Some(entry) = self.table.get_mut(receive) {
            (entry.state, entry.pair, entry.age) = (State::Matched, pair, age);
        }
        if let Pair::Here(send) = pair {
            if let Some(entry) = self.table.get_mut(send) {
                entry.state = State::Matched;
            }
            self.translate_early(send);
        }
    }

    /// The end of a copy: both descriptors are complete.
    pub(crate) fn finish(&mut self, receive: usize, send: &Descriptor, bad: bool) {
        let state = if bad { State::BadBuffer } else { State::Complete };
        self.slots_due = true;
        if let Some(entry) = self.table.get_mut(receive) {
            entry.state = state;
            entry.truncated = send.length > entry.descriptor.length;
            let found = &mut entry.descriptor;
            (found.rank, found.tag, found.length) = (send.rank, send.tag, send.length);
        }
        let owner = usize::from(send.id.node);
        if owner == self.number {
            if let Some(entry) = self.table.get_mut(send.id.entry.into()) {
                entry.state = state;
            }
        } else {
            self.send(owner, Message::Complete { id: send.id, bad });
        }
        self.counters.completed += 1;
    }

    /// The entry with this index, if it is the one with this serial number.
    pub(crate) fn entry_of(&mut self, entry: usize, serial: u64) -> Option<&mut TableEntry> {
        self.table.get_mut(entry).filter(|entry| entry.serial == serial)
    }
}
