# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The search of `matchbench mpi conform` on a simulated MPI: what repeats is left out, the rest is searched.

`SimulatedRunner` takes the place of the C runner and its jobs; a rule tells which programs fail and how.
"""

import itertools
import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from matchbench._native import TestPrograms as Programs
from matchbench.cli import main
from matchbench.mpi import conform_command as mpi_conform
from matchbench.mpi.conform import conform, shrink_rest
from matchbench.mpi.conform_features import Trials
from matchbench.mpi.conform_plan import KINDS, Conformance, Failure, LeftOut, Plan, Shrinking
from matchbench.mpi.conform_report import show_searched
from matchbench.mpi.conform_runner import Job, Patience, Runner, TellDone
from matchbench.mpi.conform_search import Watch
from matchbench.mpi.conform_shrink import shrink
from matchbench.mpi.launch import Ended, Mpi
from matchbench.mpi.stack import Stack
from matchbench.native_types import JudgedRun

Kind = Literal["order", "defect", "null", "truncation", "stuck", "crashed"]
Rule = Callable[[Sequence[str]], Kind | None]
"""From the traits of a program to its kind of failure."""


class Clock:
    """A clock that jobs move, in place of the one that budgets and limits are compared with."""

    now = 0.0

    def monotonic(self) -> float:
        """Give the time in seconds."""
        return self.now


CLOCK = Clock()
JOB_S = 0.01


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("conform_budget", "conform_search", "conform_shrink"):
        monkeypatch.setattr(sys.modules[f"matchbench.mpi.{module}"], "time", CLOCK)


class SimulatedRunner(Runner):
    """Performs programs on a clock of its own; those that a rule selects fail.

    Parameters
    ----------
    rule
        Which programs fail.
    interrupt_after
        Number of the job that is interrupted, as by Ctrl-C.
    """

    def __init__(self, rule: Rule, ceiling_seconds: float = 10, interrupt_after: int | None = None) -> None:
        self.mpi = Mpi(compiler="mpicc", launcher=("mpirun",), flavour="other")
        self.stack = Stack()
        self.patience = Patience(ceiling_seconds)
        self.rule = rule
        self.jobs = 0
        self.interrupt_after = interrupt_after
        self.hung_seconds: list[float] = []

    def lacks(self) -> tuple[str, ...]:
        """Lack nothing."""
        return ()

    def run(
        self,
        programs: Programs,
        first: int,
        *,
        limit: float | None = None,
        others: float | None = None,
        deadline: float = float("inf"),
        progress: TellDone | None = None,
    ) -> Job:
        """Judge by the rule."""
        del deadline, progress
        others = others or self.patience.limit
        self.jobs += 1
        CLOCK.now += JOB_S
        judged: JudgedRun = {
            "next": len(programs),
            "counts": {"programs": 0},
            "unexplained": None,
            "failures": [],
        }
        interruption = KeyboardInterrupt() if self.jobs == self.interrupt_after else None
        for index in range(first, len(programs)):
            kind = self.rule(programs.traits(index))
            if kind is None:
                judged["counts"]["programs"] += 1
                continue
            judged["failures"].append({"index": index, "kind": kind, "text": "wrong"})
            if kind in ("stuck", "crashed"):
                if kind == "stuck":
                    self.hung_seconds.append(limit if limit is not None and index == first else others)
                judged["next"] = index + 1
                break
        ended = Ended(status=0 if judged["next"] == len(programs) else 4, stalled=False, said=())
        files = [b""] * programs.ranks
        return Job(judged=judged, files=files, ended=ended, longest_seconds=0.002, interruption=interruption)


def searched(rule: Rule, programs: int = 500) -> tuple[Conformance, SimulatedRunner]:
    """Search with a rule and return the results."""
    found, runner = Conformance(), SimulatedRunner(rule)
    conform(runner, Plan(programs=programs), found, Watch())
    return found, runner


def test_a_crash_that_repeats_hides_no_order_violation() -> None:
    def rule(traits: Sequence[str]) -> Kind | None:
        # The order violation needs `mprobe`, and is hidden in each program that crashes.
        return "crashed" if "persistent" in traits else "order" if "mprobe" in traits else None

    found, _ = searched(rule)
    assert found.stopped == "complete"
    assert found.passed(for_order=False) == 500
    of_everything = [one for one in found.left_out if not one.for_order]
    assert [(one.kind, one.trait, one.is_generated) for one in of_everything] == [
        ("crashed", "persistent", True),
        ("order", "mprobe", True),
    ]
    assert found.failures_of("crashed") == 3
    assert found.failures_of("order") >= 20
    assert all(programs >= 500 for programs in found.searched().values())
    # Both were shrunk on the way, and nothing is left to be shrunk.
    assert [one.state for one in found.shrinkings] == ["complete"] * 3
    shrink_rest(SimulatedRunner(rule), Plan(), found, lambda _: lambda _: None)
    assert len(found.shrinkings) == 3


def test_programs_with_a_trait_that_the_generator_cannot_exclude_are_passed_over(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found, _ = searched(lambda traits: "stuck" if "any-tag" in traits else None, programs=100)
    (left_out,) = found.left_out
    assert (left_out.trait, left_out.is_generated) == ("any-tag", False)
    assert left_out.passed_over > 50
    assert found.stopped == "complete"
    assert found.passed(for_order=False) == 100
    show_searched(found, Plan(programs=100))
    printed = capsys.readouterr().out
    assert re.search(r"stuck       in full, [3-5] failed", printed)
    assert f"{left_out.passed_over} that have it were passed over" in printed
    assert "the search ended: every kind of failure was searched for in the planned number" in printed


def test_a_failure_of_every_program_ends_with_the_budget_and_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    plan = Plan(programs=1000, budget_seconds=1)
    found = Conformance()
    conform(SimulatedRunner(lambda _: "crashed"), plan, found, Watch())
    assert (found.stopped, found.remarks) == ("budget", [])
    assert found.passed(for_order=False) == 0
    assert found.failures_of("crashed") > 10
    show_searched(found, plan)
    printed = capsys.readouterr().out
    assert "order       not in full: 0 of 1000 programs" in printed
    assert "the budget of 1 s was used up; a longer --budget continues further" in printed


def test_a_hang_costs_the_learned_limit_and_only_one_hang_the_longest() -> None:
    found, runner = searched(lambda traits: "stuck" if "sendrecv" in traits else None)
    assert found.failures_of("stuck") == 3
    assert runner.hung_seconds.count(10) <= 2  # the first hang, and the shrunk program at the end
    assert sorted(runner.hung_seconds)[len(runner.hung_seconds) // 2] <= 1
    assert found.stopped == "complete"


def test_a_program_that_is_slow_once_is_repeated_and_does_not_fail() -> None:
    slow = iter([True])
    found, runner = searched(lambda traits: "stuck" if "null" in traits and next(slow, False) else None)
    assert found.failures == []
    assert len(found.suspected) == 1
    assert found.passed(for_order=False) == 500
    assert runner.patience.limit == 1  # one delay does not show that the limit is too short


def test_a_hang_in_one_of_four_runs_is_found() -> None:
    runs = itertools.count()

    def rule(traits: Sequence[str]) -> Kind | None:
        return "stuck" if "sendrecv" in traits and next(runs) % 4 == 0 else None

    found, _ = searched(rule)
    assert found.failures_of("stuck") == 3
    assert found.suspected == []
    assert found.passed(for_order=False) == 500


def test_without_a_shrunk_program_traits_that_passing_programs_lack_are_chosen() -> None:
    plan = Plan()
    trials = Trials(plan)
    programs = trials.generate(0, 400)
    failures = []
    for number in range(400):
        traits = programs.traits(number)
        # One of two programs with buffered sends fails.
        if "buffered" in traits and number % 2:
            failures.append(Failure(number=number, kind="stuck", text="", traits=tuple(traits)))
        else:
            trials.add_passed(traits)
    one = trials.choose(failures[:3], Shrinking(failure=failures[0], state="time limit"))
    assert one is not None
    assert (one.trait, one.is_shrunk) == ("buffered", False)
    # Nothing is chosen if programs that passed have everything as often.
    assert Trials(plan).choose(failures[:3], Shrinking(failure=failures[0], state="time limit")) is None


def test_limits_are_learned_between_a_floor_and_a_ceiling() -> None:
    patience = Patience(10)
    assert patience.limit == 3
    patience.learn(0.01)
    assert patience.limit == 1
    patience.learn(0.5)
    assert patience.limit == 2
    patience.distrust(0.001)
    assert patience.limit == 2
    patience.distrust(0.7)
    assert patience.limit == 4
    patience.learn(9)
    assert patience.limit == 10
    assert patience.confirming() == 10
    assert Patience(2).limit == 2


def test_an_interrupted_search_keeps_what_it_has() -> None:
    found = Conformance()
    runner = SimulatedRunner(lambda traits: "defect" if "huge-message" in traits else None, interrupt_after=2)
    with pytest.raises(KeyboardInterrupt):
        conform(runner, Plan(programs=5000), found, Watch())
    assert found.stopped == "interrupted"
    assert found.counts["programs"] > 100
    assert found.failures_of("defect") > 10


def test_a_job_that_the_budget_ends_is_no_crash() -> None:
    class LateRunner(SimulatedRunner):
        def run(self, *words: object, **options: object) -> Job:
            CLOCK.now += 1.1
            job = super().run(*words, **options)  # type: ignore[arg-type] # passed on
            job.judged["next"] = 1  # the other programs did not run
            return replace(job, is_out_of_time=True)

    found = Conformance()
    conform(LateRunner(lambda _: None), Plan(programs=100, budget_seconds=1), found, Watch())
    assert (found.stopped, found.failures, found.remarks) == ("budget", [], [])


def test_a_budget_without_a_program_that_ended_is_no_pass() -> None:
    class HangingRunner(SimulatedRunner):
        def run(self, *words: object, **options: object) -> Job:
            CLOCK.now += 1.1
            job = super().run(*words, **options)  # type: ignore[arg-type] # passed on
            job.judged["next"], job.judged["counts"] = 0, {}
            return replace(job, is_out_of_time=True)

    found = Conformance()
    conform(HangingRunner(lambda _: None), Plan(programs=100, budget_seconds=1), found, Watch())
    assert (found.stopped, found.failures) == ("budget", [])
    assert found.remarks == [
        "found no program that ended within the budget, so that nothing was checked; give a longer --budget"
    ]


def test_an_interrupted_or_expired_shrinking_keeps_its_best_result() -> None:
    failure = Failure(number=7, kind="stuck", text="wrong")

    def rule(_traits: Sequence[str]) -> Kind:
        return "stuck"

    interrupted = Shrinking(failure=failure)
    with pytest.raises(KeyboardInterrupt):
        shrink(SimulatedRunner(rule, interrupt_after=6), Plan(), interrupted, lambda _: None)
    assert interrupted.state == "interrupted"
    assert interrupted.best is not None
    assert interrupted.best.programs.steps(interrupted.best.index) < Programs(1, 7, 1, ranks=2).steps(0)

    class SlowRunner(SimulatedRunner):
        def run(self, *words: object, **options: object) -> Job:
            CLOCK.now += 0.2
            return super().run(*words, **options)  # type: ignore[arg-type] # passed on

    expired = Shrinking(failure=failure)
    began = CLOCK.now
    shrink(SlowRunner(rule), Plan(), expired, lambda _: None, seconds=1)
    assert CLOCK.now - began < 1.5
    assert expired.state == "time limit"
    assert expired.best is not None


def test_a_shrinking_that_the_search_cut_short_is_finished_after_it() -> None:
    failure = Failure(number=7, kind="stuck", text="wrong")
    found = Conformance(failures=[failure], shrinkings=[Shrinking(failure=failure)])
    runner = SimulatedRunner(lambda _: "stuck", interrupt_after=6)
    with pytest.raises(KeyboardInterrupt):
        shrink(runner, Plan(), found.shrinkings[0], lambda _: None)
    (shrinking,) = found.shrinkings
    assert shrinking.best is not None
    cut = shrinking.best.programs.steps(shrinking.best.index)
    shrink_rest(SimulatedRunner(lambda _: "stuck"), Plan(), found, lambda _: lambda _: None)
    assert found.shrinkings == [shrinking]
    assert shrinking.state == "complete"
    assert shrinking.best.programs.steps(shrinking.best.index) < cut


def test_trials_that_were_taken_and_not_run_are_counted_once() -> None:
    one = LeftOut(
        kind="stuck", trait="any-tag", is_generated=False, since=0, failures=3, needs=(), is_shrunk=True
    )
    trials = Trials(Plan(), left_out=[one])
    numbers, programs = trials.take(50)
    assert programs is not None
    assert len(numbers) == len(programs) == 50
    assert all("any-tag" not in programs.traits(index) for index in range(50))
    assert one.passed_over == numbers[-1] + 1 - 50
    trials.rewind(numbers[20])
    assert one.passed_over == numbers[20] - 20
    again, _ = trials.take(30)
    assert again == numbers[20:]


def test_every_kind_that_the_judge_gives_is_searched_for() -> None:
    assert Conformance().searched().keys() == set(KINDS)


def test_ctrl_c_prints_and_writes_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def rule(traits: Sequence[str]) -> Kind | None:
        return "order" if "huge-message" in traits else None

    mpi = Mpi(compiler="mpicc", launcher=("mpirun",), flavour="other")
    monkeypatch.setattr(mpi_conform, "find", lambda *_: mpi)
    # The search takes two jobs; the shrinking is interrupted after some steps.
    monkeypatch.setattr(mpi_conform, "Runner", lambda *_: SimulatedRunner(rule, interrupt_after=10))
    out = tmp_path / "out"
    assert main(["mpi", "conform", "--programs", "100", "-o", str(out)]) == 130
    printed = capsys.readouterr().out
    report = json.loads((out / "mpi-conform.json").read_text())
    shrunk = report["failures"][0]["shrunk"]
    number = report["failures"][0]["number"]
    assert shrunk["state"] == "interrupted"
    assert f"program {number} in {len(shrunk['steps'])} steps" in printed
    assert "shorter ones were not tried to the end (interrupted)" in printed
    assert f"cd {out} && mpicc -pthread -o program-{number} program-{number}.c && " in printed
    assert shrunk["commands"][-1] in (out / shrunk["source"]).read_text()
    # In the search: no shrinking, and the report says why the search ended.
    monkeypatch.setattr(mpi_conform, "Runner", lambda *_: SimulatedRunner(rule, interrupt_after=1))
    assert main(["mpi", "conform", "--programs", "99", "-o", str(out), "--force"]) == 130
    assert "the search ended: it was interrupted" in capsys.readouterr().out
    assert json.loads((out / "mpi-conform.json").read_text())["stopped"] == "interrupted"
