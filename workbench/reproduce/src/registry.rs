// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which measurement belongs to which claim.
//!
//! To test a further claim, add one line to the list of its paper: the claim's id, the function that measures it, and, if
//! the model differs from the paper, why.

use std::borrow::Cow;

use crate::contradictions::Contradiction;
use crate::verdict::Measured;
use crate::{MeasureError, Subject, hemmert2007, tanabe2013, xiong2018};

/// How one claim is tested on a subject of type `S`.
#[derive(Clone, Copy, Debug)]
pub struct Entry<S: 'static = Subject> {
    /// The claim.
    pub id: &'static str,
    /// The measurement, or why there is none.
    pub test: Test<S>,
    /// Why the model differs from the paper, where it does.
    pub explanation: Option<&'static str>,
}

/// A measurement, or why there is none.
#[derive(Clone, Copy, Debug)]
pub enum Test<S: 'static = Subject> {
    /// Measures the claim's quantity. The first reading is the one that counts.
    Measure(fn(&S) -> Result<Vec<Reading>, MeasureError>),
    /// Measures what proves nothing, such as an input of the model that a run only gives back, and why it does not count.
    Shown(fn(&S) -> Result<Vec<Reading>, MeasureError>, &'static str),
    /// Cannot be tested, and why.
    Cannot(&'static str),
}

/// One way to read a claim, and what comes of it. A claim of a paper that contradicts itself has several.
#[derive(Clone, PartialEq, Debug)]
pub struct Reading {
    /// How the claim is read; empty if there is only one way.
    pub name: Cow<'static, str>,
    /// What the model gave.
    pub measured: Measured,
    /// Whether a parameter behind it was chosen so that this claim comes out; such a reading proves nothing.
    pub calibrated: bool,
}

impl Reading {
    /// A reading that rests on no calibrated parameter.
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

/// What the claims of a paper are measured on.
pub trait Measurable: Sized + 'static {
    /// The claims that are tested on it, subject by subject.
    const ENTRIES: &'static [&'static [Entry<Self>]];

    /// Where the paper contradicts itself, by number.
    const CONTRADICTIONS: &'static [Contradiction<Self>] = &[];

    /// Every entry.
    #[must_use]
    fn entries() -> impl Iterator<Item = &'static Entry<Self>> {
        Self::ENTRIES.iter().copied().flatten()
    }
}

impl Measurable for Subject {
    const ENTRIES: &'static [&'static [Entry]] = hemmert2007::ENTRIES;
}

impl Measurable for tanabe2013::Designs {
    const ENTRIES: &'static [&'static [Entry<Self>]] = tanabe2013::ENTRIES;
    const CONTRADICTIONS: &'static [Contradiction<Self>] = tanabe2013::CONTRADICTIONS;
}

impl Measurable for xiong2018::Designs {
    const ENTRIES: &'static [&'static [Entry<Self>]] = xiong2018::ENTRIES;
    const CONTRADICTIONS: &'static [Contradiction<Self>] = xiong2018::CONTRADICTIONS;
}

/// Nothing: a paper without models.
impl Measurable for () {
    const ENTRIES: &'static [&'static [Entry<Self>]] = &[];
}

/// A claim that is measured.
pub(crate) const fn measure<S>(id: &'static str, test: fn(&S) -> Result<Vec<Reading>, MeasureError>) -> Entry<S> {
    Entry { id, test: Test::Measure(test), explanation: None }
}

/// A claim that is measured, and for which the model differs.
pub(crate) const fn differs<S>(
    id: &'static str,
    test: fn(&S) -> Result<Vec<Reading>, MeasureError>,
    why: &'static str,
) -> Entry<S> {
    Entry { id, test: Test::Measure(test), explanation: Some(why) }
}

/// A claim whose measurement is shown and counts for nothing.
pub(crate) const fn shown<S>(
    id: &'static str,
    test: fn(&S) -> Result<Vec<Reading>, MeasureError>,
    why: &'static str,
) -> Entry<S> {
    Entry { id, test: Test::Shown(test, why), explanation: None }
}

/// A claim that cannot be measured.
pub(crate) const fn cannot<S>(id: &'static str, why: &'static str) -> Entry<S> {
    Entry { id, test: Test::Cannot(why), explanation: None }
}

/// The only reading of a claim: a number.
#[expect(clippy::unnecessary_wraps, reason = "the form of every measurement")]
pub(crate) fn number(value: impl Into<f64>) -> Result<Vec<Reading>, MeasureError> {
    Ok(vec![Reading::new("", Measured::Number(value.into()))])
}

/// The only reading of a claim: a count.
pub(crate) fn count(value: usize) -> Result<Vec<Reading>, MeasureError> {
    number(value as f64)
}

/// The only reading of a claim: whether it is so, and what shows it.
#[expect(clippy::unnecessary_wraps, reason = "the form of every measurement")]
pub(crate) fn fact(so: bool, shown: impl Into<String>) -> Result<Vec<Reading>, MeasureError> {
    Ok(vec![Reading::new("", Measured::Fact(so, shown.into()))])
}
