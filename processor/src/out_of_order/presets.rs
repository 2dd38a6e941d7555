// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Cores of publications and products.

use mb_core::Cycles;

use super::{Disambiguation, OutOfOrderConfig, UnitConfig};
use crate::hierarchy::{CacheConfig, Coherence, HierarchyConfig, MemoryConfig, WritePolicy};
use crate::predictor::{Direction, PredictorConfig};

/// The embedded processor of Hemmert et al., Table 2, which is after the PowerPC 440.
///
/// From the table: widths of fetch, issue and commit 2, 2 and 3, RUU 16, LSQ 4, both L1 caches of 32 KB and 64 ways, no L2,
/// latencies of 1 and 10 cycles, 2 integer units, 1 multiplier, 128 bits per cycle, 1 memory port. The rest is what
/// sim-outorder, with which Hemmert et al. simulated it, does when it is not told otherwise: a fetch queue of 4, 3 cycles after a
/// misprediction, 2048 counters, a BTB of 512 sets of 4, a return stack of 8, multiplication in 3 cycles (one each cycle) and
/// division in 20 (one in 19) on the same unit, loads behind all earlier store addresses, accesses to the instruction cache
/// without limit. Hemmert et al. do not say how long a line is: `line` is 32 bytes in the PowerPC 440 itself.
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
        window: 16,
        memory_queue: 4,
        integer: UnitConfig { count: 2, latency: Cycles(1), interval: Cycles(1) },
        multiply: UnitConfig { count: 1, latency: Cycles(3), interval: Cycles(1) },
        divide: UnitConfig { count: 0, latency: Cycles(20), interval: Cycles(19) },
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
        misses: 64,
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

/// A core of 64 bits on a network adapter of today: the Arm Cortex-A72, eight of which a `BlueField-2` has (NVIDIA,
/// *`BlueField-2` DPU User Guide*, introduction).
///
/// | from | values |
/// |---|---|
/// | Arm UAN 0016A, *Cortex-A72 Software Optimization Guide* (2015) | 3 instructions decoded in a cycle; eight pipes, among them two for integers, one for what takes several cycles, one each for loads and stores; load to use 4 cycles |
/// | Arm 100095, *Cortex-A72 Technical Reference Manual* | caches of 48 KB in 3 ways and 32 KB in 2, lines of 64 bytes; a global history, a BTB, a return stack |
/// | LLVM's `AArch64SchedA57.td`, which also serves the A72 | 128 operations in the window; a misprediction loses 14 cycles; a multiplication of 64 bits takes 5, one in each cycle, and a division 35 on the same pipe |
/// | tomshardware.com, *ARM Cortex-A72 Architecture* (2015) | a BTB of 2000 entries or more, here 512 sets of 4 |
///
/// Assumed: 14 lost cycles are 8 from fetch to dispatch, 5 after the branch was executed, and 1 in which it waits to be issued;
/// a fetch queue of 32 and blocks of 16 bytes; one address in a cycle, of a load or a store, and a port for each of them;
/// 32 accesses in the queue and 6 misses; 4096 counters, 12 branches of history, 8 return addresses; 1 cycle for a target that
/// decoding finds; loads foresee what they depend on; 3 commits in a cycle; behind the caches an L2 that always hits, with 20
/// cycles and 128 bits per cycle. Left out: the eight entries before each pipe, and the pipe for branches, which share the
/// integer units here.
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
        window: 128,
        memory_queue: 32,
        integer: UnitConfig { count: 2, latency: Cycles(1), interval: Cycles(1) },
        multiply: UnitConfig { count: 1, latency: Cycles(5), interval: Cycles(1) },
        divide: UnitConfig { count: 0, latency: Cycles(35), interval: Cycles(35) },
        address: UnitConfig { count: 1, latency: Cycles(1), interval: Cycles(1) },
        disambiguation: Disambiguation::Foreseen,
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
        misses: 6,
    };
    let hierarchy = HierarchyConfig {
        cores: 1,
        // The lookup is among the cycles from fetch to dispatch, which begin anew when a missing line is there.
        instruction: CacheConfig { bytes: 48 << 10, ways: 3, ports: 1, lookup: Cycles::ZERO, ..data },
        data,
        memory: MemoryConfig { latency: Cycles(20), bits_per_cycle: 128 },
        coherence: Coherence::Ideal,
    };
    (core, hierarchy)
}
