// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which list an entry is in, which lists a search looks at, and which elements it reads.
//!
//! ```text
//!   posted receives                                unexpected messages
//!   by key:   [bucket 0] -> e -> e                 by key:   [bucket 0] -> e -> e
//!             [bucket 1] -> e                                [bucket 1] -> e -> e -> e
//!   the rest: [any]      -> e -> e                 chain of all: e -> e -> e -> e -> e   (if there is one)
//! ```
//! A receive whose pattern leaves its key open goes to a list that more messages look at. An
//! arrival merges its lists by age: the oldest of their first elements that were not yet compared
//! is compared next. A search for an unexpected message looks at one list if its pattern has a key;
//! otherwise it walks the chain of all, or every list: in each it goes on to the first match, or to
//! the first element that is younger than the best match so far.

use std::collections::BTreeMap;

use mb_core::parameters::Choice;
use mb_core::{Envelope, Initiator, Pattern};

use crate::memory::{BucketEntry, Chain, Ends, Memory, NONE};

/// The key that selects the list of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum BucketKey {
    /// Source modulo buckets.
    Source,
    /// A list for each communicator and source; one of any source for each communicator.
    Peer,
    /// A hash of communicator, source and tag.
    Envelope,
}

/// The match bits of a communicator (`spec/matching.md`, M-1): its context number, without the kind of traffic.
const CONTEXT: u64 = u64::MAX << 33;

/// The reads of a search.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Effort {
    /// Lists that were looked at.
    pub(crate) lists: u64,
    /// Elements read in the memory.
    pub(crate) local: u64,
    /// Elements read in host memory.
    pub(crate) spilled: u64,
}

impl Effort {
    fn read(&mut self, memory: &Memory, slot: u32) {
        if memory.is_spilled(slot) {
            self.spilled += 1;
        } else {
            self.local += 1;
        }
    }

    /// Elements read.
    pub(crate) const fn elements(self) -> u64 {
        self.local + self.spilled
    }
}

/// One queue of a receiver.
#[derive(Clone, Debug)]
pub(crate) struct Queue {
    key: BucketKey,
    buckets: u64,
    lists: Vec<Ends>,
    /// The list of each communicator and source ([`BucketKey::Peer`]); no source is any.
    peers: BTreeMap<(u64, Option<u32>), u32>,
    all: Option<Ends>,
    length: usize,
}

/// The list of entries that have no key, or one that no other list is for.
const REST: u32 = 0;

impl Queue {
    /// An empty queue, with a chain of all entries if `has_chain` says so.
    pub(crate) fn new(key: BucketKey, buckets: u64, has_chain: bool) -> Self {
        let lists = match key {
            BucketKey::Source => buckets,
            BucketKey::Peer => 0,
            // The hash is the exclusive or of two numbers below `buckets`.
            BucketKey::Envelope => buckets.next_power_of_two(),
        };
        Self {
            key,
            buckets,
            lists: vec![Ends::EMPTY; lists as usize + 1],
            peers: BTreeMap::new(),
            all: has_chain.then_some(Ends::EMPTY),
            length: 0,
        }
    }

    pub(crate) const fn len(&self) -> usize {
        self.length
    }

    /// Appends an entry, which becomes the youngest.
    pub(crate) fn append(&mut self, memory: &mut Memory, name: u64, pattern: Pattern, age: u64) -> u32 {
        let list = self.home(&pattern);
        let slot = memory.store(BucketEntry { name, pattern, age, list });
        memory.append(Chain::List, &mut self.lists[list as usize], slot);
        if let Some(all) = &mut self.all {
            memory.append(Chain::All, all, slot);
        }
        self.length += 1;
        slot
    }

    /// Takes an entry out.
    pub(crate) fn remove(&mut self, memory: &mut Memory, slot: u32) {
        let list = memory.get(slot).list;
        memory.unlink(Chain::List, &mut self.lists[list as usize], slot);
        if let Some(all) = &mut self.all {
            memory.unlink(Chain::All, all, slot);
        }
        memory.release(slot);
        self.length -= 1;
    }

    /// The oldest posted receive that accepts `envelope`.
    pub(crate) fn find_receive(&self, memory: &Memory, envelope: &Envelope) -> (Option<u32>, Effort) {
        let mut effort = Effort { lists: 1, ..Effort::default() };
        let mut heads = [NONE; 3];
        let by_key = self.list_of(envelope.bits, Some(envelope.initiator));
        heads[0] = by_key.map_or(NONE, |list| self.lists[list as usize].first);
        if let Some(&any) = self.peers.get(&(envelope.bits & CONTEXT, None)) {
            heads[1] = self.lists[any as usize].first;
        }
        heads[2] = self.lists[REST as usize].first;
        effort.lists += heads[1..].iter().filter(|head| **head != NONE).count() as u64;
        for head in heads.into_iter().filter(|head| *head != NONE) {
            effort.read(memory, head);
        }
        loop {
            let oldest = heads.iter_mut().filter(|head| **head != NONE).min_by_key(|head| memory.get(**head).age);
            let Some(head) = oldest else { return (None, effort) };
            if memory.get(*head).pattern.accepts(envelope) {
                return (Some(*head), effort);
            }
            *head = memory.next(Chain::List, *head);
            if *head != NONE {
                effort.read(memory, *head);
            }
        }
    }

    /// The oldest unexpected message that `pattern` accepts.
    pub(crate) fn find_message(&self, memory: &Memory, pattern: &Pattern) -> (Option<u32>, Effort) {
        let mut effort = Effort::default();
        let mut best = None;
        let context = pattern.bits & CONTEXT;
        if self.has_key(pattern) {
            effort.lists = 1;
            let list =
                self.list_of(pattern.bits, pattern.initiator).map_or(Ends::EMPTY, |list| self.lists[list as usize]);
            walk(memory, Chain::List, list, pattern, &mut best, &mut effort);
        } else if let Some(all) = self.all {
            effort.lists = 1;
            walk(memory, Chain::All, all, pattern, &mut best, &mut effort);
        } else if self.key == BucketKey::Peer && pattern.ignore & CONTEXT == 0 {
            for (_, list) in self.peers.range((context, Some(0))..=(context, Some(u32::MAX))) {
                effort.lists += 1;
                walk(memory, Chain::List, self.lists[*list as usize], pattern, &mut best, &mut effort);
            }
        } else {
            // Messages have keys: the list of the rest is empty.
            for list in &self.lists[1..] {
                effort.lists += 1;
                walk(memory, Chain::List, *list, pattern, &mut best, &mut effort);
            }
        }
        (best, effort)
    }

    /// The reads of a walk from the first element of its list to `slot`.
    pub(crate) fn walk_to(&self, memory: &Memory, slot: u32) -> Effort {
        let mut effort = Effort { lists: 1, ..Effort::default() };
        let mut at = self.lists[memory.get(slot).list as usize].first;
        effort.read(memory, at);
        while at != slot {
            at = memory.next(Chain::List, at);
            effort.read(memory, at);
        }
        effort
    }

    /// Whether all that `pattern` accepts is in one list.
    fn has_key(&self, pattern: &Pattern) -> bool {
        pattern.initiator.is_some()
            && match self.key {
                BucketKey::Source => true,
                BucketKey::Peer => pattern.ignore & CONTEXT == 0,
                BucketKey::Envelope => pattern.ignore == 0,
            }
    }

    /// The list that an entry belongs to, made if there is none for its key yet.
    fn home(&mut self, pattern: &Pattern) -> u32 {
        if self.key == BucketKey::Peer && pattern.ignore & CONTEXT == 0 {
            let new = self.lists.len() as u32;
            let peer = (pattern.bits & CONTEXT, pattern.initiator.map(|Initiator(initiator)| initiator));
            let list = *self.peers.entry(peer).or_insert(new);
            if list == new {
                self.lists.push(Ends::EMPTY);
            }
            return list;
        }
        if !self.has_key(pattern) {
            return REST;
        }
        self.list_of(pattern.bits, pattern.initiator).unwrap_or(REST)
    }

    /// The list for a key, if there is one.
    fn list_of(&self, bits: u64, initiator: Option<Initiator>) -> Option<u32> {
        let Initiator(initiator) = initiator?;
        match self.key {
            BucketKey::Source => Some(1 + (u64::from(initiator) % self.buckets) as u32),
            BucketKey::Peer => self.peers.get(&(bits & CONTEXT, Some(initiator))).copied(),
            BucketKey::Envelope => Some(1 + hash(bits, initiator, self.buckets)),
        }
    }
}

/// The bucket of an envelope as UCX and Open MPI make it: a word of 24 bits of tag, 20 of rank and
/// 20 of communicator, whose halves are taken modulo the buckets and combined by exclusive or. The
/// kind of traffic is the sign of the tag.
fn hash(bits: u64, initiator: u32, buckets: u64) -> u32 {
    let tag = (bits ^ (bits >> 32 & 1) << 23) & 0xff_ffff;
    let word = tag << 40 | (u64::from(initiator) & 0xf_ffff) << 20 | bits >> 33 & 0xf_ffff;
    (((word & 0xffff_ffff) % buckets) ^ ((word >> 32) % buckets)) as u32
}

/// Walks a list to the first message that `pattern` accepts, or to one that is younger than `best`.
fn walk(memory: &Memory, chain: Chain, list: Ends, pattern: &Pattern, best: &mut Option<u32>, effort: &mut Effort) {
    let mut slot = list.first;
    while slot != NONE {
        effort.read(memory, slot);
        let entry = memory.get(slot);
        if best.is_some_and(|best| memory.get(best).age < entry.age) {
            return;
        }
        if pattern.accepts(&entry.envelope()) {
            *best = Some(slot);
            return;
        }
        slot = memory.next(chain, slot);
    }
}
