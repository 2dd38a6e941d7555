# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The summary tables of the terminal and of the HTML report: one block per trace.

Bounds and simulated rows come first, by time. Measured rows have a separate table, in the order in which they
were named: measured times are not ranked against those of models. Rows of engines that did what no engine can
do have one too.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from matchbench.compare import coverage
from matchbench.compare.columns import MEASURED, RESULTS
from matchbench.compare.comparison import Remark
from matchbench.compare.implausible import MARK
from matchbench.display import tables

BREAKS_ORDER = " (breaks order)"
"""Suffix of an engine whose outcomes are not MPI's."""

OWN = {"library": "library", "python": "Python, slow"}
"""What is said of a user-defined engine in parentheses, by the first word of its origin."""


class Shown(NamedTuple):
    """A column of the summary.

    Parameters
    ----------
    heading
        Its heading; a leading `>` marks a column of numbers.
    text
        Gives the cell of a row of `results`.
    columns
        The columns of `results` that it shows.
    spare
        When a narrow terminal omits it: 1 first, 2 next, 0 never.
    """

    heading: str
    text: Callable[[Mapping[str, Any]], str]
    columns: str
    spare: int = 0

    @property
    def meaning(self) -> str:
        """What the values of the columns say."""
        known = {**MEASURED, **RESULTS}
        return "; ".join(known[name].meaning for name in self.columns.split()).replace("`", "")


def _of(column: str, show: Callable[[Any], str]) -> Callable[[Mapping[str, Any]], str]:
    return lambda row: show(row[column])


def _label(row: Mapping[str, Any]) -> str:
    return f"{row['engine']}:{row['preset']}"


def _judged_label(row: Mapping[str, Any]) -> str:
    return _label(row) + ("" if row["keeps_order"] else BREAKS_ORDER) + _own(row)


def _own(row: Mapping[str, Any]) -> str:
    """Give the suffix of a user-defined engine."""
    said = [OWN.get((row["origin"] or "").partition(" ")[0]), row["implausible"] and MARK]
    return f" ({', '.join(filter(None, said))})" if any(said) else ""


def _overflows(row: Mapping[str, Any]) -> str:
    return tables.events(row["posted_overflows"] + row["unexpected_overflows"])


def _quartiles(row: Mapping[str, Any]) -> str:
    if row["host"] is None:
        return "-"
    return f"{tables.time(row['operation_low_ns'])} to {tables.time(row['operation_high_ns'])}"


def _repetitions(row: Mapping[str, Any]) -> str:
    return "-" if row["host"] is None else tables.count(row["repetitions"])


_APPLICATION = Shown(
    ">application",
    lambda row: tables.time(row["time_ns"]) if row["finished"] else "not finished",
    "time_ns",
)
_SLOWDOWN = Shown(">slowdown", lambda row: tables.fixed(row["slowdown"], 3), "slowdown")
_MATCH_MEAN = Shown(">match mean", _of("match_latency_mean_ns", tables.time), "match_latency_mean_ns")
_P99 = Shown(">p99", _of("match_latency_p99_ns", tables.time), "match_latency_p99_ns", 2)
_BLOCKED = Shown(">blocked", _of("blocked_share", tables.share), "blocked_share")

SIMULATED_COLUMNS = (
    Shown("engine", _judged_label, "engine preset"),
    Shown("at", _of("placement", str), "placement", 1),
    Shown("timing", _of("timing", str), "timing"),
    _APPLICATION,
    _SLOWDOWN,
    _MATCH_MEAN,
    Shown(">median", _of("match_latency_median_ns", tables.time), "match_latency_median_ns", 1),
    _P99,
    Shown(">max", _of("match_latency_max_ns", tables.time), "match_latency_max_ns", 2),
    Shown(">visits mean", _of("visits_mean", tables.decimal), "visits_mean", 2),
    Shown(">max", _of("visits_max", tables.count), "visits_max", 1),
    Shown(">posted max", _of("posted_max", tables.count), "posted_max", 1),
    Shown(">unexpected max", _of("unexpected_max", tables.count), "unexpected_max", 1),
    Shown(">overflows", _overflows, "posted_overflows unexpected_overflows"),
    Shown(">spilled", _of("spilled", tables.events), "spilled", 1),
    Shown(">refused", _of("refused", tables.events), "refused", 1),
    _BLOCKED,
    Shown(">assumed", _of("assumed_share", tables.share), "assumed_share", 2),
)
"""Columns of bounds and models."""

MEASURED_COLUMNS = (
    Shown("engine", _label, "engine preset"),
    Shown("timing", _of("timing", str), "timing", 1),
    Shown(">operation", _of("operation_ns", tables.time), "operation_ns"),
    Shown(">quartiles", _quartiles, "operation_low_ns operation_high_ns", 2),
    Shown(">repetitions", _repetitions, "repetitions", 2),
    Shown(">same order", _of("same_order", tables.share), "same_order", 1),
    _APPLICATION,
    _SLOWDOWN,
    _MATCH_MEAN,
    _P99._replace(spare=1),
    _BLOCKED,
)
"""Columns of measured rows."""


def headings(shown: Sequence[Shown]) -> list[str]:
    """Give the headings of a table."""
    return [each.heading for each in shown]


def spare(shown: Sequence[Shown]) -> list[set[int]]:
    """Give the positions of columns that a narrow terminal omits, in the order in which they are omitted."""
    return [{at for at, each in enumerate(shown) if each.spare == rank} for rank in (1, 2)]


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
        Bounds and models: cells in the order of `SIMULATED_COLUMNS`.
    measured_title
        Title of the measured rows, with the host.
    measured
        Measured rows: cells in the order of `MEASURED_COLUMNS`.
    implausible_title
        Title of the implausible rows, with what each engine did.
    implausible
        Rows of engines that did what no engine can do: cells in the order of `SIMULATED_COLUMNS`.
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
    def tables(self) -> list[tuple[str, tuple[Shown, ...], list[tuple[str, ...]]]]:
        """Title, columns and rows of each table of the terminal; the first one may be empty."""
        others = (
            (self.measured_title, MEASURED_COLUMNS, self.measured),
            (self.implausible_title, SIMULATED_COLUMNS, self.implausible),
        )
        return [(self.title, SIMULATED_COLUMNS, self.rows), *(each for each in others if each[2])]

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
            rows=[_cells(SIMULATED_COLUMNS, row) for row in ranked.iter_rows(named=True)],
            measured_title=_measured_title(taken),
            measured=[_cells(MEASURED_COLUMNS, row) for row in taken],
            implausible_title=_implausible_title(doubtful),
            implausible=[_cells(SIMULATED_COLUMNS, row) for row in doubtful],
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


def _cells(shown: Sequence[Shown], row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(each.text(row) for each in shown)
