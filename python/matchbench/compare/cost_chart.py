# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The cost of matching by engine: application time above that of an engine that takes no time.

Here are its rows, for every drawing, and the Vega-Lite specification of the interactive chart.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import polars as pl

from matchbench.compare.answer_text import percent
from matchbench.compare.implausible import MARK
from matchbench.display import tables
from matchbench.display.chart_parts import (
    LABEL,
    LOG_RATIO,
    SHOWN,
    TIMINGS,
    WIDTH,
    Spec,
    data,
    switches,
    ticks,
)

TITLE = "cost of matching by engine"
"""What the chart shows."""
UNRANKED = {"measured": "measured, not ranked", MARK: "implausible, not ranked"}
"""Title of each panel below that of bounds and models."""
_DEEP = 1e4  # ratio of the largest cost to that below which a logarithmic axis is linear
_TIMING_COLOURS = ["#b8b8b8", "#4477aa", "#d9711c"]


def comparable(results: pl.DataFrame) -> pl.DataFrame:
    """Give the rows of `results` that finished, without `ideal:zero`, whose cost is 0."""
    return results.filter(pl.col("slowdown").is_not_null(), LABEL != "ideal:zero")


def costs(results: pl.DataFrame) -> pl.DataFrame:
    """Compute the cost of matching on each engine.

    Parameters
    ----------
    results
        The table of this name.

    Returns
    -------
    DataFrame
        Columns `trace`, `label`, `timing`, `cost_ns`, `share` (of the run time on the engine), `text` (both),
        `time_ns`, `match_latency_mean_ns` and `panel`, a key of `UNRANKED` or empty. Bounds and models are
        sorted by cost, and others keep their order.
    """
    without_ns = pl.col("time_ns") / pl.col("slowdown")
    panel = (
        pl.when(pl.col("implausible").is_not_null())
        .then(pl.lit(MARK))
        .when(timing="measured")
        .then(pl.lit("measured"))
        .otherwise(pl.lit(""))
    )
    rows = (
        comparable(results)
        .with_columns(
            LABEL.alias("label"),
            panel.alias("panel"),
            # A quotient of doubles gives `ideal:zero` back to far less than a picosecond.
            (pl.col("time_ns") - without_ns).round(3).alias("cost_ns"),
        )
        .with_columns((pl.col("cost_ns") / pl.col("time_ns")).fill_nan(0.0).alias("share"))
        .select(
            *("trace", "label", "timing", "cost_ns", "share", "time_ns", "match_latency_mean_ns", "panel"),
        )
    )
    ranked = rows.filter(panel="").sort("cost_ns", maintain_order=True)
    rows = pl.concat([ranked, *(rows.filter(panel=name) for name in UNRANKED)])
    texts = [_text(cost_ns, share) for cost_ns, share in rows.select("cost_ns", "share").iter_rows()]
    return rows.with_columns(pl.Series("text", texts, dtype=pl.String))


def _text(cost_ns: float, share: float) -> str:
    sign = "-" if cost_ns < 0 else ""
    part = percent(abs(share)).replace("less than ", "<")
    return f"{sign}{tables.time(abs(cost_ns))} ({sign}{part})"


class Axis(NamedTuple):
    """The axis of costs.

    Parameters
    ----------
    unit, scale_ns
        Its unit, and the nanoseconds in it.
    low, high
        Its ends, in the unit; what is between 0 and an end is drawn.
    linear
        The cost, in the unit, below which the axis is linear; above it is logarithmic. None: it is linear.
    """

    unit: str
    scale_ns: float
    low: float
    high: float
    linear: float | None

    @property
    def title(self) -> str:
        """What the axis shows."""
        return f"application time above that of ideal:zero [{self.unit}]"


def axis(rows: pl.DataFrame) -> Axis:
    """Choose the axis for rows of `costs`."""
    found = rows["cost_ns"].to_list()
    largest = max(map(abs, found), default=0.0)
    unit, scale_ns = next(
        (each for each in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)) if largest >= each[1]), ("ns", 1.0)
    )
    smallest = min((abs(cost) for cost in found if cost), default=largest)
    linear = None
    if largest > LOG_RATIO * smallest:
        linear = 10.0 ** math.floor(math.log10(max(smallest, largest / _DEEP) / scale_ns))
    high = max(0.0, *found) if found else 0.0
    low = min(0.0, *found) if found else 0.0
    return Axis(unit, scale_ns, low / scale_ns, (high or -low or 1.0) / scale_ns, linear)


def spec(results: pl.DataFrame) -> Spec:
    """Draw a bar for each engine preset, and panels below for those that are not ranked.

    Parameters
    ----------
    results
        Rows of one trace.
    """
    rows = costs(results)
    found = axis(rows)
    rows = rows.with_columns((pl.col("cost_ns") / found.scale_ns).alias("cost"))
    timings = [timing for timing in TIMINGS if timing in rows["timing"]]
    panels = [
        ("", rows.filter(panel="")),
        *((title, rows.filter(panel=key)) for key, title in UNRANKED.items()),
    ]
    panels = [(title, part.drop("trace", "panel")) for title, part in panels if part.height]
    return {
        **switches(rows["label"].to_list(), margin=340),
        "vconcat": [
            _bars(part, title, found, timings, is_last=at == len(panels) - 1)
            for at, (title, part) in enumerate(panels)
        ],
    }


def _bars(part: pl.DataFrame, title: str, found: Axis, timings: list[str], *, is_last: bool) -> Spec:
    scale: Spec = {"domain": [found.low, 1.02 * found.high], "nice": False}
    marks: Spec = {"tickCount": 6}
    if found.linear:
        scale |= {"type": "symlog", "constant": found.linear}
        marks = {"values": ticks(found.high, found.linear), "format": ",.12~g"}
    colour: Spec = {
        "field": "timing",
        "type": "nominal",
        "scale": {"domain": list(TIMINGS), "range": _TIMING_COLOURS},
        "legend": {"title": None, "values": timings, "orient": "bottom"} if len(timings) > 1 else None,
    }
    numbers = {
        "share": ("share of the run time", ".3~%"),
        "time_ns": ("application time [ns]", ",.0f"),
        "match_latency_mean_ns": ("match latency, mean [ns]", ",.4~r"),
    }
    tooltip = [
        {"field": "label", "title": "engine"},
        {"field": "timing"},
        {"field": "cost_ns", "type": "quantitative", "format": ",.4~r", "title": "cost of matching [ns]"},
        *(
            {"field": name, "type": "quantitative", "format": form, "title": heading}
            for name, (heading, form) in numbers.items()
        ),
    ]
    bars: Spec = {
        "width": WIDTH,
        "height": {"step": 18},
        "data": data(part),
        "transform": [{"filter": SHOWN}, {"calculate": "max(datum.cost, 0)", "as": "end"}],
        "encoding": {
            "y": {
                "field": "label",
                "type": "nominal",
                "sort": None,
                "title": None,
                "axis": {"labelLimit": 260},
            },
        },
        "layer": [
            {
                "mark": "bar",
                "encoding": {
                    "x": {
                        "field": "cost",
                        "type": "quantitative",
                        "scale": scale,
                        "axis": marks,
                        "title": found.title if is_last else None,
                    },
                    "x2": {"datum": 0},
                    "color": colour,
                    "tooltip": tooltip,
                },
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 4, "fontSize": 10},
                "encoding": {"x": {"field": "end", "type": "quantitative"}, "text": {"field": "text"}},
            },
        ],
    }
    return {"title": {"text": title, "anchor": "start"}, **bars} if title else bars


def describe(results: pl.DataFrame) -> str:
    """Describe the chart in words.

    Parameters
    ----------
    results
        Rows of one trace.
    """
    rows: list[dict[str, Any]] = costs(results).sort("cost_ns").to_dicts()
    low, high = rows[0], rows[-1]
    return (
        f"Bars: {len(rows)} engines, cost and its share of the run time: from {low['label']}, {low['text']}, "
        f"to {high['label']}, {high['text']}."
    )
