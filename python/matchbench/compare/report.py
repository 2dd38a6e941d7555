# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The report of a comparison: one self-contained HTML page, and on request plots as PNG and SVG."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from matchbench import _native, interruptible
from matchbench.compare import answer_text, intervals, report_charts, report_overview, summary
from matchbench.display import chart_library, chart_parts, pages
from matchbench.display.output import make_directory, write_file

if TYPE_CHECKING:  # matplotlib takes a second to load, and comparison imports this module
    from matchbench.compare.comparison import Comparison
    from matchbench.display.plots import Plot
    from matchbench.native_types import Progress


_WORTH_A_PROCESS = 3
"""Plots below which another process takes longer to start than to draw them."""


def write_report(
    comparison: Comparison,
    directory: Path,
    *,
    charts: bool = True,
    plots: bool = False,
    jobs: int = 1,
    progress: Progress | None = None,
) -> None:
    """Write `report.html`, and `plots/` if plots are wanted.

    Parameters
    ----------
    comparison
        The comparison to report.
    directory
        An existing directory.
    charts
        Put interactive charts into the report.
    plots
        Draw the charts as PNG and SVG too.
    jobs
        Plots drawn in parallel, above 1 each in its own process.
    progress
        Called as `progress(plots drawn, plots)`.
    """
    if plots:
        _draw(comparison, directory / "plots", jobs, progress)
    selected, left_out = report_charts.select(comparison.results, comparison.depths, comparison.timeline)
    found = [*report_overview.charts(comparison), *selected] if charts else []
    answer = comparison.answer
    names = comparison.results["trace"].unique(maintain_order=True).to_list()
    page = pages.render(
        "report.html",
        names=names,
        answer=answer.sentences,
        classes=answer.classes,
        threshold=answer_text.percent(answer.threshold),
        first=answer.shown or names[0],
        matrix=report_overview.matrix(comparison.results),
        engines=_switches(comparison.results),
        version=_native.version(),
        revision=_native.revision(),
        legend=summary.LEGEND,
        shown=summary.SIMULATED_COLUMNS,
        measured_shown=summary.MEASURED_COLUMNS,
        measured_legend=summary.MEASURED_LEGEND,
        blocks=list(summary.blocks(comparison.results, comparison.measured, comparison.reference)),
        intervals=intervals.cells(comparison.intervals),
        interval_headings=intervals.HEADINGS,
        interval_title=intervals.title(comparison.results),
        interval_legend=intervals.LEGEND,
        remarks=summary.remarks_once(comparison.remarks),
        charts=found,
        library=chart_library.script() if found else "",
        left_out=left_out if charts else {},
        parameters=_parameters(comparison.parameters),
    )
    write_file(directory / "report.html", page)


def _draw(comparison: Comparison, directory: Path, jobs: int, progress: Progress | None) -> None:
    """Write every plot as PNG and SVG."""
    from matchbench.display.plots import planned

    make_directory(directory)
    plots = planned(comparison.results, comparison.depths, comparison.timeline)
    with ExitStack() as stack:
        saved: Iterator[None] = map(_save, plots, repeat(directory))
        if min(jobs, len(plots) // _WORTH_A_PROCESS) > 1:
            pool = stack.enter_context(_processes(min(jobs, len(plots) // _WORTH_A_PROCESS)))
            with interruptible.deferred():
                futures = [pool.submit(_save, plot, directory) for plot in plots]
            saved = map(interruptible.result, futures)
        for done, _ in enumerate(saved, start=1):
            if progress:
                progress(done, len(plots))


def _save(plot: Plot, directory: Path) -> None:
    from matchbench.display.plots import save

    save(plot.draw(), directory, plot.name)


@contextmanager
def _processes(count: int) -> Iterator[ProcessPoolExecutor]:
    """Use processes that are spawned, because our threads may hold locks."""
    pool = ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn"))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _switches(results: pl.DataFrame) -> list[dict[str, str]]:
    """Give each engine preset with the colour of its lines."""
    return [{"label": label, "colour": colour} for label, colour in chart_parts.colours(results).items()]


def _parameters(parameters: pl.DataFrame) -> list[dict[str, object]]:
    """Group the parameters: one table per engine preset, and the network once."""
    groups: list[dict[str, object]] = []
    for (engine, preset), rows in parameters.filter(part="engine").group_by(
        "engine", "preset", maintain_order=True
    ):
        groups.append({"title": f"{engine}:{preset}", "rows": rows.to_dicts()})
    network = parameters.filter(part="network").unique(subset="parameter", keep="first", maintain_order=True)
    groups.append({"title": "network", "rows": network.to_dicts()})
    return groups
