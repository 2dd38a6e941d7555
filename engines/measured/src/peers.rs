// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How many entries a search visits where each sender of each communicator has its own lists.
//!
//! An arrival visits, in order of age, the receives that name its sender and those from any source of its
//! communicator. A receive or probe visits the messages of its sender, or all of its communicator if it names none.
//! A cancel visits nothing: the receive is linked both ways. Entries are counted by their ages, not walked.
//!
//! Not modelled: a library that looks for a message from any source in one list after the other may visit other
//! messages than the older ones.

use std::collections::{BTreeMap, VecDeque};

use mb_core::{Envelope, Initiator, MsgId, Op, Outcome, Pattern, RecvId};

/// Bits above the tag and the bit of collectives, as `mb_core::mpi` lays them out.
const CONTEXT: u32 = 33;

/// The list of an entry: its communicator, and the sender if it names one.
type Key = (u64, Option<Initiator>);

/// Ages of entries, ascending.
#[derive(Debug, Default)]
struct Lists(BTreeMap<Key, VecDeque<u64>>);

impl Lists {
    fn append(&mut self, key: Key, age: u64) {
        self.0.entry(key).or_default().push_back(age);
    }

    fn remove(&mut self, key: Key, age: u64) {
        if let Some(ages) = self.0.get_mut(&key)
            && let Ok(at) = ages.binary_search(&age)
        {
            ages.remove(at);
        }
    }

    /// Entries of a list that are at most as old as `age`: a walk from the oldest that ends there.
    fn up_to(&self, key: Key, age: u64) -> u64 {
        self.0.get(&key).map_or(0, |ages| ages.partition_point(|each| *each <= age) as u64)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Peers {
    age: u64,
    receives: Lists,
    /// By sender, and once more for the communicator as a whole.
    messages: Lists,
    posted: BTreeMap<RecvId, (Key, u64)>,
    unexpected: BTreeMap<MsgId, (Envelope, u64)>,
}

impl Peers {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Follows an operation with its outcome; returns the entries that its search visited.
    pub(crate) fn visits(&mut self, op: Op, outcome: Outcome) -> u64 {
        self.age += 1;
        match op {
            Op::Arrive { msg, envelope } => self.arrive(msg, envelope, outcome),
            Op::Post { pattern, .. } | Op::Probe { pattern, .. } | Op::MatchedProbe { pattern, .. } => {
                let key = key_of(&pattern);
                let found = match outcome {
                    Outcome::Matched(_, msg) | Outcome::Probed(_, Some(msg)) => Some(msg),
                    _ => None,
                };
                let age = found.and_then(|msg| self.unexpected.get(&msg)).map_or(u64::MAX, |&(_, age)| age);
                let visits = self.messages.up_to(key, age);
                match (op, found) {
                    (Op::Post { .. } | Op::MatchedProbe { .. }, Some(msg)) => self.take_message(msg),
                    (Op::Post { recv, .. }, None) => {
                        self.receives.append(key, self.age);
                        self.posted.insert(recv, (key, self.age));
                    }
                    _ => {}
                }
                visits
            }
            Op::Cancel { recv } => {
                if matches!(outcome, Outcome::Cancelled(_)) {
                    self.take_receive(recv);
                }
                0
            }
        }
    }

    fn arrive(&mut self, msg: MsgId, envelope: Envelope, outcome: Outcome) -> u64 {
        let (own, any) = keys_of(&envelope);
        let found = match outcome {
            Outcome::Matched(recv, _) => Some(recv),
            _ => None,
        };
        let age = found.and_then(|recv| self.posted.get(&recv)).map_or(u64::MAX, |&(_, age)| age);
        let visits = self.receives.up_to(own, age) + self.receives.up_to(any, age);
        if let Some(recv) = found {
            self.take_receive(recv);
        } else {
            self.messages.append(own, self.age);
            self.messages.append(any, self.age);
            self.unexpected.insert(msg, (envelope, self.age));
        }
        visits
    }

    fn take_receive(&mut self, recv: RecvId) {
        if let Some((key, age)) = self.posted.remove(&recv) {
            self.receives.remove(key, age);
        }
    }

    fn take_message(&mut self, msg: MsgId) {
        if let Some((envelope, age)) = self.unexpected.remove(&msg) {
            let (own, any) = keys_of(&envelope);
            self.messages.remove(own, age);
            self.messages.remove(any, age);
        }
    }
}

fn key_of(pattern: &Pattern) -> Key {
    (pattern.bits >> CONTEXT, pattern.initiator)
}

/// The lists in which a message is looked for: those of its sender, and those of its communicator.
fn keys_of(envelope: &Envelope) -> (Key, Key) {
    let context = envelope.bits >> CONTEXT;
    ((context, Some(envelope.initiator)), (context, None))
}
