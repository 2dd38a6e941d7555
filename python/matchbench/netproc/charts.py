# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the charts of network processors show, and Vega-Lite specifications for their page.

`plots` draws the same data. Source of the grammar: https://vega.github.io/vega-lite/docs.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from matchbench.display.chart_parts import LEGEND, WIDTH, Spec, data
from matchbench.netproc import machine as netproc
from matchbench.netproc.machine import Result
from matchbench.netproc.report import causes

EXECUTED, SQUASHED = "executed", "squashed"
COLOURS = {
    EXECUTED: "#3a923a",
    SQUASHED: "#a3a32b",
    "waiting": "#c9c9c9",
    "dependences": "#4477aa",
    "memory": "#d9711c",
    "queue full": "#8c63b0",
    "no register": "#8c6d46",
    "window full": "#d170ae",
    "instruction cache": "#2aa4b5",
    "branch": "#c44e52",
    "serial": "#7fa6d8",
    "fetch": "#e8a867",
    "halted": "#767676",
}
"""Colour of each use of an issue slot, in the order in which they are drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A chart for the page.

    Parameters
    ----------
    kind, title, description
        What it shows, in a word, a line and a sentence.
    spec
        The Vega-Lite specification.
    """

    kind: str
    title: str
    description: str
    spec: Spec
    trace: str = ""


def rates(results: Sequence[Result]) -> pl.DataFrame:
    """Give the packet rate of each processor; columns `architecture`, `rate` in packets/s, and `text`."""
    return pl.DataFrame(
        {
            "architecture": [each.architecture for each in results],
            "rate": [each.packets_per_second for each in results],
            "text": [netproc.rate(each.packets_per_second) for each in results],
        }
    )


def slots(results: Sequence[Result]) -> pl.DataFrame:
    """Give the shares of issue slots, of processors that ran with a pipeline.

    Returns
    -------
    DataFrame
        Columns `architecture`, `use` (executed, squashed, or a cause why the slot was empty), `share` and
        `order`, the place of the use in a bar.
    """
    rows = []
    for result in results:
        harts = result.report["harts"]
        if result.report["memory"]["what"]:
            empty = {name: sum(harts[name]) for name in causes(result)}
            squashed = sum(harts["squashed"])
            uses = {EXECUTED: sum(harts["used"]) - squashed, SQUASHED: squashed, **empty}
            total = sum(uses.values())
            rows += [(result.architecture, use, uses[use] / total) for use in uses if uses[use]]
    order = list(COLOURS)
    table = pl.DataFrame(
        rows, schema={"architecture": pl.String, "use": pl.String, "share": pl.Float64}, orient="row"
    )
    places = [order.index(use) for use in table["use"]]
    return table.with_columns(pl.Series("order", places, dtype=pl.Int64))


def windows(results: Sequence[Result]) -> pl.DataFrame:
    """Give the rate in each window of 100 packets; columns `architecture`, `packets`, `rate` in packets/s."""
    rows = []
    for result in results:
        found = result.report["windows"]
        pairs = zip(itertools.accumulate(found["packets"]), found["packets_per_second"], strict=True)
        rows += [(result.architecture, end, rate) for end, rate in pairs]
    schema = {"architecture": pl.String, "packets": pl.Int64, "rate": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def charts(results: Sequence[Result]) -> list[Chart]:
    """Make the charts of a page.

    Parameters
    ----------
    results
        Runs of the same packets.
    """
    found = []
    if len(results) > 1:
        by_rate = rates(results)
        low, high = by_rate.sort("rate").row(0, named=True), by_rate.sort("rate").row(-1, named=True)
        text = f"Bars: from {low['architecture']}, {low['text']}, to {high['architecture']}, {high['text']}."
        found.append(
            Chart(kind="rate", title="packet rate by processor", description=text, spec=_rates(by_rate))
        )
    uses = slots(results)
    if uses.height:
        parts = ", ".join(
            f"{name} {100 * share:.0f} %"
            for name, share in uses.filter(use=EXECUTED).select("architecture", "share").iter_rows()
        )
        text = f"Bars of the shares of issue slots; executed instructions have {parts}."
        found.append(
            Chart(
                kind="slots",
                title="use of the issue slots, and why they were empty",
                description=text,
                spec=_slots(uses),
            )
        )
    steps = windows(results)
    if steps["packets"].n_unique() > 1:
        text = f"Lines: {len(results)} processors, {steps.height} windows of 100 packets."
        found.append(
            Chart(
                kind="windows",
                title="packet rate in windows of 100 packets",
                description=text,
                spec=_windows(steps, [each.architecture for each in results]),
            )
        )
    return found


def _rates(rows: pl.DataFrame) -> Spec:
    scale = {"domain": [0, max(rows["rate"].to_list()) / 1e6 or 1]}
    x: Spec = {
        "field": "millions",
        "type": "quantitative",
        "scale": scale,
        "axis": {"tickCount": 6},
        "title": "million packets/s",
    }
    return {
        "usermeta": {"margin": 250},
        "width": WIDTH,
        "height": {"step": 22},
        "data": data(rows.with_columns((pl.col("rate") / 1e6).alias("millions"))),
        "encoding": {
            "y": {"field": "architecture", "type": "nominal", "sort": None, "title": None},
            "x": x,
        },
        "layer": [
            {
                "mark": {"type": "bar", "color": "#4477aa"},
                "encoding": {
                    "tooltip": [
                        {"field": "architecture"},
                        {"field": "rate", "type": "quantitative", "format": ",.0f", "title": "packets/s"},
                    ]
                },
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 4, "fontSize": 10},
                "encoding": {"text": {"field": "text"}},
            },
        ],
    }


def _slots(rows: pl.DataFrame) -> Spec:
    uses = [use for use in COLOURS if use in rows["use"]]
    return {
        "usermeta": {"margin": 90},
        "width": WIDTH,
        "height": {"step": 22},
        "data": data(rows),
        "transform": [{"calculate": "toNumber(datum.order)", "as": "place"}],
        "mark": "bar",
        "encoding": {
            "y": {"field": "architecture", "type": "nominal", "sort": None, "title": None},
            "x": {
                "field": "share",
                "type": "quantitative",
                "axis": {"format": "%", "tickCount": 5},
                "scale": {"domain": [0, 1]},
                "title": "share of the issue slots",
            },
            "order": {"field": "place", "type": "quantitative"},
            "color": {
                "field": "use",
                "type": "nominal",
                "scale": {"domain": uses, "range": [COLOURS[use] for use in uses]},
                "title": None,
                "legend": LEGEND,
            },
            "tooltip": [
                {"field": "architecture"},
                {"field": "use"},
                {"field": "share", "type": "quantitative", "format": ".1%"},
            ],
        },
    }


def _windows(rows: pl.DataFrame, architectures: list[str]) -> Spec:
    lines: Spec = {
        "field": "architecture",
        "type": "nominal",
        "scale": {"domain": architectures},
        "title": None,
        "legend": {**LEGEND, "symbolType": "stroke", "symbolStrokeWidth": 3},
    }
    return {
        "usermeta": {"margin": 70},
        "width": WIDTH,
        "height": 260,
        "data": data(rows.with_columns((pl.col("rate") / 1e6).alias("millions"))),
        "mark": {"type": "line", "point": {"size": 22}},
        "encoding": {
            "x": {"field": "packets", "type": "quantitative", "axis": {"tickCount": 8}},
            "y": {"field": "millions", "type": "quantitative", "title": "million packets/s"},
            "color": lines,
            "tooltip": [
                {"field": "architecture"},
                {"field": "packets", "title": "packets so far"},
                {"field": "rate", "type": "quantitative", "format": ",.0f", "title": "packets/s"},
            ],
        },
    }
