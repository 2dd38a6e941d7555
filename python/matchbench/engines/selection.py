# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Chooses engines by name and replaces their parameters."""

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from matchbench import _native
from matchbench._native import Engine, MatchbenchError
from matchbench.match_unit.program import load_program
from matchbench.mpi.costs import software_costs
from matchbench.native_types import Origin, Value


def engine(name: str | type, /, *, preset: str | None = None, **parameters: Value) -> Engine:
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
        `program` of `microcode` may be the path of a match program of your own: source text or an image.

    Raises
    ------
    MatchbenchError
        When a name, a key or a value is wrong.

    Examples
    --------
    >>> engine("linear", preset="qsnet2", entry="25 ns")
    Engine("linear:qsnet2", entry="25 ns")
    """
    return _made(name, dict(parameters), preset=preset)


def parse_assignments(
    texts: Iterable[str], *, option: str = "--set", form: str = "KEY=VALUE"
) -> dict[str, Value]:
    """Parse `key=value` texts.

    Raises
    ------
    MatchbenchError
        When a text has no `=`, or a key is given twice; the message names `option` and the `form`.
    """
    found: dict[str, Value] = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals:
            msg = f"{option}: found `{text}`, expected {form}"
            raise MatchbenchError(msg)
        if key in found:
            msg = f"{option}: found `{key}` twice, as `{found[key]}` and as `{value}`; give it once"
            raise MatchbenchError(msg)
        found[key] = value
    return found


def choose_engines(
    specs: Sequence[str] = (),
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
        Values by `key`, for every chosen engine that has the key, or by `engine.key`.
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
    chosen = [Engine(spec) for spec in dict.fromkeys(specs or default)]
    given = by_engine(chosen, parameters or {})
    refuse_doubles(chosen)
    labels = [f"{each.name}:{each.preset}" for each in chosen]
    costs = software_costs(Path(mpi_bench), labels) if mpi_bench is not None else {}
    found = [
        _made(each.spec, given[each.name], measured=costs.get(label, ()))
        for label, each in zip(labels, chosen, strict=True)
    ]
    return list({(each.name, each.preset, each.changed): each for each in found}.values())


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
    spec: str | type,
    values: dict[str, Any],
    *,
    preset: str | None = None,
    measured: Sequence[tuple[str, str, str]] = (),
) -> Engine:
    """Return an engine; `program` of the engine `microcode` may be the path of a match program."""
    own = None
    program = values.get("program")
    builtin = dict(_native.match_programs())
    if (
        isinstance(spec, str)
        and spec.partition(":")[0] == "microcode"
        and isinstance(program, str | os.PathLike)
        and program not in builtin
    ):
        path = os.fspath(program)
        digest = hashlib.sha256()
        own = (load_program(path, digest.update), path, digest.hexdigest())
        values = {key: value for key, value in values.items() if key != "program"}
    return Engine(spec, preset=preset, measured=measured, own_program=own, **values)


def by_engine(chosen: Sequence[Engine], parameters: Mapping[str, Value]) -> dict[str, dict[str, Any]]:
    """Distribute values by `key` or `engine.key` over the chosen engines.

    Parameters
    ----------
    chosen
        The engines.
    parameters
        Values by `key`, for every chosen engine that has the key, or by `engine.key`.

    Returns
    -------
    dict
        By the name of each chosen engine: its values by key.

    Raises
    ------
    MatchbenchError
        When a key concerns no chosen engine, or two keys are the same parameter of one engine.
    """
    keys = {each.name: [parameter["name"] for parameter in each.parameters()] for each in chosen}
    found: dict[str, dict[str, Any]] = {name: {} for name in keys}
    for key, value in parameters.items():
        name, dot, own = key.partition(".")
        if dot and name not in found:
            msg = f"parameter `{key}`: engine `{name}` is not chosen; expected one of: {', '.join(found)}"
            raise MatchbenchError(msg)
        having = [name] if dot else [name for name, known in keys.items() if key in known]
        if not having:
            everything = sorted({each for known in keys.values() for each in known})
            listing = "matchbench engines show ENGINE"
            raise MatchbenchError(_native.unknown_name("parameter", key, everything, listing))
        parameter = own if dot else key
        for each in having:
            if parameter in found[each]:
                msg = (
                    f"engine `{each}`: found its parameter `{parameter}` twice, as `{parameter}` "
                    f"and as `{each}.{parameter}`; give it once"
                )
                raise MatchbenchError(msg)
            found[each][parameter] = value
    return found
