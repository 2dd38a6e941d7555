// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Records of communicators and collectives, and their Extra records (T-6, T-11, T-14 to T-16).

use mb_core::mpi::PROC_NULL;

use super::fields::{Fields, only, size_of_message};
use super::{RankCheck, Violation, expected_rank, violation};
use crate::communicators::RankRun;
use crate::record::{CollectiveOp, Flags, Kind, Record};
use crate::topology::{NeighbourLists, TopologyForm};

/// T-16: the value of `MPI_ROOT` in traces (MPI 5.0 ABI).
const ROOT: i32 = -4;

impl RankCheck<'_> {
    pub(super) fn collective(&mut self, index: usize, record: &Record) -> Result<usize, Violation> {
        const FIELDS: Fields = Fields::ENVELOPE.and(Fields::BYTES).and(Fields::REQUEST).and(Fields::AUX);
        only(record, FIELDS, Flags::BLOCKING | Flags::PERSISTENT | Flags::VECTOR)?;
        let known = if self.version < 3 { CollectiveOp::Neighbor } else { CollectiveOp::NeighborAlltoall } as i32;
        let Some(op) = CollectiveOp::from_tag(record.tag).filter(|&op| op as i32 <= known) else {
            return violation(6, format!("tag is {}, expected 1 to {known} (a collective)", record.tag));
        };
        let neighbours = self.builder.neighbours(self.rank, record.comm);
        let degrees = neighbours.map(|all| (all.sources.len() as u64, all.destinations.len() as u64));
        if degrees.is_none() && matches!(op, CollectiveOp::NeighborAllgather | CollectiveOp::NeighborAlltoall) {
            return violation(22, format!("{op:?} on communicator {}, expected one with a topology", record.comm));
        }
        let (sources, destinations) = degrees.unwrap_or_default();
        let size = self.peers(record.comm)?;
        let view = self.builder.view(self.rank, record.comm);
        let rooted =
            matches!(op, CollectiveOp::Bcast | CollectiveOp::Reduce | CollectiveOp::Gather | CollectiveOp::Scatter);
        let in_group = record.peer >= 0 && (record.peer as u32) < size;
        if rooted && !(in_group || view.is_inter() && matches!(record.peer, PROC_NULL | ROOT)) {
            let also = if view.is_inter() { ", -3 or -4 (MPI_ROOT)" } else { "" };
            return violation(6, format!("root is {}, {}", record.peer, expected_rank(size, also)));
        }
        if !rooted && record.peer != -1 {
            return violation(6, format!("peer is {}, expected -1", record.peer));
        }
        size_of_message(record.bytes)?;
        size_of_message(record.aux)?;
        if record.has(Flags::BLOCKING) {
            if record.has(Flags::PERSISTENT) {
                return violation(
                    6,
                    format!("flags are {:#04x}, expected at most one of BLOCKING and PERSISTENT", record.flags),
                );
            }
            if record.request != 0 {
                return violation(8, format!("request of a blocking collective is {}, expected 0", record.request));
            }
        } else {
            self.start(index, record.request)?;
        }
        self.builder.enter(self.rank, index, record, op).or_else(|found| violation(24, found))?;
        if !record.has(Flags::VECTOR) {
            return Ok(1);
        }
        let is_root = if view.is_inter() { record.peer == ROOT } else { record.peer == view.rank as i32 };
        let size = u64::from(size);
        let words = match op {
            CollectiveOp::Scatter | CollectiveOp::Gather if is_root => size,
            CollectiveOp::Allgather | CollectiveOp::ReduceScatter => size,
            CollectiveOp::Alltoall => 2 * size,
            CollectiveOp::NeighborAllgather => sources,
            CollectiveOp::NeighborAlltoall => destinations + sources,
            _ => {
                return violation(
                    16,
                    format!("{op:?} has the VECTOR flag, expected it only in forms with counts per peer"),
                );
            }
        };
        let records = self.words(index, words)?;
        for &bytes in &self.scratch.words {
            size_of_message(bytes)?;
        }
        Ok(1 + records)
    }

    /// T-22.
    pub(super) fn topology(&mut self, index: usize, record: &Record) -> Result<usize, Violation> {
        only(record, Fields::ENVELOPE.and(Fields::BYTES).and(Fields::AUX), 0)?;
        let newest = self.scratch.comms.len() as u32 - 1;
        if record.comm != newest || newest < 2 {
            return violation(22, format!("comm is {}, expected {newest}, the newest communicator", record.comm));
        }
        let size = self.peers(record.comm)?;
        let sides = (record.peer, record.tag);
        if sides.0 < 0 || sides.1 < 0 || record.bytes != sides.0 as u64 + sides.1 as u64 {
            let reason =
                format!("sources, destinations and words are {sides:?} and {}, expected the sum", record.bytes);
            return violation(22, reason);
        }
        let Some(form) = TopologyForm::from_aux(record.aux) else {
            return violation(22, format!("aux is {}, expected 1 to 3 (a topology)", record.aux));
        };
        if self.builder.neighbours(self.rank, newest).is_some() {
            return violation(22, format!("communicator {newest} has a second topology, expected one"));
        }
        let records = self.words(index, record.bytes)?;
        let known = |word: u64| word < u64::from(size) || word == u64::from(PROC_NULL as u32);
        if let Some(word) = self.scratch.words.iter().find(|&&word| !known(word)) {
            let expected = expected_rank(size, " or 2^32 - 3 (MPI_PROC_NULL)");
            return violation(22, format!("a neighbour is {word}, {expected}"));
        }
        let neighbours = NeighbourLists::from_words(form, &self.scratch.words, sides.0 as usize);
        self.builder.add_topology(self.rank, newest, neighbours);
        Ok(1 + records)
    }

    /// Collects `count` words from the Extra records after the one at `index`; returns how many
    /// records these are.
    pub(super) fn words(&mut self, index: usize, count: u64) -> Result<usize, Violation> {
        self.scratch.words.clear();
        let behind = (self.records.len() - index - 1) as u64;
        if count.div_ceil(6) > behind {
            return violation(16, format!("{behind} records follow, expected Extra records with {count} words"));
        }
        let records = count.div_ceil(6) as usize;
        for at in 0..records {
            let record = self.sealed(index + 1 + at)?;
            let here = (count as usize - 6 * at).min(6);
            let fields = (record.kind, record.flags, record.thread, record.tag, record.request);
            if fields != (Kind::Extra as u8, 0, 0, here as i32, 0) {
                let reason = format!(
                    "kind, flags, thread, words and request of Extra record {} are {fields:?}, expected {:?}",
                    1 + at,
                    (Kind::Extra as u8, 0, 0, here, 0)
                );
                return violation(16, reason);
            }
            let words = record.extra_words();
            if words[here..].iter().any(|&word| word != 0) {
                return violation(
                    16,
                    format!("Extra record {} has non-zero words after its {here}, expected zeros", 1 + at),
                );
            }
            self.scratch.words.extend(&words[..here]);
        }
        Ok(records)
    }

    pub(super) fn comm(&mut self, index: usize, record: &Record) -> Result<usize, Violation> {
        only(record, Fields::ENVELOPE.and(Fields::BYTES).and(Fields::AUX), 0)?;
        let number = self.scratch.comms.len() as u32;
        if record.comm != number {
            return violation(11, format!("comm is {}, expected {number}", record.comm));
        }
        let world = self.world;
        let identity = match number {
            0 => 0,
            1 => 1 + u64::from(self.rank),
            _ => record.aux | 1 << 63,
        };
        if record.aux != identity {
            return violation(14, format!("identity is {:016x}, expected {identity:016x}", record.aux));
        }
        let is_inter = record.peer != -1;
        let sizes = (record.tag, if is_inter { record.peer } else { 1 });
        let valid = |size: i32| size >= 1 && size as u32 <= world;
        if !valid(sizes.0) || !valid(sizes.1) || (number < 2 && is_inter) {
            let reason = format!("group sizes are {} and {}, expected 1 to {world}", record.tag, record.peer);
            return violation(15, reason);
        }
        if !record.bytes.is_multiple_of(2) {
            return violation(15, format!("{} words of runs, expected an even number", record.bytes));
        }
        let records = self.words(index, record.bytes)?;
        let words = std::mem::take(&mut self.scratch.words);
        let mut runs = words.as_chunks::<2>().0.iter();
        let local = self.runs(&mut runs, sizes.0 as u32)?;
        let rank = position(&local, self.rank);
        let expected = match number {
            0 => Some(RankRun::all(world)),
            1 => Some(RankRun::one(self.rank)),
            _ => None,
        };
        if expected.is_some_and(|expected| local != [expected]) {
            return violation(
                15,
                format!(
                    "communicator {number} lists {local:?}, expected {:?}",
                    expected.into_iter().collect::<Vec<_>>()
                ),
            );
        }
        let Some(rank) = rank else {
            return violation(
                15,
                format!("found a local group without rank {}, expected the rank itself in it", self.rank),
            );
        };
        let remote = if is_inter { Some(self.runs(&mut runs, record.peer as u32)?) } else { None };
        if runs.next().is_some() {
            return violation(15, format!("{} words of runs, expected fewer for groups of this size", record.bytes));
        }
        self.scratch.words = words;
        if number >= 2 {
            let local = self.builder.group(local).or_else(|reason| violation(15, reason))?;
            let remote = match remote {
                Some(runs) => self.builder.group(runs).or_else(|reason| violation(15, reason))?,
                None => local,
            };
            if is_inter && local == remote {
                return violation(15, "both groups of an intercommunicator are the same, expected two groups");
            }
            self.builder.add(record.aux, local, remote, rank).or_else(|reason| violation(14, reason))?;
        }
        let size = if is_inter { record.peer } else { record.tag };
        self.scratch.comms.push(Some(size as u32));
        Ok(1 + records)
    }

    /// Reads runs of `size` members in total, all within the world.
    pub(super) fn runs(
        &self,
        words: &mut std::slice::Iter<'_, [u64; 2]>,
        size: u32,
    ) -> Result<Vec<RankRun>, Violation> {
        let mut runs = Vec::new();
        let mut members = 0;
        while members < size {
            let Some(&[start, length]) = words.next() else {
                return violation(15, format!("runs list {members} ranks, expected {size}"));
            };
            if length == 0 || length > u64::from(size - members) {
                return violation(15, format!("a run lists {length} ranks, expected 1 to {}", size - members));
            }
            let mut run = RankRun { first: start as u32, stride: (start >> 32) as i32, length: length as u32 };
            let last = i64::from(run.first) + i64::from(run.stride) * i64::from(run.length - 1);
            if run.first >= self.world || last < 0 || last >= i64::from(self.world) {
                let reason = format!("a run goes from {} to {last}, expected ranks below {}", run.first, self.world);
                return violation(15, reason);
            }
            if run.length == 1 {
                run.stride = 1;
            } else if run.stride == 0 {
                return violation(15, format!("a run lists world rank {} {length} times, expected once", run.first));
            }
            members += run.length;
            runs.push(run);
        }
        Ok(runs)
    }
}

/// Rank of `world_rank` in the group of `runs`.
fn position(runs: &[RankRun], world_rank: u32) -> Option<u32> {
    let mut from = 0;
    for run in runs {
        if let Some(at) = run.position(world_rank) {
            return Some(from + at);
        }
        from += run.length;
    }
    None
}
