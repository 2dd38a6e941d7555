# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What is not replayed: programs whose shares are known, and what the answer says of them."""

from collections.abc import Callable
from pathlib import Path

import pytest

import matchbench as mb
from matchbench.compare import summary
from tests.hand_built import BARRIER, NEIGHBOR, Program, recorded

ENGINES = ["ideal", "linear:software"]


def compared(tmp_path: Path, act: Callable[[Program, int], None], *, ranks: int = 2) -> mb.Comparison:
    """Compare a program whose ranks all do the same."""
    programs = [Program(rank, ranks) for rank in range(ranks)]
    for rank, program in enumerate(programs):
        act(program, rank)
    return mb.compare(recorded(tmp_path / "t", programs), ENGINES)


def exchange(program: Program, rank: int, times: int) -> None:
    """Send and receive between two ranks."""
    for _ in range(times):
        program.compute(100_000)
        if rank == 0:
            program.send(1)
            program.recv(1)
        else:
            program.recv(0)
            program.send(0)


def partitioned(program: Program, _rank: int) -> None:
    program.other("MPI_Psend_init")
    for _ in range(50):
        program.other("start of a request that is not recorded")
        program.other("MPI_Pready")


def lost(program: Program, rank: int) -> None:
    for _ in range(50):
        program.other(f"{'send' if rank else 'receive'} on a communicator that is not recorded")


def neighbourhood(program: Program, _rank: int) -> None:
    for _ in range(300):
        program.collective(NEIGHBOR, 64)


@pytest.mark.parametrize(
    ("act", "what"),
    [
        (neighbourhood, "600 collectives of a form that is not expanded"),
        (partitioned, "100 starts of partitioned or persistent requests"),
        (lost, "50 receives on communicators that are not recorded"),
    ],
)
def test_a_program_of_calls_that_are_not_replayed_gets_no_answer(
    tmp_path: Path, act: Callable[[Program, int], None], what: str
) -> None:
    found = compared(tmp_path, act)
    said = found.answer.sentences
    assert said["matters"] == (
        "It is unknown whether matching matters: the replay omits 100 % of the calls that take part in "
        f"matching ({what}); from 10 % on, no answer is given."
    )
    assert (
        said["engines"]
        == "The table compares engines on the replayed part only; it does not describe the program."
    )
    notes = [block.note for block in summary.blocks(found.results, found.measured, found.reference)]
    assert notes == ["None of the matching of this program is replayed; its cost is unknown."]
    whole = " ".join([*said.values(), *notes])
    assert "nothing:" not in whole
    assert "does not matter" not in whole


def test_shares_of_calls_bytes_and_time_are_those_of_the_program(tmp_path: Path) -> None:
    def act(program: Program, rank: int) -> None:
        exchange(program, rank, 10)
        program.collective(BARRIER, span_ns=2000)
        program.collective(NEIGHBOR, 20, span_ns=3000)
        program.other("send on a communicator that is not recorded", span_ns=5000)

    row = compared(tmp_path, act).reference.row(0, named=True)
    # Of a rank: 10 sends of 8 bytes, 10 receives, a barrier; not replayed: a collective of 20 bytes, a send.
    assert (row["matching_calls"], row["unreplayed_calls"]) == (46, 4)
    assert row["unreplayed_calls_share"] == 4 / 46
    assert row["unreplayed_bytes_share"] == 20 / 100
    assert row["unreplayed_time_share"] == 8000 / (20 * 1000 + 2000 + 8000)


@pytest.mark.parametrize(("missing", "share"), [(3, None), (4, 0.1)])
def test_an_answer_is_refused_from_a_tenth_on(tmp_path: Path, missing: int, share: float | None) -> None:
    def act(program: Program, rank: int) -> None:
        exchange(program, rank, 18)
        for _ in range(missing):
            program.collective(NEIGHBOR)

    found = compared(tmp_path, act)
    refused = [each.share for each in found.answer.refused]
    assert refused == ([share] if share else [])
    assert ("It is unknown whether" in found.answer.sentences["matters"]) == bool(share)
    assert (found.variations.height == 0) == bool(share)
    said = "10 % of the calls" if share else "7.69 % of the calls"
    assert any(each.text.startswith(f"not replayed: {said}") for each in found.remarks)


def test_a_program_without_an_answer_is_named_beside_the_others(tmp_path: Path, deep: mb.Trace) -> None:
    programs = [Program(rank, 2) for rank in range(2)]
    for rank, program in enumerate(programs):
        neighbourhood(program, rank)
    found = mb.compare([deep, recorded(tmp_path / "t", programs)], ENGINES).answer
    assert list(found.costs) == ["deep"]
    assert found.sentences["matters"].endswith(
        "of its run time with matching in software (linear:software); it is unknown for t: the replay omits "
        "100 % of the "
        "calls that take part in matching (600 collectives of a form that is not expanded); from 10 % on, "
        "no answer is given."
    )
    assert found.sentences["ranks"].startswith(
        "On linear:software, both ranks wait about equally long for matching"
    )


def test_one_sided_communication_matches_nothing_and_its_time_is_apart(tmp_path: Path) -> None:
    def only(program: Program, _rank: int) -> None:
        for name in ("MPI_Win_fence", "MPI_Put", "MPI_Rget_c", "MPI_Win_fence"):
            program.other(name)

    found = compared(tmp_path / "only", only)
    assert found.answer.sentences["matters"] == (
        "Matching costs this program nothing: its communication is one-sided and is not matched "
        "(8 calls, 100 % of the time in calls)."
    )
    notes = [block.note for block in summary.blocks(found.results, found.measured, found.reference)]
    assert notes == ["This program uses one-sided communication only, which is not matched."]

    def mixed(program: Program, rank: int) -> None:
        exchange(program, rank, 10)
        program.other("MPI_Win_fence", span_ns=5000)

    found = compared(tmp_path / "mixed", mixed)
    assert found.answer.one_sided is not None
    assert found.answer.one_sided.share == 5000 / 25_000
    assert found.answer.sentences["matters"].endswith(
        ", below the threshold of 1 %; the one-sided communication is not matched and not included "
        "(20 % of the time in calls)."
    )
    said = [each.text for each in found.remarks]
    assert (
        "one-sided communication is not matched: 2 calls, 20 % of the time in calls that communicate" in said
    )


def test_little_one_sided_communication_is_no_part_of_the_first_sentence(tmp_path: Path) -> None:
    def act(program: Program, rank: int) -> None:
        exchange(program, rank, 10)
        program.other("MPI_Put", span_ns=1000)
        program.other("MPI_File_open", span_ns=90_000)

    found = compared(tmp_path, act)
    assert found.reference["one_sided_time_share"].item() == 1000 / 21_000
    assert found.answer.one_sided is None
