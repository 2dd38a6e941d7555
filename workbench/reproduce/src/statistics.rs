// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Means, deviations and correlation of series.

/// The mean of values; there is at least one.
#[must_use]
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Their standard deviation over their mean.
#[must_use]
pub fn variation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let square = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64;
    square.sqrt() / mean
}

/// Pearson's correlation of two series of equal length.
#[must_use]
pub fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let (mean_a, mean_b) = (mean(a), mean(b));
    let products = a.iter().zip(b).map(|(a, b)| (a - mean_a) * (b - mean_b)).sum::<f64>();
    let square = |values: &[f64], mean: f64| values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    products / (square(a, mean_a) * square(b, mean_b)).sqrt()
}
