// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Statistics of a trace for Python. The names are those of `spec/results.md`, section 8.

use mb_trace::{CollectiveOp, Distribution, Stats};

/// Smallest and largest number of each bucket, and its count.
type Ranges = Vec<(u64, u64, u64)>;

fn ranges(distribution: &Distribution) -> Ranges {
    distribution.ranges().collect()
}

/// The distributions by name.
pub(crate) fn histograms(stats: &Stats) -> Vec<(&'static str, Ranges)> {
    vec![
        ("posted_length", ranges(&stats.posted_length)),
        ("posted_depth", ranges(&stats.posted_depth)),
        ("unexpected_length", ranges(&stats.unexpected_length)),
        ("unexpected_depth", ranges(&stats.unexpected_depth)),
    ]
}

/// Number of collectives of each kind that occurs.
pub(crate) fn collectives(stats: &Stats) -> Vec<(&'static str, u64)> {
    let counted = (1..).zip(stats.collectives).filter(|(_, count)| *count > 0);
    counted.filter_map(|(tag, count)| CollectiveOp::from_tag(tag).map(|op| (op.name(), count))).collect()
}
