// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Hemmert et al. (`hemmert2007`): the microcoded match unit, its list manager and the hardware bound.
//!
//! Its two ways of counting cycles contradict each other, so the claims about time have several readings; the one that
//! counts is the benchmark as figure 5 runs it, with nothing left out, against the bound that section 6.1 states.

mod anchors;
mod band;
mod comparison;
mod curves;
mod lists;
mod parameters;
mod processors;
mod program;
mod silicon;
mod tables;
mod timing;
mod unit;
mod watch;

pub(crate) use anchors::anchors;
pub use band::{Agreement, Answer, Band, band};
pub(crate) use curves::curves;
pub use parameters::Parameter;
pub(crate) use parameters::parameters;
pub use processors::{Build, Pass, Processor, Run, Setup, Simulated};
pub use silicon::Silicon;
pub(crate) use silicon::silicon;

use crate::registry::{Entry, cannot};

/// Every entry, subject by subject.
pub(crate) const ENTRIES: &[&[Entry]] = &[
    unit::ENTRIES,
    program::ENTRIES,
    lists::ENTRIES,
    timing::ENTRIES,
    tables::EMBEDDED,
    tables::MT1,
    tables::MT2,
    tables::MT16,
    tables::BENCHMARK,
    comparison::ENTRIES,
    silicon::ENTRIES,
    WITHOUT_MEASUREMENT,
];

const WITHOUT_MEASUREMENT: &[Entry] = &[
    cannot(
        "hemmert2007.match.predicate_order",
        "all tests must hold for a match, so their order shows in no answer; hemmert2007.match.fail_anywhere checks each of them",
    ),
    cannot(
        "hemmert2007.lm.success_outputs",
        "the model ends at the answer: it builds no DMA command and raises no event; the answer is hemmert2007.match.outputs",
    ),
    cannot("hemmert2007.area.t4_mu_cores", "a heading of table 4; no run can show another number"),
    cannot("hemmert2007.area.t4_mu_rel", "the match unit over itself; no estimate can show another number"),
    cannot("hemmert2007.fpga.mhz", "no circuit yet: a clock needs RTL and a device"),
    cannot("hemmert2007.fpga.asic_mhz", "five times a clock that needs RTL and a device"),
    cannot(
        "hemmert2007.mu.units_compute",
        "counts the blocks of figure 3, which only a circuit has; the slots are hemmert2007.mu.slots",
    ),
    cannot("hemmert2007.mu.units_memory", "counts the blocks of figure 3, which only a circuit has"),
    cannot(
        "hemmert2007.mu.units_transfer",
        "counts the blocks of figure 3, which only a circuit has; the slots are hemmert2007.mu.slots",
    ),
    cannot(
        "hemmert2007.mu.pred_timing",
        "the model executes a word whole; what happens in which stage shows in a circuit only",
    ),
    cannot("hemmert2007.mu.simulator", "about the authors' tool"),
];
