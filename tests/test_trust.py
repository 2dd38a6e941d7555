# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What an answer rests on, found by replays of recordings of which it is known."""

from collections.abc import Callable
from pathlib import Path

import pytest

import matchbench as mb
from tests.hand_built import ANY_TAG, Program, recorded

ENGINES = ["ideal", "linear:software"]


def compared(
    folder: Path, act: Callable[[Program, int], None], *, processors: int = 2, delay_ns: int = 0
) -> mb.Comparison:
    """Compare a program of two ranks."""
    programs = [Program(rank, 2, processors=processors) for rank in range(2)]
    for rank, program in enumerate(programs):
        act(program, rank)
        program.delay_ns = delay_ns
    return mb.compare(recorded(folder, programs), ENGINES)


def exchange(program: Program, rank: int, *, compute_ns: int = 2000, posted_tag: int | None = None) -> None:
    """Send and receive between two ranks."""
    for _ in range(50):
        program.compute(compute_ns)
        if rank == 0:
            program.send(1)
        else:
            program.recv(0, posted_tag=posted_tag)


def polling(program: Program, rank: int) -> None:
    """Poll a thousand times, each microsecond, for a message that is there after two."""
    for _ in range(50):
        if rank == 0:
            program.compute(2000)
            program.send(1)
            program.recv(1)
        else:
            request = program.irecv(0)
            program.missed(1000, span_ns=0)
            program.compute(1_000_000)
            program.tested(request, 0)
            program.send(0)


def test_polls_that_decide_the_answer_are_named(tmp_path: Path) -> None:
    found = compared(tmp_path / "t", polling)
    rows = {row["change"]: row for row in found.variations.to_dicts()}
    waiting, counted = rows["none"], rows["polls"]
    assert found.reference["polls"].item() == 50_000
    assert waiting["cost_share"] > 50 * counted["cost_share"] > 0
    assert found.answer.polling is not None
    assert (found.answer.polling.rule, found.answer.polling.cost) == ("recorded", counted["cost_share"])
    assert found.answer.polling.ratio == counted["time_ns"] / waiting["time_ns"] > 50
    assert (
        "; this depends on polling: with polls replayed as recorded, the cost is"
        in (found.answer.sentences["changes"])
    )
    assert "polls" in [each.name for each in found.answer.trust.rests]

    other = mb.compare(
        mb.Trace.open(tmp_path / "t"), ENGINES, config=mb.ReplayConfig(recorded_polls=True)
    ).answer
    assert other.polling is not None
    assert (other.polling.rule, other.polling.cost) == ("waiting", waiting["cost_share"])


def test_polls_that_change_nothing_are_not_named(tmp_path: Path) -> None:
    def act(program: Program, rank: int) -> None:
        exchange(program, rank)
        if rank == 1:
            program.missed(3)

    found = compared(tmp_path / "t", act)
    assert "polls" in found.variations["change"].to_list()
    assert found.answer.polling is None
    assert "polls" not in [each.name for each in found.answer.trust.rests]


def test_waiting_for_processors_is_replayed_as_computation(tmp_path: Path) -> None:
    found = compared(tmp_path / "shared", exchange, processors=1, delay_ns=400_000)
    rows = {row["change"]: row for row in found.variations.to_dicts()}
    # Each rank computes 50 times 2 us, and waited for 400 us.
    assert rows["shared"]["factor"] == pytest.approx(5.0)
    assert rows["shared"]["cost_share"] < 0.9 * rows["none"]["cost_share"]
    assert "shared" in found.answer.trust.changed
    alone = compared(tmp_path / "alone", exchange)
    assert "shared" not in alone.variations["change"].to_list()


def test_arrivals_are_varied_if_the_recording_allows_another_unexpected_share(tmp_path: Path) -> None:
    found = compared(tmp_path / "t", exchange)
    row = found.reference.row(0, named=True)
    stats = mb.Trace.open(tmp_path / "t").stats().total
    assert row["unexpected_recorded"] == stats["unexpected_share"]
    is_far = abs(row["unexpected_share"] - row["unexpected_recorded"]) >= 0.1
    assert ("arrivals" in found.variations["change"].to_list()) == is_far


def test_receives_with_wildcards_are_replayed_the_other_way(tmp_path: Path) -> None:
    def act(program: Program, rank: int) -> None:
        exchange(program, rank, posted_tag=ANY_TAG)

    assert "wildcards" in compared(tmp_path / "t", act).variations["change"].to_list()
    assert "wildcards" not in compared(tmp_path / "named", exchange).variations["change"].to_list()


def test_a_generated_trace_has_no_recorded_arrivals(deep: mb.Trace) -> None:
    found = mb.compare(deep, ENGINES)
    assert found.reference["unexpected_recorded"].to_list() == [None]
    assert found.answer.trust.changed == ()
