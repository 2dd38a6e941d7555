# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Each call of the system by the recorder fails while a program is recorded, or the program is killed there.

The program prints and returns what it does without the recorder. Its trace is complete, or the command says
what is missing, and `trace check` accepts it or refuses it in one line.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import chdir
from functools import cache, partial
from pathlib import Path

from tests.abuse.case import DONE, REFUSED, Case, End, run
from tests.abuse.faults import STATE

RECORDED = "the program as bare; a trace, or why not"
KILLED = "the signal is reported; a trace, or why not"

_PROGRAM = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int rank, sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int k = 0; k < 100; k++) {
        int sent = k, received = 0;
        MPI_Sendrecv(&sent, 1, MPI_INT, rank, k, &received, 1, MPI_INT, rank, k,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sum += received;
    }
    printf("sum %d\\n", sum);
    MPI_Finalize();
    return 0;
}
"""
_PRINTED = "sum 4950"


@cache
def _program() -> Path | None:
    """Compile the program; None without an MPI."""
    compiler = shutil.which("mpicc.mpich") or shutil.which("mpicc")
    if compiler is None:
        return None
    folder = Path(tempfile.mkdtemp(prefix="abuse-recorded-"))
    (folder / "program.c").write_text(_PROGRAM)
    words = [compiler, "-O1", "-o", str(folder / "program"), str(folder / "program.c")]
    subprocess.run(words, check=True, timeout=60)
    return folder / "program"


def _recorded(folder: Path, at: int, *, ends: bool) -> tuple[End, int, str]:
    """Record the program; call number `at` of the recorder fails. Give its end, the calls, the failed one."""
    program = _program()
    assert program is not None
    with tempfile.NamedTemporaryFile() as state:
        state.write(STATE.pack(0, at, ends, os.fsencode(folder), b"libmbrecord", b""))
        state.flush()
        end = run(
            ["record", "-o", "trace", "--", program],
            environment={"INJECT": state.name},
        )
        count, _, _, _, _, hit = STATE.unpack(Path(state.name).read_bytes())
        return end, count, hit.rstrip(b"\0").decode()


def _find(at: int, ends: bool, folder: Path) -> str:
    end, _, hit = _recorded(folder, at, ends=ends)
    if not hit:
        return "the call was not reached"
    if end.status is None or "Traceback" in end.err:
        return f"{hit}: {end}: {end.err[-200:]}"
    if not ends and (_PRINTED not in end.out or end.status not in (0, 1, 2)):
        return f"{hit}: the program is changed: {end}: {end.out[-100:]}{end.err[-200:]}"
    if ends and end.status == 0:
        return f"{hit}: the signal is not reported: {end.err[-200:]}"
    if not (folder / "trace").exists():
        return (
            (KILLED if ends else RECORDED) if "matchbench: " in end.err else f"{hit}: no trace and no reason"
        )
    checked = run(["trace", "check", "trace"])
    if str(checked) not in (DONE, REFUSED) and checked.status != 1:
        return f"{hit}: trace check: {checked}: {checked.err[-200:]}"
    if str(checked) != DONE and "matchbench: " not in end.err:
        return f"{hit}: a trace that is refused, and no word of it: {checked.err[-200:]}"
    return KILLED if ends else RECORDED


def cases() -> Iterator[Case]:
    """Give a case for each call of the recorder, once failing and once ending the program."""
    if _program() is None:
        return
    with tempfile.TemporaryDirectory(prefix="abuse-") as name:
        with chdir(name):
            end, calls, _ = _recorded(Path(name), 0, ends=False)
    assert str(end) == DONE, end.err
    assert calls > 0
    for at in range(1, calls + 1):
        for ends in (False, True):
            what = f"record: call {at} of {calls} {'ends the program' if ends else 'fails'}"
            yield Case(what, KILLED if ends else RECORDED, partial(_find, at, ends))
