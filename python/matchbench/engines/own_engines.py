# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Checks and tests user-defined engines, in a process of their own if they come from a file.

A library can crash or never return. Its check runs in another process, which reports each step before it
begins. If the process crashes, or reports nothing for a time and is ended, the error names the last step.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, Literal, TextIO, TypeAlias

from matchbench import interruptible
from matchbench._native import Engine, MatchbenchError, kit_checks
from matchbench.native_types import KitReport, Origin

SILENCE_S = 60.0
"""Seconds without progress after which a check is ended."""

Work: TypeAlias = Literal["check", "test"]
Tell: TypeAlias = Callable[[str], object]

_passed: set[str] = set()
"""What passed in this process: a check is not repeated."""


def check(engine: Engine, *, apart: bool = True, silence_s: float = SILENCE_S) -> None:
    """Check that a user-defined engine gives the outcomes of MPI's rules; one of matchbench does.

    Parameters
    ----------
    engine
        The engine.
    apart
        Check an engine of a file in a process of its own.
    silence_s
        Seconds without progress after which that process is ended.

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
    if apart and _is_in_a_file(origin):
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


def _values(engine: Engine) -> dict[str, str]:
    own = {"library", "python"}
    return {each["name"]: each["value"] for each in engine.parameters() if each["name"] not in own}


def _apart(work: Work, engine: Engine, silence_s: float, tell: Tell) -> Any:
    """Do the work in another process and return its result."""
    origin = engine.origin
    request = {"work": work, "spec": engine.spec, "values": _values(engine), "origin": origin}
    command = [sys.executable, "-m", "matchbench.engines.own_engines", json.dumps(request)]
    last = "begin"
    passed: list[tuple[str, str, int | None]] = []
    promises = dict(kit_checks())
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        try:
            for line in _lines(process, silence_s):
                said = json.loads(line)
                if "next" in said:
                    last = said["next"]
                    tell(last)
                    what, _, about = last.partition(": ")
                    if what == "passed":
                        name, runs = about.split()
                        passed.append((name, promises[name], int(runs)))
                elif "error" in said:
                    raise MatchbenchError(said["error"])
                else:
                    return said["result"]
            status = process.wait()
            how = (
                f"ended with status {status}"
                if status >= 0
                else f"was ended by {signal.Signals(-status).name}"
            )
            failed = f"its process {how}"
        except TimeoutError:
            failed = f"it did not return within {silence_s:g} s"
        finally:
            process.kill()
    if work == "test":
        name = last.partition(":")[0]
        promise = promises.get(name, "an engine can be made")
        return {"passed": passed, "failure": (name, promise, None, f"{last}: {failed}")}
    msg = f"{origin['path'] if origin else engine.name}: check failed in {last}: {failed}"
    raise MatchbenchError(msg)


def _lines(process: subprocess.Popen[bytes], silence_s: float) -> Iterator[bytes]:
    """Yield the lines of a process until it ends.

    Raises
    ------
    TimeoutError
        When no line comes for `silence_s` seconds.
    """
    assert process.stdout is not None  # noqa: S101 - it was started with a pipe
    rest = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        deadline = time.monotonic() + silence_s
        while selector.select(max(0.0, deadline - time.monotonic())):
            part = process.stdout.read1(1 << 16)  # type: ignore[attr-defined] # of a buffered reader
            if not part:
                return
            *lines, rest = (rest + part).split(b"\n")
            if lines:
                deadline = time.monotonic() + silence_s
            yield from lines
    raise TimeoutError


def _serve(request: dict[str, Any], out: TextIO) -> None:
    def say(what: dict[str, Any]) -> None:
        out.write(json.dumps(what) + "\n")
        out.flush()

    try:
        engine = Engine(request["spec"], **request["values"])
        if engine.origin != request["origin"]:
            msg = f"{request['spec']}: the file changed while it was checked; start again"
            raise MatchbenchError(msg)

        def tell(text: str) -> None:
            say({"next": text})

        if request["work"] == "test":
            say({"result": engine.test(tell)})
        else:
            engine.check(tell)
            say({"result": None})
    except MatchbenchError as error:
        say({"error": str(error)})


if __name__ == "__main__":
    # What the user's code prints goes to standard error.
    _out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    _serve(json.loads(sys.argv[1]), _out)
