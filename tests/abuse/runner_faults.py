# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Each call of the system and each allocation by the C runner of `mpi conform` fails, or ends it.

What it has written is judged as ever: no program has an outcome that MPI forbids, and the runner has
performed all of them, or says in one line why not.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path

from matchbench._native import TestPrograms, runner_sources
from tests.abuse.case import Case
from tests.abuse.state import State

TOLD = "all performed, or one line; no false outcome"
KILLED = "signal 9; no false outcome"
_PROGRAMS = 6
_RANKS = 2
_LIMIT_S = 30


@cache
def _runner() -> Path | None:
    """Compile the runner; None without an MPI."""
    compiler = shutil.which("mpicc.mpich")
    if compiler is None:
        return None
    folder = Path(tempfile.mkdtemp(prefix="abuse-runner-"))
    for name, text in runner_sources():
        (folder / name).write_text(text)
    sources = sorted(map(str, folder.glob("*.c")))
    words = [compiler, "-O1", "-pthread", "-o", str(folder / "conform"), *sources, "-ldl"]
    subprocess.run(words, check=True, timeout=120)
    return folder / "conform"


@cache
def _programs() -> TestPrograms:
    return TestPrograms(48, 0, _PROGRAMS, ranks=_RANKS)


def _performed(folder: Path, at: int, *, ends: bool) -> tuple[subprocess.CompletedProcess[str], State]:
    """Perform the programs; call number `at` of rank 0 fails."""
    (folder / "programs").write_bytes(_programs().encode())
    with State(folder, at, ends=ends, of="/conform") as state:
        runner = [str(_runner()), "programs", str(folder), "0", "20000", "20000"]
        launcher = shutil.which("mpirun.mpich") or "mpirun.mpich"
        one = [f"INJECT={state.path}", *runner]
        words = [launcher, "-n", "1", "env", *one, ":", "-n", str(_RANKS - 1), *runner]
        done = subprocess.run(
            words, capture_output=True, text=True, check=False, timeout=_LIMIT_S, cwd=folder
        )
        return done, state.read()


def _find(at: int, ends: bool, folder: Path) -> str:
    done, state = _performed(folder, at, ends=ends)
    files = [folder / f"0.{rank}.out" for rank in range(_RANKS)]
    judged = _programs().judge(0, [file.read_bytes() if file.exists() else b"" for file in files])
    reason = folder / "reason.0.txt"  # a launcher may lose what an aborted rank has printed
    said = [line for line in done.stderr.splitlines() if line.startswith("conform: ")]
    said = reason.read_text().splitlines() if reason.exists() else said
    if not state.hit:
        return f"call {at} was not reached"
    false = [each for each in judged["failures"] if each["kind"] not in {"crashed", "stuck", "incomplete"}]
    if false:
        return f"{state.hit}: a false outcome: {false[0]['kind']}"
    if ends:
        return (
            KILLED if done.returncode else f"{state.hit}: the launcher does not tell that a rank was killed"
        )
    if judged["next"] == len(_programs()) and not judged["failures"] and done.returncode == 0:
        return TOLD
    if done.returncode and len(said) == 1:
        return TOLD
    performed = f"{judged['next']} performed, {judged['failures']}"
    return f"{state.hit}: status {done.returncode}, {performed}: {done.stderr[-300:]}"


def cases() -> Iterator[Case]:
    """Give a case for each call of rank 0, once failing and once ending it."""
    if _runner() is None:
        return
    with tempfile.TemporaryDirectory(prefix="abuse-") as name:
        done, state = _performed(Path(name), 0, ends=False)
    assert done.returncode == 0, done.stderr
    assert state.calls > 0
    for at in range(1, state.calls + 1):
        for ends in (False, True):
            what = f"conform: call {at} of {state.calls} {'ends rank 0' if ends else 'fails'}"
            yield Case(what, KILLED if ends else TOLD, partial(_find, at, ends))
