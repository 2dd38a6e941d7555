# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The columns of every result table: name, type, unit and meaning.

The tables of `spec/results.md` are generated from this file (`matchbench.results_page`).
A name that ends in `_ns` is a time in nanoseconds. Test: `test_a_time_says_so_in_its_name`.
"""

import polars as pl

from matchbench.compare.column import Column

_STR, _BOOL, _I64, _F64 = pl.String(), pl.Boolean(), pl.Int64(), pl.Float64()

_MATCHING = {
    "match_latency_mean_ns": Column(
        _F64, "ns", "mean time from the offer of the later of receive and message to the completion"
    ),
    "match_latency_median_ns": Column(_F64, "ns", "its median, at most 1/16 too high"),
    "match_latency_p99_ns": Column(_F64, "ns", "its 99th percentile, at most 1/16 too high"),
    "match_latency_p999_ns": Column(_F64, "ns", "its 99.9th percentile, at most 1/16 too high"),
    "match_latency_max_ns": Column(_F64, "ns", "its maximum, exact"),
    "match_search_mean_ns": Column(_F64, "ns", "part of the mean outside of the next three columns: search"),
    "match_waiting_mean_ns": Column(
        _F64, "ns", "part of the mean in which the engine worked on older operations"
    ),
    "match_refused_mean_ns": Column(
        _F64, "ns", "part of the mean before the later of receive and message was accepted"
    ),
    "match_beyond_mean_ns": Column(
        _F64, "ns", "part of the mean that was spent on entries beyond the structure of the engine"
    ),
    "matches": Column(_I64, "", "matches of a receive or matched probe with a message"),
    "probe_search_ns": Column(
        _F64,
        "ns",
        "time in which probes searched that took no message, summed over ranks: plain probes, "
        "and matched probes that found none",
    ),
    "polls_waiting": Column(
        _I64,
        "",
        "unsuccessful tests and probes of loops that were replayed as waiting for the event that ended them",
    ),
    "polls_recorded": Column(
        _I64,
        "",
        "unsuccessful tests and probes that were replayed as recorded, with the computation between them",
    ),
    "searches": Column(_I64, "", "searches of a list: posts, arrivals and probes"),
    "visits": Column(_I64, "entries", "entries visited by all searches"),
    "visits_mean": Column(_F64, "entries", "`visits` over `searches`"),
    "visits_max": Column(_I64, "entries", "most entries visited by one search"),
    "posted_max": Column(_I64, "entries", "longest posted-receive queue (PRQ) of any rank"),
    "unexpected_max": Column(_I64, "entries", "longest unexpected-message queue (UMQ) of any rank"),
    "operations": Column(_I64, "", "operations given to the engines"),
    "posted_overflows": Column(
        _I64, "receives", "posted receives inserted while the structure of the engine was full"
    ),
    "unexpected_overflows": Column(
        _I64, "messages", "unexpected messages inserted while the structure of the engine was full"
    ),
    "spilled": Column(_I64, "entries", "entries that went to host memory or to lists of software"),
    "refused": Column(_I64, "", "operations that an engine did not accept when they were first offered"),
    "busy_answers": Column(_I64, "", "offers that an engine refused, repeated ones included"),
    "engine_busy_ns": Column(_F64, "ns", "time that the engines were busy, summed over ranks"),
    "sent": Column(_I64, "messages", "messages sent, including those of expanded collectives"),
    "sent_bytes": Column(_I64, "B", "bytes sent"),
    "sent_user": Column(_I64, "messages", "messages sent by point-to-point calls"),
    "received": Column(_I64, "messages", "messages that matched a receive or a matched probe"),
    "never_received": Column(_I64, "messages", "messages that matched no receive"),
    "never_matched": Column(_I64, "receives", "receives that matched no message"),
    "unexpected": Column(_I64, "messages", "messages that were unexpected"),
    "cancelled": Column(_I64, "receives", "receives cancelled"),
    "truncated": Column(_I64, "messages", "messages longer than the receive that they matched"),
    "held_messages": Column(
        _I64, "messages", "messages delayed so that wildcard receives match as in the recording"
    ),
    "held_ns": Column(_F64, "ns", "sum of these delays"),
    "diverged": Column(
        _I64, "receives", "with free wildcards: receives that matched another message than in the recording"
    ),
    "probes_diverged": Column(_I64, "probes", "probes that found another message than in the recording"),
    "collectives_expanded": Column(
        _I64, "", "collectives replayed as point-to-point messages, counted on every rank"
    ),
    "collectives_skipped": Column(_I64, "", "collectives replayed in zero time, counted on every rank"),
    "partitioned": Column(
        _I64, "messages", "partitioned messages, in no other number: starts of sends, which no engine matches"
    ),
}
"""Columns about matching: of all ranks together in `results`, of one rank in `ranks`."""

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
    "host": Column(_STR, "", "rows measured on this host: name of its processor"),
    "repetitions": Column(
        _I64, "", "rows measured on this host: number of repetitions; times are their medians"
    ),
    "operation_ns": Column(
        _F64, "ns", "measured rows: mean time of an operation, from the medians of 64 operations each"
    ),
    "operation_low_ns": Column(_F64, "ns", "the same from the lower quartiles"),
    "operation_high_ns": Column(_F64, "ns", "the same from the upper quartiles"),
    "finished": Column(
        _BOOL, "", "whether every rank finished; false after a deadlock or with a truncated trace"
    ),
    "time_ns": Column(_F64, "ns", "application time: when the last rank finished"),
    "slowdown": Column(
        _F64, "", "`time_ns` over that of `ideal:zero` on the same trace, network and replay parameters"
    ),
    "compute_ns": Column(_F64, "ns", "compute time, summed over ranks"),
    "in_mpi_ns": Column(_F64, "ns", "time in MPI calls, waiting included, summed over ranks"),
    "blocked_on_matching_ns": Column(
        _F64,
        "ns",
        "part of `in_mpi_ns` that an engine with zero time would save, computed for each wait separately",
    ),
    "blocked_share": Column(_F64, "", "`blocked_on_matching_ns` over `ranks` times `time_ns`"),
    **_MATCHING,
}

_IDENTITY = ("trace", "engine", "preset", "parameter_hash")


def _repeated(*names: str, of: str = "") -> dict[str, Column]:
    """Give columns of `results` that another table repeats."""
    return {name: RESULTS[name]._replace(meaning=f"as in section 2{of}") for name in names}


RANKS = {
    **_repeated(*_IDENTITY),
    "rank": Column(_I64, "", "world rank"),
    "time_ns": Column(_F64, "ns", "when the rank finished"),
    **_repeated("compute_ns", "in_mpi_ns", "blocked_on_matching_ns", *_MATCHING, of=", of this rank"),
}

_LATENCIES = {
    "match_latency_mean_ns": Column(_F64, "ns", "mean of their match latencies"),
    "match_latency_median_ns": Column(_F64, "ns", "median of their match latencies, at most 1/16 too high"),
    "match_latency_p99_ns": Column(_F64, "ns", "99th percentile, at most 1/16 too high"),
    "match_latency_p999_ns": Column(_F64, "ns", "99.9th percentile, at most 1/16 too high"),
    "match_latency_max_ns": Column(_F64, "ns", "largest of their match latencies"),
}

DEPTHS = {
    **_repeated(*_IDENTITY, "timing"),
    "depth_from": Column(
        _I64,
        "entries",
        "smallest search depth in this bin: position of the match, from the oldest entry on, in the queue "
        "that the later of receive and message searched, when the engine accepted it; counted in lists of "
        "the replay, not reported by the engine",
    ),
    "depth_to": Column(_I64, "entries", "largest search depth in this bin"),
    "matches": Column(_I64, "", "matches of this depth; none on an engine that breaks MPI's order"),
    **_LATENCIES,
}

VISITS = {
    **_repeated(*_IDENTITY, "timing"),
    "visits_from": Column(_I64, "entries", "smallest number of entries visited in this bin"),
    "visits_to": Column(_I64, "entries", "largest number of entries visited in this bin"),
    "matches": Column(_I64, "", "searches with so many visits that ended with a match"),
    **_LATENCIES,
}

TIMELINE = {
    **_repeated(*_IDENTITY, "timing"),
    "from_ns": Column(
        _F64, "ns", "start of the interval in simulated time; all intervals of a replay have the same length"
    ),
    "posted_max": Column(_I64, "entries", "longest posted-receive queue of any rank in the interval"),
    "unexpected_max": Column(_I64, "entries", "longest unexpected-message queue of any rank in the interval"),
    "operations": Column(_I64, "", "engine operations in the interval, over all ranks"),
}

MEASURED = {
    **_repeated(*_IDENTITY, "host"),
    "core": Column(
        _I64, "", "core that the thread was pinned to; null where the system does not allow pinning"
    ),
    "clock": Column(_STR, "", "clock that was read"),
    "reading_ns": Column(_F64, "ns", "cost of one timestamp, which was subtracted"),
    **_repeated("repetitions"),
    "same_order": Column(
        _F64,
        "",
        "share of operations that had the same position in their receiver's sequence "
        "in the replay and in the measurement, 0 to 1",
    ),
    "kind": Column(_STR, "", "`all`, `post`, `arrive`, `cancel`, `probe` or `matched_probe`"),
    "operations": Column(_I64, "", "operations measured"),
    "operation_ns": Column(_F64, "ns", "mean time of an operation, from the medians of 64 operations each"),
    "operation_low_ns": Column(_F64, "ns", "the same from the lower quartiles"),
    "operation_high_ns": Column(_F64, "ns", "the same from the upper quartiles"),
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

QUEUES = {
    **_repeated("trace"),
    "rank": RANKS["rank"],
    "from_ns": TIMELINE["from_ns"],
    "posted_max": Column(_I64, "entries", "longest posted-receive queue of the rank in the interval"),
    "unexpected_max": Column(_I64, "entries", "longest unexpected-message queue of the rank in the interval"),
    "operations": Column(_I64, "", "engine operations of the rank in the interval"),
}

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

STATS = {
    "records": Column(_I64, "", "records"),
    "wall_ns": Column(_I64, "ns", "time from the first record to the last; of all ranks: the longest"),
    "calls_wall_ns": Column(_I64, "ns", "wall time in recorded calls, summed"),
    "sent": Column(_I64, "messages", "messages sent, without those to `MPI_PROC_NULL`"),
    "sent_bytes": Column(_I64, "B", "their bytes"),
    "received": Column(_I64, "messages", "messages received, without those from `MPI_PROC_NULL`"),
    "received_bytes": Column(_I64, "B", "their bytes"),
    "never_received": Column(_I64, "messages", "messages sent to this rank that matched no receive"),
    "without_send": Column(
        _I64,
        "receives",
        "receives whose message has no send in the trace: the sender's records are truncated",
    ),
    "receives": Column(
        _I64, "receives", "receives posted and matched probes, without those from `MPI_PROC_NULL`"
    ),
    "matched_probes": Column(_I64, "receives", "among them: matched probes"),
    "unfinished": Column(_I64, "receives", "among them: neither finished nor cancelled when the records end"),
    "cancelled": Column(_I64, "receives", "among them: cancelled"),
    "any_source": Column(_I64, "receives", "among them: with `MPI_ANY_SOURCE` and a tag"),
    "any_tag": Column(_I64, "receives", "among them: with a source and `MPI_ANY_TAG`"),
    "any_both": Column(_I64, "receives", "among them: with both wildcards"),
    "partitioned": Column(
        _I64, "messages", "partitioned messages, in no other number: starts of sends, which are not matched"
    ),
    "probes": Column(_I64, "probes", "plain probes that found a message"),
    "probes_wildcard": Column(_I64, "probes", "among them: with a wildcard"),
    "test_misses": Column(_I64, "calls", "unsuccessful tests: calls of `MPI_Test*` that completed nothing"),
    "probe_misses": Column(_I64, "calls", "calls of `MPI_Iprobe` and `MPI_Improbe` that found no message"),
    "waits": Column(_I64, "calls", "calls that wait or test and completed something"),
    "collectives": Column(_I64, "calls", "collectives, counted on every rank"),
    "other_calls": Column(_I64, "calls", "calls that are not recorded in detail"),
    "sources": Column(
        _I64, "ranks", "ranks from which messages were received; of all ranks: the maximum of any rank"
    ),
    "tags": Column(_I64, "", "distinct tags of messages received"),
    "communicators": Column(_I64, "", "communicators in which messages were received"),
    "unexpected": Column(
        _I64, "messages", "messages that arrived before their receive was posted, or matched no receive"
    ),
    "unexpected_share": Column(_F64, "", "their share of all messages that arrived, 0 to 1"),
    "posted_length_mean": Column(_F64, "entries", "mean length of the PRQ when a message arrives"),
    "posted_max": Column(_I64, "entries", "maximum length of the PRQ"),
    "posted_depth_mean": Column(
        _F64, "entries", "mean search depth of the messages that find a receive: its position in the PRQ"
    ),
    "posted_depth_max": Column(_I64, "entries", "their maximum"),
    "unexpected_length_mean": Column(
        _F64, "entries", "mean length of the UMQ when a receive is posted or a matched probe searches"
    ),
    "unexpected_max": Column(_I64, "entries", "maximum length of the UMQ"),
    "unexpected_depth_mean": Column(
        _F64,
        "entries",
        "mean search depth of the receives and matched probes that find a message: its position in the UMQ",
    ),
    "unexpected_depth_max": Column(_I64, "entries", "their maximum"),
}
"""Numbers of `matchbench trace stats --json`, which the Rust side computes."""

STATS_SCHEMA = pl.Schema({name: column.type for name, column in STATS.items()})
"""Names and types of these numbers."""

_NEED = "structure entries that cover {} of it"

SIZING = {
    "curves": {
        "trace": RESULTS["trace"],
        "rank": Column(_I64, "", "world rank; null for the sum of all ranks"),
        "queue": Column(_STR, "", "`posted` or `unexpected`"),
        "measure": Column(
            _STR,
            "",
            "`oldest_of_queue` or `places_of_both`: overflows of a structure that holds these; "
            "`searches`: searches that go on beyond the oldest `structure_entries`; `time`: time with a "
            "longer queue",
        ),
        "structure_entries": Column(
            _I64, "entries", "size of one structure from which on the value holds, up to the next row"
        ),
        "value": Column(_F64, "", "count, or ns for `time`"),
    },
    "needs": {
        "trace": RESULTS["trace"],
        "rank": Column(_I64, "", "world rank; null for all ranks"),
        "communicator": Column(_I64, "", "number of the communicator; null for all of them"),
        "queue": Column(_STR, "", "`posted` or `unexpected`"),
        "of": Column(_STR, "", "what is covered: `searches`, `time` or `insertions`"),
        "total": Column(_F64, "", "all of it: a count, or ns for `time`"),
        "p50": Column(_I64, "entries", _NEED.format("50 %")),
        "p90": Column(_I64, "entries", _NEED.format("90 %")),
        "p99": Column(_I64, "entries", _NEED.format("99 %")),
        "p999": Column(_I64, "entries", _NEED.format("99.9 %")),
        "p100": Column(_I64, "entries", _NEED.format("100 %")),
    },
    "buckets": {
        "trace": RESULTS["trace"],
        "buckets": Column(
            _I64, "buckets", "buckets of each queue; an entry is in that of its source modulo them"
        ),
        "queue": Column(_STR, "", "`posted` or `unexpected`"),
        "longest": Column(_I64, "entries", "longest bucket of any rank"),
        "longest_any": Column(_I64, "entries", "longest list of receives from any source"),
        "searches": Column(_I64, "", "searches"),
        "search_p50": Column(_I64, "entries", "entries that a search compares, median"),
        "search_p99": Column(_I64, "entries", "99th percentile"),
        "search_max": Column(_I64, "entries", "maximum"),
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
