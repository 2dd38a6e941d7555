// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Configuration of a chip.

use mb_core::ParameterError;
use mb_core::parameters::{Choice, Embedded, ParameterSpec, Parameters, Value};

use crate::FloatLatencies;
use crate::predictor::{Direction, PredictorConfig};

/// Which contexts of a core fetch in a cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
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

/// The words of [`IssueOrder`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Choice)]
enum IssueKind {
    OutOfOrder,
    InOrder,
    Blocking,
}

/// The parameters of [`IssueOrder`].
#[derive(mb_core::Parameters)]
struct OrderParameters {
    /// Order of issue: as operands become ready, each context in program order, or one instruction at a time.
    #[parameter]
    order: IssueKind,
    /// Cycles that a core with one instruction at a time (`blocking`) may be ahead of the chip.
    #[parameter(range = 1..=1024, unit = Cycles)]
    slack: u64,
}

impl Parameters for IssueOrder {
    const SPECS: &'static [ParameterSpec] = OrderParameters::SPECS;

    fn from_values(values: &[Value]) -> Self {
        let OrderParameters { order, slack } = Parameters::from_values(values);
        match order {
            IssueKind::OutOfOrder => Self::OutOfOrder,
            IssueKind::InOrder => Self::InOrder,
            IssueKind::Blocking => Self::Blocking { slack },
        }
    }

    fn values(&self) -> Vec<Value> {
        let (order, slack) = match *self {
            Self::OutOfOrder => (IssueKind::OutOfOrder, 1),
            Self::InOrder => (IssueKind::InOrder, 1),
            Self::Blocking { slack } => (IssueKind::Blocking, slack),
        };
        OrderParameters { order, slack }.values()
    }
}

/// Cycles from the issue of an instruction to the issue of one that needs its result. Units are
/// pipelined: each accepts an instruction in every cycle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, mb_core::Parameters)]
pub struct Latencies {
    /// Latency of integer operations, and of fences once they may complete.
    #[parameter(range = 1..=63, unit = Cycles)]
    pub integer: u64,
    /// Latency of a multiplication of 32 bits.
    #[parameter(range = 1..=63, unit = Cycles)]
    pub multiply_word: u64,
    /// Latency of a multiplication of 64 bits.
    #[parameter(range = 1..=63, unit = Cycles)]
    pub multiply: u64,
    /// Latency of a division.
    #[parameter(range = 1..=63, unit = Cycles)]
    pub divide: u64,
    /// From the issue of a branch to its resolution, and to its link value.
    #[parameter(range = 1..=63, unit = Cycles)]
    pub branch: u64,
    /// From the access of a load to its value at the earliest; the memory may take longer.
    #[parameter(range = 1..=63, unit = Cycles)]
    pub load: u64,
    /// From the issue of a store to its completion.
    #[parameter(range = 1..=63, unit = Cycles)]
    pub store: u64,
    /// From the access of an atomic to its value at the earliest; it is the oldest of its context then.
    #[parameter(range = 1..=63, unit = Cycles)]
    pub synchronisation: u64,
}

/// Configuration of a chip: equal cores, each with equal contexts. All cores use one memory system.
#[derive(Clone, Copy, PartialEq, Eq, Debug, mb_core::Parameters)]
#[parameters(preset)]
pub struct ChipConfig {
    /// Cores.
    #[parameter(range = 1..=ChipConfig::MAX_CORES as u64)]
    pub cores: usize,
    /// Hardware thread contexts of a core.
    #[parameter(range = 1..=ChipConfig::MAX_CONTEXTS as u64)]
    pub contexts: usize,
    /// Instructions that a core fetches in a cycle.
    #[parameter(range = 1..=64)]
    pub fetch_width: u32,
    /// Contexts from which a core fetches in a cycle.
    #[parameter(range = 1..=8)]
    pub fetch_threads: u32,
    /// Which contexts fetch: those with the fewest instructions before issue, or in turns.
    #[parameter]
    pub fetch_policy: FetchPolicy,
    /// Priority of each context in fetch, before the policy; lower values fetch first.
    #[parameter(fixed = [0; ChipConfig::MAX_CONTEXTS])]
    pub priorities: [u8; ChipConfig::MAX_CONTEXTS],
    /// Aligned bytes that an access of the instruction cache reads: a power of two, and not more than a line.
    #[parameter(range = 4..=64)]
    pub fetch_block: u64,
    /// Instructions of a context between fetch and rename.
    #[parameter(range = 1..=64)]
    pub fetch_queue: usize,
    /// Cycles from fetch to rename; includes the hit time of the instruction cache.
    #[parameter(range = 1..=63, unit = Cycles)]
    pub front_end: u64,
    /// Cycles until a branch that is predicted taken without a target in the BTB redirects fetch; at most `front_end`.
    #[parameter(range = 1..=63, unit = Cycles)]
    pub misfetch: u64,
    /// Cycles from the end of a mispredicted branch to the next fetch of its context.
    #[parameter(range = 1..=63, unit = Cycles)]
    pub redirect: u64,
    /// Instructions that a core renames in a cycle.
    #[parameter(range = 1..=64)]
    pub rename_width: u32,
    /// Entries of a core's instruction queue, which an instruction holds from rename to issue.
    #[parameter(range = 1..=ChipConfig::MAX_REGISTERS as u64)]
    pub instruction_queue: usize,
    /// Physical registers of a core beyond the architectural ones.
    #[parameter(range = 1..=ChipConfig::MAX_REGISTERS as u64)]
    pub rename_registers: usize,
    /// Instructions of a context between rename and commit.
    #[parameter(range = 1..=ChipConfig::MAX_ENTRIES as u64)]
    pub reorder_buffer: usize,
    /// Loads, stores and atomics of a context between rename and commit.
    #[parameter(range = 1..=ChipConfig::MAX_ENTRIES as u64)]
    pub load_store_queue: usize,
    /// Units of a core, each of which executes every instruction: instructions issued in a cycle.
    #[parameter(range = 1..=64)]
    pub issue_width: u32,
    /// Order of issue.
    #[parameter(nested)]
    pub order: IssueOrder,
    /// Latencies.
    #[parameter(nested, prefix = "latency_")]
    pub latencies: Latencies,
    /// Latencies of floating-point operations.
    #[parameter(nested, prefix = "float_", about = "Floating point", embed = FLOAT)]
    pub float: FloatLatencies,
    /// Instructions that a core commits in a cycle.
    #[parameter(range = 1..=64)]
    pub commit_width: u32,
    /// Branch prediction of a core. Counters and BTB are shared by the contexts; history and return
    /// stack belong to a context.
    #[parameter(nested, embed = PREDICTOR)]
    pub predictor: PredictorConfig,
}

const LATENCY: Embedded = Embedded::Range(1, ChipConfig::MAX_LATENCY);
const FLOAT: &[(&str, Embedded)] = &[
    ("simple", LATENCY),
    ("convert", LATENCY),
    ("add", LATENCY),
    ("multiply", LATENCY),
    ("fused", LATENCY),
    ("divide", LATENCY),
    ("square_root", LATENCY),
];
/// Instructions begin at multiples of 2.
const PREDICTOR: &[(&str, Embedded)] = &[("address_shift", Embedded::Fixed(Value::Whole(1)))];

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
        self.check_domains()?;
        let refuse = |text: String| Err(ParameterError::Contradiction(text));
        if self.is_blocking() && (self.contexts != 1 || !self.is_narrow()) {
            return refuse(format!(
                "order is Blocking with {} contexts, and widths of fetch, rename, issue and commit of {}, {}, {} and {}; \
                 expected 1 for all",
                self.contexts, self.fetch_width, self.rename_width, self.issue_width, self.commit_width
            ));
        }
        if !self.fetch_block.is_power_of_two() {
            return refuse(format!("fetch_block is {} bytes; expected a power of two, 4 to 64", self.fetch_block));
        }
        if self.misfetch > self.front_end {
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
