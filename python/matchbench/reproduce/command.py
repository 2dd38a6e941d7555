# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench reproduce`: claims of a paper, measured on the models, with verdicts.

What needs polars is imported when the command runs, so that `--help` is fast.
"""

from __future__ import annotations

from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from matchbench._native import unknown_name
from matchbench.cli.usage import Command
from matchbench.cli.values import Whole
from matchbench.display import tables
from matchbench.display.output import reserved_directory
from matchbench.reproduce.evidence import VERDICTS

if TYPE_CHECKING:
    from matchbench.reproduce.run import Reproduction

CHECK_FAILED = 1


def _words(_context: click.Context, _parameter: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """Split what is given at commas."""
    return tuple(word.strip() for text in given for word in text.split(",") if word.strip())


def _verdicts(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    words = _words(context, parameter, given)
    for word in words:
        if word not in VERDICTS:
            raise click.BadParameter(unknown_name("verdict", word, VERDICTS))
    return words


@click.command(
    cls=Command,
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

    `docs/reproduce.md` describes how a verdict is found and what each kind of evidence means, and lists all
    interpretations.
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
    type=Whole(1, 1024),
    default=2,
    help="Parallel runs of --figures. [2]",
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
    """Measure the claims of PAPER on the models, one by one.

    PAPER is a citation key or its alias (`docs/papers.md` lists them). Claims that hold are predicted by a
    mechanism, recovered from inputs, or recomputed from the paper's own numbers; each kind is counted
    separately. Where a paper contradicts itself, a claim is shown in every interpretation; the first counts.
    Results of several papers go to a folder of DIR for each.
    """
    from matchbench.reproduce.report import show
    from matchbench.reproduce.run import MARKER, check_choice, key_of

    papers = tuple(map(key_of, papers))
    for paper in papers:
        check_choice(paper, systems=systems, ids=ids)
    several = len(papers) > 1
    if output is None and figures:
        targets = {paper: Path("out") / paper for paper in papers}
    elif output is not None:
        targets = {paper: output / paper if several else output for paper in papers}
    else:
        targets = {}
    failed = False
    with ExitStack() as stack:
        for place in targets.values():
            stack.enter_context(reserved_directory(place, marker=MARKER, force=force))
        for paper in papers:
            found = _reproduce(paper, jobs if figures else None, systems, ids, verdicts)
            target = targets.get(paper)
            if target is not None:
                found.write(target, figures=figures, force=force)
            with tables.ignoring_closed_pipe() if target is not None else nullcontext():
                if several:
                    if paper != papers[0]:
                        tables.line()
                    tables.line(paper, style="bold")
                show(found, whole=not (systems or ids or verdicts))
                if target is not None:
                    tables.line(f"results: {target}/report.html" if figures else f"results: {target}")
                if not found.fitted:
                    tables.line(
                        "another set of assumptions agrees better than the one that the study calls fitted",
                        style="bold",
                    )
            failed |= not (found.explained and found.fitted)
    return CHECK_FAILED if failed else 0


def _reproduce(
    paper: str,
    jobs: int | None,
    systems: tuple[str, ...],
    ids: tuple[str, ...],
    verdicts: tuple[str, ...],
) -> Reproduction:
    from matchbench.reproduce.run import reproduce

    return reproduce(paper, jobs=jobs).only(systems=systems, ids=ids, verdicts=verdicts)
