# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Processes and communicators beyond MPI_COMM_WORLD: sessions are recorded, spawned processes counted."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from decode import Rank
from harness import Build, Mpi, check_frame, line_from, lines_of, read_trace
from test_calls import check_identities

INIT = "MPI_Init or MPI_Session_init beside another one"
FINALIZE = "MPI_Finalize or MPI_Session_finalize before the last one"


def run(mpi: Mpi, trace: Path, program: list[str]) -> subprocess.CompletedProcess[str]:
    """Record a program on two ranks; skip the test if this MPI cannot run it even without the recorder.

    MPICH 4.0.2 with UCX can neither spawn processes nor begin a session after the last one was finalized.
    """
    done = mpi.record(trace, 2, program, check=False)
    if done.returncode != 0 and mpi.record(None, 2, program, check=False).returncode != 0:
        pytest.skip(f"{mpi.name} cannot run {Path(program[0]).name} {' '.join(program[1:])}")
    assert done.returncode == 0, done.stderr
    return done


def recorded(mpi: Mpi, build: Build, trace: Path, scenario: str) -> list[Rank]:
    """Record a scenario of `programs/sessions.c` on two ranks."""
    done = run(mpi, trace, [str(build("sessions.c")), scenario])
    if "no sessions" in done.stdout:
        pytest.skip(f"{mpi.name} has no sessions")
    ranks = read_trace(trace)
    for rank in ranks:
        check_frame(rank)
    check_identities(ranks)
    return ranks


def messages(rank: Rank, comm: int, tag: int, count: int, first: int) -> list[str]:
    """Return what `send` of the program does: rank 0 sends `count` messages, numbered from `first` on."""
    if rank.rank == 0:
        return [f"Send comm {comm} peer 1 tag {tag} bytes 4 aux {first + i} BLOCKING" for i in range(count)]
    return [
        line
        for i in range(count)
        for line in (
            f"Recv comm {comm} peer 0 tag {tag} bytes 4 request {first + i + 1} BLOCKING",
            f"Done peer 0 tag {tag} bytes 4 request {first + i + 1}",
        )
    ]


def test_a_program_without_mpi_init_is_recorded(mpi: Mpi, build: Build, trace: Path) -> None:
    for rank in recorded(mpi, build, trace, "alone"):
        second = messages(rank, 3, 2, 2, 3 * rank.rank)
        number = 6 * rank.rank or 1
        expected = [
            "Comm comm 2 peer -1 tag 2 ranks [0, 1]",
            "Comm comm 3 peer -1 tag 2 ranks [0, 1]",
            *messages(rank, 2, 1, 3, 0),
            *second,
            f"Comm comm 4 peer 1 tag 1 ranks [{rank.rank}, {1 - rank.rank}]",
            f"Send comm 4 tag 9 bytes 4 request {number} SENDRECV",
            f"Recv comm 4 tag 9 bytes 4 request {number + 1} SENDRECV",
            "Wait aux 2 BLOCKING",
            f"Done request {number}",
            f"Done tag 9 bytes 4 request {number + 1}",
            "CommFree comm 4",
            "CommFree comm 2",
            "CommFree comm 3",
        ]
        assert lines_of(rank, []) == [line_from(line) for line in expected]


def test_sessions_are_recorded_beside_mpi_init(mpi: Mpi, build: Build, trace: Path) -> None:
    ranks = recorded(mpi, build, trace, "beside")
    other_calls = json.loads((trace / "meta.json").read_text())["other_calls"]
    for rank in ranks:
        lines = lines_of(rank, other_calls)
        tags = [line[1][2] for line in lines if line[0] in ("Send", "Recv")]
        assert tags == [1] * 3 + [3] * 4 + [2] * 2 + [1] * 3
        comms = [line[1][0] for line in lines if line[0] in ("Send", "Recv")]
        assert comms == [2] * 3 + [0] * 4 + [3] * 2 + [2] * 3
        others = [line[0] for line in lines if line[0].startswith("MPI_")]
        assert others == [INIT, INIT, FINALIZE, FINALIZE]


def test_a_session_after_the_last_one_goes_on_with_the_trace(mpi: Mpi, build: Build, trace: Path) -> None:
    for rank in recorded(mpi, build, trace, "again"):
        assert Counter(record.tag for record in rank.of("Send", "Recv")) == {0: 5000, 1: 5000, 2: 5000}
        assert [record.comm for record in rank.of("Comm")] == [0, 1, 2, 3, 4]


def test_a_session_may_allow_threads_that_mpi_init_did_not(mpi: Mpi, build: Build, trace: Path) -> None:
    for rank in recorded(mpi, build, trace, "threads"):
        assert len(rank.of("Send", "Recv")) == 300


def spawned(mpi: Mpi, build: Build, trace: Path, *arguments: str) -> list[Counter[str]]:
    """Record `programs/spawn.c` on two ranks; give the Other records of each, by name."""
    run(mpi, trace, [str(build("spawn.c")), *arguments])
    other_calls = json.loads((trace / "meta.json").read_text())["other_calls"]
    ranks = read_trace(trace)
    for rank in ranks:
        check_frame(rank)
    return [
        Counter(
            {
                name: sum(
                    max(1, record.aux >> 32)
                    for record in rank.of("Other")
                    if other_calls[record.aux & 0xFFFFFFFF] == name
                )
                for name in {other_calls[record.aux & 0xFFFFFFFF] for record in rank.of("Other")}
            }
        )
        for rank in ranks
    ]


def test_messages_to_spawned_processes_are_counted(mpi: Mpi, build: Build, trace: Path) -> None:
    root, other = spawned(mpi, build, trace)
    both = {
        "collective on a communicator that is not recorded": 1,
        "communicator that is not recorded": 1,
    }
    assert root == both | {
        "MPI_Comm_spawn": 2,
        "send on a communicator that is not recorded": 3,
        "receive on a communicator that is not recorded": 2,
    }
    assert other == both | {"MPI_Comm_spawn": 1}


def test_every_kind_of_call_on_a_lost_communicator_is_counted(mpi: Mpi, build: Build, trace: Path) -> None:
    root, _ = spawned(mpi, build, trace, "lost")
    assert root["start of a request that is not recorded"] == 2
    assert root["probe on a communicator that is not recorded"] == 4
    assert root["receive on a communicator that is not recorded"] == 2 + 2 + 1 + 1
    assert root["send on a communicator that is not recorded"] == 3 + 1 + 1
