# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A case of abuse, and how a command ends that is abused."""

from __future__ import annotations

import importlib
import os
import pkgutil
import resource
import select
import signal
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import matchbench

LIMIT_S = 10
"""Most processor time of a command, in seconds."""
PATIENCE_S = 60
"""Longest time of a command that uses no processor, on a machine that does other things."""
LIMIT_BYTES = 2 << 30
"""Most that a command adds to the address space of this process."""

REFUSED = "status 2, one line"
DONE = "status 0"


@dataclass(frozen=True, slots=True)
class Case:
    """A case.

    Parameters
    ----------
    what
        The command and what is done to it; different for each case of a kind.
    expected
        What is to be found.
    find
        Does it in an empty folder, the current one, and returns what was found.
    """

    what: str
    expected: str
    find: Callable[[Path], str]


@dataclass(frozen=True, slots=True)
class End:
    """How a command ended.

    Parameters
    ----------
    status
        Its exit status, minus the number of the signal that ended it, or None if it had not ended
        after `PATIENCE_S`.
    out, err
        What it wrote to standard output and to standard error.
    diagnosed
        Beginnings of the diagnostics of a compiler, which may have several lines.
    """

    status: int | None
    out: str
    err: str
    diagnosed: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Say what a user sees: the status, and whether an error is one line of the usual form."""
        if self.status is None:
            return f"no end in {PATIENCE_S} s"
        if self.status < 0:
            return f"signal {-self.status}"
        if self.status == 0:
            return DONE
        if not self.err:
            return f"status {self.status}, no error"
        lines = self.err.splitlines()
        if "Traceback" in self.err or "panicked" in self.err:
            return f"status {self.status}, traceback: {lines[-1]}"
        if lines[0].startswith(self.diagnosed):
            return f"status {self.status}, with the lines of a compiler"
        if len(lines) > 1 or not lines[0].startswith("matchbench: "):
            return f"status {self.status}, {len(lines)} lines: {lines[0]}"
        return f"status {self.status}, one line"


@cache
def warm() -> None:
    """Import every module of the package, and those that commands import when they show something."""
    for module in pkgutil.walk_packages(matchbench.__path__, "matchbench."):
        if module.name != "matchbench.__main__":
            importlib.import_module(module.name)
    for name in ("rich.progress", "rich.table"):
        importlib.import_module(name)


def _address_space() -> int:
    """Return the size of the address space of this process in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return pages * resource.getpagesize()


def run(
    words: Sequence[str | Path],
    *,
    environment: Mapping[str, str] | None = None,
    memory: int | None = None,
    before: Callable[[], None] | None = None,
) -> End:
    """Run the command in the current folder, in a process of its own whose time and memory are limited.

    The process is a copy of this one, in which `warm` has imported what commands need: most of the time of a
    command is that of its imports.

    Parameters
    ----------
    words
        The words behind `matchbench`.
    environment
        Variables to set.
    memory
        Largest address space in bytes, of a process that begins anew; by default that of this one and
        `LIMIT_BYTES`.
    before
        Called in the process before the command.
    """
    streams = [os.memfd_create(name) for name in ("out", "err")]
    child = os.fork()
    if child == 0:
        _become(list(map(str, words)), streams, environment or {}, memory, before)
    try:
        status = _wait(child)
        out, err = (os.pread(stream, 1 << 20, 0).decode(errors="replace") for stream in streams)
        return End(status, out, err)
    finally:
        for stream in streams:
            os.close(stream)


def _become(
    words: list[str],
    streams: list[int],
    environment: Mapping[str, str],
    memory: int | None,
    before: Callable[[], None] | None,
) -> None:
    """Run the command instead of this process."""
    status = 1
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDONLY)
        for number, stream in enumerate([nothing, *streams]):
            os.dup2(stream, number)
        os.environ.update(environment)
        most = _address_space() + LIMIT_BYTES if memory is None else memory
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT_S, LIMIT_S))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if memory is not None:
            os.execv(sys.executable, [sys.executable, "-m", "matchbench", *words])  # noqa: S606 # words of the table, no shell
        import matchbench.__main__ as program

        sys.argv = ["matchbench", *words]
        sys.modules["__main__"] = program  # processes that this one starts import it
        if before is not None:
            before()
        status = program.main()
        sys.stdout.flush()
        sys.stderr.flush()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)


def _wait(child: int) -> int | None:
    """Wait for the end of a process; end it, and what it started, after `PATIENCE_S`."""
    end = os.pidfd_open(child)
    try:
        late = not select.select([end], [], [], PATIENCE_S)[0]
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        return None if late else os.waitstatus_to_exitcode(status)
    finally:
        os.close(end)
