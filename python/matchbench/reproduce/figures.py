# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Figures of a study: a column of panels for each benchmark or length of the list, a curve for each design.

A thick line is the variant that counts. A thin line is another interpretation, or a fitted set of
assumptions. The shaded range covers all variants. Points with bars are numbers that the paper prints,
crosses follow from its numbers, and arrows show on which side of a limit a curve should be.
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
from matchbench.display.plots import LINES, STYLE, halves, plain

OWN = "figure 5 of Hemmert et al."
"""The benchmark of a figure that names none."""


def study(name: str) -> dict[str, Any]:
    """Read `studies/NAME/study.toml`, which the binding has checked."""
    return tomllib.loads(_native.study_text(name))


def draw(
    what: dict[str, Any], curves: pl.DataFrame, data_points: pl.DataFrame
) -> Iterator[tuple[str, str, Figure]]:
    """Draw every figure of a study.

    Parameters
    ----------
    what
        The study.
    curves, data_points
        Tables of these names of a reproduction.

    Yields
    ------
    tuple
        The name of the file without its ending, a title, and the figure.
    """
    for figure in what.get("figure", []):
        with mpl.rc_context(STYLE):
            yield figure["name"], figure["title"], _figure(what, figure, curves, data_points)


def draw_areas(what: dict[str, Any], areas: pl.DataFrame) -> Figure:
    """Draw matches for area and time, with published and with estimated areas.

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
            grid,
            ("per_published_mm2", "per_estimated_mm2"),
            ("published areas", "estimated areas"),
            strict=True,
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
            ax.xaxis.set_major_formatter(FuncFormatter(plain))
            ax.yaxis.set_major_formatter(FuncFormatter(plain))
        grid[0].set_ylabel("matches in 1 µs on 1 mm²")
        picture.legend(*grid[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=8)
        picture.suptitle("Matches for area and time, 90 nm, 500 MHz, baseline assumptions", fontsize=11)
        return picture


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
    what: dict[str, Any], figure: dict[str, Any], curves: pl.DataFrame, data_points: pl.DataFrame
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
        reference = points.filter("counts", pl.col("design") == what.get("reference", "")).select(
            "x", bound="time_ns"
        )
        own = points.filter("counts").select("design", "x", "traversed")
        stated = data_points.filter(mine).with_columns(x=axis).join(own, on=["design", "x"])
        for row, panel in enumerate(panels):
            ax = grid[row, column]
            letter = chr(ord("a") + row * len(columns) + column)
            drawn = _values(points, reference, panel["quantity"], ("time_ns",))
            marked = _values(stated, reference, panel["quantity"], ("low_ns", "time_ns", "high_ns"))
            for design in designs:
                _curve(ax, design, drawn.filter(design=design["name"]))
            is_log = axis == "length" and figure.get("axis", "log") == "log"
            _data_points(
                ax, designs, marked, is_log=is_log, span=max(figure["lengths"]) if axis == "length" else 100
            )
            _scale(ax, panel.get("scale", "log"))
            if axis == "percent":
                ax.set_xlim(-3, 103)
            elif is_log:
                ax.set_xscale("log")
                ax.xaxis.set_major_formatter(FuncFormatter(plain))
            ax.set_title(f"({letter}) {title}", loc="left", fontsize=9)
            if column == 0:
                ax.set_ylabel(panel["label"])
            if row == rows - 1:
                ax.set_xlabel(
                    "entries of the queue" if axis == "length" else "depth of the match [% of the list]"
                )
    shown = pl.any_horizontal(mine for _, mine in columns)
    _legend(picture, designs, curves.filter(shown), data_points.filter(shown))
    picture.suptitle(figure["title"], fontsize=11)
    return picture


def _scale(ax: Axes, scale: str) -> None:
    if scale == "linear":
        ax.set_ylim(bottom=0)
        return
    ax.set_yscale("log")
    low, high = ax.get_ylim()
    ax.yaxis.set_major_formatter(FuncFormatter(plain))
    if high < 1e6 * low:  # beyond, the powers of ten alone fill the axis
        ax.yaxis.set_minor_formatter(FuncFormatter(plain if high < 10 * low else halves))
        ax.tick_params(axis="y", which="minor", labelsize=7)


def _values(
    table: pl.DataFrame, reference: pl.DataFrame, quantity: str, columns: tuple[str, ...]
) -> pl.DataFrame:
    """Turn times of all matches into what a panel shows."""
    if quantity == "relative":
        table = table.join(reference, on="x")
    factor = {"total": pl.lit(1e-3), "each": 1 / pl.col("traversed"), "relative": 1 / pl.col("bound")}[
        quantity
    ]
    return table.with_columns(pl.col(name) * factor for name in columns)


def _curve(ax: Axes, design: dict[str, Any], points: pl.DataFrame) -> None:
    line = points.filter("counts").sort("x")
    extent = points.group_by("x").agg(low=pl.col("time_ns").min(), high=pl.col("time_ns").max()).sort("x")
    ax.fill_between(
        extent["x"], extent["low"], extent["high"], color=design["colour"], alpha=0.13, linewidth=0, zorder=1
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
    # Named interpretations of a design, or the fitted set of assumptions.
    thin = points.filter(~pl.col("counts"), pl.lit("variant" in design) | pl.col("calibrated"))
    for (_,), other in thin.sort("x").group_by("variant", maintain_order=True):
        ax.plot(
            other["x"],
            other["time_ns"],
            LINES[design["timing"]],
            color=design["colour"],
            linewidth=0.6,
            zorder=2,
        )


def _data_points(
    ax: Axes, designs: list[dict[str, Any]], points: pl.DataFrame, *, is_log: bool, span: float
) -> None:
    """Draw data points: numbers with bars, limits with an arrow to the side where the curve should be.

    Limits at one place are drawn side by side; `span` is the extent of the horizontal axis.
    """
    by_name = {design["name"]: design for design in designs}
    beside: dict[tuple[float, float], int] = {}
    for row in points.filter(pl.col("design").is_in(by_name.keys())).iter_rows(named=True):
        design, limit = by_name[row["design"]], row["limit"]
        x, printed = row["x"], row["origin"] == "stated"
        bars: list[list[float]] = [[row["time_ns"] - row["low_ns"]], [row["high_ns"] - row["time_ns"]]]
        if limit != "at":
            place = beside.setdefault((x, round(row["time_ns"], 3)), 0)
            beside[x, round(row["time_ns"], 3)] += 1
            x = x * 1.13**place if is_log else x - 0.02 * span * place
            reach = 0.25 * row["time_ns"]
            bars = [[reach], [0]] if limit == "below" else [[0], [reach]]
        ax.errorbar(
            [x],
            [row["time_ns"]],
            yerr=bars,
            uplims=limit == "below",
            lolims=limit == "above",
            fmt="none" if limit != "at" else design["marker"] if printed else "x",
            color=design["colour"] if printed else "0.1",
            markerfacecolor="white",
            markersize=7 if printed else 6,
            capsize=3,
            elinewidth=1.2 if printed else 0.8,
            clip_on=False,
            zorder=4 if printed else 5,
        )


def _legend(
    picture: Figure, designs: list[dict[str, Any]], curves: pl.DataFrame, data_points: pl.DataFrame
) -> None:
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
        fitted = curves.filter("counts", "calibrated", pl.col("design") == design["name"]).height
        labels.append(f"{design['label']} ({design['line']}){' *' if fitted else ''}")
    names = [design["name"] for design in designs]
    others = curves.filter(~pl.col("counts"), pl.col("design").is_in(names))
    interpretations = dict.fromkeys(each["name"] for design in designs for each in design.get("variant", []))
    for interpretation in interpretations:
        handles.append(Line2D([], [], color="0.3", linewidth=0.6))
        labels.append(f"another interpretation: {interpretation}")
    if not interpretations and others["calibrated"].any():
        handles.append(Line2D([], [], color="0.3", linewidth=0.6))
        labels.append("fitted to the paper, does not count")
    if others.height:
        handles.append(Patch(facecolor="0.6", alpha=0.3))
        labels.append("all interpretations or assumptions")
    stated = data_points.filter(pl.col("design").is_in(names))
    printed = pl.col("origin") == "stated"
    for mine, marker, label in (
        (printed, "o", "printed in the paper's text, with its precision"),
        (~printed, "x", "follows from numbers in the paper's text"),
    ):
        if stated.filter(mine, limit="at").height:
            handles.append(
                Line2D(
                    [],
                    [],
                    color="0.3",
                    marker=marker,
                    markerfacecolor="white",
                    markersize=7,
                    linestyle="none",
                )
            )
            labels.append(label)
    if stated.filter(pl.col("limit") != "at").height:
        handles.append(Line2D([], [], color="0.3", marker="^", markersize=7, linestyle="none"))
        labels.append("by the paper's text the curve is on this side")
    if any(label.endswith(" *") for label in labels):
        handles.append(Line2D([], [], linestyle="none"))
        labels.append("* rests on a parameter that was fitted to the paper")
    if len({design["timing"] for design in designs}) > 1:
        for timing in sorted({design["timing"] for design in designs}):
            handles.append(Line2D([], [], color="0.3", linestyle=LINES[timing]))
            labels.append(timing)
    picture.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8)
