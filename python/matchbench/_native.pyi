# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The Rust side: conversions only. `crates/py/src` holds what is described here.

A `progress` callable is called now and then with work done and work in all; what it raises stops the work and
is raised by the call, and Ctrl-C arrives there. Everything that takes long releases the interpreter.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, TypedDict

Progress: TypeAlias = Callable[[int, int], None]
Columns: TypeAlias = dict[str, list[Any]]

class MatchbenchError(Exception):
    """Bad input, or work that cannot be done; the message says what and where."""

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

class Engine:
    """An engine, its preset and its complete settings."""

    name: str
    preset: str
    timing: str
    placement: str
    def __init__(self, spec: str, settings: Sequence[str]) -> None: ...
    def parameters(self) -> list[Parameter]: ...

class Network:
    """A network preset and its complete settings."""

    name: str
    def __init__(self, preset: str, settings: Sequence[str]) -> None: ...
    def parameters(self) -> list[Parameter]: ...

def version() -> str:
    """Version of the workbench."""

def revision() -> str:
    """Git revision that the binding was built from, or "unknown"."""

def engines() -> list[Card]:
    """Every engine of the catalog."""

def networks() -> list[tuple[str, str]]:
    """Every network preset with its sentence; the first is the default."""

def collectives() -> list[tuple[str, list[str]]]:
    """Every collective that the replay expands with its algorithms; the first is the default."""
