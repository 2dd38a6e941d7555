# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Interactive charts of a comparison, as Vega-Lite specifications for its HTML report.

The browser draws them: a pointer shows the values of a mark, a click in a legend shows one engine alone,
dragging moves, and the wheel with the shift key zooms. Nothing here imports matplotlib; `plots` draws the
same data as PNG and SVG.

Source: Vega-Lite, a grammar of interactive graphics; https://vega.github.io/vega-lite/docs.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import polars as pl

Spec = dict[str, Any]

_LOG_RATIO = 20  # ratio of largest to smallest value above which an axis is logarithmic
_MANY_POWERS = 5  # powers of ten on an axis from which 2 and 5 times these have no ticks
_WIDTH = 560  # pixels
_ZOOM = "wheel![event.shiftKey]"  # the wheel alone scrolls the page
_QUEUES = {"posted_max": "posted receives", "unexpected_max": "unexpected messages"}
_QUEUE_COLOURS = ["#1f5fa8", "#d9711c"]
_SIZES = {
    "latency": (["visits_to"], "no search that found its partner visited more than one entry"),
    "queues": (list(_QUEUES), "no queue held more than one entry"),
}
"""Columns of the depth or length that a kind of chart shows, and what is said when none is above 1."""
# Dashes by kind of time: bounds are dotted, measured times dashed.
_TIMINGS = ["bound", "simulated", "measured"]
_TIMING_COLOURS = ["#b8b8b8", "#4477aa", "#d9711c"]
_DASHES: list[list[int]] = [[1, 3], [1, 0], [5, 3]]
_LABEL = pl.format("{}:{}", "engine", "preset")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """What one chart of one trace shows.

    Parameters
    ----------
    trace
        Name of the trace.
    kind
        `slowdown`, `latency` or `queues`.
    title
        What the chart shows, without the name of the trace.
    table
        The rows of this trace: `results`, `depths` or `timeline`.
    """

    trace: str
    kind: str
    title: str
    table: pl.DataFrame

    @property
    def spec(self) -> Spec:
        """The Vega-Lite specification."""
        return _SPECS[self.kind](self.table)


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
        "slowdown": (results.filter(pl.col("slowdown").is_not_null()), "application slowdown by engine"),
        "latency": (found_only(depths), "match latency against search depth"),
        "queues": (timeline, "queue lengths over time"),
    }
    selected: list[Selected] = []
    left_out: dict[str, list[str]] = {}
    for trace in results["trace"].unique(maintain_order=True):
        for kind, (table, title) in kinds.items():
            rows = table.filter(trace=trace)
            if rows.is_empty():
                continue
            if kind in _SIZES and all(rows[column].max() in {0, 1, None} for column in _SIZES[kind][0]):
                left_out.setdefault(trace, []).append(f"No plot of {title}: {_SIZES[kind][1]}.")
            else:
                selected.append(Selected(trace=trace, kind=kind, title=title, table=rows))
    return selected, left_out


def found_only(depths: pl.DataFrame) -> pl.DataFrame:
    """Give the rows of table `depths` that have a match latency."""
    return depths.filter(pl.col("matches") > 0, pl.col("match_latency_mean_ns").is_not_null())


def library() -> str:
    """Give the JavaScript that draws the charts: Vega, Vega-Lite and Vega-Embed in one script of 0.9 MB.

    Bundling takes seconds, so the script is kept in the user's cache folder; `make setup` fills it.
    """
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "matchbench"
    kept = folder / f"vega-{metadata.version('vl-convert-python')}.js"
    with contextlib.suppress(OSError):
        return kept.read_text(encoding="utf-8")
    import vl_convert

    script = vl_convert.javascript_bundle()  # type: ignore[call-arg] # stub: no default
    # Inside a page, a script ends at the first of these. In JavaScript both forms mean the same.
    script = re.sub(r"</(script)", r"<\\/\1", script, flags=re.IGNORECASE)
    # Without a cache each report takes longer, and is the same.
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        partial = folder / f".{kept.name}.{os.getpid()}"
        partial.write_text(script, encoding="utf-8")
        partial.replace(kept)
    return script


def _slowdown(results: pl.DataFrame) -> Spec:
    """Draw one bar for each engine preset, and measured ones, which are not ranked, below the others."""
    rows = results.select(
        _LABEL.alias("label"), "engine", "timing", "slowdown", "time_ns", "match_latency_mean_ns"
    )
    logarithmic = _logarithmic(rows["slowdown"])
    largest = rows["slowdown"].max()
    top = 1.1 * largest if isinstance(largest, float) else 1.1
    scale = {"type": "log", "domain": [0.8, top]} if logarithmic else {"domain": [0, top]}

    def bars(part: pl.DataFrame, title: str | None) -> Spec:
        position = {
            "y": {
                "field": "label",
                "type": "nominal",
                "sort": None,
                "title": None,
                "axis": {"labelLimit": 260},
            },
            "x": {
                "field": "slowdown",
                "type": "quantitative",
                "scale": scale,
                "title": None if title else "application time relative to ideal:zero",
            },
        }
        tooltip = [
            {"field": "label", "title": "engine"},
            {"field": "timing"},
            {"field": "slowdown", "type": "quantitative", "format": ".4f"},
            {"field": "time_ns", "type": "quantitative", "format": ",.0f", "title": "application time [ns]"},
            {
                "field": "match_latency_mean_ns",
                "type": "quantitative",
                "format": ",.4~r",
                "title": "match latency, mean [ns]",
            },
        ]
        chart: Spec = {
            "width": _WIDTH,
            "height": {"step": 18},
            "data": _data(part),
            "encoding": position,
            "layer": [
                {
                    "mark": "bar",
                    "encoding": {
                        # A bar on a logarithmic axis has no zero to begin at.
                        **({"x2": {"datum": 0.8}} if logarithmic else {}),
                        "color": {
                            "field": "timing",
                            "type": "nominal",
                            "scale": {"domain": _TIMINGS, "range": _TIMING_COLOURS},
                            "legend": {"title": "times", "values": rows["timing"].unique().sort().to_list()},
                        },
                        "tooltip": tooltip,
                    },
                },
                {
                    "mark": {"type": "text", "align": "left", "dx": 4, "fontSize": 10},
                    "encoding": {"text": {"field": "slowdown", "type": "quantitative", "format": ".3f"}},
                },
            ],
        }
        return {"title": {"text": title, "anchor": "start"}, **chart} if title else chart

    measured = rows.filter(timing="measured")
    parts: list[tuple[pl.DataFrame, str | None]] = [
        (rows.filter(pl.col("timing") != "measured"), None),
        (measured, "measured on this host, not ranked"),
    ]
    return {"vconcat": [bars(part, title) for part, title in parts if part.height]}


def _latency(depths: pl.DataFrame) -> Spec:
    """Draw a line for each engine preset through the bin centres of the depth."""
    rows = depths.select(
        _LABEL.alias("label"),
        "engine",
        "timing",
        ((pl.col("visits_from") + pl.col("visits_to")) / 2).alias("depth"),
        "visits_from",
        "visits_to",
        "matches",
        pl.col("match_latency_mean_ns").alias("latency"),
    ).sort("label", "depth")
    positive = rows.filter(pl.col("latency") > 0)["latency"]
    # Linear below the smallest time, so that an engine with zero time is visible.
    smallest, largest, deepest = positive.min(), positive.max(), rows["visits_to"].max()
    time: Spec = {"scale": {"zero": True}}
    if isinstance(smallest, float) and isinstance(largest, float) and largest > _LOG_RATIO * smallest:
        time = {
            "scale": {"type": "symlog", "constant": smallest},
            "axis": {"values": _ticks(largest, 10 ** math.floor(math.log10(smallest))), "format": ",.12~g"},
        }
    return {
        "width": _WIDTH,
        "height": 320,
        "data": _data(rows),
        "params": [
            {"name": "engines", "select": {"type": "point", "fields": ["engine"]}, "bind": "legend"},
            {"name": "view", "select": {"type": "interval", "zoom": _ZOOM}, "bind": "scales"},
        ],
        "mark": {"type": "line", "point": {"size": 22}},
        "encoding": {
            "x": {
                "field": "depth",
                "type": "quantitative",
                "scale": {"type": "symlog", "constant": 1},
                "axis": {"values": _ticks(deepest if isinstance(deepest, int) else 1), "format": ",.12~g"},
                "title": "entries visited by the search",
            },
            "y": {
                "field": "latency",
                "type": "quantitative",
                **time,
                "title": "match latency, mean [ns]",
            },
            "color": {"field": "engine", "type": "nominal", "title": "engine (click: alone)"},
            "detail": {"field": "label"},
            "strokeDash": {
                "field": "timing",
                "type": "nominal",
                "scale": {"domain": _TIMINGS, "range": _DASHES},
                "legend": None,
            },
            "opacity": {"condition": {"param": "engines", "value": 1}, "value": 0.08},
            "tooltip": [
                {"field": "label", "title": "engine"},
                {"field": "timing"},
                {"field": "visits_from", "title": "entries visited, from"},
                {"field": "visits_to", "title": "to"},
                {"field": "matches", "type": "quantitative", "format": ",.12~g"},
                {
                    "field": "latency",
                    "type": "quantitative",
                    "format": ",.4~r",
                    "title": "match latency, mean [ns]",
                },
            ],
        },
    }


def _queues(timeline: pl.DataFrame) -> Spec:
    """Draw a strip for the fastest preset of each engine: the longest queues of any rank over time."""
    # Rows are in the order of `results`, by application time: the first preset of an engine is its fastest.
    fastest = timeline.select("engine", "preset").unique("engine", keep="first", maintain_order=True)
    last = timeline["from_ns"].max()
    unit, scale = next(
        (
            each
            for each in (("s", 1e9), ("ms", 1e6), ("µs", 1e3))
            if isinstance(last, float) and last >= 2 * each[1]
        ),
        ("ns", 1.0),
    )
    labels: list[str] = []
    strips = []
    longest = 1
    for engine, preset in fastest.iter_rows():
        bins = timeline.filter(engine=engine, preset=preset).sort("from_ns")
        timing = "" if bins["timing"][0] == "simulated" else f" ({bins['timing'][0]})"
        for at, column in enumerate(_QUEUES):
            # Points where the length does not change are dropped, except the last one.
            changes = pl.col(column).ne_missing(pl.col(column).shift()) | (
                pl.int_range(pl.len()) == pl.len() - 1
            )
            steps = bins.filter(changes).select(
                pl.lit(len(labels)).alias("n"),
                pl.lit(at).alias("q"),
                (pl.col("from_ns") / scale).alias("time"),
                pl.col(column).alias("length"),
            )
            longest = max(longest, *steps["length"])
            strips.append(steps)
        labels.append(f"{engine}:{preset}{timing}")
    rows = pl.concat(strips)
    length: Spec = {"type": "symlog", "constant": 10} if longest > 10 * _LOG_RATIO else {"type": "linear"}
    return {
        "data": _data(rows),
        # Numbers in the rows, because each label would be repeated thousands of times.
        "transform": [
            {"calculate": f"{json.dumps(labels)}[datum.n]", "as": "label"},
            {"calculate": f"{json.dumps(list(_QUEUES.values()))}[datum.q]", "as": "queue"},
        ],
        "facet": {
            "row": {
                "field": "label",
                "type": "nominal",
                "sort": None,
                "title": None,
                "header": {"labelAngle": 0, "labelAlign": "left", "labelLimit": 220},
            }
        },
        "spacing": 6,
        "spec": {
            "width": _WIDTH,
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
                "x": {"field": "time", "type": "quantitative", "title": f"simulated time [{unit}]"},
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
                    "title": "longest queue of any rank [entries]",
                    "legend": {"orient": "bottom", "titleLimit": 300},
                },
                "tooltip": [
                    {"field": "label", "title": "engine"},
                    {"field": "queue"},
                    {"field": "time", "type": "quantitative", "format": ",.4~r", "title": f"from [{unit}]"},
                    {"field": "length", "type": "quantitative", "format": ",", "title": "longest [entries]"},
                ],
            },
        },
    }


_SPECS = {"slowdown": _slowdown, "latency": _latency, "queues": _queues}


def _logarithmic(values: pl.Series) -> bool:
    smallest, largest = values.min(), values.max()
    return isinstance(smallest, float) and isinstance(largest, float) and largest > _LOG_RATIO * smallest


def _data(table: pl.DataFrame) -> Spec:
    """Give rows as CSV text, a third of the size of JSON, with six digits: more than a screen shows."""
    rounded = table.with_columns(pl.col(pl.Float64).round_sig_figs(6))
    return {"values": rounded.write_csv(), "format": {"type": "csv"}}


def _ticks(largest: float, smallest: float = 1.0) -> list[float]:
    """Give 0, and 1, 2 and 5 times powers of ten up to `largest`; on an axis of many powers only these."""
    first, last = math.floor(math.log10(smallest)), math.ceil(math.log10(max(largest, 10)))
    steps = (1, 2, 5) if last - first < _MANY_POWERS else (1,)
    ticks = [step * 10.0**power for power in range(first, last + 1) for step in steps]
    return [0.0, *(tick for tick in ticks if smallest <= tick <= 1.2 * largest)]
