# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The charts of a sweep: their data, and Vega-Lite specifications for its page; `plots` draws the same data.

Source: Vega-Lite, a grammar of interactive graphics; https://vega.github.io/vega-lite/docs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from matchbench.sweep import analysis

if TYPE_CHECKING:
    from matchbench.sweep.result import Sweep

Spec = dict[str, Any]

MOST_LINES = 12
"""Lines of a chart; with more, each engine has one line, its best variants."""

MOST_DOMINATED = 5000
"""Dominated variants in a chart; of more, every n-th is drawn."""

GREY, FRONT, KNEE = "#a8a8a8", "#3f7fc8", "#d9711c"
"""Colours of dominated variants, of the front, and of the knee."""

MOST_NAMES = 6
"""Points of a Pareto front that are named; with more, only the knee is."""

TITLES = {
    "slowdown": "application time relative to ideal:zero",
    "match_latency_mean_ns": "match latency, mean [ns]",
    "engine_entries": "engine entries: searched at once or cached, both queues",
    "memory_entries": "memory entries: in memory on the NIC, both queues",
}
"""Titles of axes by column."""

_LINES: Spec = {"name": "lines", "select": {"type": "point", "fields": ["line"]}, "bind": "legend"}
_WIDTH = 560  # pixels
_MARGIN = 80  # pixels beside the plotted area
_LEGEND: Spec = {"orient": "bottom", "columns": 3, "labelLimit": 260, "symbolLimit": 40}
_ZOOM = "wheel![event.shiftKey]"  # the wheel alone scrolls the page


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """What one chart shows.

    Parameters
    ----------
    name
        Its file's name, without ending.
    kind
        `curve` or `pareto`.
    title
        What it shows.
    x, y
        Columns of its axes.
    x_title, y_title
        Titles of its axes.
    logarithmic
        Whether its `x` axis is.
    table
        Its rows: `x`, `y`, `line` and `variant`, and of a Pareto front `state` (dominated, front or knee).
    """

    name: str
    kind: str
    title: str
    x: str
    y: str
    x_title: str
    y_title: str
    logarithmic: bool
    table: pl.DataFrame

    @property
    def trace(self) -> str:
        """The trace that it is about: none, since a sweep is about all of its traces."""
        return ""

    @property
    def description(self) -> str:
        """What it shows, in words."""
        xs, ys = self.table["x"].to_list(), self.table["y"].to_list()
        over = (
            f"{self.x_title} from {min(xs):g} to {max(xs):g}, "
            f"{self.y_title} from {min(ys):.4g} to {max(ys):.4g}."
        )
        if self.kind != "pareto":
            return f"Lines: {self.table['line'].n_unique()}; {over}"
        states = self.table["state"].to_list()
        front = self.table.filter(pl.col("state") != "dominated").height
        knee = self.table.filter(state="knee")["variant"].to_list()
        named = f", knee {knee[0]}" if knee else ""
        return f"Points: {len(states)} variants, {front} on the front{named}; {over}"

    @property
    def spec(self) -> Spec:
        """The Vega-Lite specification."""
        return _pareto_spec(self) if self.kind == "pareto" else _curve_spec(self)


def planned(sweep: Sweep) -> list[Chart]:
    """Choose the charts of a sweep: a Pareto front, a curve for each parameter, and one by trace.

    Parameters
    ----------
    sweep
        The sweep; words have no curve, and a chart of fewer than two variants is left out.
    """
    ranked = sweep.ranked()
    found = [_pareto(sweep, ranked)] if sweep.cost and ranked.height > 1 else []
    for axis in sweep.axes:
        mine = ranked.drop_nulls(axis).filter(pl.col("engine") == axis.partition(".")[0])
        if mine[axis].dtype.is_numeric() and mine[axis].n_unique() > 1:
            found.append(_curve(sweep, mine, axis))
            if len(sweep.study.traces) > 1:
                found.append(_by_trace(sweep, mine, axis))
    return found


def _pareto(sweep: Sweep, ranked: pl.DataFrame) -> Chart:
    assert sweep.cost is not None  # noqa: S101 - the caller has checked it
    cost, unit = sweep.cost
    column = sweep.measure_column()
    state = (
        pl.when("knee")
        .then(pl.lit("knee"))
        .when("pareto")
        .then(pl.lit("front"))
        .otherwise(pl.lit("dominated"))
    )
    dominated = ranked.filter(~(pl.col("knee") | pl.col("pareto")))
    if dominated.height > MOST_DOMINATED:
        every = -(-dominated.height // MOST_DOMINATED)
        ranked = pl.concat([ranked.filter(pl.col("knee") | pl.col("pareto")), dominated.gather_every(every)])
    table = ranked.select(
        pl.col(cost).cast(pl.Float64).alias("x"),
        pl.col(column).alias("y"),
        pl.col("design").alias("line"),
        "variant",
        state.alias("state"),
        "engine_entries",
    )
    return Chart(
        name="pareto",
        kind="pareto",
        title="Time and cost of each variant; grey: another variant is at least as good in both",
        x=cost,
        y=column,
        x_title=_area_title(ranked, unit) if cost == "area" else TITLES[cost],
        y_title=TITLES[column],
        logarithmic=analysis.is_logarithmic(table["x"].to_list()),
        table=table,
    )


def _area_title(ranked: pl.DataFrame, unit: str) -> str:
    """Give the title of an axis of areas, with where they come from."""
    kinds = ranked["area_kind"].unique(maintain_order=True).to_list()
    return f"area [{unit}], {' and '.join(kinds)}"


def _curve(sweep: Sweep, ranked: pl.DataFrame, axis: str) -> Chart:
    column = sweep.measure_column()
    others = [each for each in sweep.axes if each != axis and ranked[each].n_unique() > 1]
    designs = ["design"] if ranked["design"].n_unique() > 1 else []
    line = pl.lit(ranked["design"][0])
    title = f"{axis}"
    if others or designs:
        parts = [
            *(pl.col(name) for name in designs),
            *(pl.format("{}={}", pl.lit(each.partition(".")[2]), each) for each in others),
        ]
        line = pl.concat_str(parts, separator=" ")
    rows = ranked.with_columns(line.alias("line"))
    if rows["line"].n_unique() > MOST_LINES:
        rows = rows.with_columns(pl.col("design").alias("line")).sort(column)
        rows = rows.unique([axis, "line"], keep="first", maintain_order=True)
        title += ", the best variant of each value"
    table = rows.select(
        pl.col(axis).cast(pl.Float64).alias("x"), pl.col(column).alias("y"), "line", "variant"
    ).sort("x", maintain_order=True)
    return _of_parameter(f"curve.{axis}", title, axis, column, table)


def _by_trace(sweep: Sweep, ranked: pl.DataFrame, axis: str) -> Chart:
    column = sweep.measure_column()
    points = sweep.parts.frame(["trace", "variant", axis, column]).filter(
        pl.col("variant").is_in(ranked["variant"].implode())
    )
    names = pl.Enum(points["trace"].unique(maintain_order=True))
    rows = points.drop_nulls(column).sort(column).unique([axis, "trace"], keep="first", maintain_order=True)
    rows = rows.sort(pl.col("trace").cast(names), maintain_order=True)
    table = rows.select(
        pl.col(axis).cast(pl.Float64).alias("x"),
        pl.col(column).alias("y"),
        pl.col("trace").alias("line"),
        "variant",
    ).sort("x", maintain_order=True)
    title = f"{axis} on each trace, the best variant of each value"
    return _of_parameter(f"traces.{axis}", title, axis, column, table)


def _of_parameter(name: str, title: str, axis: str, column: str, table: pl.DataFrame) -> Chart:
    return Chart(
        name=name,
        kind="curve",
        title=title,
        x=axis,
        y=column,
        x_title=axis,
        y_title=TITLES[column],
        logarithmic=analysis.is_logarithmic(table["x"].to_list()),
        table=table,
    )


def _curve_spec(chart: Chart) -> Spec:
    return {
        **_frame(chart),
        "params": [
            *([_LINES] if chart.table["line"].n_unique() > 1 else []),
            {"name": "view", "select": {"type": "interval", "zoom": _ZOOM}, "bind": "scales"},
        ],
        "mark": {"type": "line", "point": {"size": 40}},
        "encoding": {
            **_position(chart),
            **_colour(chart),
            "tooltip": _tooltip(chart),
        },
    }


def _pareto_spec(chart: Chart) -> Spec:
    states = {"domain": ["dominated", "front", "knee"], "range": [GREY, FRONT, KNEE]}
    line = {"filter": "datum.state != 'dominated'"}
    colour = {"field": "state", "type": "nominal", "scale": states, "title": None, "legend": _LEGEND}
    return {
        **_frame(chart),
        "encoding": _position(chart),
        "layer": [
            {
                "transform": [line],
                "mark": {"type": "line", "interpolate": "step-after", "color": FRONT, "strokeWidth": 1},
            },
            {
                "params": [
                    {"name": "states", "select": {"type": "point", "fields": ["state"]}, "bind": "legend"},
                    {"name": "view", "select": {"type": "interval", "zoom": _ZOOM}, "bind": "scales"},
                ],
                "mark": {"type": "point", "filled": True},
                "encoding": {
                    "color": colour,
                    **_shape(chart),
                    "opacity": {"condition": {"param": "states", "value": 1}, "value": 0.1},
                    "tooltip": _tooltip(chart),
                    **_size(chart),
                },
            },
            *_names(chart),
        ],
    }


def _colour(chart: Chart) -> Spec:
    """Give the colour of lines, if there are several."""
    if chart.table["line"].n_unique() == 1:
        return {}
    return {
        "color": {"field": "line", "type": "nominal", "title": None, "sort": None, "legend": _LEGEND},
        "opacity": {"condition": {"param": "lines", "value": 1}, "value": 0.1},
    }


def named(chart: Chart) -> list[tuple[pl.DataFrame, str, str]]:
    """Give the points of a Pareto front that are named: rows, colour, and the side on which the name is.

    Parameters
    ----------
    chart
        The chart; of a long front only the knee is named.
    """
    front = chart.table.filter(pl.col("state") != "dominated")
    if front.height > MOST_NAMES:
        front = front.filter(state="knee")
    places = chart.table["x"].to_list()
    low, high = min(places), max(places)
    middle = (low * high) ** 0.5 if chart.logarithmic else (low + high) / 2
    found = []
    for state, colour in (("front", FRONT), ("knee", KNEE)):
        for side, at in (("left", pl.col("x") <= middle), ("right", pl.col("x") > middle)):
            rows = front.filter(pl.col("state") == state, at)
            if not rows.is_empty():
                found.append((rows, colour, side))
    return found


def _names(chart: Chart) -> list[Spec]:
    """Give the layers that name points."""
    return [
        {
            "data": {"values": rows.select("x", "y", "variant").to_dicts()},
            "mark": {
                "type": "text",
                "align": side,
                "dx": 8 if side == "left" else -8,
                "dy": -8,
                "fontSize": 11,
                "color": colour,
            },
            "encoding": {"text": {"field": "variant"}},
        }
        for rows, colour, side in named(chart)
    ]


def _shape(chart: Chart) -> Spec:
    """Give the shape of points: by design, if there are several."""
    if chart.table["line"].n_unique() == 1:
        return {}
    return {"shape": {"field": "line", "type": "nominal", "title": "design", "sort": None, "legend": _LEGEND}}


def _size(chart: Chart) -> Spec:
    """Give the size of points: the entries beside an area if they vary, else a larger one for the knee."""
    entries = chart.table["engine_entries"]
    if chart.x != "area" or entries.null_count() or entries.n_unique() == 1:
        return {"size": {"condition": {"test": "datum.state == 'knee'", "value": 160}, "value": 60}}
    size = {
        "field": "engine_entries",
        "type": "quantitative",
        "scale": {"range": [40, 400]},
        "legend": _LEGEND,
    }
    return {"size": size}


def _frame(chart: Chart) -> Spec:
    rounded = chart.table.with_columns(pl.col(pl.Float64).round_sig_figs(6))
    return {
        "usermeta": {"margin": _MARGIN},
        "width": _WIDTH,
        "height": 320,
        "data": {"values": rounded.write_csv(), "format": {"type": "csv"}},
    }


def _position(chart: Chart) -> Spec:
    ticks = sorted(set(chart.table["x"].to_list()))
    # A point at the edge would be cut.
    around: Spec = {"nice": False, "padding": 14}
    scale = {**around, "type": "log"} if chart.logarithmic else {**around, "zero": False}
    return {
        "x": {
            "field": "x",
            "type": "quantitative",
            "scale": scale,
            "axis": {
                "values": ticks if len(ticks) <= MOST_LINES else None,
                "format": ",.6~g",
                "labelOverlap": True,
            },
            "title": chart.x_title,
        },
        "y": {
            "field": "y",
            "type": "quantitative",
            "scale": {**around, "zero": False},
            "axis": {"format": ",.6~g"},
            "title": chart.y_title,
        },
    }


def _tooltip(chart: Chart) -> list[Spec]:
    return [
        {"field": "line", "title": "curve"},
        {"field": "variant"},
        {"field": "x", "type": "quantitative", "format": ",.6~g", "title": chart.x_title},
        {"field": "y", "type": "quantitative", "format": ",.6~g", "title": chart.y_title},
    ]
