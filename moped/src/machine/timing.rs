// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The parameters of the chip with time, with a source for every value.

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
            CoreKind::Scalar => scalar(cores),
        };
        let design = match moped.map(|moped| moped.design) {
            None | Some(MopedDesign::Base) => protocol::DeviceTransactions::Base,
            Some(MopedDesign::Optcopy) => protocol::DeviceTransactions::OptCopy,
            Some(MopedDesign::Optcache) => protocol::DeviceTransactions::OptCache,
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

/// Names of the parameters that [`TimingParameters::set`] changes.
pub const SETTABLE: [&str; 17] = [
    "core.slack",
    "l1.mshrs",
    "l2.hit",
    "store_buffer",
    "write_backs",
    "probe",
    "directory",
    "directory_interval",
    "memory",
    "memory_ports",
    "memory_interval",
    "switch.fan_out",
    "switch.link",
    "switch.hop",
    "device",
    "device_operations",
    "device_level",
];

impl TimingParameters {
    /// Changes a parameter of caches, directory, memory or switch, or the slack of scalar cores, by its name in
    /// [`described`](Self::described). Whether there is one of this name; its range is checked when the machine is
    /// built.
    #[must_use]
    pub fn set(&mut self, name: &str, value: u64) -> bool {
        let memory = &mut self.memory;
        let size = usize::try_from(value).unwrap_or(usize::MAX);
        match name {
            "core.slack" => match &mut self.core.order {
                IssueOrder::Blocking { slack } => *slack = value,
                IssueOrder::OutOfOrder | IssueOrder::InOrder => return false,
            },
            "l1.mshrs" => (memory.data.mshrs, memory.instruction.mshrs) = (size, size),
            "l2.hit" => memory.l2.hit = value,
            "store_buffer" => memory.store_buffer = size,
            "write_backs" => memory.write_backs = size,
            "probe" => memory.probe = value,
            "directory" => memory.directory = value,
            "directory_interval" => memory.directory_interval = value,
            "memory" => memory.memory = value,
            "memory_ports" => memory.memory_ports = size,
            "memory_interval" => memory.memory_interval = value,
            "switch.fan_out" => memory.switch.fan_out = size,
            "switch.link" => memory.switch.link = value,
            "switch.hop" => memory.switch.hop = value,
            "device" => memory.device = value,
            "device_operations" => memory.device_operations = value,
            "device_level" => memory.device_level = value,
            _ => return false,
        }
        true
    }

    /// Name, value and source of every parameter.
    #[must_use]
    pub fn described(&self) -> Vec<(&'static str, String, &'static str)> {
        const TABLE: &str = "table 1";
        const CORE: &str = "Hinton et al. 2001 where it has it, else assumed";
        const LATENCY: &str = "Optimization Reference Manual, appendix C, else assumed";
        const ASSUMED: &str = "assumed";
        let (core, memory, switch) = (&self.core, &self.memory, &self.memory.switch);
        let numbers: [(&'static str, u64, &'static str); 50] = [
            ("cores", core.cores as u64, TABLE),
            ("core.fetch_width", core.fetch_width.into(), CORE),
            ("core.fetch_block", core.fetch_block, ASSUMED),
            ("core.front_end", core.front_end, CORE),
            ("core.misfetch", core.misfetch, ASSUMED),
            ("core.redirect", core.redirect, CORE),
            ("core.rename_width", core.rename_width.into(), CORE),
            ("core.instruction_queue", core.instruction_queue as u64, ASSUMED),
            ("core.rename_registers", core.rename_registers as u64, CORE),
            ("core.reorder_buffer", core.reorder_buffer as u64, "the largest of the core model"),
            ("core.load_store_queue", core.load_store_queue as u64, "the largest of the core model"),
            ("core.issue_width", core.issue_width.into(), CORE),
            ("core.commit_width", core.commit_width.into(), CORE),
            ("core.target_entries", (core.predictor.target_sets * core.predictor.target_ways) as u64, CORE),
            ("core.return_stack", core.predictor.return_stack as u64, ASSUMED),
            ("core.integer", core.latencies.integer, LATENCY),
            ("core.multiply", core.latencies.multiply, LATENCY),
            ("core.divide", core.latencies.divide, LATENCY),
            ("core.float_add", core.latencies.float.add, LATENCY),
            ("core.float_multiply", core.latencies.float.multiply, LATENCY),
            ("core.float_divide", core.latencies.float.divide, LATENCY),
            ("core.branch", core.latencies.branch, CORE),
            ("tlb.instruction_entries", self.translation.instruction_entries as u64, "Hinton et al. 2001"),
            ("tlb.data_entries", self.translation.data_entries as u64, "Hinton et al. 2001"),
            ("l1.bytes", memory.data.bytes, TABLE),
            ("l1.ways", memory.data.ways, TABLE),
            ("l1.hit", memory.data.hit, TABLE),
            ("l1.ports", memory.data.ports, ASSUMED),
            ("l1.mshrs", memory.data.mshrs as u64, ASSUMED),
            ("l2.bytes", memory.l2.bytes, TABLE),
            ("l2.ways", memory.l2.ways, TABLE),
            ("l2.hit", memory.l2.hit, TABLE),
            ("store_buffer", memory.store_buffer as u64, ASSUMED),
            ("write_backs", memory.write_backs as u64, ASSUMED),
            ("probe", memory.probe, ASSUMED),
            ("directory", memory.directory, ASSUMED),
            ("directory_interval", memory.directory_interval, ASSUMED),
            ("memory", memory.memory, TABLE),
            ("memory_ports", memory.memory_ports as u64, ASSUMED),
            ("memory_interval", memory.memory_interval, ASSUMED),
            ("switch.fan_out", switch.fan_out as u64, ASSUMED),
            ("switch.link", switch.link, ASSUMED),
            ("switch.period", switch.period, "table 1: 500 MHz, cores 1 GHz"),
            ("switch.hop", switch.hop, ASSUMED),
            ("switch.header", switch.header, ASSUMED),
            ("device", memory.device, ASSUMED),
            ("device_operations", memory.device_operations, TABLE),
            ("device_level", memory.device_level, "section 4.5: written into the local L2"),
            ("reservation_hold", memory.reservation_hold, ASSUMED),
            ("migratory", memory.migratory.into(), "section 6"),
        ];
        let mut rows: Vec<_> =
            numbers.into_iter().map(|(name, value, source)| (name, value.to_string(), source)).collect();
        let order = match core.order {
            IssueOrder::OutOfOrder => "OutOfOrder",
            IssueOrder::InOrder => "InOrder",
            IssueOrder::Blocking { slack } => {
                rows.push(("core.slack", slack.to_string(), "for the speed of the simulation"));
                "Blocking"
            }
        };
        rows.push(("core.order", order.to_owned(), "table 1 names the Pentium 4"));
        rows.push(("design", format!("{:?}", memory.design), "section 4.5"));
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_parameter_that_can_be_set_is_described_with_its_value() {
        for name in SETTABLE {
            let mut timing = TimingParameters::gu2011(CoreKind::Scalar, 4, None);
            let before = timing.described();
            assert!(timing.set(name, 3), "{name}");
            let after = timing.described();
            let changed: Vec<_> = before.iter().zip(&after).filter(|(before, after)| before != after).collect();
            assert!(
                matches!(changed[..], [(_, (found, value, _))] if *found == name && value == "3"),
                "{name}: {changed:?}"
            );
        }
        for (kind, name) in [(CoreKind::OutOfOrder, "l3.hit"), (CoreKind::InOrder, "core.slack")] {
            assert!(!TimingParameters::gu2011(kind, 4, None).set(name, 3), "{name}");
        }
    }
}
