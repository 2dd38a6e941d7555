# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Native work for which an interrupt does not wait. The tests wait for events; none measures time."""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import matchbench as mb
from matchbench import interruptible
from matchbench.native_types import Progress
from tests.processes import PATIENCE_S

assert mb.Trace is not None  # imports polars, whose handler of SIGINT restarts what a signal would interrupt


class Released(threading.Event):
    """An event that work waits for, and that comes late instead of never when an interrupt has no effect."""

    def __init__(self) -> None:
        super().__init__()
        self._watchdog = threading.Timer(PATIENCE_S, self.set)
        self._watchdog.daemon = True
        self._watchdog.start()

    def set(self) -> None:
        """Let the work go on."""
        self._watchdog.cancel()
        super().set()


def interrupt() -> None:
    """Send Ctrl-C to the thread of the test."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def test_an_interrupt_does_not_wait_for_work_that_reports_nothing() -> None:
    submitted, released, ended = threading.Event(), Released(), threading.Event()

    def work(_tell: Progress) -> None:
        submitted.wait()
        interrupt()
        released.wait()
        ended.set()

    try:
        with pytest.raises(KeyboardInterrupt), interruptible.Threads(1) as threads:  # noqa: PT012 - the block is under test
            running, waiting = threads.submit(work), threads.submit(work)
            submitted.set()
            interruptible.result(running)
        assert not ended.is_set()
        assert waiting.cancelled()
    finally:
        released.set()
    assert ended.wait(PATIENCE_S)


def test_work_ends_at_its_next_report_after_an_interrupt() -> None:
    reports: list[int] = []
    left, ended = Released(), threading.Event()

    def work(tell: Progress) -> None:
        try:
            tell(1, 3)
            interrupt()
            left.wait()
            tell(2, 3)
        finally:
            ended.set()

    try:
        with pytest.raises(KeyboardInterrupt):
            interruptible.run(work, lambda done, _total: reports.append(done))
    finally:
        left.set()
    assert ended.wait(PATIENCE_S)
    assert reports == [1]


def test_an_error_is_passed_on_after_the_other_work_has_stopped() -> None:
    began, failed = threading.Event(), threading.Event()
    stopped = []

    def fail(_tell: Progress) -> None:
        began.wait()
        failed.set()
        msg = "refused"
        raise ValueError(msg)

    def work(tell: Progress) -> None:
        began.set()
        failed.wait()
        try:
            while True:
                tell(0, 1)
        except Exception:
            stopped.append("working")
            raise

    with pytest.raises(ValueError, match="refused"), interruptible.Threads(2) as threads:  # noqa: PT012 - the block is under test
        failing, _ = threads.submit(fail), threads.submit(work)
        interruptible.result(failing)
    assert stopped == ["working"]


def test_results_come_back_and_progress_is_told() -> None:
    told: list[tuple[int, int]] = []

    def work(tell: Progress) -> str:
        tell(1, 2)
        return threading.current_thread().name

    assert interruptible.run(work, lambda *now: told.append(now)) != threading.main_thread().name
    assert told == [(1, 2)]


def test_a_signal_is_deferred_and_then_raised() -> None:
    """Also when another thread gets it, which does not block it."""
    former = signal.getsignal(signal.SIGINT)
    reached = []
    opened = threading.Event()

    def get() -> None:
        opened.wait()
        signal.raise_signal(signal.SIGINT)

    other = threading.Thread(target=get)
    other.start()  # before the mask, which threads inherit
    with pytest.raises(KeyboardInterrupt), interruptible.deferred():  # noqa: PT012 - the block is under test
        opened.set()
        other.join()
        reached.append("the end of the block")
    assert reached == ["the end of the block"]
    assert signal.getsignal(signal.SIGINT) is former
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


@pytest.mark.parametrize(("number", "said"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")])
def test_a_command_ends_while_its_native_work_goes_on(
    number: signal.Signals, said: str, tmp_path: Path
) -> None:
    """The work never ends: a process that waited for it would not, either."""
    code = f"""
import os, sys, threading
from matchbench import interruptible, reproduce
from matchbench.__main__ import main

def never(_tell):
    print("partly printed", end="", flush=False)
    os.kill(os.getpid(), {number:d})
    threading.Event().wait()

sys.modules["matchbench.reproduce.run"].interruptible = type("Never", (), {{
    "run": staticmethod(lambda _work: interruptible.run(never)),
}})
sys.argv = ["matchbench", "reproduce", "hemmert2007", "-o", "out"]
sys.exit(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (
        128 + number,
        "partly printed",
        f"matchbench: {said}\n",
    )
    assert list(tmp_path.iterdir()) == []
