// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Configuration of a chip.

use mb_core::ParameterError;

use crate::FloatLatencies;
use crate::predictor::{Direction, PredictorConfig};

/// Which contexts of a core fetch in a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FetchPolicy {
    /// The contexts with the fewest instructions between fetch and issue (Tullsen et al., *Exploiting
    /// Choice*, ISCA 1996, section 5.2).
    Icount,
    /// The contexts take turns; the first one advances by 1 in each cycle.
    RoundRobin,
}

/// Which instructions of the queue may be issued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IssueOrder {
    /// Every instruction whose operands are ready, the oldest first.
    OutOfOrder,
    /// As above, but each context issues in program order. Registers are still renamed, and
    /// instructions may end in another order.
    InOrder,
    /// One instruction at a time, in program order. It is issued when its operands are ready; the next one follows
    /// in the next cycle if it computes, branches, is a load that hits, or a store that memory takes over. Any other
    /// instruction blocks the core until it commits. Branches are not predicted: after one that is taken, the next
    /// instruction is issued `redirect` cycles after the branch ends. A core has one context; widths are 1, and of the
    /// other parameters only `fetch_block`, `redirect` and the latencies matter.
    Blocking {
        /// Cycles that a core may be ahead of the chip, 1 to 1024; with 1 it is not. In this time it executes without
        /// regard to other cores, devices and interrupts, whose effects on it come later by as much. The order of
        /// accesses remains one that the memory model allows. (Bounded slack: Chen, Annavaram and Dubois, `SlackSim`,
        /// SIGARCH Computer Architecture News 37(2), 2009.)
        slack: u64,
    },
}

/// Cycles from the issue of an instruction to the issue of one that needs its result. Units are
/// pipelined: each accepts an instruction in every cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Latencies {
    /// Integer operations, and fences once they may complete.
    pub integer: u64,
    /// Multiplication of words (mulw).
    pub multiply_word: u64,
    /// Multiplication of double words.
    pub multiply: u64,
    /// Division.
    pub divide: u64,
    /// Floating-point operations.
    pub float: FloatLatencies,
    /// From the issue of a branch to its resolution, and to its link value.
    pub branch: u64,
    /// From the access of a load to its value at the earliest; the memory may take longer.
    pub load: u64,
    /// From the issue of a store to its completion.
    pub store: u64,
    /// From the access of an atomic to its value at the earliest. Atomics access memory when they
    /// are the oldest of their context.
    pub synchronisation: u64,
}

/// Configuration of a chip: equal cores, each with equal contexts. All cores use one memory system.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChipConfig {
    /// Cores, 1 to 64.
    pub cores: usize,
    /// Contexts of each core, 1 to 8.
    pub contexts: usize,
    /// Instructions fetched by a core in a cycle.
    pub fetch_width: u32,
    /// Contexts that fetch in a cycle.
    pub fetch_threads: u32,
    /// Which contexts fetch.
    pub fetch_policy: FetchPolicy,
    /// Priority of each context in fetch, before the policy; lower values fetch first.
    pub priorities: [u8; ChipConfig::MAX_CONTEXTS],
    /// Aligned bytes that an access of the instruction cache delivers: a power of two, 4 to 64, and not
    /// more than a line of the memory system.
    pub fetch_block: u64,
    /// Instructions of a context between fetch and rename, 1 to 64.
    pub fetch_queue: usize,
    /// Cycles from fetch to rename, at least 1; includes the hit time of the instruction cache.
    pub front_end: u64,
    /// Cycles from the fetch of a branch that is predicted taken without a BTB entry to fetch from
    /// its target: 1 to `front_end`.
    pub misfetch: u64,
    /// Cycles from the resolution of a mispredicted branch to fetch from the correct address, at least 1.
    pub redirect: u64,
    /// Instructions that a core renames in a cycle.
    pub rename_width: u32,
    /// Entries of the instruction queue of a core, shared by its contexts. An instruction holds one
    /// from rename to issue.
    pub instruction_queue: usize,
    /// Physical registers of a core beyond the architectural ones, shared by its contexts.
    pub rename_registers: usize,
    /// Instructions of a context between rename and commit, 1 to 64.
    pub reorder_buffer: usize,
    /// Loads, stores and atomics of a context between rename and commit, 1 to 64.
    pub load_store_queue: usize,
    /// Instructions issued by a core in a cycle: its units, each of which executes every
    /// instruction.
    pub issue_width: u32,
    /// Order of issue.
    pub order: IssueOrder,
    /// Latencies.
    pub latencies: Latencies,
    /// Instructions committed by a core in a cycle.
    pub commit_width: u32,
    /// Branch prediction of a core. Counters and BTB are shared by the contexts; history and return
    /// stack belong to a context.
    pub predictor: PredictorConfig,
}

impl ChipConfig {
    /// Most cores of a chip.
    pub const MAX_CORES: usize = 64;
    /// Most contexts of a core.
    pub const MAX_CONTEXTS: usize = 8;
    /// Most instructions of a context in flight.
    pub const MAX_ENTRIES: usize = 64;
    /// Most rename registers, and most entries of an instruction queue.
    pub const MAX_REGISTERS: usize = 4096;
    /// Longest latency, and most cycles of a front end.
    pub const MAX_LATENCY: u64 = 63;

    /// Most cycles of a slack.
    pub const MAX_SLACK: u64 = 1024;

    /// Whether each stage takes one instruction in a cycle.
    pub(super) const fn is_narrow(&self) -> bool {
        self.fetch_width == 1 && self.rename_width == 1 && self.issue_width == 1 && self.commit_width == 1
    }

    /// Whether cores have one instruction at a time.
    #[inline]
    pub(super) const fn is_blocking(&self) -> bool {
        matches!(self.order, IssueOrder::Blocking { .. })
    }

    pub(super) fn check(&self) -> Result<(), ParameterError> {
        let refuse = |text: String| Err(ParameterError::Contradiction(text));
        for (name, width) in [
            ("fetch_width", self.fetch_width),
            ("fetch_threads", self.fetch_threads),
            ("rename_width", self.rename_width),
            ("issue_width", self.issue_width),
            ("commit_width", self.commit_width),
        ] {
            if width == 0 {
                return refuse(format!("{name} is 0; expected at least 1"));
            }
        }
        for (name, entries, limit) in [
            ("cores", self.cores, Self::MAX_CORES),
            ("contexts", self.contexts, Self::MAX_CONTEXTS),
            ("fetch_queue", self.fetch_queue, Self::MAX_ENTRIES),
            ("reorder_buffer", self.reorder_buffer, Self::MAX_ENTRIES),
            ("load_store_queue", self.load_store_queue, Self::MAX_ENTRIES),
            ("instruction_queue", self.instruction_queue, Self::MAX_REGISTERS),
            ("rename_registers", self.rename_registers, Self::MAX_REGISTERS),
        ] {
            if entries == 0 || entries > limit {
                return refuse(format!("{name} is {entries}; expected 1 to {limit}"));
            }
        }
        if self.is_blocking() && (self.contexts != 1 || !self.is_narrow()) {
            return refuse(format!(
                "order is Blocking with {} contexts, and widths of fetch, rename, issue and commit of {}, {}, {} and {}; \
                 expected 1 for all",
                self.contexts, self.fetch_width, self.rename_width, self.issue_width, self.commit_width
            ));
        }
        if let IssueOrder::Blocking { slack } = self.order
            && !(1..=Self::MAX_SLACK).contains(&slack)
        {
            return refuse(format!("slack is {slack} cycles; expected 1 to {}", Self::MAX_SLACK));
        }
        if !self.fetch_block.is_power_of_two() || !(4..=64).contains(&self.fetch_block) {
            return refuse(format!("fetch_block is {} bytes; expected a power of two, 4 to 64", self.fetch_block));
        }
        let l = &self.latencies;
        for (name, cycles) in [
            ("front_end", self.front_end),
            ("redirect", self.redirect),
            ("latency of integer operations", l.integer),
            ("latency of multiply_word", l.multiply_word),
            ("latency of multiply", l.multiply),
            ("latency of divide", l.divide),
            ("latency of branch", l.branch),
            ("latency of load", l.load),
            ("latency of store", l.store),
            ("latency of synchronisation", l.synchronisation),
        ]
        .into_iter()
        .chain(l.float.named())
        {
            if cycles == 0 || cycles > Self::MAX_LATENCY {
                return refuse(format!("{name} is {cycles} cycles; expected 1 to {}", Self::MAX_LATENCY));
            }
        }
        if self.misfetch == 0 || self.misfetch > self.front_end {
            return refuse(format!(
                "misfetch is {} cycles; expected 1 to {}, the cycles of front_end",
                self.misfetch, self.front_end
            ));
        }
        if self.predictor.direction == Direction::Perfect {
            return refuse("predictor: direction is Perfect; expected one that can be wrong".to_owned());
        }
        self.predictor.check()
    }

    /// Number of harts.
    #[must_use]
    pub const fn harts(&self) -> usize {
        self.cores * self.contexts
    }
}
