# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench mpi bench` on real MPIs: those of the system, and those of `MATCHBENCH_MPI_PREFIXES`."""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from matchbench.mpi.bench import SERIES
from matchbench.mpi.results import read
from tests.conftest import MATCHBENCH, Command
from tests.processes import PATIENCE_S, started, wait_until

AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@pytest.fixture(
    params=[
        "mpicc.openmpi",
        "mpicc.mpich",
        *(
            f"{prefix}/bin/mpicc"
            for prefix in os.environ.get("MATCHBENCH_MPI_PREFIXES", "").split(":")
            if prefix
        ),
    ]
)
def mpicc(request: pytest.FixtureRequest) -> str:
    """Name the compiler of each MPI in turn: the system's, and those of `MATCHBENCH_MPI_PREFIXES`."""
    name: str = request.param
    if shutil.which(name) is None:
        pytest.skip(f"`{name}` is not installed")
    return name


# The command of docs/mpi-bench.md and docs/tour.md, which `make test` runs here.
ON_PAGES = "matchbench mpi bench --quick --mpicc mpicc.mpich -o out/mpich"
# Of other MPIs.
FEWER = ("--depths", "0,4,256", "--table-only")


@pytest.mark.usefixtures("sleeping_ranks")
def test_every_series_of_a_real_mpi_is_measured(mpicc: str, matchbench: Command, tmp_path: Path) -> None:
    words = ON_PAGES.replace("mpicc.mpich", mpicc).split()[1:]
    done = matchbench(*words, *(() if mpicc in ON_PAGES else FEWER), **AS_ROOT)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    whole = read(tmp_path / "out" / "mpich")
    depths = [0, 4, 64, 256, 1024] if mpicc in ON_PAGES else [0, 4, 256]
    assert whole["remarks"] == {}
    expected = {tuple(name.split("/")) for name in SERIES if not name.startswith("memory/")}
    expected |= {("probe", pattern) for pattern in ("tags", "any_source", "aged")}
    counts: dict[tuple[str, str], list[int]] = {}
    for row in whole["rows"]:
        counts.setdefault((row["kind"], row["pattern"]), []).append(row["depth"])
        assert 0 <= row["ns_q1"] <= row["ns_median"] <= row["ns_q3"]
        assert row["repetitions"] == 3
    drained = ("drain_posted", "drain_unexpected")
    assert counts == {key: depths[1:] if key[0] in drained else depths for key in expected}
    assert [row["what"] for row in whole["memory"]] == ["posted", "unexpected_small", "unexpected_large"]
    assert re.fullmatch(r"(Open MPI|MPICH|Intel MPI) [\d.]+", whole["mpi"]["name"])
    # Grids of 256 entries suffice for a verdict; which one is up to the machine's noise.
    assert all(each["entry_ns"] is not None for each in whole["curves"])


def test_an_interrupted_measurement_leaves_no_rank_and_no_file(mpicc: str, tmp_path: Path) -> None:
    words = ["mpi", "bench", "--mpicc", mpicc, "--repetitions", "100000", "-o", "o"]
    with started(
        [*MATCHBENCH, *words],
        cwd=tmp_path,
        env={**os.environ, **AS_ROOT},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        wait_until(lambda: len(ranks_of(tmp_path)) >= 2, process)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, said) == (130, "matchbench: interrupted\n")
    # What is killed has a moment to end.
    wait_until(lambda: ranks_of(tmp_path) == [])
    assert list(tmp_path.iterdir()) == []


def ranks_of(directory: Path) -> list[str]:
    """Find the processes whose program is below a directory."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            target = os.readlink(process / "exe")  # noqa: PTH115 - Path.readlink would give a path
        except OSError:
            continue
        if target.startswith(f"{directory}/"):
            found.append(target)
    return found
