# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Fixtures: which MPI a test runs under; a missing one is skipped, and the reason names what is missing."""

from __future__ import annotations

import os

import pytest

from examples_mpi import MPICH, MPIS, Mpi

# Ranks of MPICH on two processors. They do not give up a processor while they wait, so that with more of them
# each message takes as long as the scheduler lets the others wait.
MOST_BUSY = 8


@pytest.fixture(autouse=True)
def _sleeping(sleeping_ranks: None) -> None:
    """Let every rank sleep while it waits (conftest.py of the repository)."""


@pytest.fixture(params=MPIS, ids=lambda mpi: mpi.name)
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Return each MPI in turn."""
    which: Mpi = request.param
    ranks = request.node.callspec.params.get("ranks", 0)
    if which == MPICH and ranks > MOST_BUSY and "MATCHBENCH_LONG" not in os.environ:
        pytest.skip("long; part `mpi-tests` of make nightly")
    missing = which.missing()
    if missing is not None:
        pytest.skip(f"{which.name}: `{missing}` is not installed")
    return which


@pytest.fixture
def any_mpi() -> Mpi:
    """Return the first MPI that is installed, for what does not depend on which."""
    missing = {mpi.name: mpi.missing() for mpi in MPIS}
    found = next((mpi for mpi in MPIS if missing[mpi.name] is None), None)
    if found is None:
        pytest.skip(f"no MPI: {missing}")
    return found
