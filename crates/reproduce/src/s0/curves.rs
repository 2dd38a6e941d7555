// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Curves of figures 6 and 7, from the benchmark on each design.

use crate::Subject;
use crate::curve::{Curve, CurvePoint};
use crate::subject::Point;

/// Every curve: bound and match unit in the readings of the paper.
pub(crate) fn curves(subject: &Subject) -> Vec<Curve> {
    let curve = |design, variant: &str, counts, calibrated, cycles: fn(&Point) -> u64| Curve {
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
    vec![
        curve("bound", "8 + 8 n, as stated", true, false, |point| point.stated),
        curve("bound", "17 + 8 n, as the percentages imply", false, true, |point| point.reported),
        curve("unit", "64 headers in a stream", true, false, |point| point.unit.streamed),
        curve("unit", "headers one by one", false, false, |point| point.unit.one_by_one),
        curve("unit", "only what section 6.1 counts", false, false, |point| point.counted),
    ]
}
