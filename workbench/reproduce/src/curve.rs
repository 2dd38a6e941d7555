// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The data of figures: times of a design by length of the list and depth of the match, and
//! what the paper says.

use mb_core::Picos;
use serde::Deserialize;

/// One point of a curve: a benchmark on one design.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CurvePoint {
    /// Items of the list.
    pub length: usize,
    /// How deep the match lies, in percent of the list.
    pub percent: u32,
    /// Items from the head of the list to the one that matches, that one included, of all matches
    /// together.
    pub traversed: u64,
    /// Time of all matches.
    pub time: Picos,
}

/// Times of one design in one variant: an interpretation of the paper, or a set of assumptions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Curve {
    /// The design, as its study names it.
    pub design: String,
    /// What was run: [`Benchmark::key`](crate::benchmarks::Benchmark::key), or the name of the
    /// paper's own benchmark.
    pub benchmark: String,
    /// The variant.
    pub variant: String,
    /// Whether claims are judged by this variant.
    pub counts: bool,
    /// Whether something behind it was chosen after the paper's numbers.
    pub calibrated: bool,
    /// Its points, list by list.
    pub points: Vec<CurvePoint>,
}

impl Curve {
    /// Whether `other` is the same design in the same variant, by the same benchmark.
    #[must_use]
    pub fn is(&self, other: &Self) -> bool {
        (&self.design, &self.benchmark, &self.variant) == (&other.design, &other.benchmark, &other.variant)
    }
}

/// A claim of the paper about one point.
#[derive(Clone, PartialEq, Debug)]
pub struct DataPoint {
    /// The claim.
    pub claim: String,
    /// The design.
    pub design: String,
    /// What was run.
    pub benchmark: String,
    /// Items of the list.
    pub length: usize,
    /// How deep the match lies, in percent of the list.
    pub percent: u32,
    /// Lowest time of all matches that the claim's precision and the interpretations of the paper
    /// leave, in nanoseconds.
    pub low: f64,
    /// Time by the paper's text.
    pub value: f64,
    /// Highest time.
    pub high: f64,
    /// Whether it is a number or a limit.
    pub limit: Limit,
}

/// On which side of a data point a curve should be.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// At it.
    #[default]
    At,
    /// Below it.
    Below,
    /// Above it.
    Above,
}

impl Limit {
    /// The word in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::At => "at",
            Self::Below => "below",
            Self::Above => "above",
        }
    }
}
