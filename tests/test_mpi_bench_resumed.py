# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A measurement of `matchbench mpi bench` that is interrupted goes on where it ended."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from matchbench.mpi.bench import SERIES
from matchbench.mpi.results import read
from tests.conftest import MATCHBENCH, Command
from tests.processes import PATIENCE_S, started, wait_until

# The series of a measurement that is interrupted in the third one.
SOME = ("--series", "preposted", "--table-only")
SOME_SERIES = [name for name in SERIES if name.startswith("preposted/")]


def interrupted(fake_mpi: Path, directory: Path, by: signal.Signals) -> tuple[int, str]:
    """Measure the fake MPI into `o`, interrupted in the third series; return status and standard error."""
    wait = {"FAKE_MPI": "wait:preposted/communicators", "FAKE_MPI_LOG": "log"}
    with started(
        [*MATCHBENCH, "mpi", "bench", "--mpicc", fake_mpi / "mpicc", "-o", "o", *SOME],
        cwd=directory,
        env={**os.environ, **wait},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        wait_until(lambda: log_of(directory).count("preposted/communicators") == 1, process)
        process.send_signal(by)
        _, said = process.communicate(timeout=PATIENCE_S)
    return process.returncode, said


def log_of(directory: Path) -> list[str]:
    log = directory / "log"
    return log.read_text().splitlines() if log.exists() else []


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_measurement_goes_on_with_the_series_that_are_missing(
    fake_mpi: Path, matchbench: Command, tmp_path: Path, by: signal.Signals
) -> None:
    status, said = interrupted(fake_mpi, tmp_path, by)
    assert not (tmp_path / "o").exists()
    kept = tmp_path / ".o.unfinished"
    if by == signal.SIGINT:
        assert (status, said) == (
            130,
            f"matchbench: 2 of {len(SOME_SERIES)} series are kept; the same command with -o o continues\n"
            "matchbench: interrupted\n",
        )
        # A killed process may have written a part of a line.
        kept.write_text(kept.read_text() + '{"series": "preposted/comm')
    words = ("mpi", "bench", "--mpicc", fake_mpi / "mpicc", *SOME)
    done = matchbench(*words, "-o", "o", FAKE_MPI_LOG=str(tmp_path / "log"))
    assert done.returncode == 0
    *left, last = done.stderr.splitlines()
    assert last == f"matchbench: 2 of {len(SOME_SERIES)} series were measured before"
    removed = ["matchbench: o: removed what an ended process left: .o.partial-"]
    assert [line.rstrip("0123456789") for line in left] == (removed if by == signal.SIGKILL else [])
    # Each series once, but the one that was interrupted.
    assert log_of(tmp_path) == [*SOME_SERIES[:3], *SOME_SERIES[2:]]
    assert not kept.exists()
    continued = read(tmp_path / "o")
    done = matchbench(*words, "-o", "whole")
    assert done.returncode == 0
    whole = read(tmp_path / "whole")
    for each in (continued, whole):
        each["date"] = each["place"]["load"] = ""
    assert continued == whole


def test_series_of_another_plan_or_processor_are_not_mixed(
    fake_mpi: Path, matchbench: Command, tmp_path: Path
) -> None:
    interrupted(fake_mpi, tmp_path, signal.SIGINT)
    words = ("mpi", "bench", "--mpicc", fake_mpi / "mpicc", "-o", "o", *SOME)
    kept = tmp_path / ".o.unfinished"
    done = matchbench(*words, "--repetitions", "5")
    assert (done.returncode, done.stderr) == (
        2,
        f"matchbench: {kept}: holds series of an interrupted measurement with another plan; "
        "repeat that command, choose another directory, or give --force to discard them\n",
    )
    done = matchbench(*words, FAKE_MPI_CPU="another")
    assert (done.returncode, done.stderr.splitlines()[1:]) == (
        2,
        [
            f"matchbench: {kept}: found series of Fake MPI 1.0 on none on a and b and of Fake MPI "
            "1.0 on another on a and b; continue where the measurement began, "
            "or remove the file to start over"
        ],
    )
    assert len(kept.read_text().splitlines()) == 3
    done = matchbench(*words, "--repetitions", "5", "--force")
    assert (done.returncode, done.stderr) == (0, "")
    assert read(tmp_path / "o")["plan"]["sweeps"] == 5
    assert not kept.exists()


@pytest.mark.parametrize("text", ["", "x\n", '{"format": "other"}\n', "[1]\n", '{"format": 1}\n'])
def test_a_file_that_does_not_hold_kept_series_is_refused(
    fake_mpi: Path, matchbench: Command, tmp_path: Path, text: str
) -> None:
    kept = tmp_path / ".o.unfinished"
    kept.write_text(text)
    done = matchbench("mpi", "bench", "--mpicc", fake_mpi / "mpicc", "-o", "o")
    assert (done.returncode, done.stderr) == (
        2,
        f"matchbench: {kept}: found another kind of file, "
        "expected the series of an interrupted `matchbench mpi bench`; remove it\n",
    )
