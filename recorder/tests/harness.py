# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Compiles and records the test programs under every MPI that is installed.

Debian's Open MPI and MPICH are looked for by name. Others are added by `MATCHBENCH_MPI_PREFIXES`: directories
separated by colons, each with `bin/mpicc` and `bin/mpiexec`; `mpicc_abi` there is an MPI of its own.
"""

from __future__ import annotations

import functools
import itertools
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from decode import OPERATIONS, Rank, Record, read_trace, runs

HERE = Path(__file__).parent
LIBRARY = HERE.parent / "build" / "libmbrecord.so"
RUN_ID = "0123456789abcdef"
SECONDS = 300
"""Most that a program may take."""

Build = Callable[[str], Path]
"""Compiles a program of `programs/`, by name."""

FIELDS = ("comm", "peer", "tag", "bytes", "request", "aux")


@dataclass(frozen=True)
class Mpi:
    """One MPI: its compiler, its launcher, and where its libraries are if not in the system's place."""

    name: str
    compiler: str
    launcher: str
    open_mpi: bool
    library_path: str = ""

    def environment(self) -> dict[str, str]:
        """Return the environment for compiler and launcher."""
        extra = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        if self.library_path:
            extra["LD_LIBRARY_PATH"] = self.library_path
            extra["I_MPI_FABRICS"] = "shm"
            extra["PATH"] = f"{Path(self.launcher).parent}:{os.environ['PATH']}"
            extra["OPAL_PREFIX" if self.open_mpi else "I_MPI_ROOT"] = str(Path(self.launcher).parents[1])
        return os.environ | extra

    def compile(
        self,
        source: Path,
        target: Path,
        language: str = "c",
        options: tuple[str, ...] = (),
        libraries: tuple[str, ...] = (),
    ) -> Path:
        """Compile a program of the tests."""
        compiler = self.compiler if language == "c" else self.compiler.replace("mpicc", language)
        command = [compiler, "-O1", *options, "-o", str(target), str(source), *libraries, "-lpthread", "-ldl"]
        subprocess.run(
            command, check=True, capture_output=True, text=True, env=self.environment(), timeout=SECONDS
        )
        return target

    def record(
        self,
        directory: Path | None,
        ranks: int,
        program: list[str],
        *,
        check: bool = True,
        seconds: int = SECONDS,
        tools: tuple[Path, ...] = (),
        library: Path | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a program with the recorder in every rank, or without it; `directory` must exist.

        Other libraries, `tools`, are preloaded after the recorder. `library` is another build of it.
        """
        ours = [library or LIBRARY] if directory is not None else []
        libraries = [*map(str, (*ours, *tools)), *filter(None, [os.environ.get("LD_PRELOAD")])]
        variables = {"LD_PRELOAD": ":".join(libraries)} if ours or tools else {}
        if directory is not None:
            variables |= {"MATCHBENCH_RECORD_DIR": str(directory), "MATCHBENCH_RECORD_RUN_ID": RUN_ID}
        if self.open_mpi:
            words = [word for name, value in variables.items() for word in ("-x", f"{name}={value}")]
            words = ["--oversubscribe", *words]
        else:
            words = [word for name, value in variables.items() for word in ("-genv", name, value)]
        command = [self.launcher, *words, "-n", str(ranks), *program]
        done = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            env=self.environment(),
            timeout=seconds,
            stdin=subprocess.DEVNULL,
        )
        if check and done.returncode:
            error = subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr)
            error.add_note(f"{done.stdout}{done.stderr}")
            raise error
        return done

    def library(self) -> Path:
        """Find the MPI library, by what it is linked with."""
        show = ["-showme:link"] if self.open_mpi else ["-link_info"]
        said = subprocess.run(
            [self.compiler, *show], check=True, capture_output=True, text=True, env=self.environment()
        ).stdout.split()
        names = [f"lib{word[2:]}.so*" for word in said if word in ("-lmpi", "-lmpich", "-lmpi_abi")]
        places = [Path(word[2:]) for word in said if word.startswith("-L")]
        found = (path for place in places for name in names for path in sorted(place.glob(name)))
        return next(path for path in found if path.read_bytes()[:4] == b"\x7fELF")  # no linker script


@functools.cache
def installed() -> tuple[Mpi, ...]:
    """Every MPI that can be used here."""
    found = [
        Mpi(name, compiler, launcher, open_mpi)
        for name, compiler, launcher, open_mpi in (
            ("openmpi", "mpicc.openmpi", "mpirun.openmpi", True),
            ("mpich", "mpicc.mpich", "mpiexec.mpich", False),
        )
        if shutil.which(compiler) and shutil.which(launcher)
    ]
    for prefix in filter(None, os.environ.get("MATCHBENCH_MPI_PREFIXES", "").split(":")):
        for suffix in ("", "_abi"):
            compiler, launcher = Path(prefix, "bin", f"mpicc{suffix}"), Path(prefix, "bin", "mpiexec")
            if compiler.exists():
                said = subprocess.run(
                    [launcher, "--version"], capture_output=True, text=True, check=False
                ).stdout
                open_mpi = any(word in said for word in ("Open MPI", "OpenRTE", "PRRTE"))
                found.append(
                    Mpi(Path(prefix).name + suffix, str(compiler), str(launcher), open_mpi, f"{prefix}/lib")
                )
    return tuple(found)


Line = tuple[str, tuple[int, ...], frozenset[str], tuple[int, ...]]
"""A record without times: kind, the values of `FIELDS`, names of flags, words or world ranks."""


def line_of(record: Record, other_calls: list[str]) -> Line:
    """Return what a record says, without times and identities."""
    names = {
        1: "BLOCKING",
        2: "PERSISTENT",
        4: "SYNCHRONOUS",
        8: "BUFFERED",
        16: "MATCHED",
        32: "VECTOR",
        64: "SENDRECV",
    }
    if record.kind == "Send":
        names[16] = "READY"
    elif record.kind == "Done":
        names |= {4: "CANCELLED", 8: "FAILED", 16: "UNKNOWN"}
    elif record.kind == "Miss":
        names[32] = "PROBE"
    flags = frozenset(name for bit, name in names.items() if record.flags & bit)
    values = [getattr(record, name) for name in FIELDS]
    words = record.words
    if record.kind == "Comm":
        words = runs(record.words)
        values[3] = values[5] = 0
    if record.kind == "Other":
        number = record.aux >> 32  # processes that the call started
        return (other_calls[record.aux & 0xFFFFFFFF], (0,) * (len(FIELDS) - 1) + (number,), flags, ())
    if record.kind == "Miss":  # the gaps between polls
        values[3] = 0
    if "FAILED" in flags:  # what a status says behind an error is up to the MPI library
        values[1] = values[2] = values[3] = 0
    return (record.kind, tuple(values), flags, tuple(words))


def line_from(text: str) -> Line:
    """Parse a line that a test program wrote."""
    text, _, listed = text.partition("[")
    words = tuple(int(word) for word in listed.rstrip("] \n").split(",")) if listed else ()
    kind, *rest = text.split()
    if kind == "Other":
        name, _, number = " ".join(rest).partition(" number ")
        return (name, (0,) * (len(FIELDS) - 1) + (int(number or 0),), frozenset(), ())
    values = dict.fromkeys(FIELDS, 0)
    flags = set()
    at = 0
    while at < len(rest):
        if rest[at] in values:
            value = rest[at + 1]
            values[rest[at]] = OPERATIONS.index(value) if value in OPERATIONS else int(value)
            at += 2
        else:
            if rest[at] != "ranks":
                flags.add(rest[at])
            at += 1
    return (kind, tuple(values.values()), frozenset(flags), words)


def lines_of(rank: Rank, other_calls: list[str], thread: int | None = None) -> list[Line]:
    """Return what a rank did between MPI_Init and MPI_Finalize."""
    records = rank.records if thread is None else rank.of_thread(thread)
    outer = ("Init", "Finalize")
    return [
        line_of(record, other_calls)
        for record in records
        if record.kind not in outer and not (record.kind == "Comm" and record.comm < 2)
    ]


def check_frame(rank: Rank) -> None:
    """Check what every trace of a finished program begins and ends with, and that clocks do not go back."""
    assert rank.finalized
    assert not rank.stopped
    assert not rank.aborted
    assert [record.kind for record in rank.records[:3]] == ["Init", "Comm", "Comm"]
    assert rank.records[-1].kind == "Finalize"
    assert runs(rank.records[1].words) == list(range(rank.world))
    assert runs(rank.records[2].words) == [rank.rank]
    for thread in {record.thread for record in rank.records}:
        records = rank.of_thread(thread)
        for before, after in itertools.pairwise(records):
            assert before.wall_ns <= after.wall_ns
            assert before.cpu_ns <= after.cpu_ns or after.kind == "Thread"


__all__ = [
    "HERE",
    "LIBRARY",
    "RUN_ID",
    "Build",
    "Mpi",
    "check_frame",
    "installed",
    "line_from",
    "line_of",
    "lines_of",
    "read_trace",
]
