# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Charts of a reproduction: series over any axis, from the tables `charts` and `anchors`.

A thick line or a bar is a series that claims are judged by; other series are thin lines. Whiskers and shaded
ranges cover every variant that was run. A dashed line is the mean of a series. White circles are numbers
of the paper's text, crosses follow from them, diamonds are its ratios times what the models measured, and an
arrow shows on which side of a limit a point should be. Beside lines they have the colour of their series;
a bar is below its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator

from matchbench.display.plots import STYLE, colours, plain

_MARKERS = "osDvP*Xp"  # without the triangle of limits
_GROUP = 0.8  # width of a group of bars
_DARK = "0.1"


@dataclass(frozen=True, slots=True)
class _Look:
    """How a series is drawn; bars lie at `shift` from the position of their group."""

    colour: tuple[float, ...]
    marker: str
    shift: float
    width: float


def draw(charts: pl.DataFrame, anchors: pl.DataFrame) -> Iterator[tuple[str, str, Figure]]:
    """Draw every chart.

    Parameters
    ----------
    charts, anchors
        Tables of these names of a reproduction.

    Yields
    ------
    tuple
        The name of the file without its ending, a title, and the figure.
    """
    for (name,), points in charts.group_by("chart", maintain_order=True):
        with mpl.rc_context(STYLE):
            yield str(name), points["title"][0], _chart(points, anchors.filter(chart=name))


def _chart(points: pl.DataFrame, anchors: pl.DataFrame) -> Figure:
    figure = Figure(figsize=(9, 4.8))
    ax = figure.subplots()
    bars = points["form"][0] == "bars"
    looks = _looks(points["series"].unique(maintain_order=True).to_list(), bars=bars)
    for name, look in looks.items():
        (_bars if bars else _line)(ax, points.filter(series=name).sort("x"), look)
    for anchor in anchors.iter_rows(named=True):
        look = looks[anchor["series"]]
        _anchor(ax, anchor, look, _DARK if bars else look.colour)
    ax.set_xlabel(points["x_label"][0])
    ax.set_ylabel(points["y_label"][0])
    ax.set_ylim(bottom=0)
    ax.yaxis.set_major_formatter(FuncFormatter(plain))
    positions = points.filter(pl.col("position").is_not_null()).select("x", "position").unique().sort("x")
    if positions.height:
        ax.set_xticks(positions["x"].to_list(), positions["position"].to_list())
    else:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        ax.xaxis.set_major_formatter(FuncFormatter(plain))
    _legend(figure, ax, points, anchors)
    figure.suptitle(points["title"][0], fontsize=11)
    return figure


def _looks(names: list[str], *, bars: bool) -> dict[str, _Look]:
    colour = colours(names)
    width = _GROUP / len(names)
    return {
        name: _Look(
            colour=colour[name],
            marker=_MARKERS[at % len(_MARKERS)],
            shift=(at - (len(names) - 1) / 2) * width if bars else 0.0,
            width=width,
        )
        for at, name in enumerate(names)
    }


def _line(ax: Axes, series: pl.DataFrame, look: _Look) -> None:
    counts = series["counts"][0]
    ax.plot(
        series["x"],
        series["y"],
        color=look.colour,
        marker=look.marker if counts else None,
        markersize=4,
        linewidth=1.4 if counts else 0.7,
        label=series["series"][0],
        zorder=3 if counts else 2,
    )
    varied = series.filter(pl.col("low").is_not_null())
    ax.fill_between(varied["x"], varied["low"], varied["high"], color=look.colour, alpha=0.13, linewidth=0)
    if series["level"][0] is not None:
        ax.axhline(series["level"][0], color=look.colour, linestyle="--", linewidth=0.8)


def _bars(ax: Axes, series: pl.DataFrame, look: _Look) -> None:
    at = series["x"] + look.shift
    ax.bar(at, series["y"], color=look.colour, label=series["series"][0], width=look.width, zorder=2)
    varied = series.with_columns(at=at).filter(pl.col("low").is_not_null())
    if varied.height:
        ax.errorbar(
            varied["at"],
            (varied["low"] + varied["high"]) / 2,
            yerr=(varied["high"] - varied["low"]) / 2,
            fmt="none",
            color="0.2",
            capsize=2,
            linewidth=0.9,
            zorder=3,
        )


def _anchor(ax: Axes, anchor: dict[str, Any], look: _Look, colour: Any) -> None:
    """Draw what the paper says: a marker, or a limit with an arrow to the side where the point should be."""
    limit, value = anchor["limit"], anchor["value"]
    marker = "D" if anchor["ratio"] else "o" if anchor["origin"] == "stated" else "x"
    reach = {"at": [[0], [0]], "below": [[0.12 * value], [0]], "above": [[0], [0.12 * value]]}[limit]
    ax.errorbar(
        [anchor["x"] + look.shift],
        [value],
        yerr=reach,
        uplims=limit == "below",
        lolims=limit == "above",
        fmt="none" if limit != "at" else marker,
        color=colour,
        markerfacecolor="white",
        markeredgewidth=1.4,
        markersize=6 if marker == "D" else 7,
        zorder=5,
    )


def _legend(figure: Figure, ax: Axes, points: pl.DataFrame, anchors: pl.DataFrame) -> None:
    handles, labels = ax.get_legend_handles_labels()
    if points["low"].count():
        bars = points["form"][0] == "bars"
        range_of = Line2D([], [], color="0.2", marker="|", markersize=9, linestyle="none")
        handles.append(range_of if bars else Patch(facecolor="0.6", alpha=0.3))
        labels.append("range over assumptions that were varied")
    printed, at = pl.col("origin") == "stated", pl.col("limit") == "at"
    for mine, marker, text in (
        (printed & ~pl.col("ratio") & at, "o", "printed in the paper's text"),
        (~printed & ~pl.col("ratio") & at, "x", "follows from the paper's text"),
        (pl.col("ratio") & at, "D", "the paper's ratio times a rate measured here"),
        (pl.col("limit") == "below", "v", "below this by the paper's text"),
        (pl.col("limit") == "above", "^", "above this by the paper's text"),
    ):
        if anchors.filter(mine).height:
            style: dict[str, Any] = {
                "marker": marker,
                "markerfacecolor": _DARK if marker in "v^" else "white",
                "markersize": 7,
                "linestyle": "none",
            }
            handles.append(Line2D([], [], color=_DARK, **style))
            labels.append(text)
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8)
