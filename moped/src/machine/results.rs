// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The measurements of a run with time: counts at the beginning and the end of each region.

use mb_processor::chip::HartStatistics;
use mb_processor::directory::{DirectoryStatistics, NodeStatistics};

use super::account::Cycles;
use crate::counters::MopedCounters;

/// Counts of the whole machine, in a cycle.
#[derive(Clone, Debug, Default)]
pub struct MachineCounts {
    /// The cycle.
    pub cycle: u64,
    /// By core.
    pub cores: Vec<HartStatistics>,
    /// Instructions of each core in user mode and in the kernel.
    pub instructions: Vec<(u64, u64)>,
    /// Caches, directory and switch.
    pub memory: DirectoryStatistics,
    /// By node.
    pub devices: Vec<MopedCounters>,
    /// Where the cycles of each process went; see [`Activity`](super::Activity).
    pub processes: Vec<Cycles>,
    /// Cycles of cores without a process.
    pub unused: Cycles,
    /// Messages and bytes that the devices moved.
    pub moved: (u64, u64),
}

impl MachineCounts {
    fn nodes(&self, count: impl Fn(&NodeStatistics) -> u64) -> u64 {
        self.memory.nodes.iter().map(count).sum()
    }

    fn devices(&self, count: impl Fn(&MopedCounters) -> u64) -> u64 {
        self.devices.iter().map(count).sum()
    }
}

/// The activity of the machine between two changes of its mode.
#[derive(Clone, Debug)]
pub struct MeasuredRegion {
    /// The mode that the programs requested: 0 functional, 1 warm-up, 2 timing.
    pub kind: u64,
    /// At its begin.
    pub begin: MachineCounts,
    /// At its end.
    pub end: MachineCounts,
}

/// A count of a region: its name, and how a snapshot has it.
pub type RegionCount = (&'static str, fn(&MachineCounts) -> u64);

/// The counts that a region reports, summed over the chip.
pub const COUNTS: &[RegionCount] = &[
    ("user_instructions", |s| s.instructions.iter().map(|(user, _)| user).sum()),
    ("kernel_instructions", |s| s.instructions.iter().map(|(_, kernel)| kernel).sum()),
    ("data_hits", |s| s.nodes(|node| node.data_hits + node.forwarded)),
    ("fetch_hits", |s| s.nodes(|node| node.fetch_hits)),
    ("l1_load_misses", |s| s.nodes(|node| node.load_misses)),
    ("l1_store_misses", |s| s.nodes(|node| node.store_misses)),
    ("l1_fetch_misses", |s| s.nodes(|node| node.fetch_misses)),
    ("l2_local", |s| s.nodes(|node| node.core.local)),
    ("l2_private", |s| s.nodes(|node| node.core.private)),
    ("l2_global", |s| s.nodes(|node| node.core.global)),
    ("l2_upgrades", |s| s.nodes(|node| node.core.upgrades)),
    ("device_local", |s| s.nodes(|node| node.device.local)),
    ("device_private", |s| s.nodes(|node| node.device.private)),
    ("device_global", |s| s.nodes(|node| node.device.global)),
    ("device_upgrades", |s| s.nodes(|node| node.device.upgrades)),
    ("device_blanks", |s| s.nodes(|node| node.device.blanks)),
    ("write_backs", |s| s.nodes(|node| node.write_backs)),
    ("invalidated", |s| s.nodes(|node| node.invalidated)),
    ("revoked_lines", |s| s.nodes(|node| node.revoked)),
    ("memory_reads", |s| s.memory.memory_reads),
    ("memory_writes", |s| s.memory.memory_writes),
    ("coherence_messages", |s| s.memory.messages.iter().map(|kind| kind.messages).sum()),
    ("device_messages", |s| s.memory.device_messages.messages),
    ("switch_link_cycles", |s| {
        s.memory.messages.iter().map(|kind| kind.link_cycles).sum::<u64>() + s.memory.device_messages.link_cycles
    }),
    ("directory_stalls", |s| s.memory.stalled),
    ("traps", |s| s.cores.iter().map(|core| core.traps).sum()),
    ("tlb_walks", |s| s.cores.iter().map(|core| core.walks).sum()),
    ("mispredicted", |s| s.cores.iter().map(|core| core.mispredicted).sum()),
    ("messages", |s| s.moved.0),
    ("message_bytes", |s| s.moved.1),
    ("reserved", |s| s.devices(|device| device.reserved)),
    ("refused", |s| s.devices(|device| device.refused)),
    ("rejected", |s| s.devices(|device| device.rejected)),
    ("revoked", |s| s.devices(|device| device.revoked)),
    ("matched", |s| s.devices(|device| device.matched)),
    ("completed", |s| s.devices(|device| device.completed)),
    ("copied_lines", |s| s.devices(|device| device.copies)),
    ("written_lines", |s| s.devices(|device| device.writes)),
    ("device_walks", |s| s.devices(|device| device.walks)),
    ("page_faults", |s| s.devices(|device| device.faults)),
];

impl MeasuredRegion {
    /// Cycles.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.end.cycle - self.begin.cycle
    }

    /// A count of the region.
    #[must_use]
    pub fn count(&self, count: impl Fn(&MachineCounts) -> u64) -> u64 {
        count(&self.end).saturating_sub(count(&self.begin))
    }

    /// Every count of [`COUNTS`].
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        COUNTS.iter().map(|(name, count)| (*name, self.count(count)))
    }

    /// Instructions of each core, in user mode and in the kernel.
    #[must_use]
    pub fn instructions(&self) -> Vec<(u64, u64)> {
        let pairs = self.end.instructions.iter().zip(&self.begin.instructions);
        pairs.map(|(end, begin)| (end.0 - begin.0, end.1 - begin.1)).collect()
    }

    /// Where the cycles of each process went, in the order of the kernel's process numbers.
    #[must_use]
    pub fn processes(&self) -> Vec<Cycles> {
        self.end.processes.iter().zip(&self.begin.processes).map(|(end, begin)| difference(end, begin)).collect()
    }

    /// Cycles of cores without a process.
    #[must_use]
    pub fn unused(&self) -> Cycles {
        difference(&self.end.unused, &self.begin.unused)
    }
}

fn difference(end: &Cycles, begin: &Cycles) -> Cycles {
    std::array::from_fn(|index| end[index] - begin[index])
}
