// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Configuration of an out-of-order core.

use mb_core::Cycles;
use mb_core::ParameterError;

use crate::predictor::PredictorConfig;
use crate::{FloatLatencies, InstructionClass};

/// Functional units of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnitConfig {
    /// Number of units, at most 1024.
    pub count: u32,
    /// From issue to the issue of a dependent operation.
    pub latency: Cycles,
    /// From issue to the next issue to the same unit.
    pub interval: Cycles,
}

/// Floating-point units.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FloatUnits {
    /// Number of units, 1 to 1024.
    pub count: u32,
    /// Latencies. Division and square root occupy their unit until they end; the other operations
    /// are pipelined.
    pub latencies: FloatLatencies,
}

impl FloatUnits {
    /// Longest latency.
    pub const MAX_LATENCY: u64 = 1024;

    /// The units, for a class of operations.
    pub(super) fn unit(&self, class: InstructionClass) -> UnitConfig {
        let latency = Cycles(self.latencies.of(class).unwrap_or(1));
        let occupies = matches!(class, InstructionClass::FloatDivide | InstructionClass::FloatSquareRoot);
        UnitConfig { count: self.count, latency, interval: if occupies { latency } else { Cycles(1) } }
    }
}

/// When a load may pass earlier stores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Disambiguation {
    /// When the addresses of all earlier stores are known, as in sim-outorder.
    AllAddresses,
    /// Memory dependences are predicted, and always correctly: a load waits only for stores that it
    /// overlaps.
    Predicted,
}

/// Configuration of an out-of-order core without its caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutOfOrderConfig {
    /// Instructions fetched in a cycle. A taken branch ends the fetch of its cycle.
    pub fetch_width: u32,
    /// Instructions in the fetch queue (IFQ), at most 1024.
    pub fetch_queue: usize,
    /// Aligned bytes that one access of the instruction cache delivers, a power of two.
    pub fetch_block: u64,
    /// From fetch to dispatch. Includes the hit time of the instruction cache. It begins again when
    /// a missing line arrives, and so includes the lookup of that miss too.
    pub front_end: Cycles,
    /// Instructions dispatched in a cycle.
    pub decode_width: u32,
    /// Operations issued in a cycle; a memory instruction has two.
    pub issue_width: u32,
    /// Instructions committed in a cycle.
    pub commit_width: u32,
    /// Instructions in the reorder buffer (ROB; register update unit, RUU, in `SimpleScalar`), at
    /// most 1024.
    pub rob: usize,
    /// Loads, stores and atomics in the load/store queue (LSQ), at most 1024.
    pub lsq: usize,
    /// Integer units, which also resolve branches.
    pub integer: UnitConfig,
    /// Multipliers.
    pub multiply: UnitConfig,
    /// Dividers. With a count of 0 the multipliers divide, with this latency and interval.
    pub divide: UnitConfig,
    /// Floating-point units: each executes every floating-point operation.
    pub float: FloatUnits,
    /// Address units. With a count of 0 the integer units compute addresses, with this latency and
    /// interval.
    pub address: UnitConfig,
    /// When a load may pass earlier stores.
    pub disambiguation: Disambiguation,
    /// Branch prediction.
    pub predictor: PredictorConfig,
    /// From the resolution of a mispredicted branch to fetch on the correct path.
    pub mispredicted: Cycles,
    /// From the dispatch of a misfetched branch, whose target is known only there, to fetch from
    /// its target.
    pub misfetched: Cycles,
}

impl OutOfOrderConfig {
    /// Most entries of a ROB or queue, and most units of a kind.
    pub const MAX_ENTRIES: usize = 1024;

    pub(super) fn check(&self) -> Result<(), ParameterError> {
        let refuse = |text: String| Err(ParameterError::Contradiction(text));
        for (name, width) in [
            ("fetch", self.fetch_width),
            ("decode", self.decode_width),
            ("issue", self.issue_width),
            ("commit", self.commit_width),
        ] {
            if width == 0 {
                return refuse(format!("{name}_width is 0; expected at least 1"));
            }
        }
        for (name, entries) in [("fetch_queue", self.fetch_queue), ("rob", self.rob), ("lsq", self.lsq)] {
            if entries == 0 || entries > Self::MAX_ENTRIES {
                return refuse(format!("{name} is {entries}; expected 1 to {}", Self::MAX_ENTRIES));
            }
        }
        if !self.fetch_block.is_power_of_two() {
            return refuse(format!("fetch_block is {} bytes; expected a power of two", self.fetch_block));
        }
        if self.front_end == Cycles::ZERO {
            return refuse("front_end is 0 cycles; expected at least 1".to_owned());
        }
        if self.integer.count == 0 || self.multiply.count == 0 {
            return refuse(format!(
                "{} integer units and {} multipliers; expected at least 1 of each",
                self.integer.count, self.multiply.count
            ));
        }
        for (name, unit) in [
            ("integer", &self.integer),
            ("multiply", &self.multiply),
            ("divide", &self.divide),
            ("address", &self.address),
        ] {
            if unit.latency == Cycles::ZERO || unit.interval == Cycles::ZERO {
                return refuse(format!(
                    "{name} units: latency is {}, interval is {}; expected at least 1 cycle",
                    unit.latency.0, unit.interval.0
                ));
            }
            if unit.count as usize > Self::MAX_ENTRIES {
                return refuse(format!(
                    "{name} units: count is {}; expected at most {}",
                    unit.count,
                    Self::MAX_ENTRIES
                ));
            }
        }
        if self.float.count == 0 || self.float.count as usize > Self::MAX_ENTRIES {
            return refuse(format!("float units: count is {}; expected 1 to {}", self.float.count, Self::MAX_ENTRIES));
        }
        for (name, cycles) in self.float.latencies.named() {
            if cycles == 0 || cycles > FloatUnits::MAX_LATENCY {
                return refuse(format!("{name} is {cycles} cycles; expected 1 to {}", FloatUnits::MAX_LATENCY));
            }
        }
        self.predictor.check()
    }
}
