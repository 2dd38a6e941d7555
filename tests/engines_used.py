# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Which engines each test uses, as a build for tests notes them (`workbench/catalog/src/used.rs`).

A test has used the engines of its call, of its fixtures, also of those that an earlier test made, and of
values of functions that are `remembered`. Tests must not share other caches of results of engines.
"""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

VARIABLE = "MATCHBENCH_ENGINES_USED"
Value = TypeVar("Value")


def note(engines: set[str]) -> None:
    """Note engines as the build does."""
    if folder := os.environ.get(VARIABLE):
        for name in engines:
            Path(folder, name).mkdir(exist_ok=True)


@contextmanager
def apart() -> Iterator[set[str]]:
    """Collect the engines that are used inside; they are noted in the folder outside when it ends."""
    engines: set[str] = set()
    outside = os.environ.get(VARIABLE)
    if outside is None:
        yield engines
        return
    with tempfile.TemporaryDirectory(prefix="matchbench-engines-") as inside:
        os.environ[VARIABLE] = inside
        try:
            yield engines
        finally:
            os.environ[VARIABLE] = outside
            engines |= {note.name for note in Path(inside).iterdir()}
            note(engines)


def remembered(function: Callable[[str], Value]) -> Callable[[str], Value]:
    """Call a function once for each argument; a later caller has used the same engines."""
    known: dict[str, tuple[Value, set[str]]] = {}

    def call(argument: str) -> Value:
        if argument in known:
            value, engines = known[argument]
            note(engines)
            return value
        with apart() as engines:
            value = function(argument)
        known[argument] = value, engines
        return value

    return call


class EnginesUsed:
    """The engines of the present test of this process."""

    def __init__(self) -> None:
        """Name the folder in which a build for tests notes engines."""
        self.folder = tempfile.TemporaryDirectory(prefix="matchbench-engines-")
        self.of_fixtures: dict[str, set[str]] = {}
        os.environ[VARIABLE] = self.folder.name

    def begin(self) -> None:
        """Forget the engines of the test before."""
        for note in Path(self.folder.name).iterdir():
            note.rmdir()

    @contextmanager
    def making(self, fixture: str) -> Iterator[None]:
        """Keep what a fixture uses, together with others of its name: later tests get the same value."""
        with apart() as engines:
            yield
        self.of_fixtures[fixture] = self.of_fixtures.get(fixture, set()) | engines

    def of_test(self, fixtures: list[str]) -> set[str]:
        """Return the engines of the present test, which has these fixtures."""
        own = {note.name for note in Path(self.folder.name).iterdir()}
        return own.union(*(self.of_fixtures.get(fixture, set()) for fixture in fixtures))
