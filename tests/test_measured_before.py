# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Rows of an engine whose times were measured before: apart, not ranked, and with where they are from."""

import sys
import tomllib
from pathlib import Path

import polars as pl
import pytest

import matchbench as mb
from matchbench import plots, summary

ROOT = Path(__file__).resolve().parent.parent
PRESETS = ROOT / "engines/measured/presets"
RESULTS = ROOT / "integrations/openmpi/measured"
sys.path.append(str(ROOT / "integrations/openmpi"))

import preset  # noqa: E402 # beside its data, not in the package

PAIR = ["measured:openmpi-5.0.7+mbmatch", "measured:openmpi-5.0.7"]


@pytest.fixture(scope="module")
def comparison(deep: mb.Trace) -> mb.Comparison:
    return mb.compare([deep], [*PAIR, "linear:software"])


def test_the_rows_are_in_the_table_of_measured_rows_in_the_order_named(comparison: mb.Comparison) -> None:
    block = next(summary.blocks(comparison.results, comparison.measured))
    assert [row[0] for row in block.rows] == ["ideal:zero", "linear:software"]
    assert [row[0] for row in block.measured] == PAIR
    assert block.measured_title == "measured before, as the remarks say, not ranked"
    width = len(summary.MEASURED)
    assert all(len(row) == width and row[2:6] == ("-", "-", "-", "-") for row in block.measured)
    planned = plots.planned(comparison.results, comparison.depths, comparison.timeline)
    figure = next(plot.draw() for plot in planned if plot.name == "deep.slowdown")
    assert figure.axes[1].get_title("left") == "measured, not ranked"


def test_they_are_not_counted_as_measured_on_this_host(comparison: mb.Comparison) -> None:
    rows = comparison.results.filter(timing="measured")
    assert rows.select("host", "repetitions", "operation_ns").null_count().row(0) == (2, 2, 2)
    assert comparison.measured.height == 0
    assert comparison.answer.trust.measured == 0


def test_a_remark_names_library_transport_processor_ranks_and_date(comparison: mb.Comparison) -> None:
    remarks = {remark.engine: remark.text for remark in comparison.remarks if "before" in remark.text}
    assert set(remarks) == set(PAIR)
    for engine, text in remarks.items():
        assert engine.partition(":")[2] in text
        for word in ("btl", "sm", "two ranks on a processor each, not oversubscribed", "20"):
            assert word in text


def test_the_row_on_this_host_and_the_stored_one_share_a_table(halo: mb.Trace) -> None:
    comparison = mb.compare([halo], [PAIR[1], "host_native:list"])
    block = next(summary.blocks(comparison.results, comparison.measured))
    assert [row[0] for row in block.measured] == [PAIR[1], "host_native:list"]
    assert block.measured_title.startswith("measured on this host (")
    assert block.measured_title.endswith("); measured before, as the remarks say, not ranked")
    assert comparison.answer.trust.measured == 1


def test_a_deep_queue_costs_less_on_mbmatch(comparison: mb.Comparison) -> None:
    deep = comparison.depths.filter(
        pl.col("preset").str.starts_with("openmpi") & (pl.col("depth_from") >= 64)
    )
    mean = dict(deep.group_by("preset").agg(pl.col("match_latency_mean_ns").mean()).iter_rows())
    assert mean["openmpi-5.0.7+mbmatch"] < mean["openmpi-5.0.7"]


def test_the_engine_is_compared_only_when_it_is_named() -> None:
    assert all(engine.name != "measured" for engine in mb.choose_engines([]))


@pytest.mark.parametrize(("name", "walk"), [("openmpi-5.0.7", "peer"), ("openmpi-5.0.7+mbmatch", "all")])
def test_a_preset_is_what_the_script_writes_from_its_result(name: str, walk: str) -> None:
    text = (PRESETS / f"{name}.toml").read_text(encoding="utf-8")
    assert text == preset.preset(RESULTS / f"{name}.json", walk)
    assert all(each["source"] == "measured" for each in tomllib.loads(text).values())
