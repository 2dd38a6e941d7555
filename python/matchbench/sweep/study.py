# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The study of a sweep, `study.toml`: a question, designs and what varies, traces, objectives, limits.

The file has the form of all studies of `studies/`: `question`, and a `[[design]]` with `name`, `engine`
and `settings` for each design. A sweep adds the table `[sweep]` and the list `vary` of a design;
`docs/sweep.md` has every key. What a study says for its figures is not read here.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from matchbench._native import MatchbenchError, unknown_name
from matchbench.compare.replay_config import ReplayConfig
from matchbench.input import read_toml
from matchbench.native_types import Value
from matchbench.parameters import parse_assignments
from matchbench.sweep.search import METHODS
from matchbench.sweep.space import Axis, Design, values_of

OBJECTIVES = ("time", "latency", "engine_entries", "memory_entries", "area")
"""What can be minimized; `docs/sweep.md` defines each."""

MOST_VARIANTS = 1000
"""Largest grid of a study that does not say how many variants."""

_T = TypeVar("_T")
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|m|h|)")
_SECONDS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}
_FIGURES = {
    "": {"paper", "reference", "figure", "panel", "assumption", "data_point"},
    "sweep": set[str](),
    "design": {"label", "timing", "line", "variant", "lengths", "colour", "marker"},
}
"""Keys of a paper's figures (`workbench/reproduce/src/study.rs`), which a study may have beside a sweep."""

_KEYS = {
    "": {"question", "sweep", "design"},
    "sweep": {
        *("traces", "method", "objectives", "variants", "budget", "seed"),
        *("network", "network_settings", "cpu_scale", "free_wildcards", "recorded_polls", "poll_work_ns"),
        "collectives",
    },
    "design": {"name", "engine", "settings", "vary"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """What a sweep does.

    Parameters
    ----------
    question
        What is asked, for the report.
    traces
        Paths of the traces.
    designs
        What varies; at least one, with different names.
    method
        `grid`, `random` or `optimizer`.
    objectives
        What is minimized, of `OBJECTIVES`; none: `time`, and the cost that varies.
    variants
        Variants that are tried at most.
    budget_s
        Seconds after which no replay is started; None: no limit.
    seed
        Of the methods `random` and `optimizer`.
    config
        How to replay.
    """

    question: str
    traces: tuple[Path, ...]
    designs: tuple[Design, ...]
    method: str = "grid"
    objectives: tuple[str, ...] = ()
    variants: int = MOST_VARIANTS
    budget_s: float | None = None
    seed: int = 0
    config: ReplayConfig

    def __post_init__(self) -> None:
        """Check names and ranges."""
        _one_of("method", self.method, METHODS)
        for objective in self.objectives:
            _one_of("objective", objective, OBJECTIVES)
        for what, names in (
            ("objectives", self.objectives),
            ("designs", [design.name for design in self.designs]),
        ):
            if twice := next((name for name in names if names.count(name) > 1), None):
                msg = f"{what}: found `{twice}` twice; name it once"
                raise MatchbenchError(msg)
        if self.variants < 1:
            msg = f"variants: found {self.variants}, expected a number of variants, 1 or more"
            raise MatchbenchError(msg)
        if self.budget_s is not None and not (0 < self.budget_s < math.inf):
            msg = f"budget: found {self.budget_s} s, expected a time above 0"
            raise MatchbenchError(msg)
        if not self.traces:
            msg = "traces: found none, expected at least one"
            raise MatchbenchError(msg)
        if not self.designs:
            msg = "designs: found none, expected at least one"
            raise MatchbenchError(msg)

    def text(self, directory: Path) -> str:
        """Write the study as TOML.

        Parameters
        ----------
        directory
            Where the file will be: paths of traces are relative to it.
        """
        lines = [f"question = {_toml(self.question)}", "", "[sweep]"]
        lines.append(f"traces = {_toml([os.path.relpath(trace, directory) for trace in self.traces])}")
        sweep: dict[str, Any] = {"method": self.method, "variants": self.variants, "seed": self.seed}
        if self.objectives:
            sweep["objectives"] = list(self.objectives)
        if self.budget_s is not None:
            # Without an exponent, which `seconds` does not read.
            sweep["budget"] = f"{self.budget_s:f} s"
        config = self.config
        sweep["network"] = config.network
        sweep["network_settings"] = [f"{key}={value}" for key, value in config.network_parameters.items()]
        sweep["cpu_scale"] = float(config.cpu_scale)
        sweep["free_wildcards"] = config.free_wildcards
        sweep["recorded_polls"] = config.recorded_polls
        sweep["poll_work_ns"] = float(config.poll_work_ns)
        sweep["collectives"] = [f"{key}={value}" for key, value in config.collectives.items()]
        lines += [f"{key} = {_toml(value)}" for key, value in sweep.items()]
        for design in self.designs:
            lines += ["", "[[design]]", f"name = {_toml(design.name)}", f"engine = {_toml(design.engine)}"]
            settings = [f"{key}={value}" for key, value in design.settings.items()]
            vary = [f"{axis.key}={','.join(axis.values)}" for axis in design.axes]
            lines += [f"settings = {_toml(settings)}", f"vary = {_toml(vary)}"]
        return "\n".join(lines) + "\n"


def read_study(path: Path, *, allow_code: bool = False) -> Study:
    """Read a study.

    Parameters
    ----------
    path
        The file; paths of traces are relative to its directory.
    allow_code
        Let it name engines of files, which run when the study does (`SECURITY.md`).

    Raises
    ------
    MatchbenchError
        When it cannot be read, is not TOML, lacks a key, has an unknown key or a wrong value, or names a
        file without `allow_code`.
    """
    content = read_toml(path, "a study")
    try:
        study = _study(content, path.parent)
    except MatchbenchError as error:
        msg = f"{path}: {error}"
        raise MatchbenchError(msg) from error
    for design in study.designs:
        if names_a_file(design.engine) and not allow_code:
            msg = (
                f"{path}: design `{design.name}`: found the engine file `{design.engine}`, which would be "
                "executed; expected an engine of matchbench, or --allow-code for a file that you trust"
            )
            raise MatchbenchError(msg)
    return study


def names_a_file(engine: str) -> bool:
    """Return whether an engine is named by the path of a library or of a file of Python, as in `engine`."""
    return "/" in engine or any(part.endswith((".so", ".dylib", ".py")) for part in engine.split(":"))


_LONGEST_S = 1e9


def seconds(text: str, *, where: str) -> float:
    """Read a time such as `90 s`, `10 min` or `2 h`.

    Raises
    ------
    MatchbenchError
        When it is none; names `where`.
    """
    found = _TIME.fullmatch(text.strip())
    if not found or not 0 < float(found[1]) * _SECONDS[found[2]] <= _LONGEST_S:
        msg = f"{where}: found `{text}`, expected a time above 0, such as `90 s`, `10 min` or `2 h`"
        raise MatchbenchError(msg)
    return float(found[1]) * _SECONDS[found[2]]


def _study(content: Mapping[str, Any], directory: Path) -> Study:
    if "sweep" not in content and ("figure" in content or "paper" in content):
        msg = (
            "found a study of a paper's figures, expected a table `[sweep]`; "
            "`matchbench reproduce` draws figures"
        )
        raise MatchbenchError(msg)
    _known_keys(content, "")
    sweep = _get(content, "sweep", dict, "", {})
    _known_keys(sweep, "sweep")
    for key in ("sweep", "design"):
        if key not in content:
            msg = f"found no `{key}`, expected the table `{'[sweep]' if key == 'sweep' else '[[design]]'}`"
            raise MatchbenchError(msg)
    designs = []
    for each in _list(content, "design", dict, ""):
        _known_keys(each, "design")
        designs.append(_design(each))
    defaults = ReplayConfig()
    limit = _get(sweep, "budget", str, "sweep", "")
    config = ReplayConfig(
        network=_get(sweep, "network", str, "sweep", defaults.network),
        network_parameters=_assignments(sweep, "network_settings", "sweep"),
        cpu_scale=_get(sweep, "cpu_scale", float, "sweep", 1.0),
        free_wildcards=_get(sweep, "free_wildcards", bool, "sweep", False),
        recorded_polls=_get(sweep, "recorded_polls", bool, "sweep", False),
        poll_work_ns=_get(sweep, "poll_work_ns", float, "sweep", defaults.poll_work_ns),
        collectives={key: str(value) for key, value in _assignments(sweep, "collectives", "sweep").items()},
    )
    return Study(
        question=_get(content, "question", str, "", ""),
        traces=tuple(directory / path for path in _list(sweep, "traces", str, "sweep")),
        designs=tuple(designs),
        method=_get(sweep, "method", str, "sweep", "grid"),
        objectives=tuple(_list(sweep, "objectives", str, "sweep")),
        variants=_get(sweep, "variants", int, "sweep", MOST_VARIANTS),
        budget_s=seconds(limit, where="sweep.budget") if limit else None,
        seed=_get(sweep, "seed", int, "sweep", 0),
        config=config,
    )


def _design(content: Mapping[str, Any]) -> Design:
    engine = _get(content, "engine", str, "design", "")
    if not engine:
        msg = "design: found no `engine`, expected `engine` or `engine:preset`"
        raise MatchbenchError(msg)
    name = _get(content, "name", str, "design", engine)
    settings = _assignments(content, "settings", "design")
    axes = []
    for key, text in _assignments(content, "vary", "design").items():
        if key in settings:
            msg = f"design `{name}`: found `{key}` in `settings` and in `vary`; give it once"
            raise MatchbenchError(msg)
        axes.append(Axis(key=key, values=values_of(str(text), where=f"design `{name}`, vary `{key}`")))
    return Design(name=name, engine=engine, settings=settings, axes=tuple(axes))


def _assignments(table: Mapping[str, Any], key: str, where: str) -> dict[str, Value]:
    return parse_assignments(_list(table, key, str, where), option=f"{where}.{key}")


def _get(table: Mapping[str, Any], key: str, kind: type[_T], where: str, default: _T) -> _T:
    value = table.get(key, default)
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:
        msg = f"{f'{where}.' if where else ''}{key}: found {_named(value)}, expected {_KINDS[kind]}"
        raise MatchbenchError(msg)
    found: _T = value
    return found


def _list(table: Mapping[str, Any], key: str, kind: type[_T], where: str) -> list[_T]:
    found = _get(table, key, list, where, [])
    if wrong := next(([value] for value in found if type(value) is not kind), None):
        place = f"{where}.{key}" if where else key
        msg = f"{place}: found {_named(wrong[0])} in the list, expected {_KINDS[kind]}"
        raise MatchbenchError(msg)
    return found


_KINDS: dict[type, str] = {
    dict: "a table",
    list: "a list",
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}


def _named(value: object) -> str:
    return f"{_KINDS[type(value)]}, `{value}`" if type(value) in _KINDS else f"`{value}`"


def _known_keys(table: Mapping[str, Any], where: str) -> None:
    if unknown := next((key for key in table if key not in _KEYS[where] | _FIGURES[where]), None):
        place = f"{where}: " if where else ""
        msg = f"{place}{unknown_name('key', unknown, sorted(_KEYS[where]))}"
        raise MatchbenchError(msg)


def _one_of(kind: str, found: str, known: Sequence[str]) -> None:
    if found not in known:
        raise MatchbenchError(unknown_name(kind, found, known))


def _toml(value: object) -> str:
    """Write a value as TOML, of which JSON is a part for text, numbers, lists and truth values."""
    return json.dumps(value, ensure_ascii=False)
