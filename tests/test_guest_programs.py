# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The programs of the simulated chip, on the host's MPI: they verify, notice faults, and send what they must.

`make nightly` sets MATCHBENCH_GUEST_RANKS to 16, the cores of the chip; `make test` runs the same on 4 ranks.
"""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

import matchbench as mb
from matchbench.record.run import library
from tests import shared
from tests.conftest import Command
from tests.processes import PATIENCE_S

PROGRAMS = Path(__file__).resolve().parent.parent / "moped" / "programs"
RANKS = int(os.environ.get("MATCHBENCH_GUEST_RANKS", "4"))
KERNELS = ("cg", "mg", "ft", "sp", "bt")
# Patterns, and the fault of faults.c that applies to their messages.
PATTERNS = {name: "left_out" if name == "RD" else "dropped" for name in ("PP", "XC", "BC", "RD", "GA", "AA")}
# It gives up a processor that it waits on, so that 16 ranks on two processors take seconds.
LAUNCHER = ("mpirun.openmpi", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "-n")
# Messages and bytes that a rank of the original sends on 16 ranks, least and most over the ranks, and the
# collective calls of a rank (NPB 3.3, class S, recorded; moped/programs/README.md).
ORIGINAL = {
    "cg": ((2944, 2944), (3508224, 3508224), {"barrier": 1, "bcast": 1, "reduce": 1}),
    "mg": ((384, 454), (241184, 245184), {"barrier": 6, "bcast": 7, "reduce": 1, "allreduce": 88}),
    "ft": ((0, 0), (0, 0), {"barrier": 1, "bcast": 5, "reduce": 6, "alltoall": 8}),
    "sp": ((2430, 2430), (2663200, 3028416), {"barrier": 2, "bcast": 4, "reduce": 1, "allreduce": 2}),
    "bt": ((1470, 1470), (3263040, 3263040), {"barrier": 2, "bcast": 6, "reduce": 1, "allreduce": 2}),
}
OPERATIONS = {1: "barrier", 2: "bcast", 3: "reduce", 4: "allreduce", 8: "alltoall"}
# Program, fault, and number of the message that is spoiled.
# At first MG sends zeros; its second sum is the last.
FAULTS = [
    *((kernel, "dropped", 100 if kernel != "ft" else 3) for kernel in KERNELS),
    *((kernel, "mirrored", 100) for kernel in ("mg", "sp")),
    *((kernel, "left_out", number) for kernel, number in (("mg", 2), ("ft", 6), ("bt", 2))),
    # The last of ten iterations; the others leave no trace in the buffers.
    *((f"imb {pattern}", PATTERNS[pattern], 10) for pattern in ("XC", "RD", "AA")),
    # The last of three iterations with two messages each.
    ("rate 64 2 3", "dropped", 5),
]

pytestmark = pytest.mark.usefixtures("sleeping_ranks")


def build(folder: str, *words: str) -> Path:
    """Build into a folder that tests share; the words are an option of make and the program wanted."""
    for tool in ("make", "mpicc.openmpi", LAUNCHER[0]):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    options = [word for word in words if "=" in word]
    programs = [word for word in words if "=" not in word]

    def make(built: Path) -> list[str]:
        goals = [str(built / name) for name in programs]
        return ["-C", str(PROGRAMS), "MPI=openmpi", f"BUILD={built}", *options, *goals]

    return shared.made(folder, make)


@dataclass(frozen=True, slots=True)
class Built:
    """A folder of programs, and what is preloaded into them."""

    folder: Path
    preloaded: Path | None = None


@pytest.fixture(scope="module")
def built() -> Built:
    """Build the programs as they are."""
    return Built(build("guest-programs"))


@pytest.fixture(scope="module")
def spoiled(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Give the programs with `faults.c`."""
    library = tmp_path_factory.mktemp("spoiled") / "libfaults.so"
    options = ["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o", str(library)]
    subprocess.run(["mpicc.openmpi", *options, PROGRAMS / "tests" / "faults.c"], check=True)  # noqa: S607 - of the PATH
    return Built(built.folder, library)


@pytest.fixture(scope="module")
def checked(spoiled: Built) -> Built:
    """Build the patterns with a check of each measured iteration, for `faults.c`."""
    return Built(build("guest-programs-checked", "EXTRA=-DCHECK_EACH=1", "imb"), spoiled.preloaded)


def run(built: Built, ranks: int, program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program with its arguments on `ranks` ranks."""
    name, *arguments = program.split()
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    libraries = [str(built.preloaded)] if built.preloaded else []
    libraries += filter(None, [os.environ.get("LD_PRELOAD")])
    return subprocess.run(
        [
            *(*LAUNCHER, str(ranks), "env", f"LD_PRELOAD={':'.join(libraries)}"),
            *(str(built.folder / name), *arguments),
        ],
        env={**os.environ, **root, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )


@pytest.mark.parametrize("ranks", [1, RANKS])
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernel_finds_the_published_answer(built: Built, kernel: str, ranks: int) -> None:
    done = run(built, ranks, kernel)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{kernel.upper()} ranks={ranks} verified residual=")


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize(("ranks", "size"), [(RANKS, 16384), (3, 1 << 20)])
def test_a_pattern_moves_every_byte(built: Built, pattern: str, ranks: int, size: int) -> None:
    # Buffers at other distances from a line too.
    for offsets in ({}, {"MB_OFFSETS": "8,40"}):
        done = run(built, ranks, f"imb {pattern} {size} 5 2", **offsets)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"{pattern}-{size} ranks={ranks} verified residual=0.000e+00 ")


@pytest.mark.parametrize(("program", "fault", "number"), FAULTS)
def test_a_fault_is_noticed(spoiled: Built, program: str, fault: str, number: int) -> None:
    # Messages of one number or two have no mirror image.
    least = "64" if fault == "mirrored" else "1"
    done = run(spoiled, 4, program, FAULT=fault, FAULT_NUMBER=str(number), FAULT_BYTES=least)
    assert done.returncode == 1, done.stdout
    assert " ranks=4 WRONG residual=" in done.stdout


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_fault_in_any_iteration_is_noticed_on_request(checked: Built, pattern: str) -> None:
    done = run(checked, 4, f"imb {pattern}", FAULT=PATTERNS[pattern], FAULT_NUMBER="3")
    assert done.returncode == 1, done.stdout
    assert " ranks=4 WRONG residual=" in done.stdout


@pytest.mark.parametrize("program", ["mg", "sp", "imb XC"])
def test_markers_bound_the_measured_part(spoiled: Built, program: str) -> None:
    done = run(spoiled, 4, program, PRINT_MARKERS="1")
    assert done.returncode == 0, done.stderr
    # Warm-up, timing, functional.
    assert "markers 1 2 0\n" in done.stdout


def test_a_sample_has_its_own_markers_and_no_verdict(spoiled: Built) -> None:
    done = run(spoiled, 4, "mg", PRINT_MARKERS="1", MB_SAMPLE="1,2")
    assert done.returncode == 0, done.stderr
    assert "ranks=4 sampled 2 steps\n" in done.stdout
    assert "verified" not in done.stdout
    assert "markers 1 2 0\n" in done.stdout
    done = run(spoiled, 4, "mg", MB_SAMPLE="1,0")
    assert done.returncode == 2
    message = "MB_SAMPLE: found 1,0, expected W,N: steps of warm-up, and one measured step or more"
    assert message in done.stderr.splitlines()


@pytest.mark.parametrize("parts", ["both", "move", "compute"])
def test_messages_and_computation_side_by_side_are_right(built: Built, parts: str) -> None:
    done = run(built, 4, f"overlap {parts} 20000 1000 3")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("OVERLAP ranks=4 verified residual=0.000e+00 ")


@pytest.mark.parametrize(
    ("ranks", "program", "message"),
    [
        (3, "overlap", "overlap: found an odd number of ranks, expected pairs"),
        (2, "overlap all", "overlap: found all, expected both, move or compute"),
        (1, "cg 3", "CG: found 3, expected no argument: the size is that of class S"),
        (2, "cg", "CG: found another number of ranks, expected 1, 4, 16 or 64 ranks"),
        (3, "mg", "MG: found another number of ranks, expected 1, 2, 4, 8 or 16 ranks"),
        (3, "ft", "FT: found another number of ranks, expected 1, 2, 4, 8, 16, 32 or 64 ranks"),
        (2, "sp", "SP: found another number of ranks, expected 1, 4, 9, 16, 25 or 36 ranks"),
        (2, "imb ZZ", "imb: found ZZ, expected a pattern: PP, XC, BC, RD, GA or AA"),
        (2, "imb PP 6", "imb: found 6, expected a multiple of 4 bytes"),
        (2, "imb PP 1k", "imb: found 1k, expected a length from 4 to 67108864 bytes"),
        (1, "imb XC", "imb: found one rank, expected two or more for PP and XC"),
    ],
)
def test_bad_input_is_refused(built: Built, ranks: int, program: str, message: str) -> None:
    done = run(built, ranks, program)
    assert done.returncode == 2
    assert message in done.stderr.splitlines()


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_kernel_sends_what_the_original_sends(
    built: Built, kernel: str, matchbench: Command, tmp_path: Path
) -> None:
    try:
        library()
    except mb.MatchbenchError as error:
        pytest.skip(str(error))
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = matchbench("record", "-o", "trace", "--", *LAUNCHER, "16", built.folder / kernel, **root)
    assert done.returncode == 0, done.stderr
    assert f"{kernel.upper()} ranks=16 verified residual=" in done.stdout
    assert matchbench("trace", "export", "trace", "-o", "trace.parquet").returncode == 0
    records = pl.read_parquet(tmp_path / "trace.parquet").with_columns(pl.col("kind").cast(pl.String))
    sends = pl.col("kind") == "Send"
    ranks = records.group_by("rank").agg(
        sends.sum().alias("messages"), pl.col("bytes").filter(sends).sum().alias("bytes")
    )
    calls = (
        records.filter(pl.col("kind") == "Collective", pl.col("rank") == 0)
        .get_column("tag")
        .replace_strict(OPERATIONS)
    )
    found = (
        (ranks["messages"].min(), ranks["messages"].max()),
        (ranks["bytes"].min(), ranks["bytes"].max()),
        dict(calls.value_counts().iter_rows()),
    )
    assert found == ORIGINAL[kernel]


@pytest.mark.parametrize("words", ["", "5000 3 2", "1 64 1"])
def test_windows_of_messages_are_right(built: Built, words: str) -> None:
    done = run(built, 4, f"rate {words}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("RATE ranks=4 verified residual=0.000e+00 ")
