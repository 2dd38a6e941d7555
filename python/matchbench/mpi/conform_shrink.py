# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Shrinks a program that failed, within a time limit; the best result so far is always available."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from matchbench._native import TestPrograms
from matchbench.mpi.conform_plan import ENDINGS, Plan, Shrinking, Shrunk
from matchbench.mpi.conform_runner import Job, NotStartedError, Runner

_CONFIRM = 50  # runs of a program that failed once, to estimate its failure rate
_RATE = 200  # runs of the shrunk program, to measure its failure rate
_ENDING_RUNS = 3  # replaces both for a failure that ends the job
_ENDING_TIMES = 10  # runs of a candidate, if such a failure is not seen in each run
_TRIALS_TO_START = 3  # of a job
_FIRST_BATCH = 8  # candidates of the first job
_BATCH_GROWS = 4  # factor for each further job
_MAX_RUNS = 4000  # programs per job
_LAST_SHARE = 0.25  # share of the time limit for the last runs
_FIRST_SHARE = 0.4  # share of that for the first of them

Tell = Callable[[int], None]
"""Called with the number of steps left."""


class _OutOfTime(Exception):  # noqa: N818 - no error, a signal
    """Ends the shrinking with the best result so far."""


@dataclass(slots=True)
class _Shrinker:
    """Runs candidates of one failure until a deadline."""

    runner: Runner
    kind: str
    deadline: float

    def quick_limit(self) -> float:
        """Give the time limit of a candidate in seconds; what is left at the end runs with the full one."""
        return self.runner.patience.quick()

    def run(self, programs: TestPrograms, first: int, limit: float | None = None) -> Job:
        """Run a job; raise what interrupts it."""
        if time.monotonic() >= self.deadline:
            raise _OutOfTime
        quick = self.quick_limit()
        for trial in range(_TRIALS_TO_START):
            try:
                job = self.runner.run(
                    programs, first, limit=limit or quick, others=quick, deadline=self.deadline
                )
                break
            except NotStartedError as error:
                # A launcher that hangs now and then.
                if not error.is_stalled or trial + 1 == _TRIALS_TO_START:
                    raise
                if time.monotonic() >= self.deadline:
                    raise _OutOfTime from error
        if job.interruption is not None:
            raise job.interruption
        return job

    def repeat(
        self, programs: TestPrograms, times: int, *, limit: float | None = None, once: bool = False
    ) -> Shrunk | None:
        """Run one program `times` times, or with `once` until it fails; `None` if it never fails.

        Parameters
        ----------
        programs
            A set with the program at index 0.
        times
            Number of runs.
        limit
            Time limit of the first run; that of the others is learned.
        once
            Whether to stop after a job that showed the failure.
        """
        repeated = programs.pick([0], times)
        failed, first = 0, 0
        shown: tuple[str, list[bytes], int] | None = None
        while first < times and not (once and shown):
            try:
                job = self.run(repeated, first, limit)
            except _OutOfTime:
                if shown is None:
                    raise
                break
            first, limit = job.judged["next"], None
            same = [failure for failure in job.judged["failures"] if failure["kind"] == self.kind]
            failed += len(same)
            if same:
                shown = (same[0]["text"], job.files, same[0]["index"])
            if job.is_out_of_time:
                break
        if shown is None:
            return None
        text, files, index = shown
        return Shrunk(programs=repeated, index=index, text=text, runs=first, failed=failed, files=files)

    def first_failing(self, candidates: TestPrograms, times: int) -> Shrunk | None:
        """Return the first candidate that fails, and fails again in a job of its own.

        The second job is needed because a faulty library may corrupt its state, so that later programs of the
        job fail because of an earlier one.
        """
        start, batch = 0, _FIRST_BATCH
        while start < len(candidates):
            # The simplest candidates come first; a program that fails often does so in one of them.
            indices = list(range(start, min(start + batch, len(candidates))))
            start += len(indices)
            batch = max(1, min(_BATCH_GROWS * batch, _MAX_RUNS // times))
            programs = candidates.pick(indices, times)
            first, failing = 0, set[int]()
            while first < len(programs) and not failing:
                start_of_job = first
                job = self.run(programs, first)
                first = job.judged["next"]
                same = [failure for failure in job.judged["failures"] if failure["kind"] == self.kind]
                failing = {failure["index"] % len(indices) for failure in same}
                if self.kind in ENDINGS and same and same[0]["index"] == start_of_job:
                    # No other program ran in this job.
                    return Shrunk(
                        programs=programs,
                        index=start_of_job,
                        text=same[0]["text"],
                        runs=1,
                        failed=1,
                        files=job.files,
                    )
            for position in sorted(failing):
                alone = candidates.pick([indices[position]], 1)
                if found := self.repeat(alone, times, once=True):
                    return found
        return None


def shrink(
    runner: Runner, plan: Plan, shrinking: Shrinking, progress: Tell, *, seconds: float | None = None
) -> None:
    """Shrink the program of a failure, or its best result so far, which is kept also when interrupted.

    Parameters
    ----------
    runner, plan
        As for `conform`.
    shrinking
        The failure, and the place of the result.
    progress
        Called with the number of steps left.
    seconds
        Time limit; that of the plan by default.

    Raises
    ------
    KeyboardInterrupt, SystemExit
        When interrupted; `shrinking` is valid.
    """
    began = time.monotonic()
    allowed = seconds or plan.shrink_seconds
    try:
        _shrink(runner, plan, shrinking, progress, (began, allowed))
    except (KeyboardInterrupt, SystemExit):
        shrinking.state = "interrupted"
        raise
    except _OutOfTime:
        shrinking.state = "time limit"
    except NotStartedError:
        shrinking.state = "not seen again" if shrinking.best is None else "time limit"
    finally:
        shrinking.seconds += time.monotonic() - began


def _shrink(
    runner: Runner, plan: Plan, shrinking: Shrinking, progress: Tell, time_: tuple[float, float]
) -> None:
    began, allowed = time_
    failure = shrinking.failure
    shrinker = _Shrinker(runner, failure.kind, began + allowed)
    if shrinking.best is None:
        programs = TestPrograms(
            plan.seed,
            failure.number,
            1,
            ranks=plan.ranks,
            without=failure.without,
            for_order=failure.for_order,
        )
    else:
        programs = shrinking.best.programs.pick([shrinking.best.index], 1)
    is_ending = failure.kind in ENDINGS
    confirmed = shrinker.repeat(programs, _ENDING_RUNS if is_ending else _CONFIRM)
    if confirmed is None:
        confirmed = shrinker.repeat(programs, 10 * _CONFIRM, once=True)
    if confirmed is None:
        shrinking.state = "not seen again" if shrinking.best is None else "time limit"
        return
    shrinking.best = confirmed
    shrinking.was_repeated |= confirmed.failed > 1
    is_sure = confirmed.failed == confirmed.runs
    if is_ending:
        times = _ENDING_RUNS if is_sure else _ENDING_TIMES
    else:
        times = min(_CONFIRM, math.ceil(5 * confirmed.runs / confirmed.failed))
    shrinker.deadline = began + (1 - _LAST_SHARE) * allowed
    state = "complete"
    earlier = [confirmed]
    try:
        while simpler := _simpler(shrinker, shrinking.best.programs, shrinking.best.index, times, progress):
            shrinking.best = simpler
            earlier.append(simpler)
    except _OutOfTime:
        state = "time limit"
    shrinker.deadline = began + allowed
    shrinking.best = _measured(shrinker, earlier, plan)
    shrinking.state = state


def _simpler(
    shrinker: _Shrinker, programs: TestPrograms, index: int, times: int, progress: Tell
) -> Shrunk | None:
    """Return a simpler program that fails in the same way."""
    progress(programs.steps(index))
    for candidates in programs.candidates(index):
        if (found := shrinker.first_failing(candidates, times)) is not None:
            return found
    return None


def _measured(shrinker: _Shrinker, earlier: list[Shrunk], plan: Plan) -> Shrunk:
    """Measure the failure rate of the last program that fails again; a hang once with the full limit.

    Programs before the last are tried because a candidate has a short limit, and is seen to fail only twice.
    """
    runs = _ENDING_RUNS if shrinker.kind in ENDINGS else _RATE
    # Of a program that hangs, at least one more run is to fit into the time left.
    limit = max(shrinker.quick_limit(), _FIRST_SHARE * (shrinker.deadline - time.monotonic()))
    seen = list(earlier)
    try:
        for one in reversed(earlier):
            programs = one.programs.pick([one.index], 1).renumbered(0)
            if found := shrinker.repeat(programs, runs, limit=min(plan.ceiling_seconds, limit)):
                seen.append(found)
                break
    except _OutOfTime:
        pass
    # The shortest one that failed in more than one run; a candidate may have failed in one only.
    return next((one for one in reversed(seen) if one.failed > 1), seen[-1])
