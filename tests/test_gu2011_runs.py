# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The tables of runs in studies/gu2011_figures and studies/chip_cores: the cheapest give their rows again."""

import csv
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import shared

STUDIES = Path(__file__).resolve().parent.parent / "studies"
STUDY = STUDIES / "gu2011_figures"
COMPILER = "riscv64-linux-gnu-gcc"


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the programs once; the folder in which they are."""
    if shutil.which(COMPILER) is None:
        pytest.skip(f"{COMPILER} is not installed")
    folder = tmp_path_factory.mktemp("programs")
    shutil.copytree(shared.guest_mpi("chip") / "chip", folder / "chip")
    return folder


def measure(*words: str, script: Path = STUDY / "measure.py") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(script), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_cheapest_runs_have_the_counts_of_the_table(copy: Path) -> None:
    done = measure("--check", "--only", "small", "--build", str(copy))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_runs_on_four_cores_have_the_counts_of_the_table_of_cores(copy: Path) -> None:
    script = STUDIES / "chip_cores" / "cores.py"
    done = measure("--check", "--match", "rate 64 8 10 4 4", "--build", str(copy), script=script)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_page_has_the_tables_of_the_runs() -> None:
    done = measure(script=STUDY / "tables.py")
    assert done.returncode == 0, done.stderr
    page = (STUDY / "README.md").read_text(encoding="utf-8")
    lines = done.stdout.splitlines()
    assert sum(line.startswith("|") for line in lines) > 40
    assert [line for line in lines if line.startswith("|") and f"{line}\n" not in page] == []


def test_a_count_that_differs_is_named(copy: Path, tmp_path: Path) -> None:
    text = (STUDY / "runs.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))
    small = next(row for row in rows if row["study"] == "small" and row["transport"] == "base")
    changed = tmp_path / "runs.csv"
    changed.write_text(
        text.replace(f",{small['cycles']},", f",{int(small['cycles']) + 1},"), encoding="utf-8"
    )
    done = measure("--check", "--only", "small", "--build", str(copy), "--table", str(changed))
    assert done.returncode == 1
    assert f"cycles: found {small['cycles']}, expected {int(small['cycles']) + 1}" in done.stdout
