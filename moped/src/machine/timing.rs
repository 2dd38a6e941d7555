// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The parameters of the chip with time, with a source for every value.

use mb_core::parameters::{Embedded, ParameterSet, PresetValues, Source, Value, ValueSources};
use mb_processor::FloatLatencies;
use mb_processor::chip::{ChipConfig, FetchPolicy, IssueOrder, Latencies, TranslationConfig, blocking};
use mb_processor::directory::{DirectoryConfig, protocol};
use mb_processor::predictor::{Direction, PredictorConfig};

use crate::parameters::{MopedDesign, MopedParameters};

/// The core of the chip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CoreKind {
    /// Out of order, as wide as a Pentium 4; see [`pentium4`].
    OutOfOrder,
    /// In order, two instructions wide, with a short pipeline; see [`two_wide`].
    InOrder,
    /// In order, one instruction at a time; see [`scalar`].
    Scalar,
}

impl CoreKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::OutOfOrder, Self::InOrder, Self::Scalar];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OutOfOrder => "ooo",
            Self::InOrder => "inorder",
            Self::Scalar => "scalar",
        }
    }
}

/// Cores, caches and switch of the chip with time.
#[derive(Clone, PartialEq, Eq, Debug, mb_core::Parameters)]
#[parameters(sourced = SourcedTiming)]
pub struct TimingParameters {
    /// The cores, with one context each.
    #[parameter(nested, prefix = "core.", embed = CORES)]
    pub core: ChipConfig,
    /// Their TLBs.
    #[parameter(nested, prefix = "tlb.", about = "TLBs of a core")]
    pub translation: TranslationConfig,
    /// Caches, directory, memory and switch.
    #[parameter(nested, embed = MEMORY)]
    pub memory: DirectoryConfig,
}

/// The number of cores is the machine's.
const CORES: &[(&str, Embedded)] = &[
    ("cores", Embedded::Fixed(Value::Whole(1))),
    ("contexts", Embedded::Fixed(Value::Whole(1))),
    ("fetch_threads", Embedded::Fixed(Value::Whole(1))),
    ("fetch_policy", Embedded::Fixed(Value::Word("icount"))),
];

/// The design is that of the devices.
const MEMORY: &[(&str, Embedded)] = &[
    ("nodes", Embedded::Fixed(Value::Whole(1))),
    ("contexts", Embedded::Fixed(Value::Whole(1))),
    ("design", Embedded::Fixed(Value::Word("base"))),
];

impl TimingParameters {
    /// The chip of table 1 with `cores` cores of a kind, for the design of these devices. Without devices the
    /// coherence protocol is that of the base design.
    ///
    /// # Panics
    /// As [`preset`](Self::preset).
    #[must_use]
    pub fn gu2011(kind: CoreKind, cores: usize, moped: Option<&MopedParameters>) -> Self {
        Self::of(&Self::preset(kind), cores, moped)
    }

    /// The parameters of such a chip, with a source for every value.
    ///
    /// # Panics
    /// When a value is outside its range; there is a test.
    #[must_use]
    pub fn preset(kind: CoreKind) -> ParameterSet {
        let chip = SourcedTiming {
            core: PresetValues { values: pentium4(1), sources: PENTIUM4 },
            translation: PresetValues { values: TranslationConfig::default(), sources: TLBS },
            memory: PresetValues { values: DirectoryConfig::gu2011(1, 1), sources: TABLE1 },
        };
        let in_ranges = "the values of a preset are in their ranges";
        let mut set = ParameterSet::from_sourced::<Self>(chip).expect(in_ranges);
        let narrower = Source::assumed("narrower than the Pentium 4, and of one instruction at a time if scalar");
        set.change(&narrower, |chip: &mut Self| {
            chip.core = match kind {
                CoreKind::OutOfOrder => pentium4(1),
                CoreKind::InOrder => two_wide(1),
                CoreKind::Scalar => scalar(1),
            };
        })
        .expect(in_ranges);
        set
    }

    /// The parameters of a chip with these devices.
    ///
    /// # Panics
    /// When the parameters are not those of a [`preset`](Self::preset) with other values.
    #[must_use]
    pub fn of(parameters: &ParameterSet, cores: usize, moped: Option<&MopedParameters>) -> Self {
        let mut chip: Self = parameters.typed();
        (chip.core.cores, chip.memory.nodes) = (cores, cores);
        chip.memory.design = match moped.map(|moped| moped.design) {
            None | Some(MopedDesign::Base) => protocol::DeviceTransactions::Base,
            Some(MopedDesign::Optcopy) => protocol::DeviceTransactions::OptCopy,
            Some(MopedDesign::Optcache) => protocol::DeviceTransactions::OptCache,
        };
        chip
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
        float: FloatLatencies { simple: 2, convert: 5, add: 5, multiply: 7, fused: 12, divide: 38, square_root: 38 },
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

/// Cores that issue two instructions in program order; everything that differs from [`pentium4`] is
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

/// Cores with one instruction at a time, in program order ([`IssueOrder::Blocking`]): the quick choice. Everything that
/// differs from [`pentium4`] is assumed.
#[must_use]
pub const fn scalar(cores: usize) -> ChipConfig {
    blocking(two_wide(cores), 64)
}

const fn article(place: &'static str) -> Source {
    Source::paper("Hinton et al., The Microarchitecture of the Pentium 4 Processor (2001)", place)
}

const fn table(place: &'static str) -> Source {
    Source::paper("gu2011", place)
}

const MANUAL: Source = Source::paper("IA-32 Intel Architecture Optimization Reference Manual", "appendix C");

/// The sources of [`pentium4`]. Table 1 names it and no more.
const PENTIUM4: ValueSources = &[
    (table("table 1"), "cores contexts fetch_threads fetch_policy"),
    (table("table 1: the Pentium 4"), "order"),
    (Source::assumed("for the speed of the simulation; without effect unless one instruction at a time"), "slack"),
    (article("3 instructions in a cycle"), "fetch_width rename_width commit_width"),
    (article("issue of up to 6"), "issue_width"),
    (article("20 cycles of a mispredicted branch"), "front_end redirect latency_branch"),
    (article("128 physical registers, of which the architectural ones hold 63"), "rename_registers"),
    (article("a BTB of 4096 entries; four ways are assumed"), "btb_sets btb_ways"),
    (Source::assumed("the largest of the core model"), "reorder_buffer load_store_queue"),
    (Source::assumed("not given"), "fetch_block fetch_queue misfetch instruction_queue return_stack"),
    (Source::assumed("not given"), "predictor predictor_counters predictor_history"),
    (MANUAL, "latency_integer latency_multiply_word latency_multiply latency_divide"),
    (MANUAL, "float_simple float_convert float_add float_multiply float_divide float_square_root"),
    (Source::assumed("a multiplication and an addition"), "float_fused"),
    (table("table 1: a hit in the L1 takes a cycle"), "latency_load"),
    (Source::assumed("not given"), "latency_store latency_synchronisation"),
];

const TLBS: ValueSources = &[(article("one context's part"), "instruction_entries data_entries")];

/// The sources of [`DirectoryConfig::gu2011`].
const TABLE1: ValueSources = &[
    (table("table 1"), "nodes contexts l1.bytes l1.ways l1.hit l2.bytes l2.ways l2.hit memory device_operations"),
    (table("section 4.5"), "design"),
    (table("section 4.5: written into the local L2"), "device_level"),
    (table("table 1: 500 MHz, cores 1 GHz"), "switch.period"),
    (table("section 6"), "migratory"),
    (Source::assumed("not given"), "l1.ports l1.mshrs l2.ports store_buffer write_backs probe directory"),
    (Source::assumed("not given"), "directory_interval memory_ports memory_interval switch.fan_out switch.link"),
    (Source::assumed("not given"), "switch.hop switch.header switch.local device reservation_hold"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_of_every_chip_has_a_source_and_is_the_kinds() {
        for (kind, core) in CoreKind::ALL.into_iter().zip([pentium4(4), two_wide(4), scalar(4)]) {
            let chip = TimingParameters::gu2011(kind, 4, None);
            assert_eq!((chip.core, chip.memory), (core, DirectoryConfig::gu2011(4, 1)));
        }
    }

    #[test]
    fn a_parameter_of_one_kind_alone_keeps_its_default_on_others() {
        let mut set = TimingParameters::preset(CoreKind::InOrder);
        set.set("core.slack", "3", Source::User).unwrap();
        assert_eq!(TimingParameters::of(&set, 4, None), TimingParameters::gu2011(CoreKind::InOrder, 4, None));
    }
}
