# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Plots of network processors. Each function draws data on given axes; it opens no file and no window."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from matchbench.display import plots
from matchbench.display.plots import STYLE, colours
from matchbench.netproc import charts
from matchbench.netproc.machine import Result


def windows(ax: Axes, results: Sequence[Result]) -> None:
    """Draw packets per second of each window of 100 packets, and the average of each run as a dashed line.

    Parameters
    ----------
    ax
        The axes.
    results
        Runs of the same packets.
    """
    colour = colours([result.architecture for result in results])
    steps = charts.windows(results)
    for result in results:
        mine = steps.filter(architecture=result.architecture)
        ax.plot(
            mine["packets"],
            mine["rate"] / 1e6,
            marker="o",
            markersize=3,
            color=colour[result.architecture],
            label=result.architecture,
        )
        ax.axhline(
            result.packets_per_second / 1e6, color=colour[result.architecture], linestyle="--", linewidth=1
        )
    ax.set_xlabel("packets")
    ax.set_ylabel("million packets/s, in windows of 100 packets")
    ax.set_ylim(bottom=0)
    ax.legend(title="dashed: average of the run", fontsize=8, title_fontsize=8)


def rate(ax: Axes, results: Sequence[Result]) -> None:
    """Draw a bar for the packet rate of each processor.

    Parameters
    ----------
    ax
        The axes.
    results
        Runs of the same packets.
    """
    for at, (name, found, text) in enumerate(charts.rates(results).iter_rows()):
        ax.barh(at, found / 1e6, color=colours([name])[name], height=0.7)
        ax.annotate(
            text, (found / 1e6, at), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8
        )
    _rows(ax, [each.architecture for each in results])
    ax.set_xlabel("million packets/s")
    ax.set_xlim(left=0)


def slots(ax: Axes, results: Sequence[Result]) -> None:
    """Draw a bar for each processor, divided by the use of its issue slots.

    Parameters
    ----------
    ax
        The axes.
    results
        Runs of the same packets; those without a pipeline are left out.
    """
    shares = charts.slots(results)
    names = shares["architecture"].unique(maintain_order=True).to_list()
    ends = dict.fromkeys(names, 0.0)
    for use, shade in charts.COLOURS.items():
        part = dict(shares.filter(use=use).select("architecture", "share").iter_rows())
        if part:
            widths = [100 * part.get(name, 0.0) for name in names]
            left = [ends[name] for name in names]
            ax.barh(range(len(names)), widths, left=left, color=shade, height=0.7, label=use)
            ends = {name: end + width for (name, end), width in zip(ends.items(), widths, strict=True)}
    _rows(ax, names)
    ax.set_xlabel("share of the issue slots [%]")
    ax.set_xlim(0, 100)


def _rows(ax: Axes, names: Sequence[str]) -> None:
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.grid(visible=False, axis="y")


def save(results: Sequence[Result], name: str, directory: Path) -> None:
    """Write the plots as PNG and SVG: `rate`, `slots` and `windows`, as far as there is something to show.

    Parameters
    ----------
    results, name
        Runs of the same packets, and the name of the packets.
    directory
        An existing directory.
    """
    with mpl.rc_context(STYLE):
        height = 0.4 * len(results) + 1.4
        for kind, title in [(each.kind, each.title) for each in charts.charts(results)]:
            figure = Figure(figsize=(8, 4.5 if kind == "windows" else height + (kind == "slots")))
            _DRAWN[kind](figure.add_subplot(), results)
            if kind == "slots":
                figure.legend(loc="outside lower center", ncols=5, fontsize=8)
            figure.suptitle(f"{name}: {title}")
            plots.save(figure, directory, kind)


_DRAWN = {"rate": rate, "slots": slots, "windows": windows}
