# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Figures of a study: a column of panels for each benchmark or length of the list, a curve for each design.

A line is the variant that counts, a thin one what is calibrated; the band reaches over all variants.
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

OWN = "figure 5 of S0"
"""The benchmark of a figure that names none."""


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


def _columns(figure: dict[str, Any]) -> list[tuple[str, pl.Expr]]:
    """Give each column of a figure its title and its points: by benchmark, or by length of the list."""
    if "benchmarks" in figure:
        return [
            (_native.describe_benchmark(key).replace(": ", ":\n"), pl.col("benchmark") == key)
            for benchmark in figure["benchmarks"]
            for key in map(" ".join, benchmark.items())
        ]
    own = pl.col("benchmark") == OWN
    return [(f"list of {length} items", own & (pl.col("length") == length)) for length in figure["lengths"]]


def _figure(
    what: dict[str, Any], figure: dict[str, Any], curves: pl.DataFrame, anchors: pl.DataFrame
) -> Figure:
    panels = [
        panel for panel in what["panel"] if panel["quantity"] in figure.get("panels", [panel["quantity"]])
    ]
    designs = [
        design for design in what["design"] if design["name"] in figure.get("designs", [design["name"]])
    ]
    columns = _columns(figure)
    axis = "length" if "benchmarks" in figure else "percent"
    rows = len(panels)
    picture = Figure(
        figsize=(max(5 * len(columns), 8), (3.1 if rows > 1 else 4.4) * rows + 0.25 * len(designs))
    )
    grid = picture.subplots(
        rows, len(columns), sharex=True, sharey="row" if axis == "length" else False, squeeze=False
    )
    for column, (title, mine) in enumerate(columns):
        points = curves.filter(mine, pl.col(axis).is_in(figure["lengths"]) if axis == "length" else True)
        points = points.with_columns(x=axis)
        baseline = points.filter("counts", pl.col("design") == what.get("baseline", "")).select(
            "x", bound="time_ns"
        )
        own = points.filter("counts").select("design", "x", "traversed")
        told = anchors.filter(mine).with_columns(x=axis).join(own, on=["design", "x"])
        for row, panel in enumerate(panels):
            ax = grid[row, column]
            letter = chr(ord("a") + row * len(columns) + column)
            drawn = _values(points, baseline, panel["quantity"], ("time_ns",))
            marked = _values(told, baseline, panel["quantity"], ("low_ns", "time_ns", "high_ns"))
            for design in designs:
                _curve(ax, design, drawn.filter(design=design["name"]))
            for design in designs:
                _anchors(ax, design, marked.filter(design=design["name"]))
            _scale(ax, panel.get("scale", "log"))
            if axis == "percent":
                ax.set_xlim(-3, 103)
            elif figure.get("axis", "log") == "log":
                ax.set_xscale("log")
                ax.xaxis.set_major_formatter(FuncFormatter(_plain))
            ax.set_title(f"({letter}) {title}", loc="left", fontsize=9)
            if column == 0:
                ax.set_ylabel(panel["label"])
            if row == rows - 1:
                ax.set_xlabel(
                    "entries of the queue" if axis == "length" else "depth of the match [% of the list]"
                )
    _legend(picture, designs, curves, told.height > 0)
    picture.suptitle(figure["title"], fontsize=11)
    return picture


def _scale(ax: Axes, scale: str) -> None:
    if scale == "linear":
        ax.set_ylim(bottom=0)
        return
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    ax.yaxis.set_major_formatter(FuncFormatter(_plain))
    if high < 1e6 * low:  # beyond, the powers of ten alone fill the axis
        ax.yaxis.set_minor_formatter(FuncFormatter(_plain if high < 10 * low else _halves))
        ax.tick_params(axis="y", which="minor", labelsize=7)


def _values(
    table: pl.DataFrame, baseline: pl.DataFrame, quantity: str, columns: tuple[str, ...]
) -> pl.DataFrame:
    """Turn times of all matches into what a panel shows."""
    if quantity == "relative":
        table = table.join(baseline, on="x")
    factor = {"total": pl.lit(1e-3), "each": 1 / pl.col("traversed"), "relative": 1 / pl.col("bound")}[
        quantity
    ]
    return table.with_columns(pl.col(name) * factor for name in columns)


def _curve(ax: Axes, design: dict[str, Any], points: pl.DataFrame) -> None:
    line = points.filter("counts").sort("x")
    band = points.group_by("x").agg(low=pl.col("time_ns").min(), high=pl.col("time_ns").max()).sort("x")
    ax.fill_between(
        band["x"], band["low"], band["high"], color=design["colour"], alpha=0.13, linewidth=0, zorder=1
    )
    ax.plot(
        line["x"],
        line["time_ns"],
        LINES[design["timing"]],
        color=design["colour"],
        marker=design["marker"],
        markersize=3.5,
        linewidth=1.3,
        zorder=3,
    )
    fitted = points.filter("calibrated", ~pl.col("counts")).sort("x")
    ax.plot(
        fitted["x"],
        fitted["time_ns"],
        LINES[design["timing"]],
        color=design["colour"],
        linewidth=0.6,
        zorder=2,
    )


def _anchors(ax: Axes, design: dict[str, Any], points: pl.DataFrame) -> None:
    """Draw what the paper tells: numbers with bars, limits with an arrow to where the curve should be."""
    for row in points.iter_rows(named=True):
        limit = row["limit"]
        reach = 0.12 * row["time_ns"]
        bars = {
            "at": [[row["time_ns"] - row["low_ns"]], [row["high_ns"] - row["time_ns"]]],
            "below": [[reach], [0]],
            "above": [[0], [reach]],
        }[limit]
        ax.errorbar(
            [row["x"]],
            [row["time_ns"]],
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


def _legend(picture: Figure, designs: list[dict[str, Any]], curves: pl.DataFrame, told: bool) -> None:
    handles: list[Any] = []
    labels = []
    for design in designs:
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
    others = curves.filter(~pl.col("counts"), pl.col("design").is_in([design["name"] for design in designs]))
    if others["calibrated"].any():
        handles.append(Line2D([], [], color="0.3", linewidth=0.6))
        labels.append("calibrated, does not count")
    if others.height:
        handles.append(Patch(facecolor="0.6", alpha=0.3))
        labels.append("all readings or assumptions")
    if told:
        handles.append(
            Line2D([], [], color="0.3", marker="o", markerfacecolor="white", markersize=7, linestyle="none")
        )
        labels.append("told by the paper's text, with its precision")
    if len({design["timing"] for design in designs}) > 1:
        for timing in sorted({design["timing"] for design in designs}):
            handles.append(Line2D([], [], color="0.3", linestyle=LINES[timing]))
            labels.append(timing)
    picture.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8)
