# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The launcher, and the whole way from an MPI program to a result table."""

import os
import re
import shutil
import signal
import struct
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import matchbench as mb
from matchbench.record import launch_command, launcher_flavour, library
from tests.conftest import Command

ROOT = Path(__file__).parents[1]
VARIABLES = {"LD_PRELOAD": "/lib/r.so", "DIR": "/d"}
LAUNCHERS = {
    "openmpi": ("mpirun.openmpi", "--oversubscribe"),
    "mpich": ("mpiexec.mpich",),
}
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def launcher(directory: Path, name: str, version: str) -> str:
    """Make a launcher that only prints its version."""
    path = directory / name
    path.write_text(f"#!/bin/sh\necho '{version}'\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    ("name", "version", "flavour"),
    [
        ("mpirun", "mpirun (Open MPI) 4.1.4", "openmpi"),
        ("mpiexec", "mpiexec (OpenRTE) 4.1.4", "openmpi"),
        ("prterun", "prterun (PRRTE) 3.0.2", "openmpi"),
        ("mpiexec.hydra", "HYDRA build details:", "hydra"),
        ("mpirun", "Intel(R) MPI Library for Linux* OS, Version 2021.9", "hydra"),
        ("mpirun", "some other MPI", "other"),
        ("srun", "not asked", "slurm"),
        ("flux", "not asked", "other"),
    ],
)
def test_a_launcher_is_identified_by_name_and_version(
    tmp_path: Path, name: str, version: str, flavour: str
) -> None:
    assert launcher_flavour(launcher(tmp_path, name, version)) == flavour


@pytest.mark.parametrize(
    ("flavour", "command", "words"),
    [
        ("openmpi", "mpirun -n 2 a", "mpirun -x LD_PRELOAD=/lib/r.so -x DIR=/d -n 2 a"),
        ("hydra", "mpiexec -n 2 a", "mpiexec -genv LD_PRELOAD /lib/r.so -genv DIR /d -n 2 a"),
        ("slurm", "srun -n 2 a", "srun --export=ALL,LD_PRELOAD=/lib/r.so,DIR=/d -n 2 a"),
        ("slurm", "srun --export=X=1 a", "srun --export=X=1,LD_PRELOAD=/lib/r.so,DIR=/d a"),
        ("slurm", "srun --export X=1 a", "srun --export=X=1,LD_PRELOAD=/lib/r.so,DIR=/d a"),
        ("slurm", "srun --export=NONE a", "srun --export=LD_PRELOAD=/lib/r.so,DIR=/d a"),
        ("slurm", "srun sh --export=X", "srun --export=ALL,LD_PRELOAD=/lib/r.so,DIR=/d sh --export=X"),
        ("other", "flux run a", "flux run a"),
    ],
)
def test_every_rank_loads_the_recorder(flavour: str, command: str, words: str) -> None:
    assert launch_command(command.split(), VARIABLES, flavour) == words.split()


def test_slurm_refuses_a_value_with_a_comma() -> None:
    with pytest.raises(mb.MatchbenchError) as error:
        launch_command(["srun", "a"], {"DIR": "/a,b"}, "slurm")
    message = "srun: found a comma in DIR=/a,b, which srun cannot pass; use a path without comma"
    assert str(error.value) == message


@pytest.fixture
def recorder() -> Path:
    """Skip where the recorder is not built; `make setup` builds it."""
    try:
        return library()
    except mb.MatchbenchError as error:
        pytest.skip(str(error))


def test_an_unknown_program_is_refused(recorder: Path, matchbench: Command, tmp_path: Path) -> None:
    assert recorder.is_file()
    done = matchbench("record", "-o", "t", "--", "mpirrun", "-n", "2", "./a")
    assert (done.returncode, done.stderr) == (2, "matchbench: mpirrun: no such program\n")
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_holds_a_trace_is_refused(
    recorder: Path, matchbench: Command, tmp_path: Path
) -> None:
    assert recorder.is_file()
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "meta.json").write_text("{}")
    done = matchbench("record", "-o", "t", "--", "true")
    assert (done.returncode, done.stderr) == (2, "matchbench: t: holds a trace; choose another directory\n")


def test_a_program_without_mpi_is_reported(recorder: Path, matchbench: Command, tmp_path: Path) -> None:
    assert recorder.is_file()
    done = matchbench("record", "-o", "t", "--", "true")
    assert done.returncode == 1
    assert done.stderr.endswith(
        "matchbench: no MPI rank was recorded; expected a program that is linked dynamically with MPI\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_the_exit_status_of_the_program_is_passed_on(recorder: Path, matchbench: Command) -> None:
    assert recorder.is_file()
    assert matchbench("record", "-o", "t", "--", "/bin/sh", "-c", "exit 7").returncode == 7
    assert matchbench("record", "-o", "t", "--", "/bin/sh", "-c", "kill -9 $$").returncode == 128 + 9


@pytest.mark.parametrize(("flags", "status"), [(1, 0), (0, 1)], ids=["finalized", "cut"])
def test_a_rank_without_finalize_sets_the_exit_status(
    recorder: Path, matchbench: Command, tmp_path: Path, flags: int, status: int
) -> None:
    assert recorder.is_file()
    # Rank 0 of a world of one (`spec/trace.md`, section 3), under a launcher that says that all is good.
    header = struct.pack("<8s2H5I4Q", b"MBTRACE\x01", 1, 64, flags, 0, 0, 1, 0, 0, 0, 0, 0)
    (tmp_path / "rank").write_bytes(header)
    done = matchbench("record", "-o", "t", "--", "sh", "-c", "cp rank $MATCHBENCH_RECORD_DIR/rank-00000.mbt")
    assert done.returncode == status
    assert done.stderr.endswith("0 records without MPI_Finalize\n") == bool(status)


def test_a_termination_signal_is_passed_on(recorder: Path, tmp_path: Path) -> None:
    assert recorder.is_file()
    words = [
        sys.executable,
        "-m",
        "matchbench",
        "record",
        "-o",
        "t",
        "--",
        "/bin/sh",
        "-c",
        "echo on; sleep 60",
    ]
    process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "on\n"
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 128 + signal.SIGTERM
    process.stdout.close()
    assert process.stderr is not None
    process.stderr.close()


@pytest.fixture(params=LAUNCHERS)
def program(request: pytest.FixtureRequest) -> tuple[tuple[str, ...], Path]:
    """Build the conjugate-gradient example for one MPI; give its launcher and the program."""
    mpi: str = request.param
    needed = (LAUNCHERS[mpi][0], f"mpicc.{mpi}", f"mpicxx.{mpi}", f"mpifort.{mpi}")
    if missing := [name for name in needed if shutil.which(name) is None]:
        pytest.skip(f"{mpi}: `{missing[0]}` is not installed")
    build = f"build/{mpi}"
    make = ["make", "--no-print-directory", "-C", "examples/mpi", f"MPI={mpi}", f"BUILD={build}"]
    done = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return LAUNCHERS[mpi], ROOT / "examples" / "mpi" / build / "cg"


def test_a_recorded_program_is_replayed_message_by_message(
    recorder: Path, program: tuple[tuple[str, ...], Path], matchbench: Command, tmp_path: Path
) -> None:
    assert recorder.is_file()
    launch, path = program
    size = ("--nx", "4", "--ny", "4", "--nz", "4", "--springs", "12")
    done = matchbench("record", "-o", "t", "--", *launch, "-n", "4", path, *size, **AS_ROOT)
    assert done.returncode == 0, done.stderr
    counted = re.search(r"sent_messages=(\d+) sent_bytes=(\d+)", done.stdout)
    assert counted
    summary = done.stderr.splitlines()[-1]
    assert re.fullmatch(r"matchbench: .*/t: 4 of 4 ranks, \d+ records, \d+ bytes", summary), done.stderr

    trace = mb.Trace.open(tmp_path / "t")
    assert f" {trace.records} records" in summary
    assert [trace.meta["origin"], trace.meta["command"][0], trace.ranks] == ["recorded", launch[0], 4]
    total = trace.stats().total
    assert (total["sent"], total["sent_bytes"]) == (int(counted[1]), int(counted[2]))

    results = mb.compare(trace, ["ideal", "linear:qsnet2"]).results
    assert results["finished"].all()
    assert results["sent_user"].to_list() == [total["sent"]] * 2
    assert results.select(pl.col("received") == pl.col("sent")).to_series().all()
    assert os.listdir(tmp_path) == ["t"]  # noqa: PTH208 - names suffice


@pytest.fixture(scope="module")
def silent(tmp_path_factory: pytest.TempPathFactory) -> list[mb.Trace]:
    """Record a program that sends nothing, on one rank and on two."""
    directory = tmp_path_factory.mktemp("silent")
    source = directory / "silent.c"
    source.write_text("#include <mpi.h>\nint main(void) { MPI_Init(0, 0); return MPI_Finalize(); }\n")
    compiler = ["mpicc.mpich", "-o", str(directory / "silent"), str(source)]
    subprocess.run(compiler, check=True)
    for ranks in (1, 2):
        launch = ["mpiexec.mpich", "-n", str(ranks), str(directory / "silent")]
        assert mb.record(launch, directory / f"ranks{ranks}").complete
    return [mb.Trace.open(directory / f"ranks{ranks}") for ranks in (1, 2)]


def test_a_program_without_messages_has_a_result_on_every_engine(
    silent: list[mb.Trace], matchbench: Command, tmp_path: Path
) -> None:
    done = matchbench("compare", *(trace.path for trace in silent), "-o", "r")
    assert done.returncode == 0
    for trace in silent:
        assert f"{trace.name}: This program sent no messages: matching costs it nothing.\n" in done.stdout
    rows = pl.read_parquet(tmp_path / "r" / "results.parquet")
    assert rows["matches"].sum() == 0
    assert set(rows["slowdown"]) == {1.0}
    assert {plot.name for plot in (tmp_path / "r" / "plots").iterdir()} == {
        f"{trace.name}.slowdown.{ending}" for trace in silent for ending in ("png", "svg")
    }
    page = (tmp_path / "r" / "report.html").read_text(encoding="utf-8")
    assert page.count("<p>This program sent no messages: matching costs it nothing.</p>") == len(silent)


def test_a_program_without_messages_has_statistics(silent: list[mb.Trace], matchbench: Command) -> None:
    done = matchbench("trace", "stats", silent[0].path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\nmessages sent       0, 0 B\n" in done.stdout
    assert silent[1].stats().total["received"] == 0
