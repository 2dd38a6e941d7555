// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The parameters of the engine, and the processor that they describe.

use mb_core::Clock;
use mb_core::parameters::Choice;
use mb_netproc::contract::OsThread;
use mb_netproc::parameters::{CORES, caches};
use mb_netproc::receive::Receive;
use mb_processor::chip::ChipConfig;
use mb_processor::shared_l2::SharedL2Config;

/// Parameters of the engine.
#[derive(Clone, PartialEq, Eq, Debug, mb_core::Parameters)]
pub struct NetprocParameters {
    /// Clock of processor, buses and interface.
    #[parameter(range = 1..=100_000)]
    pub clock: Clock,
    /// Match function of the firmware: MPI envelopes, or Hemmert et al.'s whole function.
    #[parameter]
    pub program: MatchFunction,
    /// Outstanding operations; more are refused until one is answered.
    #[parameter(range = 1..=4096)]
    pub operations: usize,
    /// Which harts receive packets: hart 0 alone, or every hart its own.
    #[parameter]
    pub os: OsThread,
    /// Slots of the receive ring, a power of two.
    #[parameter(range = 2..=4096)]
    pub ring_slots: u32,
    /// Packet buffers, more than the slots.
    #[parameter(range = 3..=100_000)]
    pub buffers: u32,

    /// Cores.
    #[parameter(nested, embed = CORES)]
    pub processor: ChipConfig,
    /// Caches, buses and memory.
    #[parameter(nested, embed = &caches(64))]
    pub caches: SharedL2Config,
}

/// The match function of the firmware.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
pub enum MatchFunction {
    /// MPI envelopes.
    Mpi,
    /// The whole match function of Hemmert et al.
    Portals,
}

impl MatchFunction {
    /// The firmware.
    #[must_use]
    pub const fn firmware(self) -> Receive {
        match self {
            Self::Mpi => Receive::Mpi,
            Self::Portals => Receive::Portals,
        }
    }
}

/// The engine's parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NetprocParts {
    /// Outstanding operations.
    pub operations: usize,
    /// Which harts receive packets.
    pub os: OsThread,
    /// Slots of the receive ring.
    pub ring_slots: u32,
    /// Packet buffers.
    pub buffers: u32,
    /// The cores.
    pub chip: ChipConfig,
    /// Caches, buses and memory.
    pub memory: SharedL2Config,
}

impl NetprocParameters {
    /// The parts that these parameters describe.
    #[must_use]
    pub const fn parts(&self) -> NetprocParts {
        NetprocParts {
            operations: self.operations,
            os: self.os,
            ring_slots: self.ring_slots,
            buffers: self.buffers,
            chip: self.processor,
            memory: SharedL2Config { cores: self.processor.cores, contexts: self.processor.contexts, ..self.caches },
        }
    }
}
