# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What several files of tests build with make, once, in `target/tests`, also if several processes need it.

Make decides what is up to date; after a change of compiler, `make clean` is needed.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BUILT = ROOT / "target" / "tests"
FULL = "MATCHBENCH_FULL" in os.environ
"""Set by the part `python` of `make nightly`: optimized libraries, and checks that other tests repeat."""


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


@contextmanager
def locked(name: str) -> Iterator[None]:
    """Let one process at a time build what has a name."""
    BUILT.mkdir(parents=True, exist_ok=True)
    with (BUILT / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def made(name: str, words: Callable[[Path], list[str]]) -> Path:
    """Call make for a folder and return the folder.

    Parameters
    ----------
    name
        What is built there. Other options need another name.
    words
        Gives the arguments of make for the folder.
    """
    folder = BUILT / name
    folder.mkdir(parents=True, exist_ok=True)
    with locked(name):
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
