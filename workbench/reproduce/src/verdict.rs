// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The rules by which a measured value agrees with a published one: holds, near or differs.
//!
//! | precision | holds | near |
//! |---|---|---|
//! | `exact` | equal | never |
//! | `rounded`, cycle by cycle | equal to the printed digits | within 10 % |
//! | `rounded`, processor models | within 10 % | within 25 % |
//! | `approx` | within 25 % | within 50 % |
//! | `at-least`, `at-most` | the limit is kept | missed by 10 % at most |
//! | `range` | the two ranges overlap | they miss each other by 10 % at most |
//! | `ordinal`, words | what they say is so | never |

use std::fmt;

use crate::error::Mismatch;
use crate::formula;
use crate::ledger::{APPROX, Claim, ClaimedValue, Method, Precision};

/// The value that a model gives.
#[derive(Clone, PartialEq, Debug)]
pub enum Measured {
    /// A number.
    Number(f64),
    /// Several numbers.
    Numbers(Vec<f64>),
    /// From the lowest to the highest.
    Range(f64, f64),
    /// Values of a formula: n and what was measured there.
    Series(Vec<(i64, i64)>),
    /// The behaviour of the model, in words of a table.
    Text(String),
    /// Whether what the claim says is so, and what shows it.
    Fact(bool, String),
}

impl Measured {
    /// The number, if it is one.
    #[must_use]
    pub const fn as_number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }
}

impl fmt::Display for Measured {
    /// As tables show it: numbers with four digits, a linear series as its formula.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => out.write_str(&short(*number)),
            Self::Numbers(numbers) => {
                out.write_str(&numbers.iter().map(|number| short(*number)).collect::<Vec<_>>().join(", "))
            }
            Self::Range(low, high) => write!(out, "{} to {}", short(*low), short(*high)),
            Self::Series(points) => out.write_str(&line(points)),
            Self::Text(text) | Self::Fact(_, text) => out.write_str(text),
        }
    }
}

/// A whole number whole, another with four digits.
pub(crate) fn short(number: f64) -> String {
    if number.fract() == 0.0 || !number.is_finite() {
        return format!("{number}");
    }
    let before = number.abs().log10().floor() as i32 + 1;
    let digits = usize::try_from(4 - before).unwrap_or_default();
    format!("{number:.digits$}")
}

/// The formula that a series follows if it is linear, or its ends.
fn line(points: &[(i64, i64)]) -> String {
    let (Some(first), Some(last)) = (points.iter().min(), points.iter().max()) else { return "no points".to_owned() };
    let span = last.0 - first.0;
    if span > 0 && (last.1 - first.1) % span == 0 {
        let slope = (last.1 - first.1) / span;
        let fixed = first.1 - slope * first.0;
        if points.iter().all(|(n, value)| *value == fixed + slope * n) {
            return format!("{fixed} + {slope}*n");
        }
    }
    format!("{} at n = {} to {} at n = {}", first.1, first.0, last.1, last.0)
}

/// The result of comparing a measurement with a claim.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// As close as its precision asks.
    Holds,
    /// Not as close, but not far off.
    Near,
    /// Otherwise.
    Differs,
    /// There is no model to measure.
    NotTestable,
}

impl Verdict {
    /// Every verdict, the best first.
    pub const ALL: [Self; 4] = [Self::Holds, Self::Near, Self::Differs, Self::NotTestable];

    /// The word in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Near => "near",
            Self::Differs => "differs",
            Self::NotTestable => "not testable",
        }
    }
}

/// A verdict with the deviation that it rests on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// Ours over published less one, where both are numbers and published is not zero.
    pub error: Option<f64>,
}

const ROUNDED_CPU: f64 = 0.10;
const NEAR: f64 = 0.10;
const NEAR_CPU: f64 = 0.25;
const NEAR_APPROX: f64 = 0.50;

/// Judges what was measured for `claim`.
///
/// # Errors
/// When the two are of different forms, which is a mistake in the registry or in the ledger.
pub fn judge(claim: &Claim, measured: &Measured) -> Result<Judged, Mismatch> {
    let plain = |holds: bool| Judged { verdict: if holds { Verdict::Holds } else { Verdict::Differs }, error: None };
    Ok(match (&claim.value, measured) {
        (ClaimedValue::Number(published, digits), Measured::Number(found)) => {
            number(claim, *published, *digits, *found)
        }
        (ClaimedValue::Numbers(published), Measured::Numbers(found)) => plain(published == found),
        (ClaimedValue::Limit { limit, inclusive, lowest }, Measured::Number(found)) => {
            let kept = match (lowest, inclusive) {
                (true, true) => found >= limit,
                (true, false) => found > limit,
                (false, true) => found <= limit,
                (false, false) => found < limit,
            };
            graded(kept, relative(*found, *limit), NEAR)
        }
        (ClaimedValue::Range(low, high), Measured::Range(..) | Measured::Number(_)) => {
            let (found_low, found_high) = match *measured {
                Measured::Range(from, to) => (from, to),
                Measured::Number(number) => (number, number),
                _ => return Err(mismatch(claim, measured)),
            };
            let error = if found_low > *high {
                relative(found_low, *high)
            } else if found_high < *low {
                relative(found_high, *low)
            } else {
                Some(0.0)
            };
            graded(found_low <= *high && found_high >= *low, error, NEAR)
        }
        (ClaimedValue::Text(text), Measured::Series(points)) => {
            let mut worst: f64 = 0.0;
            let mut equal = !points.is_empty();
            for &(n, found) in points {
                let published = formula::at(text, n).ok_or_else(|| mismatch(claim, measured))?;
                equal &= found == published;
                let error = relative(found as f64, published as f64).unwrap_or(f64::INFINITY);
                if error.abs() > worst.abs() {
                    worst = error;
                }
            }
            Judged { error: Some(worst), ..plain(equal) }
        }
        (ClaimedValue::Text(_), Measured::Fact(so, _)) => plain(*so),
        (ClaimedValue::Text(published), Measured::Text(found)) => plain(published == found),
        _ => return Err(mismatch(claim, measured)),
    })
}

fn number(claim: &Claim, published: f64, digits: usize, found: f64) -> Judged {
    let error = relative(found, published);
    let within = |tolerance: f64| error.is_some_and(|error| error.abs() <= tolerance);
    match claim.precision {
        Precision::Rounded if claim.testable_by == Method::CpuModel => graded(within(ROUNDED_CPU), error, NEAR_CPU),
        Precision::Rounded => graded(format!("{found:.digits$}") == format!("{published:.digits$}"), error, NEAR),
        Precision::Approx => graded(within(APPROX), error, NEAR_APPROX),
        // Exact; the others have no plain number as value.
        _ => Judged { verdict: if equal(found, published) { Verdict::Holds } else { Verdict::Differs }, error },
    }
}

fn graded(holds: bool, error: Option<f64>, near: f64) -> Judged {
    let verdict = match error {
        _ if holds => Verdict::Holds,
        Some(error) if error.abs() <= near => Verdict::Near,
        _ => Verdict::Differs,
    };
    Judged { verdict, error }
}

#[expect(clippy::float_cmp, reason = "an exact claim is about counts, which floats hold exactly")]
fn equal(found: f64, published: f64) -> bool {
    found == published
}

/// Ours over published less one; zero if both are zero.
fn relative(found: f64, published: f64) -> Option<f64> {
    if published == 0.0 { (found == 0.0).then_some(0.0) } else { Some(found / published - 1.0) }
}

fn mismatch(claim: &Claim, measured: &Measured) -> Mismatch {
    Mismatch { id: claim.id.clone(), value: format!("`{}`", claim.value), measured: format!("{measured:?}") }
}
