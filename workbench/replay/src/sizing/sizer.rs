// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One pass over the operations of a receiver.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use mb_core::{Envelope, Op, Outcome, Pattern, Picos};
use mb_kit::MatchLists;

use super::buckets::{Ages, Buckets};
use super::{QueueCurves, Queues, Sizing};
use crate::snapshot::CONTEXT;

/// Counts for one receiver, in the order in which its engine accepts operations.
#[derive(Clone, Debug)]
pub struct Sizer {
    lists: MatchLists,
    age: u64,
    posted: Side,
    unexpected: Side,
    places: Places,
    sizing: Sizing,
}

impl Sizer {
    /// Empty queues at time zero, which are also divided into each of these numbers of `buckets`, at least 1.
    #[must_use]
    pub fn new(buckets: &[u32]) -> Self {
        Self {
            lists: MatchLists::new(),
            age: 0,
            posted: Side::new(buckets),
            unexpected: Side::new(buckets),
            places: Places::default(),
            sizing: Sizing::default(),
        }
    }

    /// Counts `op`, accepted at `now`, which never decreases.
    pub fn apply(&mut self, now: Picos, op: Op) {
        self.age += 1;
        let (outcome, visits) = self.lists.apply(op);
        let depth = visits as usize;
        match op {
            Op::Post { recv, pattern } => {
                let who = DivisionKey::of(&pattern);
                let found = self.unexpected.search(matched_message(outcome), who, depth);
                if let Some(message) = found {
                    self.places.give_back(self.unexpected.remove(now, message).place);
                } else {
                    let place = self.places.take();
                    self.sizing.places.posted.add(place as usize, 1);
                    self.posted.insert(now, recv.0, SizedEntry { who, age: self.age, place });
                }
            }
            Op::Arrive { msg, envelope } => {
                let who = DivisionKey::of_message(&envelope);
                let receive = if let Outcome::Matched(recv, _) = outcome { Some(recv.0) } else { None };
                let found = self.posted.search(receive, who, depth);
                if let Some(receive) = found {
                    self.places.give_back(self.posted.remove(now, receive).place);
                } else {
                    let place = self.places.take();
                    self.sizing.places.unexpected.add(place as usize, 1);
                    self.unexpected.insert(now, msg.0, SizedEntry { who, age: self.age, place });
                }
            }
            Op::Probe { pattern, .. } => {
                self.unexpected.search(matched_message(outcome), DivisionKey::of(&pattern), depth);
            }
            Op::MatchedProbe { pattern, .. } => {
                let found = self.unexpected.search(matched_message(outcome), DivisionKey::of(&pattern), depth);
                if let Some(message) = found {
                    self.places.give_back(self.unexpected.remove(now, message).place);
                }
            }
            Op::Cancel { recv } => {
                if matches!(outcome, Outcome::Cancelled(_)) {
                    self.places.give_back(self.posted.remove(now, recv.0).place);
                }
            }
        }
    }

    /// The counts up to time `end`.
    #[must_use]
    pub fn finish(mut self, end: Picos) -> Sizing {
        let mut sizing = self.sizing;
        self.posted.queue.pass(end);
        self.unexpected.queue.pass(end);
        for (side, of_posted) in [(self.posted, true), (self.unexpected, false)] {
            for (communicator, mut queue) in side.communicators {
                queue.pass(end);
                let queues = sizing.communicators.entry(communicator).or_default();
                *(if of_posted { &mut queues.posted } else { &mut queues.unexpected }) = queue.curves;
            }
            for (index, buckets) in side.buckets.into_iter().enumerate() {
                if of_posted {
                    sizing.buckets.push(Queues { posted: buckets.curves, ..Queues::default() });
                } else {
                    sizing.buckets[index].unexpected = buckets.curves;
                }
            }
            *(if of_posted { &mut sizing.queues.posted } else { &mut sizing.queues.unexpected }) = side.queue.curves;
        }
        sizing
    }
}

/// The message that a post or probe found.
const fn matched_message(outcome: Outcome) -> Option<u64> {
    match outcome {
        Outcome::Matched(_, msg) | Outcome::Probed(_, Some(msg)) => Some(msg.0),
        _ => None,
    }
}

/// The attributes by which entries and searches are divided.
#[derive(Clone, Copy, Debug)]
struct DivisionKey {
    /// `None` where a pattern leaves bits of it open, which no MPI call does.
    communicator: Option<u32>,
    /// `None` for any source.
    source: Option<u32>,
}

impl DivisionKey {
    fn of(pattern: &Pattern) -> Self {
        Self {
            communicator: (pattern.ignore >> CONTEXT == 0).then_some((pattern.bits >> CONTEXT) as u32),
            source: pattern.initiator.map(|initiator| initiator.0),
        }
    }

    fn of_message(envelope: &Envelope) -> Self {
        Self::of(&Pattern::exactly(*envelope))
    }
}

#[derive(Clone, Copy, Debug)]
struct SizedEntry {
    who: DivisionKey,
    age: u64,
    place: u32,
}

/// A queue: the ages of its entries, and its length over time.
#[derive(Clone, Debug, Default)]
struct Queue {
    ages: Ages,
    since: Picos,
    curves: QueueCurves,
}

impl Queue {
    /// The length has not changed until `now`.
    fn pass(&mut self, now: Picos) {
        self.curves.time.add_time(self.ages.len(), now.saturating_sub(self.since));
        self.since = now.max(self.since);
    }

    fn insert(&mut self, now: Picos, age: u64) {
        self.pass(now);
        self.curves.insertions.add(self.ages.len(), 1);
        self.ages.push(age);
    }

    fn remove(&mut self, now: Picos, age: u64) {
        self.pass(now);
        self.ages.remove(age);
    }

    fn search(&mut self, found: Option<u64>) {
        self.curves.searches.add(found.map_or(self.ages.len(), |age| self.ages.up_to(age)), 1);
    }
}

/// One of the two queues of a receiver, and its divisions.
#[derive(Clone, Debug)]
struct Side {
    entries: BTreeMap<u64, SizedEntry>,
    queue: Queue,
    communicators: BTreeMap<u32, Queue>,
    buckets: Vec<Buckets>,
}

impl Side {
    fn new(buckets: &[u32]) -> Self {
        Self {
            entries: BTreeMap::new(),
            queue: Queue::default(),
            communicators: BTreeMap::new(),
            buckets: buckets.iter().map(|&buckets| Buckets::new(buckets)).collect(),
        }
    }

    /// Counts a search by `who` that finds the entry `found`, if any; returns it.
    fn search(&mut self, found: Option<u64>, who: DivisionKey, depth: usize) -> Option<u64> {
        let age = found.and_then(|id| self.entries.get(&id)).map(|entry| entry.age);
        self.queue.curves.searches.add(depth, 1);
        if let Some(communicator) = who.communicator {
            self.communicators.entry(communicator).or_default().search(age);
        }
        for buckets in &mut self.buckets {
            buckets.search(who.source, age, depth);
        }
        found
    }

    fn insert(&mut self, now: Picos, id: u64, entry: SizedEntry) {
        self.queue.insert(now, entry.age);
        if let Some(communicator) = entry.who.communicator {
            self.communicators.entry(communicator).or_default().insert(now, entry.age);
        }
        for buckets in &mut self.buckets {
            buckets.insert(entry.who.source, entry.age);
        }
        self.entries.insert(id, entry);
    }

    /// Takes out an entry that is there.
    fn remove(&mut self, now: Picos, id: u64) -> SizedEntry {
        let entry = self.entries.remove(&id).expect("the lists hold the same entries");
        self.queue.remove(now, entry.age);
        if let Some(queue) = entry.who.communicator.and_then(|communicator| self.communicators.get_mut(&communicator)) {
            queue.remove(now, entry.age);
        }
        for buckets in &mut self.buckets {
            buckets.remove(entry.who.source, entry.age);
        }
        entry
    }
}

/// Places without a limit, of which the lowest free one is taken.
#[derive(Clone, Debug, Default)]
struct Places {
    returned: BinaryHeap<Reverse<u32>>,
    fresh: u32,
}

impl Places {
    fn take(&mut self) -> u32 {
        if let Some(Reverse(place)) = self.returned.pop() {
            return place;
        }
        self.fresh += 1;
        self.fresh - 1
    }

    fn give_back(&mut self, place: u32) {
        self.returned.push(Reverse(place));
    }
}
