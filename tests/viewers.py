# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Readers of the Kanata and VCD files of `match_unit trace`, independent of their writers."""

from pathlib import Path
from typing import NamedTuple

import pytest
from vcd.reader import ScalarChange, TokenKind, VectorChange, tokenize


class Diagram(NamedTuple):
    """What a Kanata file shows: of each word text, details, and first and last cycle of each stage."""

    texts: list[str]
    details: list[str]
    stages: list[dict[str, tuple[int, int]]]


def read_kanata(text: str) -> Diagram:
    """Read a Kanata 0004 file and refuse what its viewer would not draw."""
    head, *lines = text.splitlines()
    assert head == "Kanata\t0004"
    assert text.endswith("\n")
    now: int | None = None
    diagram = Diagram([], [], [])
    open_stages: dict[tuple[int, str], int] = {}
    retired: list[int] = []
    for line in lines:
        kind, *cells = line.split("\t")
        numbers = [int(cell) for cell in cells if cell.lstrip("-").isdecimal()]
        match kind:
            case "C=":
                assert now is None
                (now,) = numbers
            case "C":
                assert now is not None
                assert numbers[0] > 0
                now += numbers[0]
            case "I":
                word, simulated, thread = numbers
                assert word == simulated == len(diagram.texts), "ids count up"
                assert thread == 0
                diagram.texts.append("")
                diagram.details.append("")
                diagram.stages.append({})
            case "L":
                word, pane = int(cells[0]), int(cells[1])
                assert pane in {0, 1}
                assert len(cells) == 3
                (diagram.details if pane else diagram.texts)[word] += cells[2]
            case "S":
                word, lane, stage = int(cells[0]), int(cells[1]), cells[2]
                assert lane == 0
                assert now is not None
                assert stage not in diagram.stages[word]
                open_stages[word, stage] = now
            case "E":
                word, stage = int(cells[0]), cells[2]
                assert now is not None
                diagram.stages[word][stage] = (open_stages.pop((word, stage)), now - 1)
            case "R":
                word, number, flushed = numbers
                assert flushed == 0
                assert number == len(retired)
                retired.append(word)
                assert all(key[0] != word for key in open_stages), "stages end before the word retires"
            case _:
                pytest.fail(f"unknown command {line!r}")
    assert retired == list(range(len(diagram.texts)))
    return diagram


class Waves:
    """The signals of a VCD file at any time, as an independent reader sees them."""

    def __init__(self, path: Path) -> None:
        """Read the whole file."""
        names: dict[str, list[str]] = {}
        scopes: list[str] = []
        self.places: list[tuple[int, str]] = []
        self.changes: dict[str, list[tuple[int, int]]] = {}
        now = 0
        with path.open("rb") as file:
            for token in tokenize(file):
                if token.kind is TokenKind.TIMESCALE:
                    assert (token.timescale.magnitude, token.timescale.unit.value) == (1, "ps")
                elif token.kind is TokenKind.SCOPE:
                    scopes.append(token.scope.ident)
                elif token.kind is TokenKind.UPSCOPE:
                    scopes.pop()
                elif token.kind is TokenKind.VAR:
                    # A signal of the program is one of the unit under another name.
                    name = ".".join([*scopes[1:], token.var.reference])
                    names.setdefault(token.var.id_code, []).append(name)
                    assert name not in self.changes
                    self.changes[name] = []
                elif token.kind is TokenKind.CHANGE_TIME:
                    assert token.time_change >= now
                    now = token.time_change
                elif token.kind in {TokenKind.CHANGE_SCALAR, TokenKind.CHANGE_VECTOR}:
                    change = token.data
                    assert isinstance(change, ScalarChange | VectorChange)
                    for name in names[change.id_code]:
                        self.changes[name].append((now, int(change.value)))
                elif token.kind is TokenKind.CHANGE_STRING:
                    assert names[token.string_change.id_code] == ["program.place"]
                    self.places.append((now, token.string_change.value))
        self.end = now

    def at(self, signal: str, time: int) -> int:
        """Return the value of a signal at a time; before its first change that is zero."""
        return max((change for change in self.changes[signal] if change[0] <= time), default=(0, 0))[1]
