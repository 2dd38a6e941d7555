// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Section V-A1: the preposted latency benchmark, of which only the cycles of a search can be
//! compared.

use mb_core::ParameterSet;
use mb_core::engine::Engine;

use super::designs::Designs;
use super::single_operations::{Served, SingleOperations, arrive, post};
use crate::claim_test::{ClaimTest, Interpretations, fact, measure, number};
use crate::error::MeasureError;

pub(super) const TESTS: &[ClaimTest<Designs>] = &[
    measure("xiong2018.bench.preposted", benchmark),
    measure("xiong2018.lat.constant_region", |designs: &Designs| {
        let mut shown = Vec::new();
        let mut constant = true;
        for settings in designs.all() {
            let mut cycles = (1..=256).map(|length| Ok(preposted(settings, length)?.cycles));
            let first: u64 = cycles.next().unwrap_or(Err(MeasureError::NotSeen("the first depth")))?;
            constant &= cycles.collect::<Result<Vec<_>, MeasureError>>()?.iter().all(|cycles| *cycles == first);
            shown.push(first.to_string());
        }
        fact(constant, format!("{} cycles at 1 to 256 entries", shown.join(", ")))
    }),
    measure("xiong2018.lat.linear_beyond", linear),
    measure("xiong2018.p2l.latency_1_over_n", |designs: &Designs| {
        let walks = designs.all().map(|settings| walk(settings, 33_024));
        let [one, four, many] = walks;
        let [four, many] = [one.clone()? as f64 / four? as f64, one? as f64 / many? as f64];
        let lists = |settings: &ParameterSet| settings.typed::<mb_cam_list::CamListParameters>().lists as f64;
        let fits = |ratio: f64, settings| (ratio - lists(settings)).abs() < 1e-9;
        fact(
            fits(four, &designs.p2l4) && fits(many, &designs.p2l64),
            format!("1/{four} and 1/{many} for the last entry"),
        )
    }),
    measure("xiong2018.lat.two_level_cycles_257", |designs: &Designs| number(walk(&designs.two_level, 257)? as f64)),
    measure("xiong2018.lat.two_level_cycles_500", |designs: &Designs| number(walk(&designs.two_level, 500)? as f64)),
    measure("xiong2018.lat.two_level_cycles_1000", |designs: &Designs| number(walk(&designs.two_level, 1000)? as f64)),
    measure("xiong2018.lat.two_level_cycles_10000", |designs: &Designs| {
        number(walk(&designs.two_level, 10_000)? as f64)
    }),
    measure("xiong2018.lat.two_level_cycles_33024", |designs: &Designs| {
        number(walk(&designs.two_level, 33_024)? as f64)
    }),
    measure("xiong2018.lat.p2l4_cycles_257", |designs: &Designs| number(walk(&designs.p2l4, 257)? as f64)),
    measure("xiong2018.lat.p2l4_cycles_500", |designs: &Designs| number(walk(&designs.p2l4, 500)? as f64)),
    measure("xiong2018.lat.p2l4_cycles_1000", |designs: &Designs| number(walk(&designs.p2l4, 1000)? as f64)),
    measure("xiong2018.lat.p2l4_cycles_10000", |designs: &Designs| number(walk(&designs.p2l4, 10_000)? as f64)),
    measure("xiong2018.lat.p2l4_cycles_33024", |designs: &Designs| number(walk(&designs.p2l4, 33_024)? as f64)),
    measure("xiong2018.lat.p2l64_cycles_257", |designs: &Designs| number(walk(&designs.p2l64, 257)? as f64)),
    measure("xiong2018.lat.p2l64_cycles_500", |designs: &Designs| number(walk(&designs.p2l64, 500)? as f64)),
    measure("xiong2018.lat.p2l64_cycles_1000", |designs: &Designs| number(walk(&designs.p2l64, 1000)? as f64)),
    measure("xiong2018.lat.p2l64_cycles_10000", |designs: &Designs| number(walk(&designs.p2l64, 10_000)? as f64)),
    measure("xiong2018.lat.p2l64_cycles_33024", |designs: &Designs| number(walk(&designs.p2l64, 33_024)? as f64)),
    measure("xiong2018.lat.freq_tradeoff", |designs: &Designs| {
        let mut times = Vec::new();
        for settings in designs.all() {
            let mut run = SingleOperations::with_receives(settings, 200)?;
            let offered = run.now;
            times.push((run.serve(arrive(200))?.completion.at - offered).0);
        }
        let shown: Vec<_> = times.iter().map(|ps| format!("{:.1} ns", *ps as f64 / 1e3)).collect();
        fact(times.is_sorted() && times[0] < times[2], format!("{} at 200 entries", shown.join(", ")))
    }),
];

/// The match of the last of `length` receives.
fn preposted(settings: &ParameterSet, length: u64) -> Result<Served, MeasureError> {
    SingleOperations::with_receives(settings, length)?.serve(arrive(length))
}

/// Cycles of steps along the lists, of that match.
fn walk(settings: &ParameterSet, length: u64) -> Result<u64, MeasureError> {
    Ok(preposted(settings, length)?.walking)
}

fn benchmark(designs: &Designs) -> Interpretations {
    const LENGTH: u64 = 1000;
    let mut run = SingleOperations::with_receives(&designs.two_level, LENGTH - 1)?;
    let before = run.engine.queue_lengths().posted;
    run.serve(post(LENGTH))?;
    run.serve(arrive(LENGTH))?;
    let after = run.engine.queue_lengths().posted;
    let (completed, receives) = (run.counters().completed, LENGTH as usize - 1);
    fact(
        before == receives && after == receives && completed == 1,
        format!("{before} receives before the measured one at depth {LENGTH}, {after} after it"),
    )
}

/// Every row of a list costs three cycles more than the row before.
fn linear(designs: &Designs) -> Interpretations {
    let mut slopes = Vec::new();
    let mut linear = true;
    for settings in designs.all() {
        let lists = settings.typed::<mb_cam_list::CamListParameters>().lists as u64;
        let rows = (0..20).map(|row| walk(settings, 256 + 1 + row * lists)).collect::<Result<Vec<_>, _>>()?;
        let steps: Vec<_> = rows.windows(2).map(|pair| pair[1] - pair[0]).collect();
        linear &= steps.iter().all(|step| *step == 3) && rows[0] == 3;
        slopes.push(format!("{} per {lists}", steps[0]));
    }
    fact(linear, format!("cycles per entries: {}", slopes.join(", ")))
}
