# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench mpi conform` while processes are stopped: time in which nothing can run is not a hang."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from matchbench._native import TestPrograms as Programs
from matchbench.mpi.conform_runner import Runner, build_runner
from matchbench.mpi.launch import find
from tests.processes import PATIENCE_S

MPICC = next((mpicc for name in ("openmpi", "mpich") if (mpicc := shutil.which(f"mpicc.{name}"))), None)
LIMIT_S = 3.0
STOPPED_S = 4.5
# So many that the ranks are stopped before the last one.
MANY = 200
WITHOUT = (
    "null",
    "truncation",
    "partitioned",
    "isendrecv",
    "threads",
    "shared-threads",
    "counts",
    "sessions",
    "long",
    "large",
)

pytestmark = [
    pytest.mark.skipif(MPICC is None, reason="no MPI is installed"),
    pytest.mark.usefixtures("sleeping_ranks"),
]


@pytest.fixture(autouse=True)
def _as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")


def processes_of(program: Path) -> list[int]:
    """Give the numbers of the processes that execute a program."""
    found = []
    for each in Path("/proc").glob("[0-9]*/exe"):
        try:
            if each.readlink() == program:
                found.append(int(each.parent.name))
        except OSError:
            continue
    return found


def test_ranks_that_were_stopped_for_longer_than_the_limit_are_not_stuck(tmp_path: Path) -> None:
    runner = Runner(find(MPICC), tmp_path, LIMIT_S)
    programs = Programs(1, 0, MANY, ranks=2, without=list(WITHOUT))
    stopped: list[int] = []

    def stop_once(done: int) -> None:
        if stopped or done == 0:
            return
        stopped.extend(processes_of(runner.program))
        for process in stopped:
            os.kill(process, signal.SIGSTOP)
        threading.Timer(STOPPED_S, resume).start()

    def resume() -> None:
        for process in stopped:
            os.kill(process, signal.SIGCONT)

    began = time.monotonic()
    job = runner.run(programs, 0, progress=stop_once)
    assert len(stopped) == 2
    assert time.monotonic() - began > STOPPED_S
    assert job.judged["failures"] == []
    assert job.judged["next"] == MANY
    # The learned limit is not that of a program that was stopped.
    assert job.longest_seconds < LIMIT_S


def test_a_rank_that_is_held_up_between_programs_writes_no_record_there(tmp_path: Path) -> None:
    program = build_runner(find(MPICC), tmp_path)
    programs = Programs(1, 0, 20, ranks=1, without=list(WITHOUT))
    (tmp_path / "programs").write_bytes(programs.encode())
    reading, writing = os.pipe()
    size = fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    first_line = len("@matchbench-conform 0 0\n")
    os.write(writing, b"x" * (size - first_line - 8))  # the first line fits, no other one does
    with subprocess.Popen(
        [program, tmp_path / "programs", tmp_path, "0", "500", "500"], stdout=writing, cwd=tmp_path
    ) as process:
        os.close(writing)
        # The last program ended, its time limit expires meanwhile.
        time.sleep(STOPPED_S)
        assert process.poll() is None
        with os.fdopen(reading, "rb") as stream:
            said = stream.read()
        assert process.wait(timeout=PATIENCE_S) == 0
    assert b"@matchbench-conform 20 " in said
    judged = programs.judge(0, [(tmp_path / "0.0.out").read_bytes()])
    assert (judged["failures"], judged["next"]) == ([], 20)


# Says a line, computes for a second and says another one; sleeping would go on while it is stopped.
SLOW = """import sys, time
print("@mark 1", flush=True)
for _ in range(100):
    time.sleep(0.01)
print("@mark 2", flush=True)
"""
FOLLOW = """import sys
from matchbench.mpi.launch import Mpi
mpi = Mpi(compiler="cc", launcher=(sys.executable, sys.argv[1], "{ranks}", "{program}"), flavour="")
print("ready", flush=True)
ended = mpi.run(1, ["none"], mark="@mark ", on_line=lambda line: print(line, flush=True), stall_seconds=1.9)
print(ended.stalled, flush=True)
"""


def test_a_job_is_not_stalled_because_everything_was_stopped(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    with subprocess.Popen(
        [sys.executable, "-c", FOLLOW, tmp_path / "slow.py"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(2)] == ["ready\n", "1\n"]
        children = [
            int(each) for each in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        ]
        assert len(children) == 1
        for each in (*children, process.pid):
            os.kill(each, signal.SIGSTOP)
        time.sleep(STOPPED_S)
        for each in (process.pid, *children):
            os.kill(each, signal.SIGCONT)
        assert process.stdout.read() == "2\nFalse\n"
