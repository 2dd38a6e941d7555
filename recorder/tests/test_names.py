# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A program that looks for functions of MPI at run time finds what it finds without the recorder."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from harness import HERE, LIBRARY, Build, Mpi, check_frame, read_trace


def test_the_recorder_defines_no_name_of_mpi() -> None:
    said = subprocess.run(
        ["/usr/bin/nm", "-D", "--defined-only", str(LIBRARY)], check=True, capture_output=True, text=True
    ).stdout
    assert [line.split()[-1] for line in said.splitlines()] == ["dlopen"]


def test_every_way_to_look_for_a_function_has_the_answer_of_the_library(
    mpi: Mpi, build: Build, trace: Path
) -> None:
    program = [str(build("names.c"))]
    bare = mpi.record(None, 2, program).stdout.splitlines()
    recorded = mpi.record(trace, 2, program).stdout.splitlines()
    assert sorted(recorded) == sorted(bare)
    assert len(bare) == 16
    assert "0 MPI_Send weak 1 default there next there program there library there" in bare
    sender, receiver = read_trace(trace)
    assert [(record.kind, record.tag) for record in sender.records[3:]] == [("Send", 7), ("Finalize", 0)]
    assert [(record.kind, record.tag) for record in receiver.of("Recv", "Done")] == [("Recv", 7), ("Done", 7)]


@pytest.mark.parametrize("scope", ["local", "global"])
def test_a_binding_that_loads_mpi_itself_is_recorded(
    scope: str, mpi: Mpi, trace: Path, tmp_path: Path
) -> None:
    if mpi.name.endswith("_abi"):
        pytest.skip("the program knows the handles of the other interfaces")
    binding = tmp_path / "binding"
    subprocess.run(
        ["/usr/bin/cc", "-o", str(binding), str(HERE / "programs" / "binding.c"), "-ldl"], check=True
    )
    program = [str(binding), str(mpi.library()), scope]
    bare = mpi.record(None, 2, program)
    recorded = mpi.record(trace, 2, program)
    assert sorted(recorded.stdout.splitlines()) == sorted(bare.stdout.splitlines())
    assert bare.stdout.count("before 0 0\n") == 2
    for rank in read_trace(trace):
        assert [record.kind for record in rank.records[3:]] == ["Collective", "Finalize"]
        check_frame(rank)


def test_a_library_is_found_on_the_path_of_its_caller(mpi: Mpi, trace: Path, tmp_path: Path) -> None:
    """`dlopen` of a name without directory searches the run path of the object that calls it."""
    (tmp_path / "beside").mkdir()
    plugin = tmp_path / "beside" / "plugin.so"
    mpi.compile(HERE / "programs" / "plugin.c", plugin, options=("-shared", "-fPIC"))
    late = tmp_path / "late"
    path = "-Wl,-rpath,$ORIGIN/beside"
    subprocess.run(
        ["/usr/bin/cc", "-o", str(late), str(HERE / "programs" / "late.c"), path, "-ldl"], check=True
    )
    for given in ("plugin.so", "$ORIGIN/beside/plugin.so"):
        mpi.record(trace, 2, [str(late), given])
        assert [len(rank.of("Send")) for rank in read_trace(trace)] == [1, 1]
        for file in trace.iterdir():
            file.unlink()


def test_a_library_that_initializes_mpi_before_main_is_recorded(
    mpi: Mpi, trace: Path, tmp_path: Path
) -> None:
    source, library, program = HERE / "programs" / "early.c", tmp_path / "libearly.so", tmp_path / "early"
    mpi.compile(source, library, options=("-shared", "-fPIC", "-DLIBRARY"))
    mpi.compile(
        source, program, options=(f"-L{tmp_path}", "-Wl,--no-as-needed", "-learly", f"-Wl,-rpath,{tmp_path}")
    )
    mpi.record(trace, 2, [str(program)])
    for rank in read_trace(trace):
        assert [record.kind for record in rank.records[3:]] == ["Collective", "Finalize"]
        check_frame(rank)


@pytest.mark.parametrize(
    "options",
    [("-Wl,-z,now,-z,relro", "-fno-plt"), ("-no-pie", "-Wl,-z,now,-z,relro"), ("-no-pie", "-Wl,-z,lazy")],
    ids=["sealed", "sealed-fixed", "lazy-fixed"],
)
def test_every_way_of_binding_is_recorded(
    options: tuple[str, ...], mpi: Mpi, trace: Path, tmp_path: Path
) -> None:
    program = mpi.compile(HERE / "programs" / "names.c", tmp_path / "names", options=options)
    bare = mpi.record(None, 2, [str(program)]).stdout.splitlines()
    assert sorted(mpi.record(trace, 2, [str(program)]).stdout.splitlines()) == sorted(bare)
    sender, receiver = read_trace(trace)
    assert [record.kind for record in sender.records[3:]] == ["Send", "Finalize"]
    assert [record.kind for record in receiver.records[3:]] == ["Recv", "Done", "Finalize"]
