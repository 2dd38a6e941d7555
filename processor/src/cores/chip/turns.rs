// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The steps of the cores in a cycle: which cores are due, and in which order.

use super::config::ChipConfig;
use super::core::Core;
use super::interface::ChipFault;
use super::setting::{Environment, Setting};
use crate::memory::system::CompletedRequest;

/// A cycle in which cores are stepped. Cores are bits.
pub(super) struct Cycle<'a> {
    pub(super) now: u64,
    /// The cores that have something to do.
    pub(super) due: u64,
    /// The cores of which memory has completed requests.
    pub(super) arrived: u64,
    pub(super) completions: &'a [CompletedRequest],
}

/// The result of the steps of a cycle. Cores are bits.
pub(super) struct Stepped {
    /// The cores that are stepped in the next cycle.
    pub(super) soon: u64,
    /// The first cycle in which another one is.
    pub(super) others: u64,
    /// The cores that wait for what the memory or another core changes.
    pub(super) waiting: u64,
}

impl Cycle<'_> {
    /// Steps the cores that have something to do, and those of `waiting` that may continue.
    // Not inlined: the compiler then keeps more values of a step in registers of the host.
    #[inline(never)]
    pub(super) fn step<S: Setting>(
        &self,
        cores: &mut [Core],
        next: &mut [u64; ChipConfig::MAX_CORES],
        mut waiting: u64,
        environment: &mut Environment<'_, S>,
    ) -> Result<Stepped, ChipFault> {
        let Self { now, due, arrived, completions } = *self;
        // Cores take turns: the first one advances by 1 in each cycle.
        let from_first = u64::MAX << (now % cores.len() as u64);
        let (mut left, mut soon, mut others) = (due | waiting, 0, u64::MAX);
        while left != 0 {
            // Branch-free at the wrap-around.
            let ahead = left & from_first;
            let index = if ahead == 0 { left } else { ahead }.trailing_zeros() as usize;
            let own = 1_u64 << index;
            left ^= own;
            let core = &mut cores[index];
            if due & own == 0 && !core.shared.may_continue::<S>(environment.memory) {
                continue;
            }
            if arrived & own != 0 {
                core.take(now, completions, environment);
            }
            let following = if S::NARROW { core.step_inlined(now, environment) } else { core.step(now, environment) };
            next[index % ChipConfig::MAX_CORES] = following;
            if following == now + 1 {
                soon |= own;
            } else {
                others = others.min(following);
            }
            if core.shared.waits() {
                waiting |= own;
            } else {
                waiting &= !own;
            }
            if environment.ended
                && let Some(fault) = core.shared.fault
            {
                return Err(fault);
            }
        }
        Ok(Stepped { soon, others, waiting })
    }
}

/// The next cycles of `cores` cores, which all begin in cycle 0; places without a core have none.
pub(super) fn next_of(cores: usize) -> Box<[u64; ChipConfig::MAX_CORES]> {
    let mut next = Box::new([u64::MAX; ChipConfig::MAX_CORES]);
    next[..cores].fill(0);
    next
}

/// The cores, as bits, that are stepped in cycle `now`, by the next cycles of all, and the first cycle in which
/// another one may be.
pub(super) fn due_cores(next: &[u64], now: u64, every_cycle: bool) -> (u64, u64) {
    let (mut due, mut others) = (0, u64::MAX);
    for (index, &next) in next.iter().enumerate() {
        if next <= now || every_cycle {
            due |= 1_u64 << index;
        } else {
            others = others.min(next);
        }
    }
    (due, others)
}
