# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The columns of every result table: name, type, unit and meaning.

Those of rows that Rust returns are declared at its structs (`matchbench._native.result_columns`); those that
Python computes are declared here. The tables of `spec/results.md` are generated from both
(`matchbench.compare.results_page`).
A name that ends in `_ns` is a time in nanoseconds. Test: `test_a_time_says_so_in_its_name`.
"""

import polars as pl

from matchbench import _native
from matchbench.compare.column import Column

_STR, _BOOL, _I64, _F64 = pl.String(), pl.Boolean(), pl.Int64(), pl.Float64()
_TYPES = {"str": _STR, "bool": _BOOL, "i64": _I64, "f64": _F64}

_NATIVE = {
    table: {name: Column(_TYPES[kind], unit, meaning) for name, kind, unit, meaning in found}
    for table, found in _native.result_columns().items()
}
"""Columns of the rows that Rust returns."""

_TOTAL = _NATIVE["total"]
"""Numbers of all ranks together in `results`, of one rank in `ranks`."""


_COMPUTED = {
    "time_ns": {
        "slowdown": Column(
            _F64, "", "`time_ns` over that of `ideal:zero` on the same trace, network and replay parameters"
        )
    },
    "blocked_on_matching_ns": {
        "blocked_share": Column(_F64, "", "`blocked_on_matching_ns` over `ranks` times `time_ns`")
    },
}
"""Columns of `results` that are computed here from those numbers, by the column that they follow."""

_OPERATION = _NATIVE["measured_kinds"]["operation_ns"]

RESULTS = {
    "trace": Column(_STR, "", "name of the trace: its directory or file without `.tar.xz`"),
    "trace_hash": Column(
        _STR,
        "",
        "first 16 hexadecimal digits of the SHA-256 of the trace's files, in order of their names",
    ),
    "ranks": Column(_I64, "ranks", "ranks in the world"),
    "engine": Column(_STR, "", "name of the engine"),
    "preset": Column(_STR, "", "name of its preset; a trailing `+` means that the user changed parameters"),
    "origin": Column(
        _STR,
        "",
        "user-defined engines: `program`, `library` or `python`, the path of the file, its SHA-256, and the "
        "version of the interface of libraries; null for engines of matchbench",
    ),
    "timing": Column(_STR, "", "kind of the times: `bound`, `simulated` or `measured`"),
    "placement": Column(_STR, "", "where the engine runs: `nic` or `host`"),
    "keeps_order": Column(
        _BOOL,
        "",
        "whether the engine keeps MPI's order; false for a published design taken literally, "
        "which is replayed only when it is named",
    ),
    "implausible": Column(
        _STR,
        "",
        "user-defined engines: what they did that no engine can do, with its numbers; null if nothing; "
        "rows with a text here are not ranked",
    ),
    "network": Column(
        _STR, "", "name of the network preset; a trailing `+` means that the user changed parameters"
    ),
    "cpu_scale": Column(_F64, "", "factor on recorded compute time"),
    "wildcards": Column(_STR, "", "how wildcard receives match: `recorded` or `free`"),
    "polls": Column(_STR, "", "how unsuccessful tests and probes are replayed: `waiting` or `recorded`"),
    "collectives": Column(_STR, "", "algorithms chosen by the user, as `op=algorithm`, comma-separated"),
    "parameter_hash": Column(
        _STR,
        "",
        "first 16 hexadecimal digits of the SHA-256 of the parameters of engine, network and replay",
    ),
    "assumed_share": Column(
        _F64, "", "share of the engine's and the network's parameters whose source is an assumption, 0 to 1"
    ),
    "version": Column(_STR, "", "version of matchbench"),
    "revision": Column(_STR, "", "git revision of matchbench"),
    "host": _NATIVE["measured_on"]["host"],
    "repetitions": _NATIVE["measured_on"]["repetitions"],
    "operation_ns": _OPERATION._replace(meaning=f"measured rows: {_OPERATION.meaning}"),
    "operation_low_ns": _NATIVE["measured_kinds"]["operation_low_ns"],
    "operation_high_ns": _NATIVE["measured_kinds"]["operation_high_ns"],
    "finished": Column(
        _BOOL, "", "whether every rank finished; false after a deadlock or with a truncated trace"
    ),
    **{
        name: column
        for native in _TOTAL
        for name, column in {native: _TOTAL[native], **_COMPUTED.get(native, {})}.items()
    },
}

_IDENTITY = ("trace", "engine", "preset", "parameter_hash")


def _repeated(*names: str, of: str = "") -> dict[str, Column]:
    """Give columns of `results` that another table repeats."""
    return {name: RESULTS[name]._replace(meaning=f"as in section 2{of}") for name in names}


RANKS = {
    **_repeated(*_IDENTITY),
    **_NATIVE["ranks"],
    **_repeated(*_TOTAL, of=", of this rank"),
    "time_ns": _TOTAL["time_ns"]._replace(meaning="when the rank finished"),
}

DEPTHS = {**_repeated(*_IDENTITY, "timing"), **_NATIVE["depths"]}

VISITS = {**_repeated(*_IDENTITY, "timing"), **_NATIVE["visits"]}

TIMELINE = {**_repeated(*_IDENTITY, "timing"), **_NATIVE["timeline"]}

MEASURED = {
    **_repeated(*_IDENTITY),
    **_NATIVE["measured_on"],
    **_repeated("host", "repetitions"),
    **_NATIVE["measured_kinds"],
}

PARAMETERS = {
    **_repeated("parameter_hash", "engine", "preset"),
    "part": Column(_STR, "", "`engine` or `network`"),
    "parameter": Column(_STR, "", "its name"),
    "value": Column(_STR, "", "its value"),
    "parameter_unit": Column(_STR, "", "its unit"),
    "source": Column(_STR, "", "`paper`, `measured`, `assumed`, `calibrated` or `user`"),
    "detail": Column(_STR, "", "which paper and where, what was measured and how, or why it was assumed"),
}

REFERENCE = {
    **_repeated("trace", "engine", "preset"),
    "time_ns": Column(_F64, "ns", "application time on the reference engine; null if a rank did not finish"),
    "zero_ns": Column(_F64, "ns", "application time on `ideal:zero`; null if a rank did not finish"),
    "cost_share": Column(_F64, "", "part of `time_ns` that `ideal:zero` saves: 1 - `zero_ns` / `time_ns`"),
    **_repeated("matches", "operations", "visits_mean", "visits_max", "posted_max", "unexpected_max"),
    **_repeated("partitioned"),
    "state": Column(_STR, "", "state of the trace: `complete`, `stopped`, `cut` or `aborted`"),
    "host_ranks": Column(_I64, "ranks", "ranks on the recording's host with the most ranks per processor"),
    "host_processors": Column(_I64, "", "processors of this host; null if the trace does not say"),
    "waiting_share": Column(
        _F64,
        "",
        "share of the recorded time in which ranks were ready to run and waited for a processor, 0 to 1; "
        "null if the trace does not say",
    ),
    "unexpected_share": Column(
        _F64, "", "share of the messages of point-to-point calls that were unexpected in this replay, 0 to 1"
    ),
    "unexpected_recorded": Column(
        _F64,
        "",
        "the largest share that the times of the recording allow: `unexpected_share` of section 8; null for "
        "generated traces",
    ),
    "polls": Column(_I64, "calls", "unsuccessful tests and probes in the recording"),
    "matching_calls": Column(
        _I64, "calls", "sends, receives, probes and collectives that take part in matching, replayed or not"
    ),
    "unreplayed_calls": Column(
        _I64, "calls", "among them: in the trace by name and time only, or replayed in zero time"
    ),
    "unreplayed_calls_share": Column(_F64, "", "their share, 0 to 1; null without such calls"),
    "unreplayed_bytes_share": Column(
        _F64,
        "",
        "share of the bytes sent and contributed to collectives that are not replayed; the bytes of calls in "
        "the trace by name and time only are unknown",
    ),
    "unreplayed_time_share": Column(
        _F64,
        "",
        "share of the recorded time in these calls, waits and unsuccessful tests that is not replayed",
    ),
    "unreplayed": Column(_STR, "", "the most frequent kind of calls that are not replayed; null without one"),
    "one_sided_calls": Column(
        _I64, "calls", "calls of one-sided communication and its synchronization, which match nothing"
    ),
    "one_sided_time_share": Column(
        _F64, "", "their share of the recorded time in all calls that communicate, which is not replayed"
    ),
}

REFERENCE_RANKS = {
    **_repeated("trace"),
    "rank": RANKS["rank"],
    "time_ns": RANKS["time_ns"],
    **_repeated("blocked_on_matching_ns", "visits_mean", "posted_max", "unexpected_max", of=", of this rank"),
}

VARIATIONS = {
    **_repeated("trace"),
    "change": Column(
        _STR,
        "",
        "`none`; `depth`: the time per entry; `matching`: every time of the reference engine; `compute`: "
        "recorded compute time; `network`: every time of the network; `parameter`: one parameter; `shared`: "
        "recorded compute time with the time that ranks waited for processors; `arrivals`: the latency of "
        "the network; `polls`, `wildcards`: unsuccessful polls, or receives with a wildcard, are replayed "
        "by the other rule",
    ),
    "part": Column(_STR, "", "`engine` or `network`; null unless one parameter changed"),
    "parameter": Column(_STR, "", "its name; null unless one parameter changed"),
    "source": Column(_STR, "", "source of its value, as in section 6; null unless one parameter changed"),
    "factor": Column(_F64, "", "factor by which it was multiplied"),
    **{name: REFERENCE[name] for name in ("time_ns", "zero_ns", "cost_share")},
    "unexpected_share": REFERENCE["unexpected_share"],
}

QUEUES = {**_repeated("trace"), **_NATIVE["watched"]}

_OF_INTERVALS = {
    "time": "`time_ns`",
    "slowdown": "`slowdown`",
    "cost_share": "part of `time_ns` that `ideal:zero` saves: 1 - 1 / `slowdown`",
    "match_latency_mean": "`match_latency_mean_ns`; null for a reference engine that was not compared",
    "blocked_share": "`blocked_share`; null for a reference engine that was not compared",
}
_NS = ("time", "match_latency_mean")

INTERVALS = {
    **_repeated("engine", "preset", "timing"),
    "recordings": Column(_I64, "", "recordings that the engine replayed to the end"),
    **{
        f"{name}_{which}{'_ns' if name in _NS else ''}": Column(
            _F64, "ns" if name in _NS else "", f"{word} over the recordings: {meaning}"
        )
        for name, meaning in _OF_INTERVALS.items()
        for which, word in (("low", "smallest value"), ("median", "median"), ("high", "largest value"))
    },
}

COLUMNS = {
    "results": RESULTS,
    "ranks": RANKS,
    "depths": DEPTHS,
    "visits": VISITS,
    "timeline": TIMELINE,
    "parameters": PARAMETERS,
    "measured": MEASURED,
    "reference": REFERENCE,
    "reference_ranks": REFERENCE_RANKS,
    "variations": VARIATIONS,
    "queues": QUEUES,
    "intervals": INTERVALS,
}
"""Columns by table; the name of a table is also that of its files."""

TABLES = {
    table: pl.Schema({name: column.type for name, column in columns.items()})
    for table, columns in COLUMNS.items()
}
"""Names and types of the columns by table."""

STATS = _NATIVE["stats"]
"""Numbers of `matchbench trace stats --json`."""

STATS_SCHEMA = pl.Schema({name: column.type for name, column in STATS.items()})
"""Names and types of these numbers."""

SIZING = {
    **{
        name: {"trace": RESULTS["trace"], **_NATIVE[f"sizing_{name}"]}
        for name in ("curves", "needs", "buckets")
    },
    "costs": {
        "trace": RESULTS["trace"],
        "engine": RESULTS["engine"],
        "preset": RESULTS["preset"],
        "parameter": Column(_STR, "", "the parameter with the size of the structure"),
        "structure_entries": Column(_I64, "entries", "its value: entries of one structure"),
        "engine_entries": Column(
            _I64,
            "entries",
            "entries of the whole engine, for both queues, that are searched at once or cached; null if it "
            "has none, or they are unknown",
        ),
        "memory_entries": Column(
            _I64, "entries", "entries of the whole engine, for both queues, in memory on the NIC; likewise"
        ),
        "implausible": RESULTS["implausible"],
        **{
            name: RESULTS[name]
            for name in (
                *("posted_overflows", "unexpected_overflows", "spilled", "refused", "slowdown"),
                *("match_latency_mean_ns", "match_search_mean_ns", "match_waiting_mean_ns"),
                *("match_refused_mean_ns", "match_beyond_mean_ns"),
            )
        },
        "beyond_per_overflow_ns": Column(
            _F64, "ns", "time that matches spent beyond the structure, over the overflows"
        ),
    },
}
"""Columns of the tables of `matchbench size`."""
