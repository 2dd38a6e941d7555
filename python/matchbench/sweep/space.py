# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The variants of a sweep: lists and ranges of values, and the designs that they vary.

A text of values is a list such as `16,32,64`; an item of it may be a range, `16..512 *2` or `16..64 +16`.
Both ends belong to a range, the last one if a step reaches it.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from matchbench._native import Engine, MatchbenchError, unknown_name
from matchbench.engines.selection import by_engine, engine, refuse_doubles
from matchbench.native_types import Value

MOST_VALUES = 10_000
"""Largest number of values of one parameter."""

_NUMBER = r"-?\d+(?:\.\d+)?"
_UNIT = r"[A-Za-zµ]*"
_RANGE_BEGINS = re.compile(rf"{_NUMBER}\s*{_UNIT}\s*\.\.")
_RANGE = re.compile(
    rf"(?P<first>{_NUMBER})\s*(?P<first_unit>{_UNIT})\s*\.\.\s*(?P<last>{_NUMBER})\s*(?P<last_unit>{_UNIT})"
    rf"\s*(?P<sign>[*+])\s*(?P<step>{_NUMBER})\s*(?P<step_unit>{_UNIT})"
)
_QUANTITY = re.compile(rf"({_NUMBER})\s*({_UNIT})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A parameter and the values that it takes.

    Parameters
    ----------
    key
        Its key.
    values
        Its values as text, in the order in which they are tried; at least two.
    """

    key: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """An engine and what is varied.

    Parameters
    ----------
    name
        Its name in tables.
    engine
        `engine` or `engine:preset`.
    settings
        Parameters that replace the preset's in every variant.
    axes
        Parameters that are varied; none: the design has one variant.
    """

    name: str
    engine: str
    settings: Mapping[str, Value]
    axes: tuple[Axis, ...]

    @property
    def size(self) -> int:
        """Number of combinations of values."""
        return math.prod(len(axis.values) for axis in self.axes)

    def values_at(self, index: int) -> dict[str, str]:
        """Give the combination of this index; the last axis varies fastest.

        Parameters
        ----------
        index
            0 to `size` - 1.
        """
        found = {}
        for axis in reversed(self.axes):
            index, place = divmod(index, len(axis.values))
            found[axis.key] = axis.values[place]
        return {axis.key: found[axis.key] for axis in self.axes}

    def build(self, values: Mapping[str, str]) -> Engine:
        """Return the engine of a combination.

        Parameters
        ----------
        values
            A value for each axis.

        Raises
        ------
        MatchbenchError
            When a value is wrong, or values contradict each other.
        """
        parameters: dict[str, Any] = {**self.settings, **values}
        return engine(self.engine, **parameters)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A design with a value for each of its axes.

    Parameters
    ----------
    name
        What distinguishes it from the other variants.
    design
        Its design.
    values
        Its values by key.
    engine
        The engine.
    """

    name: str
    design: Design
    values: Mapping[str, str]
    engine: Engine


class Space:
    """All variants of some designs, by index.

    Parameters
    ----------
    designs
        The designs, with different names.

    Raises
    ------
    MatchbenchError
        When an engine, a key or a value is wrong: all combinations with the value are refused.
    """

    def __init__(self, designs: Sequence[Design]) -> None:
        self.designs = tuple(designs)
        for design in self.designs:
            _check(design)

    @property
    def size(self) -> int:
        """Number of combinations, those that contradict themselves included."""
        return sum(design.size for design in self.designs)

    def place(self, index: int) -> tuple[Design, dict[str, str]]:
        """Give design and values of the combination `index`, 0 to `size` - 1."""
        for design in self.designs:
            if index < design.size:
                return design, design.values_at(index)
            index -= design.size
        msg = f"combination {index} of {self.size}"
        raise IndexError(msg)

    def variant(self, index: int) -> Variant:
        """Build the combination `index`.

        Raises
        ------
        MatchbenchError
            When its values contradict each other.
        """
        design, values = self.place(index)
        return Variant(name=self.name(index), design=design, values=values, engine=design.build(values))

    def name(self, index: int) -> str:
        """Name what distinguishes the combination `index`."""
        design, values = self.place(index)
        shown = [f"{key}={value}" for key, value in values.items()]
        if len(self.designs) > 1 or not shown:
            shown.insert(0, design.name)
        return " ".join(shown)


def values_of(text: str, *, where: str) -> tuple[str, ...]:
    """Read a list of values and ranges.

    Parameters
    ----------
    text
        Such as `16,32`, `16..512 *2` or `10 ns..40 ns +10 ns`.
    where
        What errors name.

    Raises
    ------
    MatchbenchError
        When a value is missing or given twice, or a range is empty, has no step, or its step never
        reaches its end.
    """
    if not text.strip():
        msg = f"{where}: found no value, expected one, a list such as `16,32` or a range such as `16..512 *2`"
        raise MatchbenchError(msg)
    found: list[str] = []
    for item in (part.strip() for part in text.split(",")):
        if not item:
            msg = f"{where}: found `{text}`, expected a value between commas; remove the extra comma"
            raise MatchbenchError(msg)
        found += itertools.islice(_range(item, where), MOST_VALUES) if _RANGE_BEGINS.match(item) else [item]
        if len(found) >= MOST_VALUES:
            msg = f"{where}: `{text}` has {MOST_VALUES} values or more, expected fewer; take a larger step"
            raise MatchbenchError(msg)
    if twice := next((value for value in found if found.count(value) > 1), None):
        msg = f"{where}: found the value `{twice}` twice in `{text}`; give it once"
        raise MatchbenchError(msg)
    return tuple(found)


def number_of(value: str) -> float | None:
    """Give the number of a value with a unit or without; None for a word.

    Parameters
    ----------
    value
        A value as text.
    """
    found = _QUANTITY.fullmatch(value.strip())
    return float(found[1]) if found else None


def designs_of(engines: Sequence[str], assignments: Mapping[str, Value]) -> list[Design]:
    """Make a design of each engine, with the values of `--set`.

    Parameters
    ----------
    engines
        `engine` or `engine:preset`.
    assignments
        Lists of values by `key`, for every engine that has the key, or by `engine.key`; one value is a
        setting.

    Raises
    ------
    MatchbenchError
        When an engine, a key or a list is wrong.
    """
    chosen = [Engine.found(spec) for spec in dict.fromkeys(engines)]
    refuse_doubles(chosen)
    given = by_engine(chosen, assignments)
    # Read before they are distributed: an error names the option as it was given.
    lists = {key: values_of(str(text), where=f"--set {key}") for key, text in assignments.items()}
    found = []
    for each in chosen:
        mine = {key: lists.get(f"{each.name}.{key}") or lists[key] for key in given[each.name]}
        found.append(
            Design(
                name=f"{each.name}:{each.preset}",
                engine=each.spec,
                settings={key: values[0] for key, values in mine.items() if len(values) == 1},
                axes=tuple(Axis(key=key, values=values) for key, values in mine.items() if len(values) > 1),
            )
        )
    return list({design.name: design for design in found}.values())


def _range(item: str, where: str) -> Iterator[str]:
    found = _RANGE.fullmatch(item)
    if not found:
        msg = f"{where}: found `{item}`, expected a range such as `16..512 *2` or `16..64 +16`"
        raise MatchbenchError(msg)
    first, last, step = (Decimal(found[name]) for name in ("first", "last", "step"))
    units = [found["first_unit"], found["last_unit"]] + ([found["step_unit"]] if found["sign"] == "+" else [])
    unit = found["last_unit"]
    if len({each for each in units if each}) > 1 or (found["sign"] == "*" and found["step_unit"]):
        msg = f"{where}: found several units in `{item}`, expected one, the same at both ends"
        raise MatchbenchError(msg)
    unit = next((each for each in units if each), "")
    if first > last:
        msg = f"{where}: the range `{item}` is empty: {first} is above {last}; exchange its ends"
        raise MatchbenchError(msg)
    grows = step > 0 if found["sign"] == "+" else step > 1 and first > 0
    if not grows:
        rule = "a step above 0" if found["sign"] == "+" else "a factor above 1 and a first value above 0"
        msg = f"{where}: the step of `{item}` never reaches {last}; expected {rule}"
        raise MatchbenchError(msg)
    while first <= last:
        yield f"{first.normalize():f}" + (f" {unit}" if unit else "")
        first = first * step if found["sign"] == "*" else first + step


def _check(design: Design) -> None:
    """Build each value with the first others with which it can be built."""
    known = [parameter["name"] for parameter in Engine.found(design.engine).parameters()]
    for key in [*design.settings, *(axis.key for axis in design.axes)]:
        if key not in known:
            listing = f"matchbench engines show {design.engine}"
            msg = f"design `{design.name}`: {unknown_name('parameter', key, known, listing)}"
            raise MatchbenchError(msg)
    if design.size <= MOST_VALUES:
        _check_all(design)
    else:
        # Too many to build: each value alone, beside the preset's.
        for axis in design.axes:
            for value in axis.values:
                design.build({axis.key: value})


def _check_all(design: Design) -> None:
    """Refuse a value if no combination with it can be built, with the first one's error."""
    first_error: dict[tuple[str, str], MatchbenchError] = {}
    built: set[tuple[str, str]] = set()
    for index in range(design.size):
        values = design.values_at(index)
        if built.issuperset(values.items()):
            continue
        try:
            design.build(values)
        except MatchbenchError as refused:
            for pair in values.items():
                first_error.setdefault(pair, refused)
            if not values:
                raise
        else:
            built.update(values.items())
    for pair, error in first_error.items():
        if pair not in built:
            raise error
