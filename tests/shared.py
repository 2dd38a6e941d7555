# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Files and results that several tests use and that one of them makes, also if they run in several processes.

Libraries and programs that make builds stay in `target/tests` between runs: make decides what is up to date.
Everything else is kept until pytest ends, in the folder that MATCHBENCH_SESSION names.
"""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import os
import pickle
import re
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests import engines_used

if TYPE_CHECKING:
    from matchbench.mpi.launch import Mpi
    from matchbench.reproduce.run import Reproduction

ROOT = Path(__file__).resolve().parent.parent
SESSION = "MATCHBENCH_SESSION"
OF_MAKE_TEST = "MATCHBENCH_FORKED"
# The folder of the server of `tests/forked.py`.
SERVER = "MATCHBENCH_FORKED_IN"
_BUILT = ROOT / "target" / "tests"
# For `netproc build`, which compiles everything each time when a user runs it.
_ONCE = str(ROOT / "tests" / "compile_once.sh")
COMPILE_ONCE = ("--cc", _ONCE) if OF_MAKE_TEST in os.environ else ()
# Another compiler builds into another folder.
_COMPILERS = ("cc", "gcc", "rustc", "riscv64-linux-gnu-gcc", "mpicc.openmpi", "mpicc.mpich", "gfortran")


def begin() -> None:
    """Make the folder of a session in the process that starts the others, and remove it when that ends."""
    folder = tempfile.mkdtemp(prefix="matchbench-session-")
    os.environ[SESSION] = folder
    atexit.register(shutil.rmtree, folder, ignore_errors=True)


@cache
def claims() -> dict[str, dict[str, Any]]:
    """Return the claims of the ledger by their ids, in its order."""
    ledger = tomllib.loads((ROOT / "spec" / "claims.toml").read_text(encoding="utf-8"))
    every = (
        claim
        for section in ledger["section"]
        for claim in (*section.get("configuration", ()), *section.get("claim", ()))
    )
    return {claim["id"]: claim for claim in every}


def compile_once() -> dict[str, str]:
    """Return the variables with which builds of guest programs compile equal files once in a session."""
    return {"CC": _ONCE} if OF_MAKE_TEST in os.environ else {}


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def once(name: str, make: Callable[[Path], None]) -> Path:
    """Make a file or a folder once in a session and return its path.

    Parameters
    ----------
    name
        Its name in the folder of the session.
    make
        Makes it at the path that it is given. If it fails, the next call makes it.
    """
    if SESSION not in os.environ:
        begin()
    folder = Path(os.environ[SESSION])
    made = folder / name
    with _locked(folder / f"{name}.lock"):
        if not made.exists():
            part = folder / f"{name}.part"
            shutil.rmtree(part, ignore_errors=True)
            make(part)
            part.rename(made)
    return made


@cache
def _compilers() -> str:
    digest = hashlib.blake2b(digest_size=8)
    for name in _COMPILERS:
        path = shutil.which(name)
        status = Path(path).stat() if path else None
        digest.update(repr((name, path, status and (status.st_size, status.st_mtime_ns))).encode())
    return digest.hexdigest()


def made(name: str, words: Callable[[Path], list[str]]) -> Path:
    """Call make for a folder that is kept between runs, one process at a time, and return the folder.

    Parameters
    ----------
    name
        What is built there. Other options need another name.
    words
        Gives the arguments of make for the folder.
    """
    folder = _BUILT / _compilers() / name
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder.with_suffix(".lock")):
        command = [shutil.which("make") or "make", "--silent", *words(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return folder


@cache
def guest_mpi(*platforms: str) -> Path:
    """Return a folder for MB_MPI_BUILD with the MPI library of the simulated chip.

    Parameters
    ----------
    platforms
        Those of `moped/mpi/Makefile`.
    """
    return made("guest-mpi", lambda folder: ["-C", str(ROOT / "moped" / "mpi"), *platforms, f"OUT={folder}"])


@cache
def chip_recorder() -> Path:
    """Return the folder of `guest_mpi`, with the recorder for programs on the chip.

    It is optimized less than for users, which takes half of the time.
    """
    folder = guest_mpi("chip")
    words = ["-C", str(ROOT / "recorder"), "chip", "CHIP_OPTIMIZATION=-O1"]
    made("guest-mpi/recorder", lambda folder: [*words, f"OUT={folder}"])
    return folder


@cache
def mbmatch() -> Path:
    """Return the folder in which the library for C is built; `make test` does not optimize it."""
    quick = OF_MAKE_TEST in os.environ
    words = ["-C", str(ROOT / "mbmatch"), f"RUSTFLAGS={'-C opt-level=0' if quick else ''}"]
    return made("mbmatch" if quick else "mbmatch-release", lambda folder: [*words, f"BUILD={folder}"])


def build_runners_once() -> None:
    """Let this process build the C runner of `mpi conform` once in a session for each MPI."""
    # Most modules that import this one do not need it.
    from matchbench.mpi import conform_runner

    build = conform_runner.build_runner

    def build_once(mpi: Mpi, directory: Path) -> Path:
        written = Path(mpi.compiler).stat().st_mtime_ns
        key = repr((mpi.compiler, written, os.environ.get("MB_MPI_BUILD")))

        def make(part: Path) -> None:
            part.mkdir()
            build(mpi, part)

        kept = once(f"conform-{hashlib.blake2b(key.encode(), digest_size=8).hexdigest()}", make)
        for each in kept.iterdir():
            shutil.copy2(each, directory / each.name)
        return directory / "conform"

    vars(conform_runner)["build_runner"] = build_once


def reproduction(
    measure: Callable[..., Reproduction], paper: str, *, jobs: int | None = None
) -> Reproduction:
    """Measure a paper once in a session, and once more with the measurements that only figures show.

    Parameters
    ----------
    measure
        `matchbench.reproduce.reproduce`.
    paper, jobs
        Its parameters. Results do not depend on the number of jobs.
    """

    def make(part: Path) -> None:
        with engines_used.apart() as engines:
            found = measure(paper, jobs=jobs)
        part.write_bytes(pickle.dumps((found, sorted(engines))))

    figures = "" if jobs is None else "-figures"
    kept = once(f"reproduce-{re.sub(r'[^a-z0-9]', '_', paper)}{figures}", make)
    measured: tuple[Reproduction, list[str]] = pickle.loads(kept.read_bytes())  # noqa: S301 - our own file
    found, engines = measured
    engines_used.note(set(engines))
    return found
