# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What the tests of the example programs and the recording script share: MPIs, building, running, tallies."""

from __future__ import annotations

import fcntl
import functools
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
PROGRAMS = ("halo3d", "cg", "fft", "sweep", "graph", "tasks")
# Arguments for runs of a second or less with up to 16 ranks on two cores.
SMALL = {
    "halo3d": ["--nx", "6", "--ny", "6", "--nz", "6", "--steps", "6"],
    "cg": ["--nx", "4", "--ny", "4", "--nz", "4", "--springs", "12"],
    "fft": ["--size", "32", "--repeat", "1"],
    "sweep": ["--nx", "16", "--ny", "16", "--nz", "8", "--iterations", "1"],
    "graph": ["--scale", "8"],
    "tasks": ["--size", "128"],
}
# Longest run, seconds; a hang is a failure and not a wait.
PATIENCE_S = 300


@dataclass(frozen=True, slots=True)
class Mpi:
    """One MPI as Debian installs it, next to others.

    Parameters
    ----------
    name
        Suffix of the compiler wrappers, as in ``mpicc.openmpi``.
    launcher
        Command that starts ranks, up to the number of them.
    """

    name: str
    launcher: tuple[str, ...]

    def missing(self) -> str | None:
        """Return the first command that is not installed."""
        commands = [
            f"mpicc.{self.name}",
            f"mpicxx.{self.name}",
            f"mpifort.{self.name}",
            self.launcher[0],
            "make",
        ]
        return next((command for command in commands if shutil.which(command) is None), None)


OPENMPI = Mpi("openmpi", ("mpirun.openmpi", "--oversubscribe", "-n"))
MPICH = Mpi("mpich", ("mpiexec.mpich", "-n"))
MPIS = (MPICH, OPENMPI)


@dataclass(frozen=True, slots=True)
class Tally:
    """What a program counted about itself, over all ranks, without collectives."""

    sent_messages: int
    sent_bytes: int
    received_messages: int
    received_bytes: int


def environment() -> dict[str, str]:
    """Return the environment for a launcher; containers often run everything as root."""
    return {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@contextmanager
def locked(mpi: Mpi) -> Iterator[None]:
    """Let one process at a time build for an MPI: files of tests run in processes of their own."""
    folder = HERE / "build"
    folder.mkdir(exist_ok=True)
    with (folder / f"{mpi.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@functools.cache
def build(mpi: Mpi) -> Path:
    """Build all programs, as needed, and return their directory."""
    directory = Path("build") / mpi.name
    words = ["make", "--no-print-directory", "-C", str(HERE), f"MPI={mpi.name}", f"BUILD={directory}"]
    with locked(mpi):
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return HERE / directory


def build_synchronous(mpi: Mpi, program: str) -> list[str]:
    """Return the words that start a program with every send synchronous.

    The calls of C programs are replaced by a library. Those of Fortran do not pass through it: their program
    is built with other names of the calls.
    """
    directory = Path("build") / f"{mpi.name}-synchronous"
    if program == "sweep":
        words = ["make", "--no-print-directory", "-C", str(HERE), f"MPI={mpi.name}", f"BUILD={directory}"]
        calls = {"MPI_Send": "MPI_Ssend", "MPI_Isend": "MPI_Issend", "MPI_Send_init": "MPI_Ssend_init"}
        words.append("EXTRA=" + " ".join(f"-D{call}={replacement}" for call, replacement in calls.items()))
        words.append(str(directory / program))
        with locked(mpi):
            done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return [str(HERE / directory / program)]
    return [*preloaded(_compiled(mpi, "synchronous", "-shared", "-fPIC")), str(build(mpi) / program)]


def counts_on_buffering(mpi: Mpi) -> list[str]:
    """Return the words that start a program that hangs if every send is synchronous, with such sends."""
    library = _compiled(mpi, "synchronous", "-shared", "-fPIC")
    return [*preloaded(library), str(_compiled(mpi, "buffering"))]


def preloaded(library: Path) -> list[str]:
    """Return the words before a program that preload a library."""
    return ["env", f"LD_PRELOAD={':'.join(filter(None, (str(library), os.environ.get('LD_PRELOAD'))))}"]


@functools.cache
def _compiled(mpi: Mpi, name: str, *options: str) -> Path:
    """Compile a file of these tests."""
    directory = HERE / "build" / f"{mpi.name}-synchronous"
    directory.mkdir(parents=True, exist_ok=True)
    source, target = Path(__file__).with_name(f"{name}.c"), directory / name
    words = [
        f"mpicc.{mpi.name}",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Werror",
        *options,
        str(source),
        "-o",
        str(target),
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return target


def run_words(words: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command; no MPI minds the variables for another."""
    return subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=PATIENCE_S, env=environment()
    )


def run(mpi: Mpi, ranks: int, words: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a program on `ranks` ranks."""
    return run_words([*mpi.launcher, str(ranks), *words])


def read_tally(program: str, output: str) -> Tally:
    """Find the one tally in what a program printed."""
    numbers = r" ".join(rf"{name}=(\d+)" for name in Tally.__slots__)
    found = re.findall(rf"^{program}: {numbers}$", output, re.MULTILINE)
    assert len(found) == 1, output
    return Tally(*map(int, found[0]))
