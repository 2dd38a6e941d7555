# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench match_unit trace`: every issued word as text, and the run as files for viewers."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import click

from matchbench import MatchbenchError
from matchbench.cli.usage import Command
from matchbench.display import tables
from matchbench.display.output import text_stream, whole_file
from matchbench.match_unit.common import answer_text, inputs, reported_errors, row_lines, setup_from
from matchbench.match_unit.program import ProtocolError, Setup
from matchbench.native_types import Advanced, MatchUnitAnswer


@click.command(
    cls=Command,
    epilog="""
    Examples:

    \b
      matchbench match_unit trace portals_hemmert2007 --list list.toml --headers headers.toml
      matchbench match_unit trace portals_hemmert2007 --list list.toml --headers headers.toml --cycles 200:260
      matchbench match_unit trace mine.mb --list list.toml --headers headers.toml --vcd-file mine.vcd

    in, out: words in the FIFOs at the end of the cycle. A line with `...` shows stall cycles.
    """,
)
@inputs
@click.option("--cycles", metavar="FIRST:LAST", help="Print only these cycles; either bound may be omitted.")
@click.option(
    "--kanata-file",
    "kanata",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write a pipeline diagram for Konata.",
)
@click.option(
    "--vcd-file",
    "vcd",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write waveforms for GTKWave and Surfer.",
)
@click.option("--force", is_flag=True, help="Replace earlier files.")
@click.option("--no-listing", is_flag=True, help="Write files only.")
def trace(
    cycles: str | None, kanata: Path | None, vcd: Path | None, *, force: bool, no_listing: bool, **words: Any
) -> None:
    """Print every issued word with its effects, and write files for viewers."""
    window = cycle_window(cycles)
    broken: ProtocolError | None = None
    with reported_errors():
        setup = setup_from(**words)
        unit = setup.unit()
        unit.watch(kanata is not None, vcd is not None)
        with ExitStack() as stack:
            files = {}
            for name, path in (("kanata", kanata), ("vcd", vcd)):
                if path:
                    partial = stack.enter_context(whole_file(path, force=force))
                    files[name] = stack.enter_context(text_stream(partial))
            if not no_listing:
                tables.line(HEADING)
            try:
                for piece in setup.advance(unit, rows=not no_listing):
                    if "kanata" in files:
                        files["kanata"].write(piece["kanata"])
                    if "vcd" in files:
                        files["vcd"].write(piece["vcd"])
                    if not no_listing:
                        with tables.ignoring_closed_pipe() if files else nullcontext():
                            tables.write("".join(listing(setup, piece, window)))
            except ProtocolError as error:
                # The files are kept, since they show what led to the error.
                broken = error
            for name, rest in zip(("kanata", "vcd"), unit.finish(), strict=True):
                if name in files:
                    files[name].write(rest)
        if broken:
            raise broken


HEADING = " cycle  place           in out  word and effects"


def listing(setup: Setup, piece: Advanced, window: tuple[int, int]) -> Iterator[str]:
    """Yield the lines of a piece of a run: words in order, answers when the list manager acts on them."""
    answers = list(piece["answers"])
    for row in piece["rows"]:
        while answers and answers[0]["answered"] < row["cycle"]:
            yield from answer_line(setup, answers.pop(0), window)
        if window[0] <= row["cycle"] <= window[1]:
            yield from row_lines(setup, row)
    for answer in answers:
        yield from answer_line(setup, answer, window)


def answer_line(setup: Setup, answer: MatchUnitAnswer, window: tuple[int, int]) -> Iterator[str]:
    """Yield the line of an answer."""
    if window[0] <= answer["answered"] <= window[1]:
        yield f"{answer['answered']:6}  ---- {answer_text(setup, answer)}\n"


def cycle_window(text: str | None) -> tuple[int, int]:
    """Return the first and the last cycle of `FIRST:LAST`."""
    first, colon, last = (text or ":").partition(":")
    if not colon or not all(part == "" or part.isdecimal() for part in (first, last)):
        msg = f"--cycles: found `{text}`, expected FIRST:LAST"
        raise MatchbenchError(msg)
    window = int(first or 0), int(last) if last else sys.maxsize
    if window[0] > window[1]:
        msg = f"--cycles: found `{text}`, expected FIRST to be at most LAST; exchange them"
        raise MatchbenchError(msg)
    return window
