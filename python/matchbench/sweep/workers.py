# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Replays in processes of this host.

A process that ends early, for example because the system ran out of memory and killed it, is replaced, and
its replay is tried again.
"""

from __future__ import annotations

import functools
import itertools
import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, Protocol

from matchbench import interruptible
from matchbench._native import MatchbenchError, Network
from matchbench.compare.replay_config import ReplayConfig
from matchbench.engines import own_engines
from matchbench.engines.selection import engine
from matchbench.native_types import Report
from matchbench.trace.trace import Trace

MOST_TRIES = 3
"""Maximum number of attempts at a replay whose process crashes."""

_AHEAD = 2  # tasks that a process has at a time
_END_S = 5.0  # time that a process has to end


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One replay, as it is sent to a process.

    Parameters
    ----------
    at
        Its number.
    name
        The trace and the variant, for errors.
    trace
        The trace's path.
    trace_hash
        Its hash, which is checked if the file is another one's copy; empty: not checked.
    engine
        `engine:preset`, with the path of a user-defined engine.
    engine_sha256
        The hash of that file, or of a user-written match program, which is checked; empty: neither.
    parameters
        Values that replace the preset's.
    config
        How to replay.
    """

    at: int
    name: str
    trace: Path
    trace_hash: str
    engine: str
    engine_sha256: str
    parameters: dict[str, Any]
    config: ReplayConfig


class Workers(Protocol):
    """What replays tasks."""

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Report]]:
        """Replay the tasks and yield each with its result, in the order in which they end."""

    def close(self) -> None:
        """End the processes; what they replay is lost."""


def replay(task: Task) -> Report:
    """Replay a task in this process and return its result without tables of ranks, depths and times.

    Raises
    ------
    MatchbenchError
        When the trace or a user-written match program is defective or not the expected one.
    """
    trace = _trace(task.trace)
    if task.trace_hash and trace.hash != task.trace_hash:
        msg = f"{task.trace}: found a trace with the hash {trace.hash}, expected {task.trace_hash}"
        raise MatchbenchError(msg)
    config = task.config
    chosen = engine(task.engine, **task.parameters)
    if task.engine_sha256 and (chosen.origin is None or chosen.origin["sha256"] != task.engine_sha256):
        path = chosen.origin["path"] if chosen.origin else task.engine
        found = chosen.origin["sha256"] if chosen.origin else "none: an engine of matchbench"
        msg = f"{path}: found SHA-256 {found}, expected {task.engine_sha256}; the file was changed"
        raise MatchbenchError(msg)
    report = own_engines.replay(
        trace,
        chosen,
        Network(config.network, **config.network_parameters),
        rules=config.rules(),
    )
    for name in ("ranks", "depths", "visits", "timeline"):
        report[name] = {column: [] for column in report[name]}
    return report


class LocalWorkers:
    """Processes of this host.

    Parameters
    ----------
    count
        How many, at least 1.
    """

    def __init__(self, count: int) -> None:
        self._idle: list[_Worker] = []
        self._busy: dict[_Worker, list[Task]] = {}
        self._count = count

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Report]]:
        """Replay the tasks and yield each with its result, in the order in which they end.

        A process has the next task before it has finished one, so that it does not wait.

        Raises
        ------
        MatchbenchError
            When a replay is refused, or its process ended early each time.
        """
        source = iter(tasks)
        again: list[Task] = []
        tries: dict[int, int] = {}
        while True:
            self._fill(again, source)
            if not self._busy:
                return
            for worker in _ready(self._busy):
                task, *following = self._busy.pop(worker)
                try:
                    answer = worker.receive()
                except (EOFError, OSError):
                    worker.end()
                    tries[task.at] = tries.get(task.at, 0) + 1
                    if tries[task.at] == MOST_TRIES:
                        msg = (
                            f"{task.name}: no result, its process ended {MOST_TRIES} times; "
                            "check that there is enough memory"
                        )
                        raise MatchbenchError(msg) from None
                    again += [task, *following]
                    continue
                if following:
                    self._busy[worker] = following
                else:
                    self._idle.append(worker)
                if isinstance(answer, str):
                    raise MatchbenchError(answer)
                yield task, answer

    def _fill(self, again: list[Task], source: Iterator[Task]) -> None:
        """Give every process its tasks, first one to each."""
        for most in range(1, _AHEAD + 1):
            for _ in range(self._count):
                few = next((worker for worker, mine in self._busy.items() if len(mine) < most), None)
                if few is None and len(self._busy) == self._count:
                    break
                task = again.pop() if again else next(source, None)
                if task is None:
                    return
                if len(self._busy) < self._count:
                    few = self._idle.pop() if self._idle else _Worker()
                assert few is not None  # noqa: S101 - either there is one, or one was made
                self._busy.setdefault(few, []).append(task)
                few.send(task)

    def close(self) -> None:
        """End the processes; what they replay is lost."""
        for worker in [*self._idle, *self._busy]:
            worker.end()
        self._idle.clear()
        self._busy.clear()


class StartedWhenNeeded:
    """Workers that are made when the first replay needs them: none if all results are in the cache.

    Parameters
    ----------
    make
        Makes them.
    """

    def __init__(self, make: Callable[[], Workers]) -> None:
        self._make = make
        self._workers: Workers | None = None

    def run(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Report]]:
        """Replay the tasks and yield each with its result, in the order in which they end."""
        source = iter(tasks)
        first = next(source, None)
        if first is not None:
            self._workers = self._workers or self._make()
            yield from self._workers.run(itertools.chain([first], source))

    def close(self) -> None:
        """End the processes; what they replay is lost."""
        if self._workers:
            self._workers.close()
            self._workers = None


class _Worker:
    """A process and the connection to it."""

    def __init__(self) -> None:
        # Spawned, because the threads of polars may hold locks.
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.process: SpawnProcess = context.Process(target=_serve, args=(other,), daemon=True)
        with interruptible.deferred():
            self.process.start()
        other.close()

    def send(self, task: Task) -> None:
        with suppress(OSError):  # it has ended; `receive` reports it too
            self.connection.send(task)

    def receive(self) -> Report | str:
        answer: Report | str = self.connection.recv()
        return answer

    def end(self) -> None:
        self.connection.close()
        self.process.terminate()
        self.process.join(_END_S)
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join()


def _ready(busy: Iterable[_Worker]) -> list[_Worker]:
    by_connection = {worker.connection: worker for worker in busy}
    return [
        by_connection[connection] for connection in wait(list(by_connection)) if connection in by_connection
    ]


def _serve(connection: Connection) -> None:
    """Replay what comes until the connection is closed."""
    while True:
        try:
            task = connection.recv()
        except EOFError:
            return
        answer: Report | str
        try:
            answer = replay(task)
        except MatchbenchError as error:
            answer = str(error)
        connection.send(answer)


@functools.cache
def _trace(path: Path) -> Trace:
    trace = Trace.open(path)
    trace.check()
    return trace
