// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Presets: the processors of Crowley et al. (`crowley2000`), Tables 3 and 4.
//!
//! Given in the tables: widths, contexts and cores, units, queues, BTB and return stack, latencies.
//! Given in section 3.3: up to 8 instructions from 2 contexts in a cycle, units that execute every
//! instruction, 1 to 8 of them.
//!
//! Assumed, for all presets:
//!
//! - The registers of Table 4 are rename registers: 100 of the SMT core, and the same number divided
//!   among the cores of a chip multiprocessor.
//! - Latencies of floating point are those of Tullsen et al. (*Exploiting Choice*, ISCA 1996).
//! - Multiplication takes 8 cycles for words and 16 for double words. Units are pipelined.
//! - ICOUNT fetch policy, gshare with 2048 counters and 11 branches of history, a BTB of 64 sets of
//!   4 ways.
//! - 3 cycles from fetch to rename, 2 to redirect fetch when a BTB entry is missing, 1 after a
//!   branch resolves.
//! - Fetch blocks of 32 bytes; 16 instructions of a context between fetch and rename, or 32 in the
//!   SMT core, whose front end holds three fetches of 8; 64 between rename and commit, 32 of them in
//!   the load/store queue. Rename and commit are as wide as issue
//!   of the largest preset: 8, 1 or 2.

use super::{ChipConfig, FetchPolicy, IssueOrder, Latencies};
use crate::FloatLatencies;
use crate::predictor::{Direction, PredictorConfig};

/// Table 3.
const LATENCIES: Latencies = Latencies {
    integer: 1,
    multiply_word: 8,
    multiply: 16,
    divide: 16,
    float: FloatLatencies::TULLSEN1996,
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
