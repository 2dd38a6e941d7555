# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench reproduce`: claims of a paper, measured on the models, with verdicts."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click
import polars as pl

from matchbench import tables
from matchbench.output import check_directory
from matchbench.reproduce import MARKER, VERDICTS, Reproduction, key_of, reproduce

CHECK_FAILED = 1
_CELL = 44  # characters of a cell


def _words(_context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """Split what is given at commas."""
    return tuple(word.strip() for text in given for word in text.split(",") if word.strip())


def _verdicts(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    words = _words(context, parameter, given)
    for word in words:
        if word not in VERDICTS:
            msg = f"`{word}` found; expected one of: {', '.join(VERDICTS)}"
            raise click.BadParameter(msg)
    return words


@click.command(
    name="reproduce",
    epilog="""
    Examples:

    \b
      matchbench reproduce hemmert2007
      matchbench reproduce hemmert2007 --system mu,lm,hw -o out/hemmert2007
      matchbench reproduce hemmert2007 --id 'hemmert2007.mu.total_*' --id hemmert2007.ucode.total
      matchbench reproduce hemmert2007 --verdict near,differs
      matchbench reproduce hemmert2007 --figures -o out/hemmert2007 --force
      matchbench reproduce tanabe2013 xiong2018 -o out/papers

    `docs/reproduce.md` says how a verdict is found and lists all interpretations.
    Exit status: 0 done; 1 if a claim differs without an explanation, or if with --figures another set of
    assumptions agrees better than the study's; 2 bad input.
    """,
)
@click.argument("papers", metavar="PAPER...", nargs=-1, required=True)
@click.option(
    "--system",
    "systems",
    metavar="NAME[,NAME]",
    multiple=True,
    callback=_words,
    help="Only claims about these, such as mu (match unit), lm (list manager), hw (bound).",
)
@click.option(
    "--id", "ids", metavar="GLOB", multiple=True, help="Only claims whose id matches; may be repeated."
)
@click.option(
    "--verdict",
    "verdicts",
    metavar="NAME[,NAME]",
    multiple=True,
    callback=_verdicts,
    help=f"Only claims with these verdicts: {', '.join(VERDICTS)}.",
)
@click.option(
    "--figures",
    is_flag=True,
    help="Run every set of assumptions, draw the figures, write a page of verdicts. [out/PAPER]",
)
@click.option(
    "-j",
    "--jobs",
    metavar="N",
    type=click.IntRange(1, 1024),
    default=2,
    help="Runs at a time for --figures. [2]",
)
@click.option("-o", "--output", metavar="DIR", type=click.Path(path_type=Path), help="Write tables to DIR.")
@click.option("--force", is_flag=True, help="Replace earlier results in DIR.")
def command(
    papers: tuple[str, ...],
    systems: tuple[str, ...],
    ids: tuple[str, ...],
    verdicts: tuple[str, ...],
    output: Path | None,
    jobs: int,
    *,
    figures: bool,
    force: bool,
) -> int:
    """Measure what PAPER claims on the models, claim by claim.

    PAPER is a citation key or its alias: hemmert2007 (s0), tanabe2013 (s1), xiong2018 (s2), gu2011 (s3),
    crowley2000 (s4). Where a paper contradicts itself, a claim is shown in every interpretation; the
    first counts. Results of several papers go to a folder of DIR for each.
    """
    papers = tuple(map(key_of, papers))
    failed = False
    several = len(papers) > 1
    if output is None and figures:
        targets = {paper: Path("out") / paper for paper in papers}
    elif output is not None:
        targets = {paper: output / paper if several else output for paper in papers}
    else:
        targets = {}
    for place in targets.values():
        check_directory(place, marker=MARKER, force=force)
    for paper in papers:
        found = reproduce(paper, jobs=jobs if figures else None)
        found = found.only(systems=systems, ids=ids, verdicts=verdicts)
        target = targets.get(paper)
        if target is not None:
            found.write(target, figures=figures, force=force)
        with tables.ignoring_closed_pipe() if target is not None else nullcontext():
            if several:
                if paper != papers[0]:
                    tables.line()
                tables.line(paper, style="bold")
            _show(found, whole=not (systems or ids or verdicts))
            if target is not None:
                tables.line(f"results: {target}/report.html" if figures else f"results: {target}")
            if not found.fitted:
                tables.line(
                    "another set of assumptions agrees better than the one that the study calls fitted",
                    style="bold",
                )
        failed |= not (found.explained and found.fitted)
    return CHECK_FAILED if failed else 0


def _show(found: Reproduction, *, whole: bool) -> None:
    """Print what was found; contradictions only of a `whole` paper."""
    tested = found.claims.filter(pl.col("verdict") != "not testable")
    if tested.height:
        tables.show(
            None,
            ["claim", "place", "quantity", ">published", ">measured", "unit", ">error", "verdict"],
            _rows(found, tested),
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
    if found.interpretations["calibrated"].any():
        tables.show(
            "calibrated parameters; interpretations that rest on them do not count",
            ["engine", "parameter", ">value", "why"],
            calibrated.select("engine", "parameter", "value", "detail").iter_rows(),
        )
        tables.line()
    if found.assumption_values.height:
        tables.show(
            "assumptions, and how many claims that compare the processors hold with each value",
            ["assumption", "value", "baseline", ">fewest", ">mean", ">most"],
            [
                (row["assumption"], row["value"], "counts" if row["baseline"] else "", *_span(row))
                for row in found.assumption_values.iter_rows(named=True)
            ],
        )
        tables.line(found.agreement())
        tables.line()
    unexplained = found.claims.filter("unexplained")["id"].to_list()
    if unexplained:
        tables.line(f"no explanation: {', '.join(unexplained)}", style="bold")
    tables.line(found.counts())
    if found.count("holds"):
        tables.line(found.origins())
    missed = found.claims.filter(pl.col("verdict").is_in(["near", "differs"]))
    otherwise = missed.filter("holds_otherwise").height
    only_calibrated = missed.filter(~pl.col("holds_otherwise") & pl.col("holds_calibrated")).height
    if missed.height:
        tables.line(
            f"of the {missed.height} near or different, {otherwise} hold in another interpretation, "
            f"{only_calibrated} only with a calibrated parameter"
        )


def _rows(found: Reproduction, tested: pl.DataFrame) -> list[tuple[object, ...]]:
    """Give each claim a row, and below it one for each of several interpretations, or for a named one."""
    rows: list[tuple[object, ...]] = []
    interpretations = found.interpretations.partition_by("id", as_dict=True, maintain_order=True)
    for claim in tested.iter_rows(named=True):
        mine = interpretations[(claim["id"],)]
        head = (claim["id"], claim["place"], _cut(claim["quantity"]), _cut(claim["published"]))
        first = (_cut(claim["measured"]), claim["unit"], _error(claim["relative_error"]), claim["verdict"])
        rows.append((*head, *first))
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
    return row["holds_fewest"], f"{row['holds_mean']:.1f}", row["holds_most"]


def _cut(text: str) -> str:
    """Keep a cell of words short; the files have them whole."""
    return text if len(text) <= _CELL else f"{text[: _CELL - 1]}…"


def _error(error: float | None) -> str:
    if error is None:
        return ""
    return "0" if error == 0 else f"{100 * error:+.3g} %"


def _grouped(claims: pl.DataFrame, *verdicts: str) -> list[tuple[str, list[str]]]:
    """Collect the ids of claims with these verdicts by reason, in the order of the ledger."""
    groups: dict[str, list[str]] = {}
    for row in claims.filter(pl.col("verdict").is_in(verdicts)).iter_rows(named=True):
        groups.setdefault(row["reason"], []).append(row["id"])
    return list(groups.items())


def _short(ids: list[str]) -> list[str]:
    """Name at most eight, and how many there are besides."""
    return ids if len(ids) <= 8 else [*ids[:7], f"and {len(ids) - 7} more"]
