# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench match_unit profile`: cycles by label, by stall cause and by slot."""

from typing import Any

import click

from matchbench.cli.usage import Command
from matchbench.display import document, tables
from matchbench.match_unit.common import IDLE, everything, inputs, reported_errors, setup_from, show_totals
from matchbench.match_unit.program import Report, Setup
from matchbench.native_types import MatchProfile


@click.command(
    cls=Command,
    epilog="""
    Examples:

    \b
      matchbench match_unit profile portals_hemmert2007 --list list.toml --headers headers.toml
      matchbench match_unit profile mine.mb --list list.toml --headers headers.toml --json > profile.json
    """,
)
@inputs
@click.option("--words", "by_word", is_flag=True, help="Also print the issues of every word.")
def profile(*, by_word: bool, **words: Any) -> None:
    """Print the cycles by label, by stall cause and by slot."""
    with reported_errors():
        setup = setup_from(**words)
        unit = setup.unit()
        report = setup.run(unit)
    found = unit.profile()
    if document.is_collected():
        whole = everything(setup, report, unit.state()) | {"profile": profile_json(setup, found)}
        document.become(whole)
        return
    show_parts(found, report)
    tables.line()
    tables.show(
        None,
        ["slot", ">words", ">of those issued"],
        [
            (slot, tables.count(used), tables.share(used / max(report.words, 1)))
            for slot, used in found["slots"]
        ],
    )
    if by_word:
        tables.line()
        tables.show(
            None,
            [">address", "place", ">issued", "text"],
            [
                (address, setup.place(address), tables.count(found["issued"][address]), word.text)
                for address, word in enumerate(setup.words)
            ],
        )
    tables.line()
    show_totals(setup, report)


def show_parts(found: MatchProfile, report: Report) -> None:
    """Print a row for each label, with a column for each stall cause."""
    causes = [cause for cause, cycles in report.stalls.items() if cycles and cause != IDLE]
    busy = report.cycles - report.stalls[IDLE]
    rows: list[list[object]] = []
    for part in found["parts"]:
        stalls = dict(part["stalls"])
        cycles = part["issued"] + sum(stalls.values()) - stalls[IDLE]
        rows.append(
            [
                part["label"] or "(start)",
                part["first"],
                part["words"],
                tables.count(part["issued"]),
                tables.count(cycles),
                tables.share(cycles / max(busy, 1)),
                *(tables.count(stalls[cause]) if stalls[cause] else None for cause in causes),
            ]
        )
    columns = [
        "label",
        ">first",
        ">words",
        ">issued",
        ">cycles",
        ">of busy",
        *(f">{cause}" for cause in causes),
    ]
    tables.show(None, columns, rows)


def profile_json(setup: Setup, found: MatchProfile) -> dict[str, Any]:
    """Return a profile for JSON."""
    return {
        "parts": [part | {"stalls": dict(part["stalls"])} for part in found["parts"]],
        "slots": dict(found["slots"]),
        "words": [
            {"address": address, "place": setup.place(address), "issued": issued, "text": word.text}
            for address, (word, issued) in enumerate(zip(setup.words, found["issued"], strict=True))
        ],
    }
