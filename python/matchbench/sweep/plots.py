# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The charts of a sweep as PNG and SVG, with the data of `charts`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib as mpl
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from matchbench.display.output import make_directory
from matchbench.display.plots import STYLE, plain, save
from matchbench.sweep.charts import FRONT, GREY, KNEE, MOST_LINES, Chart, named, planned

if TYPE_CHECKING:
    from matchbench.sweep.result import Sweep

_MARKERS = "os^vDP*Xph"


def draw(sweep: Sweep, directory: Path) -> None:
    """Draw every chart to the new folder `directory`.

    Parameters
    ----------
    sweep
        The sweep.
    directory
        The folder.
    """
    make_directory(directory)
    with mpl.rc_context(STYLE):
        for chart in planned(sweep):
            save(figure_of(chart), directory, chart.name)


def figure_of(chart: Chart) -> Figure:
    """Draw one chart.

    Parameters
    ----------
    chart
        The chart.
    """
    figure = Figure(figsize=(7.5, 4.5))
    ax = figure.subplots()
    if chart.kind == "pareto":
        _pareto(ax, chart)
    else:
        _curve(ax, chart)
    if chart.logarithmic:
        ax.set_xscale("log")
    xs = sorted(set(chart.table["x"].to_list()))
    if len(xs) <= MOST_LINES:
        ax.xaxis.set_major_locator(FixedLocator(xs))
        ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(plain))
    ax.yaxis.get_major_formatter().set_useOffset(False)  # type: ignore[attr-defined] # a scalar formatter
    ax.set_xlabel(chart.x_title)
    ax.set_ylabel(chart.y_title)
    figure.suptitle(chart.title, fontsize=10)
    if len(ax.get_legend_handles_labels()[1]) > 1:
        figure.legend(*ax.get_legend_handles_labels(), loc="outside right center", fontsize=8)
    return figure


def _curve(ax: Axes, chart: Chart) -> None:
    for at, (name, rows) in enumerate(
        chart.table.partition_by("line", as_dict=True, maintain_order=True).items()
    ):
        ax.plot(rows["x"], rows["y"], marker=_MARKERS[at % len(_MARKERS)], markersize=4, label=str(name[0]))


def _pareto(ax: Axes, chart: Chart) -> None:
    front = chart.table.filter(pl.col("state") != "dominated").sort("x")
    ax.step(front["x"], front["y"], where="post", color=FRONT, linewidth=0.8)
    designs = chart.table["line"].unique(maintain_order=True).to_list()
    for state, colour, size in (("dominated", GREY, 30), ("front", FRONT, 40), ("knee", KNEE, 90)):
        for at, design in enumerate(designs):
            rows = chart.table.filter((pl.col("state") == state) & (pl.col("line") == design))
            if rows.is_empty():
                continue
            label = f"{design}, {state}" if len(designs) > 1 else state
            marker = _MARKERS[at % len(_MARKERS)]
            ax.scatter(rows["x"], rows["y"], s=size, color=colour, marker=marker, label=label, zorder=3)
    for rows, colour, side in named(chart):
        for row in rows.iter_rows(named=True):
            ax.annotate(
                row["variant"],
                (row["x"], row["y"]),
                (8 if side == "left" else -8, 8),
                textcoords="offset points",
                horizontalalignment=side,
                fontsize=8,
                color=colour,
            )
