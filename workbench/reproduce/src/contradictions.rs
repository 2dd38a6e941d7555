// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where a paper contradicts itself: both statements, the models' result for each, and which of
//! them counts.
//!
//! Numbers go on from those of hemmert2007, 1 to 8, whose two ways to count cycles are
//! interpretations of its claims.

use crate::claim_test::{Interpretation, Procedure};
use crate::error::{MeasureError, ReproduceError};

/// Two statements of one paper, or of two, that contradict each other.
#[derive(Clone, Copy, Debug)]
pub struct Contradiction<S: 'static> {
    /// Its number, as in `docs/reproduce.md`.
    pub number: u32,
    /// Where in the paper.
    pub place: &'static str,
    /// The statements.
    pub says: [&'static str; 2],
    /// The models' results for each statement, in that order, or why there are none.
    pub procedure: Procedure<S>,
    /// Which of them counts, and why.
    pub counts: &'static str,
}

/// A contradiction with the measurements of both statements.
#[derive(Clone, PartialEq, Debug)]
pub struct ContradictionResult {
    /// Its number.
    pub number: u32,
    /// Where in the paper.
    pub place: &'static str,
    /// The statements.
    pub says: [&'static str; 2],
    /// The results for each statement; none if it cannot be tested.
    pub interpretations: Vec<Interpretation>,
    /// Which of them counts and why, or why it cannot be tested.
    pub counts: String,
}

/// Measures `all` on `subject`.
///
/// # Errors
/// When a measurement cannot be made.
pub fn measure<S>(all: &[Contradiction<S>], subject: &S) -> Result<Vec<ContradictionResult>, ReproduceError> {
    let measured = |contradiction: &Contradiction<S>| {
        let Contradiction { number, place, says, counts, .. } = *contradiction;
        let (interpretations, counts) = match contradiction.procedure {
            Procedure::Cannot(why) => (Vec::new(), format!("not testable: {why}; {counts}")),
            Procedure::Measure(measure) | Procedure::Shown(measure, _) => {
                let failed =
                    |error| ReproduceError::Measure { id: format!("contradiction {number}"), error: Box::new(error) };
                (measure(subject).map_err(failed)?, counts.to_owned())
            }
        };
        Ok(ContradictionResult { number, place, says, interpretations, counts })
    };
    all.iter().map(measured).collect()
}

/// Both statements in numbers, or in words.
#[expect(clippy::unnecessary_wraps, reason = "the form of every measurement")]
pub(crate) fn both(
    first: (&'static str, String),
    second: (&'static str, String),
) -> Result<Vec<Interpretation>, MeasureError> {
    let interpretation = |(name, shown)| Interpretation::new(name, crate::verdict::Measured::Text(shown));
    Ok(vec![interpretation(first), interpretation(second)])
}
