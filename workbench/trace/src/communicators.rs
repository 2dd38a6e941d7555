// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The communicators of a whole trace: global numbers for the local ones of each rank, and their
//! members.
//!
//! A group is a list of runs of world ranks. It is stored once, however many communicators and
//! ranks share it; the world and the one-rank groups of `MPI_COMM_SELF` are not stored. Translating
//! a rank to a world rank is O(1) in a group of one run, and a binary search over the runs
//! otherwise. Memory: 16 bytes per rank and communicator beyond world and self, and 12 per run of
//! each distinct group.

mod builder;

pub(crate) use builder::Builder;

use crate::topology::{NeighbourLists, Topologies};

/// World ranks `first`, `first + stride`, ... : `length` of them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RankRun {
    /// World rank of the first member.
    pub first: u32,
    /// Difference between consecutive members.
    pub stride: i32,
    /// Number of members.
    pub length: u32,
}

impl RankRun {
    /// The run of a world of `ranks`.
    #[must_use]
    pub const fn all(ranks: u32) -> Self {
        Self { first: 0, stride: 1, length: ranks }
    }

    /// The run of one rank.
    #[must_use]
    pub const fn one(rank: u32) -> Self {
        Self { first: rank, stride: 1, length: 1 }
    }

    /// World rank of member `at`, which must be below `length`.
    #[must_use]
    #[inline]
    pub const fn member(&self, at: u32) -> u32 {
        (self.first as i64 + self.stride as i64 * at as i64) as u32
    }

    /// Position of `world_rank` in the run.
    #[must_use]
    pub const fn position(&self, world_rank: u32) -> Option<u32> {
        let distance = world_rank as i64 - self.first as i64;
        if self.length == 1 || self.stride == 0 {
            return if distance == 0 { Some(0) } else { None };
        }
        let stride = self.stride as i64;
        let at = distance / stride;
        if distance % stride == 0 && at >= 0 && at < self.length as i64 { Some(at as u32) } else { None }
    }

    /// Lowest and highest member.
    pub(crate) fn bounds(&self) -> (u32, u32) {
        let last = self.member(self.length - 1);
        (self.first.min(last), self.first.max(last))
    }

    /// Whether the runs share a member.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        let (shorter, longer) = if self.length <= other.length { (self, other) } else { (other, self) };
        if shorter.length == 1 {
            return longer.position(shorter.first).is_some();
        }
        // first + stride * i = first' + stride' * j has integer solutions i = i0 + k * period if
        // the greatest common divisor of the strides divides the distance; one of them must be in
        // both runs.
        let (a, b) = (i128::from(shorter.stride), i128::from(longer.stride));
        let distance = i128::from(longer.first) - i128::from(shorter.first);
        let (divisor, x) = extended_gcd(a, b);
        if distance % divisor != 0 {
            return false;
        }
        let period = (b / divisor).abs();
        let mut at = (x * (distance / divisor)).rem_euclid(period);
        // No solution lies below the point at which `shorter` enters the bounds of the longer run.
        let (low, high) = longer.bounds();
        let enters = if a > 0 {
            i128::from(low) - i128::from(shorter.first)
        } else {
            i128::from(shorter.first) - i128::from(high)
        };
        let least = (enters + a.abs() - 1).div_euclid(a.abs()).max(0);
        if at < least {
            at += (least - at + period - 1) / period * period;
        }
        at < i128::from(shorter.length) && longer.position(shorter.member(at as u32)).is_some()
    }
}

/// Greatest common divisor of `a` and `b` (both not 0), positive, and `x` with `a * x = divisor`
/// modulo `b`.
fn extended_gcd(a: i128, b: i128) -> (i128, i128) {
    let (mut old, mut new, mut old_x, mut new_x) = (a, b, 1, 0);
    while new != 0 {
        let quotient = old / new;
        (old, new) = (new, old - quotient * new);
        (old_x, new_x) = (new_x, old_x - quotient * new_x);
    }
    if old < 0 { (-old, -old_x) } else { (old, old_x) }
}

/// A communicator from the point of view of one process. Numbers of communicators and groups are
/// global and dense.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CommView {
    /// The communicator: 0 is `MPI_COMM_WORLD`, 1 + r `MPI_COMM_SELF` of world rank r, others
    /// follow in order of their first record, by rank.
    pub comm: u32,
    /// Group of this process.
    pub local: u32,
    /// Group that `peer` indexes: the remote one of an intercommunicator, else the same.
    pub remote: u32,
    /// Rank of this process in `local`.
    pub rank: u32,
}

impl CommView {
    /// Whether this is an intercommunicator.
    #[must_use]
    pub const fn is_inter(&self) -> bool {
        self.local != self.remote
    }
}

struct Group {
    size: u32,
    /// Each run with the rank of its first member in the group.
    runs: Box<[(u32, RankRun)]>,
}

struct Shared {
    identity: u64,
    local: u32,
    remote: u32,
}

/// All communicators of a trace, by rank and local number. Made by [`crate::Trace::check`].
pub struct Communicators {
    world: u32,
    groups: Vec<Group>,
    comms: Vec<Shared>,
    /// Communicators beyond world and self, rank after rank.
    views: Vec<CommView>,
    /// Start of each rank in `views`, and the end of the last one.
    first: Vec<usize>,
    /// Ranks whose receives may race.
    races: Vec<bool>,
    pub(crate) topologies: Topologies,
}

impl std::fmt::Debug for Communicators {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Communicators({} of {} ranks)", self.count(), self.world)
    }
}

impl Communicators {
    /// Ranks in the world.
    #[must_use]
    pub fn world(&self) -> u32 {
        self.world
    }

    /// Number of communicators: [`CommView::comm`] is below it.
    #[must_use]
    pub fn count(&self) -> u32 {
        1 + self.world + self.comms.len() as u32
    }

    /// Number of communicators that `rank` has: its local numbers are below it.
    ///
    /// # Panics
    /// When there is no such rank.
    #[must_use]
    pub fn local_count(&self, rank: u32) -> u32 {
        2 + (self.first[rank as usize + 1] - self.first[rank as usize]) as u32
    }

    /// Communicator `local` of world rank `rank`.
    ///
    /// # Panics
    /// When there is no such rank or number.
    #[must_use]
    #[inline]
    pub fn view(&self, rank: u32, local: u32) -> CommView {
        match local {
            0 => CommView { comm: 0, local: 0, remote: 0, rank },
            1 => CommView { comm: 1 + rank, local: 1 + rank, remote: 1 + rank, rank: 0 },
            _ => {
                let (from, to) = (self.first[rank as usize], self.first[rank as usize + 1]);
                self.views[from..to][local as usize - 2]
            }
        }
    }

    /// As [`Communicators::view`], while the rank is read.
    pub(crate) fn view_so_far(&self, rank: u32, local: u32) -> CommView {
        if local < 2 { self.view(rank, local) } else { self.views[self.first[rank as usize] + local as usize - 2] }
    }

    /// Whether the messages that `rank` receives may depend on the order of arrivals: it uses
    /// wildcards or cancels receives.
    ///
    /// # Panics
    /// When there is no such rank.
    #[must_use]
    pub fn may_race(&self, rank: u32) -> bool {
        self.races[rank as usize]
    }

    /// The identity (`spec/trace.md`, T-14) of communicator `comm`.
    ///
    /// # Panics
    /// When there is no such communicator.
    #[must_use]
    pub fn identity(&self, comm: u32) -> u64 {
        if comm <= self.world { u64::from(comm) } else { self.comms[(comm - self.world - 1) as usize].identity }
    }

    /// Members of `group`.
    ///
    /// # Panics
    /// When there is no such group.
    #[must_use]
    #[inline]
    pub fn size(&self, group: u32) -> u32 {
        match group {
            0 => self.world,
            group if group <= self.world => 1,
            group => self.groups[(group - self.world - 1) as usize].size,
        }
    }

    /// World rank of rank `rank` of `group`.
    ///
    /// # Panics
    /// When there is no such group or rank (not checked in the world and in one-rank groups).
    #[must_use]
    #[inline]
    pub fn world_rank(&self, group: u32, rank: u32) -> u32 {
        match group {
            0 => rank,
            group if group <= self.world => group - 1,
            group => {
                let group = &self.groups[(group - self.world - 1) as usize];
                assert!(rank < group.size, "rank {rank} of a group of {}", group.size);
                let at = group.runs.partition_point(|&(from, _)| from <= rank) - 1;
                let (from, run) = group.runs[at];
                run.member(rank - from)
            }
        }
    }

    /// Rank in `group` of `world_rank`, if it is a member. Cost: the group's number of runs.
    ///
    /// # Panics
    /// When there is no such group.
    #[must_use]
    pub fn rank_of(&self, group: u32, world_rank: u32) -> Option<u32> {
        match group {
            0 => (world_rank < self.world).then_some(world_rank),
            group if group <= self.world => (world_rank == group - 1).then_some(0),
            group => {
                let group = &self.groups[(group - self.world - 1) as usize];
                group.runs.iter().find_map(|(from, run)| run.position(world_rank).map(|at| from + at))
            }
        }
    }

    /// The neighbours of world rank `rank` in its communicator `local`, if the trace has them.
    #[must_use]
    pub fn neighbours(&self, rank: u32, local: u32) -> Option<&NeighbourLists> {
        self.topologies.get(&(rank, local))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(super) fn run() -> impl Strategy<Value = RankRun> {
        (0..60_u32, -9..9_i32, 1..9_u32).prop_map(|(first, stride, length)| {
            let stride = if length > 1 && stride == 0 { 1 } else { stride };
            // Shifted so that no member is below 0.
            RankRun { first: first + 80, stride, length }
        })
    }

    pub(super) fn members(run: RankRun) -> Vec<u32> {
        (0..run.length).map(|at| run.member(at)).collect()
    }

    proptest! {
        #[test]
        fn runs_meet_when_they_have_a_member_in_common(a in run(), b in run()) {
            let common = members(a).iter().any(|member| members(b).contains(member));
            prop_assert_eq!(a.meets(&b), common);
        }

        #[test]
        fn position_is_the_inverse_of_member(run in run(), world_rank in 0..250_u32) {
            let found = members(run).iter().position(|&member| member == world_rank);
            prop_assert_eq!(run.position(world_rank), found.map(|at| at as u32));
        }
    }
}
