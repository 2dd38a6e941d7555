# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What an engine costs in hardware: the entries of the whole engine, and its area where one is known.

Entries follow from parameters (`hardware.toml`). Areas are results of hardware, which the user gives in a
file, or else published ones. No area is computed from others: a variant that was never built has none.
"""

from __future__ import annotations

import functools
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from matchbench._native import Engine, MatchbenchError, engines, unknown_name
from matchbench.input import read_toml
from matchbench.sweep.space import number_of

NORMALISED_NM = 90
"""Feature size to which areas in mm2 are converted, by its square."""

_AREA_KEYS = {"engine", "presets", "where", "value", "unit", "node_nm", "source"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """An area and where it comes from.

    Parameters
    ----------
    value
        The number.
    unit
        Its unit; areas of different units are not compared.
    kind
        `hardware`: the user's result; `published`: printed in a paper.
    source
        Where it comes from.
    """

    value: float
    unit: str
    kind: Literal["hardware", "published"]
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """What a variant costs.

    Parameters
    ----------
    engine_entries
        Entries of the whole engine, for both queues, that are searched at once or cached; None if it has
        none.
    memory_entries
        Entries of the whole engine in memory on the NIC; None if it has none, or they are not limited.
    area
        Its area; None if it was never built.
    """

    engine_entries: int | None
    memory_entries: int | None
    area: Area | None


class Costs:
    """Knows what variants cost.

    Parameters
    ----------
    file
        The user's areas, a TOML file with `[[area]]` tables; they count before published ones.

    Raises
    ------
    MatchbenchError
        When the file is wrong.
    """

    def __init__(self, file: Path | None = None) -> None:
        shipped = tomllib.loads(
            resources.files("matchbench.sweep").joinpath("hardware.toml").read_text("utf-8")
        )
        self._engines: dict[str, Any] = shipped["engines"]
        self._areas = [(each, "published") for each in shipped["area"]]
        if file:
            self._areas = [*((each, "hardware") for each in _read_areas(file)), *self._areas]

    def of(self, engine: Engine) -> Hardware:
        """Return what an engine with these parameters costs.

        Parameters
        ----------
        engine
            The engine.
        """
        parameters = {each["name"]: each["value"] for each in engine.parameters()}
        known = self._engines.get(engine.name, {})
        return Hardware(
            engine_entries=_sum(known.get("engine_entries"), parameters),
            memory_entries=_sum(known.get("memory_entries"), parameters),
            area=self._area(engine, parameters),
        )

    def _area(self, engine: Engine, parameters: Mapping[str, str]) -> Area | None:
        for each, kind in self._areas:
            if (
                each["engine"] == engine.name
                and engine.preset in each.get("presets", [engine.preset])
                and all(_same(parameters.get(key), value) for key, value in each.get("where", {}).items())
            ):
                shrink = (NORMALISED_NM / each["node_nm"]) ** 2 if "node_nm" in each else 1.0
                unit = f"{each['unit']} at {NORMALISED_NM} nm" if "node_nm" in each else each["unit"]
                return Area(value=each["value"] * shrink, unit=unit, kind=kind, source=each["source"])  # type: ignore[arg-type] # one of two words
        return None


def engines_with_entries() -> set[str]:
    """Name the engines that have entries of their own."""
    return set(Costs()._engines)


def _read_areas(file: Path) -> list[dict[str, Any]]:
    content = read_toml(file, "[[area]] tables")
    areas = content.get("area")
    if not isinstance(areas, list) or not areas or set(content) != {"area"}:
        msg = f"{file}: found the keys {', '.join(content) or 'none'}, expected [[area]] tables alone"
        raise MatchbenchError(msg)
    for number, area in enumerate(areas, start=1):
        _check_area(area, f"{file}: area {number}")
    return areas


def _check_area(area: object, where: str) -> None:
    if not isinstance(area, dict):
        msg = f"{where}: found `{area}`, expected a table"
        raise MatchbenchError(msg)
    if unknown := next((key for key in area if key not in _AREA_KEYS), None):
        msg = f"{where}: {unknown_name('key', unknown, sorted(_AREA_KEYS))}"
        raise MatchbenchError(msg)
    for key in ("engine", "unit", "source"):
        if not isinstance(area.get(key), str):
            msg = f"{where}: `{key}`: found `{area.get(key)}`, expected text"
            raise MatchbenchError(msg)
    for key in ("value", "node_nm"):
        number = area.get(key, 1 if key == "node_nm" else None)
        if not isinstance(number, int | float) or isinstance(number, bool) or not 0 < number < math.inf:
            msg = f"{where}: `{key}`: found `{area.get(key)}`, expected a number above 0"
            raise MatchbenchError(msg)
    presets, conditions = area.get("presets", []), area.get("where", {})
    if not isinstance(presets, list) or not all(isinstance(each, str) for each in presets):
        msg = f"{where}: `presets`: found `{presets}`, expected a list of names"
        raise MatchbenchError(msg)
    if not isinstance(conditions, dict):
        msg = f"{where}: `where`: found `{conditions}`, expected a table of parameters"
        raise MatchbenchError(msg)
    names = [card["name"] for card in engines()]
    if area["engine"] not in names:
        msg = f"{where}: {unknown_name('engine', area['engine'], names)}"
        raise MatchbenchError(msg)
    known = _keys(area["engine"])
    if unknown := next((key for key in conditions if key not in known), None):
        msg = f"{where}: {unknown_name('parameter', unknown, known)}"
        raise MatchbenchError(msg)


@functools.cache
def _keys(engine: str) -> list[str]:
    return [each["name"] for each in Engine(engine).parameters()]


def _same(value: str | None, expected: object) -> bool:
    if value is None or value == str(expected):
        return value is not None
    numbers = number_of(value), number_of(str(expected))
    return None not in numbers and numbers[0] == numbers[1]


def _sum(parts: Mapping[str, int] | None, parameters: Mapping[str, str]) -> int | None:
    if parts is None:
        return None
    return sum(int(parameters[key]) * factor for key, factor in parts.items())


def cost_axis(costs: Sequence[Hardware]) -> tuple[str, str] | None:
    """Choose the cost that variants are compared by.

    The area if all have one of the same unit and it varies, else the engine entries, else the memory entries,
    whichever is known for all and varies.

    Parameters
    ----------
    costs
        What the variants cost.

    Returns
    -------
    tuple of column and unit, or None if no cost is known for all and varies
    """
    areas = [each.area for each in costs]
    units = {area.unit for area in areas if area}
    if all(areas) and len(units) == 1 and len({area.value for area in areas if area}) > 1:
        return "area", units.pop()
    for column in ("engine_entries", "memory_entries"):
        numbers = [getattr(each, column) for each in costs]
        if None not in numbers and len(set(numbers)) > 1:
            return column, column.replace("_", " ")
    return None
