// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Curves of figures 6 and 7, from the benchmark on each design.

use mb_core::{Clock, Cycles};
use mb_session::figure5::HEADERS;

use super::processors::Simulated;
use crate::Subject;
use crate::curve::{Curve, CurvePoint, FIGURE5};
use crate::study::{Study, World};
use crate::subject::Point;

/// Bound and match unit in the readings of the paper, the processors under the base assumptions and the fitted ones.
pub(crate) fn curves(study: &Study, subject: &Subject) -> Vec<Curve> {
    let fixed = |design: &str, variant: &str, counts, calibrated, cycles: fn(&Point) -> u64| Curve {
        design: design.to_owned(),
        benchmark: FIGURE5.to_owned(),
        variant: variant.to_owned(),
        counts,
        calibrated,
        points: subject
            .points
            .iter()
            .map(|point| CurvePoint {
                length: point.unit.length,
                percent: point.unit.percent,
                traversed: HEADERS * point.unit.traversed as u64,
                time: subject.clock.span(Cycles(cycles(point))),
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
            let found = curve(study, &study.seen_by(simulated.processor.name(), &world), simulated, subject.clock);
            if !curves.iter().any(|known| known.is(&found)) {
                curves.push(found);
            }
        }
    }
    curves
}

/// The curve of a processor in a world as it sees it.
pub(super) fn curve(study: &Study, world: &World, simulated: &Simulated, clock: Clock) -> Curve {
    let design = simulated.processor.name();
    let base = *world == study.base();
    let points = simulated.runs.iter().flat_map(|run| {
        run.measured().iter().zip(0..).map(|(pass, place)| CurvePoint {
            length: run.length,
            percent: 10 * place,
            traversed: pass.visits,
            time: clock.span(Cycles(pass.cycles)),
        })
    });
    Curve {
        design: design.to_owned(),
        benchmark: FIGURE5.to_owned(),
        variant: study.describe(world),
        counts: base,
        calibrated: !base && *world == study.seen_by(design, &study.fitted()),
        points: points.collect(),
    }
}
