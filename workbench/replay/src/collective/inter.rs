// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Collectives on intercommunicators, with both groups.
//!
//! As MPICH 4 (`src/mpi/coll`, the files named `*_inter_*`) does them, in which rank 0 of a group is
//! its leader: a group gathers what it sends at its leader by a binomial tree, leaders or the leader
//! and the root exchange it, and a leader distributes what it received by a binomial tree. The
//! all-to-all exchanges directly, in as many steps as the larger group has members. With
//! `Algorithm::Linear`, every process exchanges with the other group directly and at once, as Open
//! MPI 4 does (`coll/inter`, `coll/basic`).
//!
//! Where MPICH lets one group begin (barrier, allgather, reduce-scatter), both leaders send at once
//! here: none of these messages depends on one of the other group.

use mb_trace::CollectiveOp;

use super::call::{CollectiveCall, OtherGroup, RoundMessage, ScheduleBuilder};
use crate::config::Algorithm;

/// `MPI_ROOT` and `MPI_PROC_NULL` in the record of a rooted collective (`spec/trace.md`, section 4.1).
const ROOT: i32 = -4;
const NO_PART: i32 = -3;

impl ScheduleBuilder<'_> {
    fn send_across(&mut self, peer: u32, bytes: u64) {
        let (round, sends) = (self.round, Some(bytes));
        self.steps.push(RoundMessage { peer, round, sends, ..RoundMessage::ACROSS });
    }

    fn receive_across(&mut self, peer: u32) {
        self.steps.push(RoundMessage { peer, round: self.round, ..RoundMessage::ACROSS });
    }

    /// From the root to every process of the other group.
    fn one_to_all(&mut self, other: OtherGroup, bytes: impl Fn(u32) -> u64) {
        match other.root {
            ROOT => (0..other.ranks).for_each(|peer| self.send_across(peer, bytes(peer))),
            NO_PART => {}
            root => self.receive_across(root as u32),
        }
    }

    fn everyone_across(&mut self, other: OtherGroup, bytes: impl Fn(u32) -> u64) {
        (0..other.ranks).for_each(|peer| self.receive_across(peer));
        (0..other.ranks).for_each(|peer| self.send_across(peer, bytes(peer)));
    }
}

impl CollectiveCall<'_> {
    /// Appends the messages of this rank. Scans are not defined on intercommunicators.
    pub(super) fn plan_inter(&self, plan: &mut ScheduleBuilder, other: OtherGroup) {
        let linear = self.algorithm == Algorithm::Linear;
        match self.op {
            CollectiveOp::Bcast if linear => plan.one_to_all(other, |_| self.sent),
            CollectiveOp::Scatter if linear => plan.one_to_all(other, |peer| self.count(peer, self.sent)),
            CollectiveOp::Reduce | CollectiveOp::Gather if linear => self.all_to_one(plan, other),
            CollectiveOp::Bcast => self.one_to_leader(plan, other, self.sent, |_| self.received),
            CollectiveOp::Scatter => {
                let all = self.all_counts(self.sent.saturating_mul(u64::from(other.ranks)));
                self.one_to_leader(plan, other, all, |members| self.received.saturating_mul(members));
            }
            CollectiveOp::Reduce => self.leader_to_one(plan, other, |_| self.sent),
            CollectiveOp::Gather => self.leader_to_one(plan, other, |members| self.sent.saturating_mul(members)),
            CollectiveOp::Allgather if linear => plan.everyone_across(other, |_| self.sent),
            CollectiveOp::Alltoall if linear => {
                plan.everyone_across(other, |peer| self.count(peer, self.sent));
            }
            CollectiveOp::Alltoall => self.pairwise_across(plan, other),
            CollectiveOp::Barrier => self.through_leaders(plan, |_| 0, |_| 0),
            CollectiveOp::Allreduce => self.through_leaders(plan, |_| self.sent, |_| self.sent),
            CollectiveOp::Allgather => {
                let all = self.all_counts(self.received.saturating_mul(u64::from(other.ranks)));
                self.through_leaders(plan, |members| self.sent.saturating_mul(members), |_| all);
            }
            CollectiveOp::ReduceScatter => {
                let part = |members| (u128::from(self.sent) * u128::from(members) / u128::from(self.ranks)) as u64;
                self.through_leaders(plan, |_| self.sent, part);
            }
            CollectiveOp::Scan
            | CollectiveOp::Exscan
            | CollectiveOp::Neighbor
            | CollectiveOp::NeighborAllgather
            | CollectiveOp::NeighborAlltoall => {}
        }
    }

    /// The sum of the sizes of a vector form, else `uniform`.
    fn all_counts(&self, uniform: u64) -> u64 {
        if self.counts.is_empty() {
            return uniform;
        }
        self.counts.iter().fold(0, |sum: u64, &count| sum.saturating_add(count))
    }

    fn all_to_one(&self, plan: &mut ScheduleBuilder, other: OtherGroup) {
        match other.root {
            ROOT => (0..other.ranks).for_each(|peer| plan.receive_across(peer)),
            NO_PART => {}
            root => plan.send_across(root as u32, self.sent),
        }
    }

    /// From the root to the leader of the other group, and down its tree. `down` maps the number of
    /// ranks whose data a message carries to its size.
    fn one_to_leader(&self, plan: &mut ScheduleBuilder, other: OtherGroup, all: u64, down: impl Fn(u64) -> u64) {
        match other.root {
            ROOT => plan.send_across(0, all),
            NO_PART => {}
            root => {
                if self.rank == 0 {
                    plan.receive_across(root as u32);
                    plan.next();
                }
                self.scatter_tree(plan, down, 0);
            }
        }
    }

    fn leader_to_one(&self, plan: &mut ScheduleBuilder, other: OtherGroup, up: impl Fn(u64) -> u64) {
        match other.root {
            ROOT => plan.receive_across(0),
            NO_PART => {}
            root => {
                let all = up(u64::from(self.ranks));
                self.gather_tree(plan, up, 0);
                if self.rank == 0 {
                    plan.send_across(root as u32, all);
                }
            }
        }
    }

    /// Up the tree of each group, from leader to leader, and down.
    fn through_leaders(&self, plan: &mut ScheduleBuilder, up: impl Fn(u64) -> u64, down: impl Fn(u64) -> u64) {
        let all = up(u64::from(self.ranks));
        self.gather_tree(plan, up, 0);
        if self.rank == 0 {
            plan.receive_across(0);
            plan.send_across(0, all);
            plan.next();
        }
        self.scatter_tree(plan, down, 0);
    }

    /// In step k, from the rank k below and to the rank k above, among as many as the larger group
    /// has; there is nobody beyond the smaller one.
    fn pairwise_across(&self, plan: &mut ScheduleBuilder, other: OtherGroup) {
        let steps = self.ranks.max(other.ranks);
        for step in 0..steps {
            let (from, to) = ((self.rank + steps - step) % steps, (self.rank + step) % steps);
            if from < other.ranks {
                plan.receive_across(from);
            }
            if to < other.ranks {
                plan.send_across(to, self.count(to, self.sent));
            }
            plan.next();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::run;
    use super::*;
    use crate::config::COLLECTIVE_ALGORITHMS;

    /// The ranks of one group come first, then those of the other; the root is in the second one.
    /// Returns what each process has in the end, and the bytes that it sent.
    fn run_groups(op: CollectiveOp, algorithm: Algorithm, sizes: [u32; 2], root: u32) -> (Vec<u128>, Vec<u64>) {
        let mut plans = Vec::new();
        for side in 0..2 {
            for rank in 0..sizes[side] {
                let named = match side {
                    0 => root as i32,
                    _ if rank == root => ROOT,
                    _ => NO_PART,
                };
                let (ranks, counts, other) = (sizes[side], &[][..], OtherGroup { ranks: sizes[1 - side], root: named });
                let (sent, received, root, other) = (96, 96, 0, Some(other));
                let mut steps = Vec::new();
                CollectiveCall { op, algorithm, rank, ranks, root, sent, received, counts, other }.plan(&mut steps);
                plans.push(steps);
            }
        }
        let process = |from: usize, step: &RoundMessage| {
            let first = (from as u32) < sizes[0];
            step.peer as usize + if first == step.across { sizes[0] as usize } else { 0 }
        };
        run(&plans, process).unwrap_or_else(|what| panic!("{op:?} {algorithm:?} on groups of {sizes:?} {what}"))
    }

    #[test]
    fn every_algorithm_between_two_groups_ends_and_carries_what_its_collective_promises() {
        for &(op, _, algorithms) in COLLECTIVE_ALGORITHMS {
            if matches!(op, CollectiveOp::Scan | CollectiveOp::Exscan) {
                continue;
            }
            for (&algorithm, one, two) in algorithms
                .iter()
                .flat_map(|algorithm| (1..8).flat_map(move |one| (1..8).map(move |two| (algorithm, one, two))))
            {
                for root in [0, two - 1] {
                    let (knows, _) = run_groups(op, algorithm, [one, two], root);
                    let (first, all) = ((1_u128 << one) - 1, (1_u128 << (one + two)) - 1);
                    for (rank, got) in (0..).zip(knows) {
                        let is_first = rank < one;
                        let wanted = match op {
                            CollectiveOp::Bcast | CollectiveOp::Scatter => {
                                if is_first {
                                    1 << (one + root)
                                } else {
                                    0
                                }
                            }
                            CollectiveOp::Reduce | CollectiveOp::Gather => {
                                if rank == one + root {
                                    first
                                } else {
                                    0
                                }
                            }
                            _ if is_first => all - first,
                            _ => first,
                        };
                        assert_eq!(
                            got & wanted,
                            wanted,
                            "{op:?} {algorithm:?} groups {one} and {two} root {root} rank {rank}"
                        );
                    }
                }
            }
        }
    }

    /// By hand: 3 processes, and 2 of which rank 1 is the root.
    #[test]
    fn processes_of_two_groups_send_these_bytes() {
        let sent = |op, algorithm| run_groups(op, algorithm, [3, 2], 1).1;
        let (tree, linear) = (Algorithm::Binomial, Algorithm::Linear);
        // The root sends to the leader, and that one to the two others.
        assert_eq!(sent(CollectiveOp::Bcast, tree), [192, 0, 0, 0, 96]);
        assert_eq!(sent(CollectiveOp::Bcast, linear), [0, 0, 0, 0, 288]);
        assert_eq!(sent(CollectiveOp::Scatter, tree), [192, 0, 0, 0, 288]);
        assert_eq!(sent(CollectiveOp::Reduce, tree), [96, 96, 96, 0, 0]);
        assert_eq!(sent(CollectiveOp::Gather, tree), [288, 96, 96, 0, 0]);
        // Up, across and down.
        assert_eq!(sent(CollectiveOp::Allreduce, tree), [96 + 192, 96, 96, 96 + 96, 96]);
        assert_eq!(sent(CollectiveOp::Allgather, Algorithm::Ring), [288 + 2 * 192, 96, 96, 192 + 288, 96]);
        assert_eq!(sent(CollectiveOp::ReduceScatter, Algorithm::Pairwise), [96 + 2 * 32, 96, 96, 96 + 48, 96]);
        assert_eq!(sent(CollectiveOp::Alltoall, Algorithm::Pairwise), [192, 192, 192, 288, 288]);
        assert_eq!(sent(CollectiveOp::Barrier, tree), [0; 5]);
    }
}
