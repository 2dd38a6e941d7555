# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A loop of unsuccessful polls is one record, which says how long it paused and for which request."""

from __future__ import annotations

from pathlib import Path

from decode import PROBE, Record
from harness import Build, Mpi, check_frame, read_trace

POLLS, PAUSE_NS, LONG_NS = 40, 100_000, 2_000_000  # as in programs/polls.c


def misses(mpi: Mpi, build: Build, trace: Path, scenario: str) -> list[Record]:
    """Record a scenario and return the unsuccessful polls of rank 0."""
    done = mpi.record(trace, 2, [str(build("polls.c")), scenario])
    assert done.stdout == ""
    rank, _ = read_trace(trace)
    check_frame(rank)
    return rank.of("Miss")


def gaps(record: Record) -> tuple[int, int]:
    """Return the minimum and the median."""
    return record.bytes & 0xFFFFFFFF, record.bytes >> 32


def test_a_loop_of_tests_has_the_gaps_between_them(mpi: Mpi, build: Build, trace: Path) -> None:
    [record] = misses(mpi, build, trace, "one")
    assert (record.aux, record.peer, record.request) == (POLLS, 1, 2)
    least, median = gaps(record)
    assert PAUSE_NS <= least <= median
    assert median < LONG_NS  # a quarter of the pauses


def test_a_test_of_an_array_names_the_first_active_request(mpi: Mpi, build: Build, trace: Path) -> None:
    [record] = misses(mpi, build, trace, "array")
    assert (record.aux, record.peer, record.request) == (POLLS, 3, 1)
    assert gaps(record)[0] >= PAUSE_NS


def test_polls_in_turn_have_the_gap_to_the_poll_before(mpi: Mpi, build: Build, trace: Path) -> None:
    probe, test = misses(mpi, build, trace, "turns")
    assert probe.has(PROBE)
    assert (probe.aux, test.aux, test.request) == (POLLS // 2, POLLS // 2, 1)
    for record in (probe, test):
        least, median = gaps(record)
        assert PAUSE_NS <= least <= median < LONG_NS
