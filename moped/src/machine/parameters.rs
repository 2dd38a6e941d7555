// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The parameters of the machine, and the errors of its construction.

use crate::kernel::BootError;
use mb_core::ParameterError;

use super::timing::TimingParameters;
use crate::MopedParameters;

/// How the machine executes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ExecutionMode {
    /// Without time, even if the programs request it.
    #[default]
    Functional,
    /// With time from the start on.
    Timing,
    /// As the programs request by `mb_mark`: it becomes more detailed when the first process requests it, and less
    /// detailed when all processes that have requested a mode agree. Warm-up and timing both execute with time and
    /// differ in how their regions are named. At the start of a program it is functional.
    Markers,
}

/// The parameters of the machine. Without time, times are those of [`Functional`]: instructions of one hart; with time
/// they are cycles.
#[derive(Clone, PartialEq, Debug)]
pub struct MachineParameters {
    /// Harts, 1 to 64; process r of a program starts on hart r modulo this.
    pub harts: u32,
    /// Bytes of memory, a multiple of 4096.
    pub memory: u64,
    /// Units of time in a second, as programs see it.
    pub frequency: u64,
    /// Time between timer interrupts while processes share a hart.
    pub slice: u64,
    /// Instructions of a hart's turn, without time.
    pub quantum: u32,
    /// The devices; without them, programs have no ports. Their number of nodes becomes that of harts.
    pub moped: Option<MopedParameters>,
    /// Time without progress that is a deadlock. While processes share a hart it is at least two slices of every
    /// process.
    pub patience: u64,
    /// Time at which a run stops.
    pub limit: u64,
    /// Seed of the random numbers that programs get.
    pub seed: u64,
    /// How it executes.
    pub mode: ExecutionMode,
    /// Cores and caches with time. Their numbers of cores and nodes become that of harts. `None`: table 1, with cores
    /// out of order.
    pub timing: Option<TimingParameters>,
}

impl Default for MachineParameters {
    /// 16 harts of 1 GHz, 1 GiB, no device, no limit, no time; 100 million instructions of a hart without progress are
    /// a deadlock.
    fn default() -> Self {
        Self {
            harts: 16,
            memory: 1 << 30,
            frequency: 1_000_000_000,
            slice: 10_000_000,
            quantum: 64,
            moped: None,
            patience: 100_000_000,
            limit: u64::MAX,
            seed: 1,
            mode: ExecutionMode::Functional,
            timing: None,
        }
    }
}

/// Why a machine cannot be built.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum MachineError {
    /// It cannot start.
    #[error("{0}")]
    Boot(#[from] BootError),
    /// A parameter of cores, caches or switch.
    #[error("{0}")]
    Parameter(#[from] ParameterError),
}
