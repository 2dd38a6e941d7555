# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs native work so that an interrupt does not wait for it.

Python handles a signal in its main thread, between two instructions of its own, so that a signal would wait
for the end of a native call there. Native work therefore runs in other threads, and the main thread waits for
their results, in short steps: no signal interrupts a longer wait once polars is imported, whose handler of
SIGINT has the system restart it (https://github.com/pola-rs/polars/issues/21739). An exception that is raised
by a signal is not delayed by the work: what was submitted and has not begun is cancelled, and what runs ends
at its next report of progress, after the exception.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from types import TracebackType
from typing import Self, TypeVar

from matchbench.native_types import Progress

Result = TypeVar("Result")


_STEP_S = 0.05


_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _StoppedError(Exception):
    """Ends work whose result is no longer needed."""


class Threads:
    """Threads for native work, as a context manager.

    Parameters
    ----------
    count
        How many, at least 1.
    """

    def __init__(self, count: int) -> None:
        self._stopped = threading.Event()
        self._pool = ThreadPoolExecutor(max_workers=count)

    def submit(
        self, work: Callable[[Progress], Result], progress: Progress | None = None
    ) -> "Future[Result]":
        """Start work in one of the threads, as soon as one is free.

        Parameters
        ----------
        work
            Called with what it must report its progress to, often enough.
        progress
            Called with each report, from that thread.
        """

        def tell(done: int, total: int) -> None:
            if self._stopped.is_set():
                raise _StoppedError
            if progress:
                progress(done, total)

        return self._pool.submit(work, tell)

    def __enter__(self) -> Self:
        """Return the threads."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wait for the work; after an error, for its next report of progress; after a signal, not at all."""
        if kind is not None:
            self._stopped.set()
        is_error = kind is None or issubclass(kind, Exception)
        self._pool.shutdown(wait=is_error, cancel_futures=kind is not None)


def result(future: "Future[Result]") -> Result:
    """Wait for the result of a future; a signal interrupts the wait."""
    while not future.done():
        wait([future], timeout=_STEP_S)
    return future.result()


def run(work: Callable[[Progress], Result], progress: Progress | None = None) -> Result:
    """Do native work in a thread and return its result.

    Parameters
    ----------
    work
        Called with what it must report its progress to, often enough.
    progress
        Called with each report, from that thread.
    """
    with Threads(1) as threads:
        return result(threads.submit(work, progress))


@contextmanager
def deferred() -> Iterator[None]:
    """Defer signals until the block ends; processes that are started in it never get SIGINT.

    They inherit the mask of SIGINT; to ignore it there would leave their start, an import, unprotected.
    The mask does not defer the signal here: the system gives it to another thread, and Python raises its
    exception in the main thread, where it would leave a process without the data that it starts with.
    """
    came: list[int] = []
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    former = {}
    if threading.current_thread() is threading.main_thread():
        for number in _SIGNALS:
            if callable(handler := signal.getsignal(number)):
                former[number] = handler
                signal.signal(number, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        if came:
            signal.raise_signal(came[0])
