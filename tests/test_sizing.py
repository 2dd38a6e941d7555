# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Sizes of matching structures: curves against replays with these sizes, the command, its files and page."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import matchbench as mb
from matchbench.compare import columns
from matchbench.compare.answer_text import percent
from matchbench.display.pages import unbroken
from matchbench.size import page as sizing_page
from matchbench.size.page import COSTS
from matchbench.size.recommendation import Alternative, Recommendation, least_entries
from matchbench.sweep.hardware import Costs
from matchbench.sweep.study import OBJECTIVES
from matchbench.sweep.table import LEGEND

if TYPE_CHECKING:
    from matchbench.native_types import Report
    from tests.conftest import Command

ROOT = Path(__file__).parent.parent
TRACES = sorted((ROOT / "traces").glob("*.tar.xz"))
SHARED = ROOT / "traces/tasks-16.tar.xz"


def _replay(trace: mb.Trace, engine: mb.Engine, *, counted: bool = False) -> Report:
    network = mb.Network(mb.networks()[0][0])
    sizing: list[int] | None = [] if counted else None
    return trace.native.replay(engine, network, rules=mb.ReplayConfig().rules(), sizing=sizing)


def _overflows(report: Report) -> tuple[int, ...]:
    total = report["total"]
    return total["posted_overflows"][0], total["unexpected_overflows"][0]


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.split("-")[0])
def test_one_curve_says_how_often_replays_of_three_sizes_overflow(path: Path) -> None:
    # Host memory is as fast as that of the engine: the size changes no time, and one curve holds for all.
    parameters: dict[str, Any] = {"element": 5, "spill": 5}
    with mb.Trace.open(path) as trace:
        engine = mb.engine("hash_buckets", **parameters)
        found = mb.size(trace, engine=engine, costs=[])
        longest = max(found.needs.filter(pl.col("rank").is_null(), of="insertions")["p100"].to_list())
        sizes = [1, 3, longest]
        for entries in sizes:
            replayed = _replay(trace, mb.engine("hash_buckets", capacity=entries, **parameters))
            expected = tuple(
                found.overflows(entries, trace=trace.name, queue=queue, holds="places_of_both")
                for queue in ("posted", "unexpected")
            )
            assert _overflows(replayed) == expected
        assert _overflows(_replay(trace, mb.engine("hash_buckets", capacity=1, **parameters))) != (0, 0)


CURVES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "cam_list": ("cam", "oldest_of_queue", {}),
    "alpu": ("cells", "oldest_of_queue", {"block": 1}),
    "match_unit": ("capacity", "places_of_both", {}),
    "hash_buckets": ("capacity", "places_of_both", {}),
}
"""Engines whose structures follow a curve: key of the size, the curve, and other parameters."""
OTHERS = {"lhs": ("slots", "oldest_of_queue"), "moped": ("descriptors", "places_of_both")}
"""Engines by other rules: key of the size, and the curve of what they hold at least."""
EVERY = "MATCHBENCH_SIZES" in os.environ
# Shares by which replays differ because the order of their operations does: from the curve of an engine
# without time, of the insertions (more at the sizes of nightly that cover few of them); with more places,
# of the overflows.
NEAR = 0.1 if EVERY else 0.05
ORDER = 0.01


def _sizes(found: mb.Sizings) -> list[int]:
    """Give the sizes that `matchbench size` replays; in nightly, many more."""
    rows = found.needs.filter(pl.col("rank").is_null(), pl.col("communicator").is_null(), of="insertions")
    longer = max(rows.iter_rows(named=True), key=lambda row: row["p100"])
    sizes = {longer["p50"], longer["p99"], longer["p100"]}
    if EVERY:
        sizes |= {*range(1, 9), *range(1, longer["p100"] + 2, max(1, longer["p100"] // 24))}
    return sorted(size for size in sizes if size > 0)


def _curve(report: Report, holds: str, entries: int) -> tuple[int, ...]:
    """Give what the curve of a replay says about posted receives and unexpected messages."""
    assert report["sizing"] is not None
    curves = pl.DataFrame(report["sizing"]["curves"], infer_schema_length=None)
    rows = curves.filter(
        pl.col("rank").is_null(), pl.col("structure_entries") <= entries, measure=holds
    ).sort("structure_entries")
    posted, unexpected = (rows.filter(queue=queue)["value"].to_list() for queue in ("posted", "unexpected"))
    return int(posted[-1]) if posted else 0, int(unexpected[-1]) if unexpected else 0


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.split("-")[0])
def test_replays_with_the_sizes_of_the_curves_overflow_as_often_as_these_say(path: Path) -> None:
    compared = 0
    with mb.Trace.open(path) as trace:
        found = mb.size(trace, costs=[])
        for engine, (key, holds, parameters) in CURVES.items():
            for entries in _sizes(found):
                size: dict[str, Any] = {key: entries, **parameters}
                report = _replay(trace, mb.engine(engine, **size), counted=True)
                overflows = _overflows(report)
                # The order of operations depends on the engine: exact is the curve of its own order.
                assert overflows == _curve(report, holds, entries), (engine, entries)
                compared += sum(overflows)
                # That of an engine without time is near (docs/sizing.md).
                insertions = sum(_curve(report, "places_of_both", 0))
                for queue, number in zip(("posted", "unexpected"), overflows, strict=True):
                    said = found.overflows(entries, trace=trace.name, queue=queue, holds=holds)
                    assert abs(said - number) <= NEAR * insertions, (engine, entries, queue)
        for engine, (key, holds) in OTHERS.items():
            earlier = None
            for entries in [*_sizes(found), 256]:
                size = {key: entries}
                report = _replay(trace, mb.engine(engine, **size), counted=True)
                overflows = _overflows(report)
                # What does not fit overflows, and more places do not overflow more.
                least = _curve(report, holds, entries)
                if engine == "lhs":  # its buffers hold heads of messages alone
                    overflows, least = overflows[1:], least[1:]
                assert sum(overflows) > 0 or sum(least) == 0, (engine, entries)
                assert earlier is None or sum(overflows) <= (1 + ORDER) * earlier, (engine, entries)
                earlier = sum(overflows)
    assert compared > 0


def test_the_command_answers_first_and_writes_tables_and_a_page(tmp_path: Path) -> None:
    arguments = ["size", str(SHARED), "-e", "alpu", "-o", str(tmp_path / "sizes")]
    done = subprocess.run(
        [sys.executable, "-m", "matchbench", *arguments], capture_output=True, text=True, check=True
    )
    first = done.stdout.splitlines()[0]
    assert first.startswith("tasks-16: ")
    assert ": 1 structure entry covers 99.9 % of searches among posted receives; rank " in first
    written = json.loads((tmp_path / "sizes/sizing.json").read_text())
    assert written["answer"][0] == first
    assert {row["engine"] for row in written["costs"]} == {"alpu"}
    assert written["costs"][0]["posted_overflows"] + written["costs"][0]["unexpected_overflows"] > 0
    for name, table in columns.SIZING.items():
        found = pl.read_parquet(tmp_path / f"sizes/sizing_{name}.parquet")
        assert found.columns == list(table)
        assert found.height > 0
    page = (tmp_path / "sizes/sizing.html").read_text()
    assert unbroken(first) in page
    assert page.count('<figure data-trace="tasks-16">') == 2


def test_parts_of_the_match_latency_add_up_and_a_full_structure_has_a_mark_and_a_remark() -> None:
    with mb.Trace.open(SHARED) as trace:
        found = mb.compare(trace, [mb.Engine("match_unit", preset="mpi", capacity=1), "cam_list", "linear"])
    for row in found.results.iter_rows(named=True):
        parts = ("search", "waiting", "refused", "beyond")
        total = sum(row[f"match_{part}_mean_ns"] for part in parts)
        assert total == pytest.approx(row["match_latency_mean_ns"], abs=0.01)
        assert row["match_latency_p99_ns"] <= row["match_latency_p999_ns"] <= row["match_latency_max_ns"]
    full = found.results.filter(engine="match_unit").row(0, named=True)
    assert full["posted_overflows"] + full["unexpected_overflows"] == full["spilled"] > 0
    assert full["match_beyond_mean_ns"] > 0
    from matchbench.compare import summary

    (block,) = summary.blocks(found.results, found.measured)
    marked = {
        row[0]: row[summary.headings(summary.SIMULATED_COLUMNS).index(">overflows")] for row in block.rows
    }
    assert marked["match_unit:mpi+"].startswith("! ")
    assert marked["linear:qsnet2"] == "0"


def test_wrong_input_is_refused_with_what_was_expected() -> None:
    with mb.Trace.open(SHARED) as trace:
        with pytest.raises(
            mb.MatchbenchError, match="engine `linear`: found no structure of limited size, expected one of: "
        ):
            mb.size(trace, costs=["linear"])
        with pytest.raises(
            mb.MatchbenchError, match="engine `alpu`: found a value for `cells`, expected none"
        ):
            mb.size(trace, costs=[mb.engine("alpu", cells=256)])
        with pytest.raises(mb.MatchbenchError, match="buckets: found 0, expected at least 1"):
            mb.size(trace, costs=[], buckets=[0])
        found = mb.size(trace, costs=[])
        with pytest.raises(mb.MatchbenchError, match="structure_entries: found -1, expected at least 0"):
            found.overflows(-1, trace=trace.name, queue="posted")
        with pytest.raises(mb.MatchbenchError, match=r"trace `other`, .*: found no curve `oldest_of_queue`"):
            found.overflows(1, trace="other", queue="posted")
    assert sizing_page.cost_rows(found, trace.name) == []


def test_the_recommendation_for_a_known_depth_is_that_depth(deep: mb.Trace, matchbench: Command) -> None:
    """64 receives and the one behind them are posted at a time, in 10 rounds; 1 of 670 is above 99.9 %."""
    found = mb.size(deep, costs=["cam_list"]).recommendation
    assert (found.structure_entries, found.held, found.covered) == (65, 1.0, 1.0)
    # A CAM for each queue.
    assert (found.engine, found.parameter) == ("cam_list:two_level", "cam")
    assert (found.engine_entries, found.memory_entries) == (130, 65536)
    replayed = mb.compare(deep, [mb.engine("cam_list", cam=cam) for cam in (32, 65)])
    half, whole = replayed.results.filter(engine="cam_list").sort("time_ns", descending=True)["time_ns"]
    assert found.half is not None
    assert found.half.structure_entries == 32
    assert found.half.change == pytest.approx(half / whole - 1)
    assert found.twice == Alternative(structure_entries=130, change=0.0)
    done = matchbench("size", str(deep.path), "-e", "cam_list")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == str(found)
    assert str(found) == (
        "Recommendation: 65 structure entries (cam_list:two_level with cam=65, one structure for each queue; "
        "130 engine entries and 65 536 memory entries in all). They hold 100 % of the insertions, and 100 % "
        f"of the searches end within them. With half as many (32), the program is "
        f"{percent(found.half.change)} "
        "slower; with twice as many (130), the run time does not change."
    )


def test_a_recommendation_without_costs_says_so_and_none_is_needed_where_nothing_waits(
    deep: mb.Trace,
) -> None:
    counted = mb.size(deep, costs=[]).recommendation
    assert (counted.structure_entries, counted.engine, counted.half) == (65, None, None)
    assert str(counted).endswith("The cost of half and twice as many was not replayed.")
    nothing = Recommendation(structure_entries=0, holds="oldest_of_queue", held=1.0, covered=1.0)
    assert str(nothing) == "Recommendation: no entry; no receive or message ever waits in a queue."


def test_the_recommended_entries_hold_999_of_1000_insertions_into_either_queue() -> None:
    def curve(queue: str, values: dict[int, int]) -> pl.DataFrame:
        same = {"trace": "t", "rank": None, "queue": queue, "measure": "oldest_of_queue"}
        rows = [{**same, "structure_entries": size, "value": float(value)} for size, value in values.items()]
        return pl.DataFrame(rows, schema_overrides={"rank": pl.Int64()})

    # 2000 insertions: 2 may overflow. Of the other queue all are held by 3.
    posted = curve("posted", {0: 2000, 1: 300, 8: 3, 20: 2, 90: 0})
    assert least_entries(pl.concat([posted, curve("unexpected", {0: 10, 3: 0})]), "oldest_of_queue") == 20
    # One queue is not hidden behind the other one's number of insertions.
    assert least_entries(pl.concat([posted, curve("unexpected", {0: 2, 50: 0})]), "oldest_of_queue") == 50
    assert least_entries(curve("posted", {0: 0}), "oldest_of_queue") == 0


def test_size_and_sweep_count_entries_under_the_same_two_names(deep: mb.Trace) -> None:
    sized = mb.size(deep, costs=["cam_list"]).costs.filter(structure_entries=65).row(0, named=True)
    costs = Costs().of(mb.engine("cam_list", cam=65))
    assert (sized["engine_entries"], sized["memory_entries"]) == (costs.engine_entries, costs.memory_entries)
    assert sized["engine_entries"] == 2 * sized["structure_entries"]
    assert COSTS.count(">structure entries") == 1
    for name in ("engine entries", "memory entries"):
        assert sum(name in each for each in COSTS) == 1
        assert name in LEGEND
    # No column of either command is called entries without saying whose.
    assert ">entries" not in COSTS
    assert "entries" not in {*columns.SIZING["costs"], *columns.SIZING["curves"]}
    assert "entries" not in OBJECTIVES
