# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs random test programs on the user's MPI and shrinks those whose outcome MPI does not permit.

The C runner performs the programs; Rust generates and judges them. A program that hangs or crashes ends the
job; a new job resumes with the next program. `docs/mpi-conform.md` describes what is checked and why.
"""

import math
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from matchbench import MatchbenchError
from matchbench._native import TestPrograms, runner_sources
from matchbench.mpi.launch import Ended, Mpi, why
from matchbench.native_types import JudgedRun

MARK = "@matchbench-conform "
BATCH = 2000
"""Programs per job."""

ENDINGS = ("stuck", "crashed")
"""Kinds of failure that end the job."""

_START_SECONDS = 60  # time limit for the start of a job
_CONFIRM = 50  # runs of a program that failed once, to estimate its failure rate
_RATE = 200  # runs of the shrunk program, to measure its failure rate
_ENDING_RUNS = 3  # replaces both for a failure that ends the job
_MAX_RUNS = 4000  # programs per job while shrinking

Progress = Callable[[int, int], None]
"""Called with the number of programs performed and the number planned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Which programs to run, and with which limits.

    Parameters
    ----------
    programs
        Number of programs.
    ranks
        Ranks per program.
    seed
        Seed of the generator.
    limit_seconds
        Time limit per program.
    endings
        Stop after this many programs that hang or crash.
    without
        Features excluded from every program; names from `matchbench._native.program_features`.
    """

    programs: int = 10_000
    ranks: int = 2
    seed: int = 1
    limit_seconds: int = 10
    endings: int = 3
    without: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises
        ------
        MatchbenchError
            If a number is out of range.
        """
        for name, value in (("programs", self.programs), ("limit_seconds", self.limit_seconds)):
            if value < 1:
                msg = f"plan: {name} is {value}; expected at least 1"
                raise MatchbenchError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrunk:
    """The shortest program found that fails in the same way.

    Parameters
    ----------
    programs, index
        A set of programs, and the index of the failing one.
    text
        Description of the last failure.
    runs, failed
        Number of runs, and how many of them failed.
    files
        Outcome files of the ranks from the last failure.
    """

    programs: TestPrograms
    index: int
    text: str
    runs: int
    failed: int
    files: list[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A program that failed.

    Parameters
    ----------
    number
        Number of the program.
    kind
        `defect`, `order`, `null`, `truncation`, `stuck` or `crashed`.
    text
        Description of the failure.
    said
        Last output of the job, if the failure ended it.
    """

    number: int
    kind: str
    text: str
    said: str = ""


@dataclass(slots=True)
class Conformance:
    """Results of all programs."""

    library: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    unexplained: int | None = None
    """Number of the first program whose outcome no order of arrivals explains."""
    restarts: int = 0
    asked: int = 0
    remarks: list[str] = field(default_factory=list)

    def is_ended_by_failures(self, plan: Plan) -> bool:
        """Return whether the run was stopped because too many programs hung or crashed."""
        return sum(failure.kind in ENDINGS for failure in self.failures) >= plan.endings


class Runner:
    """An MPI library and the C runner built for it.

    Parameters
    ----------
    mpi
        Compiler and launcher.
    directory
        A directory that all ranks can access.
    """

    def __init__(self, mpi: Mpi, directory: Path) -> None:
        self.mpi = mpi.crowded()
        self.directory = directory
        self.program = directory / "conform"
        self.jobs = 0
        self.library = ""
        for name, text in runner_sources():
            (directory / name).write_text(text)
        sources = [directory / name for name, _ in runner_sources() if name.endswith(".c")]
        mpi.build(sources, self.program)

    def run(
        self, programs: TestPrograms, first: int, limit_seconds: int, progress: Callable[[int], None]
    ) -> tuple[JudgedRun, list[bytes], Ended]:
        """Run the programs from `first` on in one job; return the verdicts, the outcome files and the exit.

        Raises
        ------
        MatchbenchError
            If the job did not start a single program.
        """
        self.jobs += 1
        with tempfile.TemporaryDirectory(prefix="job-", dir=self.directory) as name:
            folder = Path(name)
            (folder / "programs").write_bytes(programs.encode())
            words: list[str | Path] = [
                self.program,
                folder / "programs",
                folder,
                str(first),
                str(limit_seconds),
            ]
            ended = self.mpi.run(
                programs.ranks,
                words,
                mark=MARK,
                on_line=lambda line: progress(int(line)) if line.strip().isdecimal() else None,
                stall_seconds=_START_SECONDS + 2 * limit_seconds,
            )
            files = []
            for rank in range(programs.ranks):
                file = folder / f"{first}.{rank}.out"
                files.append(file.read_bytes() if file.exists() else b"")
            if (folder / "library.txt").exists():
                self.library = (folder / "library.txt").read_text(errors="replace").strip()
        judged = programs.judge(first, files)
        if judged["next"] == first:
            alone = programs.ranks > 1 and any(line.endswith("launcher started 1") for line in ended.said)
            reason = self.mpi.mismatch() if alone else why(ended, self.mpi.flavour)
            msg = f"the test programs did not start: {reason}"
            raise MatchbenchError(msg)
        return judged, files, ended


def conform(runner: Runner, plan: Plan, progress: Progress) -> Conformance:
    """Run the programs of `plan` and judge their outcomes.

    Raises
    ------
    MatchbenchError
        If a job cannot be started.
    """
    found = Conformance()
    for jobs, start in enumerate(range(0, plan.programs, BATCH), 1):
        _run_batch(runner, plan, start, found, progress)
        found.library, found.restarts = runner.library, runner.jobs - jobs
        if found.is_ended_by_failures(plan):
            break
        progress(found.asked, plan.programs)
    return found


def _run_batch(runner: Runner, plan: Plan, start: int, found: Conformance, progress: Progress) -> None:
    """Run one batch, from program `start` on; a program that ends the job costs one more job."""
    count = min(BATCH, plan.programs - start)
    programs = TestPrograms(plan.seed, start, count, ranks=plan.ranks, without=plan.without)
    first = 0
    while first < len(programs) and not found.is_ended_by_failures(plan):
        advance = partial(_progress_from, progress, start, plan.programs)
        judged, _, ended = runner.run(programs, first, plan.limit_seconds, advance)
        first = judged["next"]
        found.asked = start + first
        found.counts.update(judged["counts"])
        if found.unexplained is None and judged["unexplained"] is not None:
            found.unexplained = start + judged["unexplained"]
        said = why(ended, runner.mpi.flavour)
        found.failures += [
            Failure(
                number=start + failure["index"],
                kind=failure["kind"],
                text=failure["text"],
                said=said if failure["kind"] in ENDINGS else "",
            )
            for failure in judged["failures"]
        ]
        is_explained = any(failure["kind"] in ENDINGS for failure in judged["failures"])
        if first == len(programs) and ended.status != 0 and not is_explained:
            found.remarks.append(f"the job failed after its last program: {said}")
        elif first < len(programs) and not is_explained:
            text = "the job ended between this program and the next"
            found.failures.append(Failure(number=start + first - 1, kind="crashed", text=text, said=said))


def _progress_from(progress: Progress, start: int, total: int, done: int) -> None:
    progress(start + done, total)


def shrink(runner: Runner, plan: Plan, failure: Failure, progress: Callable[[int], None]) -> Shrunk | None:
    """Shrink the program of `failure`; `None` if it never fails again in the same way.

    Parameters
    ----------
    runner, plan
        As for `conform`.
    failure
        A failure found by `conform`.
    progress
        Called with the number of steps left.
    """
    programs = TestPrograms(plan.seed, failure.number, 1, ranks=plan.ranks, without=plan.without)
    is_ending = failure.kind in ENDINGS
    # A program takes about a millisecond, so a shorter limit detects a hang.
    # The final runs use the full limit.
    limit = max(1, plan.limit_seconds // 5) if is_ending else plan.limit_seconds
    confirmed = _repeat(runner, programs, failure.kind, _ENDING_RUNS if is_ending else _CONFIRM, limit)
    if confirmed is None:
        confirmed = _repeat(runner, programs, failure.kind, 10 * _CONFIRM, limit)
    if confirmed is None:
        return None
    times = 10 if is_ending else min(_CONFIRM, math.ceil(5 * confirmed.runs / confirmed.failed))
    while True:
        progress(programs.steps(0))
        simpler = next(
            (
                found
                for candidates in programs.candidates(0)
                if (found := _first_failing(runner, candidates, failure.kind, times, limit)) is not None
            ),
            None,
        )
        if simpler is None:
            break
        confirmed, programs = simpler, simpler.programs.pick([0], 1)
    programs = programs.renumbered(0)
    runs = _ENDING_RUNS if is_ending else _RATE
    return _repeat(runner, programs, failure.kind, runs, plan.limit_seconds) or confirmed


def _repeat(
    runner: Runner, programs: TestPrograms, kind: str, times: int, limit: int, *, once: bool = False
) -> Shrunk | None:
    """Run one program `times` times, or with `once` until a job shows a failure; `None` if it never fails."""
    repeated = programs.pick([0], times)
    failed, first = 0, 0
    shown: tuple[str, list[bytes], int] | None = None
    while first < times and not (once and shown):
        judged, files, _ = runner.run(repeated, first, limit, lambda _: None)
        first = judged["next"]
        same = [failure for failure in judged["failures"] if failure["kind"] == kind]
        failed += len(same)
        if same:
            shown = (same[0]["text"], files, same[0]["index"])
    if shown is None:
        return None
    text, files, index = shown
    return Shrunk(programs=repeated, index=index, text=text, runs=first, failed=failed, files=files)


def _first_failing(
    runner: Runner, candidates: TestPrograms, kind: str, times: int, limit: int
) -> Shrunk | None:
    """Return the first candidate that fails, and fails again in a job of its own.

    The second job is needed because a faulty library may corrupt its state, so that later programs of the
    job fail through no fault of their own.
    """
    batch = max(1, _MAX_RUNS // times)
    for start in range(0, len(candidates), batch):
        indices = list(range(start, min(start + batch, len(candidates))))
        programs = candidates.pick(indices, times)
        first, failing = 0, set[int]()
        while first < len(programs) and not failing:
            judged, _, _ = runner.run(programs, first, limit, lambda _: None)
            first = judged["next"]
            failing = {f["index"] % len(indices) for f in judged["failures"] if f["kind"] == kind}
        for position in sorted(failing):
            alone = candidates.pick([indices[position]], 1)
            if found := _repeat(runner, alone, kind, times, limit, once=True):
                return found
    return None
