// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a trace lacks: how its ranks ended, and what they did that is not recorded in detail
//! (`spec/trace.md`, sections 3 and 9).

use std::collections::BTreeMap;

use crate::open::Trace;
use crate::record::{Flags, Kind, Record};
use crate::trace_state::TraceState;

/// The meaning of a [`Kind::Other`] record.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Omission {
    /// Something that takes part in matching and is not in the trace: messages, communicators,
    /// processes.
    Lost,
    /// A receive whose message MPI does not report: a Done with [`Flags::UNKNOWN`].
    Unknown,
    /// A call that is recorded by name and time only, and takes no part in matching.
    NotReplayed,
}

impl Omission {
    /// Its word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Lost => "lost",
            Self::Unknown => "unknown",
            Self::NotReplayed => "not_replayed",
        }
    }

    /// What an Other record of this name stands for; `None` for the beginning and the end of the
    /// use of MPI, which leave nothing out.
    #[must_use]
    fn of(name: &str) -> Option<Self> {
        const LOST: [&str; 14] = [
            "send on a communicator that is not recorded",
            "receive on a communicator that is not recorded",
            "probe on a communicator that is not recorded",
            "collective on a communicator that is not recorded",
            "start of a request that is not recorded",
            "communicator that is not recorded",
            // The name of all of them in version 1.
            "call on a communicator of unknown origin",
            "MPI_Comm_spawn",
            "MPI_Comm_spawn_multiple",
            "MPI_Comm_accept",
            "MPI_Comm_connect",
            "MPI_Comm_join",
            "MPI_Psend_init",
            "MPI_Precv_init",
        ];
        const LIFE: [&str; 5] = [
            "MPI_Abort",
            "MPI_Session_init",
            "MPI_Session_finalize",
            "MPI_Init or MPI_Session_init beside another one",
            "MPI_Finalize or MPI_Session_finalize before the last one",
        ];
        if LIFE.contains(&name) {
            None
        } else if LOST.contains(&name) {
            Some(Self::Lost)
        } else {
            Some(Self::NotReplayed)
        }
    }
}

/// Calls of one name that are not recorded in detail.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeftOut {
    /// The kind of calls that they represent.
    pub omission: Omission,
    /// The name in `other_calls`.
    pub name: String,
    /// Calls of all ranks.
    pub calls: u64,
    /// Processes that they started.
    pub processes: u64,
}

/// Ranks on one host, and its processors that they may use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Host {
    /// Ranks.
    pub ranks: u32,
    /// Processors that at least one of them may use.
    pub processors: u32,
}

/// The name's index in `other_calls` and the number of processes of an Other record.
pub(crate) const fn other_parts(version: u16, record: &Record) -> (u64, u64) {
    if version == 1 { (record.aux, 0) } else { (record.aux & 0xffff_ffff, record.aux >> 32) }
}

impl Trace {
    /// The state of the trace as a whole.
    #[must_use]
    pub fn state(&self) -> TraceState {
        (0..self.ranks()).map(|rank| self.end(rank)).max().unwrap_or(TraceState::Complete)
    }

    /// What is not recorded in detail, by name: first what is lost, then what is not known, then
    /// what is not replayed. Two passes over the records.
    #[must_use]
    pub fn left_out(&self) -> Vec<LeftOut> {
        let mut counts: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        for rank in 0..self.ranks() {
            let version = self.version(rank);
            for record in self.rank(rank).iter().filter(|record| record.kind == Kind::Other as u8) {
                let (name, processes) = other_parts(version, record);
                let (calls, started) = counts.entry(name).or_default();
                *calls += 1;
                *started = started.saturating_add(processes);
            }
        }
        let mut all: Vec<LeftOut> = counts
            .into_iter()
            .filter_map(|(index, (calls, processes))| {
                let name = self.meta().other_calls.get(usize::try_from(index).ok()?)?.clone();
                Some(LeftOut { omission: Omission::of(&name)?, name, calls, processes })
            })
            .collect();
        let unknown = self.unknown_receives();
        if unknown > 0 {
            let name = "receive whose source and tag MPI does not report".to_owned();
            all.push(LeftOut { omission: Omission::Unknown, name, calls: unknown, processes: 0 });
        }
        all.sort_by_key(|each| each.omission);
        all
    }

    fn unknown_receives(&self) -> u64 {
        let is_unknown = |record: &&Record| record.kind == Kind::Done as u8 && record.has(Flags::UNKNOWN);
        let ranks = (0..self.ranks()).filter(|&rank| self.version(rank) >= 3);
        ranks.map(|rank| self.rank(rank).iter().filter(is_unknown).count() as u64).sum()
    }

    /// The words that follow the Init of `rank`: a number of its host, then the set of processors
    /// that the rank may use. Empty if the trace does not say.
    fn place(&self, rank: u32) -> Vec<u64> {
        let records = self.rank(rank);
        let Some(init) = records.first().filter(|init| init.kind == Kind::Init as u8) else { return Vec::new() };
        let extra = records[1..].iter().take_while(|record| record.kind == Kind::Extra as u8);
        let mut words: Vec<u64> = extra.flat_map(Record::extra_words).collect();
        words.truncate(usize::try_from(init.bytes).unwrap_or(usize::MAX));
        words
    }

    /// The hosts of the recorded program; empty if some rank does not say where it ran, as in
    /// generated traces and in those of version 1.
    #[must_use]
    pub fn hosts(&self) -> Vec<Host> {
        let mut hosts: BTreeMap<u64, (u32, Vec<u64>)> = BTreeMap::new();
        for rank in 0..self.ranks() {
            let words = self.place(rank);
            let [host, processors @ ..] = words.as_slice() else { return Vec::new() };
            if processors.is_empty() {
                return Vec::new();
            }
            let (ranks, all) = hosts.entry(*host).or_default();
            *ranks += 1;
            if all.len() < processors.len() {
                all.resize(processors.len(), 0);
            }
            all.iter_mut().zip(processors).for_each(|(all, mine)| *all |= mine);
        }
        let count = |set: &[u64]| set.iter().map(|word| word.count_ones()).sum();
        hosts.into_values().map(|(ranks, set)| Host { ranks, processors: count(&set) }).collect()
    }

    /// Wall time at which the initialization of MPI returned in `rank`, ns since its first record: that of
    /// the first communicator; 0 if the records end before it.
    #[must_use]
    pub fn initialized_ns(&self, rank: u32) -> u64 {
        self.rank(rank).iter().find(|record| record.kind == Kind::Comm as u8).map_or(0, Record::wall_ns)
    }

    /// Time between the initialization of MPI and the Finalize of `rank` in which its first thread was
    /// ready to run and waited for a processor, ns; `None` if the trace does not say.
    #[must_use]
    pub fn delay_ns(&self, rank: u32) -> Option<u64> {
        let finalize = self.rank(rank).last().filter(|last| last.kind == Kind::Finalize as u8)?;
        (self.version(rank) > 1 && finalize.aux != u64::MAX).then_some(finalize.aux)
    }
}
