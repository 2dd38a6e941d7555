# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench mu`: a match program on the match unit, cycle by cycle."""

import csv
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeVar

import click

from matchbench import MatchbenchError, tables
from matchbench.match_unit import ProtocolError, Report, Setup, read_headers, read_list, read_text
from matchbench.native_types import Advanced, Answer, MatchProfile, Row
from matchbench.output import whole_file

CHECK_FAILED = 1
BAD_INPUT = 2

COLUMNS = ["header", "list", "match", "offset", "length", "result", "visits", "begun", "answered", "cycles"]
"""Columns of the table of answers and of its CSV file."""

IDLE = "idle"
"""The cause of waiting that is no wait but the lack of work."""

RESULTS = {0: "", 1: "unlink", 2: "violation"}

Function = TypeVar("Function", bound=Callable[..., Any])


def inputs(function: Function) -> Function:
    """Give a command the argument and the options that say what runs."""
    path = click.Path(path_type=Path)
    for decorate in reversed(
        [
            click.argument("program"),
            click.option("-l", "--list", "items", type=path, help="Entries of both lists."),
            click.option("-H", "--headers", type=path, required=True, help="What arrives."),
            click.option(
                "--preset", default="hemmert2007", help="Preset of the engine `microcode`. [hemmert2007]"
            ),
            click.option(
                "-s",
                "--set",
                "settings",
                metavar="KEY=VALUE",
                multiple=True,
                help="Replace a setting of clock, list manager or memory; may be given again.",
            ),
            click.option(
                "--after-match",
                type=click.Choice(["keep", "remove"]),
                default="keep",
                help="What becomes of an entry that matched. [keep]",
            ),
        ]
    ):
        function = decorate(function)
    return function


def setup_from(
    program: str, items: Path | None, headers: Path, preset: str, settings: tuple[str, ...], after_match: str
) -> Setup:
    """Read everything that a run depends on."""
    return Setup(
        program,
        read_list(items) if items else [],
        read_headers(headers),
        preset=preset,
        settings=settings,
        remove=after_match == "remove",
    )


@contextmanager
def told_errors() -> Iterator[None]:
    """End the command with its message and status when a program is wrong."""
    try:
        yield
    except ProtocolError as error:
        sys.stdout.flush()
        sys.stderr.write(f"matchbench: {error}\n")
        raise click.exceptions.Exit(CHECK_FAILED) from None
    except MatchbenchError as error:
        if "\n" not in str(error):
            raise
        # Diagnostics of the assembler point at their places and so have more than one line.
        click.echo(str(error), err=True)
        raise click.exceptions.Exit(BAD_INPUT) from None


@click.group(
    name="mu",
    epilog="""
    Examples:

    \b
      matchbench mu run portals_hemmert2007 --list list.toml --headers headers.toml
      matchbench mu profile mine.mb --list list.toml --headers headers.toml

    PROGRAM is mpi, portals_hemmert2007, portals_lean, portals4, or a file: text to assemble, or an image.
    `docs/match_unit.md` is the tour, and describes the files of entries and headers.
    Exit status: 0 done, 1 the program breaks the protocol of the list manager, 2 bad input.
    """,
)
def command() -> None:
    """Run a match program on the match unit, cycle by cycle."""


@command.command(
    epilog="""
    Examples:

    \b
      matchbench mu run portals_hemmert2007 --list list.toml --headers headers.toml
      matchbench mu run mine.mb --list list.csv --headers headers.csv --set memory_latency=40
      matchbench mu run mpi --list list.toml --headers headers.toml --after-match remove -o answers.json

    Times are cycles. begun: the list manager sends the header; answered: it acts on the answer.
    """
)
@inputs
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Write the answers to FILE.csv or all to FILE.json.",
)
@click.option("--force", is_flag=True, help="Replace an earlier file.")
def run(output: Path | None, *, force: bool, **words: Any) -> None:
    """Print what PROGRAM answers to each header, and what it takes."""
    if output and output.suffix not in {".csv", ".json"}:
        msg = f"{output}: expected a file whose name ends in .csv or .json"
        raise MatchbenchError(msg)
    with told_errors():
        setup = setup_from(**words)
        unit = setup.unit()
        report = setup.run(unit)
    rows = [answer_row(setup, answer) for answer in report.answers]
    if output:
        with (
            whole_file(output, force=force) as partial,
            partial.open("w", newline="", encoding="utf-8") as file,
        ):
            if output.suffix == ".csv":
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(COLUMNS)
                writer.writerows(rows)
            else:
                json.dump(everything(setup, report), file, indent=1)
                file.write("\n")
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


def answer_row(setup: Setup, answer: Answer) -> list[object]:
    """Return the cells of an answer; those that it does not have are empty."""
    words = answer["words"]
    matched = answer["item"] is not None
    result = RESULTS.get(words[3], hex(words[3])) if matched and len(words) > 3 else ""
    return [
        setup.headers[answer["header"]].name,
        answer["list_name"],
        "no match" if answer["item"] is None else setup.items[answer["item"]].name,
        words[1] if matched and len(words) > 1 else "",
        words[2] if matched and len(words) > 2 else "",
        result,
        answer["visits"],
        answer["begun"],
        answer["answered"],
        answer["answered"] - answer["begun"],
    ]


def show_totals(setup: Setup, report: Report) -> None:
    """Print cycles, words and what was waited for."""
    clock = next(p["value"] for p in setup.engine.parameters() if p["name"] == "clock")
    ns = report.cycles * 1000 / int(clock)
    tables.line(f"cycles     {tables.count(report.cycles)} ({tables.time(ns)} at {clock} MHz)")
    tables.line(f"words      {tables.count(report.words)}")
    waits = [
        f"{tables.count(cycles)} {cause}"
        for cause, cycles in report.stalls.items()
        if cycles and cause != IDLE
    ]
    waited = tables.count(sum(report.stalls.values()) - report.stalls[IDLE])
    tables.line(f"idle       {tables.count(report.stalls[IDLE])}")
    tables.line(f"waited     {waited}{': ' if waits else ''}{', '.join(waits)}")


def everything(setup: Setup, report: Report) -> dict[str, Any]:
    """Return a run as JSON holds it; words are hexadecimal, 64 bits being too many for most readers."""
    return {
        "program": setup.name,
        "engine": f"{setup.engine.name}:{setup.engine.preset}",
        "parameters": setup.engine.parameters(),
        "cycles": report.cycles,
        "words": report.words,
        "waited": report.stalls,
        "answers": [
            dict(zip(COLUMNS, answer_row(setup, answer), strict=True))
            | {"answer": [hex(word) for word in answer["words"]]}
            for answer in report.answers
        ],
    }


@command.command(
    epilog="""
    Examples:

    \b
      matchbench mu trace portals_hemmert2007 --list list.toml --headers headers.toml
      matchbench mu trace portals_hemmert2007 --list list.toml --headers headers.toml --cycles 200:260
      matchbench mu trace mine.mb --list list.toml --headers headers.toml --kanata mine.kanata --vcd mine.vcd

    in, out: words in the FIFOs at the end of the cycle. A line with `...` counts cycles of waiting.
    """
)
@inputs
@click.option("--cycles", metavar="FIRST:LAST", help="Print these cycles only; either may be left out.")
@click.option("--kanata", type=click.Path(path_type=Path), help="Write a pipeline diagram for Konata.")
@click.option("--vcd", type=click.Path(path_type=Path), help="Write waveforms for GTKWave and Surfer.")
@click.option("--force", is_flag=True, help="Replace earlier files.")
@click.option("-q", "--quiet", is_flag=True, help="Print no listing, write files only.")
def trace(
    cycles: str | None, kanata: Path | None, vcd: Path | None, *, force: bool, quiet: bool, **words: Any
) -> None:
    """Print what every word does, cycle by cycle, and write it for viewers."""
    window = cycle_window(cycles)
    broken: ProtocolError | None = None
    with told_errors():
        setup = setup_from(**words)
        unit = setup.unit()
        unit.watch(kanata is not None, vcd is not None)
        with ExitStack() as stack:
            files = {}
            for name, path in (("kanata", kanata), ("vcd", vcd)):
                if path:
                    partial = stack.enter_context(whole_file(path, force=force))
                    files[name] = stack.enter_context(partial.open("w", encoding="utf-8", newline="\n"))
            if not quiet:
                tables.line(HEADING)
            try:
                for piece in setup.advance(unit, rows=not quiet):
                    if "kanata" in files:
                        files["kanata"].write(piece["kanata"])
                    if "vcd" in files:
                        files["vcd"].write(piece["vcd"])
                    if not quiet:
                        with tables.ignoring_closed_pipe() if files else nullcontext():
                            sys.stdout.writelines(listing(setup, piece, window))
            except ProtocolError as error:
                # What led to the error is what one wants to see: the files are kept.
                broken = error
            for name, rest in zip(("kanata", "vcd"), unit.finish(), strict=True):
                if name in files:
                    files[name].write(rest)
        if broken:
            raise broken


HEADING = " cycle  place           in out  word, and what it did"


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


def answer_line(setup: Setup, answer: Answer, window: tuple[int, int]) -> Iterator[str]:
    """Yield the line of an answer."""
    if window[0] <= answer["answered"] <= window[1]:
        yield f"{answer['answered']:6}  ---- {answer_text(setup, answer)}\n"


def answer_text(setup: Setup, answer: Answer) -> str:
    """Return a sentence about an answer."""
    header = setup.headers[answer["header"]].name
    if answer["item"] is None:
        return f"{header}: no match in the {answer['list_name']} list, {answer['visits']} visited"
    words = answer["words"]
    where = f", offset {words[1]}, length {words[2]}" if len(words) > 2 else ""
    return f"{header}: {setup.items[answer['item']].name}{where}, {answer['visits']} visited"


def write_text(setup: Setup, register: str, value: int) -> str:
    """Return a register, by its name in the program, and its value; a predicate is one bit."""
    return f"{setup.register_name(register)} = {value if register.startswith('p') else hex(value)}"


def row_lines(setup: Setup, row: Row) -> Iterator[str]:
    """Yield the lines of a word: what it waited for, the word, what it did."""
    if row["stall"]:
        cycles, cause = row["stall"]
        yield f"   ...  {cycles} {'cycle' if cycles == 1 else 'cycles'} {cause}\n"
    word = setup.words[row["address"]]
    fifos = f"{row['input']:2} {row['output']:3}"
    yield f"{row['cycle']:6}  {setup.place(row['address']):15} {fifos}  {word.text}\n"
    effects = [
        *([f"took {row['took'][1]} {row['took'][0]:#x}"] if row["took"] else []),
        *(write_text(setup, register, value) for register, value in row["writes"]),
        *([f"sent {row['sent'][0]:#x}{' (last)' if row['sent'][1] else ''}"] if row["sent"] else []),
        *(["branch taken"] if row["taken"] else []),
        *(["branch cancelled"] if row["cancelled"] else []),
    ]
    if effects:
        yield f"{'':31}; {', '.join(effects)}\n"


def cycle_window(text: str | None) -> tuple[int, int]:
    """Return the first and the last cycle of `FIRST:LAST`."""
    first, colon, last = (text or ":").partition(":")
    if not colon or not all(part == "" or part.isdecimal() for part in (first, last)):
        msg = f"--cycles: found `{text}`, expected FIRST:LAST"
        raise MatchbenchError(msg)
    return int(first or 0), int(last) if last else sys.maxsize


@command.command(
    epilog="""
    Examples:

    \b
      matchbench mu debug portals_hemmert2007 --list list.toml --headers headers.toml
      matchbench mu debug mine.mb --list list.toml --headers headers.toml -x "run-to fast; registers"
      matchbench mu debug mine.mb --list list.toml --headers headers.toml --script commands.txt

    Without -x and --script, commands come from the terminal, or line by line from standard input.
    Exit status: 0 done, 1 the program broke the protocol in a script, 2 bad input or a command of a
    script was refused.
    """
)
@inputs
@click.option("-x", "commands", metavar="COMMANDS", help="Run these, separated by semicolons, and leave.")
@click.option("--script", type=click.Path(path_type=Path), help="Run the lines of this file and leave.")
def debug(commands: str | None, script: Path | None, **words: Any) -> int:
    """Stop PROGRAM where you like and look at registers, FIFOs and lists."""
    from matchbench.cli import mu_debug

    with told_errors():
        debugger = mu_debug.Debugger(setup_from(**words))
    if commands is None and script is None and sys.stdin.isatty():
        mu_debug.talk(debugger)
        return 0
    if script is not None:
        mu_debug.run_script(debugger, read_text(script).splitlines())
    if commands is not None:
        mu_debug.run_script(debugger, commands.split(";"))
    if commands is None and script is None:
        mu_debug.run_script(debugger, sys.stdin)
    return BAD_INPUT if debugger.refused else CHECK_FAILED if debugger.broken else 0


@command.command(
    epilog="""
    Examples:

    \b
      matchbench mu profile portals_hemmert2007 --list list.toml --headers headers.toml
      matchbench mu profile mine.mb --list list.toml --headers headers.toml --json > profile.json
    """
)
@inputs
@click.option("--words", "by_word", is_flag=True, help="Print every word of the program too.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def profile(*, by_word: bool, as_json: bool, **words: Any) -> None:
    """Print where the cycles go: by label, by cause of waiting, by slot."""
    with told_errors():
        setup = setup_from(**words)
        unit = setup.unit()
        report = setup.run(unit)
    found = unit.profile()
    if as_json:
        json.dump(everything(setup, report) | {"profile": profile_json(setup, found)}, sys.stdout, indent=1)
        sys.stdout.write("\n")
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
    """Print a row for each label, with a column for each cause that held the unit up."""
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
    """Return a profile as JSON holds it."""
    return {
        "parts": [part | {"stalls": dict(part["stalls"])} for part in found["parts"]],
        "slots": dict(found["slots"]),
        "words": [
            {"address": address, "place": setup.place(address), "issued": issued, "text": word.text}
            for address, (word, issued) in enumerate(zip(setup.words, found["issued"], strict=True))
        ],
    }
