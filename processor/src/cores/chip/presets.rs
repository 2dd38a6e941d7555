// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Presets: the processors of Crowley et al. (`crowley2000`), Tables 3 and 4.
//!
//! Units are pipelined, and the registers of Table 4 are rename registers: 100 of the SMT core, and the same number
//! divided among the cores of a chip multiprocessor.

use mb_core::parameters::{PresetValues, Source, ValueSources};

use super::config::{ChipConfig, FetchPolicy, IssueOrder, Latencies};
use crate::FloatLatencies;
use crate::predictor::{Direction, PredictorConfig};

const fn paper(place: &'static str) -> Source {
    Source::paper("crowley2000", place)
}

/// The sources of all presets.
const SOURCES: ValueSources = &[
    (paper("table 4; figures 3 and 4 have 1 to 8 units"), "cores contexts issue_width"),
    (paper("table 4"), "fetch_width instruction_queue return_stack"),
    (paper("section 3.3: fetch from at most two threads"), "fetch_threads"),
    (
        Source::assumed("section 3.3 does not say; the best of the policies in the SMT papers it builds on"),
        "fetch_policy",
    ),
    (Source::assumed("8 instructions of 4 bytes"), "fetch_block"),
    (Source::assumed("not given; the fetches of the three cycles before rename, and one more"), "fetch_queue"),
    (Source::assumed("no pipeline is given"), "front_end misfetch redirect"),
    (Source::assumed("as wide as fetch"), "rename_width commit_width"),
    (
        Source::assumed(
            "table 4 has 100 for the SMT beyond the architectural ones, and as many for all cores of a CMP together",
        ),
        "rename_registers",
    ),
    (Source::assumed("not given; rename registers and instruction queue fill first"), "reorder_buffer"),
    (Source::assumed("not given; half of the reorder buffer"), "load_store_queue"),
    (Source::assumed("table 4 gives instruction queues and registers beyond the architectural ones"), "order"),
    (Source::assumed("without effect: several instructions are under way"), "slack"),
    (
        paper("table 3"),
        "latency_integer latency_divide latency_branch latency_load latency_store latency_synchronisation",
    ),
    (paper("table 3, read as 8 cycles for 32 bits and 16 for 64"), "latency_multiply_word latency_multiply"),
    (
        Source::paper("Tullsen et al., Exploiting Choice (ISCA 1996)", "table 1"),
        "float_simple float_convert float_add float_multiply float_fused float_divide",
    ),
    (Source::assumed("as long as a division"), "float_square_root"),
    (Source::assumed("the paper gives the BTB only"), "predictor predictor_counters"),
    (Source::assumed("as many bits as select a counter"), "predictor_history"),
    (paper("table 4: 256 entries; four ways are assumed"), "btb_sets"),
    (Source::assumed("table 4 gives 256 entries and no ways"), "btb_ways"),
];

/// A chip of these presets with the sources of its values.
#[must_use]
pub const fn crowley2000(values: ChipConfig) -> PresetValues<ChipConfig> {
    PresetValues { values, sources: SOURCES }
}

/// Table 3.
const LATENCIES: Latencies = Latencies {
    integer: 1,
    multiply_word: 8,
    multiply: 16,
    divide: 16,
    branch: 2,
    load: 1,
    store: 1,
    synchronisation: 4,
};

/// Cores with one context, `width` instructions wide.
const fn multiprocessor(cores: usize, width: u32, rename_registers: usize) -> ChipConfig {
    ChipConfig {
        cores,
        contexts: 1,
        fetch_width: width,
        fetch_threads: 1,
        fetch_policy: FetchPolicy::Icount,
        priorities: [0; ChipConfig::MAX_CONTEXTS],
        fetch_block: 32,
        fetch_queue: 16,
        front_end: 3,
        misfetch: 2,
        redirect: 1,
        rename_width: width,
        instruction_queue: 8,
        rename_registers,
        reorder_buffer: 64,
        load_store_queue: 32,
        issue_width: width,
        order: IssueOrder::OutOfOrder,
        latencies: LATENCIES,
        float: FloatLatencies::TULLSEN1996,
        commit_width: width,
        predictor: PredictorConfig {
            direction: Direction::Gshare { entries: 2048, history: 11 },
            target_sets: 64,
            target_ways: 4,
            return_stack: 12,
            address_shift: 1,
        },
    }
}

/// SMT: one core with `contexts` contexts (1 to 8) and as many units. Fetch, rename and commit stay
/// 8 wide, as section 3.3 varies the number of units only.
#[must_use]
pub const fn smt(contexts: usize) -> ChipConfig {
    ChipConfig {
        contexts,
        fetch_threads: 2,
        fetch_queue: 32,
        instruction_queue: 32,
        issue_width: contexts as u32,
        ..multiprocessor(1, 8, 100)
    }
}

/// CMP: `cores` cores (1 to 8) with one unit each.
#[must_use]
pub const fn cmp(cores: usize) -> ChipConfig {
    multiprocessor(cores, 1, 12)
}

/// CMP2: `cores` cores (1 to 4) with two units each. CMP2-8 of section 5.3 is `cmp2(8)`.
#[must_use]
pub const fn cmp2(cores: usize) -> ChipConfig {
    multiprocessor(cores, 2, 25)
}

/// The same chip with in-order issue.
#[must_use]
pub const fn in_order(config: ChipConfig) -> ChipConfig {
    ChipConfig { order: IssueOrder::InOrder, ..config }
}

/// The same chip with blocking cores, which may be `slack` cycles ahead. It has one context per core.
#[must_use]
pub const fn blocking(config: ChipConfig, slack: u64) -> ChipConfig {
    ChipConfig {
        fetch_width: 1,
        rename_width: 1,
        issue_width: 1,
        commit_width: 1,
        order: IssueOrder::Blocking { slack },
        ..config
    }
}
