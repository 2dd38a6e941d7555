# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Waits for what a command under test does, instead of for a time that it may need."""

import os
import pty
import re
import select
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

PATIENCE_S = 300
"""A command that does not do what is waited for in so many seconds has failed. No measure of speed."""

_PAUSE_S = 0.02
_GRACE_S = 20


@contextmanager
def started(words: Sequence[str | Path], **options: Any) -> Iterator["subprocess.Popen[Any]"]:
    """Start a process, wait for its end, and end it when the block fails.

    Parameters
    ----------
    words, options
        As of `subprocess.Popen`.
    """
    with subprocess.Popen(words, **options) as process:
        try:
            yield process
        except BaseException:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=_GRACE_S)
            process.kill()
            raise


def wait_until(is_so: Callable[[], object], process: "subprocess.Popen[Any] | None" = None) -> None:
    """Wait until a condition holds, while a process runs if there is one.

    Raises
    ------
    AssertionError
        When the process ends before, or does not meet the condition.
    """
    end = time.monotonic() + PATIENCE_S
    while not is_so():
        assert process is None or process.poll() is None, f"the process ended before: {process.args!r}"
        assert time.monotonic() < end, f"waited {PATIENCE_S} s"
        time.sleep(_PAUSE_S)


def processor_seconds(process: "subprocess.Popen[Any]") -> float:
    """Give the time for which a process has used a processor; it does not pass while others run."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")  # user and system


def children(process: "subprocess.Popen[Any]") -> list[int]:
    """Give the processes that a process has started and that run."""
    threads = Path(f"/proc/{process.pid}/task").glob("*/children")
    return [int(word) for each in threads for word in each.read_text().split()]


class Terminal:
    """A terminal, as a context manager. A process gets `end` as one of its streams."""

    def __init__(self) -> None:
        self._reader, self.end = pty.openpty()
        self._is_passed_on = False
        self.text = ""
        """What was written so far."""

    def passed_on(self) -> None:
        """Close `end` here, once a process has it, so that its end is noticed."""
        os.close(self.end)
        self._is_passed_on = True

    def wait_for(self, pattern: str) -> None:
        """Read until the pattern is found.

        Raises
        ------
        AssertionError
            When nothing comes, or the process ends before.
        """
        while not re.search(pattern, self.text):
            assert self._read(), f"`{pattern}` not found in {self.text!r}"

    def rest(self) -> str:
        """Return what comes until the process ends."""
        start = len(self.text)
        while self._read():
            pass
        return self.text[start:]

    def _read(self) -> bool:
        ready, _, _ = select.select([self._reader], [], [], PATIENCE_S)
        assert ready, f"nothing in {PATIENCE_S} s after {self.text!r}"
        try:
            found = os.read(self._reader, 1000)
        except OSError:  # the process has ended
            return False
        self.text += found.decode(errors="replace")
        return bool(found)

    def __enter__(self) -> Self:
        """Return the terminal."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        if not self._is_passed_on:
            os.close(self.end)
        os.close(self._reader)
