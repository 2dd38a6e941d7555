# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Chooses engines by name and replaces their parameters."""

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from matchbench import _native
from matchbench._native import Engine, MatchbenchError
from matchbench.arguments import FLAG, MAPPING, PATH, TEXT, checked, either, one_of, sequence
from matchbench.match_unit.program import load_program
from matchbench.mpi.costs import software_costs
from matchbench.native_types import Origin, Value
from matchbench.parameters import distribute

_READERS = {"match program": load_program}
"""How files are read that a user gives in place of a choice, by their kind."""


EngineName = str | type | os.PathLike[str] | Engine
"""How functions take an engine."""
ENGINE = one_of("the name or path of an engine, an Engine or a class of one", str, type, os.PathLike, Engine)
ENGINES = either(ENGINE, sequence(ENGINE, "them"))
_NAMES = sequence(one_of("names", str, type, os.PathLike), "names or paths of engines")


@checked(name=one_of("the name or path of an engine, or a class of one", str, type, os.PathLike), preset=TEXT)
def engine(
    name: str | type | os.PathLike[str], /, *, preset: str | None = None, **parameters: Value
) -> Engine:
    """Return an engine with the parameters of a preset, some of them replaced.

    Parameters
    ----------
    name
        `engine`, or `engine:preset`; `engine` may be the path of a shared library or of a file of Python with
        an engine of your own (`docs/own-engine.md`). Also a subclass of `matchbench.PythonEngine`.
    preset
        Name of the preset; by default the engine's first one.
    **parameters
        Values that replace the preset's: a number in the parameter's unit, or text with a unit or without.
        A parameter that takes a match program may be the path of one of your own: source text or an image.

    Raises
    ------
    MatchbenchError
        When a name, a key or a value is wrong.

    Examples
    --------
    >>> engine("linear", preset="qsnet2", entry="25 ns")
    Engine("linear:qsnet2", entry="25 ns")
    """
    return _made(Engine.found(_named(name), preset=preset), parameters)


def engines_of(engines: EngineName | Sequence[EngineName]) -> list[Engine]:
    """Return engines that are given in any of the ways; those of :func:`choose_engines` if there is none.

    Raises
    ------
    MatchbenchError
        When a name is wrong.
    """
    several = [engines] if isinstance(engines, str | type | os.PathLike | Engine) else list(engines)
    specs = [_named(one) for one in several if not isinstance(one, type | Engine)]
    found = [
        one if isinstance(one, Engine) else Engine(one) for one in several if isinstance(one, type | Engine)
    ]
    return found + (choose_engines(specs) if specs or not found else [])


@checked(specs=_NAMES, parameters=MAPPING, mpi_bench=PATH, every=FLAG)
def choose_engines(
    specs: Sequence[str | type | os.PathLike[str]] = (),
    parameters: Mapping[str, Value] | None = None,
    *,
    mpi_bench: str | os.PathLike[str] | None = None,
    every: bool = False,
) -> list[Engine]:
    """Choose engines by name and replace parameters of several at once.

    Parameters
    ----------
    specs
        `engine` (with its default preset) or `engine:preset`, where `engine` may be a path as in
        :func:`engine`; if there is none, the representative preset of each engine that has one
        (:func:`matchbench.engines`).
    parameters
        Values by `key`, for every chosen engine that has the key, or by `engine.key`, which has precedence.
    mpi_bench
        Result of `matchbench mpi bench`, its directory or its `mpi-bench.json`, from which the presets
        `software` and `software_l2` of `linear` take their costs if they are chosen.
        `parameters` replace them.
    every
        Without `specs`: every preset of every engine that keeps MPI's order, except those whose simulation
        is slow.

    Raises
    ------
    MatchbenchError
        When a name, a key, a value or the result is wrong, or one of them concerns no chosen engine.
    """
    default = [
        f"{card['name']}:{preset}"
        for card in _native.engines()
        for preset in card["presets"]
        if (preset not in card["literal"] + card["on_request"] if every else preset == card["representative"])
    ]
    chosen = [Engine.found(spec) for spec in dict.fromkeys(map(_named, specs or default))]
    given = by_engine(chosen, parameters or {})
    refuse_doubles(chosen)
    labels = [f"{each.name}:{each.preset}" for each in chosen]
    costs = software_costs(Path(mpi_bench), labels) if mpi_bench is not None else {}
    found = [
        _made(each, given[each.name], measured=costs.get(label, ()))
        for label, each in zip(labels, chosen, strict=True)
    ]
    return list({(each.name, each.preset, each.changed): each for each in found}.values())


def _named(name: str | type | os.PathLike[str]) -> str | type:
    return name if isinstance(name, type) else os.fspath(name)


def refuse_doubles(chosen: Iterable[Engine]) -> None:
    """Refuse engines of different origin with one name: rows of tables would be ambiguous.

    Raises
    ------
    MatchbenchError
        When there are some.
    """
    origins: dict[str, Origin | None] = {}
    for each in chosen:
        if each.origin is not None and each.origin["kind"] == "program":  # its preset is marked
            continue
        if origins.setdefault(each.name, each.origin) != each.origin:
            known = (origins[each.name], each.origin)
            paths = " and ".join("matchbench" if one is None else one["path"] for one in known)
            msg = f"engine `{each.name}`: found in {paths}, expected different names; rename one"
            raise MatchbenchError(msg)


def _made(
    found: Engine, values: Mapping[str, Any], *, measured: Sequence[tuple[str, str, str]] = ()
) -> Engine:
    """Return the engine with other values; a parameter may be a file of the user's in place of a choice."""
    own = None
    for parameter in found.parameters():
        given = values.get(parameter["name"])
        if parameter["file"] is None or not isinstance(given, str | os.PathLike):
            continue
        if given not in parameter["domain"].split(", "):
            path = os.fspath(given)
            digest = hashlib.sha256()
            own = (_READERS[parameter["file"]](path, digest.update), path, digest.hexdigest())
            values = {key: value for key, value in values.items() if key != parameter["name"]}
    return found.replaced(measured=measured, own_program=own, **values)


def by_engine(chosen: Sequence[Engine], parameters: Mapping[str, Value]) -> dict[str, dict[str, Any]]:
    """Distribute values by `key` or `engine.key` over the chosen engines; see :func:`distribute`."""
    keys = {each.name: [parameter["name"] for parameter in each.parameters()] for each in chosen}
    return distribute(parameters, keys, listing="matchbench engines show NAME")
