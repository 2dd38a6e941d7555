# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Replays on the reference engine, from which the answer of a comparison is computed.

The reference is a list searched in software, as an MPI library does. Its replay takes milliseconds for the
shipped traces, so that one trace can be replayed again with one thing changed at a time: the one on which
matching costs most, or, of several recordings of one program, the one with the median cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from matchbench import interruptible
from matchbench._native import Engine, Network
from matchbench.compare import columns, coverage, variations
from matchbench.compare.replay_config import ReplayConfig
from matchbench.compare.result_tables import REFERENCE as ZERO
from matchbench.compare.result_tables import preset_of
from matchbench.compare.variations import ENGINE, PRESET, Setup
from matchbench.native_types import Report, Stats
from matchbench.trace import shortfalls
from matchbench.trace.trace import Trace

_WATCHED = 3
"""Ranks whose queues are reported one by one."""


def replays(
    traces: Sequence[Trace],
    chosen: Sequence[Engine],
    network: Network,
    config: ReplayConfig,
    results: pl.DataFrame,
    *,
    jobs: int = 1,
    repeat: bool = False,
) -> dict[str, Any]:
    """Replay every trace on the reference engine, and one of them with changes.

    Parameters
    ----------
    traces
        The traces of the comparison.
    chosen
        Its engines. One that is the reference with parameters of the user takes its place.
    network, config
        As the replays used them.
    results
        The table `results`, for the times on `ideal:zero`.
    jobs
        Replays at a time.
    repeat
        Whether the traces are recordings of one program.

    Returns
    -------
    dict
        The tables `reference`, `reference_ranks`, `variations` and `queues` (`spec/results.md`).
    """
    given = (each for each in chosen if (each.name, each.preset) == (ENGINE, PRESET))
    engine = next(given, Engine(f"{ENGINE}:{PRESET}"))
    zero = results.filter(finished=True).select(
        "trace", "time_ns", label=pl.format("{}:{}", "engine", "preset")
    )
    zeros = dict(zero.filter(label=ZERO).select("trace", "time_ns").iter_rows())
    setups = [Setup(trace=trace, engine=engine, network=network, config=config) for trace in traces]
    with interruptible.Threads(max(1, jobs)) as threads:
        begun = [threads.submit(setup.replaying()) for setup in setups]
        counted = [threads.submit(setup.trace.native.stats) for setup in setups]
        reports = [interruptible.result(each) for each in begun]
        stats = [interruptible.result(each) for each in counted]
        rows = [
            _reference(setup, report, of, zeros.get(setup.trace.name))
            for setup, report, of in zip(setups, reports, stats, strict=True)
        ]
        watched = [_worst_ranks(report) for report in reports]
        queues = {
            setup.trace: threads.submit(setup.replaying(watched=ranks))
            for setup, ranks in zip(setups, watched, strict=True)
            if ranks
        }
        shown = _shown(rows, repeat=repeat)
        varied = [] if shown is None else _variations(threads, setups[shown], rows[shown], reports[shown])
        frames: dict[str, Any] = {
            "reference": pl.DataFrame(rows, schema=columns.TABLES["reference"]),
            "variations": pl.DataFrame(varied, schema=columns.TABLES["variations"]),
        }
        tables = {
            "reference_ranks": [
                _frame("reference_ranks", setup.trace, report["ranks"])
                for setup, report in zip(setups, reports, strict=True)
            ],
            "queues": [
                _frame("queues", trace, interruptible.result(report)["watched"])
                for trace, report in queues.items()
            ],
        }
    for name, each in tables.items():
        frames[name] = pl.concat([pl.DataFrame(schema=columns.TABLES[name]), *each])
    return frames


def _frame(table: str, trace: Trace, values: Mapping[str, Sequence[Any]]) -> pl.DataFrame:
    schema = columns.TABLES[table]
    first = next(iter(values.values()))
    whole = {**values, "trace": [trace.name] * len(first)}
    return pl.DataFrame({name: whole[name] for name in schema}, schema=schema)


def _reference(setup: Setup, report: Report, stats: Stats, zero_ns: float | None) -> dict[str, Any]:
    total = _total(report)
    recorded = {name: values[0] for name, values in stats["total"].items()}
    shared = shortfalls.oversubscription(setup.trace.native)
    kept = (
        "matches",
        "operations",
        "visits_mean",
        "visits_max",
        "posted_max",
        "unexpected_max",
        "partitioned",
    )
    is_recorded = setup.trace.meta.get("origin") == "recorded"
    return {
        "trace": setup.trace.name,
        "engine": setup.engine.name,
        "preset": preset_of(setup.engine),
        **_cost_of(None if report["unfinished"]["rank"] else total["time_ns"], zero_ns),
        **{name: total[name] for name in kept},
        "state": setup.trace.state,
        "host_ranks": shared and shared.ranks,
        "host_processors": shared and shared.processors,
        "waiting_share": shared and shared.share,
        "unexpected_share": _unexpected(total),
        "unexpected_recorded": recorded["unexpected_share"] if is_recorded else None,
        "wildcards": sum(recorded[name] for name in ("any_source", "any_tag", "any_both")),
        **coverage.of(setup.trace.native, total),
    }


def _total(report: Report) -> dict[str, Any]:
    return {name: values[0] for name, values in report["total"].items()}


def _unexpected(total: Mapping[str, Any]) -> float | None:
    """Give the share of messages of point-to-point calls that were unexpected."""
    return total["unexpected_user"] / total["sent_user"] if total["sent_user"] else None


def _cost_of(time_ns: float | None, zero_ns: float | None) -> dict[str, float | None]:
    share = None
    if time_ns is not None and zero_ns is not None:
        share = 1 - zero_ns / time_ns if time_ns else 0.0
    return {"time_ns": time_ns, "zero_ns": zero_ns, "cost_share": share}


def _shown(rows: Sequence[Mapping[str, Any]], *, repeat: bool) -> int | None:
    """Choose the trace of which the answer speaks: the one with the largest cost, or with the median."""
    known = [at for at, row in enumerate(rows) if _can_vary(row)]
    known.sort(key=lambda at: -rows[at]["cost_share"])
    return (known[len(known) // 2] if repeat else known[0]) if known else None


def _can_vary(row: Mapping[str, Any]) -> bool:
    return row["cost_share"] is not None and row["matches"] > 0 and not coverage.is_refused(row)


def _worst_ranks(report: Report) -> list[int]:
    """Name the ranks that wait for matching for most of their time, then those with the longest queues."""
    ranks = report["ranks"]
    worst = sorted(
        zip(
            (
                blocked_ns / time_ns if time_ns else 0.0
                for blocked_ns, time_ns in zip(ranks["blocked_on_matching_ns"], ranks["time_ns"], strict=True)
            ),
            map(max, ranks["posted_max"], ranks["unexpected_max"]),
            (-rank for rank in ranks["rank"]),
            strict=True,
        ),
        reverse=True,
    )
    return [-rank for _, longest, rank in worst if longest > 0][:_WATCHED]


def _variations(
    threads: interruptible.Threads, setup: Setup, base: Mapping[str, Any], report: Report
) -> list[dict[str, Any]]:
    """Replay one trace with one thing changed at a time."""
    same = {name: base[name] for name in ("time_ns", "zero_ns", "cost_share", "unexpected_share")}
    rows = [{"trace": setup.trace.name, "change": "none", "factor": 1.0, **same}]
    plan = [
        (
            each,
            threads.submit(each.setup.replaying()),
            threads.submit(each.setup.replaying(Engine(ZERO))) if each.moves_zero else None,
        )
        for each in variations.planned(setup, base, _total(report))
    ]
    for each, of_engine, of_zero in plan:
        changed = interruptible.result(of_engine)
        total = _total(changed)
        zero_ns = base["zero_ns"]
        if of_zero is not None:
            zero = interruptible.result(of_zero)
            zero_ns = None if zero["unfinished"]["rank"] else zero["total"]["time_ns"][0]
        cost = _cost_of(None if changed["unfinished"]["rank"] else total["time_ns"], zero_ns)
        rows.append({**each.about, **cost, "unexpected_share": _unexpected(total)})
    return rows
