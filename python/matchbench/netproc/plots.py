# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Plots of network processors. Each function draws data on given axes; it opens no file and no window."""

from collections.abc import Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from matchbench.display.plots import STYLE, colours, rendered
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
    for result in results:
        rates = [rate / 1e6 for rate in result.report["windows"]["packets_per_second"]]
        numbers = [100 * (place + 1) for place in range(len(rates))]
        ax.plot(
            numbers,
            rates,
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


def windows_files(results: Sequence[Result], title: str) -> tuple[bytes, bytes]:
    """Draw the plot of `windows` as PNG and as SVG.

    Parameters
    ----------
    results
        Runs of the same packets.
    title
        A line above the plot.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8, 4.5))
        ax = figure.add_subplot()
        ax.set_title(title)
        windows(ax, results)
        return rendered(figure)
