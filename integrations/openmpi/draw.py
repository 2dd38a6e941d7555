# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The figures of the page, from the results of `measure.py`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import Formatter, FuncFormatter, NullFormatter, NullLocator

from matchbench.display.plots import STYLE, plain, save
from measure import read

COLOURS = {"plain": "#b5362f", "mbmatch": "#1f5fa8"}
MARKERS = {"plain": "s", "mbmatch": "o"}

ONE_RANK = {
    "behind_posted": "a message behind receives that stay",
    "behind_posted_any_source": "the same, receives from any source",
    "any_source_behind_posted": "a receive from any source behind others",
    "behind_unexpected": "a receive behind messages that stay",
    "posted_reverse": "receives taken in reverse order",
    "posted_random": "receives taken in random order",
    "unexpected_reverse": "messages taken in reverse order",
    "unexpected_random": "messages taken in random order",
    "posted_in_order": "receives taken in order",
}
TWO_RANKS = (
    ("preposted", "tags", "round trip behind receives of other tags"),
    ("preposted", "any_source", "the same, receives from any source"),
    ("preposted", "aged", "the same as the first, fragmented pool"),
    ("unexpected", "tags", "MPI_Recv of the youngest message"),
    ("probe", "tags", "unsuccessful MPI_Iprobe"),
    ("unexpected", "any_source", "MPI_Recv from any source"),
    ("drain_posted", "reverse", "receives taken in reverse order"),
    ("drain_unexpected", "reverse", "messages taken in reverse order"),
    ("drain_posted", "in_order", "receives taken in order"),
)


def draw(result: Path, folder: Path, figures: Path) -> None:
    """Draw both figures.

    Parameters
    ----------
    result
        A result of `measure.py depth`.
    folder
        That of the results of `measure.py bench`.
    figures
        Where the figures are written, as SVG and PNG.
    """
    figures.mkdir(parents=True, exist_ok=True)
    whole, cells = read(result)
    panels = []
    for series, title in ONE_RANK.items():
        mine = [cell for cell in cells if cell.where == "self" and cell.series == series]
        lines = {
            "plain": [(cell.depth, min(cell.plain)) for cell in mine],
            "mbmatch": [(cell.depth, min(cell.mbmatch)) for cell in mine],
        }
        panels.append((title, lines))
    label = whole["mpi"]
    save(
        _figure(
            f"{label} on {_processor(whole)}, one rank that sends to itself: least time of a message",
            panels,
            label,
        ),
        figures,
        "self",
    )
    name = label.removeprefix("Open MPI ")
    documents = {
        kind: json.loads((folder / f"openmpi-{name}{suffix}.json").read_text(encoding="utf-8"))
        for kind, suffix in (("plain", ""), ("mbmatch", "+mbmatch"))
    }
    panels = [
        (title, {kind: _points(whole, kind_of, pattern) for kind, whole in documents.items()})
        for kind_of, pattern, title in TWO_RANKS
    ]
    panels = [(title, lines) for title, lines in panels if all(lines.values())]
    processor = _processor(documents["plain"]["place"])
    title = f"{label} on {processor}, two ranks, shared memory: median times of mpi bench"
    save(_figure(title, panels, label), figures, "sm")


def _processor(place: dict[str, Any]) -> str:
    """Return the name of a processor without marks and the word itself."""
    name: str = place["cpu"]
    return name.replace("(R)", "").removesuffix(" Processor")


def _points(whole: dict[str, Any], kind: str, pattern: str) -> list[tuple[int, float]]:
    rows = [row for row in whole["rows"] if (row["kind"], row["pattern"]) == (kind, pattern)]
    return sorted((row["depth"], row["ns_median"]) for row in rows)


def _figure(
    title: str, panels: Sequence[tuple[str, dict[str, list[tuple[int, float]]]]], label: str
) -> Figure:
    with mpl.rc_context(STYLE):
        down = -(-len(panels) // 3)
        figure = Figure(figsize=(12.5, 2.9 * down + 0.8))
        axes = figure.subplots(down, 3, sharex=True, squeeze=False).ravel()
        for ax, (name, lines) in zip(axes, panels, strict=False):
            _panel(ax, name, lines)
        for ax in axes[len(panels) :]:
            ax.remove()
        for ax in axes[max(0, len(panels) - 3) : len(panels)]:
            ax.set_xlabel("entries in the queue")
        handles = [
            Line2D([], [], color=COLOURS[kind], marker=MARKERS[kind], markersize=4) for kind in COLOURS
        ]
        figure.legend(handles, [label, f"{label}, ob1 on mbmatch"], loc="outside lower center", ncols=2)
        figure.supylabel("time [ns]", fontsize=10)
        figure.suptitle(title)
        return figure


def _panel(ax: Axes, title: str, lines: dict[str, list[tuple[int, float]]]) -> None:
    for kind, points in lines.items():
        ax.plot(
            [depth for depth, _ in points],
            [time for _, time in points],
            color=COLOURS[kind],
            marker=MARKERS[kind],
            markersize=4,
            linewidth=1.3,
        )
    ax.set_title(title, loc="left", fontsize=9)
    ax.set_xscale("symlog", linthresh=1, linscale=0.4)
    ax.set_xlim(-0.15, 25_000)
    ax.set_xticks([0, *(4**power for power in range(8))])
    ax.xaxis.set_major_formatter(FuncFormatter(plain))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.tick_params(axis="x", labelsize=8)
    ax.set_yscale("log")
    ax.yaxis.set_major_formatter(FuncFormatter(plain))
    low, high = ax.get_ylim()
    # An axis of little more than one power of ten would otherwise have one label.
    names: Formatter = FuncFormatter(plain) if high < 20 * low else NullFormatter()
    ax.yaxis.set_minor_formatter(names)
    ax.tick_params(axis="y", which="minor", labelsize=7)
