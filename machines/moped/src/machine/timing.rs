// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the chip with time is built from, with a source for every value.

use mb_processor::FloatLatencies;
use mb_processor::chip::{ChipConfig, FetchPolicy, IssueOrder, Latencies, TranslationConfig};
use mb_processor::directory::{DirectoryConfig, protocol};
use mb_processor::predictor::{Direction, PredictorConfig};

use crate::parameters::{Design, MopedParameters};

/// The core of the chip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CoreKind {
    /// Out of order, as wide as a Pentium 4; see [`pentium4`].
    OutOfOrder,
    /// In order, two instructions wide, with a short pipeline; see [`two_wide`].
    InOrder,
}

impl CoreKind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::OutOfOrder, Self::InOrder];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OutOfOrder => "ooo",
            Self::InOrder => "inorder",
        }
    }
}

/// Cores, caches and switch of the chip with time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimingParameters {
    /// The cores, with one context each.
    pub core: ChipConfig,
    /// Their TLBs.
    pub translation: TranslationConfig,
    /// Caches, directory, memory and switch.
    pub memory: DirectoryConfig,
}

impl TimingParameters {
    /// The chip of table 1 with `cores` cores of a kind, for the design of these devices. Without devices the
    /// coherence protocol is that of the base design.
    #[must_use]
    pub fn gu2011(kind: CoreKind, cores: usize, moped: Option<&MopedParameters>) -> Self {
        let core = match kind {
            CoreKind::OutOfOrder => pentium4(cores),
            CoreKind::InOrder => two_wide(cores),
        };
        let design = match moped.map(|moped| moped.design) {
            None | Some(Design::Base) => protocol::Design::Base,
            Some(Design::Optcopy) => protocol::Design::OptCopy,
            Some(Design::Optcache) => protocol::Design::OptCache,
        };
        let memory = DirectoryConfig { design, ..DirectoryConfig::gu2011(cores, 1) };
        Self { core, translation: TranslationConfig::default(), memory }
    }
}

/// Latencies of the Pentium 4: *IA-32 Intel Architecture Optimization Reference Manual* (order number 248966), appendix
/// C, for models `0F_0H` to `0F_2H`. Its fused operation does not exist: a multiplication and an addition. Its simple
/// integer operations take half a cycle, and here one. Units are pipelined here, those of division too.
const LATENCIES: Latencies = Latencies {
    integer: 1,
    multiply_word: 14,
    multiply: 14,
    divide: 56,
    float: FloatLatencies { simple: 2, convert: 5, add: 5, multiply: 7, fused: 12, divide: 38, square_root: 38 },
    branch: 2,
    load: 1,
    store: 1,
    synchronisation: 1,
};

/// Cores as wide as the Pentium 4 (Hinton et al., *The Microarchitecture of the Pentium 4 Processor*, Intel Technology
/// Journal, 2001). Table 1 names it and no more.
///
/// From that article: 3 instructions in a cycle from the trace cache, at rename and at retirement; issue of up to 6;
/// 20 cycles of a mispredicted branch; 128 physical registers, of which the architectural ones hold 63 here; a BTB of
/// 4096 entries.
///
/// Here an instruction of RISC-V stands for a micro-operation. Smaller than there: 64 of 126 instructions in flight,
/// and 64 of 72 loads and stores, which is as much as this core model has.
/// Assumed: 48 entries of the instruction queue; gshare with 4096 counters and 12 branches of history; a return stack
/// of 16; 4 ways of the BTB; from table 1, a load that hits takes 1 cycle. The 20 cycles are divided so that
/// instructions are renamed 16 cycles after their fetch, issued 1 later, a branch ends 2 later, and fetch begins 1
/// later.
#[must_use]
pub const fn pentium4(cores: usize) -> ChipConfig {
    ChipConfig {
        cores,
        contexts: 1,
        fetch_width: 3,
        fetch_threads: 1,
        fetch_policy: FetchPolicy::Icount,
        priorities: [0; ChipConfig::MAX_CONTEXTS],
        fetch_block: 32,
        fetch_queue: 64,
        front_end: 16,
        misfetch: 2,
        redirect: 1,
        rename_width: 3,
        instruction_queue: 48,
        rename_registers: 65,
        reorder_buffer: 64,
        load_store_queue: 64,
        issue_width: 6,
        order: IssueOrder::OutOfOrder,
        latencies: LATENCIES,
        commit_width: 3,
        predictor: PredictorConfig {
            direction: Direction::Gshare { entries: 4096, history: 12 },
            target_sets: 1024,
            target_ways: 4,
            return_stack: 16,
            address_shift: 1,
        },
    }
}

/// Cores that issue two instructions in program order, a quick choice; everything that differs from [`pentium4`] is
/// assumed.
#[must_use]
pub const fn two_wide(cores: usize) -> ChipConfig {
    ChipConfig {
        fetch_width: 2,
        fetch_queue: 16,
        front_end: 3,
        rename_width: 2,
        instruction_queue: 16,
        rename_registers: 32,
        reorder_buffer: 32,
        load_store_queue: 16,
        issue_width: 2,
        order: IssueOrder::InOrder,
        commit_width: 2,
        ..pentium4(cores)
    }
}
