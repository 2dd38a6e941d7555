# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The report of a comparison: its charts can be drawn, show what the tables hold, and need no network."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest
import vl_convert

import matchbench as mb
from matchbench.compare import answer_text, cost_chart, report_charts
from matchbench.compare.columns import RESULTS
from matchbench.display import chart_library, tables

LABEL = re.compile(r'aria-label="([^"]*)"')


@pytest.fixture(scope="module")
def comparison(halo: mb.Trace, deep: mb.Trace) -> mb.Comparison:
    return mb.compare([halo, deep], ["ideal", "linear:qsnet2", "linear:bgp", "match_unit:hemmert2007"])


def drawn(chart: report_charts.Selected) -> list[str]:
    """Draw a chart as the browser does, and return the descriptions of its marks."""
    return LABEL.findall(vl_convert.vegalite_to_svg(chart.spec))


def chart(comparison: mb.Comparison, trace: str, kind: str) -> report_charts.Selected:
    selected, _ = report_charts.select(comparison.results, comparison.depths, comparison.timeline)
    return next(each for each in selected if (each.trace, each.kind) == (trace, kind))


def test_a_bar_has_the_cost_of_its_engine_and_its_share_of_the_run_time(comparison: mb.Comparison) -> None:
    marks = drawn(chart(comparison, "deep", "cost"))
    rows = comparison.results.filter(trace="deep")
    without_ns = rows.row(by_predicate=pl.col("preset") == "zero", named=True)["time_ns"]
    costs = cost_chart.costs(rows)
    assert costs["cost_ns"].to_list() == sorted(costs["cost_ns"])
    for row in rows.filter(pl.col("preset") != "zero").iter_rows(named=True):
        label = f"{row['engine']}:{row['preset']}"
        cost_ns = row["time_ns"] - without_ns
        assert any(f"timing: {row['timing']}; engine: {label};" in mark for mark in marks)
        text = f"{tables.time(cost_ns)} ({answer_text.percent(cost_ns / row['time_ns'])})"
        assert text in costs.filter(label=label)["text"]
        assert costs.filter(label=label)["cost_ns"].item() == pytest.approx(cost_ns, abs=1e-3)
    assert not any("ideal:zero;" in mark for mark in marks)


def test_an_axis_of_costs_is_logarithmic_where_they_are_far_apart() -> None:
    def axis(*costs_ns: float) -> cost_chart.Axis:
        return cost_chart.axis(pl.DataFrame({"cost_ns": costs_ns}, schema={"cost_ns": pl.Float64}))

    assert axis(100, 900) == ("ns", 1, 0, 900, None)
    assert axis(100, 5e6) == ("ms", 1e6, 0, 5, 1e-4)
    assert axis(0, 0.001, 5e3) == ("µs", 1e3, 0, 5, 1e-4)
    assert axis(-20, 50) == ("ns", 1, -20, 50, None)
    assert axis(0) == ("ns", 1, 0, 1, None)


def test_a_heading_has_the_meaning_of_its_column(comparison: mb.Comparison, tmp_path: Path) -> None:
    comparison.write(tmp_path / "r", charts=False)
    page = (tmp_path / "r" / "report.html").read_text(encoding="utf-8")
    assert f'title="{RESULTS["posted_max"].meaning}">posted max</th>' in page
    assert 'title="time_ns over that of ideal:zero on the same trace' in page


def test_measured_bars_are_apart_and_on_the_same_axis(comparison: mb.Comparison) -> None:
    measured = pl.col("preset") == "bgp"
    results = comparison.results.with_columns(
        timing=pl.when(measured).then(pl.lit("measured")).otherwise("timing")
    )
    selected, _ = report_charts.select(results, comparison.depths, comparison.timeline)
    ranked, apart = selected[0].spec["vconcat"]
    assert "linear:bgp" not in ranked["data"]["values"]
    assert "linear:bgp" in apart["data"]["values"]
    assert apart["title"]["text"] == "measured, not ranked"
    ends = [part["layer"][0]["encoding"]["x"]["scale"] for part in (ranked, apart)]
    assert ends[0] == ends[1]


@pytest.mark.parametrize(
    ("measure", "title"),
    [("mean", "mean"), ("median", "median"), ("p99", "99 %"), ("p999", "99.9 %"), ("max", "maximum")],
)
def test_a_point_has_the_chosen_latency_of_its_depth(
    comparison: mb.Comparison, measure: str, title: str
) -> None:
    spec = chart(comparison, "deep", "latency").spec
    (choice,) = [each for each in spec["params"] if each["name"] == "measure"]
    assert choice["value"] == "mean"
    assert choice["bind"]["labels"][choice["bind"]["options"].index(measure)] == title
    choice["value"] = measure
    marks = LABEL.findall(vl_convert.vegalite_to_svg(spec))
    found = comparison.depths.filter(trace="deep", engine="linear", preset="qsnet2").filter(
        pl.col("matches") > 0
    )
    assert found.height > 1
    for row in found.iter_rows(named=True):
        middle = (row["depth_from"] + row["depth_to"]) / 2
        expected = [
            f"match latency [ns]: {row[f'match_latency_{measure}_ns']:,.6g};",
            f"search depth: position of the match in its queue [entries]: {middle:g};",
            "engine: linear:qsnet2;",
            f"matches: {row['matches']:,}",
        ]
        assert any(all(each in mark for each in expected) for mark in marks), expected


def test_queues_are_shown_for_the_fastest_preset_of_each_engine(comparison: mb.Comparison) -> None:
    marks = drawn(chart(comparison, "deep", "queues"))
    shown = {match[1] for mark in marks if (match := re.search(r"engine: ([^;]*);", mark))}
    assert shown == {"ideal:zero (bound)", "linear:qsnet2", "match_unit:hemmert2007"}


def test_a_chart_keeps_a_length_wherever_it_changes() -> None:
    lengths = [0, 0, 7, 7, 7, 0, 0, 0]
    timeline = pl.DataFrame(
        {
            "engine": ["e"] * 8,
            "preset": ["p"] * 8,
            "timing": ["simulated"] * 8,
            "from_ns": [float(at) for at in range(8)],
            "posted_max": lengths,
            "unexpected_max": [1] * 8,
        }
    )
    rows = report_charts.Selected(trace="t", kind="queues", title="", table=timeline).spec["data"]["values"]
    posted = [tuple(line.split(",")[2:]) for line in rows.splitlines() if line.startswith("0,0,")]
    assert posted == [("0.0", "0"), ("2.0", "7"), ("5.0", "0"), ("7.0", "0")]


def test_a_wide_range_has_a_logarithmic_axis_with_zero(comparison: mb.Comparison) -> None:
    scale = chart(comparison, "deep", "latency").spec["encoding"]["y"]
    assert scale["scale"]["type"] == "symlog"
    assert scale["axis"]["values"][0] == 0
    latencies = [
        pl.lit(100.0).alias(f"match_latency_{each}_ns") for each in ("mean", "median", "p99", "p999", "max")
    ]
    narrow = comparison.depths.filter(engine="linear", preset="qsnet2").with_columns(*latencies)
    selected, _ = report_charts.select(comparison.results, narrow, comparison.timeline)
    latency = next(each for each in selected if each.kind == "latency")
    assert latency.spec["encoding"]["y"]["scale"] == {"zero": True}


class _Page(HTMLParser):
    """Collects charts, and everything that a browser would load from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.charts: list[dict[str, object]] = []
        self.labels: list[str] = []
        self.loaded: list[str] = []
        self._json = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.loaded += [f"{tag} {name}" for name in ("src", "href", "srcset") if values.get(name)]
        self._json = values.get("type") == "application/json"
        if "chart" in (values.get("class") or "").split():
            self.labels.append(values["aria-label"] or "")

    def handle_data(self, data: str) -> None:
        if self._json:
            self.charts.append(json.loads(data))
            self._json = False


def test_the_page_holds_every_chart_and_loads_nothing(comparison: mb.Comparison, tmp_path: Path) -> None:
    comparison.write(tmp_path / "r")
    assert not (tmp_path / "r" / "plots").exists()
    page = _Page()
    text = (tmp_path / "r" / "report.html").read_text(encoding="utf-8")
    page.feed(text)
    assert page.loaded == []
    ranks = "queue lengths over time of the ranks that wait longest, on the reference engine"
    assert page.labels == [
        "cost of matching by engine, all traces",
        *(f"{trace}: {ranks}" for trace in ("halo", "deep")),
        "halo: cost of matching by engine",
        "halo: queue lengths over time",
        "deep: cost of matching by engine",
        "deep: match latency against search depth",
        "deep: queue lengths over time",
    ]
    for each in page.charts:
        assert vl_convert.vegalite_to_svg(each).startswith("<svg")
    # Three scripts that run, and one of data for each chart: nothing inside ends one of them early.
    assert text.count("</script>") == 3 + len(page.charts) == 11


def test_the_script_is_bundled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    script = chart_library.script()
    (kept,) = (tmp_path / "matchbench").iterdir()
    assert kept.read_text(encoding="utf-8") == script
    kept.write_text("kept", encoding="utf-8")
    assert chart_library.script() == "kept"
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert chart_library.script() == script, "without a cache"
