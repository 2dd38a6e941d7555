// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tables of times: collection, printing, CSV.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use crate::series::Series;

/// Times by series, depth and contender.
pub(crate) type Results = BTreeMap<(String, u32, String), Times>;

/// Nanoseconds for each item, one value for each batch.
#[derive(Clone, Default)]
pub(crate) struct Times {
    /// Ascending.
    batches: Vec<f64>,
    /// The median of each round.
    rounds: Vec<f64>,
}

/// The quantile `part` of ascending values, interpolated.
fn quantile(ascending: &[f64], part: f64) -> Option<f64> {
    let place = part * (ascending.len().checked_sub(1)?) as f64;
    let (low, high) = (ascending[place.floor() as usize], ascending[place.ceil() as usize]);
    Some(low + (high - low) * place.fract())
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

impl Times {
    /// Adds the batches of one more round.
    pub(crate) fn add(&mut self, batches: Vec<f64>) {
        let batches = sorted(batches);
        self.rounds.extend(quantile(&batches, 0.5));
        self.batches = sorted(std::mem::take(&mut self.batches).into_iter().chain(batches).collect());
    }

    pub(crate) fn median(&self) -> Option<f64> {
        quantile(&self.batches, 0.5)
    }

    /// First quartile, median, third quartile.
    pub(crate) fn quartiles(&self) -> Option<[f64; 3]> {
        Some([quantile(&self.batches, 0.25)?, self.median()?, quantile(&self.batches, 0.75)?])
    }

    /// The median of the quietest round.
    pub(crate) fn quietest(&self) -> Option<f64> {
        self.rounds.iter().copied().min_by(f64::total_cmp)
    }

    /// The ratio to `other`: the median of the ratios of each round that both have.
    pub(crate) fn ratio(&self, other: &Self) -> Option<f64> {
        let ratios = self.rounds.iter().zip(&other.rounds).map(|(one, other)| one / other).collect();
        quantile(&sorted(ratios), 0.5)
    }
}

/// The times of `series` at `depth`.
pub(crate) fn times<'a>(results: &'a Results, series: &str, depth: u32, contender: &str) -> Option<&'a Times> {
    results.get(&(series.to_owned(), depth, contender.to_owned()))
}

/// Three significant digits.
pub(crate) fn digits(value: f64) -> String {
    match value {
        _ if value >= 1e6 => format!("{:.1}M", value / 1e6),
        _ if value >= 1e4 => format!("{:.1}k", value / 1e3),
        _ if value >= 100.0 => format!("{value:.0}"),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Prints medians in ns per item, one column per contender.
pub(crate) fn print(series: &Series, depths: &[u32], names: &[&str], results: &Results) {
    let found = |name: &str, depth| times(results, &series.name(), depth, name)?.median();
    let columns: Vec<&&str> =
        names.iter().filter(|name| depths.iter().any(|&depth| found(name, depth).is_some())).collect();
    let mut text = format!("\n{}: ns per {}\n{:>6}", series.name(), series.item(), "depth");
    for name in &columns {
        let _ = write!(text, " {name:>9}");
    }
    for &depth in depths.iter().filter(|&&depth| series.has_depth(depth)) {
        let _ = write!(text, "\n{depth:>6}");
        for name in &columns {
            let _ = write!(text, " {:>9}", found(name, depth).map_or("-".to_owned(), digits));
        }
    }
    println!("{text}");
}

/// Writes all times as CSV, one row per series, depth and contender.
pub(crate) fn write_csv(path: &Path, results: &Results) -> Result<(), String> {
    let mut text = "name,kind,pattern,depth,ns_median,ns_q1,ns_q3,ns_quietest,repetitions\n".to_owned();
    for ((series, depth, name), times) in results {
        let (Some([q1, median, q3]), Some(quietest)) = (times.quartiles(), times.quietest()) else { continue };
        let (kind, pattern) = series.split_once('/').unwrap_or((series, ""));
        let repetitions = times.batches.len();
        let _ =
            writeln!(text, "{name},{kind},{pattern},{depth},{median:.3},{q1:.3},{q3:.3},{quietest:.3},{repetitions}");
    }
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    folder.and_then(|()| std::fs::write(path, text)).map_err(|error| format!("{}: {error}", path.display()))
}
