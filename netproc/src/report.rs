// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The measurements of a run.

use std::collections::BTreeMap;

use mb_core::Clock;

use crate::contract::Application;
use crate::controller::Controller;
use crate::processor::{NamedCount, ProcessorCounts};

/// Counts at the end of a window.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WindowCounts {
    /// The cycle.
    pub cycle: u64,
    /// Packets completed.
    pub packets: u64,
    /// The counts of the processor.
    pub counts: ProcessorCounts,
}

/// A number of packets in a row, and what they took.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Window {
    /// Cycle of its end, counted from the start of reception.
    pub end: u64,
    /// Cycles.
    pub cycles: u64,
    /// Packets completed.
    pub packets: u64,
    /// Instructions executed by all harts.
    pub instructions: u64,
    /// Issue slots used by all harts, wrong paths included.
    pub used: u64,
    /// Of these, for instructions that were squashed.
    pub squashed: u64,
    /// Issue slots of all harts left empty, by cause.
    pub lost: Vec<(&'static str, u64)>,
    /// Caches, buses and predictors.
    pub memory: Vec<NamedCount>,
}

impl Window {
    /// Packets in a second.
    #[must_use]
    pub fn rate(&self, clock: Clock) -> f64 {
        rate(self.packets, self.cycles, clock)
    }

    /// Instructions per cycle.
    #[must_use]
    pub fn ipc(&self) -> f64 {
        ratio(self.instructions, self.cycles)
    }
}

/// Issue slots and instructions of a hart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HartReport {
    /// Packets that it reported.
    pub packets: u64,
    /// Instructions executed.
    pub instructions: u64,
    /// Issue slots used, wrong paths included.
    pub used: u64,
    /// Of these, for instructions that were squashed.
    pub squashed: u64,
    /// Issue slots left empty, by cause.
    pub lost: Vec<(&'static str, u64)>,
}

/// Cycles from arrival to report.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Latency {
    /// Half of the packets took no more.
    pub median: u64,
    /// 90 per cent took no more.
    pub p90: u64,
    /// 99 per cent took no more.
    pub p99: u64,
    /// 99.9 per cent took no more.
    pub p999: u64,
    /// No packet took more.
    pub largest: u64,
}

impl Latency {
    /// Percentiles of `cycles` by the nearest-rank method; 0 without packets.
    #[must_use]
    pub fn of(cycles: &[u64]) -> Self {
        let mut sorted = cycles.to_vec();
        sorted.sort_unstable();
        let at = |per_mille: usize| {
            let rank = (sorted.len() * per_mille).div_ceil(1000).max(1);
            sorted.get(rank - 1).copied().unwrap_or(0)
        };
        Self { median: at(500), p90: at(900), p99: at(990), p999: at(999), largest: at(1000) }
    }
}

/// The measurements of a run, from the start of reception to the last packet reported.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PacketReport {
    /// Cycles from the start of reception to the last report.
    pub cycles: u64,
    /// Packets that arrived.
    pub offered: u64,
    /// Packets that found the input queue full.
    pub refused: u64,
    /// Packets forwarded.
    pub forwarded: u64,
    /// Packets that applications kept.
    pub consumed: u64,
    /// Packets that software dropped, by reason.
    pub dropped: BTreeMap<u8, u64>,
    /// Packets in the input queue at the end.
    pub queued: u64,
    /// Packets in ring slots and with software at the end.
    pub in_flight: u64,
    /// Whether every packet is accounted for once.
    pub is_balanced: bool,
    /// Packets by application; those that the OS thread dropped have none.
    pub applications: BTreeMap<Option<Application>, u64>,
    /// Packets reported after a later packet of their flow.
    pub reordered: u64,
    /// The largest number of later packets that were reported before a packet.
    pub most_overtaken: u64,
    /// Cycles from arrival to report.
    pub latency: Latency,
    /// The longest input queue.
    pub longest_queue: u64,
    /// The mean length of the input queue.
    pub mean_queue: f64,
    /// Bytes that the controller transferred.
    pub transferred_bytes: u64,
    /// Windows of [`WINDOW`](Self::WINDOW) packets.
    pub windows: Vec<Window>,
    /// By hart.
    pub harts: Vec<HartReport>,
    /// Caches, buses and predictors.
    pub memory: Vec<NamedCount>,
}

impl PacketReport {
    /// Packets of a window (crowley2000, section 5.1).
    pub const WINDOW: u64 = 100;

    /// The report of a run that ended with `last`.
    pub(crate) fn new(controller: &Controller<'_>, mut snapshots: Vec<WindowCounts>, last: WindowCounts) -> Self {
        let account = &controller.account;
        let end = account.completions.last().copied().unwrap_or(account.start);
        let cycles = end.saturating_sub(account.start);
        let first = snapshots.first().map_or_else(ProcessorCounts::default, |first| first.counts.clone());
        let counts = last.counts.clone();
        if snapshots.last().is_some_and(|before| before.packets < last.packets) {
            snapshots.push(WindowCounts { cycle: end, ..last });
        }
        Self {
            cycles,
            offered: account.offered,
            refused: account.refused,
            forwarded: account.forwarded,
            consumed: account.consumed,
            dropped: account.dropped.clone(),
            queued: controller.queued() as u64,
            in_flight: account.in_flight() as u64,
            is_balanced: account.is_balanced(controller.queued()),
            applications: account.applications.clone(),
            reordered: account.reordered,
            most_overtaken: account.most_overtaken,
            latency: Latency::of(&account.latencies),
            longest_queue: account.longest_queue as u64,
            mean_queue: if cycles == 0 { 0.0 } else { account.queue_area(end) as f64 / cycles as f64 },
            transferred_bytes: account.transferred_bytes,
            windows: snapshots.windows(2).map(|pair| window(&pair[0], &pair[1], account.start)).collect(),
            harts: harts(&first, &counts, &account.harts),
            memory: memory(&first, &counts),
        }
    }

    /// Packets that left the machine.
    #[must_use]
    pub fn completed(&self) -> u64 {
        self.forwarded + self.consumed + self.dropped.values().sum::<u64>()
    }

    /// Instructions that all harts executed.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        self.harts.iter().map(|hart| hart.instructions).sum()
    }

    /// Packets in a second.
    #[must_use]
    pub fn rate(&self, clock: Clock) -> f64 {
        rate(self.completed(), self.cycles, clock)
    }

    /// Instructions per cycle.
    #[must_use]
    pub fn ipc(&self) -> f64 {
        ratio(self.instructions(), self.cycles)
    }
}

fn rate(packets: u64, cycles: u64, clock: Clock) -> f64 {
    ratio(packets, cycles) * clock.hertz() as f64
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn window(before: &WindowCounts, after: &WindowCounts, start: u64) -> Window {
    let harts = harts(&before.counts, &after.counts, &BTreeMap::new());
    let sum = |of: fn(&HartReport) -> u64| harts.iter().map(of).sum();
    let lost = |cause: usize| harts.iter().map(|hart| hart.lost[cause].1).sum();
    Window {
        end: after.cycle.saturating_sub(start),
        cycles: after.cycle.saturating_sub(before.cycle),
        packets: after.packets - before.packets,
        instructions: sum(|hart| hart.instructions),
        used: sum(|hart| hart.used),
        squashed: sum(|hart| hart.squashed),
        lost: after.counts.causes.iter().enumerate().map(|(cause, name)| (*name, lost(cause))).collect(),
        memory: memory(&before.counts, &after.counts),
    }
}

fn harts(first: &ProcessorCounts, last: &ProcessorCounts, packets: &BTreeMap<u32, u64>) -> Vec<HartReport> {
    let report = |number: usize| {
        let before = first.harts.get(number).copied().unwrap_or_default();
        let after = last.harts[number];
        let lost_before = |cause: usize| first.lost.get(number).and_then(|lost| lost.get(cause)).copied().unwrap_or(0);
        // Without timing a count may be one too high in a cycle in which the hart has yet to execute.
        let lost = |cause: usize| last.lost[number][cause].saturating_sub(lost_before(cause));
        let lost = last.causes.iter().enumerate().map(|(cause, name)| (*name, lost(cause)));
        HartReport {
            packets: packets.get(&(number as u32)).copied().unwrap_or(0),
            instructions: after.instructions - before.instructions,
            used: after.used - before.used,
            squashed: after.squashed - before.squashed,
            lost: lost.collect(),
        }
    };
    (0..last.harts.len()).map(report).collect()
}

fn memory(first: &ProcessorCounts, last: &ProcessorCounts) -> Vec<NamedCount> {
    let before = |name: &str| first.memory.iter().find(|count| count.name == name).map_or(0, |count| count.value);
    let of = |count: &NamedCount| NamedCount { name: count.name.clone(), value: count.value - before(&count.name) };
    last.memory.iter().map(of).collect()
}
