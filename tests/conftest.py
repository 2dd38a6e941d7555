# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Shared by the pipeline tests: small generated traces, the command as a process, keys of specifications."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

import matchbench as mb
from tests import mpi_fake
from tests.browser import launched

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Other tests run at the same time: the wall time of an example says nothing.
settings.register_profile("shared processors", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared processors")

Command = Callable[..., subprocess.CompletedProcess[str]]
MATCHBENCH = (sys.executable, "-m", "matchbench")


@pytest.fixture
def matchbench(tmp_path: Path) -> Command:
    """Run the command in an empty directory and return its result."""

    def run(*words: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*MATCHBENCH, *map(str, words)],
            cwd=tmp_path,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    return run


def make_fake_mpi(folder: Path) -> Path:
    """Make an MPI below a folder, and return the folder of its commands.

    The compiler copies the fake program `tests/mpi_fake.py`, and the launcher starts it once.
    """
    place = folder / "fake" / "bin"
    place.mkdir(parents=True)
    program = f'#!/bin/sh\nexec {sys.executable} -ES {mpi_fake.__file__} "$@"\n'
    (place / "program").write_text(program)
    compiler = 'while [ $# -gt 0 ]; do [ "$1" = -o ] && target=$2; shift; done\n'
    scripts = {
        "mpicc": f"{compiler}cp {place}/program $target",
        "mpirun": "[ $1 = --version ] && echo 'mpirun (Open MPI) 0' && exit\n"
        'while [ "$1" != -n ]; do shift; done; shift 2; exec "$@"',
    }
    for name, script in scripts.items():
        (place / name).write_text(f"#!/bin/sh\n{script}\n")
    for file in place.iterdir():
        file.chmod(0o755)
    return place


@pytest.fixture
def fake_mpi(tmp_path: Path) -> Path:
    """Make a fake MPI, and return the folder of its commands."""
    return make_fake_mpi(tmp_path)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Start the system's Chromium."""
    with launched() as browser:
        yield browser


@pytest.fixture(scope="session")
def halo(tmp_path_factory: pytest.TempPathFactory) -> mb.Trace:
    """Eight ranks that exchange halos ten times."""
    return mb.generate(
        "halo3d", tmp_path_factory.mktemp("traces") / "halo", ranks=8, settings={"iterations": 10}
    )


@pytest.fixture(scope="session")
def deep(tmp_path_factory: pytest.TempPathFactory) -> mb.Trace:
    """Two ranks; every search goes past 64 posted receives."""
    return mb.generate(
        "depth", tmp_path_factory.mktemp("traces") / "deep", ranks=2, settings={"iterations": 10, "depth": 64}
    )


def keys(page: str, section: str) -> set[str]:
    """List the first column of the table below a heading of a page of `spec/`."""
    whole = (Path(__file__).parents[1] / "spec" / f"{page}.md").read_text(encoding="utf-8")
    text = whole.split(f"## {section}\n")[1].split("\n#")[0]
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    return {key for row in rows for key in re.findall(r"`(\w+)`", row)}
