// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Curves of figures 6 and 7, from the benchmark on each design.

use super::processors::Simulated;
use crate::Subject;
use crate::curve::{Curve, CurvePoint};
use crate::study::{Study, World};
use crate::subject::Point;

/// Bound and match unit in the readings of the paper, the processors under the base assumptions and the fitted ones.
pub(crate) fn curves(study: &Study, subject: &Subject) -> Vec<Curve> {
    let fixed = |design, variant: &str, counts, calibrated, cycles: fn(&Point) -> u64| Curve {
        design,
        variant: variant.to_owned(),
        counts,
        calibrated,
        points: subject
            .points
            .iter()
            .map(|point| CurvePoint {
                length: point.unit.length,
                percent: point.unit.percent,
                traversed: point.unit.traversed,
                cycles: cycles(point),
            })
            .collect(),
    };
    let mut curves = vec![
        fixed("bound", "8 + 8 n, as stated", true, false, |point| point.stated),
        fixed("bound", "17 + 8 n, as the percentages imply", false, true, |point| point.reported),
        fixed("unit", "64 headers in a stream", true, false, |point| point.unit.streamed),
        fixed("unit", "headers one by one", false, false, |point| point.unit.one_by_one),
        fixed("unit", "only what section 6.1 counts", false, false, |point| point.counted),
    ];
    let worlds = [(study.base(), Some(&subject.processors)), (study.fitted(), subject.fitted.as_ref())];
    for (world, processors) in worlds {
        for simulated in processors.iter().flat_map(|processors| &processors.simulated) {
            let found = curve(study, &study.seen_by(simulated.processor.name(), &world), simulated);
            if !curves.iter().any(|known| (known.design, &known.variant) == (found.design, &found.variant)) {
                curves.push(found);
            }
        }
    }
    curves
}

/// The curve of a processor in a world as it sees it.
pub(super) fn curve(study: &Study, world: &World, simulated: &Simulated) -> Curve {
    let design = simulated.processor.name();
    let base = *world == study.base();
    let points = simulated.runs.iter().flat_map(|run| {
        run.measured().iter().zip(0..).map(|(pass, place)| CurvePoint {
            length: run.length,
            percent: 10 * place,
            traversed: (pass.visits / pass.headers) as usize,
            cycles: pass.cycles,
        })
    });
    Curve {
        design,
        variant: study.describe(world),
        counts: base,
        calibrated: !base && *world == study.seen_by(design, &study.fitted()),
        points: points.collect(),
    }
}
