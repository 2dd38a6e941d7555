// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Points of figures 6 and 7 that the paper's text states; the figures are not available as text.
//!
//! A claim compares with the bound or with the match unit, whose cycles the paper counts in two
//! ways; both are taken, so that a data point reaches from the lowest to the highest that
//! precision and interpretations leave.

use super::figure5::{FIGURE5, HEADERS, LENGTHS};
use mb_core::{Clock, Cycles};

use crate::curve::{DataPoint, Limit};
use crate::ledger::Claim;

/// Cycles for a header of the bound and of the match unit, both besides 8 for each item: as section
/// 6.1 counts, and as its percentages and section 4.3 imply.
const BOUND: [f64; 2] = [8.0, 17.0];
const UNIT: [f64; 2] = [14.0, 23.0];

/// The quantity of a claim.
#[derive(Clone, Copy)]
enum ClaimQuantity {
    /// The bound's time over the design's.
    ShareOfBound,
    /// The part of the design's time beyond the bound.
    Overhead,
    /// The design's time over the match unit's.
    TimesUnit,
}

/// Every data point that `claims` give; a claim that is not there gives none.
pub(crate) fn data_points(claims: &[Claim], clock: Clock) -> Vec<DataPoint> {
    let mut found = Vec::new();
    let mut number = |id, design, length, n, of| {
        let claim = claims.iter().find(|claim| claim.id == id);
        found.extend(claim.and_then(|claim| by_number(claim, id, design, length, n, of)));
    };
    for length in LENGTHS {
        number("hemmert2007.mu.overhead_start", "unit", length, 1, ClaimQuantity::Overhead);
        number("hemmert2007.mu.speedup_1_conclusion", "ppc440", length, 1, ClaimQuantity::TimesUnit);
    }
    number("hemmert2007.mu.fraction_of_hw_10", "unit", 10, 10, ClaimQuantity::ShareOfBound);
    number("hemmert2007.ppc440.fraction_of_hw_10", "ppc440", 10, 10, ClaimQuantity::ShareOfBound);
    number("hemmert2007.mt16.fraction_of_hw_10", "mt16", 10, 10, ClaimQuantity::ShareOfBound);
    number("hemmert2007.mu.overhead_30", "unit", 30, 30, ClaimQuantity::Overhead);
    number("hemmert2007.mu.speedup_30", "mt16", 30, 30, ClaimQuantity::TimesUnit);
    let limits = [
        ("hemmert2007.mt16.approaches_mu_100", "mt16", 100, UNIT, Limit::Above),
        ("hemmert2007.mt2.approaches_mu_300", "mt2", 300, UNIT, Limit::Above),
        ("hemmert2007.mt16.exceeds_hw_300", "mt16", 300, BOUND, Limit::Below),
    ];
    for (claim, design, length, fixed, limit) in limits {
        if claims.iter().any(|known| known.id == claim) {
            let [value, high] = fixed.map(|fixed| cycles(fixed, length));
            found.push(DataPoint {
                claim: claim.to_owned(),
                design: design.to_owned(),
                benchmark: FIGURE5.to_owned(),
                length,
                percent: 100,
                low: value,
                value,
                high,
                limit,
            });
        }
    }
    let period = clock.span(Cycles(1)).as_ns();
    for data_point in &mut found {
        for cycles in [&mut data_point.low, &mut data_point.value, &mut data_point.high] {
            *cycles *= period;
        }
    }
    found
}

/// Cycles of all matches at depth `n`.
fn cycles(fixed: f64, n: usize) -> f64 {
    HEADERS as f64 * (fixed + 8.0 * n as f64)
}

/// In cycles.
fn by_number(claim: &Claim, id: &str, design: &str, length: usize, n: usize, of: ClaimQuantity) -> Option<DataPoint> {
    let (value, error) = claim.number()?;
    let times = |fixed: [f64; 2], value: f64| {
        fixed.map(|fixed| match of {
            ClaimQuantity::ShareOfBound => cycles(fixed, n) / value,
            ClaimQuantity::Overhead => cycles(fixed, n) / (1.0 - value),
            ClaimQuantity::TimesUnit => cycles(fixed, n) * value,
        })
    };
    let fixed = if matches!(of, ClaimQuantity::TimesUnit) { UNIT } else { BOUND };
    let all = [times(fixed, value - error), times(fixed, value + error)].concat();
    Some(DataPoint {
        claim: id.to_owned(),
        design: design.to_owned(),
        benchmark: FIGURE5.to_owned(),
        length,
        percent: if n == 1 { 0 } else { 100 },
        low: all.iter().copied().fold(f64::INFINITY, f64::min),
        value: times(fixed, value)[0],
        high: all.iter().copied().fold(0.0, f64::max),
        limit: Limit::At,
    })
}
