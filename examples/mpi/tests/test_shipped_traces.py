# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The shipped traces are sound and count what their programs counted, and the table about them is fresh."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from tests.conftest import MATCHBENCH

from examples_mpi import HERE, PROGRAMS, Tally, environment
from matchbench.trace.archive import unpack
from rank_files import count

if TYPE_CHECKING:
    from pathlib import Path

TRACES = HERE.parent.parent / "traces"
PACKED = sorted(TRACES.glob("*.tar.xz"))


def matchbench(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the command line."""
    return subprocess.run([*MATCHBENCH, *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("packed", PACKED, ids=lambda packed: packed.name.removesuffix(".tar.xz"))
def test_shipped_trace_counts_what_its_program_counted(packed: Path, tmp_path: Path) -> None:
    """The tally was printed by the program when it was recorded."""
    trace = unpack(packed, tmp_path)
    meta = json.loads((trace / "meta.json").read_text(encoding="utf-8"))
    counts = count(trace)
    assert counts.tally == Tally(**meta["tally"])
    assert counts.unfinalized == []
    assert 16 <= meta["ranks"] <= 64


@pytest.mark.parametrize("packed", PACKED, ids=lambda packed: packed.name.removesuffix(".tar.xz"))
def test_shipped_trace_passes_the_checker(packed: Path) -> None:
    """As it is, packed."""
    checked = matchbench("trace", "check", str(packed))
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_every_program_has_a_trace_and_all_are_small() -> None:
    """They are cloned by everybody, so their size is a promise."""
    assert {packed.name.partition("-")[0] for packed in PACKED} == set(PROGRAMS)
    assert sum(packed.stat().st_size for packed in PACKED) < 5_000_000


def test_table_is_that_of_the_traces() -> None:
    """The provenance in `traces/README.md` is generated and fresh."""
    words = [str(TRACES / "record.sh"), "--check"]
    variables = {**environment(), "PYTHON": sys.executable, "MATCHBENCH": shlex.join(MATCHBENCH)}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=variables)
    assert done.returncode == 0, done.stderr
