# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What `matchbench reproduce` prints: counts by kind of evidence, tables of claims, explanations."""

from typing import Any

import polars as pl

from matchbench.display import document, tables
from matchbench.display.document import Shown
from matchbench.reproduce.evidence import EVIDENCE
from matchbench.reproduce.run import Reproduction

_CELL = 44  # characters of a cell


def show(found: Reproduction, *, whole: bool) -> None:
    """Print what was found; contradictions only of a `whole` paper."""
    tested = found.claims.filter(pl.col("verdict") != "not testable")
    if tested.height:
        tables.show(
            None,
            [
                "claim",
                "place",
                "quantity",
                ">published",
                ">measured",
                "unit",
                ">error",
                "verdict",
                "evidence",
                "origin",
            ],
            _rows(found, tested),
        )
        tables.line()
    held = tested.filter(verdict="holds")
    if held.height:
        tables.show(
            "why claims that hold are predicted, recovered or recomputed",
            ["evidence", "why", "claims"],
            [
                (kind, why, ", ".join(_short(ids)))
                for kind in EVIDENCE
                for why, ids in _grouped(held.filter(evidence=kind), "holds", by="evidence_reason")
            ],
        )
        tables.line()
    explanations = [
        (reason, ", ".join(_short(ids)))
        for reason, ids in _grouped(found.claims, "differs", "near")
        if reason
    ]
    if explanations:
        tables.show("why claims differ", ["why", "claims"], explanations)
        tables.line()
    if whole and found.contradictions.height:
        tables.show(
            "where the paper contradicts itself",
            [">no", "place", "statement", "interpretation", "measured"],
            [line for row in found.contradictions.iter_rows(named=True) for line in _contradiction(row)],
        )
        tables.line()
    given_back = found.claims.filter(pl.col("verdict") == "not testable", pl.col("measured").is_not_null())
    if given_back.height:
        tables.show(
            "measured without a verdict",
            ["claim", ">published", ">measured", "unit", "why"],
            given_back.select("id", "published", "measured", "unit", "reason").iter_rows(),
        )
        tables.line()
    untested = [
        (len(ids), reason, ", ".join(_short(ids))) for reason, ids in _grouped(found.claims, "not testable")
    ]
    if untested:
        tables.show("not testable", [">claims", "why", "which"], untested)
        tables.line()
    calibrated = found.parameters.filter(source="calibrated")
    if calibrated.height and (whole or found.interpretations["calibrated"].any()):
        tables.show(
            "calibrated parameters; what rests on them is never predicted",
            ["engine", "parameter", ">value", "why"],
            calibrated.select("engine", "parameter", "value", "detail").iter_rows(),
        )
        tables.line()
    if found.assumption_values.height:
        tables.show(
            "assumptions, and how many predictions that compare the processors hold with each value",
            ["assumption", "value", "baseline", ">fewest", ">mean", ">most"],
            [
                (row["assumption"], row["value"], "counts" if row["baseline"] else "", *_span(row))
                for row in found.assumption_values.iter_rows(named=True)
            ],
        )
        if found.agreements.height:
            tables.line(found.agreement())
        tables.line()
    unexplained = found.claims.filter("unexplained")["id"].to_list()
    if unexplained:
        tables.line(f"no explanation: {', '.join(unexplained)}", style="bold")
    if tested.height:
        tables.show(
            "verdicts by kind of evidence",
            [
                "evidence",
                ">holds",
                ">derived by us",
                ">near",
                ">differs",
                ">holds otherwise",
                ">only calibrated",
                "meaning",
            ],
            [
                (
                    row["evidence"],
                    row["holds"],
                    row["holds_derived"],
                    row["near"],
                    row["differs"],
                    row["holds_otherwise"],
                    row["holds_calibrated"],
                    EVIDENCE[row["evidence"]],
                )
                for row in found.counts.iter_rows(named=True)
            ],
        )
    tables.line(found.untested())


def _rows(found: Reproduction, tested: pl.DataFrame) -> list[tuple[object, ...]]:
    """Give each claim a row, and below it one for each of several interpretations, or for a named one."""
    rows: list[tuple[object, ...]] = []
    interpretations = found.interpretations.partition_by("id", as_dict=True, maintain_order=True)
    for claim in tested.iter_rows(named=True):
        mine = interpretations[(claim["id"],)]
        head = (claim["id"], claim["place"], _cut(claim["quantity"]), _cut(claim["published"]))
        first = (_cut(claim["measured"]), claim["unit"], _error(claim["relative_error"]))
        origin = claim["origin"] if claim["origin"] == "stated" else f"{claim['origin']} by us"
        rows.append((*head, *first, claim["verdict"], claim["evidence"], origin))
        if mine["interpretation"].to_list() == [""]:
            continue
        for found_as in mine.iter_rows(named=True):
            notes = [
                *(["counts"] if found_as["counts"] else []),
                *(["calibrated"] if found_as["calibrated"] else []),
            ]
            verdict = f"{found_as['verdict']} ({', '.join(notes)})" if notes else found_as["verdict"]
            rows.append(
                (
                    "",
                    "",
                    f"  {found_as['interpretation']}",
                    "",
                    _cut(found_as["measured"]),
                    "",
                    _error(found_as["relative_error"]),
                    verdict,
                    "",
                    "",
                )
            )
    return rows


def _contradiction(row: dict[str, Any]) -> list[tuple[object, ...]]:
    """Give both statements a line, and what counts another."""
    return [
        (
            row["number"],
            row["place"],
            row["first"],
            row["first_interpretation"] or "",
            row["first_measured"] or "",
        ),
        ("", "", row["second"], row["second_interpretation"] or "", row["second_measured"] or ""),
        ("", "", f"  counts: {row['counts']}", "", ""),
    ]


def _span(row: dict[str, Any]) -> tuple[int, str, int]:
    """Give fewest, mean and most claims that hold."""
    return row["holds_fewest"], tables.fixed(row["holds_mean"], 1), row["holds_most"]


def _cut(text: str) -> str:
    """Shorten the text of a cell; the files have the whole text."""
    return text if len(text) <= _CELL or document.is_collected() else f"{text[: _CELL - 1]}…"


def _error(error: float | None) -> str:
    if error is None:
        return ""
    return Shown("0" if error == 0 else f"{100 * error:+.3g} %", error, "1")


def _grouped(claims: pl.DataFrame, *verdicts: str, by: str = "reason") -> list[tuple[str, list[str]]]:
    """Collect the ids of claims with these verdicts by reason, in the order of the table."""
    groups: dict[str, list[str]] = {}
    for row in claims.filter(pl.col("verdict").is_in(verdicts)).iter_rows(named=True):
        groups.setdefault(row[by], []).append(row["id"])
    return list(groups.items())


def _short(ids: list[str]) -> list[str]:
    """Name at most eight, and count the others."""
    return ids if len(ids) <= 8 else [*ids[:7], f"and {len(ids) - 7} more"]
