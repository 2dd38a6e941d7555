# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The processes in which the code of user-defined engines runs: it cannot end ours, or wait for ever.

One reads requests, a line of JSON each, and does each in a copy of itself, which has loaded nothing before.
It answers with lines: what is done next, progress, a result or an error, and in the end how the copy ended.
A whole replay is done there, so that an operation costs no more than in our process.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from matchbench._native import MatchbenchError

SILENCE_S = 60.0
"""Seconds without a line after which the process is ended."""

runs_code = False
"""Whether this is a process in which the code of files runs."""

Tell = Callable[[Mapping[str, Any]], object]


class EndedError(Exception):
    """The process ended without an answer, or was ended; the text says how."""


class _Process:
    """A process for the code of a user."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "matchbench.engines.own_server"]
        # In a session of its own, so that its copies end with it, and no signal of the terminal reaches them.
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        self._rest = b""

    def end(self) -> None:
        """End it and its copies."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    def ask(self, request: Mapping[str, Any], silence_s: float, tell: Tell) -> Any:
        """Give a request and return the result.

        Parameters
        ----------
        request
            What `own_server` reads.
        silence_s
            Seconds without a line after which the process is ended.
        tell
            Called with each line before the result.

        Raises
        ------
        MatchbenchError
            The error of the request.
        EndedError
            When the copy that did it ended before.
        """
        assert self._process.stdin is not None  # noqa: S101 - it was started with a pipe
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the status says more
        answer: Mapping[str, Any] = {}
        status = None
        try:
            for line in self._lines(silence_s):
                said = json.loads(line)
                if "ended" in said:
                    status = said["ended"]
                    break
                if "error" in said or "result" in said:
                    answer = said
                else:
                    tell(said)
        except TimeoutError:
            msg = f"it did not return within {silence_s:g} s"
            raise EndedError(msg) from None
        if "error" in answer:
            raise MatchbenchError(answer["error"])
        if "result" in answer:
            return answer["result"]
        status = self._process.wait() if status is None else status
        how = f"ended with status {status}" if status >= 0 else f"was ended by {signal.Signals(-status).name}"
        msg = f"its process {how}"
        raise EndedError(msg)

    def _lines(self, silence_s: float) -> Iterator[bytes]:
        """Yield the lines of the process until it ends.

        Raises
        ------
        TimeoutError
            When no line comes for `silence_s` seconds.
        """
        assert self._process.stdout is not None  # noqa: S101 - it was started with a pipe
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            deadline = time.monotonic() + silence_s
            while selector.select(max(0.0, deadline - time.monotonic())):
                part = self._process.stdout.read1(1 << 16)  # type: ignore[attr-defined] # of a buffered reader
                if not part:
                    return
                *lines, self._rest = (self._rest + part).split(b"\n")
                if lines:
                    deadline = time.monotonic() + silence_s
                yield from lines
        raise TimeoutError


_idle: list[_Process] = []
_lock = threading.Lock()


def ask(request: Mapping[str, Any], *, silence_s: float, tell: Tell = lambda _said: None) -> Any:
    """Give a request to a process that has none, and return the result.

    Parameters
    ----------
    request
        What `own_server` reads.
    silence_s
        Seconds without a line after which the process is ended.
    tell
        Called with each line before the result.

    Raises
    ------
    MatchbenchError
        The error of the request.
    EndedError
        When the code ended its process.
    """
    with _lock:
        process = _idle.pop() if _idle else None
    process = process or _Process()
    is_usable = False
    try:
        found = process.ask({**request, "folder": str(Path.cwd())}, silence_s, tell)
        is_usable = True
        return found
    except MatchbenchError:
        is_usable = True
        raise
    finally:
        if is_usable:
            with _lock:
                _idle.append(process)
        else:
            process.end()


describing_s = SILENCE_S
"""What descriptions wait for."""
_told: dict[str, Any] = {}
"""Results of `_ask_once` by their requests."""


def _ask_once(request: Mapping[str, Any]) -> Any:
    """Give a request that has the same result each time.

    Raises
    ------
    MatchbenchError
        The error of the request, or how its process ended.
    """
    key = json.dumps([str(Path(request["path"]).resolve()), request], sort_keys=True)
    if key not in _told:
        try:
            _told[key] = ask(request, silence_s=describing_s)
        except EndedError as error:
            msg = f"{request['path']}: {error}, expected an engine that can be described and made"
            raise MatchbenchError(msg) from None
    return _told[key]


def described(path: str, sha256: str) -> tuple[str, int | None]:
    """Return the description of the engine in a file, and the version of the interface if it is a library."""
    found = _ask_once({"work": "describe", "path": path, "sha256": sha256})
    return found["description"], found["interface"]


def placement(path: str, sha256: str, values: Mapping[str, str]) -> str:
    """Make an engine of a file with values for all parameters, and return where it runs."""
    place: str = _ask_once({"work": "place", "path": path, "sha256": sha256, "values": values})
    return place
