// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The lists of one receiver at one point of a replay, and the operations from then on: what a match program of the
//! match unit runs on (`matchbench trace export --match-unit`).
//!
//! Contract: the order of operations is that in which an engine accepted them, and outcomes are those of
//! `spec/matching.md`. Operations are numbered from 0, those of one communicator only if one is asked for; entries of
//! different communicators never match, so that the others can be left out.
//! Memory: that of the lists and of the operations that are kept. A replay is repeated to keep those of one snapshot.

use std::collections::{BTreeMap, BTreeSet};

use mb_core::{Envelope, Op, Outcome, Pattern, Picos};
use mb_kit::MatchLists;

/// The match bits of the communicator (`spec/matching.md`, M-1) begin here.
pub(crate) const CONTEXT: u32 = 33;

/// The records of the operations of receivers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snapshots {
    /// Only entries and operations of this communicator.
    pub communicator: Option<u32>,
    /// The snapshot to keep; without one, only the deepest search of each rank is noted.
    pub cut: Option<CutAt>,
}

/// The snapshot to keep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CutAt {
    /// World rank.
    pub rank: u32,
    /// The number of its first operation that is kept.
    pub first: u64,
    /// Operations that are kept at most.
    pub count: usize,
}

/// The deepest search of a rank; of several, the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Deepest {
    /// Number of the operation that searches.
    pub operation: u64,
    /// When it was accepted.
    pub at: Picos,
    /// Position of its match from the oldest entry on, or the length of the list without one.
    pub depth: u32,
    /// Operations of the rank.
    pub operations: u64,
}

/// The entry that an operation matched, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MatchedEntry {
    /// Nothing.
    Nothing,
    /// An entry that was in its list at the cut: its position there, oldest first.
    Listed(usize),
    /// The entry that an earlier operation of the cut left in the list: the number of the operation from the cut on.
    Left(usize),
}

/// An operation of a cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CutOp {
    /// When it was accepted.
    pub at: Picos,
    /// The operation.
    pub op: Op,
    /// The entry that it matched.
    pub found: MatchedEntry,
}

/// The lists at one point, oldest entries first, and the operations from then on.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Cut {
    /// Posted receives.
    pub posted: Vec<Pattern>,
    /// Unexpected messages.
    pub unexpected: Vec<Envelope>,
    /// Operations. A cancel that takes a receive back ends them, since a match program takes no part in it; one that is
    /// too late is left out.
    pub operations: Vec<CutOp>,
    /// Whether a cancel ended them.
    pub cancelled: bool,
}

/// Watches the operations of one receiver, in the order in which its engine accepts them.
#[derive(Clone, Debug)]
pub(crate) struct Watcher {
    communicator: Option<u32>,
    lists: MatchLists,
    deepest: Deepest,
    cutter: Option<Box<Cutter>>,
    /// Receives of the communicator that are posted.
    posted: BTreeSet<u64>,
}

impl Watcher {
    /// A watcher of `rank`.
    pub(crate) fn new(snapshots: &Snapshots, rank: u32) -> Self {
        let cut = snapshots.cut.filter(|cut| cut.rank == rank);
        Self {
            communicator: snapshots.communicator,
            lists: MatchLists::new(),
            deepest: Deepest::default(),
            cutter: cut.map(|at| Box::new(Cutter::new(at))),
            posted: BTreeSet::new(),
        }
    }

    /// Counts `op`, accepted at `now`.
    pub(crate) fn apply(&mut self, now: Picos, op: Op) {
        if !self.concerns(op) {
            return;
        }
        let number = self.deepest.operations;
        self.deepest.operations += 1;
        let (outcome, visits) = self.lists.apply(op);
        if let Op::Cancel { recv } = op {
            self.posted.remove(&recv.0);
        } else if visits > self.deepest.depth {
            self.deepest = Deepest { operation: number, at: now, depth: visits, ..self.deepest };
        }
        match outcome {
            Outcome::Posted(recv) if self.communicator.is_some() => {
                self.posted.insert(recv.0);
            }
            Outcome::Matched(recv, _) => {
                self.posted.remove(&recv.0);
            }
            _ => {}
        }
        if let Some(cutter) = &mut self.cutter {
            cutter.apply(number, now, op, outcome);
        }
    }

    /// Whether an operation is of the communicator that was asked for.
    fn concerns(&self, op: Op) -> bool {
        let Some(communicator) = self.communicator else { return true };
        match op {
            Op::Post { pattern, .. } | Op::Probe { pattern, .. } | Op::MatchedProbe { pattern, .. } => {
                pattern.bits >> CONTEXT == u64::from(communicator)
            }
            Op::Arrive { envelope, .. } => envelope.bits >> CONTEXT == u64::from(communicator),
            Op::Cancel { recv } => self.posted.contains(&recv.0),
        }
    }

    /// What was found.
    pub(crate) fn finish(self) -> (Deepest, Option<Cut>) {
        (self.deepest, self.cutter.map(|cutter| cutter.cut))
    }
}

/// An entry of a list: its age, and where it is in the cut.
#[derive(Clone, Copy, Debug)]
struct Kept<T> {
    age: u64,
    entry: T,
    found: MatchedEntry,
}

/// Keeps the lists up to the cut, and the operations from it on.
#[derive(Clone, Debug)]
struct Cutter {
    at: CutAt,
    /// By the names of receives and messages, which are unique while they wait.
    posted: BTreeMap<u64, Kept<Pattern>>,
    unexpected: BTreeMap<u64, Kept<Envelope>>,
    cut: Cut,
    has_begun: bool,
    has_ended: bool,
}

impl Cutter {
    fn new(at: CutAt) -> Self {
        Self {
            at,
            posted: BTreeMap::new(),
            unexpected: BTreeMap::new(),
            cut: Cut::default(),
            has_begun: false,
            has_ended: false,
        }
    }

    fn apply(&mut self, number: u64, now: Picos, op: Op, outcome: Outcome) {
        if number == self.at.first {
            self.has_begun = true;
            self.cut.posted = in_order(&mut self.posted);
            self.cut.unexpected = in_order(&mut self.unexpected);
        }
        let mine = self.has_begun && !self.has_ended && self.cut.operations.len() < self.at.count;
        let found = self.take(number, op, outcome);
        if !mine {
            return;
        }
        match outcome {
            Outcome::Cancelled(_) => {
                self.cut.cancelled = true;
                self.has_ended = true;
            }
            Outcome::NotCancelled(_) => {}
            _ => self.cut.operations.push(CutOp { at: now, op, found }),
        }
    }

    /// Moves the entries as `outcome` says; returns what was found.
    fn take(&mut self, number: u64, op: Op, outcome: Outcome) -> MatchedEntry {
        let left = MatchedEntry::Left(self.cut.operations.len());
        let nothing = MatchedEntry::Nothing;
        match (op, outcome) {
            (Op::Post { recv, pattern }, Outcome::Posted(_)) => {
                self.posted.insert(recv.0, Kept { age: number, entry: pattern, found: left });
                nothing
            }
            (Op::Post { .. }, Outcome::Matched(_, msg)) | (Op::MatchedProbe { .. }, Outcome::Probed(_, Some(msg))) => {
                self.unexpected.remove(&msg.0).map_or(nothing, |kept| kept.found)
            }
            (Op::Arrive { msg, envelope }, Outcome::Unexpected(_)) => {
                self.unexpected.insert(msg.0, Kept { age: number, entry: envelope, found: left });
                nothing
            }
            (Op::Arrive { .. }, Outcome::Matched(recv, _)) => {
                self.posted.remove(&recv.0).map_or(nothing, |kept| kept.found)
            }
            (Op::Probe { .. }, Outcome::Probed(_, Some(msg))) => {
                self.unexpected.get(&msg.0).map_or(nothing, |kept| kept.found)
            }
            (Op::Cancel { recv }, Outcome::Cancelled(_)) => {
                self.posted.remove(&recv.0);
                nothing
            }
            _ => nothing,
        }
    }
}

/// The entries from the oldest on; each learns its position.
fn in_order<T: Copy>(entries: &mut BTreeMap<u64, Kept<T>>) -> Vec<T> {
    let mut kept: Vec<_> = entries.values_mut().collect();
    kept.sort_unstable_by_key(|kept| kept.age);
    kept.into_iter()
        .enumerate()
        .map(|(position, kept)| {
            kept.found = MatchedEntry::Listed(position);
            kept.entry
        })
        .collect()
}
