# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench mpi conform` after an interruption: the same command continues, anything else is refused."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from matchbench._native import TestPrograms as Programs
from matchbench.cli import main
from matchbench.mpi import conform_command as mpi_conform
from matchbench.mpi.conform_runner import Job, TellDone
from matchbench.mpi.launch import Mpi
from matchbench.mpi.stack import Stack
from tests.processes import PATIENCE_S, started, wait_until
from tests.test_conform_search import CLOCK, Kind, Rule, SimulatedRunner

MPICC = next((mpicc for name in ("openmpi", "mpich") if (mpicc := shutil.which(f"mpicc.{name}"))), None)


class CutRunner(SimulatedRunner):
    """A simulated MPI on which a job is cut short before its first program has ended."""

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
        """Judge by the rule, or nothing."""
        self.stack = Stack(library="Simulated MPI 1")
        job = super().run(programs, first, limit=limit, others=others, deadline=deadline, progress=progress)
        if job.interruption is None:
            return job
        return replace(job, judged={"next": first, "counts": {}, "unexplained": None, "failures": []})


def fails(traits: Sequence[str]) -> Kind | None:
    if "persistent" in traits:
        return "crashed"
    return "stuck" if "mprobe" in traits and "any-tag" in traits else None


class Simulation:
    """Calls the command with a simulated MPI."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.out = folder / "out"
        self.kept = folder / ".out.unfinished"
        self.runners: list[CutRunner] = []
        self._patch = monkeypatch
        mpi = Mpi(compiler="mpicc", launcher=("mpirun",), flavour="other")
        monkeypatch.setattr(mpi_conform, "find", lambda *_: mpi)

    def __call__(
        self,
        *words: str,
        cut: int | None = None,
        rule: Rule = fails,
        runner: Callable[..., CutRunner] = CutRunner,
    ) -> int:
        """Run the command; job number `cut` is cut short."""

        def make(*_: object) -> CutRunner:
            self.runners.append(runner(rule, interrupt_after=cut))
            return self.runners[-1]

        self._patch.setattr(mpi_conform, "Runner", make)
        return main(["mpi", "conform", "--programs", "400", "-o", str(self.out), *words])

    def report(self) -> dict[str, Any]:
        """Read the report, without what differs between runs that do the same."""
        report: dict[str, Any] = json.loads((self.out / "mpi-conform.json").read_text())
        return report


@pytest.fixture
def simulation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Simulation:
    for module in ("conform_budget", "conform_search", "conform_shrink"):
        monkeypatch.setattr(sys.modules[f"matchbench.mpi.{module}"], "time", CLOCK)
    return Simulation(tmp_path, monkeypatch)


def of_search(report: dict[str, Any]) -> dict[str, Any]:
    """Give what does not depend on time, as whose turn it is does; nothing was lost or run twice."""
    names = [(failure["number"], failure["for_order"]) for failure in report["failures"]]
    assert len(names) == len(set(names))
    assert report["asked"] == report["counts"]["programs"] + len(names)
    assert (report["suspected"], report["suspected_for_order"], report["unconfirmed"]) == ([], [], [])
    return {
        "left_out": sorted((one["kind"], one["trait"]) for one in report["left_out"]),
        "kinds": sorted({failure["kind"] for failure in report["failures"]}),
        "shrunk": sorted({failure["kind"] for failure in report["failures"] if failure["shrunk"]}),
        **{key: report[key] for key in ("counts", "stopped", "remarks")},
    }


def test_wherever_it_is_interrupted_the_same_command_goes_on(
    simulation: Simulation, capsys: pytest.CaptureFixture[str]
) -> None:
    assert simulation() == 1
    whole = simulation.report()
    jobs = simulation.runners[0].jobs
    assert whole["stopped"] == "complete"
    assert {one["kind"] for one in whole["left_out"]} == {"crashed", "stuck"}
    assert not simulation.kept.exists()
    capsys.readouterr()
    # In the first job, while programs are run, confirmed and shrunk, and after the search.
    for cut in (1, 2, 5, jobs // 2, jobs):
        shutil.rmtree(simulation.out)
        assert simulation(cut=cut) == 130
        kept = json.loads(simulation.kept.read_text().splitlines()[1])["asked"]
        said = capsys.readouterr().err
        assert f"{kept} programs are kept; the same command with -o {simulation.out} continues\n" in said
        assert simulation() == 1, cut
        assert f"matchbench: {kept} programs were run before\n" in capsys.readouterr().err
        assert of_search(simulation.report()) == of_search(whole), cut
        assert not simulation.kept.exists()
    # What is finished is not begun again.
    assert simulation() == 2
    assert "found earlier output" in capsys.readouterr().err


def test_it_is_interrupted_again_and_again(simulation: Simulation) -> None:
    assert simulation() == 1
    whole = simulation.report()
    shutil.rmtree(simulation.out)
    asked = []
    # Later each time, so that the shrinking that is repeated ends.
    for cut in (2, 3, 10, 40, 41, 80, 160, 320):
        if simulation(cut=cut) == 1:
            break
        asked.append(json.loads(simulation.kept.read_text().splitlines()[1])["asked"])
    assert len(set(asked)) > 2
    assert asked == sorted(asked)
    assert of_search(simulation.report()) == of_search(whole)


def test_the_budget_is_that_of_all_runs(simulation: Simulation) -> None:
    def slow(*words: str, cut: int | None = None) -> int:
        return simulation("--budget", "10s", *words, cut=cut, rule=lambda _: None, runner=SlowRunner)

    class SlowRunner(CutRunner):
        def run(self, programs: Programs, first: int, **options: Any) -> Job:
            CLOCK.now += 6
            return super().run(programs, first, **options)

    assert slow(cut=1) == 130
    assert slow() == 0
    report = simulation.report()
    assert (report["stopped"], report["counts"]["programs"]) == ("budget", 64)
    assert report["seconds"] > 12


@pytest.mark.parametrize(
    ("words", "environment", "named"),
    [
        (["--seed", "2"], {}, "plan (seed)"),
        (["--programs", "500", "--ranks", "3"], {}, "plan (programs, ranks)"),
        (["--budget", "20m"], {}, "plan (budget_seconds)"),
        (["--without", "cancel"], {}, "plan (without)"),
        ([], {"FI_PROVIDER": "tcp"}, "environment (FI_PROVIDER)"),
    ],
)
def test_the_state_of_another_command_is_refused(
    simulation: Simulation,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    environment: dict[str, str],
    named: str,
) -> None:
    assert simulation(cut=3) == 130
    before = simulation.kept.read_bytes()
    capsys.readouterr()
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert simulation(*words) == 2
    assert capsys.readouterr().err == (
        f"matchbench: {simulation.kept}: holds the state of an interrupted search with another {named}; "
        "repeat that command, choose another directory, or give --force to discard it\n"
    )
    assert simulation.kept.read_bytes() == before
    assert simulation.report()["stopped"] == "interrupted"
    assert simulation(*words, "--force") == 1
    assert simulation.report()["stopped"] == "complete"
    assert not simulation.kept.exists()


def test_a_library_of_another_version_is_refused(
    simulation: Simulation, capsys: pytest.CaptureFixture[str]
) -> None:
    class Newer(CutRunner):
        def run(self, programs: Programs, first: int, **options: Any) -> Job:
            job = super().run(programs, first, **options)
            self.stack = Stack(library="Simulated MPI 2\nwith more")
            return job

    class Older(CutRunner):
        def lacks(self) -> tuple[str, ...]:
            return ("isendrecv",)

    assert simulation(cut=5) == 130
    before = simulation.kept.read_bytes()
    for runner, began, found in (
        (Newer, "Simulated MPI 1", "Simulated MPI 2"),
        (Older, "a library that lacks nothing", "one that lacks isendrecv"),
    ):
        capsys.readouterr()
        assert simulation(runner=runner) == 2
        assert (
            f"matchbench: {simulation.kept}: the search began on {began}, found {found}; "
            "continue where it began, or remove the file to start over\n"
        ) in capsys.readouterr().err
    assert json.loads(simulation.kept.read_text().splitlines()[1]) == json.loads(before.splitlines()[1])


def damages(content: bytes) -> dict[str, bytes]:
    head, state, _ = content.split(b"\n")
    asked = state.replace(b'"asked": ', b'"asked": 1', 1)
    other = b'{"asked": 3}'
    checked = {**json.loads(head), "sha256": hashlib.sha256(other).hexdigest()}
    return {
        "nothing": b"",
        "no text": b"\xff\xfe\n",
        "another file": b"x\n",
        "other JSON": b"[1]\n2\n",
        "half of it": content[: len(content) // 2],
        "without its end": content[:-1],
        "one number changed": head + b"\n" + asked + b"\n",
        "more than it": content + b"x",
        "another state": json.dumps(checked).encode() + b"\n" + other + b"\n",
    }


def test_a_damaged_state_is_refused(simulation: Simulation, capsys: pytest.CaptureFixture[str]) -> None:
    assert simulation(cut=2, rule=lambda _: None) == 130
    whole = simulation.kept.read_bytes()
    for name, content in damages(whole).items():
        simulation.kept.write_bytes(content)
        capsys.readouterr()
        for words in ((), ("--force",)):
            assert simulation(*words) == 2, name
            assert (
                f"matchbench: {simulation.kept}: found another kind of file, "
                "expected the state of an interrupted `matchbench mpi conform`; "
                "remove it to start over\n"
            ) in capsys.readouterr().err, name
            assert simulation.kept.read_bytes() == content, name
    simulation.kept.unlink()
    assert simulation("--force", rule=lambda _: None) == 0
    assert simulation.report()["stopped"] == "complete"


@pytest.mark.skipif(MPICC is None, reason="no MPI is installed")
@pytest.mark.usefixtures("sleeping_ranks")
def test_a_killed_run_on_an_mpi_goes_on(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "matchbench", "mpi", "conform", "--mpicc", str(MPICC), "-o", "o"]
    words += ["--programs", "200", "--without", "null", "--without", "truncation", "--without", "long"]
    words += ["--without", "isendrecv", "--without", "shared-threads", "--without", "partitioned"]
    environment = {
        **os.environ,
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    }
    kept = tmp_path / ".o.unfinished"

    def asked() -> int:
        lines = kept.read_text().splitlines() if kept.exists() else []
        return int(json.loads(lines[1])["asked"]) if lines else 0

    with started(words, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL) as process:
        wait_until(lambda: asked() > 0, process)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=PATIENCE_S)
    before = asked()
    assert 0 < before < 200
    done = subprocess.run(
        words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    left = f"matchbench: o: removed what an ended process left: .o.partial-{process.pid}\n"
    assert (done.returncode, done.stderr) == (0, f"{left}matchbench: {before} programs were run before\n")
    report = json.loads((tmp_path / "o" / "mpi-conform.json").read_text())
    assert (report["asked"], report["counts"]["programs"], report["stopped"]) == (200, 200, "complete")
    assert not kept.exists()
