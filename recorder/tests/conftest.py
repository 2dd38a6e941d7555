# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Fixtures: each installed MPI in turn, and compiled programs."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import HERE, LIBRARY, Build, Mpi, installed


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give `mpi` each installed MPI; a test is skipped by name where there is none."""
    if "mpi" in metafunc.fixturenames:
        found = installed() or (pytest.param(None, marks=pytest.mark.skip(reason="no MPI is installed")),)
        metafunc.parametrize("mpi", found, ids=lambda mpi: mpi.name if mpi else "none", scope="session")


@pytest.fixture(autouse=True)
def _sleeping(sleeping_ranks: None) -> None:
    """Let every rank sleep while it waits (conftest.py of the repository)."""


@pytest.fixture(scope="session")
def build(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compile a program once for each MPI."""
    if not LIBRARY.exists():
        pytest.fail(f"{LIBRARY} is not built: run `make -C recorder`")
    directory = tmp_path_factory.mktemp(mpi.name)

    def compile_once(name: str) -> Path:
        target = directory / name.replace(".", "-")
        if not target.exists():
            language = {".c": "c", ".f90": "mpifort", ".cpp": "mpicxx"}[Path(name).suffix]
            mpi.compile(HERE / "programs" / name, target, language)
        return target

    return compile_once


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Return an empty directory for a trace."""
    directory = tmp_path / "trace"
    directory.mkdir()
    return directory
