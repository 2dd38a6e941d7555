# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A program with a static MPI library is recorded when it is linked with the archive."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from harness import HERE, Mpi, check_frame, line_from, lines_of, read_trace

ARCHIVE = HERE.parent / "build" / "libmatchbench-record.a"


def found(name: str) -> Path | None:
    """Return the path of a library that the C compiler would link."""
    said = subprocess.run(
        ["/usr/bin/cc", f"-print-file-name={name}"], check=True, capture_output=True, text=True
    )
    path = Path(said.stdout.strip())
    return path if path.is_absolute() else None


@pytest.fixture(scope="module")
def program(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build `calls.c` with MPICH's archive; what that needs is linked dynamically."""
    archive, shared = found("libmpich.a"), found("libmpich.so")
    if mpi.name != "mpich" or mpi.library_path or archive is None or shared is None:
        pytest.skip(f"{mpi.name} has no static library")
    needed = subprocess.run(["/usr/bin/ldd", str(shared)], check=True, capture_output=True, text=True).stdout
    others = [
        words[2] for line in needed.splitlines() if len(words := line.split()) > 2 and words[2] != "not"
    ]
    show = subprocess.run([mpi.compiler, "-show"], check=True, capture_output=True, text=True).stdout.split()
    include = [word for word in show if word.startswith("-I")]
    target = tmp_path_factory.mktemp("static") / "calls"
    whole = ["-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive"]
    source = str(HERE / "programs" / "calls.c")
    command = ["/usr/bin/cc", "-w", *include, "-o", str(target), source, str(ARCHIVE), *whole, *others]
    subprocess.run(command, check=True)
    return target


@pytest.mark.parametrize("scenario", ["nonblocking", "communicators"])
def test_a_static_program_is_recorded_like_others(
    scenario: str, mpi: Mpi, program: Path, trace: Path, tmp_path: Path
) -> None:
    mpi.record(trace, 4, [str(program), scenario, str(tmp_path)])
    other_calls = json.loads((trace / "meta.json").read_text())["other_calls"]
    for rank in read_trace(trace):
        expected = (tmp_path / f"expected-{rank.rank}.txt").read_text().splitlines()
        assert lines_of(rank, other_calls) == [line_from(line) for line in expected]
        check_frame(rank)
