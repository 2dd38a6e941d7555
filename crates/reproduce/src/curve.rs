// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What figures are drawn from: times of a design by length of the list and depth of the match, and what the paper says.

/// One point of a curve: the benchmark of S0 figure 5 on one design.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CurvePoint {
    /// Items of the list.
    pub length: usize,
    /// How deep the match lies, in percent of the list.
    pub percent: u32,
    /// Items traversed for each header, the one that matches included.
    pub traversed: usize,
    /// Cycles for all matches.
    pub cycles: u64,
}

/// Times of one design in one variant: a reading of the paper, or a set of assumptions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Curve {
    /// The design, as its study names it.
    pub design: &'static str,
    /// The variant.
    pub variant: String,
    /// Whether claims are judged by this variant.
    pub counts: bool,
    /// Whether something behind it was chosen after the paper's numbers.
    pub calibrated: bool,
    /// Its points, list by list.
    pub points: Vec<CurvePoint>,
}

/// What a claim of the paper says of one point.
#[derive(Clone, PartialEq, Debug)]
pub struct Anchor {
    /// The claim.
    pub claim: &'static str,
    /// The design.
    pub design: &'static str,
    /// Items of the list.
    pub length: usize,
    /// How deep the match lies, in percent of the list.
    pub percent: u32,
    /// Lowest cycles that the claim's precision and the readings of the paper leave.
    pub low: f64,
    /// Cycles by the paper's text.
    pub value: f64,
    /// Highest cycles.
    pub high: f64,
    /// Whether it is a number or a limit.
    pub limit: Limit,
}

/// On which side of an anchor a curve should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Limit {
    /// At it.
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
