// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Configuration of an out-of-order core.

use mb_core::parameters::{Choice, Embedded, Parameters};
use mb_core::{Cycles, ParameterError};

use crate::predictor::PredictorConfig;
use crate::{FloatLatencies, InstructionClass};

/// Functional units of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, mb_core::Parameters)]
pub struct UnitConfig {
    /// Functional units.
    #[parameter(range = 0..=OutOfOrderConfig::MAX_ENTRIES as u64, key = "units")]
    pub count: u32,
    /// From issue to the issue of a dependent operation.
    #[parameter(range = 1..=1024)]
    pub latency: Cycles,
    /// From issue to the next issue to the same unit.
    #[parameter(range = 1..=1024)]
    pub interval: Cycles,
}

/// Floating-point units.
#[derive(Clone, Copy, PartialEq, Eq, Debug, mb_core::Parameters)]
pub struct FloatUnits {
    /// Functional units, each of which executes every operation.
    #[parameter(range = 1..=OutOfOrderConfig::MAX_ENTRIES as u64, key = "units")]
    pub count: u32,
    /// Latencies. Division and square root occupy their unit until they end; the other operations
    /// are pipelined.
    #[parameter(nested)]
    pub latencies: FloatLatencies,
}

impl FloatUnits {
    /// The units, for a class of operations.
    pub(super) fn unit(&self, class: InstructionClass) -> UnitConfig {
        let latency = Cycles(self.latencies.of(class).unwrap_or(1));
        let occupies = matches!(class, InstructionClass::FloatDivide | InstructionClass::FloatSquareRoot);
        UnitConfig { count: self.count, latency, interval: if occupies { latency } else { Cycles(1) } }
    }
}

/// When a load may pass earlier stores.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum Disambiguation {
    /// When the addresses of all earlier stores are known, as in sim-outorder.
    #[choice("conservative")]
    AllAddresses,
    /// Memory dependences are predicted, and always correctly: a load waits only for stores that it
    /// overlaps.
    Predicted,
}

/// Configuration of an out-of-order core without its caches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, mb_core::Parameters)]
#[parameters(preset)]
pub struct OutOfOrderConfig {
    /// Instructions fetched in a cycle. A taken branch ends the fetch of its cycle.
    #[parameter(range = 1..=64)]
    pub fetch_width: u32,
    /// Entries of the queue between fetch and dispatch.
    #[parameter(range = 1..=OutOfOrderConfig::MAX_ENTRIES as u64)]
    pub fetch_queue: usize,
    /// Aligned bytes that an access of the instruction cache returns, a power of two.
    #[parameter(range = 4..=4096)]
    pub fetch_block: u64,
    /// From fetch to dispatch. Includes the hit time of the instruction cache. It begins again when a missing line
    /// arrives, and so includes the lookup of that miss too.
    #[parameter(range = 1..=64)]
    pub front_end: Cycles,
    /// Instructions dispatched in a cycle.
    #[parameter(range = 1..=64)]
    pub decode_width: u32,
    /// Operations issued in a cycle; a memory instruction has two.
    #[parameter(range = 1..=64)]
    pub issue_width: u32,
    /// Instructions committed in a cycle.
    #[parameter(range = 1..=64)]
    pub commit_width: u32,
    /// Entries of the reorder buffer (ROB), which sim-outorder calls RUU.
    #[parameter(range = 1..=OutOfOrderConfig::MAX_ENTRIES as u64)]
    pub rob: usize,
    /// Entries of the load-store queue (LSQ): loads, stores and atomics.
    #[parameter(range = 1..=OutOfOrderConfig::MAX_ENTRIES as u64)]
    pub lsq: usize,
    /// Integer units, which also resolve branches.
    #[parameter(nested, prefix = "integer_", about = "Integers and branches", embed = AT_LEAST_ONE)]
    pub integer: UnitConfig,
    /// Multipliers.
    #[parameter(nested, prefix = "multiply_", about = "Multiplications", embed = AT_LEAST_ONE)]
    pub multiply: UnitConfig,
    /// Dividers. With a count of 0 the multipliers divide, with this latency and interval.
    #[parameter(nested, prefix = "divide_", about = "Divisions", embed = OR_MULTIPLIERS)]
    pub divide: UnitConfig,
    /// Floating-point units.
    #[parameter(nested, prefix = "float_", about = "Floating point")]
    pub float: FloatUnits,
    /// Address units. With a count of 0 the integer units compute addresses, with this latency and
    /// interval.
    #[parameter(nested, prefix = "address_", about = "Addresses", embed = OR_INTEGER_UNITS)]
    pub address: UnitConfig,
    /// Whether a load waits for the addresses of all earlier stores, or for predicted conflicts only.
    #[parameter]
    pub disambiguation: Disambiguation,
    /// Branch prediction.
    #[parameter(nested)]
    pub predictor: PredictorConfig,
    /// From the resolution of a mispredicted branch to fetch on the right path.
    #[parameter(range = 0..=64, key = "mispredict_penalty")]
    pub mispredicted: Cycles,
    /// From the dispatch of a branch that was not in the BTB to fetch from its target.
    #[parameter(range = 0..=64, key = "misfetch_penalty")]
    pub misfetched: Cycles,
}

const AT_LEAST_ONE: &[(&str, Embedded)] = &[("units", Embedded::Range(1, OutOfOrderConfig::MAX_ENTRIES as u64))];
const OR_MULTIPLIERS: &[(&str, Embedded)] =
    &[("units", Embedded::As("units", "Functional units; with none, multipliers divide."))];
const OR_INTEGER_UNITS: &[(&str, Embedded)] =
    &[("units", Embedded::As("units", "Functional units; with none, integer units compute them."))];

impl OutOfOrderConfig {
    /// Most entries of a ROB or queue, and most units of a kind.
    pub const MAX_ENTRIES: usize = 1024;

    pub(super) fn check(&self) -> Result<(), ParameterError> {
        self.check_domains()?;
        if !self.fetch_block.is_power_of_two() {
            let text = format!("fetch_block is {} bytes; expected a power of two", self.fetch_block);
            return Err(ParameterError::Contradiction(text));
        }
        self.predictor.check()
    }
}
