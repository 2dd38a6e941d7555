// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Section V-A2: a queue is filled, then unloaded from the last entry on.

use mb_cam_list::{Corrections, HardwareConfig, SteppedHardware};
use mb_catalog::CatalogError;
use mb_core::engine::Engine;
use mb_core::{Outcome, ParameterSet, RecvId};

use super::designs::Designs;
use super::single_operations::{SingleOperations, arrive, post};
use crate::claim_test::{ClaimTest, Interpretation, Interpretations, fact, measure, number};
use crate::error::MeasureError;
use crate::verdict::Measured;

const LEVEL: &str = "cycles of the level that has the entry";
const WHOLE: &str = "with the CAM's cycle before each walk";

pub(super) const TESTS: &[ClaimTest<Designs>] = &[
    measure("xiong2018.bench.unload", benchmark),
    measure("xiong2018.unload.two_level_cycles_256", |designs: &Designs| unloaded(&designs.two_level, 256)),
    measure("xiong2018.unload.two_level_cycles_500", |designs: &Designs| unloaded(&designs.two_level, 500)),
    measure("xiong2018.unload.two_level_cycles_1000", |designs: &Designs| unloaded(&designs.two_level, 1000)),
    measure("xiong2018.unload.two_level_cycles_10000", |designs: &Designs| unloaded(&designs.two_level, 10_000)),
    measure("xiong2018.unload.two_level_cycles_30000", |designs: &Designs| unloaded(&designs.two_level, 30_000)),
    measure("xiong2018.unload.p2l4_cycles_256", |designs: &Designs| unloaded(&designs.p2l4, 256)),
    measure("xiong2018.unload.p2l4_cycles_500", |designs: &Designs| unloaded(&designs.p2l4, 500)),
    measure("xiong2018.unload.p2l4_cycles_1000", |designs: &Designs| unloaded(&designs.p2l4, 1000)),
    measure("xiong2018.unload.p2l4_cycles_10000", |designs: &Designs| unloaded(&designs.p2l4, 10_000)),
    measure("xiong2018.unload.p2l4_cycles_30000", |designs: &Designs| unloaded(&designs.p2l4, 30_000)),
    measure("xiong2018.unload.p2l64_cycles_256", |designs: &Designs| unloaded(&designs.p2l64, 256)),
    measure("xiong2018.unload.p2l64_cycles_500", |designs: &Designs| unloaded(&designs.p2l64, 500)),
    measure("xiong2018.unload.p2l64_cycles_1000", |designs: &Designs| unloaded(&designs.p2l64, 1000)),
    measure("xiong2018.unload.p2l64_cycles_10000", |designs: &Designs| unloaded(&designs.p2l64, 10_000)),
    measure("xiong2018.unload.p2l64_cycles_30000", |designs: &Designs| unloaded(&designs.p2l64, 30_000)),
];

/// Cycles of all searches. The ledger counts a walk without the search of the CAM that found
/// nothing.
fn unloaded(settings: &ParameterSet, length: u64) -> Interpretations {
    let mut run = SingleOperations::with_receives(settings, length)?;
    let (mut level, mut whole) = (0, 0);
    for number in (1..=length).rev() {
        let served = run.serve(arrive(number))?;
        level += if served.walking > 0 { served.walking } else { served.searching };
        whole += served.searching;
    }
    if run.engine.queue_lengths() != mb_core::QueueLengths::default() {
        return Err(MeasureError::NotSeen("the empty queue"));
    }
    if level == whole {
        return number(level as f64);
    }
    Ok(vec![
        Interpretation::new(LEVEL, Measured::Number(level as f64)),
        Interpretation::new(WHOLE, Measured::Number(whole as f64)),
    ])
}

/// On the stepped hardware, with a wait for the count of all.
fn benchmark(designs: &Designs) -> Interpretations {
    const LENGTH: u64 = 400;
    let parameters = HardwareConfig::new(&designs.p2l4.typed())
        .map_err(|error| CatalogError::Parameter { engine: mb_cam_list::ENTRY.card.name, error })?;
    let mut machine = SteppedHardware::new(&parameters, Corrections::ALL);
    for number in 1..=LENGTH {
        machine.offer(post(number));
    }
    for number in (1..=LENGTH).rev() {
        machine.offer(arrive(number));
    }
    let ended = machine.wait(LENGTH);
    let matched = machine.done().iter().filter_map(|done| match done.outcome {
        Outcome::Matched(recv, _) => Some((done.at, recv)),
        _ => None,
    });
    let (times, order): (Vec<_>, Vec<_>) = matched.unzip();
    let last_first = order == (1..=LENGTH).rev().map(RecvId).collect::<Vec<_>>();
    fact(
        last_first && ended.is_some() && times.last() == ended.as_ref(),
        format!("{} of {LENGTH} matched, the last first; the wait ends with the last match", order.len()),
    )
}
