// SPDX-License-Identifier: Apache-2.0 OR MIT
//! S0 (`000_491b57cae24201eb.txt`): the microcoded match unit, its list manager and the hardware bound.
//!
//! Its two ways of counting cycles contradict each other, so the claims about time have several readings; the one that
//! counts is the benchmark as figure 5 runs it, with nothing left out, against the bound that section 6.1 states.

mod anchors;
mod curves;
mod lists;
mod program;
mod timing;
mod unit;

pub(crate) use anchors::anchors;
pub(crate) use curves::curves;

use crate::registry::{Entry, cannot};

/// What a claim needs that compares with the processors.
const PROCESSORS: &str = "compares with processors, whose models do not exist yet";

/// Every entry, subject by subject.
pub(crate) const ENTRIES: &[&[Entry]] =
    &[unit::ENTRIES, program::ENTRIES, lists::ENTRIES, timing::ENTRIES, WITHOUT_MEASUREMENT];

const WITHOUT_MEASUREMENT: &[Entry] = &[
    cannot(
        "s0.match.predicate_order",
        "all tests must hold for a match, so their order shows in no answer; s0.match.fail_anywhere checks each of them",
    ),
    cannot(
        "s0.lm.success_outputs",
        "the model ends at the answer: it builds no DMA command and raises no event; the answer is s0.match.outputs",
    ),
    cannot("s0.area.t4_mu_cores", "a heading of table 4; no run can show another number"),
    cannot("s0.ppc440.membw_ratio", PROCESSORS),
    cannot("s0.mt16.membw_ratio", PROCESSORS),
    cannot("s0.area.t4_ppc440_cores", PROCESSORS),
    cannot("s0.area.t4_mt1_cores", PROCESSORS),
    cannot("s0.area.t4_mt2_cores", PROCESSORS),
    cannot("s0.area.t4_mt16_cores", PROCESSORS),
    cannot("s0.all.fixed_overhead_order", PROCESSORS),
    cannot("s0.mu.speedup_10", PROCESSORS),
    cannot("s0.mu.speedup_10_partial", PROCESSORS),
    cannot("s0.mu.speedup_30", PROCESSORS),
    cannot("s0.mu.speedup_1_conclusion", PROCESSORS),
    cannot("s0.mu.speedup_10_conclusion", PROCESSORS),
    cannot("s0.mu.units_compute", "counts the blocks of figure 3, which only a circuit has; the slots are s0.mu.slots"),
    cannot("s0.mu.units_memory", "counts the blocks of figure 3, which only a circuit has"),
    cannot(
        "s0.mu.units_transfer",
        "counts the blocks of figure 3, which only a circuit has; the slots are s0.mu.slots",
    ),
    cannot("s0.mu.pred_timing", "the model executes a word whole; what happens in which stage shows in a circuit only"),
    cannot("s0.mu.simulator", "about the authors' tool"),
];
