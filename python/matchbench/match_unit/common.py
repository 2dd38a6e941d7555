# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Options, results and texts that the commands of `matchbench match_unit` share."""

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from matchbench import MatchbenchError, _native
from matchbench.cli.set_option import named, set_option
from matchbench.cli.usage import Choice
from matchbench.display import tables
from matchbench.match_unit.files import AFTER_MATCH, read_headers, read_list
from matchbench.match_unit.program import REGISTERS, ProtocolError, Report, Setup, register_value
from matchbench.native_types import MatchUnitAnswer, Row, State
from matchbench.parameters import parse_assignments

CHECK_FAILED = 1
BAD_INPUT = 2

COLUMNS = ["header", "list", "match", "offset", "length", "result", "visits", "begun", "answered", "cycles"]
"""Columns of the table of answers and of its CSV file."""

IDLE = "idle"
"""The stall cause that means: no operation was offered."""

RESULTS = {0: "", 1: "unlink", 2: "violation"}

Function = TypeVar("Function", bound=Callable[..., Any])


def inputs(function: Function) -> Function:
    """Add the argument and options for the inputs of a run to a command."""
    path = click.Path(path_type=Path)
    for decorate in reversed(
        [
            click.argument("program"),
            click.option("-l", "--list", "items", type=path, help="File with the items of both lists."),
            click.option(
                "-H", "--headers", type=path, required=True, help="File with the headers that arrive."
            ),
            click.option(
                "--preset", default="hemmert2007", help="Preset of the engine `match_unit`. [hemmert2007]"
            ),
            set_option(
                lambda ctx: named(
                    _native.Engine.found(f"match_unit:{ctx.params.get('preset')}").parameters()
                ),
                help="Set a parameter of clock, list manager or memory; repeatable.",
            ),
            click.option(
                "--after-match",
                type=Choice(list(AFTER_MATCH)),
                default="keep",
                help="Keep a matching item in its list, remove it, or remove it and append a header without "
                "a match to the other list, as MPI does. [keep]",
            ),
        ]
    ):
        function = decorate(function)
    return function


def setup_from(
    program: str,
    items: Path | None,
    headers: Path,
    preset: str,
    parameters: tuple[str, ...],
    after_match: str,
) -> Setup:
    """Read the inputs of a run."""
    return Setup(
        program,
        read_list(items) if items else [],
        read_headers(headers),
        preset=preset,
        parameters=parse_assignments(parameters),
        after_match=AFTER_MATCH[after_match],
    )


@contextmanager
def reported_errors() -> Iterator[None]:
    """Report errors of the match program with their exit status."""
    try:
        yield
    except ProtocolError as error:
        sys.stdout.flush()
        tables.warn(f"{error}")
        raise click.exceptions.Exit(CHECK_FAILED) from None
    except MatchbenchError as error:
        if "\n" not in str(error):
            raise
        # Diagnostics of the assembler have several lines.
        tables.note(str(error))
        raise click.exceptions.Exit(BAD_INPUT) from None


def answer_row(setup: Setup, answer: MatchUnitAnswer) -> list[object]:
    """Return the cells of an answer; missing ones are empty."""
    words = answer["words"]
    matched = answer["item"] is not None
    result = RESULTS.get(words[3], hex(words[3])) if matched and len(words) > 3 else ""
    return [
        setup.headers[answer["header"]].name,
        answer["list_name"],
        setup.found_name(answer),
        words[1] if matched and len(words) > 1 else "",
        words[2] if matched and len(words) > 2 else "",
        result,
        answer["visits"],
        answer["begun"],
        answer["answered"],
        answer["answered"] - answer["begun"],
    ]


def show_totals(setup: Setup, report: Report) -> None:
    """Print cycles, words and stall cycles by cause."""
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


def latencies(report: Report) -> dict[str, list[int]]:
    """Return the cycles from begin to answer of the searches of each list, in ascending order."""
    found: dict[str, list[int]] = {}
    for name in ("posted", "unexpected"):
        of_list = (answer for answer in report.answers if answer["list_name"] == name)
        cycles = sorted(answer["answered"] - answer["begun"] for answer in of_list)
        if cycles:
            found[name] = cycles
    return found


def quantile(ascending: Sequence[int], share: float) -> int:
    """Return the smallest of the values that at least `share` of them do not exceed."""
    return ascending[max(math.ceil(share * len(ascending)), 1) - 1]


def show_latencies(report: Report) -> None:
    """Print a row of cycles for each list that was searched."""
    tables.show(
        "cycles from begin to answer",
        ["list", ">searches", ">min", ">mean", ">median", ">p99", ">max"],
        [
            (
                name,
                tables.count(len(cycles)),
                cycles[0],
                tables.decimal(sum(cycles) / len(cycles)),
                quantile(cycles, 0.5),
                quantile(cycles, 0.99),
                cycles[-1],
            )
            for name, cycles in latencies(report).items()
        ],
    )


def final_registers(setup: Setup, state: State) -> list[tuple[str, str, int]]:
    """Return register, name in the program or empty, and value of all that have a name or are not zero."""
    registers = [f"{kind}{number}" for kind in "atp" for number in range(1, REGISTERS)]
    rows = []
    for register in registers:
        name = setup.register_name(register)
        value = register_value(state, register)
        if name != register or value:
            rows.append((register, "" if name == register else name, value))
    return rows


def show_registers(setup: Setup, state: State) -> None:
    """Print the registers and predicates that have a name or are not zero."""
    rows = final_registers(setup, state)
    tables.show(
        "registers at the end: those with a name or a value",
        ["register", "name", ">value"],
        [(register, name, f"{value:#x}") for register, name, value in rows if register[0] != "p"],
    )
    predicates = [
        setup.register_name(register) for register, _, value in rows if register[0] == "p" and value
    ]
    tables.line(f"predicates  {' '.join(predicates) or 'none'}")


def everything(setup: Setup, report: Report, state: State) -> dict[str, Any]:
    """Return a run for JSON. Words are hexadecimal text, as most readers lose bits of 64-bit numbers."""
    return {
        "program": setup.name,
        "program_sha256": setup.sha256,
        "engine": f"{setup.engine.name}:{setup.engine.preset}",
        "parameters": setup.engine.parameters(),
        "cycles": report.cycles,
        "words": report.words,
        "waited": report.stalls,
        "latency": {
            name: {
                "searches": len(cycles),
                "min": cycles[0],
                "mean": sum(cycles) / len(cycles),
                "median": quantile(cycles, 0.5),
                "p99": quantile(cycles, 0.99),
                "max": cycles[-1],
            }
            for name, cycles in latencies(report).items()
        },
        "registers": [
            {"register": register, "name": name, "value": hex(value)}
            for register, name, value in final_registers(setup, state)
        ],
        "answers": [
            dict(zip(COLUMNS, answer_row(setup, answer), strict=True))
            | {"answer": [hex(word) for word in answer["words"]]}
            for answer in report.answers
        ],
    }


def answer_text(setup: Setup, answer: MatchUnitAnswer) -> str:
    """Return the text of an answer."""
    header = setup.headers[answer["header"]].name
    if answer["item"] is None:
        return f"{header}: no match in the {answer['list_name']} list, {answer['visits']} visited"
    words = answer["words"]
    where = f", offset {words[1]}, length {words[2]}" if len(words) > 2 else ""
    return f"{header}: {setup.item_name(answer['item'])}{where}, {answer['visits']} visited"


def text_of_write(setup: Setup, register: str, value: int) -> str:
    """Return name and value of a register; a predicate is one bit."""
    return f"{setup.register_name(register)} = {value if register.startswith('p') else hex(value)}"


def row_lines(setup: Setup, row: Row) -> Iterator[str]:
    """Yield the lines of a word: stall, word, effects."""
    if row["stall"]:
        cycles, cause = row["stall"]
        yield f"   ...  {cycles} {'cycle' if cycles == 1 else 'cycles'} {cause}\n"
    word = setup.words[row["address"]]
    fifos = f"{row['input']:2} {row['output']:3}"
    yield f"{row['cycle']:6}  {setup.place(row['address']):15} {fifos}  {word.text}\n"
    effects = [
        *([f"took {row['took'][1]} {row['took'][0]:#x}"] if row["took"] else []),
        *(text_of_write(setup, register, value) for register, value in row["writes"]),
        *([f"sent {row['sent'][0]:#x}{' (last)' if row['sent'][1] else ''}"] if row["sent"] else []),
        *(["branch taken"] if row["taken"] else []),
        *(["branch cancelled"] if row["cancelled"] else []),
    ]
    if effects:
        yield f"{'':31}; {', '.join(effects)}\n"
