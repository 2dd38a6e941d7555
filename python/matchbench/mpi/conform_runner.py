# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs test programs in jobs of the user's MPI and learns how long programs and starts take there.

The C runner performs the programs; Rust judges them. A program that hangs or crashes ends its job.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matchbench import MatchbenchError
from matchbench._native import TestPrograms, features_lacking, runner_sources
from matchbench.display.output import write_file
from matchbench.display.partial import Scratch
from matchbench.mpi.conform_plan import ENDINGS
from matchbench.mpi.launch import GRACE_SECONDS, Ended, Mpi, why
from matchbench.mpi.stack import Stack, read_stack
from matchbench.native_types import JudgedRun

TellDone = Callable[[int], None]
"""Called with a number of programs or steps."""

MARK = "@matchbench-conform "

_FIRST_LIMIT = 3.0  # seconds for a program before anything is known; connections are made in the first ones
_LEAST_LIMIT = 1.0  # seconds: a busy machine suspends a rank for tenths of a second
_FACTOR = 4  # a limit is so many times the longest program so far; one that exceeds it is repeated
_QUICK_LIMIT = 0.4  # least time limit in seconds of a program that is repeated later if it exceeds it
_QUICK_FACTOR = 8  # it may take so many times the longest program so far
_DELAYS = 5  # so many unexplained delays double the limit
_CONFIRMING_FACTOR = 2  # after a first hang was confirmed, others are confirmed with so many limits
_FIRST_START = 60.0  # seconds for the start of the first job
_LEAST_START = 5.0  # seconds for the start of any other
_START_FACTOR = 10  # a start may take so many times the longest start so far
_FIRST_START_SHARE = 1 / 6  # of the budget: the longest time of the first start
_START_SHARE = 0.05  # of the budget: the longest time of any other
_SLICES = 8  # parts of a time limit (SLICES of conform.c)
_MOST_FACTOR = 10  # on a busy machine a program may take so many times its limit
_HANG_SHARE = (
    0.01  # of the budget: a program may take so long on a busy machine, or its limit if that is longer
)
_GRACE_SHARE = 0.03  # of the budget: for a launcher to end its ranks
_TRIALS_TO_START = 3  # of the first job


class NotStartedError(MatchbenchError):
    """A job that did not begin its first program.

    Parameters
    ----------
    reason
        The MPI's message.
    is_initialized
        Whether `MPI_Init` had returned.
    said
        Last lines of the job.
    is_stalled
        Whether the launcher had to be ended.
    """

    def __init__(
        self, reason: str, *, is_initialized: bool, said: Sequence[str] = (), is_stalled: bool = False
    ) -> None:
        stage = (
            "MPI started, but the test programs did not"
            if is_initialized
            else "the test programs did not start"
        )
        super().__init__(f"{stage}: {reason}")
        self.reason = reason
        self.is_initialized = is_initialized
        self.said = tuple(said)
        self.is_stalled = is_stalled


@dataclass(slots=True)
class Patience:
    """Time limits of a program, learned from programs that ended.

    Parameters
    ----------
    ceiling
        The longest limit in seconds.
    """

    ceiling: float
    limit: float = field(init=False)
    """The limit in use."""
    longest: float = field(default=0.0, init=False)
    """Longest time of a program that ended within its limit."""
    has_confirmed: bool = field(default=False, init=False)
    _least: float = field(default=_LEAST_LIMIT, init=False)
    _distrusted: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        """Begin with a limit that holds until something is known."""
        self.limit = min(self.ceiling, _FIRST_LIMIT)

    @classmethod
    def resumed(cls, state: Mapping[str, Any]) -> "Patience":
        """Give the limits that `dataclasses.asdict` described."""
        given = cls(float(state["ceiling"]))
        given.limit, given.longest = float(state["limit"]), float(state["longest"])
        given.has_confirmed = bool(state["has_confirmed"])
        given._least, given._distrusted = float(state["_least"]), int(state["_distrusted"])
        return given

    def learn(self, longest: float) -> None:
        """Take into account a job whose longest program took `longest` seconds."""
        self.longest = max(self.longest, longest)
        self.limit = min(self.ceiling, max(self._least, _FACTOR * self.longest))

    def distrust(self, longest: float) -> None:
        """Lengthen the limit after a program exceeded it and then ended in `longest` seconds.

        If the program was fast then, a rank was delayed once, or it hangs seldom: only some such cases show
        that the limit is too short for this machine.
        """
        self._distrusted += 1
        if longest > self.limit / _FACTOR or self._distrusted % _DELAYS == 0:
            self._least = min(self.ceiling, 2 * self.limit)
            self.limit = max(self.limit, self._least)

    def quick(self) -> float:
        """Give the limit of a program that is repeated later if it exceeds it."""
        if not self.longest:
            return self.limit
        return min(self.limit, max(_QUICK_LIMIT, _QUICK_FACTOR * self.longest))

    def confirming(self) -> float:
        """Give the limit that decides whether a program that exceeded the limit hangs."""
        if self.has_confirmed:
            return min(self.ceiling, _CONFIRMING_FACTOR * self.limit)
        return self.ceiling


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What one job gave.

    Parameters
    ----------
    judged
        Verdicts on its programs.
    files
        Outcome files of the ranks.
    ended
        How it ended.
    longest_seconds
        Longest time of a program that ended.
    interruption
        The exception that ended it, Ctrl-C or SIGTERM; the verdicts are those up to this moment.
    is_out_of_time
        Whether the deadline ended it.
    """

    judged: JudgedRun
    files: list[bytes]
    ended: Ended
    longest_seconds: float = 0.0
    interruption: BaseException | None = None
    is_out_of_time: bool = False


class _OutOfTime(Exception):  # noqa: N818 - no error, a signal
    """Unwinds a job at its deadline."""


class Runner:
    """An MPI library and the C runner built for it.

    Parameters
    ----------
    mpi
        Compiler and launcher.
    directory
        A directory that all ranks can access.
    ceiling_seconds
        Longest time limit of a program.
    program
        The C runner, if it was already built; it is built in `directory` otherwise.
    """

    budget_seconds: float = float("inf")
    """The budget, of which a start or a program that hangs may take a small part."""

    def __init__(
        self, mpi: Mpi, directory: Path, ceiling_seconds: float, program: Path | None = None
    ) -> None:
        self.mpi = mpi.crowded()
        self.directory = directory
        self.jobs = 0
        self.stack = Stack()
        self.patience = Patience(ceiling_seconds)
        self._longest_start: float | None = None
        self.program = program or build_runner(mpi, directory)

    def longest_hang(self, limit: float) -> float:
        """Give the seconds that a program with a time limit takes at most, however busy the machine is."""
        return min(_MOST_FACTOR * limit, max(limit, _HANG_SHARE * self.budget_seconds))

    def _start_seconds(self) -> float:
        """Give the seconds in which a job must start."""
        if self._longest_start is None:
            return min(_FIRST_START, max(_LEAST_START, _FIRST_START_SHARE * self.budget_seconds))
        allowed = max(_LEAST_START, _START_FACTOR * self._longest_start)
        return min(allowed, max(_LEAST_START, _START_SHARE * self.budget_seconds))

    def _grace_seconds(self) -> float:
        """Give the seconds in which a launcher must end its ranks."""
        return min(GRACE_SECONDS, max(0.2, _GRACE_SHARE * self.budget_seconds))

    def lacks(self) -> tuple[str, ...]:
        """Run the C runner on one rank, and return the features that the MPI library lacks.

        Newer calls of MPI are weak symbols there. A library without `MPI_THREAD_MULTIPLE` lacks threads.

        Raises
        ------
        NotStartedError
            If the job does not start or does not answer.
        """
        lines: list[str] = []
        for _ in range(_TRIALS_TO_START):
            ended = self.mpi.run(
                1,
                [self.program, "lacks"],
                mark=f"{MARK}lacks",
                on_line=lines.append,
                stall_seconds=self._start_seconds(),
                grace_seconds=self._grace_seconds(),
            )
            if lines or not ended.stalled:
                break
        if not lines:
            raise NotStartedError(
                why(ended, self.mpi.flavour), is_initialized=False, said=ended.said, is_stalled=ended.stalled
            )
        return tuple(features_lacking(lines[0].split()))

    def run(
        self,
        programs: TestPrograms,
        first: int,
        *,
        limit: float | None = None,
        others: float | None = None,
        deadline: float = float("inf"),
        progress: TellDone | None = None,
    ) -> Job:
        """Run the programs from `first` on in one job.

        Parameters
        ----------
        programs, first
            The programs, and the index of the first one to run.
        limit
            Time limit of program `first` in seconds; the learned one by default.
        others
            Time limit of the others.
        deadline
            Value of `time.monotonic` at which the job is ended.
        progress
            Called with the number of programs performed.

        Raises
        ------
        NotStartedError
            If the job did not begin a program.
        MatchbenchError
            If the runner could not go on, for example because the disk is full.
        """
        self.jobs += 1
        began = time.monotonic()
        interruption: BaseException | None = None
        is_out_of_time = False
        longest = 0.0
        has_started = False

        def on_line(line: str) -> None:
            nonlocal longest, has_started
            if not has_started:
                has_started = True
                self._longest_start = max(self._longest_start or 0.0, time.monotonic() - began)
            done, _, microseconds = line.strip().partition(" ")
            if done.isdecimal() and microseconds.isdecimal():
                longest = max(longest, int(microseconds) / 1e6)
                if progress is not None:
                    progress(int(done))
            if time.monotonic() > deadline:
                raise _OutOfTime

        limits = (limit or self.patience.limit, others or self.patience.limit)
        longest_hang = self.longest_hang(max(limits))
        slices = round(_SLICES * longest_hang / max(limits))
        with Scratch(self.directory, "job-") as name:
            folder = Path(name)
            write_file(folder / "programs", programs.encode())
            words: list[str | Path] = [self.program, folder / "programs", folder, str(first)]
            words += [*(str(round(1000 * seconds)) for seconds in limits), str(slices)]
            try:
                ended = self.mpi.run(
                    programs.ranks,
                    words,
                    mark=MARK,
                    on_line=on_line,
                    stall_seconds=self._start_seconds() + longest_hang,
                    deadline=deadline,
                    grace_seconds=self._grace_seconds(),
                )
                is_out_of_time = ended.stalled and time.monotonic() > deadline
            except _OutOfTime:
                is_out_of_time, ended = True, Ended(status=0, stalled=False, said=())
            except (KeyboardInterrupt, SystemExit) as error:
                interruption, ended = error, Ended(status=0, stalled=False, said=())
            files = [_read(folder / f"{first}.{rank}.out") for rank in range(programs.ranks)]
            reasons = [_read(folder / f"reason.{rank}.txt") for rank in range(programs.ranks)]
            if described := _read(folder / "stack.txt"):
                self.stack = read_stack(described.decode(errors="replace"))
        judged = programs.judge(first, files)
        if is_out_of_time or interruption:
            _drop_unfinished(judged)
        elif judged["next"] == first:
            alone = programs.ranks > 1 and any(line.endswith("launcher started 1") for line in ended.said)
            reason = self.mpi.mismatch() if alone else why(ended, self.mpi.flavour)
            raise NotStartedError(
                reason, is_initialized=bool(described), said=ended.said, is_stalled=ended.stalled
            )
        elif reason := b"".join(reasons).decode(errors="replace"):
            # Not the MPI's fault; what the programs before gave is kept, and the same command continues.
            msg = f"{reason.splitlines()[0]}; the search has ended there"
            raise MatchbenchError(msg)
        return Job(
            judged=judged,
            files=files,
            ended=ended,
            longest_seconds=longest,
            interruption=interruption,
            is_out_of_time=is_out_of_time,
        )


def build_runner(mpi: Mpi, directory: Path) -> Path:
    """Build the C runner with the user's compiler and return its path.

    Raises
    ------
    MatchbenchError
        When the compiler fails.
    """
    for name, text in runner_sources():
        write_file(directory / name, text)
    sources = [directory / name for name, _ in runner_sources() if name.endswith(".c")]
    mpi.build(sources, directory / "conform", ("-O2", "-pthread"), libraries=["-ldl"])
    return directory / "conform"


def _read(file: Path) -> bytes:
    return file.read_bytes() if file.exists() else b""


def _drop_unfinished(judged: JudgedRun) -> None:
    """Remove the program that was running when a job was ended from outside: it is not a crash."""
    failures = judged["failures"]
    if failures and failures[-1]["kind"] in ENDINGS and failures[-1]["index"] == judged["next"] - 1:
        judged["next"] -= 1
        failures.pop()
