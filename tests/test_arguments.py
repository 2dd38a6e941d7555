# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Functions for Python programs name the argument that has the wrong type, and take paths or objects."""

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

import matchbench as mb

WRONG = object()
FUNCTIONS: dict[str, tuple[Callable[..., object], dict[str, object]]] = {
    "choose_engines": (mb.choose_engines, {}),
    "compare": (mb.compare, {"traces": "t"}),
    "engine": (mb.engine, {"name": "linear"}),
    "generate": (mb.generate, {"pattern": "depth", "directory": "d", "ranks": 2}),
    "record": (mb.record, {"command": ["mpirun", "a"], "directory": "d"}),
    "reproduce": (mb.reproduce, {"paper": "hemmert2007"}),
    "size": (mb.size, {"traces": "t"}),
    "sweep": (mb.sweep, {"study": "s.toml"}),
    "ReplayConfig": (mb.ReplayConfig, {}),
    "Trace.open": (mb.Trace.open, {"path": "t"}),
}
PARAMETERS = [
    (name, parameter.name)
    for name, (function, _) in FUNCTIONS.items()
    for parameter in inspect.signature(function).parameters.values()
    if parameter.kind is not inspect.Parameter.VAR_KEYWORD
]


@pytest.mark.parametrize(("name", "parameter"), PARAMETERS)
@pytest.mark.parametrize("wrong", [WRONG, 2.5j], ids=["object", "complex"])
def test_a_wrong_type_is_named(
    name: str, parameter: str, wrong: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    function, given = FUNCTIONS[name]
    words = {**given, parameter: wrong}
    positional = [words.pop("name")] if name == "engine" else []
    with pytest.raises(TypeError, match=rf"^{parameter}: found .* of type \w+, expected "):
        function(*positional, **words)
    assert list(tmp_path.iterdir()) == []


def test_every_function_is_tried() -> None:
    functions = {name for name in mb.__all__ if inspect.isfunction(getattr(mb, name))}
    assert functions <= FUNCTIONS.keys()


@pytest.mark.parametrize(
    ("engines", "found"),
    [([3], r"\[3\]"), (3, "3"), ([["ideal"]], r"\[\['ideal'\]\]"), ({"ideal"}, "{'ideal'}")],
)
def test_engines_of_another_type_are_refused(halo: mb.Trace, engines: object, found: str) -> None:
    with pytest.raises(TypeError, match=rf"^engines: found {found} of type \w+, expected the name or path "):
        mb.compare(halo, engines)  # type: ignore[arg-type] # that is the test


def test_traces_are_paths_or_objects_and_one_or_several(halo: mb.Trace) -> None:
    each = (halo, halo.path, str(halo.path), [halo], [str(halo.path)])
    times = [mb.compare(traces, "linear:bgp").results["time_ns"].to_list() for traces in each]
    assert times == [times[0]] * len(each)
    counted = [mb.size(traces, costs=[]).curves for traces in (halo, str(halo.path))]
    assert counted[0].equals(counted[1])


def test_no_trace_is_refused() -> None:
    with pytest.raises(mb.MatchbenchError, match=r"^traces: found none, expected at least one$"):
        mb.compare([])


def test_an_engine_is_a_name_an_object_or_a_mixture(halo: mb.Trace) -> None:
    one = mb.engine("linear", preset="bgp")
    every = [mb.compare(halo, engines).results for engines in ("linear:bgp", one, ["linear:bgp"], [one])]
    assert all(each.equals(every[0]) for each in every)
    mixed = mb.compare(halo, [one, "linear:qsnet2"]).results
    assert sorted(mixed["preset"]) == ["bgp", "qsnet2", "zero"]
