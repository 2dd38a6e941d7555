// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What MPI allows, and what every byte of memory must be.

use std::collections::BTreeMap;

use mb_core::{Envelope, Initiator, MsgId, Op, Outcome, Pattern, RecvId};
use mb_moped::MatchEvent;
use mb_moped::contract::{Id, Kind, State, TRUNCATED};
use mb_oracle::Oracle;

use crate::driver::{Operation, named};

/// The reference matcher of a receiver, and what waits in it.
#[derive(Default)]
struct Reference {
    oracle: Oracle,
    waiting: Vec<Operation>,
}

impl Reference {
    fn apply(&mut self, operation: &Operation) -> Option<(usize, usize)> {
        let number = operation.number as u64;
        let op = if operation.post.go.kind == Kind::Send {
            Op::Arrive { msg: MsgId(number), envelope: Judge::envelope(operation) }
        } else {
            Op::Post { recv: RecvId(number), pattern: Judge::pattern(operation) }
        };
        if let (Outcome::Matched(receive, send), _) = self.oracle.apply(op) {
            let matched = (receive.0 as usize, send.0 as usize);
            self.waiting.retain(|other| other.number != matched.0 && other.number != matched.1);
            return Some(matched);
        }
        self.waiting.push(*operation);
        None
    }

    /// Sends are withdrawn too, which the reference matcher cannot do: what is left waits in a new one.
    fn withdraw(&mut self, number: usize) {
        let mut left = std::mem::take(&mut self.waiting);
        left.retain(|operation| operation.number != number);
        self.oracle = Oracle::new();
        for operation in &left {
            assert_eq!(self.apply(operation), None, "what waits does not match");
        }
    }
}

/// Follows a run and judges it.
#[derive(Default)]
pub(crate) struct Judge {
    /// For each receiver, the reference matcher on the searches of its matching MOPED.
    oracles: BTreeMap<(u16, u16), Reference>,
    /// What the reference matcher has matched, and what the devices have.
    expected: Vec<(usize, usize)>,
    found: Vec<(usize, usize)>,
    operations: BTreeMap<usize, Operation>,
    /// Program of each process.
    pub(crate) programs: BTreeMap<usize, (u16, u16)>,
    software: Vec<(usize, usize)>,
    ended: BTreeMap<usize, (State, bool)>,
    searched: Vec<usize>,
}

impl Judge {
    fn bits(operation: &Operation) -> u64 {
        u64::from(operation.post.go.context) << 33 | u64::from(operation.post.tag)
    }

    fn pattern(receive: &Operation) -> Pattern {
        let ignore = if receive.post.go.any_tag { 0xffff_ffff } else { 0 };
        let initiator = receive.post.go.rank.map(|rank| Initiator(rank.into()));
        Pattern { bits: Self::bits(receive), ignore, initiator }
    }

    fn envelope(send: &Operation) -> Envelope {
        Envelope { bits: Self::bits(send), initiator: Initiator(send.post.go.rank.unwrap_or(0).into()) }
    }

    /// Whether a receive accepts a message to its process.
    pub(crate) fn accepts(receive: &Operation, send: &Operation) -> bool {
        Self::pattern(receive).accepts(&Self::envelope(send))
    }

    /// An operation begins.
    pub(crate) fn post(&mut self, operation: &Operation) {
        self.operations.insert(operation.number, *operation);
    }

    /// Receiver of an operation: program and rank.
    fn receiver(&self, operation: &Operation) -> (u16, u16) {
        let (program, rank) = self.programs[&operation.process];
        (program, if operation.post.go.kind == Kind::Send { operation.post.receiver } else { rank })
    }

    /// An event of matching.
    pub(crate) fn event(&mut self, names: &BTreeMap<Id, Operation>, event: &MatchEvent) {
        let Some((operation, other)) = named(names, event) else { return };
        let receiver = self.receiver(&operation);
        let reference = self.oracles.entry(receiver).or_default();
        match (event, other) {
            (MatchEvent::Searched(_), _) => {
                self.searched.push(operation.number);
                self.expected.extend(reference.apply(&operation));
            }
            (MatchEvent::Matched { .. }, Some(send)) => self.found.push((operation.number, send.number)),
            (MatchEvent::Withdrawn(_), _) => reference.withdraw(operation.number),
            _ => {}
        }
    }

    /// Software has matched two operations.
    pub(crate) fn software(&mut self, receive: &Operation, send: &Operation) {
        self.software.push((receive.number, send.number));
        self.ended.insert(receive.number, (State::Complete, send.post.length > receive.post.length));
        self.ended.insert(send.number, (State::Complete, false));
    }

    /// A descriptor has ended.
    pub(crate) fn end(&mut self, operation: &Operation, state: State, value: u64) {
        self.ended.insert(operation.number, (state, value & TRUNCATED != 0));
    }

    /// The matches of the devices, as numbers of receive and send.
    pub(crate) fn matches(&self) -> &[(usize, usize)] {
        &self.found
    }

    /// What is wrong with the outcomes: every search against the reference matcher, the order in which operations of a
    /// process were searched, and the states at the end.
    pub(crate) fn objections(&self) -> Vec<String> {
        let mut objections = Vec::new();
        if self.expected != self.found {
            let place = self.expected.iter().zip(&self.found).position(|(expected, found)| expected != found);
            let place = place.unwrap_or(self.expected.len().min(self.found.len()));
            objections.push(format!(
                "match {place}: {:?} found, {:?} expected",
                self.found.get(place),
                self.expected.get(place)
            ));
        }
        let mut last = BTreeMap::new();
        for number in &self.searched {
            let operation = &self.operations[number];
            let key = (operation.process, self.receiver(operation));
            if let Some(earlier) = last.insert(key, *number)
                && earlier > *number
            {
                objections.push(format!("operation {number} was searched after {earlier} of its process"));
            }
        }
        for (receive, send) in self.found.iter().chain(&self.software) {
            let truncated = self.operations[send].post.length > self.operations[receive].post.length;
            for (number, expected) in [(receive, (State::Complete, truncated)), (send, (State::Complete, false))] {
                let found = self.ended.get(number);
                if found != Some(&expected) {
                    objections.push(format!("operation {number}: {found:?} found, {expected:?} expected"));
                }
            }
        }
        objections
    }

    /// What is wrong with the order of all matches, those of software included: messages overtake, or a receive takes
    /// what an earlier one accepts.
    pub(crate) fn overtaking(&self) -> Vec<String> {
        let all: Vec<_> = self.found.iter().chain(&self.software).copied().collect();
        let by_receive: BTreeMap<_, _> = all.iter().copied().collect();
        let by_send: BTreeMap<_, _> = all.iter().map(|(receive, send)| (*send, *receive)).collect();
        let mut objections = Vec::new();
        for (receive, send) in &all {
            let (receiver, message) = (&self.operations[receive], &self.operations[send]);
            let key = self.receiver(message);
            for other in self.operations.values().filter(|other| self.receiver(other) == key) {
                if other.post.go.kind == Kind::Send {
                    let overtaken = other.process == message.process
                        && other.number < message.number
                        && Self::accepts(receiver, other)
                        && by_send.get(&other.number).is_none_or(|taken| taken > receive);
                    if overtaken {
                        objections.push(format!("message {send} overtakes {} at receive {receive}", other.number));
                    }
                } else if other.number < *receive && Self::accepts(other, message) {
                    let taken = by_receive.get(&other.number);
                    let same = taken.filter(|taken| self.operations[*taken].process == message.process);
                    if taken.is_none() && !self.is_cancelled(other.number) || same.is_some_and(|taken| taken > send) {
                        objections.push(format!("receive {receive} takes {send} before receive {}", other.number));
                    }
                }
            }
        }
        objections
    }

    fn is_cancelled(&self, number: usize) -> bool {
        self.ended.get(&number).is_some_and(|(state, _)| *state == State::Cancelled)
    }

    /// The operation of a number.
    pub(crate) fn operation(&self, number: usize) -> &Operation {
        &self.operations[&number]
    }
}
