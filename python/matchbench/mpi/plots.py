# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Plots of a measurement of an MPI. Each function draws rows on given axes; it opens no file and no window.

Both axes are logarithmic, except around depth 0. Bands are the quartiles of the repetitions. Other
measurements, drawn for comparison, are dashed.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

from matchbench.display.plots import STYLE, plain
from matchbench.mpi.curves import FLAT_NS
from matchbench.mpi.results import Row

PATTERNS = {
    "tags": ("other tags", "#1f5fa8", "o"),
    "sources": ("other sources", "#d9711c", "s"),
    "communicators": ("another communicator", "#2a8a4a", "^"),
    "any_source": ("other tags from any source", "#b5362f", "v"),
    "same_tag": ("one other tag", "#7a55a3", "D"),
    "target_any": ("other tags; matching receive from any source", "#7d5a4b", "P"),
    "aged": ("other tags, fragmented pool", "#c2559e", "X"),
    "in_order": ("in order", "#1f5fa8", "o"),
    "reverse": ("in reverse order", "#b5362f", "v"),
    "random": ("in random order", "#2a8a4a", "^"),
}
"""Pattern -> text in the legend, colour and marker."""

BESIDE = (
    ("preposted", "tags"),
    ("preposted", "any_source"),
    ("preposted", "aged"),
    ("unexpected", "tags"),
    ("unexpected", "any_source"),
    ("probe", "tags"),
    ("drain_posted", "in_order"),
    ("drain_posted", "reverse"),
    ("drain_unexpected", "reverse"),
)
"""Series that are drawn in a comparison of measurements: those that distinguish structures."""

LEAST_COST_NS = 0.05
"""Lower end of the axis of costs per entry; lower values are noise."""

_AHEAD = {
    "preposted": ("round trip behind posted receives", "round trip [ns]"),
    "unexpected": ("MPI_Recv of the youngest message", "time of the call [ns]"),
    "probe": ("unsuccessful MPI_Iprobe", "time of the call [ns]"),
    "drain_posted": ("posted receives, drained", "time per message [ns]"),
    "drain_unexpected": ("unexpected messages, drained", "time per message [ns]"),
}
_SEARCHED = {
    "preposted": "posted receives ahead",
    "unexpected": "unexpected messages ahead",
    "probe": "unsuccessful probe, messages ahead",
}
_BESIDE_COLOURS = ("#1f5fa8", "#d9711c", "#2a8a4a", "#b5362f", "#7a55a3", "#7d5a4b", "#c2559e", "#5b5b5b")
_BESIDE_MARKERS = "os^vDPXh"


def against_depth(ax: Axes, rows: Sequence[Row], kind: str) -> None:
    """Draw the times of one kind against depth, a line for each pattern.

    Parameters
    ----------
    ax
        Where to draw.
    rows
        Rows of one measurement.
    kind
        Kind of the rows to draw.
    """
    for pattern, (_, colour, marker) in PATTERNS.items():
        points = _points(rows, kind, pattern)
        if points:
            _line(ax, points, "ns_median", colour, marker, "-", zorder=3)
            ax.fill_between(
                [row["depth"] for row in points],
                [row["ns_q1"] for row in points],
                [row["ns_q3"] for row in points],
                color=colour,
                alpha=0.15,
                linewidth=0,
                zorder=2,
            )
    title, label = _AHEAD[kind]
    ax.set_title(title, loc="left", fontsize=10)
    ax.set_ylabel(label)
    mine = [row for row in rows if row["kind"] == kind]
    if any(row["depth"] == 0 for row in mine):
        ax.set_xscale("symlog", linthresh=1, linscale=0.4)
        ax.set_xlim(-0.15, None)
    else:
        ax.set_xscale("log")
    _axes(ax, [row["depth"] for row in mine], [row["ns_median"] for row in mine])


def per_entry(ax: Axes, rows: Sequence[Row], kind: str) -> None:
    """Draw the cost of an entry ahead against depth, (t(D) - t(0)) / D, a line for each pattern.

    Points whose growth is at most the interquartile range are omitted.
    """
    deepest, costs = [1], [10.0]
    for pattern, (_, colour, marker) in PATTERNS.items():
        mine = _points(rows, kind, pattern)
        if not mine or mine[0]["depth"] != 0:
            continue
        base = mine[0]
        spread = base["ns_q3"] - base["ns_q1"]
        cost = [
            {**row, "cost": (row["ns_median"] - base["ns_median"]) / row["depth"]}
            for row in mine[1:]
            if row["ns_median"] - base["ns_median"] > max(spread, row["ns_q3"] - row["ns_q1"])
        ]
        if cost:
            _line(ax, cost, "cost", colour, marker, "-", zorder=3)
        deepest += [row["depth"] for row in mine]
        costs += [row["cost"] for row in cost]
    ax.set_title(_AHEAD[kind][0], loc="left", fontsize=10)
    ax.set_ylabel("cost of an entry ahead [ns]")
    ax.set_xscale("log")
    ax.axhline(FLAT_NS, color="0.5", linewidth=0.8, linestyle=":")
    ax.annotate("flat below this line", (1.1, FLAT_NS), va="bottom", fontsize=7, color="0.4")
    _axes(ax, deepest, costs)
    ax.set_ylim(LEAST_COST_NS, None)


def beside_each_other(ax: Axes, rows: Sequence[Row], kind: str, pattern: str) -> None:
    """Draw one series of several measurements, relative to the time with an empty queue if it was measured.

    Times of an MPI include calls and transport, those of a matcher do not; above the empty queue both are the
    search alone. The time per message of a drained queue is drawn as measured.
    """
    names = list(dict.fromkeys(row["name"] for row in rows))
    depths, times = [1], [1.0]
    for at, name in enumerate(names):
        mine = _points([row for row in rows if row["name"] == name], kind, pattern)
        if not kind.startswith("drain"):
            bases = [row["ns_median"] for row in mine if row["depth"] == 0]
            mine = [
                {**row, "ns_median": row["ns_median"] - (bases[0] if bases else 0)}
                for row in mine
                if row["depth"] > 0
            ]
        mine = [row for row in mine if row["ns_median"] > 0]
        if mine:
            colour = _BESIDE_COLOURS[at % len(_BESIDE_COLOURS)]
            marker = _BESIDE_MARKERS[at % len(_BESIDE_MARKERS)]
            _line(ax, mine, "ns_median", colour, marker, "-" if at == 0 else "--", zorder=3)
            depths += [row["depth"] for row in mine]
            times += [row["ns_median"] for row in mine]
    ax.set_title(f"{_SEARCHED.get(kind, _AHEAD[kind][0])}\n{PATTERNS[pattern][0]}", loc="left", fontsize=9)
    ax.set_xscale("log")
    _axes(ax, depths, times)
    ax.set_ylim(bottom=max(1, ax.get_ylim()[0]))  # values below a nanosecond are noise


def _axes(ax: Axes, depths: Sequence[int], times: Sequence[float]) -> None:
    """Label depths at powers of four and times at powers of ten; limit times to powers of ten."""
    deepest = max([4, *depths])
    ax.set_xlim(None, 1.5 * deepest)
    ax.set_xticks([tick for tick in (0, *(4**power for power in range(10))) if tick <= deepest])
    ax.xaxis.set_major_formatter(FuncFormatter(plain))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.tick_params(axis="x", labelsize=8)
    if ax.get_xscale() == "log":
        ax.set_xlim(0.8, None)
    ax.set_yscale("log")
    drawn = [time for time in times if time > 0] or [1.0]
    low, high = math.floor(math.log10(min(drawn))), math.ceil(math.log10(1.05 * max(drawn)))
    ax.set_ylim(10.0**low, 10.0 ** max(high, low + 1))
    ax.yaxis.set_major_formatter(FuncFormatter(plain))
    ax.yaxis.set_minor_formatter(NullFormatter())


def figures(rows: Sequence[Row], beside: Sequence[Row] = ()) -> Iterator[tuple[str, Figure]]:
    """Draw every plot of a measurement.

    Parameters
    ----------
    rows
        Rows of the measurement.
    beside
        Rows of other measurements, for comparison.

    Yields
    ------
    tuple
        Name of the file without extension, and the figure.
    """
    name = rows[0]["name"] if rows else ""
    ahead = ("preposted", "unexpected", "probe")
    emptied = ("drain_posted", "drain_unexpected")
    for file, title, draw, kinds, across in (
        ("depth", "times against entries queued ahead", against_depth, ahead, "entries ahead"),
        ("entry", "cost of an entry against depth", per_entry, ahead, "entries ahead"),
        (
            "drain",
            "time per message while a queue drains",
            against_depth,
            emptied,
            "entries at the beginning",
        ),
    ):
        present = [kind for kind in kinds if any(row["kind"] == kind for row in rows)]
        if not present:
            continue
        with mpl.rc_context(STYLE):
            figure = Figure(figsize=(max(4.6 * len(present), 7), 5.2))
            panels = figure.subplots(1, len(present), squeeze=False).ravel()
            for ax, kind in zip(panels, present, strict=True):
                draw(ax, rows, kind)
                ax.set_xlabel(across)
            _legend(figure, [row["pattern"] for row in rows if row["kind"] in present])
            figure.suptitle(f"{name}: {title}")
            yield file, figure
    if beside:
        yield "beside", _beside([*rows, *beside], rows, beside)


def _beside(everything: Sequence[Row], rows: Sequence[Row], beside: Sequence[Row]) -> Figure:
    """Draw a panel for each series that both measurements have."""
    there = {(row["kind"], row["pattern"]) for row in beside}
    here = {(row["kind"], row["pattern"]) for row in rows}
    common = [key for key in BESIDE if key in here and key in there]
    across = min(3, max(1, len(common)))
    down = max(1, math.ceil(len(common) / across))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(4.6 * across + 0.4, 3.3 * down + 1.2))
        panels = figure.subplots(down, across, squeeze=False).ravel()
        for ax, (kind, pattern) in zip(panels, common, strict=False):
            beside_each_other(ax, everything, kind, pattern)
        for ax in panels[len(common) :]:
            ax.remove()
        for ax in panels[max(0, len(common) - across) : len(common)]:
            ax.set_xlabel("entries")
        names = list(dict.fromkeys(row["name"] for row in everything))
        handles = [
            Line2D(
                [],
                [],
                color=_BESIDE_COLOURS[at % len(_BESIDE_COLOURS)],
                marker=_BESIDE_MARKERS[at % len(_BESIDE_MARKERS)],
                markersize=4,
                linestyle="-" if at == 0 else "--",
            )
            for at, _ in enumerate(names)
        ]
        figure.legend(handles, names, loc="outside lower center", ncols=min(3, len(names)), fontsize=8)
        figure.supylabel("time relative to an empty queue; per message for drained queues [ns]", fontsize=9)
        figure.suptitle("Comparison of searches")
        return figure


def _legend(figure: Figure, patterns: Sequence[str]) -> None:
    present = [pattern for pattern in PATTERNS if pattern in patterns]
    handles = [
        Line2D([], [], color=PATTERNS[pattern][1], marker=PATTERNS[pattern][2], markersize=4)
        for pattern in present
    ]
    figure.legend(
        handles,
        [PATTERNS[pattern][0] for pattern in present],
        loc="outside lower center",
        ncols=min(4, max(1, len(present))),
        fontsize=8,
    )


def _points(rows: Sequence[Row], kind: str, pattern: str) -> list[Row]:
    mine = [row for row in rows if row["kind"] == kind and row["pattern"] == pattern]
    return sorted(mine, key=lambda row: row["depth"])


def _line(
    ax: Axes, rows: Sequence[dict[str, Any]], column: str, colour: str, marker: str, style: str, zorder: int
) -> None:
    ax.plot(
        [row["depth"] for row in rows],
        [row[column] for row in rows],
        style,
        color=colour,
        marker=marker,
        markersize=4,
        linewidth=1.3,
        zorder=zorder,
    )
