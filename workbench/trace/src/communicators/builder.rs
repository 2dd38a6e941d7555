// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Collects communicators while the records of a trace are read.

use std::collections::BTreeMap;

use super::{CommView, Communicators, Group, RankRun, Shared};
use crate::agreement::Agreement;
use crate::record::{CollectiveOp, Record};
use crate::topology::{NeighbourLists, Topologies};

/// Collects communicators, rank by rank.
pub(crate) struct Builder {
    found: Communicators,
    by_identity: BTreeMap<u64, u32>,
    by_runs: BTreeMap<Box<[RankRun]>, u32>,
    members: Vec<u64>,
    agreement: Agreement,
}

impl Builder {
    pub(crate) fn new(world: u32) -> Self {
        let found = Communicators {
            world,
            groups: Vec::new(),
            comms: Vec::new(),
            views: Vec::new(),
            first: Vec::with_capacity(world as usize + 1),
            races: Vec::with_capacity(world as usize + 1),
            topologies: Topologies::new(),
        };
        Self {
            found,
            by_identity: BTreeMap::new(),
            by_runs: BTreeMap::new(),
            members: Vec::new(),
            agreement: Agreement::default(),
        }
    }

    /// Starts the next rank.
    pub(crate) fn next_rank(&mut self) {
        self.found.first.push(self.found.views.len());
        self.found.races.push(false);
        self.agreement.next_rank();
    }

    /// The current rank uses a wildcard or cancels.
    pub(crate) fn may_race(&mut self) {
        *self.found.races.last_mut().expect("a rank has begun") = true;
    }

    pub(crate) fn finish(mut self) -> Communicators {
        self.next_rank();
        self.found
    }

    /// Communicator `local` of the current rank.
    pub(crate) fn view(&self, rank: u32, local: u32) -> CommView {
        self.found.view_so_far(rank, local)
    }

    /// `rank` calls the collective of its record `index`; errors as of [`Agreement::enter`].
    pub(crate) fn enter(&mut self, rank: u32, index: usize, record: &Record, op: CollectiveOp) -> Result<(), String> {
        self.agreement.enter(&self.found, rank, index, record, op)
    }

    pub(crate) fn size(&self, group: u32) -> u32 {
        self.found.size(group)
    }

    /// The topology of communicator `local` of `rank`.
    pub(crate) fn add_topology(&mut self, rank: u32, local: u32, neighbours: NeighbourLists) {
        self.found.topologies.insert((rank, local), neighbours);
    }

    pub(crate) fn neighbours(&self, rank: u32, local: u32) -> Option<&NeighbourLists> {
        self.found.neighbours(rank, local)
    }

    /// Number of the group of `runs`, all of which are within the world.
    pub(crate) fn group(&mut self, runs: Vec<RankRun>) -> Result<u32, String> {
        let world = self.found.world;
        if let [run] = runs[..] {
            if run == RankRun::all(world) {
                return Ok(0);
            }
            if run.length == 1 {
                return Ok(1 + run.first);
            }
        }
        let runs = runs.into_boxed_slice();
        if let Some(&group) = self.by_runs.get(&runs) {
            return Ok(group);
        }
        self.distinct(&runs)?;
        let mut size = 0;
        let with_ranks = runs
            .iter()
            .map(|&run| {
                let from = size;
                size += run.length;
                (from, run)
            })
            .collect();
        let group = 1 + world + self.found.groups.len() as u32;
        self.found.groups.push(Group { size, runs: with_ranks });
        self.by_runs.insert(runs, group);
        Ok(group)
    }

    /// Checks that no world rank is listed twice. Cost: the smaller of the overlapping pairs of
    /// runs and the members.
    fn distinct(&mut self, runs: &[RankRun]) -> Result<(), String> {
        let mut by_low: Vec<&RankRun> = runs.iter().collect();
        by_low.sort_unstable_by_key(|run| run.bounds());
        let members: u64 = runs.iter().map(|run| u64::from(run.length)).sum();
        if members > u64::from(self.found.world) {
            return Err(format!("group lists {members} ranks, expected at most {}", self.found.world));
        }
        let mut pairs = 0;
        for (at, run) in by_low.iter().enumerate() {
            let high = run.bounds().1;
            for other in by_low[at + 1..].iter().take_while(|other| other.bounds().0 <= high) {
                pairs += 1;
                if pairs > members {
                    return self.distinct_members(runs);
                }
                if run.meets(other) {
                    return Err("group lists a world rank twice, expected distinct ranks".to_owned());
                }
            }
        }
        Ok(())
    }

    fn distinct_members(&mut self, runs: &[RankRun]) -> Result<(), String> {
        self.members.resize((self.found.world as usize).div_ceil(64), 0);
        let mut twice = None;
        let all = || runs.iter().flat_map(|run| (0..run.length).map(|at| run.member(at)));
        for rank in all() {
            let (word, bit) = (&mut self.members[rank as usize / 64], 1 << (rank % 64));
            if *word & bit != 0 {
                twice = Some(rank);
            }
            *word |= bit;
        }
        for rank in all() {
            self.members[rank as usize / 64] = 0;
        }
        twice.map_or(Ok(()), |rank| Err(format!("group lists world rank {rank} twice, expected distinct ranks")))
    }

    /// Adds a communicator of the current rank.
    pub(crate) fn add(&mut self, identity: u64, local: u32, remote: u32, rank: u32) -> Result<(), String> {
        let next = self.found.count();
        let comm = *self.by_identity.entry(identity).or_insert(next);
        if comm == next {
            self.found.comms.push(Shared { identity, local, remote });
        }
        let known = &self.found.comms[(comm - self.found.world - 1) as usize];
        if (known.local, known.remote) != (local, remote) && (known.local, known.remote) != (remote, local) {
            return Err(format!(
                "groups differ from those of another rank, expected the same for identity {identity:016x}"
            ));
        }
        self.found.views.push(CommView { comm, local, remote, rank });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::{members, run};
    use super::*;

    proptest! {
        #[test]
        fn a_group_that_lists_a_rank_twice_is_refused(runs in prop::collection::vec(run(), 1..12)) {
            let mut all: Vec<u32> = runs.iter().flat_map(|&run| members(run)).collect();
            let listed = all.len();
            all.sort_unstable();
            all.dedup();
            prop_assert_eq!(Builder::new(250).distinct(&runs).is_ok(), all.len() == listed);
        }
    }

    /// More overlapping pairs than members: members are marked one by one.
    #[test]
    fn many_interleaved_pairs_are_distinct() {
        let mut runs: Vec<RankRun> = (0..100).map(|first| RankRun { first, stride: 100, length: 2 }).collect();
        assert_eq!(Builder::new(1000).distinct(&runs), Ok(()));
        runs.push(RankRun::one(150));
        let error = Builder::new(1000).distinct(&runs).unwrap_err();
        assert_eq!(error, "group lists world rank 150 twice, expected distinct ranks");
    }
}
