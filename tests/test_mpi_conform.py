# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench mpi conform` on Debian's two MPIs: both pass, and both fail with a shim that breaks them."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from matchbench._native import MatchbenchError
from matchbench._native import TestPrograms as Programs
from matchbench.cli import main
from matchbench.mpi.conform_plan import Failure, Plan, Shrinking
from matchbench.mpi.conform_runner import Job, Patience, Runner, TellDone
from matchbench.mpi.conform_shrink import shrink
from matchbench.mpi.launch import Ended, find
from matchbench.native_types import JudgedRun
from tests.conftest import keys
from tests.processes import PATIENCE_S

SHIM = Path(__file__).parent / "mpi" / "broken.c"
# Debian's MPIs, and those in the prefixes set by `make nightly`.
MPIS = [f"mpicc.{name}" for name in ("openmpi", "mpich") if shutil.which(f"mpicc.{name}")]
MPIS += [
    f"{prefix}/bin/mpicc" for prefix in os.environ.get("MATCHBENCH_MPI_PREFIXES", "").split(":") if prefix
]
# Finding and shrinking a fault takes a minute, so that only `make nightly` breaks all MPIs, and searches as
# many programs as lead to parts of programs being left out.
NIGHTLY = bool(os.environ.get("MATCHBENCH_MPI_PREFIXES"))
BROKEN = MPIS if NIGHTLY else MPIS[-1:]
PROGRAMS = 200 if NIGHTLY else 80
BROKEN_PROGRAMS = 150 if NIGHTLY else 8
# Of a correct MPI, besides one with threads; each is compiled.
REPRODUCERS = 5 if NIGHTLY else 2
# Known faults that do not concern order: MPICH 4.0.2 sets a wrong status for MPI_Irecv from MPI_PROC_NULL,
# and Open MPI writes past the end of short buffers.
WITHOUT_KNOWN_FAULTS = ["--without", "null", "--without", "truncation"]
# The shim knows neither threads nor these calls.
UNKNOWN_TO_THE_SHIM = ["isendrecv", "partitioned", "threads", "shared-threads", "counts"]


def newer_faults(mpi: str) -> list[str]:
    """Give options that leave out newer features that are known to fail on this MPI (docs/mpi-conform.md)."""
    # MPICH does not set the status of MPI_Isendrecv, and 4.0.2 hangs with several threads on one
    # communicator; Open MPI 5 crashes in partitioned communication.
    known = ["isendrecv", "shared-threads"] if "mpich" in mpi else ["partitioned"]
    return [word for name in known for word in ("--without", name)]


pytestmark = pytest.mark.usefixtures("sleeping_ranks")


@pytest.fixture(autouse=True)
def _as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")


def conform(mpi: str, output: Path, *options: str) -> int:
    without = [*WITHOUT_KNOWN_FAULTS, *newer_faults(mpi)]
    return main(["mpi", "conform", "--mpicc", mpi, "-o", str(output), *without, *options])


@pytest.mark.parametrize("mpi", MPIS)
@pytest.mark.parametrize("ranks", [2, 4])
def test_an_mpi_that_keeps_the_order_passes(mpi: str, ranks: int, tmp_path: Path) -> None:
    assert conform(mpi, tmp_path / "out", "--programs", str(PROGRAMS), "--ranks", str(ranks)) == 0
    report = json.loads((tmp_path / "out" / "mpi-conform.json").read_text())
    assert report["failures"] == []
    assert report["counts"]["programs"] - report["counts"]["of_order"] == PROGRAMS
    # Every feature was exercised.
    for kind in (
        "received",
        "matched_probes",
        "left_to_the_end",
        "cancelled",
        "probes_found",
        "probes_missed",
        "ready",
        "buffered",
        "started_together",
        "across_groups",
        "derived",
    ):
        assert report["counts"][kind] > PROGRAMS / 20, kind
    assert report["counts"]["threaded"] > PROGRAMS / 40
    # What the library has, and no known fault prevents, was exercised too.
    for feature, kind in (
        ("isendrecv", "isendrecv"),
        ("sessions", "in_sessions"),
        ("partitioned", "partitioned"),
        ("counts", "wide"),
        ("shared-threads", "shared_threads"),
    ):
        assert (report["counts"][kind] > PROGRAMS / 40) == (feature not in report["plan"]["without"]), kind


@pytest.mark.skipif("mpicc.openmpi" not in MPIS, reason="Debian's Open MPI is not installed")
def test_what_a_library_lacks_is_left_out_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert conform("mpicc.openmpi", tmp_path / "out", "--programs", "5") == 0
    report = json.loads((tmp_path / "out" / "mpi-conform.json").read_text())
    assert report["mpi"]["lacks"] == ["isendrecv", "sessions", "partitioned", "counts", "large"]
    assert set(report["mpi"]["lacks"]) <= set(report["plan"]["without"])
    assert (
        "not in this library    isendrecv, sessions, partitioned, counts, large\n" in capsys.readouterr().out
    )
    # A program that needs it anyway ends with a message.
    program = tmp_path / "program"
    source = next(
        programs.c_source(0, [], [b"", b""], 30)
        for number in range(50)
        if "isendrecv" in (programs := Programs(1, number, 1, ranks=2)).text(0)
    )
    (tmp_path / "program.c").write_text(source)
    found = find("mpicc.openmpi")
    found.build(tmp_path / "program.c", program, ["-pthread", "-Wall", "-Werror"])
    ran = subprocess.run([program], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert "2 ranks" in ran.stderr or "the MPI library lacks what the program needs: isendrecv" in ran.stderr
    assert ran.returncode != 0


@pytest.mark.parametrize("mpi", [mpi for mpi in MPIS if "mpich" in mpi][:1])
def test_a_wrong_status_of_isendrecv_hides_no_match(mpi: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = [
        *WITHOUT_KNOWN_FAULTS,
        "--without",
        "shared-threads",
        "--without",
        "datatypes",
        "--programs",
        "60",
    ]
    assert main(["mpi", "conform", "--mpicc", mpi, "-o", str(out), *words]) == 1
    report = json.loads((out / "mpi-conform.json").read_text())
    assert {failure["kind"] for failure in report["failures"]} == {"status"}


@pytest.mark.parametrize("mpi", MPIS)
def test_a_truncated_message_is_still_matched(mpi: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ["mpi", "conform", "--mpicc", mpi, "-o", str(out), "--without", "null"]
    words += ["--programs", str(PROGRAMS), "--shrink-limit", "5s"]
    status = main([*words, *newer_faults(mpi)])
    report = json.loads((out / "mpi-conform.json").read_text())
    # Only the handling of buffer and request may fail, never the matching.
    assert {failure["kind"] for failure in report["failures"]} <= {"truncation", "defect"}
    assert status == (1 if report["failures"] else 0)
    # The counts exclude programs that failed.
    assert report["counts"]["truncated"] + len(report["failures"]) > PROGRAMS / 20
    # The reproducer shows the same fault.
    for failure in report["failures"]:
        if failure["kind"] != "truncation" or not failure["shrunk"]:
            continue
        source = out / failure["shrunk"]["source"]
        found = find(mpi)
        found.build(source, tmp_path / "program", ["-O1", "-Wall", "-Werror"])
        ranks = source.read_text().partition("RANKS = ")[2].partition(",")[0]
        command = [*found.launcher, "-n", ranks, str(tmp_path / "program")]

        def shows(command: list[str] = command) -> bool:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
            return "past the end of its buffer" in ran.stdout or "does not fit" in ran.stdout

        # The fault of the library depends on times, which a busy machine changes.
        assert any(shows() for _ in range(3))


def preloaded(mpi: str, fault: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Build the shim and give the launcher's words that preload it."""
    shim = folder / "broken.so"
    found = find(mpi)
    found.build(SHIM, shim, ["-O1", "-shared", "-fPIC"])
    monkeypatch.setenv("MATCHBENCH_BREAK", fault)
    libraries = ":".join(filter(None, (str(shim), os.environ.get("LD_PRELOAD"))))
    return {
        "openmpi": ["-x", f"LD_PRELOAD={libraries}", "-x", "MATCHBENCH_BREAK"],
        "hydra": ["-genv", "LD_PRELOAD", libraries],
    }[found.flavour]


@pytest.mark.parametrize("mpi", BROKEN)
@pytest.mark.parametrize(
    ("fault", "kind", "steps"), [("swap", "order", 4), ("age", "order", 4), ("forever", "stuck", 2)]
)
def test_a_planted_fault_is_found_and_shrunk(
    mpi: str, fault: str, kind: str, steps: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = find(mpi)
    preload = preloaded(mpi, fault, tmp_path, monkeypatch)
    monkeypatch.setenv("UCX_WARN_UNUSED_ENV_VARS", "n")
    words = ["--", *found.launcher, *preload]
    out = tmp_path / "out"
    without = [word for name in UNKNOWN_TO_THE_SHIM for word in ("--without", name)]
    # What is shrunk on a slow machine is shrunk to its end, too. Only a program that hangs is to exceed its
    # limit.
    limit = "5" if kind == "stuck" else "60"
    limits = ["--time-limit", limit, "--shrink-limit", "10m", "--budget", "1h"]
    assert conform(mpi, out, "--programs", str(BROKEN_PROGRAMS), *limits, *without, *words) == 1
    report = json.loads((out / "mpi-conform.json").read_text())
    failures = [failure for failure in report["failures"] if failure["kind"] == kind and failure["shrunk"]]
    assert report.keys() == keys("mpi-conform", "2. `mpi-conform.json`")
    assert report["mpi"].keys() == keys("mpi-conform", "2.1 `mpi`")
    assert report["plan"].keys() == keys("mpi-conform", "2.2 `plan`")
    assert report["counts"].keys() == keys("mpi-conform", "2.3 `counts`")
    assert failures[0].keys() == keys("mpi-conform", "2.4 `failures`")
    shrunk = failures[0]["shrunk"]
    assert shrunk.keys() == keys("mpi-conform", "2.5 `shrunk`")
    for left_out in report["left_out"]:
        assert left_out.keys() == keys("mpi-conform", "2.6 `left_out`")
    assert len(shrunk["steps"]) <= steps
    assert shrunk["failed"] > 0
    # The printed commands show the fault with the shim; there is none without it.
    head = (out / shrunk["source"]).read_text().partition("enum")[0]
    assert all(command in head for command in shrunk["commands"])
    assert "UCX_WARN_UNUSED_ENV_VARS=n" in shrunk["commands"][-1]
    assert report["mpi"]["environment"]["UCX_WARN_UNUSED_ENV_VARS"] == "n"
    broken = subprocess.run(
        ["/bin/sh", "-c", " && ".join(shrunk["commands"])],
        cwd=out,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert broken.returncode != 0
    assert "violation in round" in broken.stdout or "did not end" in broken.stdout
    source = out / shrunk["source"]
    program = tmp_path / "program"
    found.build(source, program, ["-O1", "-Wall", "-Werror"])
    ranks = source.read_text().partition("RANKS = ")[2].partition(",")[0]
    words = [*found.launcher, "-n", ranks, str(program), "100"]
    whole = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    assert "no violation in 100 rounds" in whole.stdout


@pytest.mark.skipif(
    BROKEN != MPIS, reason="slow; a simulated MPI shows the same in tests/test_conform_search.py"
)
@pytest.mark.parametrize("mpi", MPIS)
def test_a_crash_in_every_third_program_hides_no_order_violation(
    mpi: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    preload = preloaded(mpi, "swap,abort", tmp_path, monkeypatch)
    out = tmp_path / "out"
    options = ["--programs", "40", "--shrink-limit", "8s", "--budget", "60s"]
    assert conform(mpi, out, *options, "--", find(mpi).launcher[0], *preload) == 1
    report = json.loads((out / "mpi-conform.json").read_text())
    kinds = [failure["kind"] for failure in report["failures"]]
    assert kinds.count("crashed") >= 3
    assert kinds.count("order") > 5
    assert ("crashed", "sendrecv") in [(one["kind"], one["trait"]) for one in report["left_out"]]
    assert report["stopped"] == "complete"
    assert min(report["searched"].values()) >= 40


@pytest.mark.parametrize("mpi", MPIS)
def test_the_reproducer_accepts_a_correct_mpi(mpi: str, tmp_path: Path) -> None:
    found = find(mpi)
    # The programs have derived datatypes and threads too; what may be missing is left out.
    without = ["null", "truncation", "isendrecv", "sessions", "partitioned", "counts", "large"]
    programs = Programs(5, 0, 60, ranks=2, without=[*without, "shared-threads"])
    threaded = next(number for number in range(len(programs)) if "thread" in programs.text(number))
    for number in {*range(REPRODUCERS), threaded}:
        source, program = tmp_path / f"{number}.c", tmp_path / str(number)
        source.write_text(programs.c_source(number, ["A test program."], [b"", b""], 30))
        found.build(source, program, ["-O1", "-pthread", "-Wall", "-Wextra", "-Werror"])
        words = [*found.launcher, "-n", "2", str(program), "20"]
        ran = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
        assert ran.stdout.endswith("no violation in 20 rounds\n")


class FaultyRunner(Runner):
    """Reports a failure of every program with five or more steps, and of any program in a mixed job."""

    def __init__(self) -> None:
        """Use neither an MPI nor a directory."""
        self.patience = Patience(10)

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
        """Judge as described for the class."""
        del limit, others, deadline, progress
        indices = range(first, len(programs))
        is_mixed = len({programs.text(index) for index in indices}) > 1
        judged: JudgedRun = {
            "next": len(programs),
            "counts": {},
            "unexplained": None,
            "failures": [
                {"index": index, "kind": "order", "text": "wrong"}
                for index in indices
                if is_mixed or programs.steps(index) >= 5
            ],
        }
        ended = Ended(status=0, stalled=False, said=())
        return Job(judged=judged, files=[b"", b""], ended=ended)


def test_a_program_that_fails_only_after_others_is_not_a_shrunk_failure() -> None:
    found = Failure(number=7, kind="order", text="wrong", said="")
    assert Programs(1, 7, 1, ranks=2).steps(0) > 5
    shrinking = Shrinking(failure=found)
    shrink(FaultyRunner(), Plan(), shrinking, lambda _: None)
    shrunk = shrinking.best
    assert shrunk is not None
    assert shrunk.programs.steps(shrunk.index) == 5
    assert shrunk.failed == shrunk.runs


def test_a_file_that_is_not_an_outcome_file_is_refused() -> None:
    programs = Programs(1, 0, 3, ranks=2)
    with pytest.raises(
        MatchbenchError, match=r"outcomes of rank 0: found the first record \[.*\]; expected \["
    ):
        programs.judge(0, [b"rubbish!" * 8, b""])


@pytest.mark.skipif(not MPIS, reason="no MPI is installed")
def test_bad_input_is_refused_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mpi", "conform", "--mpicc", "/nowhere/mpicc"]) == 2
    assert "found no such compiler" in capsys.readouterr().err
    assert main(["mpi", "conform", "--ranks", "5"]) == 2
    assert "found 5, expected a whole number from 1 to 4" in capsys.readouterr().err
    assert main(["mpi", "conform", "--mpicc", MPIS[0], "--", "true"]) == 2
    assert "the test programs did not start" in capsys.readouterr().err
    if len(MPIS) > 1:
        other = find(MPIS[1]).launcher[0]
        assert main(["mpi", "conform", "--mpicc", MPIS[0], "--", other]) == 2
        assert "every rank was alone" in capsys.readouterr().err
