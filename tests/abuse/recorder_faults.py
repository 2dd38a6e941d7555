# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Each call of the system and each allocation by the recorder fails, or ends the program that it records.

The program prints and returns what it does without the recorder. Its trace is complete, or the command says
what is missing, and `trace check` accepts it or refuses it in one line. The same holds for the calls of the
command itself, which then may say why it records nothing; the next recording is one, or names what is there.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir
from functools import cache, partial
from pathlib import Path

from tests.abuse.case import DONE, REFUSED, Case, End, run
from tests.abuse.state import State

RECORDED = "the program as bare; a trace, or why not"
KILLED = "the signal is reported; a trace, or why not"
SAID = "done, or why not; then recorded, or what is there"
ENDED = "signal 9; then recorded, or what is there"

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


def _recorded(folder: Path, at: int, *, ends: bool) -> tuple[End, State]:
    """Record the program; call number `at` of the recorder fails."""
    with State(folder, at, ends=ends, of="libmbrecord") as state:
        return _record("trace", {"INJECT": state.path}), state.read()


def _commanded(folder: Path, at: int, *, ends: bool) -> tuple[End, State]:
    """Record the program; call number `at` of the command fails."""
    with State(folder, at, ends=ends) as state:
        return _record("trace", {}, state.begin), state.read()


def _record(directory: str, environment: Mapping[str, str], before: Callable[[], None] | None = None) -> End:
    program = _program()
    assert program is not None
    return run(["record", "-o", directory, "--", program], environment=environment, before=before)


def _find(at: int, ends: bool, folder: Path) -> str:
    end, state = _recorded(folder, at, ends=ends)
    hit = state.hit
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


def _find_commanded(at: int, ends: bool, folder: Path) -> str:
    end, state = _commanded(folder, at, ends=ends)
    if not state.hit:
        return "the call was not reached"
    # The program is started without a launcher, which is a remark; status 1 stands for a trace of no use.
    said = [line for line in end.err.splitlines() if "unknown launcher" not in line]
    is_told = any(line.startswith("matchbench: ") and "/trace" in line for line in said)
    is_told &= "Traceback" not in end.err
    if ends != (end.status == -signal.SIGKILL) or not (ends or end.status == 0 or is_told):
        return f"{state.hit}: {end}: {end.err[-200:]}"
    if end.status == 0:
        checked = run(["trace", "check", "trace"])
        if str(checked) != DONE or _PRINTED not in end.out:
            return f"{state.hit}: {end}, {checked}: {end.out[-100:]}{checked.err[-200:]}"
    if _PRINTED in end.out and not list((folder / "trace").glob("*.mbt")):
        return f"{state.hit}: {end}, and the recording is lost: {end.err[-200:]}"
    again = _record("trace", {})
    if again.status != 0 and "found a trace, expected an empty directory" not in again.err:
        return f"{state.hit}: {end}; the next one: {again}: {again.err[-200:]}"
    return ENDED if ends else SAID


def cases() -> Iterator[Case]:
    """Give a case for each call of the recorder and of the command, once failing and once ending it."""
    if _program() is None:
        return
    for who, tried, find, expected in (
        ("recorder", _recorded, _find, (RECORDED, KILLED)),
        ("command", _commanded, _find_commanded, (SAID, ENDED)),
    ):
        with tempfile.TemporaryDirectory(prefix="abuse-") as name, chdir(name):
            end, state = tried(Path(name), 0, ends=False)
        assert str(end) == DONE, end.err
        assert state.calls > 0
        for at in range(1, state.calls + 1):
            for ends in (False, True):
                what = f"record: call {at} of {state.calls} of the {who} {'ends it' if ends else 'fails'}"
                yield Case(what, expected[ends], partial(find, at, ends))
