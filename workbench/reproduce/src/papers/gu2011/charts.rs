// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Figure 10 in four panels, messages of 1 MB, and the migratory rule.
//!
//! The paper draws reductions. Ours can be negative, and a rise from almost nothing is not a useful percentage, so that
//! times and L1 misses are drawn as what is left, and misses of the L2 as shares of the private and global ones that
//! unmodified MPI has.

use super::model::{Figure10Quantity, KERNELS, LARGE, Model, PATTERNS};
use super::runs::{ChipBenchmark, ChipVariant, Transport};
use crate::chart::{Anchor, Chart, ChartPoint, Series, SeriesForm};
use crate::curve::Limit;
use crate::error::MeasureError;

use Transport::{Base, OptCache, OptCopy, Shm};

const BENCHMARK: &str = "benchmark";
const LEFT: &str = "unmodified MPI = 100 %";
const SHARE: &str = "% of the L2 misses of unmodified MPI";
const UNMODIFIED: &str = "unmodified MPI";

/// A value of a benchmark.
type Measure<'a> = &'a dyn Fn(ChipBenchmark) -> Result<f64, MeasureError>;

/// The models with other assumptions than those by which claims are judged.
fn open(model: &Model) -> Vec<Model> {
    let chip = |change: fn(&mut ChipVariant)| {
        let mut chip = model.chip.clone();
        change(&mut chip);
        model.on(chip)
    };
    vec![
        chip(|chip| chip.core = "inorder"),
        chip(|chip| chip.eager = 32768),
        chip(|chip| chip.offsets = Some((0, 0))),
        chip(|chip| chip.offsets = Some((0, 32))),
        chip(|chip| chip.offsets = Some((8, 40))),
        chip(|chip| "directory=2".clone_into(&mut chip.settings)),
        chip(|chip| "directory=30".clone_into(&mut chip.settings)),
    ]
}

/// All charts. Bars of the benchmarks that were run on other chips have the range over them.
pub(super) fn all(model: &Model) -> Vec<Chart> {
    let benchmarks: Vec<_> = PATTERNS.into_iter().chain(KERNELS).collect();
    let open = open(model);
    let mut charts = Vec::new();
    for (name, what, quantity) in [
        ("gu2011-figure10-time", "execution time", Figure10Quantity::Time),
        ("gu2011-figure10-l1", "L1 misses", Figure10Quantity::L1),
    ] {
        let left = |design| move |benchmark| Ok(100.0 - model.reduction(benchmark, design, quantity)?);
        let (base, copy, cache) = (left(Base), left(OptCopy), left(OptCache));
        let series: [(&str, Measure<'_>); 3] =
            [(Base.name(), &base), (OptCopy.name(), &copy), (OptCache.name(), &cache)];
        let mut chart = bars(name, format!("gu2011 figure 10: {what}"), LEFT, &benchmarks, &series);
        ranges(&mut chart, &benchmarks, &open, &|model, benchmark, transport| {
            Ok(100.0 - model.reduction(benchmark, transport, quantity)?)
        });
        if quantity == Figure10Quantity::L1 {
            anchor(&mut chart, "gu2011.basemoped.l1_imb", &PATTERNS, Limit::Below, &|_| Ok(50.0));
        }
        charts.push(chart);
    }
    for (name, what, quantity) in [
        ("gu2011-figure10-private", "private L2 misses", Figure10Quantity::Private),
        ("gu2011-figure10-global", "global L2 misses", Figure10Quantity::Global),
    ] {
        let of = |transport| move |benchmark| share(model, model, benchmark, transport, quantity);
        let (shm, base, copy, cache) = (of(Shm), of(Base), of(OptCopy), of(OptCache));
        let series: [(&str, Measure<'_>); 4] =
            [(Base.name(), &base), (OptCopy.name(), &copy), (OptCache.name(), &cache), (UNMODIFIED, &shm)];
        let mut chart = bars(name, format!("gu2011 figure 10: {what}"), SHARE, &benchmarks, &series);
        ranges(&mut chart, &benchmarks, &open, &|model, benchmark, transport| {
            share(model, model, benchmark, transport, quantity)
        });
        if quantity == Figure10Quantity::Private {
            let half = |benchmark| Ok(shm(benchmark)? / 2.0);
            anchor(
                &mut chart,
                "gu2011.basemoped.l2p_imb",
                &[PATTERNS[0], PATTERNS[1], PATTERNS[2], PATTERNS[4]],
                Limit::Below,
                &half,
            );
        } else {
            let named = [PATTERNS[0], PATTERNS[1], KERNELS[1], KERNELS[2]];
            anchor(&mut chart, "gu2011.basemoped.global_up", &named, Limit::Above, &shm);
        }
        charts.push(chart);
    }
    let left =
        |design| move |benchmark| Ok(100.0 - model.reduction_from(Base, benchmark, design, Figure10Quantity::Global)?);
    let (copy, cache) = (left(OptCopy), left(OptCache));
    let series: [(&str, Measure<'_>); 2] = [(OptCopy.name(), &copy), (OptCache.name(), &cache)];
    let title = "gu2011 section 6: global L2 misses with messages of 1 MB".to_owned();
    charts.push(bars("gu2011-large-global", title, "BASEMOPED = 100 %", &LARGE, &series));
    charts.push(migratory(model, &benchmarks));
    charts
}

/// Misses of a kind in per cent of the private and global misses of unmodified MPI on the chip of `reference`.
fn share(
    model: &Model,
    reference: &Model,
    benchmark: ChipBenchmark,
    transport: Transport,
    quantity: Figure10Quantity,
) -> Result<f64, MeasureError> {
    let all = reference.count(benchmark, Shm, Figure10Quantity::Private)?
        + reference.count(benchmark, Shm, Figure10Quantity::Global)?;
    Ok(100.0 * model.count(benchmark, transport, quantity)? / all)
}

/// Misses to memory with and without the migratory rule.
fn migratory(model: &Model, benchmarks: &[ChipBenchmark]) -> Chart {
    let without = &model.on(ChipVariant { migratory: false, ..model.chip.clone() });
    let of = |on, transport| move |benchmark| share(on, model, benchmark, transport, Figure10Quantity::Global);
    let (shm, base, shm_without, base_without) = (of(model, Shm), of(model, Base), of(without, Shm), of(without, Base));
    let series: [(&str, Measure<'_>); 4] = [
        (UNMODIFIED, &shm),
        ("BASEMOPED", &base),
        ("unmodified MPI, without the rule", &shm_without),
        ("BASEMOPED, without the rule", &base_without),
    ];
    let title = "gu2011 section 6: global L2 misses with and without the migratory read rule".to_owned();
    bars("gu2011-migratory", title, SHARE, benchmarks, &series)
}

/// Bars for the benchmarks that have every value.
fn bars(
    name: &'static str,
    title: String,
    y: &'static str,
    benchmarks: &[ChipBenchmark],
    all: &[(&str, Measure<'_>)],
) -> Chart {
    let present: Vec<_> =
        benchmarks.iter().copied().filter(|&benchmark| all.iter().all(|(_, of)| of(benchmark).is_ok())).collect();
    let series = all
        .iter()
        .map(|(name, of)| {
            let point =
                |(x, &benchmark): (u32, &ChipBenchmark)| Some(ChartPoint::new(f64::from(x), of(benchmark).ok()?));
            let points = (0..).zip(&present).filter_map(point).collect();
            Series { name: (*name).to_owned(), counts: true, points, level: None }
        })
        .collect();
    let positions = present.iter().map(|benchmark| benchmark.name()).collect();
    Chart { name, title, x: BENCHMARK, y, form: SeriesForm::Bars, positions, series, anchors: Vec::new() }
}

/// Gives each bar the lowest and the highest value on `models`, as far as they were run.
fn ranges(
    chart: &mut Chart,
    benchmarks: &[ChipBenchmark],
    models: &[Model],
    of: &dyn Fn(&Model, ChipBenchmark, Transport) -> Result<f64, MeasureError>,
) {
    for series in &mut chart.series {
        let transport = Transport::DESIGNS.into_iter().find(|design| design.name() == series.name).unwrap_or(Shm);
        for point in &mut series.points {
            let name = &chart.positions[point.x as usize];
            let Some(benchmark) = benchmarks.iter().find(|benchmark| benchmark.name() == *name) else { continue };
            let values: Vec<f64> = models.iter().filter_map(|model| of(model, *benchmark, transport).ok()).collect();
            if !values.is_empty() {
                let widened = |(low, high): (f64, f64), value: f64| (low.min(value), high.max(value));
                point.range = Some(values.into_iter().fold((point.y, point.y), widened));
            }
        }
    }
}

/// A limit of BASEMOPED's bars of some benchmarks.
fn anchor(chart: &mut Chart, claim: &'static str, benchmarks: &[ChipBenchmark], limit: Limit, of: Measure<'_>) {
    for benchmark in benchmarks {
        let place = (0u32..).zip(&chart.positions).find(|(_, name)| **name == benchmark.name());
        if let (Some((x, _)), Ok(value)) = (place, of(*benchmark)) {
            chart.anchors.push(Anchor {
                claim,
                series: Base.name().to_owned(),
                x: f64::from(x),
                value,
                is_ratio: true,
                limit,
            });
        }
    }
}
