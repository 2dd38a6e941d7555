# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The report of a comparison: plots as PNG and SVG, and one self-contained HTML page."""

from __future__ import annotations

import base64
import multiprocessing
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2
import polars as pl

from matchbench import _native, plots, summary

if TYPE_CHECKING:  # comparison imports this module when it writes
    from matchbench.comparison import Comparison
    from matchbench.native_types import Progress


def write_report(
    comparison: Comparison, directory: Path, *, jobs: int = 1, progress: Progress | None = None
) -> None:
    """Write `plots/` and `report.html`.

    Parameters
    ----------
    comparison
        The comparison to report.
    directory
        An existing directory.
    jobs
        Plots drawn in parallel, above 1 each in its own process.
    progress
        Called as `progress(plots drawn, plots)`.
    """
    drawn = _draw(comparison, directory / "plots", jobs, progress)
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("matchbench"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    page = environment.get_template("report.html").render(
        names=comparison.results["trace"].unique(maintain_order=True).to_list(),
        version=_native.version(),
        revision=_native.revision(),
        legend=summary.LEGEND,
        headings=summary.HEADINGS,
        measured_headings=summary.MEASURED,
        measured_legend=summary.MEASURED_LEGEND,
        blocks=list(summary.blocks(comparison.results, comparison.measured)),
        remarks=summary.remarks_once(comparison.remarks),
        plots=drawn,
        parameters=_parameters(comparison.parameters),
    )
    (directory / "report.html").write_text(page, encoding="utf-8")


def _draw(
    comparison: Comparison, directory: Path, jobs: int, progress: Progress | None
) -> list[dict[str, str]]:
    """Draw every plot, and give its entry on the page."""
    directory.mkdir()
    planned = plots.planned(comparison.results, comparison.depths, comparison.timeline)
    drawn = []
    with ExitStack() as stack:
        pictures: Iterator[bytes] = map(_save, planned, repeat(directory))
        if jobs > 1:
            pool = stack.enter_context(_processes(min(jobs, len(planned))))
            pictures = pool.map(_save, planned, repeat(directory))
        for plot, picture in zip(planned, pictures, strict=True):
            png = base64.b64encode(picture).decode()
            drawn.append({"trace": plot.trace, "name": plot.name, "title": plot.title, "png": png})
            if progress:
                progress(len(drawn), len(planned))
    return drawn


def _save(plot: plots.Plot, directory: Path) -> bytes:
    return plots.save(plot.draw(), directory, plot.name)


@contextmanager
def _processes(count: int) -> Iterator[ProcessPoolExecutor]:
    """Start processes by spawning, because our threads may hold locks; only this process handles Ctrl-C."""
    pool = ProcessPoolExecutor(
        count,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=signal.signal,
        initargs=(signal.SIGINT, signal.SIG_IGN),
    )
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


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
