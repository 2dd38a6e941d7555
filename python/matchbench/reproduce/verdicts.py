# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The page of a reproduction: figures, every verdict, and the assumptions behind each curve."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matchbench import _native
from matchbench.display import pages, plots
from matchbench.display.output import make_directory, write_file
from matchbench.reproduce import bibliography, charts, figures
from matchbench.reproduce.evidence import EVIDENCE

if TYPE_CHECKING:
    from matchbench.reproduce.run import Reproduction

_BEST = 12  # sets of assumptions on the page; the files have them all


def write_page(found: Reproduction, directory: Path) -> None:
    """Write `plots/` and `report.html`.

    Parameters
    ----------
    found
        What to show.
    directory
        An existing directory.
    """
    study = figures.study(found.study) if found.study else None
    claims = _claims(found)
    page = pages.render(
        "verdicts.html",
        version=_native.version(),
        revision=_native.revision(),
        study=study,
        plots=list(_draw(found, study, directory / "plots")) if study else [],
        counts=found.counts.to_dicts(),
        meanings=EVIDENCE,
        untested=found.untested(),
        paper=bibliography.publication(claims[0]["paper"]) if claims else None,
        answer=found.answer(),
        groups=[(title, is_open, rows) for title, is_open, rows in _groups(claims) if rows],
        contradictions=found.contradictions.to_dicts(),
        assumptions=_assumptions(found, study),
        agreement=found.agreement() if found.agreements.height else None,
        agreements=found.agreements.head(_BEST).to_dicts(),
        areas=found.areas.unique("design", keep="first", maintain_order=True).to_dicts(),
        storage=found.storage.to_dicts(),
        parameters=found.parameters.to_dicts(),
        library="",
    )
    write_file(directory / "report.html", page)


def _draw(found: Reproduction, study: dict[str, Any], directory: Path) -> list[dict[str, str]]:
    make_directory(directory)
    drawn = []
    every = [
        *figures.draw(study, found.curves, found.data_points),
        *charts.draw(found.charts, found.anchors),
    ]
    if found.areas.height:
        area = figures.draw_areas(study, found.areas)
        every.append(
            (
                f"{study['paper']}-area",
                "Matches for area and time, with published and with estimated areas",
                area,
            )
        )
    for name, title, figure in every:
        png = base64.b64encode(plots.save(figure, directory, name)).decode()
        drawn.append({"name": name, "title": title, "png": png})
    return drawn


def _assumptions(found: Reproduction, study: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Give each assumption of the study its values, with the claims that hold."""
    return [
        {**about, "tried": found.assumption_values.filter(assumption=about["name"]).to_dicts()}
        for about in (study or {}).get("assumption", [])
    ]


def _groups(claims: list[dict[str, Any]]) -> list[tuple[str, bool, list[dict[str, Any]]]]:
    """Divide the claims: those that say something, inputs that a model only gives back, and the others."""

    def group(row: dict[str, Any]) -> int:
        given_back = row["verdict"] == "holds" and row["evidence"] == "recovered"
        if row["kind"] == "configuration" and (given_back or row["verdict"] == "not testable"):
            return 1
        return 2 if row["verdict"] == "not testable" else 0

    parts: list[list[dict[str, Any]]] = [[], [], []]
    for row in claims:
        parts[group(row)].append(row)
    return [
        ("claims", True, parts[0]),
        ("inputs: claims about what the models are built from", False, parts[1]),
        ("claims that are not testable here, and why", False, parts[2]),
    ]


def _claims(found: Reproduction) -> list[dict[str, Any]]:
    """Give each claim its interpretations where it has several."""
    interpretations = found.interpretations.partition_by("id", as_dict=True, maintain_order=True)
    rows = []
    for row in found.claims.iter_rows(named=True):
        mine = interpretations[row["id"],].to_dicts() if (row["id"],) in interpretations else []
        rows.append({**row, "interpretations": mine if len(mine) > 1 else []})
    return rows
