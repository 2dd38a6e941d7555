// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Charts: series over one axis, and what the paper says of their points.
//!
//! A [`Curve`](crate::curve::Curve) is time by length of a list and depth of a match. A chart has
//! any axes; a paper computes its points.

use crate::curve::Limit;

/// How the points of a series are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SeriesForm {
    /// Joined by lines.
    Lines,
    /// A group of bars at each position; positions have names.
    Bars,
}

impl SeriesForm {
    /// The word in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Lines => "lines",
            Self::Bars => "bars",
        }
    }
}

/// Series over one axis.
#[derive(Clone, PartialEq, Debug)]
pub struct Chart {
    /// Its file, without ending.
    pub name: &'static str,
    /// Its title.
    pub title: String,
    /// Label of the horizontal axis, with its unit.
    pub x: &'static str,
    /// Label of the vertical axis, with its unit.
    pub y: &'static str,
    /// How points are drawn.
    pub form: SeriesForm,
    /// Names of the positions 0, 1, ... of the horizontal axis; empty if they are numbers.
    pub positions: Vec<String>,
    /// What is drawn.
    pub series: Vec<Series>,
    /// What the paper says.
    pub anchors: Vec<Anchor>,
}

/// One line, or the bars of one colour.
#[derive(Clone, PartialEq, Debug)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Whether claims are judged by it; other series are drawn thin.
    pub counts: bool,
    /// Its points.
    pub points: Vec<ChartPoint>,
    /// A value of the whole series that is drawn as a dashed line, such as its mean.
    pub level: Option<f64>,
}

/// One point of a series.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ChartPoint {
    /// Position on the horizontal axis.
    pub x: f64,
    /// Value.
    pub y: f64,
    /// Lowest and highest value over all variants that were run.
    pub range: Option<(f64, f64)>,
}

impl ChartPoint {
    /// A point without variants.
    #[must_use]
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y, range: None }
    }
}

/// A claim of the paper about one point.
#[derive(Clone, PartialEq, Debug)]
pub struct Anchor {
    /// The claim.
    pub claim: &'static str,
    /// Name of the series.
    pub series: String,
    /// Position on the horizontal axis.
    pub x: f64,
    /// The value by the paper's text.
    pub value: f64,
    /// Whether the paper gives a ratio, and the value is this ratio of something that the models measured.
    pub is_ratio: bool,
    /// Whether it is a number or a limit.
    pub limit: Limit,
}
