# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Names and types of the columns of every result table: `spec/results.md` in code.

A name ending in `_ns` is a time in nanoseconds. Test: `test_every_column_is_in_the_specification`.
"""

import polars as pl

_REPLAY = {
    "trace": pl.String(),
    "engine": pl.String(),
    "preset": pl.String(),
    "parameter_hash": pl.String(),
}
"""Names a replay in every table but `results`, which has more."""

_MATCHING = {
    "match_latency_mean_ns": pl.Float64(),
    "match_latency_median_ns": pl.Float64(),
    "match_latency_p99_ns": pl.Float64(),
    "match_latency_max_ns": pl.Float64(),
    "matches": pl.Int64(),
    "searches": pl.Int64(),
    "visits": pl.Int64(),
    "depth_mean": pl.Float64(),
    "depth_max": pl.Int64(),
    "posted_max": pl.Int64(),
    "unexpected_max": pl.Int64(),
    "operations": pl.Int64(),
    "busy_answers": pl.Int64(),
    "engine_busy_ns": pl.Float64(),
    "sent": pl.Int64(),
    "sent_bytes": pl.Int64(),
    "sent_user": pl.Int64(),
    "received": pl.Int64(),
    "never_received": pl.Int64(),
    "never_matched": pl.Int64(),
    "unexpected": pl.Int64(),
    "cancelled": pl.Int64(),
    "truncated": pl.Int64(),
    "held_messages": pl.Int64(),
    "held_ns": pl.Float64(),
    "diverged": pl.Int64(),
    "probes_diverged": pl.Int64(),
    "collectives_expanded": pl.Int64(),
    "collectives_skipped": pl.Int64(),
}
"""What matching came to, of all ranks together or of one."""

RESULTS = pl.Schema(
    {
        "trace": pl.String(),
        "trace_hash": pl.String(),
        "ranks": pl.Int64(),
        "engine": pl.String(),
        "preset": pl.String(),
        "timing": pl.String(),
        "placement": pl.String(),
        "keeps_order": pl.Boolean(),
        "network": pl.String(),
        "cpu_scale": pl.Float64(),
        "wildcards": pl.String(),
        "collectives": pl.String(),
        "parameter_hash": pl.String(),
        "assumed_share": pl.Float64(),
        "version": pl.String(),
        "revision": pl.String(),
        "host": pl.String(),
        "repetitions": pl.Int64(),
        "operation_ns": pl.Float64(),
        "operation_low_ns": pl.Float64(),
        "operation_high_ns": pl.Float64(),
        "finished": pl.Boolean(),
        "time_ns": pl.Float64(),
        "slowdown": pl.Float64(),
        "compute_ns": pl.Float64(),
        "in_mpi_ns": pl.Float64(),
        "blocked_on_matching_ns": pl.Float64(),
        "blocked_share": pl.Float64(),
        **_MATCHING,
    }
)

RANKS = pl.Schema(
    {
        **_REPLAY,
        "rank": pl.Int64(),
        "time_ns": pl.Float64(),
        "compute_ns": pl.Float64(),
        "in_mpi_ns": pl.Float64(),
        "blocked_on_matching_ns": pl.Float64(),
        **_MATCHING,
    }
)

DEPTHS = pl.Schema(
    {
        **_REPLAY,
        "timing": pl.String(),
        "visits_from": pl.Int64(),
        "visits_to": pl.Int64(),
        "matches": pl.Int64(),
        "match_latency_mean_ns": pl.Float64(),
        "match_latency_max_ns": pl.Float64(),
    }
)

TIMELINE = pl.Schema(
    {
        **_REPLAY,
        "timing": pl.String(),
        "from_ns": pl.Float64(),
        "posted_max": pl.Int64(),
        "unexpected_max": pl.Int64(),
        "operations": pl.Int64(),
    }
)

MEASURED = pl.Schema(
    {
        **_REPLAY,
        "host": pl.String(),
        "core": pl.Int64(),
        "clock": pl.String(),
        "reading_ns": pl.Float64(),
        "repetitions": pl.Int64(),
        "same_order": pl.Float64(),
        "kind": pl.String(),
        "operations": pl.Int64(),
        "operation_ns": pl.Float64(),
        "operation_low_ns": pl.Float64(),
        "operation_high_ns": pl.Float64(),
    }
)

PARAMETERS = pl.Schema(
    {
        "parameter_hash": pl.String(),
        "engine": pl.String(),
        "preset": pl.String(),
        "part": pl.String(),
        "parameter": pl.String(),
        "value": pl.String(),
        "parameter_unit": pl.String(),
        "source": pl.String(),
        "detail": pl.String(),
    }
)

TABLES = {
    "results": RESULTS,
    "ranks": RANKS,
    "depths": DEPTHS,
    "timeline": TIMELINE,
    "measured": MEASURED,
    "parameters": PARAMETERS,
}
"""Every table by its name, which is also that of its files."""
