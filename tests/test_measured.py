# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Measured rows: outcomes, sums and sanity. Measured times are never compared with fixed numbers."""

import polars as pl
import pytest

import matchbench as mb
from matchbench.compare import summary
from matchbench.compare.result_tables import disturbed
from matchbench.display import plots
from matchbench.native_types import Measured

ENGINES = ["host_native:packed", "linear:software", "ideal", "host_native"]


@pytest.fixture(scope="module")
def comparison(halo: mb.Trace, deep: mb.Trace) -> mb.Comparison:
    return mb.compare([halo, deep], ENGINES)


def measured(comparison: mb.Comparison) -> pl.DataFrame:
    return comparison.results.filter(timing="measured")


def test_measured_rows_come_last_in_the_order_named(comparison: mb.Comparison) -> None:
    default = mb.choose_engines(["host_native"])[0].preset
    named = list(dict.fromkeys(["packed", default]))
    for trace in ("halo", "deep"):
        rows = comparison.results.filter(trace=trace)
        assert rows["timing"].to_list() == ["bound", "simulated"] + ["measured"] * len(named)
        assert rows["preset"].to_list()[2:] == named


def test_a_measured_row_names_its_host(comparison: mb.Comparison) -> None:
    models = comparison.results.filter(pl.col("timing") != "measured")
    for name in ("host", "repetitions", "operation_ns", "operation_low_ns", "operation_high_ns"):
        assert models[name].null_count() == models.height
        assert measured(comparison)[name].null_count() == 0
    for row in measured(comparison).iter_rows(named=True):
        assert row["host"]
        assert row["repetitions"] >= 7
        # Sanity alone: an operation takes some time, and less than a millisecond.
        assert 0 < row["operation_low_ns"] <= row["operation_ns"] <= row["operation_high_ns"] < 1e6
        assert row["slowdown"] > 0


def test_kinds_add_up_to_the_total_that_the_replay_uses(comparison: mb.Comparison) -> None:
    key = ["trace", "engine", "preset"]
    for row in measured(comparison).iter_rows(named=True):
        mine = comparison.measured.filter(**{name: row[name] for name in key})
        one, kinds = mine.filter(kind="all").row(0, named=True), mine.filter(pl.col("kind") != "all")
        assert set(kinds["kind"]) == {"post", "arrive"}
        assert kinds["operations"].sum() == one["operations"] == row["operations"]
        total = one["operations"] * one["operation_ns"]
        assert (kinds["operations"] * kinds["operation_ns"]).sum() == pytest.approx(total)
        assert 0 <= one["same_order"] <= 1
        # Each operation's time is charged once, in every order.
        assert row["engine_busy_ns"] == pytest.approx(total)


def test_outcomes_do_not_depend_on_measured_times(
    comparison: mb.Comparison, halo: mb.Trace, deep: mb.Trace
) -> None:
    outcomes = ["trace", "sent", "sent_bytes", "received", "matches", "never_received", "never_matched"]
    again = mb.compare([halo, deep], ENGINES[:1])
    assert (
        again.results.select(outcomes)
        .unique()
        .sort("trace")
        .equals(comparison.results.select(outcomes).unique().sort("trace"))
    )


def test_measured_rows_have_a_separate_table_and_axes(comparison: mb.Comparison) -> None:
    count = measured(comparison).height // 2
    for block in summary.blocks(comparison.results, comparison.measured):
        assert [row[0] for row in block.rows] == ["ideal:zero", "linear:software"]
        assert block.measured[0][:2] == ("host_native:packed", "measured")
        assert all(len(row) == len(summary.MEASURED_COLUMNS) for row in block.measured)
        assert (len(block.measured), block.engines) == (count, count + 2)
        assert block.measured_title.endswith("not ranked")
    planned = plots.planned(comparison.results, comparison.depths, comparison.timeline)
    figures = {plot.name: plot.draw() for plot in planned}
    models, native = figures["deep.cost"].axes
    assert [bar.get_linestyle() for bar in models.patches] == ["-"]
    assert [bar.get_linestyle() for bar in native.patches] == ["--"] * count
    assert native.get_title("left") == "measured, not ranked"
    lines = {line.get_label(): line.get_linestyle() for line in figures["deep.latency"].axes[0].get_lines()}
    assert (lines["linear:software"], lines["host_native:packed"]) == ("-", "--")


def test_a_busy_host_is_reported() -> None:
    def found(low: float, high: float) -> list[str]:
        kinds = {"operation_low_ns": [low], "operation_high_ns": [high]}
        return disturbed(
            Measured(host="h", core=1, clock="c", reading_ns=20, repetitions=7, same_order=1, kinds=kinds)
        )

    assert found(10, 12.5) == disturbed(None) == []
    assert found(10, 12.6) == [
        "the quartiles of the repetitions are far apart: other programs ran on this host"
    ]
    assert len(found(0, 1)) == 1
