// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Styles: what the steps of one random test program have in common.

use mb_core::random::Random;

use crate::feature::Feature;
use crate::program::{Action, Comm};

/// Probabilities shared by the steps of one program.
pub(crate) struct Style {
    pub(crate) comms: Vec<Comm>,
    pub(crate) tags: u64,
    /// The rank to which most messages go, in a program for order alone.
    pub(crate) receiver: Option<u8>,
    /// Threads of a rank.
    pub(crate) threads: u64,
    /// Whether every thread uses every communicator.
    pub(crate) is_shared: bool,
    /// Percentages.
    pub(crate) any_source: u64,
    pub(crate) any_tag: u64,
    pub(crate) waiting: u64,
    pub(crate) synchronous: u64,
    pub(crate) ready: u64,
    pub(crate) buffered: u64,
    pub(crate) together: u64,
    pub(crate) long: u64,
    pub(crate) short: u64,
    pub(crate) derived: u64,
    pub(crate) partitioned: u64,
    pub(crate) isendrecv: u64,
    pub(crate) wide: u64,
    pub(crate) large: u64,
}

impl Style {
    pub(crate) fn draw(ranks: u8, without: &[Feature], random: &mut Random) -> Self {
        let mut comms = Comm::ALL.to_vec();
        comms.retain(|&comm| ranks > 1 || comm != Comm::Across);
        comms.retain(|&comm| Feature::of_comm(comm).is_none_or(|feature| !without.contains(&feature)));
        random.shuffle(&mut comms);
        // A program in six has threads, and in half of these they share communicators.
        let is_shared = random.below(2) == 0 && !without.contains(&Feature::SharedThreads);
        let is_threaded = random.below(6) == 0 && !without.contains(&Feature::Threads);
        let threads = if is_threaded { 2 + random.below(2) } else { 1 };
        // Most programs use a single communicator, which makes most patterns overlap.
        let most = [1, 1, 1, 2, 2, 6][random.below(6) as usize];
        comms.truncate(if is_threaded && !is_shared { threads as usize } else { most });
        let mut percent = |choices: [u64; 4]| choices[random.below(4) as usize];
        let unless = |feature: Feature, percent: u64| if without.contains(&feature) { 0 } else { percent };
        Self {
            comms,
            receiver: None,
            any_source: percent([0, 20, 40, 70]),
            any_tag: percent([0, 20, 40, 70]),
            waiting: percent([0, 20, 40, 60]),
            synchronous: percent([0, 10, 30, 60]),
            ready: percent([0, 0, 30, 60]),
            buffered: percent([0, 0, 10, 40]),
            together: percent([0, 0, 10, 40]),
            long: percent([0, 0, 15, 50]),
            short: percent([0, 0, 15, 50]),
            derived: unless(Feature::Datatypes, percent([0, 0, 20, 60])),
            partitioned: unless(Feature::Partitioned, percent([0, 0, 0, 25])),
            isendrecv: unless(Feature::Isendrecv, percent([0, 0, 5, 20])),
            wide: unless(Feature::Counts, percent([0, 0, 30, 60])),
            large: unless(Feature::Large, percent([0, 0, 10, 30])),
            tags: percent([1, 2, 2, 3]),
            threads,
            is_shared,
        }
    }

    /// For a program of [`crate::generate::generate_for_order`]: one thread, at most two communicators,
    /// many wildcards.
    pub(crate) fn of_order(ranks: u8, random: &mut Random) -> Self {
        let mut comms = vec![Comm::First, Comm::Second, Comm::Reversed];
        random.shuffle(&mut comms);
        comms.truncate([1, 1, 1, 2][random.below(4) as usize]);
        let receiver = random.below(u64::from(ranks)) as u8;
        let mut percent = |choices: [u64; 4]| choices[random.below(4) as usize];
        Self {
            comms,
            receiver: Some(receiver),
            any_source: percent([0, 30, 60, 80]),
            any_tag: percent([0, 20, 40, 60]),
            waiting: percent([0, 0, 20, 40]),
            synchronous: percent([0, 0, 0, 20]),
            ready: 0,
            buffered: 0,
            together: 0,
            long: percent([0, 0, 0, 20]),
            short: 0,
            derived: 0,
            partitioned: 0,
            isendrecv: 0,
            wide: 0,
            large: 0,
            tags: percent([1, 1, 2, 3]),
            threads: 1,
            is_shared: false,
        }
    }

    /// A thread of `rank` that may perform `action`.
    pub(crate) fn thread_of(&self, rank: u8, action: &Action, random: &mut Random) -> u8 {
        let comm = action.message().map(|message| message.comm).or(action.accepting().map(|spec| spec.comm));
        let all: Vec<u8> = (0..self.threads as u8)
            .filter(|&thread| comm.is_none_or(|comm| self.comms_of(rank, thread).contains(&comm)))
            .collect();
        all.get(random.below(all.len().max(1) as u64) as usize).copied().unwrap_or_default()
    }

    /// The communicators of a thread. Other ranks number their threads differently.
    pub(crate) fn comms_of(&self, rank: u8, thread: u8) -> Vec<Comm> {
        let is_own = |at: usize| self.is_shared || (at as u64 + u64::from(rank)) % self.threads == u64::from(thread);
        self.comms.iter().enumerate().filter(|(at, _)| is_own(*at)).map(|(_, comm)| *comm).collect()
    }
}
