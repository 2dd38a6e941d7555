# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The budget of `matchbench mpi conform` on a simulated MPI: order has its share, whatever hangs.

Time passes on a clock that jobs move.
"""

import os
import sys
import time
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from matchbench._native import TestPrograms as Programs
from matchbench.cli import main
from matchbench.mpi import conform_command as mpi_conform
from matchbench.mpi import conform_matrix_command as conform_matrix
from matchbench.mpi.conform import conform, shrink_rest
from matchbench.mpi.conform_budget import SHARES, Budget
from matchbench.mpi.conform_matrix_command import run_matrix
from matchbench.mpi.conform_plan import Conformance, Failure, Plan, Shrinking, Shrunk
from matchbench.mpi.conform_report import by_importance
from matchbench.mpi.conform_runner import Job, NotStartedError
from matchbench.mpi.conform_search import Watch
from matchbench.mpi.launch import Mpi
from matchbench.mpi.matrix import Environment, Matrix
from tests.processes import PATIENCE_S
from tests.test_conform_search import CLOCK, Kind, SimulatedRunner

BUDGET_S = 60.0
START_S = 1.0
PROGRAM_S = 0.1
LAUNCHER_HANGS_S = 5.0
MPI = Mpi(compiler="mpicc", launcher=("mpirun",), flavour="other")


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("conform_budget", "conform_search", "conform_shrink"):
        monkeypatch.setattr(sys.modules[f"matchbench.mpi.{module}"], "time", CLOCK)


class SlowRunner(SimulatedRunner):
    """A simulated MPI whose starts, programs and hangs take time.

    Parameters
    ----------
    hanging
        Of how many programs one hangs, whatever it has; 0 for none. It hangs each time.
    launcher_hanging
        Of how many starts of a job one hangs; 0 for none.
    """

    def __init__(self, *, hanging: int = 0, launcher_hanging: int = 0) -> None:
        super().__init__(self.kind_of)
        self.hanging, self.launcher_hanging = hanging, launcher_hanging
        self.text = ""

    def kind_of(self, traits: Any) -> Kind | None:
        """Fail by order where a wildcard has a second communicator beside it, which is seldom."""
        if self.hanging and zlib.crc32(self.text.encode()) % self.hanging == 0:
            return "stuck"
        return "order" if "any-source" in traits and "several-communicators" in traits else None

    def run(self, programs: Programs, first: int, *, deadline: float = float("inf"), **options: Any) -> Job:
        """Take time, as far as the deadline allows."""
        began = CLOCK.now
        if self.launcher_hanging and (self.jobs + 1) % self.launcher_hanging == 0:
            self.jobs += 1
            CLOCK.now = min(deadline, began + LAUNCHER_HANGS_S)
            reason = "no output within the time limit"
            raise NotStartedError(reason, is_initialized=False, is_stalled=True)

        text, rule = programs.text, self.rule
        at = iter(range(first, len(programs)))

        def named(traits: Any) -> Kind | None:
            self.text = text(next(at))
            return rule(traits)

        self.rule = named
        try:
            job = super().run(programs, first, **options)
        finally:
            self.rule = rule
        judged = job.judged
        most = int(max(0.0, deadline - began - START_S) / PROGRAM_S)
        limit = options.get("limit") or self.patience.limit
        others = options.get("others") or self.patience.limit
        is_stuck = bool(judged["failures"]) and judged["failures"][-1]["kind"] == "stuck"
        ran = judged["next"] - first
        seconds = START_S + PROGRAM_S * ran
        if is_stuck:
            seconds += limit if ran == 1 else others
        if began + seconds <= deadline:
            CLOCK.now = began + seconds
            return job
        CLOCK.now = deadline
        last = min(first + most, judged["next"] - is_stuck)
        failures = [one for one in judged["failures"] if one["index"] < last]
        passed = max(0, last - first - len(failures))
        cut = {**judged, "next": last, "failures": failures, "counts": {"programs": passed}}
        return replace(job, judged=cut, is_out_of_time=True)  # type: ignore[arg-type] # the same keys


def search(runner: SlowRunner, seconds: float = BUDGET_S) -> tuple[Conformance, float]:
    """Search and shrink; return the results and the time of both."""
    found, plan, began = Conformance(), Plan(budget_seconds=seconds), CLOCK.now
    budget = Budget(seconds)
    conform(runner, plan, found, Watch(), budget=budget)
    # After the search, what is left of the budget belongs to whatever is not shrunk.
    assert found.used["hangs"] <= 1.1 * SHARES["hangs"] * seconds
    shrink_rest(runner, plan, found, lambda _: lambda _: None, budget)
    return found, CLOCK.now - began


@pytest.mark.parametrize(
    ("seconds", "hanging", "launcher_hanging"), [(60.0, 2, 0), (60.0, 10, 0), (60.0, 0, 3), (300.0, 5, 4)]
)
def test_what_hangs_starves_neither_the_search_for_order_nor_the_budget(
    seconds: float, hanging: int, launcher_hanging: int
) -> None:
    runner = SlowRunner(hanging=hanging, launcher_hanging=launcher_hanging)
    found, took = search(runner, seconds)
    assert took <= 1.1 * seconds
    assert found.stopped == "budget"
    assert found.used["order"] >= 0.9 * SHARES["order"] * seconds
    assert any(failure.kind == "order" and failure.for_order for failure in found.failures)
    assert any(one.failure.kind == "order" and one.best is not None for one in found.shrinkings)


def test_without_trouble_no_program_for_order_alone_is_needed() -> None:
    runner = SlowRunner()
    runner.rule = lambda _: None
    found = Conformance()
    conform(runner, Plan(programs=1000), found, Watch())
    assert (found.stopped, found.counts["of_order"], found.used["order"]) == ("complete", 0, 0)
    assert found.counts["programs"] == 1000


def test_a_slow_mpi_without_trouble_has_programs_for_order_alone_in_the_end() -> None:
    runner = SlowRunner()
    runner.rule = lambda _: None
    found, took = search(runner, 20.0)
    assert found.stopped == "budget"
    assert found.counts["of_order"] > 20
    assert found.used["order"] >= 0.9 * SHARES["order"] * 20
    assert took <= 22


def test_a_hang_that_was_not_repeated_is_unconfirmed_and_no_failure() -> None:
    runner = SlowRunner(hanging=2)
    found, _ = search(runner, 20.0)
    assert found.unconfirmed
    assert {one.kind for one in found.unconfirmed} == {"stuck"}
    names = [one.name for one in (*found.failures, *found.unconfirmed)]
    assert len(names) == len(set(names))
    assert Conformance(unconfirmed=found.unconfirmed).is_bad


def test_violations_of_the_order_are_printed_first_and_unconfirmed_hangs_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mpi_conform, "find", lambda *_: MPI)
    monkeypatch.setattr(mpi_conform, "Runner", lambda *_: SlowRunner(hanging=3))
    assert main(["mpi", "conform", "--budget", "60s", "-o", str(tmp_path / "out")]) == 1
    printed = capsys.readouterr().out
    first = printed.index(": order: wrong")
    assert first < printed.index(": stuck: wrong")
    shrunk = [line for line in printed.splitlines() if " steps; it failed " in line]
    kinds = [
        next(word for word in ("order", "stuck") if f"{line.partition(' in ')[0]}: {word}" in printed)
        for line in shrunk
    ]
    assert kinds == sorted(kinds)
    assert kinds[0] == "order"
    unconfirmed = printed.index("\nunconfirmed hangs: ")
    assert "exceeded their time limit in 1 of 1 runs" in printed[unconfirmed:]
    assert all(printed.index(line) < unconfirmed for line in shrunk)


def test_what_was_seen_in_one_run_only_comes_last() -> None:
    programs = Programs(1, 0, 1, ranks=2)

    def shrinking(number: int, kind: str, failed: int) -> Shrinking:
        best = Shrunk(programs=programs, index=0, text="", runs=failed, failed=failed, files=[])
        return Shrinking(failure=Failure(number=number, kind=kind, text=""), best=best, state="time limit")

    all_ = [shrinking(1, "stuck", 1), shrinking(2, "crashed", 3), shrinking(3, "stuck", 3)]
    all_ += [shrinking(4, "status", 200), shrinking(5, "order", 9)]
    assert [one.failure.number for one in by_importance(all_)] == [5, 4, 3, 2, 1]
    assert [one.failure.number for one in all_ if one.is_unconfirmed] == [1]


def test_the_first_environment_of_a_matrix_pays_for_what_all_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def build(_mpi: Mpi, directory: Path) -> Path:
        CLOCK.now += 5
        return directory / "conform"

    monkeypatch.setattr(conform_matrix, "build_runner", build)
    monkeypatch.setattr(conform_matrix, "_library", lambda *_: "")
    left = []

    def examine(
        _mpi: Mpi, plan: Plan, directory: Path, _program: Path, budget: Budget
    ) -> tuple[Conformance, None]:
        (directory / "mpi-conform.json").write_text("{}")
        left.append(round(budget.seconds - budget.elapsed))
        found = Conformance()
        conform(SlowRunner(hanging=2), plan, found, Watch(), budget=budget)
        shrink_rest(SlowRunner(hanging=2), plan, found, lambda _: lambda _: None, budget)
        return found, None

    environments = tuple(Environment(name=name) for name in ("first", "second", "third"))
    matrix = Matrix(name="tried", about="", flavour=None, environments=environments)
    began = CLOCK.now
    assert run_matrix(matrix, MPI, Plan(budget_seconds=40), tmp_path / "out", examine, force=False) == 1
    assert left == [35, 40, 40]
    assert CLOCK.now - began <= 1.1 * 3 * 40


def test_a_launcher_that_does_not_end_is_killed_at_the_deadline() -> None:
    words = (sys.executable, "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)")
    began = time.monotonic()
    ended = Mpi(compiler="cc", launcher=(*words, "{ranks}", "{program}"), flavour="").run(
        1,
        [os.devnull],
        mark="@mark ",
        on_line=lambda _: None,
        stall_seconds=PATIENCE_S,
        deadline=began + 0.5,
        grace_seconds=0.2,
    )
    assert ended.stalled
    assert time.monotonic() - began < PATIENCE_S / 2
