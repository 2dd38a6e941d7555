// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Presets: cores of publications and products, each with its caches.

use mb_core::Cycles;
use mb_core::parameters::{Source, ValueSources};

use super::config::{Disambiguation, FloatUnits, OutOfOrderConfig, UnitConfig};
use crate::FloatLatencies;
use crate::hierarchy::{CacheConfig, Coherence, HierarchyConfig, MemoryConfig, WritePolicy};
use crate::predictor::{Direction, PredictorConfig};

/// The embedded processor of Hemmert et al. (`hemmert2007`), Table 2, after the PowerPC 440, with lines of `line`
/// bytes. [`PPC440`] has the sources.
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
/// eight (NVIDIA, *`BlueField-2` DPU User Guide*, introduction). [`CORTEX_A72`] has the sources.
///
/// The 14 cycles that a misprediction loses are 8 from fetch to dispatch, 5 after the branch resolves, and 1 of waiting
/// for issue. In place of memory there is an L2 that always hits.
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

/// The sources of a core and of its caches.
pub type CoreSources = (ValueSources, ValueSources);

const SIM_OUTORDER: &str = "a default of sim-outorder, which Hemmert et al. used";

/// The sources of [`ppc440`].
pub const PPC440: CoreSources = {
    const fn paper(place: &'static str) -> Source {
        Source::paper("hemmert2007", place)
    }
    (
        &[
            (
                paper("table 2"),
                "fetch_width decode_width issue_width commit_width rob lsq integer_units multiply_units",
            ),
            (Source::assumed("one line"), "fetch_block"),
            (Source::assumed(SIM_OUTORDER), "fetch_queue front_end integer_latency integer_interval"),
            (Source::assumed(SIM_OUTORDER), "multiply_latency multiply_interval divide_units divide_latency"),
            (Source::assumed(SIM_OUTORDER), "divide_interval float_units float_simple float_convert float_add"),
            (Source::assumed(SIM_OUTORDER), "float_multiply float_divide float_square_root"),
            (Source::assumed("a multiplication and an addition of sim-outorder"), "float_fused"),
            (Source::assumed(SIM_OUTORDER), "address_units address_latency address_interval disambiguation predictor"),
            (Source::assumed(SIM_OUTORDER), "predictor_counters btb_sets btb_ways return_stack"),
            (Source::assumed("the predictor `bimodal` has none"), "predictor_history"),
            (Source::assumed("instructions of the PowerPC have 4 bytes"), "address_shift"),
            (Source::assumed(SIM_OUTORDER), "mispredict_penalty misfetch_penalty"),
        ],
        &[
            (
                paper("table 2"),
                "cores instruction_bytes instruction_ways instruction_hit data_bytes data_ways data_hit",
            ),
            (paper("table 2"), "data_ports memory_latency memory_bits"),
            (Source::assumed("not given; the PowerPC 440 has 32 bytes"), "instruction_line data_line"),
            (
                Source::assumed(SIM_OUTORDER),
                "instruction_write instruction_allocate instruction_lookup data_write data_allocate data_lookup",
            ),
            (Source::assumed("sim-outorder does not limit them"), "instruction_ports instruction_mshrs data_mshrs"),
            (Source::assumed("there is one core"), "coherence line_upgrade line_transfer"),
        ],
    )
};

/// The sources of [`cortex_a72`].
pub const CORTEX_A72: CoreSources = {
    const GUIDE: Source = Source::paper("Arm UAN 0016A, Cortex-A72 Software Optimization Guide (2015)", "section 2");
    const MANUAL: Source = Source::paper("Arm 100095, Cortex-A72 Technical Reference Manual", "sections 5 to 7");
    const LLVM: Source = Source::paper("LLVM, AArch64SchedA57.td", "which also serves the A72");
    (
        &[
            (
                GUIDE,
                "decode_width issue_width integer_units integer_latency integer_interval multiply_units float_units",
            ),
            (LLVM, "rob multiply_latency multiply_interval divide_units divide_latency divide_interval"),
            (LLVM, "float_simple float_convert float_add float_multiply float_fused float_divide float_square_root"),
            (
                Source::assumed("parts of the 14 cycles of a misprediction in LLVM's AArch64SchedA57.td"),
                "front_end mispredict_penalty",
            ),
            (MANUAL, "predictor"),
            (
                Source::paper("tomshardware.com, ARM Cortex-A72 Architecture (2015)", "a BTB of 2000 entries or more"),
                "btb_sets btb_ways",
            ),
            (Source::assumed("not given"), "fetch_width fetch_queue fetch_block commit_width lsq"),
            (Source::assumed("one load or store address in a cycle"), "address_units address_latency address_interval"),
            (Source::assumed("memory dependences are predicted"), "disambiguation"),
            (Source::assumed("not given"), "predictor_counters predictor_history return_stack misfetch_penalty"),
            (Source::assumed("some instructions have 2 bytes"), "address_shift"),
        ],
        &[
            (MANUAL, "instruction_bytes instruction_ways instruction_line data_bytes data_ways data_line"),
            (
                Source::assumed("load to use takes 4 cycles (Arm UAN 0016A), one of which computes the address"),
                "data_hit",
            ),
            (Source::assumed("as the data cache"), "instruction_hit instruction_mshrs"),
            (Source::assumed("`front_end` includes the lookup"), "instruction_lookup"),
            (Source::assumed("a lookup takes as long as a hit"), "data_lookup"),
            (Source::assumed("one block of instructions in a cycle"), "instruction_ports"),
            (Source::assumed("a port for loads and one for stores"), "data_ports"),
            (
                Source::assumed("not given"),
                "data_mshrs instruction_write instruction_allocate data_write data_allocate",
            ),
            (Source::assumed("an L2 that always hits"), "memory_latency memory_bits"),
            (Source::assumed("there is one core"), "cores coherence line_upgrade line_transfer"),
        ],
    )
};
