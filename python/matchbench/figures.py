# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Figures of a study: a column of panels for each length of the list, a curve for each design.

A line is the variant that counts, a thin one what agrees best; the band reaches over all variants.
Points with bars are what the paper's text tells.
"""

import tomllib
from collections.abc import Iterator
from typing import Any

import matplotlib as mpl
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from matchbench import _native
from matchbench.plots import LINES, STYLE

MATCHES = 64
"""Matches behind each point of S0's figures."""


def study(name: str) -> dict[str, Any]:
    """Read `studies/NAME/study.toml`, which the binding has checked."""
    return tomllib.loads(_native.study_text(name))


def draw(
    what: dict[str, Any], curves: pl.DataFrame, anchors: pl.DataFrame
) -> Iterator[tuple[str, str, Figure]]:
    """Draw every figure of a study.

    Parameters
    ----------
    what
        The study.
    curves, anchors
        Tables of these names of a reproduction.

    Yields
    ------
    tuple
        The name of the file without its ending, a title, and the figure.
    """
    for figure in what["figure"]:
        with mpl.rc_context(STYLE):
            yield figure["name"], figure["title"], _figure(what, figure, curves, anchors)


def draw_areas(what: dict[str, Any], areas: pl.DataFrame) -> Figure:
    """Draw matches for area and time, by the paper's areas and by our estimate.

    Parameters
    ----------
    what
        The study.
    areas
        Table of this name of a reproduction.
    """
    with mpl.rc_context(STYLE):
        picture = Figure(figsize=(10, 4.4))
        grid = picture.subplots(1, 2, sharex=True, sharey=True)
        for ax, column, title in zip(
            grid, ("per_paper_mm2", "per_ours_mm2"), ("areas of the paper", "our estimate"), strict=True
        ):
            for design in what["design"]:
                points = areas.filter(pl.col(column).is_not_null(), design=design["name"]).sort("traversed")
                if points.is_empty():
                    continue
                ax.plot(
                    points["traversed"],
                    points[column],
                    LINES[design["timing"]],
                    color=design["colour"],
                    marker=design["marker"],
                    markersize=5,
                    label=design["label"],
                )
            ax.set_xscale("log")
            ax.set_yscale("log")
            ax.set_title(title, loc="left", fontsize=9)
            ax.set_xlabel("items traversed by each match")
            ax.xaxis.set_major_formatter(FuncFormatter(_plain))
            ax.yaxis.set_major_formatter(FuncFormatter(_plain))
        grid[0].set_ylabel("matches in 1 µs on 1 mm²")
        picture.legend(*grid[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=8)
        picture.suptitle("Matches for area and time, 90 nm, 500 MHz, base assumptions", fontsize=11)
        return picture


def _plain(value: float, _position: object = None) -> str:
    return f"{value:g}"


def _halves(value: float, _position: object = None) -> str:
    """Name 2 and 5 times a power of ten."""
    first = f"{value:e}"[0]
    return f"{value:g}" if first in {"2", "5"} else ""


def _figure(
    what: dict[str, Any], figure: dict[str, Any], curves: pl.DataFrame, anchors: pl.DataFrame
) -> Figure:
    rows, columns = len(what["panel"]), len(figure["lengths"])
    picture = Figure(figsize=(5 * columns, 3.1 * rows + 1.2))
    grid = picture.subplots(rows, columns, sharex=True, squeeze=False)
    for column, length in enumerate(figure["lengths"]):
        points = curves.filter(length=length)
        baseline = points.filter("counts", design=what["baseline"]).select(
            "percent", "traversed", "clock_mhz", bound="cycles"
        )
        for row, panel in enumerate(what["panel"]):
            ax = grid[row, column]
            letter = chr(ord("a") + row * columns + column)
            drawn = _values(
                points.join(baseline.select("percent", "bound"), on="percent"), panel["quantity"], ("cycles",)
            )
            for design in what["design"]:
                _curve(ax, design, drawn.filter(design=design["name"]))
            told = anchors.filter(length=length).join(baseline, on="percent")
            kinds = ("low_cycles", "cycles", "high_cycles")
            for design in what["design"]:
                mine = told.filter(design=design["name"])
                _anchors(ax, design, _values(mine, panel["quantity"], kinds))
            if panel["quantity"] == "total":
                ax.set_ylim(bottom=0)
            else:
                ax.set_yscale("log")
                ax.yaxis.set_major_formatter(FuncFormatter(_plain))
                ax.yaxis.set_minor_formatter(FuncFormatter(_halves))
                ax.tick_params(axis="y", which="minor", labelsize=7)
            ax.set_xlim(-3, 103)
            ax.set_title(f"({letter}) list of {length} items", loc="left", fontsize=9)
            if column == 0:
                ax.set_ylabel(panel["label"])
            if row == rows - 1:
                ax.set_xlabel("depth of the match [% of the list]")
    _legend(picture, what)
    picture.suptitle(figure["title"], fontsize=11)
    return picture


def _values(table: pl.DataFrame, quantity: str, columns: tuple[str, ...]) -> pl.DataFrame:
    """Turn cycles of all matches into what a panel shows."""
    cycle_us = 1 / pl.col("clock_mhz")
    factor = {
        "total": cycle_us,
        "each": 1e3 * cycle_us / (MATCHES * pl.col("traversed")),
        "relative": 1 / pl.col("bound"),
    }[quantity]
    return table.with_columns(pl.col(name) * factor for name in columns)


def _curve(ax: Axes, design: dict[str, Any], points: pl.DataFrame) -> None:
    line = points.filter("counts").sort("percent")
    band = (
        points.group_by("percent")
        .agg(low=pl.col("cycles").min(), high=pl.col("cycles").max())
        .sort("percent")
    )
    ax.fill_between(
        band["percent"], band["low"], band["high"], color=design["colour"], alpha=0.13, linewidth=0, zorder=1
    )
    ax.plot(
        line["percent"],
        line["cycles"],
        LINES[design["timing"]],
        color=design["colour"],
        marker=design["marker"],
        markersize=3.5,
        linewidth=1.3,
        zorder=3,
    )
    fitted = points.filter("calibrated").sort("percent")
    ax.plot(
        fitted["percent"],
        fitted["cycles"],
        LINES[design["timing"]],
        color=design["colour"],
        linewidth=0.6,
        zorder=2,
    )


def _anchors(ax: Axes, design: dict[str, Any], points: pl.DataFrame) -> None:
    """Draw what the paper tells: numbers with bars, limits with an arrow to where the curve should be."""
    for row in points.iter_rows(named=True):
        limit = row["limit"]
        reach = 0.12 * row["cycles"]
        bars = {
            "at": [[row["cycles"] - row["low_cycles"]], [row["high_cycles"] - row["cycles"]]],
            "below": [[reach], [0]],
            "above": [[0], [reach]],
        }[limit]
        ax.errorbar(
            [row["percent"]],
            [row["cycles"]],
            yerr=bars,
            uplims=limit == "below",
            lolims=limit == "above",
            fmt=design["marker"] if limit == "at" else "none",
            color=design["colour"],
            markerfacecolor="white",
            markersize=7,
            capsize=3,
            elinewidth=1.2,
            clip_on=False,
            zorder=4,
        )


def _legend(picture: Figure, what: dict[str, Any]) -> None:
    handles: list[Any] = []
    labels = []
    for design in what["design"]:
        handles.append(
            Line2D(
                [],
                [],
                color=design["colour"],
                linestyle=LINES[design["timing"]],
                marker=design["marker"],
                markersize=4,
            )
        )
        labels.append(f"{design['label']} ({design['line']})")
    handles += [
        Line2D([], [], color="0.3", linewidth=0.6),
        Patch(facecolor="0.6", alpha=0.3),
        Line2D([], [], color="0.3", marker="o", markerfacecolor="white", markersize=7, linestyle="none"),
    ]
    labels += [
        "calibrated: agrees best, does not count",
        "all readings or assumptions",
        "told by the paper's text, with its precision",
    ]
    picture.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8)
