# SPDX-License-Identifier: Apache-2.0 OR MIT
"""C++ and all three Fortran bindings: each call is seen, once."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from harness import HERE, Build, Mpi, check_frame, line_from, lines_of, read_trace

EXPECTED = """\
Send comm 0 peer {other} tag 5 bytes 40 request 1 SENDRECV
Recv comm 0 peer -1 tag 5 bytes 80 request 2 SENDRECV
Wait aux 2 BLOCKING
Done request 1
Done peer {other} tag 5 bytes 40 request 2
Recv comm 0 peer -1 tag -2 bytes 80 request 3
Send comm 0 peer {other} tag 6 bytes 16 request 4 aux 1
Send comm 0 peer -3 tag 6 bytes 16 request 5
Wait aux 3 BLOCKING
Done peer {other} tag 6 bytes 16 request 3
Done request 4
Done request 5
Recv comm 0 peer {other} tag 7 bytes 80 request 6 PERSISTENT
Send comm 0 peer {other} tag 7 bytes 16 aux 2 BLOCKING
Wait aux 1 BLOCKING
Done peer {other} tag 7 bytes 16 request 6
Comm comm 2 peer -1 tag 2 ranks [0, 1]
Collective comm 2 peer -1 tag allreduce bytes 40 aux 40 BLOCKING
Collective comm 2 peer 1 tag bcast bytes {sent} aux {received} BLOCKING
CommFree comm 2
"""


@pytest.mark.parametrize("program", ["cplusplus.cpp", "mpifh.f90", "usempi.f90", "f08.f90"])
def test_every_binding_is_seen_once(program: str, mpi: Mpi, build: Build, trace: Path) -> None:
    compiler = "mpicxx" if program.endswith(".cpp") else "mpifort"
    if mpi.library_path:
        pytest.skip("MPIs from packages bring no Fortran modules for this compiler")
    if shutil.which(mpi.compiler.replace("mpicc", compiler)) is None:
        pytest.skip(f"{mpi.name} has no {compiler}")
    mpi.record(trace, 2, [str(build(program))])
    for rank in read_trace(trace):
        is_root = rank.rank == 1
        text = EXPECTED.format(other=1 - rank.rank, sent=12 if is_root else 0, received=0 if is_root else 12)
        assert lines_of(rank, []) == [line_from(line) for line in text.splitlines()]
        check_frame(rank)


def test_a_program_that_loads_mpi_late_is_seen(mpi: Mpi, trace: Path, tmp_path: Path) -> None:
    plugin = mpi.compile(HERE / "programs" / "plugin.c", tmp_path / "plugin.so", options=("-shared", "-fPIC"))
    late = tmp_path / "late"
    subprocess.run(["/usr/bin/cc", "-o", str(late), str(HERE / "programs" / "late.c"), "-ldl"], check=True)
    mpi.record(trace, 2, [str(late), str(plugin)])
    for rank in read_trace(trace):
        assert [record.kind for record in rank.records[3:]] == [
            "Send",
            "Recv",
            "Wait",
            "Done",
            "Done",
            "Finalize",
        ]
        check_frame(rank)
