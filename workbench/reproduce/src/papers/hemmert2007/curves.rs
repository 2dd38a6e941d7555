// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Curves of figures 6 and 7, from the benchmark on each design.

use super::figure5::{FIGURE5, HEADERS};
use mb_core::{Clock, Cycles};

use super::Subject;
use super::processors::Simulated;
use super::subject::Point;
use crate::curve::{Curve, CurvePoint};
use crate::study::{AssumptionSet, Study};

/// Bound and match unit in the interpretations of the paper, the processors under the baseline
/// assumptions and the fitted ones.
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
                length: point.length,
                percent: point.percent,
                traversed: HEADERS * point.traversed as u64,
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
    let sets = [(study.baseline(), Some(&subject.processors)), (study.fitted(), subject.fitted.as_ref())];
    for (set, processors) in sets {
        for simulated in processors.iter().flat_map(|processors| &processors.simulated) {
            let found = curve(study, &study.seen_by(simulated.processor.name(), &set), simulated, subject.clock);
            if !curves.iter().any(|known| known.is(&found)) {
                curves.push(found);
            }
        }
    }
    curves
}

/// The curve of a processor under the assumptions that matter to it.
pub(super) fn curve(study: &Study, set: &AssumptionSet, simulated: &Simulated, clock: Clock) -> Curve {
    let design = simulated.processor.name();
    let baseline = *set == study.baseline();
    let points = simulated.runs.iter().flat_map(|run| {
        run.points().map(|point| CurvePoint {
            length: run.length,
            percent: point.percent,
            traversed: point.pass.visits,
            time: clock.span(Cycles(point.pass.cycles)),
        })
    });
    Curve {
        design: design.to_owned(),
        benchmark: FIGURE5.to_owned(),
        variant: study.describe(set),
        counts: baseline,
        calibrated: !baseline && *set == study.seen_by(design, &study.fitted()),
        points: points.collect(),
    }
}
