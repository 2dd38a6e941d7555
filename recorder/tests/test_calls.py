# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Each family of MPI calls: the trace says exactly what the program says that it did."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest
from decode import BLOCKING, FAILED, Rank, Record
from harness import Build, Mpi, check_frame, line_from, lines_of, read_trace

SCENARIOS = [
    "blocking",
    "nonblocking",
    "in_a_row",
    "refused",
    "orders",
    "completion",
    "persistent",
    "sendrecv",
    "probes",
    "cancel",
    "truncation",
    "collectives",
    "communicators",
    "neighbors",
    "graphs",
    "sizes",
    "mpi4",
    "unreported",
    "partitioned",
    "others",
]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_trace_says_what_the_program_did(
    scenario: str, mpi: Mpi, build: Build, trace: Path, tmp_path: Path
) -> None:
    mpi.record(trace, 4, [str(build("calls.c")), scenario, str(tmp_path)])
    other_calls = json.loads((trace / "meta.json").read_text())["other_calls"]
    ranks = read_trace(trace)
    for rank in ranks:
        expected = [
            line_from(line) for line in (tmp_path / f"expected-{rank.rank}.txt").read_text().splitlines()
        ]
        got = [line for line in lines_of(rank, other_calls) if scenario != "completion" or line[0] != "Miss"]
        assert got == expected, f"rank {rank.rank}"
        check_frame(rank)
    check_identities(ranks)
    if scenario == "nonblocking":  # what rank 1 received is not what it had room for
        assert [rank.folded for rank in ranks] == [1, 0, 0, 0]


def test_a_truncated_receive_says_which_message_it_took(
    mpi: Mpi, build: Build, trace: Path, tmp_path: Path
) -> None:
    mpi.record(trace, 4, [str(build("calls.c")), "truncation", str(tmp_path)])
    failed = [record for record in read_trace(trace)[1].of("Done") if record.has(FAILED)]
    assert [(record.peer, record.tag) for record in failed] == [(0, 1), (0, 2)]
    # Of 40 bytes into a buffer of 8: the message, or all that the buffer holds.
    assert all(record.bytes in (8, 40) for record in failed)


def check_identities(ranks: list[Rank]) -> None:
    """Check that members of a communicator give it one identity and the same groups, and no other has it."""
    made: dict[int, dict[int, Record]] = {}
    for rank in ranks:
        for record in rank.of("Comm"):
            members = made.setdefault(record.aux, {})
            assert rank.rank not in members, (
                f"two communicators of rank {rank.rank} have identity {record.aux:#x}"
            )
            members[rank.rank] = record
    for identity, members in made.items():
        sizes = {record.tag + max(record.peer, 0) for record in members.values()}
        assert sizes == {len(members)}, f"communicator {identity:#x} has {len(members)} members of {sizes}"
        intra = {tuple(record.words) for record in members.values() if record.peer == -1}
        assert len(intra) <= 1


def test_spans_lie_between_the_begins_of_calls(mpi: Mpi, build: Build, trace: Path, tmp_path: Path) -> None:
    mpi.record(trace, 4, [str(build("calls.c")), "collectives", str(tmp_path)])
    for rank in read_trace(trace):
        records = rank.records
        for before, after in itertools.pairwise(records):
            assert before.wall_ns + before.wall_span_ns <= after.wall_ns + 1
        assert all(record.wall_span_ns > 0 for record in rank.of("Collective") if record.has(BLOCKING))
