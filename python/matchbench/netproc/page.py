# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The directory of results of network processors: the page, the tables, and on request plots."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matchbench import _native
from matchbench.display import chart_library, pages
from matchbench.display.output import make_directory, whole_directory, write_file
from matchbench.netproc import charts, report
from matchbench.netproc.machine import Result


def write(
    results: Sequence[Result],
    name: str,
    directory: Path,
    *,
    with_charts: bool = True,
    plots: bool = False,
    force: bool = False,
) -> None:
    """Write `netproc.json`, `netproc.csv` and `report.html`, whole or not at all.

    Parameters
    ----------
    results, name
        Runs of the same packets, and the name of the packets.
    directory
        Where to write.
    with_charts
        Put interactive charts into the page.
    plots
        Draw the charts as PNG and SVG too, in `plots/`.
    force
        Replace earlier results.

    Raises
    ------
    MatchbenchError
        When `directory` is in use or cannot be written.
    """
    with whole_directory(directory, marker=report.MARKER, force=force) as partial:
        write_file(partial / report.MARKER, report.json_text(results, name))
        write_file(partial / "netproc.csv", report.csv_of_totals(results, name))
        if plots:
            from matchbench.netproc.plots import save  # matplotlib takes a second to load

            make_directory(partial / "plots")
            save(results, name, partial / "plots")
        write_file(partial / "report.html", render(results, name, with_charts=with_charts))


def render(results: Sequence[Result], name: str, *, with_charts: bool = True) -> str:
    """Make the page.

    Parameters
    ----------
    results, name, with_charts
        As of `write`.
    """
    found = charts.charts(results) if with_charts else []
    return pages.render(
        "netproc.html",
        name=name,
        version=_native.version(),
        revision=_native.revision(),
        answer=report.answer(results, name),
        comparison=report.comparison(results),
        charts=found,
        runs=[
            {
                "architecture": each.architecture,
                "totals": report.totals(each),
                "slots": report.slots(each),
                "memory": report.memory(each),
                "parameters": [
                    {**value, "parameter": value["name"], "parameter_unit": value["unit"]}
                    for value in each.parameters
                ],
                "error": each.report["error"],
            }
            for each in results
        ],
        library=chart_library.script() if found else "",
    )
