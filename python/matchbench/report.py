# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The report of a comparison: plots as PNG and SVG, and one HTML page that needs no other file."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import jinja2
import matplotlib as mpl
import polars as pl

from matchbench import _native, plots, summary

if TYPE_CHECKING:  # compare imports this module when it writes
    from matchbench.compare import Comparison
    from matchbench.shapes import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plot:
    trace: str
    name: str
    title: str
    png: str


def write_report(comparison: Comparison, directory: Path, progress: Progress | None = None) -> None:
    """Write `plots/` and `report.html`.

    Parameters
    ----------
    comparison
        What to show.
    directory
        An existing directory.
    progress
        Called with plots drawn and plots in all.
    """
    drawn = _draw(comparison, directory / "plots", progress)
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


def _draw(comparison: Comparison, directory: Path, progress: Progress | None) -> list[_Plot]:
    directory.mkdir()
    drawn: list[_Plot] = []
    total = plots.FIGURES * comparison.results["trace"].n_unique()
    for trace, name, title, figure in plots.figures(
        comparison.results, comparison.depths, comparison.timeline
    ):
        with mpl.rc_context(plots.STYLE):
            picture = io.BytesIO()
            figure.savefig(picture, format="png")
            (directory / f"{name}.png").write_bytes(picture.getvalue())
            figure.savefig(directory / f"{name}.svg", metadata={"Date": None})
        png = base64.b64encode(picture.getvalue()).decode()
        drawn.append(_Plot(trace=trace, name=name, title=title, png=png))
        if progress:
            progress(len(drawn), total)
    return drawn


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
