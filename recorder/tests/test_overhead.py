# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The benchmark judges only what it has measured."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from harness import HERE, Mpi


def test_without_an_mpi_the_benchmark_fails_and_says_what_to_install(tmp_path: Path) -> None:
    environment = os.environ | {"PATH": str(tmp_path), "MATCHBENCH_MPI_PREFIXES": ""}
    command = [sys.executable, str(HERE.parent / "bench" / "overhead.py"), "1"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "no MPI was found" in done.stderr
    for package in ("openmpi-bin", "libopenmpi-dev", "mpich", "libmpich-dev"):
        assert package in done.stderr


def test_a_run_that_is_not_recorded_is_not_measured(mpi: Mpi, tmp_path: Path) -> None:
    for directory in ("bench", "tests"):
        shutil.copytree(HERE.parent / directory, tmp_path / directory)
    command = [sys.executable, str(tmp_path / "bench" / "overhead.py"), "1"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=mpi.environment())
    assert done.returncode == 2
    assert "not every rank was recorded: " in done.stderr
