# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Searches random test programs for outcomes that MPI does not permit; every search ends with a result.

A program that hangs or crashes ends its job; a new job resumes with the next program. When a kind of failure
repeats, programs that need the same traits are left out, so that the other kinds are searched for in the
planned number of programs. `docs/mpi-conform.md` describes what is checked and why.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from matchbench._native import MatchbenchError, TestPrograms
from matchbench.mpi.conform_features import Trials
from matchbench.mpi.conform_plan import ENDINGS, Conformance, Failure, Plan, Shrinking
from matchbench.mpi.conform_runner import Job, NotStartedError, Patience, Runner, TellDone
from matchbench.mpi.conform_shrink import Tell, shrink
from matchbench.mpi.launch import why
from matchbench.mpi.stack import Stack
from matchbench.native_types import Progress

_FIRST_BATCH = 64  # programs of the first job, from which the time limit is learned
_BATCH = 2000  # most programs of any other job
_BATCH_SECONDS = 60.0  # about the longest time of a batch: so much is lost when the command is killed
_REPEATS_ENDING = 3  # failures of a kind that ends the job, after which trials are left out
_REPEATS = 20  # the same for any other kind
_PATIENCE_GROWS = 4  # factor for both, if nothing can be left out
_CONFIRMING_RUNS = 10  # of a program that exceeded the learned limit
_MOST_FAILED_STARTS = 3  # jobs in a row that do not begin a program
_SHARE_OF_SHRINKING = 0.4  # of the time left, for shrinking during the search
_NOTHING_CHECKED = (
    "found no program that ended within the budget, so that nothing was checked; give a longer --budget"
)


def _silent(_what: object) -> None:
    """Report nothing."""


class EarlierSearchError(MatchbenchError):
    """A state that is invalid, or belongs to a search of another library."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """The observers of a search.

    Parameters
    ----------
    progress
        Called with the number of programs that did not fail, and the number planned.
    note
        Called with a line about what happened.
    keep
        Called with a state of the search from which `conform` can continue.
    """

    progress: Progress = lambda _done, _total: None
    note: Callable[[str], None] = _silent
    keep: Callable[[Mapping[str, Any]], None] = _silent


def conform(
    runner: Runner,
    plan: Plan,
    found: Conformance,
    watch: Watch,
    *,
    earlier: Mapping[str, Any] | None = None,
) -> None:
    """Run programs until each kind of failure was searched for in the planned number, or the budget is spent.

    Parameters
    ----------
    runner
        The MPI.
    plan
        Programs and limits.
    found
        Filled with the results; valid also when this function is interrupted.
    watch
        The observers.
    earlier
        State of an interrupted search of the same plan on the same MPI: this one continues from there, and
        the budget is that of both.

    Raises
    ------
    MatchbenchError
        If not even the first job can be started.
    EarlierSearchError
        If `earlier` is not such a state, or the library is not that of the earlier search.
    KeyboardInterrupt, SystemExit
        When interrupted; `found` is valid.
    """
    began = time.monotonic()
    search = _Search(runner, plan, found, watch)
    if earlier is not None:
        try:
            search.resume(earlier)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            msg = (
                "found another kind of file, "
                "expected the state of an interrupted `matchbench mpi conform`; remove it to start over"
            )
            raise EarlierSearchError(msg) from error
    before = found.seconds
    search.began = began - before
    search.keep()
    try:
        search.run()
    except (KeyboardInterrupt, SystemExit):
        found.stopped = "interrupted"
        raise
    finally:
        found.seconds = before + time.monotonic() - began
        found.stack = runner.stack
        found.limit_seconds = runner.patience.limit
        found.longest_seconds = runner.patience.longest


def shrink_rest(runner: Runner, plan: Plan, found: Conformance, bar: Callable[[Shrinking], Tell]) -> None:
    """Shrink the first failure of each kind, as far as that was not done during the search.

    Parameters
    ----------
    runner, plan, found
        As for `conform`.
    bar
        Called at the beginning of each shrinking; returns a function, called with the number of steps left.
    """
    for kind in dict.fromkeys(failure.kind for failure in found.failures):
        of_kind = [one for one in found.shrinkings if one.failure.kind == kind]
        for one in of_kind:
            if one.state == "running":  # shrunk before an interruption, which keeps no shrunk programs
                shrink(runner, plan, one, bar(one))
        shrinking = next((one for one in of_kind if one.best is not None), None)
        if shrinking is None:
            tried = {one.failure.number for one in of_kind}
            failure = next(
                (one for one in found.failures if one.kind == kind and one.number not in tried), None
            )
            if failure is None:
                continue
            shrinking = Shrinking(failure=failure)
            found.shrinkings.append(shrinking)
        left = plan.shrink_seconds - shrinking.seconds
        if shrinking.state != "complete" and left >= 1:
            shrink(runner, plan, shrinking, bar(shrinking), seconds=left)


@dataclass(slots=True)
class _Search:
    """One search."""

    runner: Runner
    plan: Plan
    found: Conformance
    watch: Watch
    # When it would have begun without an interruption.
    began: float = field(default=0.0, init=False)
    trials: Trials = field(init=False)
    # Failures of each kind since trials were last left out for it, and how many lead to the next choice.
    recent: dict[str, list[Failure]] = field(default_factory=dict, init=False)
    threshold: dict[str, int] = field(default_factory=dict, init=False)
    failed_starts: int = field(default=0, init=False)
    jobs: int = field(default=0, init=False)
    batches: int = field(default=0, init=False)
    before_batch: int = field(default=0, init=False)
    # The library on which an interrupted search began.
    library: str = field(default="", init=False)

    def __post_init__(self) -> None:
        self.trials = Trials(self.plan, left_out=self.found.left_out)

    @property
    def deadline(self) -> float:
        """When the budget is used up."""
        return self.began + self.plan.budget_seconds

    def state(self, next_number: int) -> dict[str, Any]:
        """Describe the search by values that JSON has, for `resume`; `next_number` is the next program."""
        found = self.found
        return {
            "lacks": list(found.lacks),
            "stack": asdict(self.runner.stack),
            "counts": dict(found.counts),
            "failures": [asdict(failure) for failure in found.failures],
            "unexplained": found.unexplained,
            "restarts": found.restarts,
            "asked": found.asked,
            "shrinkings": [
                {
                    "failure": found.failures.index(one.failure),
                    # Shrunk programs are not kept: what was shrunk is shrunk again.
                    "state": one.state if one.best is None and one.state == "not seen again" else "running",
                }
                for one in found.shrinkings
            ],
            "suspected": found.suspected,
            "seconds": time.monotonic() - self.began,
            "remarks": found.remarks,
            "trials": self.trials.state(next_number),
            "patience": asdict(self.runner.patience),
            "recent": {
                kind: [found.failures.index(one) for one in failures]
                for kind, failures in self.recent.items()
            },
            "threshold": self.threshold,
            "jobs": self.jobs,
            "batches": self.batches,
        }

    def resume(self, state: Mapping[str, Any]) -> None:
        """Continue from a state."""
        found = self.found
        stack = Stack(
            **{
                **state["stack"],
                "loaded": tuple(state["stack"]["loaded"]),
            }
        )
        self.library = stack.library
        self.runner.stack = stack
        found.counts.update(state["counts"])
        found.failures.extend(
            Failure(**{**one, "without": tuple(one["without"]), "traits": tuple(one["traits"])})
            for one in state["failures"]
        )
        found.unexplained = state["unexplained"]
        found.restarts, found.asked = state["restarts"], state["asked"]
        found.shrinkings.extend(
            Shrinking(failure=found.failures[one["failure"]], state=one["state"])
            for one in state["shrinkings"]
        )
        found.suspected.extend(state["suspected"])
        found.seconds = float(state["seconds"])
        found.remarks.extend(state["remarks"])
        self.trials.resume(state["trials"])
        self.runner.patience = Patience.resumed(state["patience"])
        self.recent.update(
            (kind, [found.failures[index] for index in indexes]) for kind, indexes in state["recent"].items()
        )
        self.threshold.update(state["threshold"])
        self.jobs, self.batches = state["jobs"], state["batches"]
        if tuple(state["lacks"]) != found.lacks:
            self.refuse(
                f"a library that lacks {_listed(state['lacks'])}", f"one that lacks {_listed(found.lacks)}"
            )

    def refuse(self, before: str, now: str) -> None:
        """Refuse to continue with another library.

        Raises
        ------
        EarlierSearchError
            Always.
        """
        msg = (
            f"the search began on {before}, found {now}; "
            "continue where it began, or remove the file to start over"
        )
        raise EarlierSearchError(msg)

    def keep(self, batch: "_Batch | None" = None) -> None:
        """Pass on a state from which the search can continue, after what was run of a batch."""
        if self.library and self.runner.stack.library != self.library:
            self.refuse(_first_line(self.library), _first_line(self.runner.stack.library))
        is_open = batch is not None and batch.first < len(batch.numbers)
        number = batch.numbers[batch.first] if batch is not None and is_open else self.trials.next_number
        self.watch.keep(self.state(number))

    def run(self) -> None:
        """Run batches until the search ends."""
        size = _FIRST_BATCH
        self.leave_out()  # what an interruption has prevented
        while self.found.stopped == "running":
            missing = self.plan.programs - self.found.counts["programs"]
            if missing <= 0:
                self.found.stopped = "complete"
            elif self.is_over():
                self.found.stopped = "budget"
                if not self.found.counts["programs"] and not self.found.failures:
                    self.found.remarks.append(_NOTHING_CHECKED)
            else:
                asked, began = self.found.asked, time.monotonic()
                self.run_batch(min(size, missing))
                size = _batch_size(self.found.asked - asked, time.monotonic() - began)
                self.leave_out()

    def is_over(self) -> bool:
        """Return whether the budget is used up."""
        return time.monotonic() >= self.deadline

    def run_batch(self, wanted: int) -> None:
        """Run the next programs; ends early when a kind of failure has repeated."""
        numbers, programs = self.trials.take(wanted)
        if programs is None:
            self.found.stopped = "no trials left"
            return
        self.batches += 1
        self.before_batch = self.found.counts["programs"]
        batch = _Batch(numbers, programs, self.trials.without())
        while batch.first < len(numbers) and not self.is_over() and self.found.stopped == "running":
            before = batch.first
            if (job := self.run_job(programs, before, self.tell)) is None:
                continue
            suspect = self.take_in(batch, job)
            interruption = job.interruption
            if suspect is not None and interruption is None:
                interruption = self.confirm(batch, suspect)
            self.found.asked += batch.first - before
            self.found.restarts = self.jobs - self.batches
            self.keep(batch)
            if interruption is not None:
                raise interruption
            if batch.first < len(numbers) and self.repeating() is not None:
                # The rest is generated again, without what is left out then.
                self.trials.rewind(numbers[batch.first])
                break

    def run_job(
        self,
        programs: TestPrograms,
        first: int,
        progress: TellDone | None = None,
        limit: float | None = None,
    ) -> Job | None:
        """Run a job; `None` if it did not start, which is counted.

        Raises
        ------
        NotStartedError
            If no job started so far.
        """
        self.jobs += 1
        try:
            job = self.runner.run(
                programs, first, limit=limit, others=limit, deadline=self.deadline, progress=progress
            )
        except NotStartedError as error:
            self.endure(error)
            return None
        self.failed_starts = 0
        return job

    def confirm(self, batch: "_Batch", index: int) -> BaseException | None:
        """Repeat a program that exceeded the learned limit: it hangs, or a rank was delayed.

        Returns what interrupted it. Then nothing is known, and the program is the next one to be run.
        """
        patience = self.runner.patience
        repeated = batch.programs.pick([index], _CONFIRMING_RUNS)
        job = self.run_job(repeated, 0, limit=patience.confirming())
        if job is not None and job.interruption is not None and not job.judged["failures"]:
            batch.first = index
            return job.interruption
        batch.first = index + 1
        if job is not None and job.judged["failures"]:
            failure = job.judged["failures"][0]
            patience.has_confirmed |= failure["kind"] == "stuck"
            self.add(batch, index, failure["kind"], failure["text"], why(job.ended, self.runner.mpi.flavour))
        else:
            self.found.suspected.append(batch.numbers[index])
            if job is not None:
                patience.distrust(job.longest_seconds)
        return None if job is None else job.interruption

    def tell(self, done: int) -> None:
        """Pass on the progress; `done` counts from the beginning of the batch."""
        self.watch.progress(min(self.before_batch + done, self.plan.programs), self.plan.programs)

    def endure(self, error: NotStartedError) -> None:
        """Count a job that did not start; the first job of all must start.

        Raises
        ------
        NotStartedError
            If no job started so far.
        """
        if self.found.asked == 0 and not self.found.suspected:
            raise error
        self.failed_starts += 1
        if self.failed_starts == 1:
            self.found.remarks.append(str(error))
        if self.failed_starts == _MOST_FAILED_STARTS:
            self.found.stopped = f"{_MOST_FAILED_STARTS} jobs in a row did not start: {error.reason}"

    def take_in(self, batch: "_Batch", job: Job) -> int | None:
        """Add the verdicts of a job to the results; return the index of a program that may hang."""
        found, patience = self.found, self.runner.patience
        judged, failures = job.judged, list(job.judged["failures"])
        said = why(job.ended, self.runner.mpi.flavour)
        suspect = None
        if failures and failures[-1]["kind"] == "stuck" and patience.limit < patience.ceiling:
            suspect = failures.pop()["index"]
        if judged["counts"].get("programs"):
            patience.learn(job.longest_seconds)
        failed = {failure["index"] for failure in judged["failures"]}
        for index in range(batch.first, judged["next"]):
            if index not in failed:
                self.trials.add_passed(batch.programs.traits(index))
        batch.first = judged["next"]
        found.counts.update(judged["counts"])
        if found.unexplained is None and judged["unexplained"] is not None:
            found.unexplained = batch.numbers[judged["unexplained"]]
        for failure in failures:
            self.add(batch, failure["index"], failure["kind"], failure["text"], said)
        is_cut = job.is_out_of_time or job.interruption is not None
        is_explained = suspect is not None or any(failure["kind"] in ENDINGS for failure in failures)
        if is_cut or is_explained:
            return suspect
        if batch.first < len(batch.numbers):
            text = "the job ended between this program and the next"
            self.add(batch, batch.first - 1, "crashed", text, said)
        elif job.ended.status != 0:
            found.remarks.append(f"the job failed after its last program: {said}")
        return None

    def add(self, batch: "_Batch", index: int, kind: str, text: str, said: str) -> None:
        """Add a failure."""
        failure = Failure(
            number=batch.numbers[index],
            kind=kind,
            text=text,
            said=said if kind in ENDINGS else "",
            without=batch.without,
            traits=tuple(batch.programs.traits(index)),
        )
        self.found.failures.append(failure)
        self.recent.setdefault(kind, []).append(failure)

    def repeating(self) -> str | None:
        """Give a kind of failure that has repeated often enough to leave trials out."""
        for kind, failures in self.recent.items():
            start = _REPEATS_ENDING if kind in ENDINGS else _REPEATS
            if len(failures) >= self.threshold.setdefault(kind, start):
                return kind
        return None

    def leave_out(self) -> None:
        """Leave out trials that need what a repeating kind of failure needs."""
        while (kind := self.repeating()) is not None and not self.is_over():
            failures = self.recent.pop(kind)
            shrinking = Shrinking(failure=failures[0])
            self.found.shrinkings.append(shrinking)
            self.watch.note(
                f"{len(failures)} programs failed ({kind}); shrinking program {failures[0].number}"
            )
            left = self.deadline - time.monotonic()
            seconds = max(1.0, min(self.plan.shrink_seconds, _SHARE_OF_SHRINKING * left))
            shrink(self.runner, self.plan, shrinking, lambda _: None, seconds=seconds)
            one = self.trials.choose(failures, shrinking)
            if one is None:
                self.threshold[kind] *= _PATIENCE_GROWS
                self.watch.note(
                    f"{kind}: the failing programs need nothing that other programs lack; none left out"
                )
            else:
                how = "are generated without it" if one.is_generated else "that have it are passed over"
                self.watch.note(f"{kind}: needs {one.trait}; programs from {one.since} on {how}")
            self.keep()


@dataclass(slots=True)
class _Batch:
    """The programs of one or more jobs, and the first one not performed."""

    numbers: list[int]
    programs: TestPrograms
    without: tuple[str, ...]
    first: int = 0


def _batch_size(programs: int, seconds: float) -> int:
    """Give the programs of the next batch, if this many took so long."""
    wanted = programs * _BATCH_SECONDS / max(seconds, 1e-3)
    return round(min(_BATCH, max(_FIRST_BATCH, wanted)))


def _first_line(text: str) -> str:
    return text.split("\n", 1)[0]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "nothing"
