# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The process in which the code of a user-defined engine runs: it cannot end ours, or wait for ever.

It reads requests, a line of JSON each, and answers with lines: what it does next, progress, and in the end a
result or an error. A whole replay runs there, so that an operation costs no more than in our process.
"""

from __future__ import annotations

import json
import selectors
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from matchbench._native import MatchbenchError

SILENCE_S = 60.0
"""Seconds without a line after which the process is ended."""

Tell = Callable[[Mapping[str, Any]], object]


class EndedError(Exception):
    """The process ended without an answer, or was ended; the text says how."""


class Process:
    """A process for the code of a user, as a context manager."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "matchbench.engines.own_server"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._rest = b""

    def __enter__(self) -> Process:
        """Return the process."""
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    def ask(self, request: Mapping[str, Any], *, silence_s: float, tell: Tell = lambda _said: None) -> Any:
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
            When the process ended.
        """
        assert self._process.stdin is not None  # noqa: S101 - it was started with a pipe
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # the status says more
        try:
            for line in self._lines(silence_s):
                said = json.loads(line)
                if "error" in said:
                    raise MatchbenchError(said["error"])
                if "result" in said:
                    return said["result"]
                tell(said)
        except TimeoutError:
            msg = f"it did not return within {silence_s:g} s"
            raise EndedError(msg) from None
        status = self._process.wait()
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


class _Host:
    """One process for each file, which makes instances of its class: they say where the engine runs."""

    def __init__(self) -> None:
        self._processes: dict[tuple[str, str], Process] = {}
        self._lock = threading.Lock()
        self.silence_s = SILENCE_S

    def ask(self, path: str, sha256: str, request: Mapping[str, Any]) -> Any:
        """Give a request for a file to its process; a process that ended is not used again."""
        with self._lock:
            key = (path, sha256)
            process = self._processes.get(key) or self._processes.setdefault(key, Process())
            is_usable = False
            try:
                found = process.ask({**request, "path": path, "sha256": sha256}, silence_s=self.silence_s)
                is_usable = True
                return found
            except EndedError as error:
                msg = f"{path}: {error}, expected a class of matchbench.PythonEngine"
                raise MatchbenchError(msg) from None
            finally:
                if not is_usable:
                    del self._processes[key]
                    process.__exit__()


HOST = _Host()
"""The processes of this process."""
