// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How a claim is tested: the function that measures it, and why the model differs where it does.
//!
//! To test a further claim, add one line to the list of its paper: the claim's id, the function
//! that measures it, and, if the model differs from the paper, why.

use std::borrow::Cow;

use crate::error::MeasureError;
use crate::verdict::Measured;

/// How one claim is tested on a subject of type `S`.
#[derive(Clone, Copy, Debug)]
pub struct ClaimTest<S: 'static> {
    /// The claim.
    pub id: &'static str,
    /// The measurement, or why there is none.
    pub procedure: Procedure<S>,
    /// Why the model differs from the paper, where it does; numbers of the run are placeholders (see
    /// [`explanation`](crate::explanation)).
    pub explanation: Option<&'static str>,
}

/// The value that the model gives, once for each interpretation of a claim.
pub type Interpretations = Result<Vec<Interpretation>, MeasureError>;

/// A measurement, or why there is none.
#[derive(Clone, Copy, Debug)]
pub enum Procedure<S: 'static> {
    /// Measures the claim's quantity. The first interpretation is the one that counts.
    Measure(fn(&S) -> Interpretations),
    /// Measures an input of the model, which a run only gives back, without a verdict; and why.
    Shown(fn(&S) -> Interpretations, &'static str),
    /// Cannot be tested, and why.
    Cannot(&'static str),
}

/// One interpretation of a claim, with its measurement. A claim of a paper that contradicts itself
/// has several.
#[derive(Clone, PartialEq, Debug)]
pub struct Interpretation {
    /// How the claim is read; empty if there is only one way.
    pub name: Cow<'static, str>,
    /// The value that the model gives.
    pub measured: Measured,
    /// Whether a parameter was fitted so that this claim holds; such an interpretation is not
    /// evidence and never comes first.
    pub calibrated: bool,
}

impl Interpretation {
    /// An interpretation that rests on no calibrated parameter.
    #[must_use]
    pub fn new(name: impl Into<Cow<'static, str>>, measured: Measured) -> Self {
        Self { name: name.into(), measured, calibrated: false }
    }

    /// One that does.
    #[must_use]
    pub fn calibrated(name: impl Into<Cow<'static, str>>, measured: Measured) -> Self {
        Self { name: name.into(), measured, calibrated: true }
    }
}

/// A claim that is measured.
pub(crate) const fn measure<S>(id: &'static str, test: fn(&S) -> Interpretations) -> ClaimTest<S> {
    ClaimTest { id, procedure: Procedure::Measure(test), explanation: None }
}

/// A claim that is measured, and for which the model differs.
pub(crate) const fn differs<S>(id: &'static str, test: fn(&S) -> Interpretations, why: &'static str) -> ClaimTest<S> {
    ClaimTest { id, procedure: Procedure::Measure(test), explanation: Some(why) }
}

/// A claim that states an input, which is measured without a verdict.
pub(crate) const fn shown<S>(id: &'static str, test: fn(&S) -> Interpretations, why: &'static str) -> ClaimTest<S> {
    ClaimTest { id, procedure: Procedure::Shown(test, why), explanation: None }
}

/// A claim that cannot be measured.
pub(crate) const fn cannot<S>(id: &'static str, why: &'static str) -> ClaimTest<S> {
    ClaimTest { id, procedure: Procedure::Cannot(why), explanation: None }
}

/// The only interpretation of a claim: a number.
#[expect(clippy::unnecessary_wraps, reason = "the form of every measurement")]
pub(crate) fn number(value: impl Into<f64>) -> Result<Vec<Interpretation>, MeasureError> {
    Ok(vec![Interpretation::new("", Measured::Number(value.into()))])
}

/// The only interpretation of a claim: a count.
pub(crate) fn count(value: usize) -> Result<Vec<Interpretation>, MeasureError> {
    number(value as f64)
}

/// The only interpretation of a claim: whether it is so, and what shows it.
#[expect(clippy::unnecessary_wraps, reason = "the form of every measurement")]
pub(crate) fn fact(so: bool, shown: impl Into<String>) -> Result<Vec<Interpretation>, MeasureError> {
    Ok(vec![Interpretation::new("", Measured::Fact(so, shown.into()))])
}
