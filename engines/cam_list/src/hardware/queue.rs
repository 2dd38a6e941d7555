// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One queue: the slots of its CAM, its lists, host memory after them, and the movers between these levels.

use std::collections::VecDeque;
use std::task::Poll;

use mb_core::{Envelope, MsgId, Pattern, RecvId};
use mb_kit::LinkedMemory;

use super::{Corrections, Hazard};
use crate::parameters::{HardwareConfig, ListSearch};

/// The content of an entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum EntryContent {
    Receive(RecvId, Pattern),
    /// With the address of its payload in the data memory.
    Message(MsgId, Envelope, u32),
}

/// An entry and its age: the number of the operation that it is from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct QueueEntry {
    pub(super) age: u64,
    pub(super) what: EntryContent,
}

/// The target of a search, with which entries are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SearchTarget {
    ForMessage(Envelope),
    ForReceive(Pattern),
    Named(RecvId),
}

impl SearchTarget {
    pub(super) fn accepts(&self, entry: &QueueEntry) -> bool {
        match (self, entry.what) {
            (Self::ForMessage(envelope), EntryContent::Receive(_, pattern)) => pattern.accepts(envelope),
            (Self::ForReceive(pattern), EntryContent::Message(_, envelope, _)) => pattern.accepts(&envelope),
            (Self::Named(wanted), EntryContent::Receive(recv, _)) => *wanted == recv,
            _ => false,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Slot {
    Empty,
    /// Reserved for an insertion or a transfer.
    Reserved,
    Full(QueueEntry),
}

/// Where an entry is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Cam(usize),
    /// In a list, behind an element.
    List(usize, Option<u32>),
    Host(usize),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mover {
    Idle,
    /// From the head of a list into a slot.
    ToCam {
        list: usize,
        slot: usize,
        until: u64,
    },
    /// From host memory to a list.
    ToList {
        until: u64,
    },
}

#[derive(Debug)]
pub(super) struct Queue {
    parameters: HardwareConfig,
    corrections: Corrections,
    cam: Vec<Slot>,
    /// Full slots of it, and reserved ones.
    filled: usize,
    reserved: usize,
    /// Each with a memory of its own, so that they are read at the same time.
    lists: Vec<LinkedMemory<QueueEntry>>,
    host: VecDeque<QueueEntry>,
    insert_turn: usize,
    refill_turn: usize,
    mover: Mover,
    /// Insertions beyond the CAM, and those of them into host memory.
    overflows: u64,
    spilled: u64,
}

impl Queue {
    pub(super) fn new(parameters: &HardwareConfig, corrections: Corrections) -> Self {
        Self {
            parameters: *parameters,
            corrections,
            cam: vec![Slot::Empty; parameters.cam],
            filled: 0,
            reserved: 0,
            lists: vec![LinkedMemory::new(parameters.entries_per_list, 1); parameters.lists],
            host: VecDeque::new(),
            insert_turn: 0,
            refill_turn: 0,
            mover: Mover::Idle,
            overflows: 0,
            spilled: 0,
        }
    }

    /// Insertions beyond the CAM, and those of them into host memory.
    pub(super) const fn overflows(&self) -> (u64, u64) {
        (self.overflows, self.spilled)
    }

    pub(super) fn len(&self) -> usize {
        self.filled + self.lists.iter().map(|list| list.len(0)).sum::<usize>() + self.host.len()
    }

    /// Slots and entries of a list, along its links.
    pub(super) fn in_list(&self, list: usize) -> impl Iterator<Item = (u32, QueueEntry)> {
        let memory = &self.lists[list];
        let slots = std::iter::successors(memory.first(0), |slot| memory.next(*slot));
        slots.map(|slot| (slot, *memory.get(slot)))
    }

    pub(super) fn mover_is_idle(&self) -> bool {
        self.mover == Mover::Idle
    }

    /// When the mover ends what it does.
    pub(super) const fn mover_ends(&self) -> Option<u64> {
        match self.mover {
            Mover::Idle => None,
            Mover::ToCam { until, .. } | Mover::ToList { until } => Some(until),
        }
    }

    fn first_empty(&self) -> Option<usize> {
        let has_empty = self.filled + self.reserved < self.cam.len();
        has_empty.then(|| self.cam.iter().position(|slot| *slot == Slot::Empty)).flatten()
    }

    fn reserve(&mut self, slot: usize) {
        self.cam[slot] = Slot::Reserved;
        self.reserved += 1;
    }

    fn lists_are_empty(&self) -> bool {
        self.lists.iter().all(|list| list.is_empty(0))
    }

    fn a_list_has_room(&self) -> bool {
        self.lists.iter().any(|list| list.free() > 0)
    }

    /// The movers in cycle `now`; says whether one of them did something.
    pub(super) fn step_movers(&mut self, now: u64) -> bool {
        match self.mover {
            Mover::ToCam { list, slot, until } if until <= now => {
                let entry = self.lists[list].unlink(0, None);
                self.fill(slot, entry);
                self.mover = Mover::Idle;
            }
            Mover::ToList { until } if until <= now => {
                if let Some(entry) = self.host.pop_front() {
                    self.append_to_list(entry);
                }
                self.mover = Mover::Idle;
            }
            Mover::Idle => {
                if let Some(slot) = self.first_empty()
                    && let Some(list) = self.list_to_refill_from()
                {
                    self.reserve(slot);
                    self.mover = Mover::ToCam { list, slot, until: now + self.parameters.transfer };
                } else if !self.host.is_empty() && self.a_list_has_room() {
                    self.mover = Mover::ToList { until: now + self.parameters.spill };
                } else {
                    return false;
                }
            }
            _ => return false,
        }
        true
    }

    fn list_to_refill_from(&mut self) -> Option<usize> {
        let filled = |list: &usize| !self.lists[*list].is_empty(0);
        if self.corrections.has(Hazard::Refill) {
            let head_age = |list: &usize| self.lists[*list].first(0).map(|slot| self.lists[*list].get(slot).age);
            return (0..self.lists.len()).filter(filled).min_by_key(head_age);
        }
        let turns = (0..self.lists.len()).map(|ahead| (self.refill_turn + ahead) % self.lists.len());
        let list = turns.into_iter().find(filled)?;
        self.refill_turn = (list + 1) % self.lists.len();
        Some(list)
    }

    /// Where a new entry goes, if it can be put there now.
    pub(super) fn place_for_new(&mut self) -> Option<Insertion> {
        if self.corrections.has(Hazard::CamBeforeLists) {
            if self.mover != Mover::Idle {
                return None;
            }
            if !self.lists_are_empty() || !self.host.is_empty() {
                return Some(self.behind_the_cam());
            }
        }
        match self.first_empty() {
            Some(slot) => {
                self.reserve(slot);
                Some(Insertion::Cam(slot))
            }
            None if self.mover == Mover::Idle => Some(self.behind_the_cam()),
            None => None,
        }
    }

    fn behind_the_cam(&self) -> Insertion {
        if self.host.is_empty() && self.a_list_has_room() { Insertion::List } else { Insertion::Host }
    }

    /// The cycles of an insertion.
    pub(super) fn insertion_cycles(&self, insertion: Insertion) -> u64 {
        match insertion {
            Insertion::Cam(_) => self.parameters.cam_insert,
            Insertion::List | Insertion::Host => self.parameters.list_insert,
        }
    }

    pub(super) fn insert(&mut self, insertion: Insertion, entry: QueueEntry) {
        self.overflows += u64::from(!matches!(insertion, Insertion::Cam(_)));
        self.spilled += u64::from(matches!(insertion, Insertion::Host));
        match insertion {
            Insertion::Cam(slot) => self.fill(slot, entry),
            Insertion::List => self.append_to_list(entry),
            Insertion::Host => self.host.push_back(entry),
        }
    }

    fn fill(&mut self, slot: usize, entry: QueueEntry) {
        self.cam[slot] = Slot::Full(entry);
        (self.filled, self.reserved) = (self.filled + 1, self.reserved - 1);
    }

    fn append_to_list(&mut self, entry: QueueEntry) {
        while self.lists[self.insert_turn].append(0, entry).is_none() {
            self.insert_turn = (self.insert_turn + 1) % self.lists.len();
        }
        self.insert_turn = (self.insert_turn + 1) % self.lists.len();
    }

    pub(super) fn entry(&self, place: Place) -> QueueEntry {
        match place {
            Place::Cam(slot) => match self.cam[slot] {
                Slot::Full(entry) => entry,
                Slot::Empty | Slot::Reserved => unreachable!("slot {slot} was found full"),
            },
            Place::List(list, previous) => {
                let memory = &self.lists[list];
                let slot = previous.map_or(memory.first(0), |previous| memory.next(previous));
                *memory.get(slot.expect("the walker found an element"))
            }
            Place::Host(index) => self.host[index],
        }
    }

    pub(super) fn remove(&mut self, place: Place) {
        match place {
            Place::Cam(slot) => {
                self.cam[slot] = Slot::Empty;
                self.filled -= 1;
            }
            Place::List(list, previous) => {
                self.lists[list].unlink(0, previous);
            }
            Place::Host(index) => {
                self.host.remove(index);
            }
        }
    }

    /// Where the entry of this age is.
    pub(super) fn place_of(&self, age: u64) -> Option<Place> {
        let in_cam = self.cam.iter().position(|slot| matches!(slot, Slot::Full(entry) if entry.age == age));
        let in_list = || {
            self.lists.iter().enumerate().find_map(|(number, memory)| {
                let mut previous = None;
                let mut slot = memory.first(0);
                while let Some(current) = slot {
                    if memory.get(current).age == age {
                        return Some(Place::List(number, previous));
                    }
                    (previous, slot) = (slot, memory.next(current));
                }
                None
            })
        };
        let in_host = || self.host.iter().position(|entry| entry.age == age).map(Place::Host);
        in_cam.map(Place::Cam).or_else(in_list).or_else(in_host)
    }

    /// Begins a search in cycle `now`; the CAM compares what it holds now.
    pub(super) fn begin_search(&self, wanted: SearchTarget, now: u64) -> Search {
        let full = self.cam.iter().enumerate().filter_map(|(slot, content)| match content {
            Slot::Full(entry) => Some((entry, slot)),
            Slot::Empty | Slot::Reserved => None,
        });
        // The slots after the last full one are not examined.
        let accepted = |(entry, slot): (&QueueEntry, usize)| wanted.accepts(entry).then_some((entry.age, slot));
        let mut matches = full.take(self.filled).filter_map(accepted);
        let hit = if self.corrections.has(Hazard::CamSlots) { matches.min() } else { matches.next() };
        // Without a comparator on insertions a walker continues to the entry that is linked when it arrives there.
        let seen = |length: usize| if self.corrections.has(Hazard::Race) { length } else { usize::MAX };
        let walkers: Vec<_> = self
            .lists
            .iter()
            .map(|list| Walker { previous: None, current: list.first(0), left: seen(list.len(0)) })
            .collect();
        let begin = match self.parameters.search {
            ListSearch::AfterCam => now + self.parameters.cam_search,
            ListSearch::WithCam => now,
        };
        let walks = walkers.iter().any(|walker| walker.current.is_some()) || !self.host.is_empty();
        let step = if walks { Step::Row(begin + self.parameters.element) } else { Step::Over };
        Search {
            wanted,
            cam_until: now + self.parameters.cam_search,
            hit: hit.map(|(_, slot)| slot),
            in_cam: self.filled as u32,
            read: 0,
            walkers,
            step,
            host: self.host.len(),
            best: None,
        }
    }

    /// Continues a search in cycle `now`; returns its result when it has one.
    pub(super) fn step_search(&self, search: &mut Search, now: u64) -> Poll<Option<Place>> {
        loop {
            search.step = match search.step {
                Step::Row(until) if until <= now => self.end_row(search, until),
                Step::Pick(until) if until <= now => {
                    if search.best.is_some() || search.host == 0 {
                        Step::Over
                    } else {
                        Step::Host(until + self.parameters.spill, 0)
                    }
                }
                Step::Host(until, index) if until <= now => {
                    search.read += 1;
                    if search.wanted.accepts(&self.host[index]) {
                        search.best = Some((self.host[index].age, Place::Host(index)));
                        Step::Over
                    } else if index + 1 == search.host {
                        Step::Over
                    } else {
                        Step::Host(until + self.parameters.spill, index + 1)
                    }
                }
                _ => break,
            };
        }
        match search.hit {
            _ if search.cam_until > now => Poll::Pending,
            Some(slot) => Poll::Ready(Some(Place::Cam(slot))),
            None if search.step == Step::Over => Poll::Ready(search.best.map(|(_, place)| place)),
            None => Poll::Pending,
        }
    }

    /// All walkers have read an element each.
    fn end_row(&self, search: &mut Search, now: u64) -> Step {
        let by_age = self.corrections.has(Hazard::ParallelLists);
        for (list, walker) in search.walkers.iter_mut().enumerate() {
            let Some(current) = walker.current.filter(|_| walker.left > 0) else { continue };
            let entry = self.lists[list].get(current);
            search.read += 1;
            if search.wanted.accepts(entry) {
                let is_better = |(age, _): (u64, Place)| by_age && entry.age < age;
                if search.best.is_none_or(is_better) {
                    search.best = Some((entry.age, Place::List(list, walker.previous)));
                }
            }
            (walker.previous, walker.current) = (walker.current, self.lists[list].next(current));
            walker.left -= 1;
        }
        // The age of the next element is stored with the link to it.
        let goes_on = |(list, walker): (usize, &Walker)| match walker.current {
            Some(next) if walker.left > 0 => match search.best {
                None => true,
                Some((age, _)) => by_age && self.lists[list].get(next).age < age,
            },
            _ => false,
        };
        if search.walkers.iter().enumerate().any(goes_on) {
            Step::Row(now + self.parameters.element)
        } else {
            Step::Pick(now + self.parameters.age_lists)
        }
    }
}

/// An insertion under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Insertion {
    Cam(usize),
    List,
    Host,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Walker {
    previous: Option<u32>,
    current: Option<u32>,
    /// Elements that were in the list when the search began and were not read yet.
    left: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// The walkers read an element each, until a cycle.
    Row(u64),
    /// The oldest of what they found is picked.
    Pick(u64),
    /// An entry of host memory is read.
    Host(u64, usize),
    Over,
}

/// A search under way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Search {
    pub(super) wanted: SearchTarget,
    cam_until: u64,
    /// The slot that the CAM found.
    hit: Option<usize>,
    /// Entries in the CAM when the search began.
    in_cam: u32,
    /// Entries after the CAM that were read.
    read: u32,
    walkers: Vec<Walker>,
    step: Step,
    /// Entries that were in host memory when the search began.
    host: usize,
    best: Option<(u64, Place)>,
}

impl Search {
    /// Entries compared; what is read beside a CAM that has a match is dropped.
    pub(super) const fn compared(&self) -> u32 {
        if self.hit.is_some() { self.in_cam } else { self.in_cam + self.read }
    }

    /// When the CAM has compared, and when the step after it ends.
    pub(super) const fn ends(&self) -> [Option<u64>; 2] {
        let step = match self.step {
            Step::Row(until) | Step::Pick(until) | Step::Host(until, _) => Some(until),
            Step::Over => None,
        };
        [Some(self.cam_until), step]
    }
}
