# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Shapes of what the Rust side takes and gives: plain dictionaries and lists, with typed keys."""

from collections.abc import Callable
from typing import Any, Literal, TypeAlias, TypedDict

Progress: TypeAlias = Callable[[int, int], None]
"""Called now and then with work done and work in all; what it raises stops the work."""

Columns: TypeAlias = dict[str, list[Any]]
"""A table: one list per column."""


class Parameter(TypedDict):
    """One setting with its value and source."""

    name: str
    value: str
    unit: str
    help: str
    source: Literal["paper", "measured", "assumed", "calibrated", "user"]
    detail: str


class Card(TypedDict):
    """What an engine or a network is, in words."""

    name: str
    summary: str
    reference: str
    timing: str
    presets: list[str]


class Stats(TypedDict):
    """Statistics of a trace; the columns are those of `spec/results.md`, section 8."""

    total: Columns
    ranks: Columns
    histograms: dict[str, list[tuple[int, int, int]]]
    collectives: dict[str, int]


class PatternSetting(TypedDict):
    """A setting of a pattern."""

    name: str
    default: str
    unit: str
    choices: list[str]
    help: str


class Pattern(TypedDict):
    """A pattern of communication."""

    name: str
    summary: str
    least_ranks: int
    settings: list[PatternSetting]


class Unfinished(TypedDict):
    """Ranks that did not finish, as columns."""

    rank: list[int]
    record: list[int]
    since_ns: list[float]
    waits: list[str]
    waits_for: list[list[int]]


class Report(TypedDict):
    """What a replay tells; the columns are those of `spec/results.md`."""

    total: Columns
    ranks: Columns
    depths: Columns
    timeline: Columns
    unfinished: Unfinished
    cycle: list[int]
    notes: list[str]
