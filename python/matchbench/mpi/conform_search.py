# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The search of `matchbench mpi conform`: batches of programs, repeated failures, hangs, the budget.

A program that hangs or crashes ends its job; a new job resumes with the next program. When a kind of failure
repeats, programs that need the same traits are left out, so that the other kinds are searched for in the
planned number of programs.

There are two strands. One has programs with every feature. When it meets a program that ends its job, or has
used its time, the other one takes turns with it: programs for the order of matching alone, which have a share
of the budget. Programs that may hang are repeated in a share of their own, so that they cost each strand no
more than their time limit.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from matchbench._native import TestPrograms
from matchbench.mpi.conform_budget import Budget, Share, share_of
from matchbench.mpi.conform_features import Trials
from matchbench.mpi.conform_plan import ENDINGS, Conformance, Failure, Plan, Shrinking
from matchbench.mpi.conform_runner import Job, NotStartedError, Runner, TellDone
from matchbench.mpi.conform_shrink import shrink
from matchbench.mpi.conform_state import describe, refuse
from matchbench.mpi.launch import why
from matchbench.native_types import Progress

_FIRST_BATCH = 64  # programs of the first job, from which the time limit is learned
_BATCH = 2000  # most programs of any other job
_BATCH_SECONDS = 60.0  # about the longest time of a batch: so much is lost when the command is killed
_REPEATS_ENDING = 3  # failures of a kind that ends the job, after which trials are left out
_REPEATS = 20  # the same for any other kind
_PATIENCE_GROWS = 4  # factor for both, if nothing can be left out
_CONFIRMING_RUNS = 10  # of a program that exceeded the learned limit
_PART_OF_CONFIRMATION = 0.6  # of the time for repeating a program: its first run
_MOST_FAILED_STARTS = 3  # jobs in a row that do not begin a program
_MOST_STALLED_STARTS = 10  # the same, if the launcher hangs
_SHARE_OF_SHRINKING = 0.4  # of the time left, for shrinking during the search
_LEAST_SHRINKING = 2.0  # seconds
_NOTHING_CHECKED = (
    "found no program that ended within the budget, so that nothing was checked; give a longer --budget"
)


def _silent(_what: object) -> None:
    """Report nothing."""


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


@dataclass(slots=True)
class Strand:
    """Programs of one generator, and how they failed.

    Parameters
    ----------
    share
        The share of the budget that pays for them.
    trials
        The programs.
    wanted
        How many are to pass.
    """

    share: Share
    trials: Trials
    wanted: int
    # Failures of each kind since trials were last left out for it, and how many lead to the next choice.
    recent: dict[str, list[Failure]] = field(default_factory=dict)
    threshold: dict[str, int] = field(default_factory=dict)
    # Whether nearly every program is left out.
    is_exhausted: bool = False
    size: int = _FIRST_BATCH

    @property
    def for_order(self) -> bool:
        """Whether the programs are for order alone."""
        return self.trials.for_order

    def repeating(self) -> str | None:
        """Give a kind of failure that has repeated often enough to leave trials out."""
        for kind, failures in self.recent.items():
            start = _REPEATS_ENDING if kind in ENDINGS else _REPEATS
            if len(failures) >= self.threshold.setdefault(kind, start):
                return kind
        return None


@dataclass(slots=True)
class _Batch:
    """The programs of one or more jobs, and the first one not performed."""

    strand: Strand
    numbers: list[int]
    programs: TestPrograms
    without: tuple[str, ...]
    first: int = 0

    @property
    def is_done(self) -> bool:
        return self.first >= len(self.numbers)

    def failure(self, index: int, kind: str, text: str, said: str) -> Failure:
        """Describe the failure of a program."""
        return Failure(
            number=self.numbers[index],
            kind=kind,
            text=text,
            said=said if kind in ENDINGS else "",
            without=self.without,
            traits=tuple(self.programs.traits(index)),
            for_order=self.strand.for_order,
        )


@dataclass(slots=True)
class Search:
    """One search."""

    runner: Runner
    plan: Plan
    found: Conformance
    watch: Watch
    budget: Budget
    everything: Strand = field(init=False)
    order: Strand = field(init=False)
    failed_starts: int = field(default=0, init=False)
    jobs: int = field(default=0, init=False)
    batches: int = field(default=0, init=False)
    before_batch: int = field(default=0, init=False)
    # Whether a program has ended its job.
    has_trouble: bool = field(default=False, init=False)
    # The library on which an interrupted search began.
    library: str = field(default="", init=False)

    def __post_init__(self) -> None:
        """Begin with all programs."""
        plan, left_out = self.plan, self.found.left_out
        self.everything = Strand("rest", Trials(plan, left_out), plan.programs)
        self.order = Strand("order", Trials(plan, left_out, for_order=True), plan.programs_for_order)

    @property
    def strands(self) -> dict[str, Strand]:
        """The strands by name."""
        return {"everything": self.everything, "order": self.order}

    def keep(self, batch: _Batch | None = None) -> None:
        """Pass on a state from which the search can continue, after what was run of a batch."""
        if self.library and self.runner.stack.library != self.library:
            refuse(_first_line(self.library), _first_line(self.runner.stack.library))

        def next_number(strand: Strand) -> int:
            is_open = batch is not None and batch.strand is strand and not batch.is_done
            return batch.numbers[batch.first] if batch is not None and is_open else strand.trials.next_number

        self.watch.keep(describe(self, {name: next_number(strand) for name, strand in self.strands.items()}))

    def run(self) -> None:
        """Run batches until the search ends."""
        for each in self.strands.values():
            self.leave_out(each)  # what an interruption has prevented
        while self.found.stopped == "running":
            if self.is_over():
                self.found.stopped = "budget"
            elif (strand := self.next_strand()) is None:
                is_complete = self.missing(self.everything) <= 0
                self.found.stopped = "complete" if is_complete else "no trials left"
            else:
                self.run_strand(strand)
        self.confirm_rest()
        if self.found.stopped == "budget" and not self.found.counts["programs"] and not self.found.failures:
            self.found.remarks.append(_NOTHING_CHECKED)

    @property
    def end(self) -> float:
        """When the search ends, so that what failed can be shrunk within the budget."""
        shrunk = {one.failure.kind for one in self.found.shrinkings if one.state == "complete"}
        unshrunk = {failure.kind for failure in self.found.failures} - shrunk
        return self.budget.end_of_search(len(unshrunk), self.plan.shrink_seconds)

    def is_over(self) -> bool:
        """Return whether the time of the search is used up."""
        return time.monotonic() >= self.end

    def missing(self, strand: Strand) -> int:
        """Give the number of programs that a strand has still to run."""
        return strand.wanted - self.found.passed(for_order=strand.for_order)

    def is_open(self, strand: Strand) -> bool:
        """Return whether a strand has programs to run."""
        return self.missing(strand) > 0 and not strand.is_exhausted

    @property
    def takes_turns(self) -> bool:
        """Whether order has programs of its own."""
        needs_own = self.has_trouble or time.monotonic() >= self.budget.end_of_rest(self.end)
        return needs_own and self.is_open(self.order)

    def end_of_batch(self) -> float:
        """Give the time at which another strand may have its turn, or the search ends."""
        if not self.is_open(self.order):
            return self.end
        is_shared = self.takes_turns
        turn = self.budget.end_of_turn() if is_shared else self.budget.end_of_rest(self.end)
        return min(self.end, turn)

    def next_strand(self) -> Strand | None:
        """Choose whose turn it is; none if there is nothing left to run."""
        is_everything_open = self.is_open(self.everything)
        if self.takes_turns and (self.budget.order_is_behind() or not is_everything_open):
            return self.order
        return self.everything if is_everything_open else None

    def run_strand(self, strand: Strand) -> None:
        """Run the next batch of a strand."""
        asked, began = self.found.asked, time.monotonic()
        with self.budget.charged_to(strand.share):
            self.run_batch(strand, min(strand.size, self.missing(strand)))
        strand.size = _batch_size(self.found.asked - asked, time.monotonic() - began)
        self.leave_out(strand)

    def run_batch(self, strand: Strand, wanted: int) -> None:
        """Run the next programs; ends early when a kind of failure has repeated, or the turn is over."""
        numbers, programs = strand.trials.take(wanted)
        if programs is None:
            strand.is_exhausted = True
            return
        self.batches += 1
        self.before_batch = self.found.passed(for_order=False)
        batch = _Batch(strand, numbers, programs, strand.trials.without())
        had_turns, end = self.takes_turns, self.end_of_batch()
        while not batch.is_done and not self.is_over() and self.found.stopped == "running":
            before = batch.first
            tell = None if strand.for_order else self.tell
            others = self.runner.patience.quick() if strand.for_order else None
            job = self.run_job(programs, before, tell, others=others, deadline=min(end, self.end))
            if job is not None:
                suspect = self.take_in(batch, job)
                interruption = job.interruption
                if suspect is not None and interruption is None:
                    interruption = self.confirm(batch, suspect)
                self.found.asked += batch.first - before
                self.found.restarts = self.jobs - self.batches
                self.keep(batch)
                if interruption is not None:
                    raise interruption
            is_turn_over = time.monotonic() >= end or (self.takes_turns and not had_turns)
            if not batch.is_done and (is_turn_over or strand.repeating() is not None):
                break
        if not batch.is_done:
            # The rest is generated again, without what is left out then.
            strand.trials.rewind(numbers[batch.first])

    def run_job(
        self,
        programs: TestPrograms,
        first: int,
        progress: TellDone | None = None,
        *,
        limit: float | None = None,
        others: float | None = None,
        deadline: float,
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
                programs, first, limit=limit, others=others, deadline=deadline, progress=progress
            )
        except NotStartedError as error:
            self.endure(error)
            return None
        self.failed_starts = 0
        return job

    def confirm(self, batch: _Batch, index: int, *, search_is_over: bool = False) -> BaseException | None:
        """Repeat a program that exceeded the learned limit: it hangs, or a rank was delayed.

        Without time for it, the program is an unconfirmed hang. Returns what interrupted it. Then nothing is
        known, and the program is the next one to be run.
        """
        patience, found = self.runner.patience, self.found
        seconds = self.budget.for_a_confirmation(search_is_over=search_is_over)
        limit = max(patience.limit, min(patience.confirming(), _PART_OF_CONFIRMATION * seconds))
        job = None
        if seconds > limit:
            with self.budget.charged_to("hangs"):
                repeated = batch.programs.pick([index], _CONFIRMING_RUNS)
                deadline = time.monotonic() + seconds
                job = self.run_job(repeated, 0, limit=limit, others=limit, deadline=deadline)
        if job is not None and job.interruption is not None and not job.judged["failures"]:
            batch.first = index
            return job.interruption
        batch.first = index + 1
        if job is not None and job.judged["failures"]:
            failure = job.judged["failures"][0]
            patience.has_confirmed |= failure["kind"] == "stuck"
            said = why(job.ended, self.runner.mpi.flavour)
            self.add(batch, batch.failure(index, failure["kind"], failure["text"], said))
        elif job is not None and job.judged["next"] == _CONFIRMING_RUNS:
            suspected = found.suspected_for_order if batch.strand.for_order else found.suspected
            suspected.append(batch.numbers[index])
            patience.distrust(job.longest_seconds)
        else:
            failure_once = batch.failure(index, "stuck", "it exceeded its time limit in 1 of 1 runs", "")
            found.unconfirmed.append(failure_once)
            batch.strand.recent.setdefault("stuck", []).append(failure_once)
        return None if job is None else job.interruption

    def confirm_rest(self) -> None:
        """Repeat the programs that were not confirmed, if time is left.

        Raises
        ------
        KeyboardInterrupt, SystemExit
            When interrupted.
        """
        left, self.found.unconfirmed[:] = list(self.found.unconfirmed), []
        while left and not self.is_over() and self.failed_starts < _MOST_FAILED_STARTS:
            one = left.pop(0)
            strand = self.order if one.for_order else self.everything
            programs = TestPrograms(
                self.plan.seed,
                one.number,
                1,
                ranks=self.plan.ranks,
                without=one.without,
                for_order=one.for_order,
            )
            batch = _Batch(strand, [one.number], programs, one.without)
            interruption = self.confirm(batch, 0, search_is_over=True)
            if interruption is not None:
                self.found.unconfirmed.extend(left)
                raise interruption
        self.found.unconfirmed.extend(left)

    def tell(self, done: int) -> None:
        """Pass on the progress; `done` counts from the beginning of the batch."""
        self.watch.progress(min(self.before_batch + done, self.plan.programs), self.plan.programs)

    def endure(self, error: NotStartedError) -> None:
        """Count a job that did not start; the first job of all must start, if its launcher does not hang.

        Raises
        ------
        NotStartedError
            If no job started so far.
        """
        self.failed_starts += 1
        self.has_trouble = True
        has_started = self.found.asked > 0 or self.found.suspected
        if not has_started and (not error.is_stalled or self.failed_starts == _MOST_FAILED_STARTS):
            raise error
        if self.failed_starts == 1 and str(error) not in self.found.remarks:
            self.found.remarks.append(str(error))
        most = _MOST_STALLED_STARTS if error.is_stalled else _MOST_FAILED_STARTS
        if self.failed_starts >= most:
            self.found.stopped = f"{self.failed_starts} jobs in a row did not start: {error.reason}"

    def take_in(self, batch: _Batch, job: Job) -> int | None:
        """Add the verdicts of a job to the results; return the index of a program that may hang."""
        found, patience, strand = self.found, self.runner.patience, batch.strand
        judged, failures = job.judged, list(job.judged["failures"])
        said = why(job.ended, self.runner.mpi.flavour)
        suspect = None
        if failures and failures[-1]["kind"] == "stuck":
            self.has_trouble = True
            suspect = failures.pop()["index"]
        if judged["counts"].get("programs"):
            patience.learn(job.longest_seconds)
        failed = {failure["index"] for failure in judged["failures"]}
        for index in range(batch.first, judged["next"]):
            if index not in failed:
                strand.trials.add_passed(batch.programs.traits(index))
        batch.first = judged["next"]
        found.counts.update(judged["counts"])
        if strand.for_order:
            found.counts["of_order"] += judged["counts"].get("programs", 0)
        elif found.unexplained is None and judged["unexplained"] is not None:
            found.unexplained = batch.numbers[judged["unexplained"]]
        for failure in failures:
            self.add(batch, batch.failure(failure["index"], failure["kind"], failure["text"], said))
        is_cut = job.is_out_of_time or job.interruption is not None
        is_explained = suspect is not None or any(failure["kind"] in ENDINGS for failure in failures)
        if is_cut or is_explained:
            return suspect
        if not batch.is_done:
            text = "the job ended between this program and the next"
            self.add(batch, batch.failure(batch.first - 1, "crashed", text, said))
        elif job.ended.status != 0:
            found.remarks.append(f"the job failed after its last program: {said}")
        return None

    def add(self, batch: _Batch, failure: Failure) -> None:
        """Add a failure."""
        self.has_trouble |= failure.kind in ENDINGS
        self.found.failures.append(failure)
        batch.strand.recent.setdefault(failure.kind, []).append(failure)

    def leave_out(self, strand: Strand) -> None:
        """Leave out trials of a strand that need what a repeating kind of failure needs."""
        while (kind := strand.repeating()) is not None and not self.is_over():
            with self.budget.charged_to(share_of(kind)):
                failures = strand.recent.pop(kind)
                shrinking = self.shrunk_in_search(failures)
                one = strand.trials.choose(failures, shrinking)
            if one is None:
                strand.threshold[kind] *= _PATIENCE_GROWS
            else:
                if kind in ENDINGS:
                    self.forget(kind, one.trait)
                how = "are generated without it" if one.is_generated else "that have it are passed over"
                self.watch.note(f"{kind}: needs {one.trait}; programs from {one.since} on {how}")
            self.keep()

    def forget(self, kind: str, trait: str) -> None:
        """Forget failures that cannot happen any more, because both strands leave out a trait."""
        for each in self.strands.values():
            if kind in each.recent:
                each.recent[kind] = [one for one in each.recent[kind] if trait not in one.traits]

    def shrunk_in_search(self, failures: list[Failure]) -> Shrinking:
        """Shrink the first of some failures in the time that its share of the budget allows."""
        failure = next((one for one in failures if one not in self.found.unconfirmed), failures[0])
        shrinking = Shrinking(failure=failure)
        share = share_of(failure.kind)
        left = min(self.budget.left_of(share), self.end - time.monotonic())
        seconds = min(self.plan.shrink_seconds, _SHARE_OF_SHRINKING * left)
        if failure in self.found.unconfirmed or seconds < min(_LEAST_SHRINKING, self.budget.seconds / 100):
            return shrinking
        self.found.shrinkings.append(shrinking)
        self.watch.note(f"{len(failures)} programs failed ({failure.kind}); shrinking {failure.title}")
        shrink(self.runner, self.plan, shrinking, lambda _: None, seconds=seconds)
        return shrinking


def _batch_size(programs: int, seconds: float) -> int:
    """Give the programs of the next batch, if this many took so long."""
    wanted = programs * _BATCH_SECONDS / max(seconds, 1e-3)
    return round(min(_BATCH, max(_FIRST_BATCH, wanted)))


def _first_line(text: str) -> str:
    return text.split("\n", 1)[0]
