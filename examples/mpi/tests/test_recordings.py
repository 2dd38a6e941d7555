# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Recordings of the example programs pass the checker and count what the programs count about themselves.

Also: traces keep what each program asked of MPI (wildcards, persistent requests, cancels, ...), and a killed
rank leaves what it had written, as do the others.
Cost: about a minute on two cores.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.conftest import MATCHBENCH

from examples_mpi import (
    HERE,
    PATIENCE_S,
    SMALL,
    Mpi,
    build,
    environment,
    read_tally,
    run_words,
)
from rank_files import count

LIBRARY = HERE.parent.parent / "recorder" / "build" / "libmbrecord.so"

# What the trace of each program must hold, besides plain sends and receives.
TRAITS = {
    "halo3d": ["Wait", "Collective"],
    "cg": ["persistent", "synchronous send", "any source Probe", "Miss", "Comm", "CommFree"],
    "fft": ["Wait", "Comm", "CommFree"],
    "sweep": ["proc null", "Collective"],
    "graph": ["persistent", "any source Recv", "Cancel", "cancelled receive"],
    "graph_probe": ["matched Probe", "matched Recv", "any tag Probe", "Miss"],
    "tasks": ["any source Probe", "any tag Probe", "any tag Recv", "Free"],
}

pytestmark = [
    pytest.mark.skipif(not LIBRARY.exists(), reason="the recorder is not built (make -C recorder)"),
    pytest.mark.skipif(importlib.util.find_spec("matchbench") is None, reason="matchbench is not installed"),
]


def words_of(variant: str) -> tuple[str, list[str]]:
    """Return the program and the arguments behind a row of `TRAITS`."""
    program = variant.removesuffix("_probe")
    return program, [*SMALL[program], *(["--pool", "0"] if program != variant else [])]


def record_words(mpi: Mpi, ranks: int, words: list[str], trace: Path) -> list[str]:
    """Return the command that records a program."""
    return [*MATCHBENCH, "record", "-o", str(trace), "--", *mpi.launcher, str(ranks), *words]


def check(trace: Path) -> subprocess.CompletedProcess[str]:
    """Run the checker on a trace."""
    return run_words([*MATCHBENCH, "trace", "check", str(trace)])


@pytest.mark.parametrize("ranks", [7, 16])
@pytest.mark.parametrize("variant", TRAITS)
def test_trace_counts_what_the_program_counts(mpi: Mpi, variant: str, ranks: int, tmp_path: Path) -> None:
    """Messages and bytes, sent and received, agree to the last one, and the trace is sound."""
    program, words = words_of(variant)
    trace = tmp_path / "trace"
    done = run_words(record_words(mpi, ranks, [str(build(mpi) / program), *words], trace))
    assert done.returncode == 0, done.stderr
    counts = count(trace)
    assert counts.unfinalized == []
    tally = read_tally(program, done.stdout)
    assert counts.tally == tally
    # The program checks its answer itself; what was sent must have been received.
    assert (tally.sent_messages, tally.sent_bytes) == (tally.received_messages, tally.received_bytes)
    assert tally.sent_messages > 0
    assert [trait for trait in TRAITS[variant] if counts.traits[trait] == 0] == []
    # Unsuccessful polls are counted in one record for each of three calls at most, however long a rank polls.
    misses = counts.traits["Miss"]
    assert misses <= 3 * (counts.records - misses)
    checked = check(trace)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def ranks_of(program: Path) -> dict[int, int]:
    """Return the process id of each running rank of a program, as its launcher numbers them."""
    ranks: dict[int, int] = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "exe").readlink() == program:
                variables = (process / "environ").read_bytes().split(b"\0")
                ranks |= {
                    int(variable.partition(b"=")[2]): int(process.name)
                    for variable in variables
                    if variable.startswith((b"OMPI_COMM_WORLD_RANK=", b"PMI_RANK="))
                }
        except OSError:
            continue
    return ranks


def wait_for_records(path: Path, records: int) -> None:
    """Wait until a rank has written so many records."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        if path.exists() and not path.read_bytes()[64::64].find(0) < records:
            return
        time.sleep(0.05)
    pytest.fail(f"{path} did not come to {records} records")


def test_killed_rank_leaves_what_it_had_written(mpi: Mpi, tmp_path: Path) -> None:
    """SIGKILL to one rank in the middle: all files are readable, and its end is named."""
    ranks, victim, enough = 4, 2, 2000
    trace = tmp_path / "trace"
    program = build(mpi) / "halo3d"
    words = record_words(mpi, ranks, [str(program), "--steps", "1000000"], trace)
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    ) as recording:
        try:
            wait_for_records(trace / f"rank-{victim:05}.mbt", enough)
            os.kill(ranks_of(program)[victim], signal.SIGKILL)
            _, said = recording.communicate(timeout=PATIENCE_S)
        finally:
            recording.terminate()
    assert recording.returncode != 0
    counts = count(trace)
    assert victim in counts.unfinalized
    assert len(list(trace.glob("rank-*.mbt"))) == ranks
    # A quarter of the records are sends, and no rank is more than a step behind its neighbours.
    assert counts.sent_messages > ranks * enough / 6
    ends = [line for line in said.splitlines() if line.startswith(f"matchbench: rank {victim}: cut after ")]
    assert len(ends) == 1, said
    assert int(ends[0].split()[5]) >= enough
    named = [int(line.split()[2].rstrip(":")) for line in said.splitlines() if ": cut after " in line]
    assert named == counts.unfinalized
    checked = check(trace)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert f"rank {victim}" in checked.stdout
