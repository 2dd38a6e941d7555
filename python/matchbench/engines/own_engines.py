# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Checks, tests and replays user-defined engines, in a process of their own if they come from a file.

Such an engine can crash or never return. Its process reports each step before it begins.
If the process crashes, or reports nothing for a time and is ended, the error names the last step.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from matchbench import interruptible
from matchbench._native import Engine, MatchbenchError, Network, kit_checks
from matchbench.engines import own_process
from matchbench.engines.own_process import SILENCE_S
from matchbench.native_types import KitReport, Origin, Progress, Report

if TYPE_CHECKING:
    from matchbench.trace.trace import Trace

Work: TypeAlias = Literal["check", "test"]
Tell: TypeAlias = Callable[[str], object]

_passed: set[str] = set()
"""What passed in this process: a check is not repeated."""


def check(engine: Engine, *, silence_s: float = SILENCE_S) -> None:
    """Check that a user-defined engine gives the outcomes of MPI's rules; one of matchbench does.

    Parameters
    ----------
    engine
        The engine.
    silence_s
        Seconds without progress after which the process of an engine of a file is ended.

    Raises
    ------
    MatchbenchError
        The first wrong outcome, and the operations before it; or how the engine crashed or hung.
    """
    origin = engine.origin
    if origin is None:
        return
    key = json.dumps([engine.name, origin, _values(engine)], sort_keys=True)
    if key in _passed:
        return
    if _is_in_a_file(origin):
        _apart("check", engine, silence_s, lambda _next: None)
    else:
        interruptible.run(lambda _tell: engine.check())
    _passed.add(key)


def run_kit(engine: Engine, *, silence_s: float = SILENCE_S, tell: Tell = lambda _next: None) -> KitReport:
    """Run the whole test kit on an engine.

    Parameters
    ----------
    engine
        The engine; one of a file is tested in a process of its own.
    silence_s
        Seconds without progress after which that process is ended.
    tell
        Called with what is run next.

    Raises
    ------
    MatchbenchError
        When no engine can be made.
    """
    if engine.origin is None or not _is_in_a_file(engine.origin):
        return engine.test(tell)
    report: KitReport = _apart("test", engine, silence_s, tell)
    return report


def describe(origin: Origin | None) -> str | None:
    """Describe where a user-defined engine comes from, in one line; None for one of matchbench.

    Parameters
    ----------
    origin
        As `Engine.origin` gives it.
    """
    if origin is None:
        return None
    interface = "" if origin["interface"] is None else f", interface {origin['interface']}"
    return f"{origin['kind']} {origin['path']}, sha256 {origin['sha256']}{interface}"


def _is_in_a_file(origin: Origin) -> bool:
    return origin["kind"] == "library" or (origin["kind"] == "python" and origin["path"].endswith(".py"))


def _values(of: Engine | Network) -> dict[str, str]:
    own = {"library", "python"}
    return {each["name"]: each["value"] for each in of.parameters() if each["name"] not in own}


def _request(work: str, engine: Engine) -> dict[str, Any]:
    return {"work": work, "spec": engine.spec, "values": _values(engine), "origin": engine.origin}


def _apart(work: Work, engine: Engine, silence_s: float, tell: Tell) -> Any:
    """Do the work in another process and return its result."""
    last = "begin"
    passed: list[tuple[str, str, int | None]] = []
    promises = dict(kit_checks())

    def told(said: Mapping[str, Any]) -> None:
        nonlocal last
        last = said["next"]
        tell(last)
        what, _, about = last.partition(": ")
        if what == "passed":
            name, runs = about.split()
            passed.append((name, promises[name], int(runs)))

    try:
        return own_process.ask(_request(work, engine), silence_s=silence_s, tell=told)
    except own_process.EndedError as error:
        failed = str(error)
    if work == "test":
        name = last.partition(":")[0]
        promise = promises.get(name, "an engine can be made")
        return {"passed": passed, "failure": (name, promise, None, f"{last}: {failed}")}
    msg = f"{engine.origin['path'] if engine.origin else engine.name}: check failed in {last}: {failed}"
    raise MatchbenchError(msg)


def replay(
    trace: Trace, engine: Engine, network: Network, *, progress: Progress | None = None, **options: Any
) -> Report:
    """Replay a trace as its native method does, in another process if the engine is of a file.

    Raises
    ------
    MatchbenchError
        As that method; or how the process ended.
    """
    report: Report = of_trace("replay", trace, engine, network, progress=progress, **options)
    return report


def of_trace(
    work: Literal["replay", "snapshot"],
    trace: Trace,
    engine: Engine,
    network: Network,
    *,
    progress: Progress | None = None,
    **options: Any,
) -> Any:
    """Call a method of a native trace, in another process if the engine is of a file."""
    origin = engine.origin
    if origin is None or not _is_in_a_file(origin):
        return getattr(trace.native, work)(engine, network, progress=progress, **options)
    request = _request(work, engine)
    request |= {"trace": str(trace.directory.absolute()), "network": (network.name, _values(network))}

    def told(said: Mapping[str, Any]) -> None:
        if progress:
            progress(*said["progress"])

    try:
        return own_process.ask(request | {"options": options}, silence_s=SILENCE_S, tell=told)
    except own_process.EndedError as error:
        msg = f"{origin['path']}: {work} of {trace.name} failed: {error}"
        raise MatchbenchError(msg) from None
