// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Statistics of a trace for Python. The names are those of `spec/results.md`, section 8.

use mb_trace::{CollectiveOp, Distribution, Stats};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::columns::columns;

/// One column per number, one row per item of `rows`.
pub(crate) fn numbers<'py>(py: Python<'py>, rows: &[Stats]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    columns!(dict, rows, |row| {
        "records" => row.records,
        "wall_ns" => row.wall_ns,
        "calls_wall_ns" => row.calls_wall_ns,
        "sent" => row.sent,
        "sent_bytes" => row.sent_bytes,
        "received" => row.received,
        "received_bytes" => row.received_bytes,
        "never_received" => row.never_received,
        "without_send" => row.without_send,
        "receives" => row.receives,
        "matched_probes" => row.matched_probes,
        "unfinished" => row.unfinished,
        "cancelled" => row.cancelled,
        "any_source" => row.any_source,
        "any_tag" => row.any_tag,
        "any_both" => row.any_both,
        "partitioned" => row.partitioned,
        "probes" => row.probes,
        "probes_wildcard" => row.probes_wildcard,
        "test_misses" => row.test_misses,
        "probe_misses" => row.probe_misses,
        "waits" => row.waits,
        "collectives" => row.collectives.iter().sum::<u64>(),
        "other_calls" => row.other_calls,
        "sources" => row.sources,
        "tags" => row.tags,
        "communicators" => row.communicators,
        "unexpected" => row.unexpected,
        "unexpected_share" => row.unexpected_share(),
        "posted_length_mean" => row.posted_length.mean(),
        "posted_max" => row.posted_max,
        "posted_depth_mean" => row.posted_depth.mean(),
        "posted_depth_max" => row.posted_depth.max,
        "unexpected_length_mean" => row.unexpected_length.mean(),
        "unexpected_max" => row.unexpected_max,
        "unexpected_depth_mean" => row.unexpected_depth.mean(),
        "unexpected_depth_max" => row.unexpected_depth.max,
    });
    Ok(dict)
}

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
