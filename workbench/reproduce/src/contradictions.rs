// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where a paper says two things that do not go together: both, what each comes to on our models, and which of them counts.
//!
//! Numbers go on from those of hemmert2007, 1 to 8, whose two ways to count cycles are readings of its claims.

use crate::MeasureError;
use crate::registry::{Measurable, Reading, Test};
use crate::report::ReproduceError;

/// Two statements of one paper, or of two, that contradict each other.
#[derive(Clone, Copy, Debug)]
pub struct Contradiction<S: 'static> {
    /// Its number, as in `docs/reproduce.md`.
    pub number: u32,
    /// Where in the paper.
    pub place: &'static str,
    /// What is said there.
    pub says: [&'static str; 2],
    /// What comes of each on the models, in that order, or why that cannot be tested.
    pub test: Test<S>,
    /// Which of them counts, and why.
    pub counts: &'static str,
}

/// A contradiction with what came of it.
#[derive(Clone, PartialEq, Debug)]
pub struct Contradicted {
    /// Its number.
    pub number: u32,
    /// Where in the paper.
    pub place: &'static str,
    /// What is said there.
    pub says: [&'static str; 2],
    /// What comes of each; none if it cannot be tested.
    pub readings: Vec<Reading>,
    /// Which of them counts and why, or why it cannot be tested.
    pub counts: String,
}

/// Every contradiction of the paper that `S` belongs to, measured on `subject`.
///
/// # Errors
/// When a measurement cannot be made.
pub fn contradictions<S: Measurable>(subject: &S) -> Result<Vec<Contradicted>, ReproduceError> {
    let measured = |contradiction: &Contradiction<S>| {
        let Contradiction { number, place, says, counts, .. } = *contradiction;
        let (readings, counts) = match contradiction.test {
            Test::Cannot(why) => (Vec::new(), format!("not testable: {why}; {counts}")),
            Test::Measure(measure) | Test::Shown(measure, _) => {
                let failed =
                    |error| ReproduceError::Measure { id: format!("contradiction {number}"), error: Box::new(error) };
                (measure(subject).map_err(failed)?, counts.to_owned())
            }
        };
        Ok(Contradicted { number, place, says, readings, counts })
    };
    S::CONTRADICTIONS.iter().map(measured).collect()
}

/// Both statements in numbers, or in words.
#[expect(clippy::unnecessary_wraps, reason = "the form of every measurement")]
pub(crate) fn both(
    first: (&'static str, String),
    second: (&'static str, String),
) -> Result<Vec<Reading>, MeasureError> {
    let reading = |(name, shown)| Reading::new(name, crate::verdict::Measured::Text(shown));
    Ok(vec![reading(first), reading(second)])
}
