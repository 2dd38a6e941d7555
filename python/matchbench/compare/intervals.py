# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Several recordings of one program: the interval of each result over them."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from matchbench._native import MatchbenchError
from matchbench.compare import columns
from matchbench.compare.answer_text import percent
from matchbench.display import tables
from matchbench.display.document import Shown

if TYPE_CHECKING:
    from matchbench.trace.trace import Trace

HEADINGS = (
    "engine",
    "timing",
    ">recordings",
    ">slowdown",
    ">from",
    ">to",
    ">cost",
    ">from",
    ">to",
    ">match mean",
    ">from",
    ">to",
    ">blocked",
    ">from",
    ">to",
)
"""Headings of the table of intervals; a leading `>` marks a column of numbers."""

_MATCH, _BLOCKED = HEADINGS.index(">match mean"), HEADINGS.index(">blocked")
SPARE = ((_BLOCKED, _BLOCKED + 1, _BLOCKED + 2), (_MATCH, _MATCH + 1, _MATCH + 2))
"""Columns that a narrow terminal omits: the first set, then the second."""

LEGEND = (
    "slowdown, cost, match mean, blocked: median over the recordings, smallest and largest value; "
    "cost: share of the run time that ideal:zero saves."
)
"""Meaning of the headings."""

_OF = {
    "time": ("time_ns", "_ns"),
    "slowdown": ("slowdown", ""),
    "cost_share": ("cost_share", ""),
    "match_latency_mean": ("match_latency_mean_ns", "_ns"),
    "blocked_share": ("blocked_share", ""),
}


def check(traces: Sequence[Trace]) -> None:
    """Refuse what cannot be recordings of one program.

    Parameters
    ----------
    traces
        The recordings.

    Raises
    ------
    MatchbenchError
        When there are fewer than two, or their numbers of ranks differ.
    """
    if len(traces) < 2:
        msg = f"repeat: found {len(traces)} trace, expected recordings of one program; name them all"
        raise MatchbenchError(msg)
    first = traces[0]
    for each in traces[1:]:
        if each.ranks != first.ranks:
            msg = (
                f"{each.path}: found {each.ranks} ranks, expected {first.ranks} as in {first.path}; "
                "`repeat` takes recordings of one program on one number of ranks"
            )
            raise MatchbenchError(msg)


def table(results: pl.DataFrame, reference: pl.DataFrame) -> pl.DataFrame:
    """Make the table `intervals`.

    Parameters
    ----------
    results, reference
        The tables of these names; all traces are recordings of one program.
    """
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in results.iter_rows(named=True):
        groups.setdefault((row["engine"], row["preset"]), []).append(row)
    compared = set(groups)
    for row in reference.iter_rows(named=True):
        if (key := (row["engine"], row["preset"])) in compared:
            continue
        groups.setdefault(key, []).append(
            {
                "timing": "simulated",
                "time_ns": row["time_ns"],
                "slowdown": row["time_ns"] / row["zero_ns"] if row["time_ns"] and row["zero_ns"] else None,
                "match_latency_mean_ns": None,
                "blocked_share": None,
            }
        )
    rows = [_row(key, each) for key, each in groups.items()]
    order = ("bound", "simulated", "measured")
    rows.sort(key=lambda row: (order.index(row["timing"]), row["slowdown_median"] or float("inf")))
    return pl.DataFrame(rows, schema=columns.TABLES["intervals"])


def _row(key: tuple[str, str], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    finished = [row for row in rows if row["slowdown"] is not None]
    found: dict[str, Any] = {
        "engine": key[0],
        "preset": key[1],
        "timing": rows[0]["timing"],
        "recordings": len(finished),
    }
    for name, (column, unit) in _OF.items():
        values = [1 - 1 / row["slowdown"] if column == "cost_share" else row[column] for row in finished]
        values = [value for value in values if value is not None]
        for which, pick in (("low", min), ("median", statistics.median), ("high", max)):
            found[f"{name}_{which}{unit}"] = pick(values) if values else None
    return found


def cells(intervals: pl.DataFrame) -> list[tuple[str, ...]]:
    """Give the rows of the table as text, in the order of `HEADINGS`.

    Parameters
    ----------
    intervals
        The table of this name.
    """
    return [_cells(row) for row in intervals.iter_rows(named=True)]


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    def three(name: str, show: Any, unit: str = "") -> list[str]:
        return [show(row[f"{name}_{which}{unit}"]) for which in ("median", "low", "high")]

    return (
        f"{row['engine']}:{row['preset']}",
        row["timing"],
        tables.count(row["recordings"]),
        *three("slowdown", lambda value: tables.fixed(value, 3)),
        *three("cost_share", lambda value: Shown("-" if value is None else percent(value), value, "1")),
        *three("match_latency_mean", tables.time, "_ns"),
        *three("blocked_share", tables.share),
    )


def title(results: pl.DataFrame) -> str:
    """Name the recordings.

    Parameters
    ----------
    results
        The table of this name.
    """
    names = results["trace"].unique(maintain_order=True).to_list()
    first = results.row(0, named=True)
    sent = results["sent"].to_list()
    low, high = tables.count(min(sent)), tables.count(max(sent))
    messages = low if low == high else f"{low} to {high}"
    return (
        f"{len(names)} recordings ({', '.join(names)}): "
        f"{tables.count(first['ranks'])} ranks, {messages} messages; "
        f"network {first['network']}, compute time x {first['cpu_scale']:g}, wildcards {first['wildcards']}"
    )
