# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Runs trials, random programs, on the user's MPI, and shrinks one that comes to what MPI does not allow.

`conform.c` performs the programs; Rust makes and judges them. A program that hangs or crashes ends the job,
and a new job goes on behind it. `docs/mpi-conform.md` tells what is checked and why.
"""

import math
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from matchbench import MatchbenchError
from matchbench._native import Trials, runner_sources
from matchbench.mpi.launch import Ended, Mpi, why
from matchbench.native_types import JudgedRun

MARK = "@matchbench-conform "
BATCH = 2000
"""Programs of one job."""

ENDINGS = ("stuck", "crashed")
"""Kinds of failure that end the job."""

_START_SECONDS = 60  # until a job has started
_CONFIRM = 50  # runs of a program that failed once, to see how often it does
_RATE = 200  # runs of the program that is left
_ENDING_RUNS = 3  # the same for one that ends the job each time
_MOST_RUNS = 4000  # programs of one job while shrinking

Tell = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is asked of the MPI.

    Parameters
    ----------
    programs
        How many.
    ranks
        Ranks of each.
    seed
        Which ones.
    limit_seconds
        Time limit of one program.
    endings
        After so many programs that hang or crash the rest is left out.
    without
        Features that no program has; names from `matchbench._native.trial_features`.
    """

    programs: int = 10_000
    ranks: int = 2
    seed: int = 1
    limit_seconds: int = 10
    endings: int = 3
    without: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what cannot be run.

        Raises
        ------
        MatchbenchError
            With what is wrong.
        """
        for name, value in (("programs", self.programs), ("limit_seconds", self.limit_seconds)):
            if value < 1:
                msg = f"{name} must be at least 1, not {value}"
                raise MatchbenchError(msg)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrunk:
    """A program that fails, as short as it could be made.

    Parameters
    ----------
    programs, place
        A set of programs, and where it is among them.
    text
        What was seen, the last time.
    runs, failed
        How often it was run, and how often it failed.
    files
        What the ranks wrote when it failed.
    """

    programs: Trials
    place: int
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
        Its number.
    kind
        `defect`, `order`, `null`, `truncation`, `stuck` or `crashed`.
    text
        What was seen.
    said
        The job's last words, if it ended it.
    """

    number: int
    kind: str
    text: str
    said: str = ""


@dataclass(slots=True)
class Conformance:
    """What the programs came to."""

    library: str = ""
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)
    unexplained: int | None = None
    """Number of the first program that no order of arrivals explains."""
    restarts: int = 0
    asked: int = 0
    remarks: list[str] = field(default_factory=list)

    def is_ended_by_failures(self, plan: Plan) -> bool:
        """Say whether so many programs hung or crashed that the rest is left out."""
        return sum(failure.kind in ENDINGS for failure in self.failures) >= plan.endings


class Runner:
    """An MPI with the interpreter built for it.

    Parameters
    ----------
    mpi
        Compiler and launcher.
    directory
        A place that all ranks see.
    """

    def __init__(self, mpi: Mpi, directory: Path) -> None:
        self.mpi = mpi.crowded()
        self.directory = directory
        self.program = directory / "conform"
        self.jobs = 0
        self.library = ""
        sources = [(directory / name, text) for name, text in runner_sources()]
        for source, text in sources:
            source.write_text(text)
        mpi.build(sources[0][0], self.program)

    def run(
        self, programs: Trials, first: int, limit_seconds: int, tell: Callable[[int], None]
    ) -> tuple[JudgedRun, list[bytes], Ended]:
        """Run programs from `first` on until all are through or the job ends.

        Raises
        ------
        MatchbenchError
            When no program was begun.
        """
        self.jobs += 1
        with tempfile.TemporaryDirectory(prefix="job-", dir=self.directory) as name:
            place = Path(name)
            (place / "programs").write_bytes(programs.encode())
            words: list[str | Path] = [
                self.program,
                place / "programs",
                place,
                str(first),
                str(limit_seconds),
            ]
            ended = self.mpi.run(
                programs.ranks,
                words,
                mark=MARK,
                on_line=lambda line: tell(int(line)) if line.strip().isdecimal() else None,
                stall_seconds=_START_SECONDS + 2 * limit_seconds,
            )
            files = []
            for rank in range(programs.ranks):
                file = place / f"{first}.{rank}.out"
                files.append(file.read_bytes() if file.exists() else b"")
            if (place / "library.txt").exists():
                self.library = (place / "library.txt").read_text(errors="replace").strip()
        judged = programs.judge(first, files)
        if judged["next"] == first:
            alone = programs.ranks > 1 and any(line.endswith("launcher started 1") for line in ended.said)
            reason = self.mpi.mismatch() if alone else why(ended, self.mpi.flavour)
            msg = f"the programs did not start: {reason}"
            raise MatchbenchError(msg)
        return judged, files, ended


def conform(runner: Runner, plan: Plan, tell: Tell) -> Conformance:
    """Run the programs of `plan` and judge what comes of them.

    Raises
    ------
    MatchbenchError
        When the interpreter cannot be run.
    """
    found = Conformance()
    for jobs, start in enumerate(range(0, plan.programs, BATCH), 1):
        _run_batch(runner, plan, start, found, tell)
        found.library, found.restarts = runner.library, runner.jobs - jobs
        if found.is_ended_by_failures(plan):
            break
        tell(found.asked, plan.programs)
    return found


def _run_batch(runner: Runner, plan: Plan, start: int, found: Conformance, tell: Tell) -> None:
    """Run the programs of one job from number `start` on, in more jobs if some of them end it."""
    count = min(BATCH, plan.programs - start)
    programs = Trials(plan.seed, start, count, ranks=plan.ranks, without=plan.without)
    first = 0
    while first < len(programs) and not found.is_ended_by_failures(plan):
        told = partial(_tell_from, tell, start, plan.programs)
        judged, _, ended = runner.run(programs, first, plan.limit_seconds, told)
        first = judged["next"]
        found.asked = start + first
        found.counts.update(judged["counts"])
        if found.unexplained is None and judged["unexplained"] is not None:
            found.unexplained = start + judged["unexplained"]
        said = why(ended, runner.mpi.flavour)
        found.failures += [
            Failure(
                number=start + failure["place"],
                kind=failure["kind"],
                text=failure["text"],
                said=said if failure["kind"] in ENDINGS else "",
            )
            for failure in judged["failures"]
        ]
        is_explained = any(failure["kind"] in ENDINGS for failure in judged["failures"])
        if first == len(programs) and ended.status != 0 and not is_explained:
            found.remarks.append(f"a job failed after its last program: {said}")
        elif first < len(programs) and not is_explained:
            text = "the job ended between this program and the next"
            found.failures.append(Failure(number=start + first - 1, kind="crashed", text=text, said=said))


def _tell_from(tell: Tell, start: int, total: int, done: int) -> None:
    tell(start + done, total)


def shrink(runner: Runner, plan: Plan, failure: Failure, tell: Callable[[int], None]) -> Shrunk | None:
    """Make the program of `failure` as short as it can be; `None` if it never fails again in the same way.

    Parameters
    ----------
    runner, plan
        As of `conform`.
    failure
        Which program.
    tell
        Called with the number of steps that are left.
    """
    programs = Trials(plan.seed, failure.number, 1, ranks=plan.ranks, without=plan.without)
    is_ending = failure.kind in ENDINGS
    # A program takes a millisecond: a hang shows soon enough, and the last one gets all of its time.
    limit = max(1, plan.limit_seconds // 5) if is_ending else plan.limit_seconds
    confirmed = _repeat(runner, programs, failure.kind, _ENDING_RUNS if is_ending else _CONFIRM, limit)
    if confirmed is None:
        confirmed = _repeat(runner, programs, failure.kind, 10 * _CONFIRM, limit)
    if confirmed is None:
        return None
    times = 10 if is_ending else min(_CONFIRM, math.ceil(5 * confirmed.runs / confirmed.failed))
    while True:
        tell(programs.steps(0))
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
    runner: Runner, programs: Trials, kind: str, times: int, limit: int, *, once: bool = False
) -> Shrunk | None:
    """Run one program some times, or `once` until a job of it fails; `None` if it never does."""
    repeated = programs.pick([0], times)
    failed, first = 0, 0
    shown: tuple[str, list[bytes], int] | None = None
    while first < times and not (once and shown):
        judged, files, _ = runner.run(repeated, first, limit, lambda _: None)
        first = judged["next"]
        same = [failure for failure in judged["failures"] if failure["kind"] == kind]
        failed += len(same)
        if same:
            shown = (same[0]["text"], files, same[0]["place"])
    if shown is None:
        return None
    text, files, place = shown
    return Shrunk(programs=repeated, place=place, text=text, runs=first, failed=failed, files=files)


def _first_failing(runner: Runner, candidates: Trials, kind: str, times: int, limit: int) -> Shrunk | None:
    """Run every candidate some times; give the first that fails, and fails again in a job of its own.

    A job in which the library has broken something of its own makes programs fail that are not to blame.
    """
    places = list(range(len(candidates)))
    for start in range(0, len(places), max(1, _MOST_RUNS // times)):
        some = places[start : start + max(1, _MOST_RUNS // times)]
        programs = candidates.pick(some, times)
        first, failing = 0, set[int]()
        while first < len(programs) and not failing:
            judged, _, _ = runner.run(programs, first, limit, lambda _: None)
            first = judged["next"]
            failing = {f["place"] % len(some) for f in judged["failures"] if f["kind"] == kind}
        for place in sorted(failing):
            if found := _repeat(runner, candidates.pick([some[place]], 1), kind, times, limit, once=True):
                return found
    return None
