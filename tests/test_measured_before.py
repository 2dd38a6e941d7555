# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Rows of an engine whose times were measured before: apart, not ranked, and with where they are from."""

import json
import os
import sys
import tomllib
from pathlib import Path

import polars as pl
import pytest

import matchbench as mb
from matchbench.compare import summary
from matchbench.display import plots
from matchbench.display.output import json_rows

ROOT = Path(__file__).resolve().parent.parent
PRESETS = ROOT / "engines/measured/presets"
RESULTS = ROOT / "integrations/openmpi/measured"
sys.path.append(str(ROOT / "integrations/openmpi"))

import measure  # noqa: E402 # beside its data, not in the package
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
    width = len(summary.MEASURED_COLUMNS)
    assert all(len(row) == width and row[2:6] == ("-", "-", "-", "-") for row in block.measured)
    planned = plots.planned(comparison.results, comparison.depths, comparison.timeline)
    figure = next(plot.draw() for plot in planned if plot.name == "deep.cost")
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
    comparison = mb.compare([halo], [PAIR[1], "host_native:packed"])
    block = next(summary.blocks(comparison.results, comparison.measured))
    assert [row[0] for row in block.measured] == [PAIR[1], "host_native:packed"]
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


@pytest.mark.parametrize("result", sorted(RESULTS.iterdir()), ids=lambda result: result.stem)
def test_a_result_that_is_read_and_written_again_is_equal(result: Path) -> None:
    text = result.read_text(encoding="utf-8")
    of_bench = json.loads(text)["format"] == "matchbench-mpi-bench"
    assert text == (json_rows(json.loads(text)) if of_bench else measure.text_of(*measure.read(result)))


@pytest.mark.parametrize(
    ("load", "remark"), [(2.0, ""), (5.43, "taken under load: 5.4 processes on 2 processors")]
)
def test_a_result_names_its_place_and_load_and_has_a_line_for_each_cell(
    load: float, remark: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, load, 0.0))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    (tmp_path / "version").write_text("5.0.7\n", encoding="utf-8")
    cells = [
        measure.Cell(where="self", series="probe", depth=depth, plain=(2.5, 2.25), mbmatch=(1.0, 0.5))
        for depth in (4, 1)
    ]
    measure.write(tmp_path / "depth.json", tmp_path, cells)
    head, read = measure.read(tmp_path / "depth.json")
    assert read == cells[::-1]
    assert (head["mpi"], head["load"], head["remark"]) == ("Open MPI 5.0.7", round(load, 1), remark)
    assert head["matchbench"] == {"version": mb.__version__, "revision": mb.revision()}
    *_, first, _, _, _ = (tmp_path / "depth.json").read_text(encoding="utf-8").splitlines()
    assert first.startswith(
        '  {"where": "self", "series": "probe", "depth": 1, "plain_ns": [2.5, 2.25], "mbmatch'
    )
