# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The summary tables of the terminal and of the HTML report: one block per trace.

Bounds and simulated rows come first, by time. Measured rows have a separate table, in the order in which they
were named: measured times are not ranked against those of models. Rows of engines that did what no engine can
do have one too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from matchbench.compare import coverage
from matchbench.compare.comparison import Remark
from matchbench.compare.implausible import MARK
from matchbench.display import tables

HEADINGS = (
    "engine",
    "at",
    "timing",
    ">application",
    ">slowdown",
    ">match mean",
    ">median",
    ">p99",
    ">max",
    ">visits mean",
    ">max",
    ">posted max",
    ">unexpected max",
    ">overflows",
    ">spilled",
    ">refused",
    ">blocked",
    ">assumed",
)
"""Headings of the table; a leading `>` marks a column of numbers."""

_VISITS_MAX = HEADINGS.index(">visits mean") + 1
SPARE = (
    (
        *map(HEADINGS.index, ("at", ">median", ">posted max", ">unexpected max", ">spilled", ">refused")),
        _VISITS_MAX,
    ),
    tuple(map(HEADINGS.index, (">p99", ">max", ">visits mean", ">assumed"))),
)
"""Columns that a narrow terminal omits: the first set, then the second."""

BREAKS_ORDER = " (breaks order)"
"""Suffix of an engine whose outcomes are not MPI's."""

OWN = {"library": "library", "python": "Python, slow"}
"""What is said of a user-defined engine in parentheses, by the first word of its origin."""

MEASURED = (
    "engine",
    "timing",
    ">operation",
    ">quartiles",
    ">repetitions",
    ">same order",
    ">application",
    ">slowdown",
    ">match mean",
    ">p99",
    ">blocked",
)
"""Headings of the table of measured rows."""

MEASURED_SPARE = (
    tuple(map(MEASURED.index, ("timing", ">same order", ">p99"))),
    tuple(map(MEASURED.index, (">quartiles", ">repetitions"))),
)
"""As `SPARE`, for the table of measured rows."""

LEGEND = (
    "application: simulated time of the program; slowdown: its ratio to that on ideal:zero; "
    "match: from the offer of the later of receive and message to the completion; "
    "visits: entries that the engine compares in a search; posted, unexpected: longest PRQ and UMQ; "
    "overflows: entries inserted while the structure of the engine was full; spilled: entries that went to "
    "host memory or software; refused: operations not accepted at first; ! marks those that occurred; "
    "blocked: share of the ranks' time spent waiting for matching; "
    "assumed: share of parameters whose source is an assumption."
)
"""Meaning of the headings."""

MEASURED_LEGEND = (
    "operation: mean time of an operation on this host, median and quartiles of the repetitions; "
    "none in a row of stored times; "
    "same order: share of operations that the replay executed in the measured order; "
    "application and the columns after it: a replay with these times."
)
"""Meaning of the headings of measured rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The rows of one trace.

    Parameters
    ----------
    trace
        Its name.
    title
        Name, size and replay parameters.
    rows
        Bounds and models: cells in the order of `HEADINGS`.
    measured_title
        Title of the measured rows, with the host.
    measured
        Measured rows: cells in the order of `MEASURED`.
    implausible_title
        Title of the implausible rows, with what each engine did.
    implausible
        Rows of engines that did what no engine can do: cells in the order of `HEADINGS`.
    note
        A sentence if the trace has nothing to match, otherwise empty.
    """

    trace: str
    title: str
    rows: list[tuple[str, ...]]
    measured_title: str
    measured: list[tuple[str, ...]]
    implausible_title: str
    implausible: list[tuple[str, ...]]
    note: str

    @property
    def engines(self) -> int:
        """Number of engine presets."""
        return len(self.rows) + len(self.measured) + len(self.implausible)


def blocks(
    results: pl.DataFrame, measured: pl.DataFrame, reference: pl.DataFrame | None = None
) -> Iterator[Block]:
    """Make the tables of every trace.

    Parameters
    ----------
    results, measured, reference
        The tables of these names (`spec/results.md`, sections 2, 9 and 10).
    """
    covered = {row["trace"]: row for row in ([] if reference is None else reference.to_dicts())}
    on = ["trace", "engine", "preset", "parameter_hash"]
    order = measured.filter(kind="all").select(*on, "same_order")
    results = results.join(order, on=on, how="left", maintain_order="left")
    for (name,), rows in results.group_by("trace", maintain_order=True):
        first = rows.row(0, named=True)
        collectives = f", {first['collectives']}" if first["collectives"] else ""
        title = (
            f"{name}: {tables.count(first['ranks'])} ranks, {tables.count(first['sent'])} messages; "
            f"network {first['network']}, compute time x {first['cpu_scale']:g}, "
            f"wildcards {first['wildcards']}{collectives}"
        )
        taken = [row for row in rows.iter_rows(named=True) if row["timing"] == "measured"]
        doubtful = [row for row in rows.iter_rows(named=True) if row["implausible"] is not None]
        ranked = rows.filter(pl.col("timing") != "measured", pl.col("implausible").is_null())
        yield Block(
            trace=str(name),
            title=title,
            rows=[_cells(row) for row in ranked.iter_rows(named=True)],
            measured_title=_measured_title(taken),
            measured=[_measured_cells(row) for row in taken],
            implausible_title=_implausible_title(doubtful),
            implausible=[_cells(row) for row in doubtful],
            note=_note(first, covered.get(str(name))),
        )


def _measured_title(rows: Sequence[Mapping[str, Any]]) -> str:
    """Say where the rows were measured; those without a host have stored times."""
    hosts = [row["host"] for row in rows if row["host"] is not None]
    where = [f"measured on this host ({hosts[0]})"] if hosts else []
    if len(hosts) < len(rows):
        where.append("measured before, as the remarks say")
    return f"{'; '.join(where)}, not ranked" if where else ""


def _implausible_title(rows: Sequence[Mapping[str, Any]]) -> str:
    """Say what each engine did that no engine can do."""
    did = [f"{row['engine']}:{row['preset']}: {row['implausible']}" for row in rows]
    return f"{MARK}, not ranked; {'; '.join(did)}" if did else ""


def _note(row: Mapping[str, Any], covered: Mapping[str, Any] | None) -> str:
    if row["matches"] or not row["finished"]:
        return ""
    if covered and (said := coverage.note(covered)):
        return said
    if row["sent"]:
        return "No message matched a receive: matching costs this program nothing."
    return "This program sent no messages: matching costs it nothing."


def remarks_once(remarks: Sequence[Remark]) -> dict[str, dict[str, list[str]]]:
    """Group the engines that share a remark, by trace and text."""
    about: dict[str, dict[str, list[str]]] = {}
    for remark in remarks:
        about.setdefault(remark.trace, {}).setdefault(remark.text, []).append(remark.engine)
    return about


def remark_lines(remarks: Sequence[Remark], most: int = 4) -> Iterator[str]:
    """Give each remark once, with its engines; all about a trace, and at most `most` about its replays.

    Parameters
    ----------
    remarks
        The remarks of all replays.
    most
        Lines per trace.
    """
    for trace, all_of in remarks_once(remarks).items():
        yield from (f"{trace}: {text}" for text, engines in all_of.items() if engines == [""])
        mine = {text: engines for text, engines in all_of.items() if engines != [""]}
        for text, engines in list(mine.items())[:most]:
            more = f" and {len(engines) - 1} more" if len(engines) > 1 else ""
            yield f"{trace} on {engines[0]}{more}: {text}"
        if len(mine) > most:
            yield f"{trace}: {len(mine) - most} more remarks in report.html"


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        f"{row['engine']}:{row['preset']}" + ("" if row["keeps_order"] else BREAKS_ORDER) + _own(row),
        row["placement"],
        row["timing"],
        tables.time(row["time_ns"]) if row["finished"] else "not finished",
        "-" if row["slowdown"] is None else f"{row['slowdown']:.3f}",
        tables.time(row["match_latency_mean_ns"]),
        tables.time(row["match_latency_median_ns"]),
        tables.time(row["match_latency_p99_ns"]),
        tables.time(row["match_latency_max_ns"]),
        tables.decimal(row["visits_mean"]),
        tables.count(row["visits_max"]),
        tables.count(row["posted_max"]),
        tables.count(row["unexpected_max"]),
        _marked(row["posted_overflows"] + row["unexpected_overflows"]),
        _marked(row["spilled"]),
        _marked(row["refused"]),
        tables.share(row["blocked_share"]),
        tables.share(row["assumed_share"]),
    )


def _own(row: Mapping[str, Any]) -> str:
    """Give the suffix of a user-defined engine."""
    said = [OWN.get((row["origin"] or "").partition(" ")[0]), row["implausible"] and MARK]
    return f" ({', '.join(filter(None, said))})" if any(said) else ""


def _marked(events: int) -> str:
    return f"! {tables.count(events)}" if events else "0"


def _measured_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    here = row["host"] is not None
    return (
        f"{row['engine']}:{row['preset']}",
        row["timing"],
        tables.time(row["operation_ns"]),
        f"{tables.time(row['operation_low_ns'])} to {tables.time(row['operation_high_ns'])}" if here else "-",
        tables.count(row["repetitions"]) if here else "-",
        tables.share(row["same_order"]),
        tables.time(row["time_ns"]) if row["finished"] else "not finished",
        "-" if row["slowdown"] is None else f"{row['slowdown']:.3f}",
        tables.time(row["match_latency_mean_ns"]),
        tables.time(row["match_latency_p99_ns"]),
        tables.share(row["blocked_share"]),
    )
