// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Presets: cores of publications and products, each with its caches.

use mb_core::Cycles;

use super::{Disambiguation, FloatUnits, OutOfOrderConfig, UnitConfig};
use crate::FloatLatencies;
use crate::hierarchy::{CacheConfig, Coherence, HierarchyConfig, MemoryConfig, WritePolicy};
use crate::predictor::{Direction, PredictorConfig};

/// The embedded processor of Hemmert et al. (`hemmert2007`), Table 2, after the PowerPC 440.
///
/// - From the table: fetch, issue and commit widths 2, 2 and 3; RUU 16, LSQ 4; L1 caches of 32 KB
///   with 64 ways, no L2; latencies of 1 and 10 cycles; 2 integer units, 1 multiplier; 128 bits per
///   cycle; 1 memory port.
/// - Defaults of sim-outorder, which Hemmert et al. used: fetch queue 4, 3 cycles after a
///   misprediction, 2048 counters, a BTB of 512 sets of 4 ways, a return stack of 8; multiplication
///   in 3 cycles (interval 1) and division in 20 (interval 19) on the same unit; floating
///   point with its latencies, on one unit; loads wait for the
///   addresses of all earlier stores; unlimited accesses to the instruction cache.
/// - Not given: the line length, which is the argument `line`; the PowerPC 440 has 32 bytes.
#[must_use]
pub fn ppc440(line: u64) -> (OutOfOrderConfig, HierarchyConfig) {
    let core = OutOfOrderConfig {
        fetch_width: 2,
        fetch_queue: 4,
        fetch_block: line,
        front_end: Cycles(1),
        decode_width: 2,
        issue_width: 2,
        commit_width: 3,
        rob: 16,
        lsq: 4,
        integer: UnitConfig { count: 2, latency: Cycles(1), interval: Cycles(1) },
        multiply: UnitConfig { count: 1, latency: Cycles(3), interval: Cycles(1) },
        divide: UnitConfig { count: 0, latency: Cycles(20), interval: Cycles(19) },
        float: FloatUnits { count: 1, latencies: FloatLatencies::SIM_OUTORDER },
        address: UnitConfig { count: 0, latency: Cycles(1), interval: Cycles(1) },
        disambiguation: Disambiguation::AllAddresses,
        predictor: PredictorConfig {
            direction: Direction::Bimodal { entries: 2048 },
            target_sets: 512,
            target_ways: 4,
            return_stack: 8,
            address_shift: 2,
        },
        mispredicted: Cycles(3),
        misfetched: Cycles(3),
    };
    let cache = CacheConfig {
        bytes: 32 << 10,
        ways: 64,
        line,
        write: WritePolicy::Back,
        allocate: true,
        hit: Cycles(1),
        lookup: Cycles::ZERO,
        ports: 1,
        mshrs: 64,
    };
    let hierarchy = HierarchyConfig {
        cores: 1,
        instruction: CacheConfig { ports: 8, ..cache },
        data: cache,
        memory: MemoryConfig { latency: Cycles(10), bits_per_cycle: 128 },
        coherence: Coherence::Ideal,
    };
    (core, hierarchy)
}

/// A 64-bit core of a current network adapter: the Arm Cortex-A72, of which a `BlueField-2` has
/// eight (NVIDIA, *`BlueField-2` DPU User Guide*, introduction).
///
/// Values by source:
///
/// - Arm UAN 0016A, *Cortex-A72 Software Optimization Guide* (2015): 3 instructions decoded in a
///   cycle; eight pipes, among them two integer, one multi-cycle, one load and one store pipe; load
///   to use 4 cycles.
/// - Arm 100095, *Cortex-A72 Technical Reference Manual*: caches of 48 KB with 3 ways and 32 KB
///   with 2 ways, lines of 64 bytes; a global history, a BTB, a return stack.
/// - LLVM's `AArch64SchedA57.td`, which also serves the A72: 128 operations in the ROB; 14 cycles
///   lost by a misprediction; a 64-bit multiplication in 5 cycles (interval 1), a division in 35 on
///   the same pipe.
/// - tomshardware.com, *ARM Cortex-A72 Architecture* (2015): a BTB of 2000 entries or more, here
///   512 sets of 4 ways.
///
/// Assumed: the 14 lost cycles are 8 from fetch to dispatch, 5 after the branch resolves, and 1 of
/// waiting for issue; a fetch queue of 32 and fetch blocks of 16 bytes; one load or store address
/// in a cycle, and a port for each; an LSQ of 32 and 6 MSHRs; 4096 counters, 12 branches of
/// history, 8 return addresses; 1 cycle for a misfetch; predicted memory dependences; 3 commits in
/// a cycle; in place of memory an L2 that always hits, with 20 cycles and 128 bits per cycle.
///
/// Not modelled: the eight-entry issue queue of each pipe, and the branch pipe (branches use the
/// integer units).
#[must_use]
pub fn cortex_a72() -> (OutOfOrderConfig, HierarchyConfig) {
    let core = OutOfOrderConfig {
        fetch_width: 4,
        fetch_queue: 32,
        fetch_block: 16,
        front_end: Cycles(8),
        decode_width: 3,
        issue_width: 8,
        commit_width: 3,
        rob: 128,
        lsq: 32,
        integer: UnitConfig { count: 2, latency: Cycles(1), interval: Cycles(1) },
        multiply: UnitConfig { count: 1, latency: Cycles(5), interval: Cycles(1) },
        divide: UnitConfig { count: 0, latency: Cycles(35), interval: Cycles(35) },
        float: FloatUnits { count: 2, latencies: FloatLatencies::CORTEX_A57 },
        address: UnitConfig { count: 1, latency: Cycles(1), interval: Cycles(1) },
        disambiguation: Disambiguation::Predicted,
        predictor: PredictorConfig {
            direction: Direction::Gshare { entries: 4096, history: 12 },
            target_sets: 512,
            target_ways: 4,
            return_stack: 8,
            address_shift: 1,
        },
        mispredicted: Cycles(5),
        misfetched: Cycles(1),
    };
    let data = CacheConfig {
        bytes: 32 << 10,
        ways: 2,
        line: 64,
        write: WritePolicy::Back,
        allocate: true,
        hit: Cycles(3),
        lookup: Cycles(3),
        ports: 2,
        mshrs: 6,
    };
    let hierarchy = HierarchyConfig {
        cores: 1,
        // `front_end` begins again when a missing line arrives, and so includes the lookup.
        instruction: CacheConfig { bytes: 48 << 10, ways: 3, ports: 1, lookup: Cycles::ZERO, ..data },
        data,
        memory: MemoryConfig { latency: Cycles(20), bits_per_cycle: 128 },
        coherence: Coherence::Ideal,
    };
    (core, hierarchy)
}
