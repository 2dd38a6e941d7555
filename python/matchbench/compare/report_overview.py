# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the report shows of all traces together, and the queues of single ranks."""

from __future__ import annotations

import math
from dataclasses import dataclass

import polars as pl

from matchbench.compare import cost_chart, report_charts
from matchbench.compare.answer import geometric_mean
from matchbench.compare.comparison import Comparison
from matchbench.compare.implausible import MARK
from matchbench.display.chart_parts import LEGEND, LOG_RATIO, SHOWN, WIDTH, Spec, data, switches, ticks

_STEPS = (1.01, 1.05, 1.2, 2.0)
"""Slowdowns from which a cell of the matrix has the next shade."""
_LEAST = 0.001  # per cent of the run time, below which a logarithmic axis is linear


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One chart.

    Parameters
    ----------
    trace
        Name of its trace; empty for a chart of all traces.
    kind, title, description
        As in :class:`matchbench.report_charts.Selected`.
    spec
        The Vega-Lite specification.
    """

    trace: str
    kind: str
    title: str
    description: str
    spec: Spec


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A slowdown in the matrix.

    Parameters
    ----------
    text
        Three decimals, or `-` if the replay did not finish.
    shade
        0, below 1.01, to 4, from 2 on.
    """

    text: str
    shade: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixRow:
    """One engine.

    Parameters
    ----------
    label
        `engine:preset`.
    timing
        `bound`, `simulated`, `measured` or `implausible`.
    cells
        Slowdown in each trace, then their geometric mean and the largest one.
    """

    label: str
    timing: str
    cells: tuple[Cell, ...]


def matrix(results: pl.DataFrame) -> list[MatrixRow]:
    """Make the matrix: bounds, models by their mean, then measured and implausible engines in their order.

    Parameters
    ----------
    results
        The table of this name.
    """
    slowdowns: dict[tuple[str, str], dict[str, float | None]] = {}
    named = pl.format("{}:{}", "engine", "preset")
    doubtful = set(results.filter(pl.col("implausible").is_not_null()).select(named).to_series())
    for name, timing, trace, slowdown in results.select(named, "timing", "trace", "slowdown").iter_rows():
        kind = MARK if name in doubtful else timing
        slowdowns.setdefault((kind, name), {})[trace] = slowdown
    traces = results["trace"].unique(maintain_order=True)
    rows = []
    for (timing, label), by_trace in slowdowns.items():
        values = [by_trace.get(trace) for trace in traces]
        known = [value for value in values if value is not None]
        finished = len(known) == len(values)
        mean = geometric_mean(known) if finished else None
        worst = max(known) if finished else None
        key = 0.0 if timing in ("measured", MARK) else mean or float("inf")
        cells = tuple(map(_cell, [*values, mean, worst]))
        rows.append((("bound", "simulated", "measured", MARK).index(timing), key, label, timing, cells))
    rows.sort(key=lambda row: row[:2])
    return [MatrixRow(label=label, timing=timing, cells=cells) for _, _, label, timing, cells in rows]


def _cell(slowdown: float | None) -> Cell:
    if slowdown is None:
        return Cell(text="-", shade=0)
    return Cell(text=f"{slowdown:.3f}", shade=sum(slowdown >= step for step in _STEPS))


def charts(comparison: Comparison) -> list[Chart]:
    """Make the chart of all traces, if there are several, and that of the worst ranks of each trace."""
    results = cost_chart.comparable(comparison.results)
    found = []
    if results["trace"].n_unique() > 1:
        found.append(_costs(results))
    found += [
        _rank_queues(str(trace), queues, comparison.reference_ranks.filter(trace=trace))
        for (trace,), queues in comparison.queues.group_by("trace", maintain_order=True)
        if any(queues[column].gt(1).any() for column in ("posted_max", "unexpected_max"))
    ]
    return found


def _costs(results: pl.DataFrame) -> Chart:
    """Draw a point for each trace and engine; the engines in the order of the matrix."""
    rows = cost_chart.costs(results).select(
        "label", "trace", "timing", (100 * pl.col("share")).alias("percent"), "text"
    )
    named = set(rows["label"])
    order = [row.label for row in matrix(results) if row.label in named]
    largest = max(rows["percent"].to_list())
    smallest = min((each for each in rows["percent"].to_list() if each > _LEAST), default=largest)
    x: Spec = {"scale": {"zero": True, "nice": True}}
    if largest > LOG_RATIO * smallest:
        linear = 10.0 ** math.floor(math.log10(smallest))
        x = {
            "scale": {"type": "symlog", "constant": linear},
            "axis": {"values": ticks(largest, linear), "format": ",.12~g"},
        }
    spec = {
        **switches(order, margin=200),
        "width": WIDTH,
        "height": {"step": 18},
        "data": data(rows),
        "transform": [{"filter": SHOWN}],
        "mark": {"type": "point", "filled": True, "size": 55, "opacity": 0.85},
        "encoding": {
            "y": {
                "field": "label",
                "type": "nominal",
                "sort": order,
                "title": None,
                "axis": {"labelLimit": 260, "grid": True},
            },
            "x": {
                "field": "percent",
                "type": "quantitative",
                **x,
                "title": "application time above that of ideal:zero [% of the run time]",
            },
            "color": {"field": "trace", "type": "nominal", "title": None, "legend": LEGEND},
            "shape": {"field": "trace", "type": "nominal", "title": None},
            "tooltip": [
                {"field": "label", "title": "engine"},
                {"field": "trace"},
                {"field": "timing"},
                {"field": "text", "title": "cost of matching (share of the run time)"},
            ],
        },
    }
    low, high = rows.sort("percent").row(0, named=True), rows.sort("percent").row(-1, named=True)
    description = (
        f"Points: {len(order)} engines in {rows['trace'].n_unique()} traces, costs of matching from "
        f"{low['text']} to {high['text']} ({high['label']}, {high['trace']})."
    )
    title = f"{cost_chart.TITLE}, all traces"
    return Chart(trace="", kind="costs", title=title, description=description, spec=spec)


def _rank_queues(trace: str, queues: pl.DataFrame, ranks: pl.DataFrame) -> Chart:
    """Draw a strip for each rank that waits longest for the reference engine."""
    blocked_ns = dict(ranks.select("rank", "blocked_on_matching_ns").iter_rows())
    times_ns = dict(ranks.select("rank", "time_ns").iter_rows())
    parts = [
        (f"rank {rank}, waits {100 * blocked_ns[rank] / max(times_ns[rank], 1):.2g} % of its time", bins)
        for (rank,), bins in queues.group_by("rank", maintain_order=True)
    ]
    return Chart(
        trace=trace,
        kind="ranks",
        title="queue lengths over time of the ranks that wait longest, on the reference engine",
        description=report_charts.describe_queues(queues),
        spec=report_charts.strips(parts, "rank", "longest queue of the rank [entries]"),
    )
