# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Interactive charts of a comparison, as Vega-Lite specifications for its HTML report.

The browser draws them: a pointer shows the values of a mark, dragging moves, and the wheel with the shift key
zooms. The page sets the parameter `shown`, the labels of the engines that are switched on, and the width.
Nothing here imports matplotlib; `plots` draws the same data as PNG and SVG.

Source: Vega-Lite, a grammar of interactive graphics; https://vega.github.io/vega-lite/docs.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from matchbench.compare import cost_chart
from matchbench.display.chart_parts import (
    LABEL,
    LEGEND,
    LOG_RATIO,
    SHOWN,
    TIMINGS,
    WIDTH,
    Spec,
    colours,
    data,
    switches,
    ticks,
)

_SHOWN_STRIPS = "indexof(shown, split(datum.label, ' ')[0]) >= 0"
_ZOOM = "wheel![event.shiftKey]"  # the wheel alone scrolls the page
_QUEUES = {"posted_max": "posted receives", "unexpected_max": "unexpected messages"}
_QUEUE_COLOURS = ["#3f7fc4", "#d9711c"]
_SIZES = {
    "latency": (["depth_to"], "every match was with the oldest entry of its queue"),
    "queues": (list(_QUEUES), "no queue held more than one entry"),
}
"""Columns of the depth or length that a kind of chart shows, and what is said when none is above 1."""
_MEASURES = {"mean": "mean", "median": "median", "p99": "99 %", "p999": "99.9 %", "max": "maximum"}
"""What a chart of match latencies can show: column `match_latency_..._ns`, and its name."""
# Dashes by kind of time: bounds are dotted, measured times dashed.
_DASHES: list[list[int]] = [[1, 3], [1, 0], [5, 3]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """What one chart of one trace shows.

    Parameters
    ----------
    trace
        Name of the trace.
    kind
        `cost`, `latency` or `queues`.
    title
        What the chart shows, without the name of the trace.
    table
        The rows of this trace: `results`, `depths` or `timeline`.
    colours
        Colours of lines by `engine:preset`; those of the table alone if there are none.
    """

    trace: str
    kind: str
    title: str
    table: pl.DataFrame
    colours: Mapping[str, str] = field(default_factory=dict)

    @property
    def spec(self) -> Spec:
        """The Vega-Lite specification."""
        if self.kind == "latency":
            return _latency(self.table, self.colours or colours(self.table))
        return (cost_chart.spec if self.kind == "cost" else _queues)(self.table)

    @property
    def description(self) -> str:
        """A description of the chart in words, for screen readers."""
        return _DESCRIPTIONS[self.kind](self.table)


def select(
    results: pl.DataFrame, depths: pl.DataFrame, timeline: pl.DataFrame
) -> tuple[list[Selected], dict[str, list[str]]]:
    """Choose the charts of a comparison.

    A trace without matches has no chart of latencies. A chart whose depths or lengths are at most one entry
    is left out.

    Parameters
    ----------
    results, depths, timeline
        The tables of these names.

    Returns
    -------
    list of Selected
        The charts, by trace.
    dict
        By trace, a sentence for each chart that would show nothing.
    """
    kinds = {
        "cost": (cost_chart.comparable(results), cost_chart.TITLE),
        "latency": (found_only(depths), "match latency against search depth"),
        "queues": (timeline, "queue lengths over time"),
    }
    selected: list[Selected] = []
    palette = colours(results)
    left_out: dict[str, list[str]] = {}
    for trace in results["trace"].unique(maintain_order=True):
        for kind, (table, title) in kinds.items():
            rows = table.filter(trace=trace)
            if rows.is_empty():
                continue
            if kind in _SIZES and all(rows[column].max() in {0, 1, None} for column in _SIZES[kind][0]):
                left_out.setdefault(trace, []).append(f"No plot of {title}: {_SIZES[kind][1]}.")
            else:
                selected.append(Selected(trace=trace, kind=kind, title=title, table=rows, colours=palette))
    return selected, left_out


def found_only(depths: pl.DataFrame) -> pl.DataFrame:
    """Give the rows of table `depths` that have a match latency."""
    return depths.filter(pl.col("matches") > 0, pl.col("match_latency_mean_ns").is_not_null())


def _latency(depths: pl.DataFrame, palette: Mapping[str, str]) -> Spec:
    """Draw a line for each engine preset through the bin centres of the search depth.

    A selection below the chart chooses the mean or a percentile of the match latency.
    """
    rows = depths.select(
        LABEL.alias("label"),
        "engine",
        "timing",
        ((pl.col("depth_from") + pl.col("depth_to")) / 2).alias("depth"),
        "depth_from",
        "depth_to",
        "matches",
        *(pl.col(f"match_latency_{name}_ns").alias(name) for name in _MEASURES),
    ).sort("label", "depth")
    times = pl.concat([rows[name] for name in _MEASURES])
    # Linear below the smallest time, so that an engine with zero time is visible.
    smallest, largest, deepest = times.filter(times > 0).min(), times.max(), rows["depth_to"].max()
    time: Spec = {"scale": {"zero": True}}
    if isinstance(smallest, float) and isinstance(largest, float) and largest > LOG_RATIO * smallest:
        time = {
            "scale": {"type": "symlog", "constant": smallest},
            "axis": {"values": ticks(largest, 10 ** math.floor(math.log10(smallest))), "format": ",.12~g"},
        }
    # The legend has the order of the table, the fastest engine first.
    labels = depths.select(LABEL).to_series().unique(maintain_order=True).to_list()
    timings = [timing for timing in TIMINGS if timing in rows["timing"]]
    engines = switches(labels, margin=90)
    view = {"name": "view", "select": {"type": "interval", "zoom": _ZOOM}, "bind": "scales"}
    measure = {
        "name": "measure",
        "value": next(iter(_MEASURES)),
        "bind": {
            "input": "select",
            "options": list(_MEASURES),
            "labels": list(_MEASURES.values()),
            "name": "match latency: ",
        },
    }
    return {
        **engines,
        "params": [*engines["params"], view, measure],
        "width": WIDTH,
        "height": 320,
        "data": data(rows),
        "transform": [{"filter": SHOWN}, {"calculate": "datum[measure]", "as": "latency"}],
        "mark": {"type": "line", "point": {"size": 22}},
        "encoding": {
            "x": {
                "field": "depth",
                "type": "quantitative",
                "scale": {"type": "symlog", "constant": 1},
                "axis": {"values": ticks(deepest if isinstance(deepest, int) else 1), "format": ",.12~g"},
                "title": "search depth: position of the match in its queue [entries]",
            },
            "y": {
                "field": "latency",
                "type": "quantitative",
                **time,
                "title": "match latency [ns]",
            },
            "color": {
                "field": "label",
                "type": "nominal",
                "scale": {"domain": list(palette), "range": list(palette.values())},
                "title": None,
                "legend": {**LEGEND, "values": labels, "symbolType": "stroke", "symbolStrokeWidth": 3},
            },
            "strokeDash": {
                "field": "timing",
                "type": "nominal",
                "scale": {"domain": list(TIMINGS), "range": _DASHES},
                "title": None,
                "legend": {
                    **LEGEND,
                    "values": timings,
                    "symbolType": "stroke",
                    "symbolStrokeColor": "currentColor",
                }
                if len(timings) > 1
                else None,
            },
            "tooltip": [
                {"field": "label", "title": "engine"},
                {"field": "timing"},
                {"field": "depth_from", "title": "search depth, from"},
                {"field": "depth_to", "title": "to"},
                {"field": "matches", "type": "quantitative", "format": ",.12~g"},
                *(
                    {
                        "field": name,
                        "type": "quantitative",
                        "format": ",.4~r",
                        "title": f"match latency, {title} [ns]",
                    }
                    for name, title in _MEASURES.items()
                ),
            ],
        },
    }


def _queues(timeline: pl.DataFrame) -> Spec:
    """Draw a strip for the fastest preset of each engine: the longest queues of any rank over time."""
    # Rows are in the order of `results`, by application time: the first preset of an engine is its fastest.
    fastest = timeline.select("engine", "preset").unique("engine", keep="first", maintain_order=True)
    parts = []
    for engine, preset in fastest.iter_rows():
        bins = timeline.filter(engine=engine, preset=preset)
        timing = "" if bins["timing"][0] == "simulated" else f" ({bins['timing'][0]})"
        parts.append((f"{engine}:{preset}{timing}", bins))
    engines = switches([label.partition(" ")[0] for label, _ in parts], margin=70)
    spec = strips(parts, "engine", "longest queue of any rank [entries]")
    return {**spec, **engines, "transform": [*spec["transform"], {"filter": _SHOWN_STRIPS}]}


def strips(parts: Sequence[tuple[str, pl.DataFrame]], what: str, title: str) -> Spec:
    """Draw strips of queue lengths over time, one above the other.

    Parameters
    ----------
    parts
        Label and intervals of each strip; the columns are those of `timeline`.
    what
        What a label names.
    title
        Title of the lengths.
    """
    last = pl.concat([bins["from_ns"] for _, bins in parts]).max()
    unit, scale = next(
        (
            each
            for each in (("s", 1e9), ("ms", 1e6), ("µs", 1e3))
            if isinstance(last, float) and last >= 2 * each[1]
        ),
        ("ns", 1.0),
    )
    names = [label for label, _ in parts]
    drawn = []
    longest = 1
    for number, (_, whole) in enumerate(parts):
        bins = whole.sort("from_ns")
        for at, column in enumerate(_QUEUES):
            # Points where the length does not change are dropped, except the last one.
            changes = pl.col(column).ne_missing(pl.col(column).shift()) | (
                pl.int_range(pl.len()) == pl.len() - 1
            )
            steps = bins.filter(changes).select(
                pl.lit(number).alias("n"),
                pl.lit(at).alias("q"),
                (pl.col("from_ns") / scale).alias("time"),
                pl.col(column).alias("length"),
            )
            longest = max(longest, *steps["length"])
            drawn.append(steps)
    rows = pl.concat(drawn)
    length: Spec = {"type": "symlog", "constant": 10} if longest > 10 * LOG_RATIO else {"type": "linear"}
    return {
        "usermeta": {"margin": 70},
        "data": data(rows),
        # Numbers in the rows, because each label would be repeated thousands of times.
        "transform": [
            {"calculate": f"{json.dumps(names)}[datum.n]", "as": "label"},
            {"calculate": f"{json.dumps(list(_QUEUES.values()))}[datum.q]", "as": "queue"},
        ],
        "facet": {
            "row": {
                "field": "label",
                "type": "nominal",
                "sort": names,
                "title": None,
                "header": {"labelOrient": "top", "labelAnchor": "start", "labelPadding": 2},
            }
        },
        "spacing": 6,
        "spec": {
            "width": WIDTH,
            "height": 44,
            "params": [
                {
                    "name": "view",
                    "select": {"type": "interval", "encodings": ["x"], "zoom": _ZOOM},
                    "bind": "scales",
                }
            ],
            "mark": {
                "type": "area",
                "interpolate": "step-after",
                "line": {"strokeWidth": 0.6},
                "opacity": 0.5,
            },
            "encoding": {
                "x": {
                    "field": "time",
                    "type": "quantitative",
                    # With more, the last label, which ends at the edge of the chart, touches the one before.
                    "axis": {"tickCount": 10},
                    "title": f"simulated time [{unit}]",
                },
                "y": {
                    "field": "length",
                    "type": "quantitative",
                    "stack": None,
                    "scale": length,
                    "axis": {"tickCount": 3},
                    "title": None,
                },
                "color": {
                    "field": "queue",
                    "type": "nominal",
                    "scale": {"domain": list(_QUEUES.values()), "range": _QUEUE_COLOURS},
                    "title": title,
                    "legend": {"orient": "bottom", "titleLimit": 300},
                },
                "tooltip": [
                    {"field": "label", "title": what},
                    {"field": "queue"},
                    {"field": "time", "type": "quantitative", "format": ",.4~r", "title": f"from [{unit}]"},
                    {"field": "length", "type": "quantitative", "format": ",", "title": "longest [entries]"},
                ],
            },
        },
    }


def _describe_latency(depths: pl.DataFrame) -> str:
    count = depths.select(LABEL).to_series().n_unique()
    latencies = sorted(depths["match_latency_mean_ns"].to_list())
    deepest = max(depths["depth_to"].to_list())
    return (
        f"Lines: {count} engines, search depths of up to {deepest} entries, "
        f"mean match latencies from {latencies[0]:.4g} ns to {latencies[-1]:.4g} ns."
    )


def describe_queues(bins: pl.DataFrame) -> str:
    """Say how long the queues of a timeline become."""
    posted, unexpected = (max(bins[column].to_list()) for column in _QUEUES)
    return f"Strips: the longest has {posted} posted receives and {unexpected} unexpected messages."


_DESCRIPTIONS = {"cost": cost_chart.describe, "latency": _describe_latency, "queues": describe_queues}
