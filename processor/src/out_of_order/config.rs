// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What an out-of-order core is built from.

use mb_core::Cycles;
use mb_core::ParameterError;

use crate::predictor::PredictorConfig;

/// Functional units of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnitConfig {
    /// How many there are, at most 1024.
    pub count: u32,
    /// From issue to the issue of what depends on it.
    pub latency: Cycles,
    /// From issue to the next issue to the same unit.
    pub interval: Cycles,
}

/// What a load must know of the stores before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Disambiguation {
    /// All their addresses, as in sim-outorder.
    AllAddresses,
    /// Nothing of those that write elsewhere: a prediction that is always right.
    Foreseen,
}

/// An out-of-order core, its caches apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutOfOrderConfig {
    /// Instructions fetched in a cycle; a taken change of the flow ends the cycle's fetch.
    pub fetch_width: u32,
    /// Instructions between fetch and dispatch (IFQ), at most 1024.
    pub fetch_queue: usize,
    /// Aligned bytes that one access of the instruction cache brings, a power of two.
    pub fetch_block: u64,
    /// From fetch to dispatch, and what an instruction cache that hits takes at most. They begin anew when a line that was
    /// missing is there, so that its lookup is among them.
    pub front_end: Cycles,
    /// Instructions dispatched in a cycle.
    pub decode_width: u32,
    /// Operations issued in a cycle: the two halves of a memory access are two.
    pub issue_width: u32,
    /// Instructions committed in a cycle.
    pub commit_width: u32,
    /// Instructions between dispatch and commit (register update unit, RUU), at most 1024.
    pub window: usize,
    /// Loads, stores and atomics among them (load/store queue, LSQ), at most 1024.
    pub memory_queue: usize,
    /// Integer units; they resolve branches too.
    pub integer: UnitConfig,
    /// Multipliers.
    pub multiply: UnitConfig,
    /// Dividers. With a count of 0 the multipliers divide, in this time.
    pub divide: UnitConfig,
    /// Address units. With a count of 0 the integer units compute addresses, in this time.
    pub address: UnitConfig,
    /// Loads and earlier stores.
    pub disambiguation: Disambiguation,
    /// Branch prediction.
    pub predictor: PredictorConfig,
    /// From the cycle in which a wrong prediction is found out to fetch on the right path.
    pub mispredicted: Cycles,
    /// From the dispatch of a change of the flow whose target was first known there to fetch from it.
    pub misfetched: Cycles,
}

impl OutOfOrderConfig {
    /// Most instructions in a window or queue, and most units of a kind.
    pub const MAX_WINDOW: usize = 1024;

    pub(super) fn check(&self) -> Result<(), ParameterError> {
        let refuse = |text: String| Err(ParameterError::Contradiction(text));
        for (name, width) in [
            ("fetch", self.fetch_width),
            ("decode", self.decode_width),
            ("issue", self.issue_width),
            ("commit", self.commit_width),
        ] {
            if width == 0 {
                return refuse(format!("{name} width: 0"));
            }
        }
        for queue in [self.fetch_queue, self.memory_queue] {
            if queue == 0 || queue > Self::MAX_WINDOW {
                return refuse(format!("a queue of {queue} instructions: 1 to {} can be built", Self::MAX_WINDOW));
            }
        }
        if self.window == 0 || self.window > Self::MAX_WINDOW {
            return refuse(format!("a window of {} instructions: 1 to {} can be built", self.window, Self::MAX_WINDOW));
        }
        if !self.fetch_block.is_power_of_two() {
            return refuse(format!("a fetch block of {} bytes is no power of two", self.fetch_block));
        }
        if self.front_end == Cycles::ZERO {
            return refuse("from fetch to dispatch: 0 cycles".to_owned());
        }
        if self.integer.count == 0 || self.multiply.count == 0 {
            return refuse("there is no integer unit or no multiplier".to_owned());
        }
        for (name, unit) in [
            ("integer", &self.integer),
            ("multiply", &self.multiply),
            ("divide", &self.divide),
            ("address", &self.address),
        ] {
            if unit.latency == Cycles::ZERO || unit.interval == Cycles::ZERO {
                return refuse(format!("{name} units: a latency or interval of 0 cycles"));
            }
            if unit.count as usize > Self::MAX_WINDOW {
                return refuse(format!("{} {name} units: at most {} can be built", unit.count, Self::MAX_WINDOW));
            }
        }
        self.predictor.check()
    }
}
