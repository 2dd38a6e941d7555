# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What becomes of the recorder's file, and threads without limit: the program goes on as it would."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from decode import Rank, read_rank
from harness import HERE, Build, Mpi, check_frame, read_trace

MESSAGES = 20000  # as in programs/robust.c
THREADS = 70_000
"""More than a record has numbers for."""


def run(mpi: Mpi, build: Build, trace: Path, *arguments: str, library: Path | None = None) -> list[str]:
    """Record a scenario of the program, which sees nothing of it; return the warnings."""
    program = [str(build("robust.c")), arguments[0], str(trace.parent), *arguments[1:]]
    done = mpi.record(trace, 2, program, library=library)
    assert done.stdout.split() == ["fine", "fine"]
    return [line for line in done.stderr.splitlines() if line.startswith("matchbench: ")]


def stopped(rank: int) -> str:
    """Return the beginning of the warning of a rank."""
    return f"matchbench: rank {rank}: recording stopped, the program continues"


def test_a_file_that_takes_the_number_of_the_recorders_descriptor_stays_as_it_is(
    mpi: Mpi, build: Build, trace: Path
) -> None:
    assert run(mpi, build, trace, "takes_over") == []
    for rank in read_trace(trace):
        check_frame(rank)
        assert len(rank.of("Send", "Recv")) == MESSAGES


def test_a_file_that_is_gone_ends_the_recording_and_not_the_program(
    mpi: Mpi, build: Build, trace: Path
) -> None:
    warnings = run(mpi, build, trace, "gone")
    assert sorted(warnings) == [
        f"{stopped(rank)}: its file is gone, and the program has closed the descriptor" for rank in range(2)
    ]


@pytest.mark.parametrize("scenario", ["shortened", "emptied"])
def test_a_shortened_file_ends_the_recording_and_not_the_program(
    scenario: str, mpi: Mpi, build: Build, trace: Path
) -> None:
    warnings = run(mpi, build, trace, scenario)
    assert sorted(warnings) == [f"{stopped(rank)}: its file was shortened" for rank in range(2)]
    for rank in range(2):
        read = read_rank(trace / f"rank-{rank:05}.mbt")
        assert read.stopped
        assert not read.finalized
        assert len(read.records) == (96 if scenario == "shortened" else 0)  # and three Extra


def test_a_program_gets_its_own_bus_errors(mpi: Mpi, build: Build, trace: Path) -> None:
    assert run(mpi, build, trace, "own_fault") == []
    for rank in read_trace(trace):
        check_frame(rank)
        assert len(rank.of("Send", "Recv")) == 200


def test_a_program_that_forbids_fallocate_is_recorded(mpi: Mpi, build: Build, trace: Path) -> None:
    assert run(mpi, build, trace, "no_fallocate") == []
    for rank in read_trace(trace):
        check_frame(rank)
        assert len(rank.of("Send", "Recv")) == MESSAGES


def check_threads(rank: Rank, count: int) -> None:
    """Check that each thread of the rank made its call, in a slot of its own."""
    check_frame(rank)
    sends = rank.of("Send")
    assert len(sends) == count
    owners = {0: 0}
    numbers = set()
    for record in rank.records:
        if record.kind == "Thread":
            owners[record.thread] = record.aux
        elif record.kind == "Send":
            numbers.add(owners.setdefault(record.thread, record.thread))
    assert numbers == set(range(1, count + 1))


def test_more_threads_than_a_number_of_16_bits_are_recorded(mpi: Mpi, build: Build, trace: Path) -> None:
    assert run(mpi, build, trace, "threads", str(THREADS)) == []
    for rank in read_trace(trace):
        check_threads(rank, THREADS)
        assert len({record.thread for record in rank.records}) == 2


@pytest.fixture(scope="session")
def few_slots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the recorder with slots for four threads."""
    place = tmp_path_factory.mktemp("few") / "librecorder.so"
    sources = [
        str(path) for path in (HERE.parent / "src").glob("*.c") if path.stem not in ("static", "system_chip")
    ]
    options = ["-std=gnu11", "-O0", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-strict-aliasing"]
    options += ["-mgeneral-regs-only", '-DMBR_VERSION="test"', "-DMBR_THREAD_SLOTS=4", "-o", str(place)]
    subprocess.run(["/usr/bin/cc", *options, *sources, "-Wl,-z,initfirst", "-ldl", "-lpthread"], check=True)
    return place


def test_more_threads_at_once_than_slots_end_the_recording_and_not_the_program(
    mpi: Mpi, build: Build, trace: Path, few_slots: Path
) -> None:
    warnings = run(mpi, build, trace, "threads_at_once", "6", library=few_slots)
    assert sorted(warnings) == [
        f"{stopped(rank)}: more threads live than a trace has slots for" for rank in range(2)
    ]
    for rank in read_trace(trace):
        assert rank.stopped
        assert len(rank.of("Send")) <= 3
