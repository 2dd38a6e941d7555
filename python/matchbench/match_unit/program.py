# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The match unit by itself: a match program, two lists and a queue of headers, run cycle by cycle."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matchbench import _native
from matchbench._native import MatchbenchError
from matchbench.input import read_bytes
from matchbench.match_unit.files import NO_MATCH, Header, Item
from matchbench.native_types import Advanced, AfterMatch, MatchUnitAnswer, State, Value

CHUNK = 10_000  # words per call, so that files are written piece by piece and Ctrl-C is served


class ProtocolError(MatchbenchError):
    """A match program violates the protocol of the list manager; the message names the word."""


def load_program(program: str, seen: Callable[[bytes], object] = lambda _data: None) -> _native.MatchProgram:
    """Return a built-in program by its name, or the program of a file: an image or source text.

    `seen` receives the bytes of the file.

    Raises
    ------
    MatchbenchError
        When the program does not exist or does not assemble.
    """
    builtin = dict(_native.match_programs())
    if program in builtin:
        return _native.MatchProgram.assemble(f"{program}.mb", builtin[program].encode())
    path = Path(program)
    if not path.exists() and path.suffix == "" and "/" not in program:
        msg = f"{_native.unknown_name('program', program, list(builtin))}, or a file"
        raise MatchbenchError(msg)
    data = read_bytes(path, "a match program", kind="text")
    seen(data)
    if data.startswith(b"mb-ucode"):
        return _native.MatchProgram.load(program, data)
    return _native.MatchProgram.assemble(program, data)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a program: its labels, its source line if there is one, its text."""

    labels: list[str]
    line: int | None
    text: str


REGISTER_NAMES = ("a0 to a15", "t0 to t15", "p0 to p15")
"""The registers of each file, for messages."""

REGISTERS = 16
"""Registers of each file, and predicates; number 0 is a constant."""


def register_value(state: State, register: str) -> int:
    """Return the value of a register or predicate, such as `a1`, `t1` or `p1`."""
    kind, number = register[0], int(register[1:])
    if kind == "p":
        return state["predicates"] >> number & 1
    return (state["alu"] if kind == "a" else state["ternary"])[number]


@dataclass(slots=True)
class Report:
    """Totals of a run: answers in the order of the headers, cycles, words issued, stall cycles by cause."""

    answers: list[MatchUnitAnswer]
    cycles: int
    words: int
    stalls: dict[str, int]


class Setup:
    """The inputs of a run: program, list-manager parameters, lists and headers.

    Parameters
    ----------
    program
        The name of a built-in program, or the path of an image or of source text.
    items, headers
        What `read_list` and `read_headers` return.
    preset, parameters
        Preset of the engine `match_unit`, and values that replace parameters of it.
    after_match
        What happens to a matching item and to a header without a match; that of a header takes precedence.

    Raises
    ------
    MatchbenchError
        When the program or a parameter is wrong, or a header expects an unknown name.
    """

    def __init__(
        self,
        program: str,
        items: list[Item],
        headers: list[Header],
        *,
        preset: str = "hemmert2007",
        parameters: Mapping[str, Value] | None = None,
        after_match: AfterMatch = "keep",
    ) -> None:
        values: dict[str, Any] = dict(parameters or {})
        for key in ("program", "commands"):
            if key in values:
                why = "give PROGRAM instead" if key == "program" else "headers come from a file"
                msg = f"parameter `{key}`: found a value, which has no effect here; {why}"
                raise MatchbenchError(msg)
        self.name = program
        digest = hashlib.sha256()
        self.program = load_program(program, digest.update)
        self.sha256 = None if program in dict(_native.match_programs()) else digest.hexdigest()
        self.engine = _native.Engine("match_unit", preset=preset, **values)
        self.items = items
        self.headers = headers
        self.after_match = after_match
        self.words = [Word(*word) for word in self.program.words()]
        self.registers = dict(self.program.names())
        self._names = {register: name for name, register in self.registers.items()}
        known = {NO_MATCH, *(item.name for item in items)}
        for header in headers:
            if header.expect is not None and header.expect not in known:
                msg = (
                    f"header `{header.name}`, field `expect`: found `{header.expect}`, expected the name "
                    f"of an item or of an earlier header, or `{NO_MATCH}`"
                )
                raise MatchbenchError(msg)
            known.add(header.name)

    def unit(self) -> _native.MatchUnit:
        """Return a unit in reset with the lists and the headers."""
        unit = _native.MatchUnit(self.program, self.engine, self.after_match)
        for number, item in enumerate(self.items):
            if isinstance(item.content, list) and len(item.content) != self.program.item_words:
                msg = (
                    f"item `{item.name}`: found {len(item.content)} words, "
                    f"expected {self.program.item_words}, as the program declares"
                )
                raise MatchbenchError(msg)
            unit.append(item.list_name, item.content, number)
        for header in self.headers:
            unit.arrive(header.list_name, header.content, header.arrival, header.after_match)
        return unit

    def advance(self, unit: _native.MatchUnit, *, rows: bool = False) -> Iterator[Advanced]:
        """Run `unit` to its end, in pieces.

        Raises
        ------
        ProtocolError
            When the program violates the protocol; the pieces before it are yielded first.
        """
        while True:
            piece = unit.advance(CHUNK, rows)
            yield piece
            if piece["broken"] is not None:
                raise self.broken(piece["broken"], unit.pc)
            if piece["idle"]:
                return

    def broken(self, error: str, address: int) -> ProtocolError:
        """Return the protocol violation at, or just before, the next word."""
        line = self.words[address].line if address < len(self.words) else None
        where = self.name if line is None else f"{self.name}:{line}"
        return ProtocolError(f"{where}: {error}")

    def run(self, unit: _native.MatchUnit) -> Report:
        """Run `unit` to its end.

        Raises
        ------
        ProtocolError
            When the program violates the protocol.
        """
        answers = [answer for piece in self.advance(unit) for answer in piece["answers"]]
        totals = unit.totals()
        return Report(answers, totals["cycles"], totals["words"], dict(totals["stalls"]))

    def place(self, address: int) -> str:
        """Return an address as label and distance: `shared+3`."""
        for at in range(address, -1, -1):
            if self.words[at].labels:
                label = self.words[at].labels[0]
                return label if at == address else f"{label}+{address - at}"
        return str(address)

    def item_name(self, item: int) -> str:
        """Return the name of an item of a list: its own, or that of the header that left it there."""
        appended = _native.MatchUnit.APPENDED
        return self.headers[item - appended].name if item >= appended else self.items[item].name

    def found_name(self, answer: MatchUnitAnswer) -> str:
        """Return the name of what matched, or `NO_MATCH`."""
        return NO_MATCH if answer["item"] is None else self.item_name(answer["item"])

    def unexpected_answers(self, report: Report) -> Iterator[str]:
        """Yield a sentence for each header whose answer is not the one that it expects."""
        for answer in report.answers:
            header = self.headers[answer["header"]]
            found = self.found_name(answer)
            if header.expect not in (None, found):
                yield f"header `{header.name}`: found `{found}`, expected `{header.expect}`"

    def register_name(self, register: str) -> str:
        """Return the name of a register in the program, or the register itself."""
        return self._names.get(register, register)
