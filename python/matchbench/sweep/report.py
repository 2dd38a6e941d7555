# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The page of a sweep: the answer, the charts, the table; one self-contained file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from matchbench import _native
from matchbench.compare import summary
from matchbench.display import chart_library, pages
from matchbench.display.output import write_file
from matchbench.sweep import analysis, table
from matchbench.sweep.charts import planned

if TYPE_CHECKING:
    from matchbench.sweep.result import Sweep

KNEE = (
    "Knee: the point farthest below the straight line between the ends of the curve of the least value that "
    "a cost or a smaller one reaches, with both axes scaled to 0..1, costs by their logarithm if they span a "
    f"factor of {analysis.LOG_RATIO} or more (Satopaa et al. 2011); none if it lies less than "
    f"{100 * analysis.KNEE_LEAST:g} % of the curve's height below the line, or the curve falls by less than "
    f"{100 * analysis.GAIN_LEAST:g} %."
)
"""The definition of the knee."""

MOST_ROWS = 1000
"""Variants in the table of the page, and remarks below it."""


def write_report(sweep: Sweep, directory: Path, *, charts: bool = True) -> None:
    """Write `report.html`.

    Parameters
    ----------
    sweep
        The sweep.
    directory
        An existing directory.
    charts
        Put interactive charts into it.
    """
    selected = planned(sweep) if charts else []
    shown = table.chosen(sweep, MOST_ROWS)
    remarks = list(summary.remark_lines(sweep.remarks, most=len(sweep.remarks)))
    left_out = list(sweep.left_out.items())
    page = pages.render(
        "sweep.html",
        study=sweep.study,
        names=[path.name.removesuffix(".tar.xz") for path in sweep.study.traces],
        version=_native.version(),
        revision=_native.revision(),
        answer=sweep.answer,
        charts=selected,
        library=chart_library.script() if selected else "",
        knee=KNEE,
        headings=table.headings(sweep),
        rows=table.rows(sweep, shown),
        every=sweep.variants.height,
        legend=table.LEGEND,
        remarks=remarks[:MOST_ROWS],
        left_out=left_out[:MOST_ROWS],
        more=max(0, len(remarks) - MOST_ROWS) + max(0, len(left_out) - MOST_ROWS),
        areas=_areas(sweep),
    )
    write_file(directory / "report.html", page)


def _areas(sweep: Sweep) -> list[tuple[str, str, str]]:
    """Give the variants, kind and source of each area."""
    known = sweep.variants.drop_nulls("area")
    by_source = known.group_by("area_kind", "area_source", maintain_order=True).agg("variant")
    return [
        (", ".join(variants), kind, source)
        for kind, source, variants in by_source.select("area_kind", "area_source", "variant").iter_rows()
    ]
