// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The cost in cycles of each correction of MPI's order, on a workload in which the published design happens to keep
//! it.

use std::fmt::Write as _;

use mb_cam_list::{Arbiter, Corrections, ENTRY, HardwareConfig, Hazard, SteppedHardware};
use mb_core::{Envelope, Initiator, MsgId, Op, Pattern, RecvId};

/// Receives of each workload.
const LENGTH: u64 = 600;

/// Parallel-two-level: four lists.
const PRESET: &str = "p2l4";

/// Phases; the operations of one are offered at once, when those of the one before are done. The last one counts.
type Workload = Vec<Vec<Op>>;

/// A workload's name, and how it is made.
type Named = (&'static str, fn() -> Workload);

const WORKLOADS: [Named; 5] = [
    ("first first", || vec![(0..LENGTH).map(post).collect(), (0..LENGTH).map(arrive).collect()]),
    ("last first", || vec![(0..LENGTH).map(post).collect(), (0..LENGTH).rev().map(arrive).collect()]),
    // 377 and 600 have no common factor, so that every receive has its turn.
    ("scattered", || {
        vec![(0..LENGTH).map(post).collect(), (0..LENGTH).map(|number| arrive(number * 377 % LENGTH)).collect()]
    }),
    // Both queues are deep; each receive finds its message behind all others, and each message its receive.
    ("both ways", || {
        let pairs = (0..LENGTH).rev().flat_map(|number| [post(LENGTH + number), arrive(number)]);
        let messages = (0..LENGTH).map(|number| arrive(LENGTH + number));
        vec![(0..LENGTH).map(post).collect(), messages.collect(), pairs.collect()]
    }),
    // Unexpected messages search while earlier receives are still being posted.
    ("at once", || vec![(0..LENGTH).map(post).chain((0..LENGTH).map(|number| arrive(LENGTH + number))).collect()]),
];

fn envelope(bits: u64) -> Envelope {
    Envelope { bits, initiator: Initiator(1) }
}

fn post(number: u64) -> Op {
    Op::Post { recv: RecvId(number), pattern: Pattern::exactly(envelope(number)) }
}

fn arrive(number: u64) -> Op {
    Op::Arrive { msg: MsgId(number), envelope: envelope(number) }
}

/// Cycles of the last phase, until the hardware rests.
fn cycles(parameters: &HardwareConfig, corrections: Corrections, workload: &Workload) -> u64 {
    let mut machine = SteppedHardware::new(parameters, corrections);
    let mut begin = 0;
    for phase in workload {
        begin = machine.now();
        for op in phase {
            machine.offer(*op);
        }
        while !machine.is_idle() {
            machine.step();
        }
    }
    machine.now() - begin
}

/// One row for each correction alone and for all of them: cycles, and what they add to the design as published.
#[must_use]
pub(crate) fn table() -> String {
    let preset = HardwareConfig::new(&mb_testkit::preset(&ENTRY, PRESET)).expect("a preset is consistent");
    let slow_ages = HardwareConfig { cam_search: preset.cam_search + 1, age_lists: preset.age_lists + 1, ..preset };
    let serial = HardwareConfig { arbiter: Arbiter::Serial, ..preset };
    let mut rows = vec![("none: as published", preset, Corrections::NONE)];
    rows.extend(Hazard::ALL.map(|hazard| (hazard.correction(), preset, Corrections::NONE.with(hazard))));
    rows.push(("all", preset, Corrections::ALL));
    rows.push(("all, and picking the oldest takes a cycle in each level", slow_ages, Corrections::ALL));
    rows.push(("all, one operation at a time", serial, Corrections::ALL));
    let workloads = WORKLOADS.map(|(name, make)| (name, make()));
    let mut table = String::from("| corrected by |");
    for (name, _) in &workloads {
        let _ = write!(table, " {name} | |");
    }
    table.push_str("\n|---|");
    table.push_str(&"---:|---:|".repeat(workloads.len()));
    let published = workloads.each_ref().map(|(_, workload)| cycles(&preset, Corrections::NONE, workload));
    for (name, parameters, corrections) in rows {
        let _ = write!(table, "\n| {name} |");
        for ((_, workload), published) in workloads.iter().zip(published) {
            let cycles = cycles(&parameters, corrections, workload);
            let more = (cycles as f64 / published as f64 - 1.0) * 100.0;
            let _ = write!(table, " {cycles} | {more:+.1} % |");
        }
    }
    table.push('\n');
    table
}

#[expect(clippy::print_stdout, reason = "the example prints its table")]
#[cfg_attr(test, expect(dead_code, reason = "the test calls the table"))]
fn main() {
    print!("{}", table());
}
