# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Fixtures: which MPI a test runs under; a missing one is skipped, and the reason names what is missing."""

from __future__ import annotations

import pytest

from examples_mpi import MPIS, Mpi


@pytest.fixture(params=MPIS, ids=lambda mpi: mpi.name)
def mpi(request: pytest.FixtureRequest) -> Mpi:
    """Return each MPI in turn."""
    which: Mpi = request.param
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
