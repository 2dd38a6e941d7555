# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The Rust test programs, as `cargo test` runs them.

`make test` builds them and lists them in `target/tests.json`. Run from pytest they share its processes and
its list of the slowest tests. `make nightly` sets MATCHBENCH_RUST_TESTS to another list,
MATCHBENCH_RUST_FOLDER to the top-level folder whose programs run, and MATCHBENCH_RUST_ARGUMENTS to what they
are called with.
"""

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from tests import rust_programs, shared
from tests.rust_programs import Part

ROOT = Path(__file__).resolve().parent.parent
# Programs that link programs of the simulated chip with its MPI library, as their folders.
WITH_GUEST_MPI = (ROOT / "moped",)
LIST = Path(os.environ.get("MATCHBENCH_RUST_TESTS", ROOT / "target" / "tests.json"))
FOLDER = os.environ.get("MATCHBENCH_RUST_FOLDER")
ARGUMENTS = os.environ.get("MATCHBENCH_RUST_ARGUMENTS", "").split()


def programs() -> list[ParameterSet]:
    """Read the list that cargo wrote: one parameter for each test program, or for each part of one."""
    if not LIST.exists():
        reason = f"{LIST} is missing; run `make test`, or `cargo test` for the Rust tests alone"
        return [pytest.param(None, marks=pytest.mark.skip(reason=reason))]
    found = [pytest.param(part, id=name) for name, part in rust_programs.programs(LIST, FOLDER)]
    if not found:
        # Without parameters pytest would skip the test, and no Rust test would run unnoticed.
        msg = f"{LIST}: found no test program, expected those of {FOLDER or 'the workspace'}; run `make test`"
        raise ValueError(msg)
    return found


@cache
def libraries() -> str:
    """Return the folder of Rust's own shared libraries, which tests of procedural macros load."""
    words = [shutil.which("rustc") or "rustc", "--print", "target-libdir"]
    asked = subprocess.run(words, capture_output=True, text=True, check=True)
    return asked.stdout.strip()


def shared_builds(part: Part) -> dict[str, str]:
    """Return the variables with which a program uses what other tests of `make test` build too."""
    if shared.OF_MAKE_TEST not in os.environ or part.folder not in WITH_GUEST_MPI:
        return {}
    return {"MATCHBENCH_CHIP_MPI": str(shared.guest_mpi("chip"))}


@pytest.mark.parametrize("part", programs())
def test_rust(part: Part) -> None:
    done = subprocess.run(
        [part.program, "--quiet", *part.arguments, *ARGUMENTS],
        cwd=part.folder,
        env={
            **os.environ,
            **shared_builds(part),
            "CARGO_MANIFEST_DIR": str(part.folder),
            "LD_LIBRARY_PATH": libraries(),
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    assert done.returncode == 0, done.stdout
