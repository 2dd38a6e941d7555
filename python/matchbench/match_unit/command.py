# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench match_unit`: a match program on the match unit, cycle by cycle."""

import json
import sys
from pathlib import Path
from typing import Any

import click

from matchbench import MatchbenchError, _native
from matchbench.cli.usage import Choice, Passing
from matchbench.cli.whole_summaries import WholeSummaries
from matchbench.display import document, tables
from matchbench.display.output import check_file, csv_text, write_files
from matchbench.input import read_text
from matchbench.match_unit.assemble_command import command as assemble
from matchbench.match_unit.common import (
    BAD_INPUT,
    CHECK_FAILED,
    COLUMNS,
    answer_row,
    everything,
    inputs,
    reported_errors,
    setup_from,
    show_latencies,
    show_registers,
    show_totals,
)
from matchbench.match_unit.disassemble_command import command as disassemble
from matchbench.match_unit.profile_command import profile
from matchbench.match_unit.program import Report, Setup
from matchbench.match_unit.trace_command import trace

MOST_WRONG = 5
"""Headers with another answer than the expected one that are named."""


@click.group(
    cls=WholeSummaries,
    name="match_unit",
    epilog="""
    Examples:

    \b
      matchbench match_unit run portals_hemmert2007 --list list.toml --headers headers.toml
      matchbench match_unit profile mine.mb --list list.toml --headers headers.toml
      matchbench match_unit new mine.mb

    PROGRAM is mpi, portals_hemmert2007, portals_lean, portals4, or a file: source text or an image.
    `docs/match_unit.md` is a tour and describes the files of items and headers. Exit status: 0 done, 1 the
    program violates the protocol of the list manager or an answer differs from the one that a header
    expects, 2 bad input.
    """,
)
def command() -> None:
    """Run a match program on the match unit, cycle by cycle."""


@command.command(
    epilog="""
    Examples:

    \b
      matchbench match_unit run portals_hemmert2007 --list list.toml --headers headers.toml
      matchbench match_unit run mine.mb --list list.csv --headers headers.csv --set memory_latency=40
      matchbench match_unit run mpi --list list.toml --headers headers.toml --after-match append -o a.json

    Times are cycles. begun: the list manager starts to send the header; answered: it acts on the answer.
    """
)
@inputs
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Write the answers to FILE.csv, or answers and parameters to FILE.json.",
)
@click.option("--force", is_flag=True, help="Replace an earlier file.")
def run(output: Path | None, *, force: bool, **words: Any) -> int:
    """Run PROGRAM and print its answer to each header with its cycles, and the registers at the end."""
    if output and output.suffix not in {".csv", ".json"}:
        msg = f"{output}: found the suffix `{output.suffix}`; expected a .csv or .json file"
        raise MatchbenchError(msg)
    if output:
        check_file(output, force=force)
    with reported_errors():
        setup = setup_from(**words)
        unit = setup.unit()
        report = setup.run(unit)
    rows = [answer_row(setup, answer) for answer in report.answers]
    if output:
        is_csv = output.suffix == ".csv"
        whole = everything(setup, report, unit.state())
        text = csv_text([COLUMNS, *rows]) if is_csv else f"{json.dumps(whole, indent=1)}\n"
        write_files({output: text}, force=force)
    if document.is_collected():
        document.become(everything(setup, report, unit.state()))
        return _compare(setup, report)
    numeric = {"offset", "length", "visits", "begun", "answered", "cycles"}
    shown = [[cell if cell != "" else None for cell in row] for row in rows]
    if all(row[COLUMNS.index("result")] is None for row in shown):
        shown = [[cell for name, cell in zip(COLUMNS, row, strict=True) if name != "result"] for row in shown]
    names = (
        [name for name in COLUMNS if name != "result"] if shown and len(shown[0]) < len(COLUMNS) else COLUMNS
    )
    tables.show(None, [f">{name}" if name in numeric else name for name in names], shown)
    tables.line()
    show_totals(setup, report)
    tables.line()
    show_latencies(report)
    tables.line()
    show_registers(setup, unit.state())
    return _compare(setup, report)


def _compare(setup: Setup, report: Report) -> int:
    """Report the headers whose answer is not the one that their file expects; return the exit status."""
    wrong = list(setup.unexpected_answers(report))
    with tables.ignoring_closed_pipe():
        for line in wrong[:MOST_WRONG]:
            tables.warn(line)
        if len(wrong) > MOST_WRONG:
            tables.warn(f"{len(wrong) - MOST_WRONG} more headers with another answer")
    return CHECK_FAILED if wrong else 0


@command.command(
    cls=Passing,
    epilog="""
    Examples:

    \b
      matchbench match_unit debug portals_hemmert2007 --list list.toml --headers headers.toml
      matchbench match_unit debug mine.mb --list list.toml --headers headers.toml -x "run-to fast; registers"
      matchbench match_unit debug mine.mb --list list.toml --headers headers.toml --script commands.txt

    Without -x and --script, commands come from the terminal, or line by line from standard input.
    Exit status: 0 done, 1 the program violated the protocol in a script, 2 bad input or a rejected
    command in a script.
    """,
)
@inputs
@click.option(
    "-x", "commands", metavar="COMMANDS", help="Run these commands, separated by semicolons, and exit."
)
@click.option("--script", type=click.Path(path_type=Path), help="Run the lines of this file and exit.")
def debug(commands: str | None, script: Path | None, **words: Any) -> int:
    """Debug PROGRAM: breakpoints, single steps, registers, FIFOs and lists."""
    from matchbench.match_unit import debug_command as mu_debug
    from matchbench.match_unit import debug_session as mu_debug_session

    with reported_errors():
        debugger = mu_debug.Debugger(setup_from(**words))
    if commands is None and script is None and sys.stdin.isatty():
        mu_debug_session.interact(debugger)
        return 0
    if script is not None:
        mu_debug_session.run_script(debugger, read_text(script, "commands of the debugger").splitlines())
    if commands is not None:
        mu_debug_session.run_script(debugger, commands.split(";"))
    if commands is None and script is None:
        mu_debug_session.run_script(debugger, sys.stdin)
    return BAD_INPUT if debugger.rejected else CHECK_FAILED if debugger.broken else 0


@command.command(
    epilog="""
    Examples:

    \b
      matchbench match_unit new mine.mb
      matchbench match_unit new small.mb --items 4
      matchbench compare traces/halo3d-64.tar.xz --engine match_unit --set program=mine.mb
    """
)
@click.argument("path", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--items",
    type=Choice(["4", "8", "16"]),
    default="8",
    help="Words of a list item. [8]",
)
@click.option("--force", is_flag=True, help="Replace an existing FILE.")
def new(path: Path, items: str, *, force: bool) -> None:
    """Write a match program to start from: MPI matching on both lists."""
    write_files({path: _native.match_template(int(items))}, force=force)
    tables.line(f"{path}: MPI matching with items of {items} words")


command.add_command(assemble)
command.add_command(disassemble)
command.add_command(trace)
command.add_command(profile)
