# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Other profiling tools count each call once, as without the recorder, and each call is recorded once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from harness import HERE, Build, Mpi, check_frame, line_from, lines_of, read_trace
from test_languages import EXPECTED


def check_trace(trace: Path) -> None:
    """Check the records of the programs of test_languages.py."""
    for rank in read_trace(trace):
        is_root = rank.rank == 1
        text = EXPECTED.format(other=1 - rank.rank, sent=12 if is_root else 0, received=0 if is_root else 12)
        assert lines_of(rank, []) == [line_from(line) for line in text.splitlines()]
        check_frame(rank)


def counted(text: str) -> list[str]:
    """Return what the tool said."""
    return sorted(line for line in text.splitlines() if line.startswith("tool: "))


@pytest.fixture(scope="session")
def tool(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the tool for one MPI."""
    library = tmp_path_factory.mktemp(f"tool-{mpi.name}") / "libtool.so"
    return mpi.compile(HERE / "programs" / "tool.c", library, options=("-shared", "-fPIC"))


@pytest.mark.parametrize("program", ["cplusplus.cpp", "mpifh.f90", "usempi.f90", "f08.f90"])
def test_a_preloaded_tool_counts_what_it_counts_without_the_recorder(
    program: str, mpi: Mpi, build: Build, tool: Path, trace: Path
) -> None:
    compiler = "mpicxx" if program.endswith(".cpp") else "mpifort"
    if mpi.library_path:
        pytest.skip("MPIs from packages bring no Fortran modules for this compiler")
    if shutil.which(mpi.compiler.replace("mpicc", compiler)) is None:
        pytest.skip(f"{mpi.name} has no {compiler}")
    words = [str(build(program))]
    bare = mpi.record(None, 2, words, tools=(tool,))
    recorded = mpi.record(trace, 2, words, tools=(tool,))
    assert counted(recorded.stderr) == counted(bare.stderr)
    if program == "cplusplus.cpp":
        assert counted(bare.stderr) == [f"tool: rank {rank}: 3 1 1 1" for rank in range(2)]
    check_trace(trace)


@pytest.mark.parametrize("how", ["linked", "inside"])
def test_a_tool_of_the_program_counts_each_call_once(
    how: str, mpi: Mpi, tool: Path, trace: Path, tmp_path: Path
) -> None:
    program = tmp_path / "program"
    with_tool = (f"-L{tool.parent}", "-Wl,--no-as-needed", "-ltool", f"-Wl,-rpath,{tool.parent}")
    if how == "inside":
        with_tool = (str(mpi.compile(HERE / "programs" / "tool.c", tmp_path / "tool.o", options=("-c",))),)
    mpi.compile(HERE / "programs" / "cplusplus.cpp", program, "mpicxx", options=with_tool)
    recorded = mpi.record(trace, 2, [str(program)])
    assert counted(recorded.stderr) == [f"tool: rank {rank}: 3 1 1 1" for rank in range(2)]
    check_trace(trace)
