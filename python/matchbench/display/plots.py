# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Plots of a comparison. Each function draws data on given axes; it opens no file and no window.

The line style shows the kind of a time: solid is simulated, dotted a bound, dashed measured.
An engine preset has the same colour in every plot of a comparison.
With too many presets for one legend, each engine has a panel and a hue, and each of its presets a shade.
"""

import io
import itertools
import math
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import polars as pl
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.scale import SymmetricalLogTransform
from matplotlib.ticker import FuncFormatter, MaxNLocator, SymmetricalLogLocator
from numpy.typing import NDArray

from matchbench.compare import cost_chart, report_charts
from matchbench.display.output import write_file

LINES: dict[str, Literal[":", "-", "--"]] = {"bound": ":", "simulated": "-", "measured": "--"}
"""Line style by kind of time."""

QUEUES = {
    "posted_max": ("posted receives", "#1f5fa8"),
    "unexpected_max": ("unexpected messages", "#d9711c"),
}
"""Name and colour of each queue, by the column of its length."""

STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.constrained_layout.use": True,
    "font.size": 10,
    "grid.alpha": 0.3,
    "legend.frameon": False,
    "text.parse_math": False,  # names may have a dollar sign
    "svg.hashsalt": "matchbench",  # the same data give the same file
}
"""Settings of matplotlib for drawing and saving."""

_DPI = 150
_LOG_RATIO = 20  # ratio of largest to smallest value above which an axis is logarithmic
_FEW = 1000  # range of an axis, as a ratio, up to which 2 and 5 times powers of ten are labelled
_MARKERS = "os^vDP*Xph"
_CROWD = 10  # most engine presets for one legend with ten colours
_PANELS = 3  # panels in a row


def colours(labels: Sequence[str]) -> dict[str, tuple[float, float, float]]:
    """Assign each label, `engine:preset`, a colour: one of ten, or a hue by engine and a shade by preset."""
    palette = mpl.colormaps["tab10"].colors  # type: ignore[attr-defined] # stub: Colormap
    if len(labels) <= _CROWD:
        return dict(zip(labels, palette, strict=False))
    chosen = {}
    for hue, (_, presets) in zip(itertools.cycle(palette), sorted(_by_engine(labels).items()), strict=False):
        for nth, label in enumerate(presets):
            # From a third darker to a half lighter.
            change = 0.0 if len(presets) == 1 else -1 / 3 + nth / (len(presets) - 1) * 5 / 6
            towards = 1 if change > 0 else 0
            chosen[label] = tuple(part + abs(change) * (towards - part) for part in hue)
    return {label: chosen[label] for label in labels}


def latency_by_depth(
    ax: Axes, depths: pl.DataFrame, *, colour: Mapping[str, tuple[float, float, float]] | None = None
) -> None:
    """Draw match latency against search depth, one line per engine preset.

    Parameters
    ----------
    ax
        Where to draw.
    depths
        Table `depths` of one trace; a point is the mean of a bin, at the centre of the bin.
    colour
        Colour by label; by default those of `colours`.
    """
    found = report_charts.found_only(depths)
    labels = _labels(found)
    colour = colour or colours(labels)
    for at, label in enumerate(labels):
        timing, middles, means = _curve(found, label)
        marker = _MARKERS[at % len(_MARKERS)]
        ax.plot(middles, means, LINES[timing], marker=marker, markersize=4, color=colour[label], label=label)
    _latency_axes(ax, found)
    _name_halves(ax.xaxis, ax.get_xlim()[1])
    _name_halves(ax.yaxis, ax.get_ylim()[1])
    ax.set_xlabel("search depth: position of the match in its queue [entries]")
    ax.set_ylabel("match latency, mean [ns]")


def _curve(found: pl.DataFrame, label: str) -> tuple[str, list[float], list[float]]:
    """Give kind of time, bin centres of the depth, and mean latencies."""
    bins = found.filter(_label() == label).sort("depth_from")
    middles = (bins["depth_from"] + bins["depth_to"]) / 2
    return bins["timing"][0], middles.to_list(), bins["match_latency_mean_ns"].to_list()


def _latency_axes(ax: Axes, found: pl.DataFrame) -> None:
    positive = found.filter(pl.col("match_latency_mean_ns") > 0)["match_latency_mean_ns"]
    smallest, largest = positive.min(), positive.max()
    if isinstance(smallest, float) and isinstance(largest, float) and largest > _LOG_RATIO * smallest:
        # Linear below the smallest time, so that an engine with zero time is visible.
        ax.set_yscale("symlog", linthresh=10 ** math.floor(math.log10(smallest)), linscale=0.4)
        ax.set_ylim(bottom=0)
    ax.set_xscale("symlog", linthresh=1, linscale=0.4)
    deepest = found["depth_to"].max()
    ax.set_xlim(0, 1.2 * deepest if isinstance(deepest, int) else None)
    ax.xaxis.set_major_formatter(FuncFormatter(plain))
    ax.yaxis.set_major_formatter(FuncFormatter(plain))


def _name_halves(axis: Axis, largest: float) -> None:
    """Label 2 and 5 times the powers of ten on an axis with few of these."""
    transform = axis.get_transform()
    if not isinstance(transform, SymmetricalLogTransform) or largest > _FEW * transform.linthresh:
        return
    axis.set_minor_locator(SymmetricalLogLocator(transform, subs=range(2, 10)))
    axis.set_minor_formatter(FuncFormatter(halves))
    axis.set_tick_params(which="minor", labelsize=7)


def queue_lengths(ax: Axes, timeline: pl.DataFrame, *, scale_ns: float = 1.0) -> None:
    """Draw the longest lists of any rank over simulated time, for one engine preset.

    Parameters
    ----------
    ax
        Where to draw.
    timeline
        Table `timeline` of one trace and engine preset.
    scale_ns
        Nanoseconds in a unit of the time axis.
    """
    bins = timeline.sort("from_ns")
    for column, (name, shade) in QUEUES.items():
        # Drop points where the length does not change, except the last one.
        changes = pl.col(column).ne_missing(pl.col(column).shift()) | (pl.int_range(pl.len()) == pl.len() - 1)
        steps = bins.filter(changes)
        time, lengths = steps["from_ns"] / scale_ns, steps[column]
        ax.fill_between(time, lengths, step="post", color=shade, alpha=0.45, linewidth=0, label=name)
        ax.step(time, lengths, where="post", color=shade, linewidth=0.5)


def cost(
    ax: Axes, results: pl.DataFrame, *, colour: Mapping[str, tuple[float, float, float]] | None = None
) -> None:
    """Draw one bar per engine preset: its application time above that of `ideal:zero`, in order of this cost.

    The text of a bar is the cost, and its share of the run time on the engine.

    Parameters
    ----------
    ax
        Where to draw.
    results
        Table `results` of one trace; bars of bounds are pale and hatched, measured ones pale and dashed.
    colour
        Colour by label; by default those of `colours`.
    """
    rows = cost_chart.costs(results)
    _costs(ax, rows, cost_chart.axis(rows), colour or colours(rows["label"].to_list()))


def _costs(
    ax: Axes, rows: pl.DataFrame, found: cost_chart.Axis, colour: Mapping[str, tuple[float, float, float]]
) -> None:
    columns = rows.select("label", "timing", "cost_ns", "text")
    for at, (label, timing, cost_ns, text) in enumerate(columns.iter_rows()):
        value = cost_ns / found.scale_ns
        ax.barh(
            at,
            value,
            color=(*colour[label], 1.0 if timing == "simulated" else 0.25),
            edgecolor=colour[label],
            hatch="///" if timing == "bound" else None,
            linestyle=LINES[timing] if timing == "measured" else "-",
            height=0.7,
        )
        ax.annotate(
            text,
            (max(value, 0), at),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
        )
    ax.set_yticks(range(rows.height), rows["label"].to_list())
    ax.set_ylim(rows.height - 0.4, -0.6)
    if found.linear:
        ax.set_xscale("symlog", linthresh=found.linear, linscale=0.4)
        ax.xaxis.set_major_formatter(FuncFormatter(plain))
    ax.set_xlim(found.low, 1.02 * found.high)
    ax.grid(visible=False, axis="y")
    ax.set_xlabel(found.title)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """A plot of one trace, to be drawn in this or another process.

    Parameters
    ----------
    trace
        Name of the trace.
    kind
        `cost`, `latency` or `queues`.
    title
        Title above the plot.
    table
        The rows of this trace: `results`, `depths` or `timeline`.
    colour
        Colour by label.
    """

    trace: str
    kind: str
    title: str
    table: pl.DataFrame
    colour: Mapping[str, tuple[float, float, float]]

    @property
    def name(self) -> str:
        """Name of its files, without extension."""
        return f"{self.trace}.{self.kind}"

    def draw(self) -> Figure:
        """Draw the figure."""
        with mpl.rc_context(STYLE):
            return _DRAWN[self.kind](self)


def planned(results: pl.DataFrame, depths: pl.DataFrame, timeline: pl.DataFrame) -> list[Plot]:
    """List the plots of a comparison: what `report_charts.select` selects, with a colour for each label.

    Parameters
    ----------
    results, depths, timeline
        The tables of these names.
    """
    colour = colours(_labels(results))
    selected, _ = report_charts.select(results, depths, timeline)
    return [
        Plot(
            trace=each.trace,
            kind=each.kind,
            title=f"{each.trace}: {each.title}",
            table=each.table,
            colour=colour,
        )
        for each in selected
    ]


def save(figure: Figure, directory: Path, name: str) -> bytes:
    """Write a figure as `NAME.png` and `NAME.svg`; the same data give the same files.

    Parameters
    ----------
    figure
        A figure without colour bars; its layout is fixed afterwards.
    directory
        An existing directory.
    name
        Name of the files, without extension.

    Returns
    -------
    bytes
        The PNG.
    """
    png, svg = rendered(figure)
    write_file(directory / f"{name}.png", png)
    write_file(directory / f"{name}.svg", svg)
    return png


def rendered(figure: Figure) -> tuple[bytes, bytes]:
    """Draw a figure as PNG and as SVG, the same for the same data; its layout is fixed afterwards."""
    png, svg = io.BytesIO(), io.BytesIO()
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # in the name of a trace
        # `Figure.savefig` draws twice for each file, the first time for a layout that both files can share.
        figure.set_dpi(_DPI)
        FigureCanvasAgg(figure).print_png(png)  # type: ignore[no-untyped-call] # stub: no types
        figure.set_layout_engine("none")
        FigureCanvasSVG(figure).print_svg(svg, metadata={"Date": None})  # type: ignore[no-untyped-call] # stub: no types
    return png.getvalue(), _compact(svg.getvalue().decode()).encode()


def _compact(svg: str) -> str:
    """Write a file of matplotlib with one line for each element of a panel; the picture is the same."""
    svg = re.sub(r'(?<= d=")[^"]*', lambda path: " ".join(path[0].split()), svg)
    # A level is indented by a blank: the figure, a panel, its elements, their parts.
    return re.sub(r"\n(?: {4,}| *(?=</))", "", svg)


def _cost(plot: Plot) -> Figure:
    """Draw the bars of bounds and models by cost, and those that are not ranked below them."""
    rows = cost_chart.costs(plot.table)
    found = cost_chart.axis(rows)
    parts = rows.partition_by("panel", maintain_order=True)
    figure = Figure(figsize=(8, 0.32 * rows.height + 1.6 + 0.7 * (len(parts) - 1)))
    ratios = [part.height + 0.6 for part in parts]
    axes = figure.subplots(len(parts), 1, squeeze=False, gridspec_kw={"height_ratios": ratios}).ravel()
    for ax, part in zip(axes, parts, strict=True):
        _costs(ax, part, found, plot.colour)
        ax.set_title(cost_chart.UNRANKED.get(part["panel"][0], ""), loc="left", fontsize=10)
        ax.label_outer()
    _kinds(figure, rows["timing"].to_list())
    figure.suptitle(plot.title)
    return figure


def _latency(plot: Plot) -> Figure:
    """Draw all engine presets on the same axes, or each engine in a panel with the others in grey."""
    found = plot.table
    labels = _labels(found)
    if len(labels) <= _CROWD:
        figure = Figure(figsize=(9, 4.8))
        latency_by_depth(figure.subplots(), found, colour=plot.colour)
        _legend(figure)
    else:
        figure = _latency_panels(found, labels, plot.colour)
    figure.suptitle(f"{plot.trace}: match latency against search depth")
    return figure


def _latency_panels(
    found: pl.DataFrame, labels: Sequence[str], colour: Mapping[str, tuple[float, float, float]]
) -> Figure:
    curves = {label: _curve(found, label) for label in labels}
    engines = sorted(_by_engine(labels).items())
    rows = -(-len(engines) // _PANELS)
    figure = Figure(figsize=(12, 3.2 * rows + 0.8))
    panels = figure.subplots(rows, _PANELS, sharex=True, sharey=True, squeeze=False).ravel()
    for ax, (engine, presets) in zip(panels, engines, strict=False):
        # One line with gaps is much faster to draw than a line for each of the others.
        others = [(math.nan, math.nan)]
        for other in labels:
            if other not in presets:
                _, middles, means = curves[other]
                others += [*zip(middles, means, strict=True), (math.nan, math.nan)]
        ax.plot(*zip(*others, strict=True), color="0.88", linewidth=0.8, zorder=1)
        for at, label in enumerate(presets):
            timing, middles, means = curves[label]
            name = label.partition(":")[2] + ("" if timing == "simulated" else f" ({timing})")
            look = {"marker": _MARKERS[at % len(_MARKERS)], "markersize": 4, "color": colour[label]}
            ax.plot(middles, means, LINES[timing], label=name, **look)
        ax.set_title(engine, loc="left", fontsize=10)
        ax.legend(fontsize=8, ncols=1 + len(presets) // 4)
    _latency_axes(panels[0], found)
    _remove_unused(panels, len(engines), _PANELS)
    figure.supxlabel(
        "search depth: position of the match in its queue [entries]; in grey, the other engines", fontsize=10
    )
    figure.supylabel("match latency, mean [ns]", fontsize=10)
    return figure


def _remove_unused(panels: NDArray[Any], used: int, across: int) -> None:
    """Remove the panels after the first `used`, and label the axes of those above a removed one."""
    for ax in panels[used:]:
        ax.remove()
    for ax in panels[max(used - across, 0) : used]:
        ax.tick_params(labelbottom=True)


def _queues(plot: Plot) -> Figure:
    """Draw a strip per engine preset, or per engine if these are many, all on the same axes."""
    timeline = plot.table
    labels = _labels(timeline)
    title = plot.title
    if len(labels) > _CROWD:
        # Rows are sorted by application time: the first row of a simulated engine is its fastest preset.
        fastest: dict[str, str] = {}
        for label in labels:
            fastest.setdefault(label.partition(":")[0], label)
        labels = list(fastest.values())
        timeline = timeline.filter(_label().is_in(labels))
        title += ", fastest preset of each engine"
        if "measured" in timeline["timing"]:
            title += ", first of a measured one"
    figure = Figure(figsize=(9, 0.85 * len(labels) + 1.3))
    strips = figure.subplots(len(labels), 1, sharex=True, sharey=True, squeeze=False).ravel()
    last = timeline["from_ns"].max()
    scale, unit = _time_scale(last if isinstance(last, float) else 0.0)
    for ax, label in zip(strips, labels, strict=True):
        bins = timeline.filter(_label() == label)
        queue_lengths(ax, bins, scale_ns=scale)
        timing = "" if bins["timing"][0] == "simulated" else f" ({bins['timing'][0]})"
        ax.set_title(label + timing, loc="left", fontsize=8, pad=2)
    longest = [
        max(bins["posted_max"].to_list() + bins["unexpected_max"].to_list())
        for bins in timeline.partition_by("engine", "preset")
    ]
    if max(longest) > _LOG_RATIO * max(min(longest), 1):
        strips[0].set_yscale("symlog", linthresh=10, linscale=0.5)
        strips[0].set_ylim(0, 2 * max(longest))
        strips[0].set_yticks([0, *(10**power for power in range(2, 12, 2) if 10**power <= max(longest))])
    else:
        strips[0].set_ylim(0, 1.05 * max(*longest, 1))
        strips[0].yaxis.set_major_locator(MaxNLocator(integer=True, nbins=3))
    strips[0].yaxis.set_major_formatter(FuncFormatter(plain))
    strips[0].set_xlim(left=0)
    figure.supxlabel(f"simulated time [{unit}]", fontsize=10)
    figure.supylabel("longest queue of any rank [entries]", fontsize=10)
    figure.suptitle(title)
    figure.legend(*strips[0].get_legend_handles_labels(), loc="outside lower right", ncols=2, fontsize=8)
    return figure


_DRAWN = {"cost": _cost, "latency": _latency, "queues": _queues}


def _label() -> pl.Expr:
    return pl.format("{}:{}", "engine", "preset")


def _by_engine(labels: Sequence[str]) -> dict[str, list[str]]:
    """Group labels by engine and sort presets by name, so that colours do not depend on the order of rows."""
    groups: dict[str, list[str]] = {}
    for label in sorted(labels):
        groups.setdefault(label.partition(":")[0], []).append(label)
    return groups


def _labels(table: pl.DataFrame) -> list[str]:
    return table.select(_label().unique(maintain_order=True)).to_series().to_list()


def plain(value: float, _position: object = None) -> str:
    """Format a number without exponent, with thin spaces between groups of three digits."""
    return f"{value:,.12g}".replace(",", "\u2009")


def halves(value: float, _position: object = None) -> str:
    """Format 2 and 5 times a power of ten as `plain` does; other numbers are empty."""
    first = f"{value:e}"[0]
    return plain(value) if first in {"2", "5"} else ""


def _time_scale(largest_ns: float) -> tuple[float, str]:
    for scale, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if largest_ns >= 2 * scale:
            return scale, unit
    return 1.0, "ns"


def _legend(figure: Figure) -> None:
    """Put one legend beside the axes, with the key to the line styles below it."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    styles = {handle.get_linestyle() for handle in handles if isinstance(handle, Line2D)}
    if not handles:
        return
    for timing, style in LINES.items():
        if style in styles:
            handles.append(Line2D([], [], color="0.4", linestyle=style))
            labels.append(timing)
    figure.legend(handles, labels, loc="outside right center", fontsize=8)


def _kinds(figure: Figure, timings: Sequence[str]) -> None:
    """Put a key to the styles of the bars below the axes, if there is more than one style."""
    looks = {
        "bound": Patch(facecolor="0.9", edgecolor="0.4", hatch="///"),
        "simulated": Patch(facecolor="0.5", edgecolor="0.4"),
        "measured": Patch(facecolor="0.9", edgecolor="0.4", linestyle=LINES["measured"]),
    }
    present = [timing for timing in looks if timing in timings]
    if present != ["simulated"]:
        handles = [looks[timing] for timing in present]
        figure.legend(handles, present, loc="outside lower right", ncols=len(present), fontsize=8)
