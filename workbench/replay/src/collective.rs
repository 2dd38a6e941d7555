// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Collectives as point-to-point messages: what one rank sends and receives, round by round.
//!
//! The receives of a round are posted and its sends started together; the next round starts when
//! all of them are complete. Local work on the data (reductions, packing) takes no time.
//! Algorithms: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in
//! MPICH", IJHPCA 2005; Hensgen, Finkel, Manber 1988 (dissemination); Bruck et al. 1997
//! (allgather). Those of intercommunicators are in [`inter`], those of
//! neighbours in [`neighbours`].

mod call;
mod inter;
mod neighbours;

use mb_trace::CollectiveOp;

use self::call::ScheduleBuilder;
pub(crate) use self::call::{CollectiveCall, OtherGroup, RoundMessage};
pub(crate) use self::neighbours::{NeighbourSizes, plan_neighbours};
use crate::config::Algorithm;

impl CollectiveCall<'_> {
    /// Appends the messages of this rank, in order of rounds; receives come before sends in each
    /// round.
    pub(crate) fn plan(&self, steps: &mut Vec<RoundMessage>) {
        let mut plan = ScheduleBuilder { steps, round: 0 };
        let plan = &mut plan;
        if let Some(other) = self.other {
            self.plan_inter(plan, other);
            return;
        }
        if self.ranks <= 1 {
            return;
        }
        match (self.op, self.algorithm) {
            (CollectiveOp::Barrier, Algorithm::Binomial) => {
                self.gather_tree(plan, |_| 0, 0);
                self.scatter_tree(plan, |_| 0, 0);
            }
            (CollectiveOp::Barrier, _) => self.dissemination(plan, |_| 0),
            (CollectiveOp::Bcast, Algorithm::Linear) => self.direct_out(plan, |_| self.sent.max(self.received)),
            (CollectiveOp::Bcast, _) => self.scatter_tree(plan, |_| self.sent.max(self.received), self.root),
            (CollectiveOp::Reduce | CollectiveOp::Gather, Algorithm::Linear) => self.direct_in(plan, self.sent),
            (CollectiveOp::Reduce, _) => self.gather_tree(plan, |_| self.sent, self.root),
            (CollectiveOp::Gather, _) => {
                self.gather_tree(plan, |members| self.block().saturating_mul(members), self.root);
            }
            (CollectiveOp::Scatter, Algorithm::Linear) => self.direct_out(plan, |peer| self.count(peer, self.sent)),
            (CollectiveOp::Scatter, _) => {
                self.scatter_tree(plan, |members| self.block().saturating_mul(members), self.root);
            }
            (CollectiveOp::Allreduce, Algorithm::Ring) => {
                let part = self.sent.div_ceil(u64::from(self.ranks));
                for _ in 0..2 * (self.ranks - 1) {
                    self.shift(plan, 1, part);
                }
            }
            (CollectiveOp::Allreduce, Algorithm::Binomial) => {
                self.gather_tree(plan, |_| self.sent, 0);
                self.scatter_tree(plan, |_| self.sent, 0);
            }
            (CollectiveOp::Allreduce, _) => self.recursive_doubling(plan, self.sent),
            (CollectiveOp::Allgather, Algorithm::Linear) => self.everyone(plan, |_| self.sent),
            (CollectiveOp::Allgather, Algorithm::Dissemination) => {
                self.dissemination(plan, |blocks| self.sent.saturating_mul(blocks));
            }
            (CollectiveOp::Allgather, _) => {
                // In step k each rank passes on the block that came from k ranks below.
                for step in 0..self.ranks - 1 {
                    let origin = (self.rank + self.ranks - step) % self.ranks;
                    self.shift(plan, 1, self.count(origin, self.sent));
                }
            }
            (CollectiveOp::Alltoall, Algorithm::Linear) => self.everyone(plan, |peer| self.count(peer, self.sent)),
            (CollectiveOp::ReduceScatter, Algorithm::Ring) => {
                for step in 1..self.ranks {
                    let block = (self.rank + self.ranks - step) % self.ranks;
                    self.shift(plan, 1, self.count(block, self.received));
                }
            }
            (CollectiveOp::Alltoall, _) => self.pairwise(plan, |peer| self.count(peer, self.sent)),
            (CollectiveOp::ReduceScatter, _) => self.pairwise(plan, |peer| self.count(peer, self.received)),
            (CollectiveOp::Scan | CollectiveOp::Exscan, Algorithm::Linear) => {
                if self.rank > 0 {
                    plan.receive(self.rank - 1);
                    plan.next();
                }
                if self.rank + 1 < self.ranks {
                    plan.send(self.rank + 1, self.sent);
                }
            }
            (CollectiveOp::Scan | CollectiveOp::Exscan, _) => {
                let mut distance = 1;
                while distance < self.ranks {
                    if self.rank >= distance {
                        plan.receive(self.rank - distance);
                    }
                    if self.rank + distance < self.ranks {
                        plan.send(self.rank + distance, self.sent);
                    }
                    plan.next();
                    distance *= 2;
                }
            }
            (CollectiveOp::Neighbor | CollectiveOp::NeighborAllgather | CollectiveOp::NeighborAlltoall, _) => {}
        }
    }

    /// The size for `peer` in a vector form, else `uniform`.
    fn count(&self, peer: u32, uniform: u64) -> u64 {
        self.counts.get(peer as usize).copied().unwrap_or(uniform)
    }

    /// Bytes per rank in a gather or scatter. Trees forward whole subtrees. Vector forms are
    /// assumed to be uniform at the mean size, because the record of a rank holds only its own
    /// size.
    fn block(&self) -> u64 {
        if !self.counts.is_empty() {
            let sum: u128 = self.counts.iter().map(|&count| u128::from(count)).sum();
            return (sum / self.counts.len() as u128) as u64;
        }
        if self.op == CollectiveOp::Scatter { self.received.max(self.sent) } else { self.sent.max(self.received) }
    }

    /// This rank counted from `root`.
    fn relative(&self, root: u32) -> u32 {
        (self.rank + self.ranks - root) % self.ranks
    }

    fn absolute(&self, root: u32, relative: u32) -> u32 {
        (relative + root) % self.ranks
    }

    /// Binomial tree towards `root`. `bytes` maps the number of ranks whose data a message carries
    /// to its size.
    fn gather_tree(&self, plan: &mut ScheduleBuilder, bytes: impl Fn(u64) -> u64, root: u32) {
        let me = self.relative(root);
        let mut mask = 1;
        while mask < self.ranks {
            if me & mask != 0 {
                plan.send(self.absolute(root, me - mask), bytes(u64::from(mask.min(self.ranks - me))));
                plan.next();
                return;
            }
            if me + mask < self.ranks {
                plan.receive(self.absolute(root, me + mask));
                plan.next();
            }
            mask *= 2;
        }
    }

    /// Binomial tree away from `root`.
    fn scatter_tree(&self, plan: &mut ScheduleBuilder, bytes: impl Fn(u64) -> u64, root: u32) {
        let me = self.relative(root);
        let mut mask = 1;
        while mask < self.ranks {
            if me & mask != 0 {
                plan.receive(self.absolute(root, me - mask));
                plan.next();
                break;
            }
            mask *= 2;
        }
        mask /= 2;
        while mask > 0 {
            if me + mask < self.ranks {
                plan.send(self.absolute(root, me + mask), bytes(u64::from(mask.min(self.ranks - me - mask))));
            }
            mask /= 2;
        }
        plan.next();
    }

    fn direct_in(&self, plan: &mut ScheduleBuilder, bytes: u64) {
        if self.rank == self.root {
            for peer in (0..self.ranks).filter(|&peer| peer != self.root) {
                plan.receive(peer);
            }
        } else {
            plan.send(self.root, bytes);
        }
    }

    fn direct_out(&self, plan: &mut ScheduleBuilder, bytes: impl Fn(u32) -> u64) {
        if self.rank == self.root {
            for peer in (0..self.ranks).filter(|&peer| peer != self.root) {
                plan.send(peer, bytes(peer));
            }
        } else {
            plan.receive(self.root);
        }
    }

    /// Round k: to the rank 2^k above, from 2^k below. `bytes` maps the number of blocks that a
    /// message carries to its size.
    fn dissemination(&self, plan: &mut ScheduleBuilder, bytes: impl Fn(u64) -> u64) {
        let mut distance = 1;
        while distance < self.ranks {
            plan.receive((self.rank + self.ranks - distance) % self.ranks);
            plan.send((self.rank + distance) % self.ranks, bytes(u64::from(distance.min(self.ranks - distance))));
            plan.next();
            distance *= 2;
        }
    }

    /// One exchange with the neighbours at `distance`.
    fn shift(&self, plan: &mut ScheduleBuilder, distance: u32, bytes: u64) {
        plan.receive((self.rank + self.ranks - distance) % self.ranks);
        plan.send((self.rank + distance) % self.ranks, bytes);
        plan.next();
    }

    fn pairwise(&self, plan: &mut ScheduleBuilder, bytes: impl Fn(u32) -> u64) {
        for distance in 1..self.ranks {
            let to = (self.rank + distance) % self.ranks;
            self.shift(plan, distance, bytes(to));
        }
    }

    fn everyone(&self, plan: &mut ScheduleBuilder, bytes: impl Fn(u32) -> u64) {
        for distance in 1..self.ranks {
            plan.receive((self.rank + self.ranks - distance) % self.ranks);
        }
        for distance in 1..self.ranks {
            let to = (self.rank + distance) % self.ranks;
            plan.send(to, bytes(to));
        }
    }

    /// Exchanges among the largest power of two of ranks. Each rank beyond it sends its data to a
    /// neighbour first and receives the result last.
    fn recursive_doubling(&self, plan: &mut ScheduleBuilder, bytes: u64) {
        let power = 1 << self.ranks.ilog2();
        let beyond = self.ranks - power;
        let me = if self.rank < 2 * beyond {
            if self.rank.is_multiple_of(2) {
                plan.send(self.rank + 1, bytes);
                plan.next();
                plan.receive(self.rank + 1);
                return;
            }
            plan.receive(self.rank - 1);
            plan.next();
            self.rank / 2
        } else {
            self.rank - beyond
        };
        let mut distance = 1;
        while distance < power {
            let partner = me ^ distance;
            let peer = if partner < beyond { 2 * partner + 1 } else { partner + beyond };
            plan.receive(peer);
            plan.send(peer, bytes);
            plan.next();
            distance *= 2;
        }
        if self.rank < 2 * beyond {
            plan.send(self.rank - 1, bytes);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::{BTreeMap, VecDeque};

    use super::*;
    use crate::config::COLLECTIVE_ALGORITHMS;

    fn plan_of(op: CollectiveOp, algorithm: Algorithm, rank: u32, ranks: u32, root: u32) -> Vec<RoundMessage> {
        let mut steps = Vec::new();
        let counts: &[u64] = &[];
        CollectiveCall { op, algorithm, rank, ranks, root, sent: 96, received: 96, counts, other: None }
            .plan(&mut steps);
        steps
    }

    /// Runs the schedules of all ranks against each other; `Err` if they deadlock. `process` gives
    /// the peer of a message of a rank. Returns for each rank the set of ranks whose data it has, and
    /// the sum of the bytes that it sent.
    pub(super) fn run(
        plans: &[Vec<RoundMessage>],
        process: impl Fn(usize, &RoundMessage) -> usize,
    ) -> Result<(Vec<u128>, Vec<u64>), &'static str> {
        let ranks = plans.len();
        let mut knows: Vec<u128> = (0..ranks).map(|rank| 1 << rank).collect();
        let (mut at, mut started, mut bytes) = (vec![0_usize; ranks], vec![false; ranks], vec![0; ranks]);
        let mut wires: BTreeMap<(usize, usize), VecDeque<u128>> = BTreeMap::new();
        loop {
            let mut moved = false;
            for rank in 0..ranks {
                let plan = &plans[rank];
                let Some(first) = plan.get(at[rank]) else { continue };
                let round = plan[at[rank]..].iter().take_while(|step| step.round == first.round);
                if !started[rank] {
                    for step in round.clone() {
                        if let Some(sent) = step.sends {
                            bytes[rank] += sent;
                            wires.entry((rank, process(rank, step))).or_default().push_back(knows[rank]);
                        }
                    }
                    started[rank] = true;
                    moved = true;
                }
                let receives: Vec<_> = round.clone().filter(|step| step.sends.is_none()).collect();
                let wire = |step: &RoundMessage| (process(rank, step), rank);
                if receives.iter().all(|step| wires.get(&wire(step)).is_some_and(|wire| !wire.is_empty())) {
                    for step in &receives {
                        knows[rank] |= wires.get_mut(&wire(step)).unwrap().pop_front().unwrap();
                    }
                    at[rank] += round.count();
                    started[rank] = false;
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
        if (0..ranks).any(|rank| at[rank] < plans[rank].len()) {
            return Err("deadlocks");
        }
        if wires.values().any(|wire| !wire.is_empty()) {
            return Err("leaves messages");
        }
        Ok((knows, bytes))
    }

    #[test]
    fn every_algorithm_ends_and_carries_what_its_collective_promises() {
        for &(op, _, algorithms) in COLLECTIVE_ALGORITHMS {
            for &algorithm in algorithms {
                for ranks in 1..=33_u32 {
                    for root in [0, ranks / 2, ranks - 1] {
                        let plans: Vec<_> = (0..ranks).map(|rank| plan_of(op, algorithm, rank, ranks, root)).collect();
                        let (knows, _) = run(&plans, |_, step| step.peer as usize).unwrap();
                        let all: u128 = (1 << ranks) - 1;
                        for rank in 0..ranks {
                            let wanted = match op {
                                CollectiveOp::Bcast | CollectiveOp::Scatter => 1 << root,
                                CollectiveOp::Reduce | CollectiveOp::Gather if rank != root => 1 << rank,
                                CollectiveOp::Scan | CollectiveOp::Exscan => (1 << (rank + 1)) - 1,
                                _ => all,
                            };
                            let got = knows[rank as usize];
                            assert_eq!(
                                got & wanted,
                                wanted,
                                "{op:?} {algorithm:?} ranks {ranks} root {root} rank {rank}"
                            );
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn sizes_whose_sum_exceeds_64_bits_have_a_mean() {
        let (op, algorithm) = (CollectiveOp::Gather, Algorithm::Binomial);
        let counts = vec![1 << 48; 70_000];
        let (rank, ranks, root, sent, received, other) = (0, 70_000, 0, 0, 0, None);
        let call = CollectiveCall { op, algorithm, rank, ranks, root, sent, received, counts: &counts, other };
        assert_eq!(call.block(), 1 << 48);
    }

    #[test]
    fn a_gather_tree_sends_every_block_once_to_the_root() {
        for ranks in 2..40_u64 {
            let direct_in: u64 = (1..ranks as u32)
                .flat_map(|rank| plan_of(CollectiveOp::Gather, Algorithm::Binomial, rank, ranks as u32, 0))
                .filter(|step| step.peer == 0)
                .filter_map(|step| step.sends)
                .sum();
            assert_eq!(direct_in, 96 * (ranks - 1));
        }
    }
}
