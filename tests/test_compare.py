# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The Python API: tables that agree with each other, errors, interruption."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import matchbench as mb
from matchbench.compare import columns, report_charts, summary
from matchbench.display import plots, tables
from matchbench.parameters import parse_assignments
from tests.processes import PATIENCE_S, Terminal, children, started, wait_until

ROOT = Path(__file__).parents[1]
ENGINES = ["ideal", "linear:qsnet2", "linear:bgp"]


@pytest.fixture(scope="module")
def comparison(halo: mb.Trace, deep: mb.Trace) -> mb.Comparison:
    return mb.compare([halo, deep], ENGINES)


def test_every_table_has_the_columns_of_the_specification(comparison: mb.Comparison) -> None:
    for name, schema in columns.TABLES.items():
        assert getattr(comparison, name).schema == schema


def test_the_rows_are_sorted_with_bounds_first(comparison: mb.Comparison) -> None:
    rows = comparison.results.select("trace", "engine", "preset").rows()
    one = [("ideal", "zero"), ("linear", "qsnet2"), ("linear", "bgp")]
    assert sorted(rows[:3], key=rows.index) == rows[:3]
    assert {row[0] for row in rows[:3]} == {"halo"}
    assert {row[0] for row in rows[3:]} == {"deep"}
    assert [row[1:] for row in rows[3:]] == one


def test_the_same_input_gives_the_same_rows(
    halo: mb.Trace, deep: mb.Trace, comparison: mb.Comparison
) -> None:
    again = mb.compare([halo, deep], ENGINES, jobs=1)
    for name in columns.TABLES:
        assert getattr(again, name).equals(getattr(comparison, name)), name


def test_ranks_add_up_to_the_row(comparison: mb.Comparison) -> None:
    sums = ["sent", "received", "matches", "searches", "visits", "operations", "engine_busy_ns", "in_mpi_ns"]
    key = ["trace", "engine", "preset"]
    added = comparison.ranks.group_by(key).agg(pl.col(sums).sum(), pl.col("time_ns").max())
    rows = comparison.results.join(added, on=key, suffix="_ranks")
    assert rows.height == comparison.results.height
    for name in [*sums, "time_ns"]:
        difference = (rows[name] - rows[f"{name}_ranks"]).abs().max()
        assert isinstance(difference, int | float)
        assert difference < 1e-3, name  # a picosecond: floating-point sums of exact ones


@pytest.mark.parametrize("table", ["depths", "visits"])
def test_depths_and_visits_add_up_to_the_matches(comparison: mb.Comparison, table: str) -> None:
    key = ["trace", "engine", "preset"]
    added = getattr(comparison, table).group_by(key).agg(pl.col("matches").sum().alias("added"))
    rows = comparison.results.join(added, on=key)
    assert rows["added"].to_list() == rows["matches"].to_list()
    assert rows["matches"].to_list() == rows["received"].to_list()


def test_outcomes_are_the_same_on_every_engine(comparison: mb.Comparison) -> None:
    for trace in ("halo", "deep"):
        rows = comparison.results.filter(trace=trace)
        for name in ("sent", "received", "matches", "never_received", "never_matched", "sent_bytes"):
            assert rows[name].n_unique() == 1, name


def test_a_row_identifies_its_replay(halo: mb.Trace, comparison: mb.Comparison) -> None:
    row = comparison.results.row(0, named=True)
    assert (row["trace_hash"], row["version"], row["revision"]) == (halo.hash, mb.__version__, mb.revision())
    behind = comparison.parameters.filter(parameter_hash=row["parameter_hash"])
    assumed = behind.filter(source="assumed").height / behind.height
    assert row["assumed_share"] == assumed
    assert comparison.results["parameter_hash"].n_unique() == len(ENGINES)


def test_a_slowdown_is_measured_against_ideal_zero(comparison: mb.Comparison) -> None:
    for trace in ("halo", "deep"):
        rows = comparison.results.filter(trace=trace)
        base = rows.filter(engine="ideal", preset="zero")["time_ns"].item()
        assert rows["slowdown"].to_list() == [time_ns / base for time_ns in rows["time_ns"]]


def test_the_reference_of_slowdowns_is_always_replayed(deep: mb.Trace) -> None:
    rows = mb.compare(deep, ["linear:qsnet2"]).results
    assert rows.select("engine", "preset").rows() == [("ideal", "zero"), ("linear", "qsnet2")]


def test_a_changed_parameter_marks_its_preset_and_its_hash(deep: mb.Trace) -> None:
    chosen = mb.choose_engines(["linear:qsnet2"], {"entry": 50})
    changed = mb.compare(deep, [*chosen, "linear:qsnet2"]).results.filter(engine="linear")
    assert changed["preset"].to_list() == ["qsnet2+", "qsnet2"]
    assert changed["parameter_hash"].n_unique() == 2
    mean = changed["match_latency_mean_ns"]
    # Half the time per entry, and no other cost: every latency is halved.
    assert mean[0] * 2 == pytest.approx(mean[1], rel=1e-12)


def test_a_value_that_the_user_restates_keeps_its_source() -> None:
    plain, restated = mb.engine("cam_list"), mb.choose_engines(["cam_list"], {"cam": 256, "match": "1"})[0]
    assert restated.parameters() == plain.parameters()
    assert not restated.changed
    changed = {each["name"]: each["source"] for each in mb.engine("cam_list", cam=128).parameters()}
    assert (changed["cam"], changed["match"]) == ("user", "paper")


def test_a_parameter_has_one_value_of_which_that_of_one_engine_counts_most() -> None:
    with pytest.raises(mb.MatchbenchError) as error:
        parse_assignments(["cam=16", "cam = 32"])
    assert str(error.value) == "--set: found `cam` twice, as `16` and as `32`; give it once"
    chosen = mb.choose_engines(["cam_list", "alpu"], {"alpu.clock": 200, "clock": 100})
    clocks = [each["value"] for engine in chosen for each in engine.parameters() if each["name"] == "clock"]
    assert clocks == ["100", "200"]


def test_without_names_one_preset_of_each_engine_is_chosen_but_none_that_is_slow_or_of_one_library() -> None:
    chosen = [f"{engine.name}:{engine.preset}" for engine in mb.choose_engines()]
    assert [label.partition(":")[0] for label in chosen] == [
        card["name"] for card in mb.engines() if card["name"] not in ("measured", "netproc")
    ]
    assert "linear:software" in chosen
    assert "ideal:zero" in chosen


def test_all_is_every_preset_that_keeps_the_order_and_is_not_on_request() -> None:
    on_request = {f"netproc:{preset}" for preset in ("cmp8", "cmp2_4", "cmp2_8", "inorder8")}
    literal = {f"{card['name']}:{preset}" for card in mb.engines() for preset in card["literal"]}
    assert {"cam_list:paper_literal", "moped:literal"} <= literal
    every = [
        (card["name"], preset)
        for card in mb.engines()
        for preset in card["presets"]
        if f"{card['name']}:{preset}" not in on_request | literal
    ]
    assert [(engine.name, engine.preset) for engine in mb.choose_engines(every=True)] == every


def test_a_literal_preset_is_replayed_only_by_name_and_marked() -> None:
    with mb.Trace.open(ROOT / "traces/halo3d-64.tar.xz") as halo:
        found = mb.compare(halo, ["cam_list:p2l4", "cam_list:paper_literal"])
    rows = {row["preset"]: row for row in found.results.filter(engine="cam_list").to_dicts()}
    corrected, literal = rows["p2l4"], rows["paper_literal"]
    assert (corrected["keeps_order"], corrected["finished"]) == (True, True)
    # Receives and their messages pass each other, and wait for ever.
    assert (literal["keeps_order"], literal["finished"]) == (False, False)
    assert literal["never_received"] > 0
    assert literal["never_matched"] > 0
    warnings = [remark for remark in found.remarks if remark.text.startswith("breaks MPI's order")]
    assert [remark.engine for remark in warnings] == ["cam_list:paper_literal"]


def test_two_traces_of_one_name_are_refused(halo: mb.Trace) -> None:
    with pytest.raises(mb.MatchbenchError) as error:
        mb.compare([halo, halo], ["ideal"])
    assert str(error.value) == "traces: two are named `halo`; expected different names; rename or copy one"


def test_a_defective_trace_raises_trace_error(tmp_path: Path) -> None:
    (tmp_path / "meta.json").write_text("[]")
    with pytest.raises(mb.TraceError) as error:
        mb.Trace.open(tmp_path)
    assert str(error.value).startswith(f"{tmp_path}/meta.json: ")


def test_a_comparison_prints_its_size(comparison: mb.Comparison) -> None:
    assert repr(comparison) == "Comparison(2 traces, 3 engine presets, 0 unfinished)"


def test_written_tables_are_the_tables(comparison: mb.Comparison, tmp_path: Path) -> None:
    comparison.write(tmp_path / "r")
    for name, schema in columns.TABLES.items():
        table: pl.DataFrame = getattr(comparison, name)
        assert pl.read_parquet(tmp_path / "r" / f"{name}.parquet").equals(table)
        assert pl.read_csv(tmp_path / "r" / f"{name}.csv", schema=schema).height == table.height
    everything = json.loads((tmp_path / "r" / "results.json").read_text(encoding="utf-8"))
    assert pl.DataFrame(everything["results"], schema=columns.TABLES["results"]).equals(comparison.results)
    assert everything["answer"]["sentences"] == comparison.answer.sentences
    page = (tmp_path / "r" / "report.html").read_text(encoding="utf-8")
    assert page.count('<div class="chart ') == 8
    assert page.count("No plot of") == 1


def test_parallel_drawing_gives_the_same_files(comparison: mb.Comparison, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    comparison.write(tmp_path / "one", plots=True)

    def tell(done: int, total: int) -> None:
        told.append((done, total))

    comparison.write(tmp_path / "two", plots=True, jobs=2, progress=tell)
    files = [each.relative_to(tmp_path / "one") for each in (tmp_path / "one").rglob("*") if each.is_file()]
    assert sum(file.parent.name == "plots" for file in files) == 2 * len(told) == 10
    assert told == [(done, 5) for done in range(1, 6)]
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


def test_a_plot_that_would_show_nothing_is_left_out_and_the_report_says_why(
    comparison: mb.Comparison, tmp_path: Path
) -> None:
    tables = comparison.results, comparison.depths, comparison.timeline
    drawn = [plot.name for plot in plots.planned(*tables) if plot.trace == "halo"]
    assert drawn == ["halo.cost", "halo.queues"]
    selected, left_out = report_charts.select(*tables)
    assert [chart.kind for chart in selected if chart.trace == "halo"] == ["cost", "queues"]
    assert list(left_out) == ["halo"]
    short = comparison.timeline.with_columns(posted_max=1, unexpected_max=0)
    quiet = dataclasses.replace(comparison, timeline=short)
    quiet.write(tmp_path / "r", plots=True)
    page = (tmp_path / "r" / "report.html").read_text(encoding="utf-8")
    reason = "every match was with the oldest entry of its queue"
    assert page.count(f"No plot of match latency against search depth: {reason}.") == 1
    assert page.count("No plot of queue lengths over time: no queue held more than one entry.") == 2
    assert sorted(path.name for path in (tmp_path / "r" / "plots").glob("*.svg")) == [
        "deep.cost.svg",
        "deep.latency.svg",
        "halo.cost.svg",
    ]


def test_bounds_are_drawn_differently_from_simulated_times(comparison: mb.Comparison) -> None:
    results, depths, timeline = comparison.results, comparison.depths, comparison.timeline
    drawn = {plot.name: plot.draw() for plot in plots.planned(results, depths, timeline)}
    lines = {line.get_label(): line.get_linestyle() for line in drawn["deep.latency"].axes[0].get_lines()}
    assert lines == {"ideal:zero": ":", "linear:qsnet2": "-", "linear:bgp": "-"}
    memory = pl.when(preset="qsnet2").then(pl.lit("bound")).otherwise("timing").alias("timing")
    bound = plots.planned(results.with_columns(memory), depths, timeline)
    bars = next(plot.draw() for plot in bound if plot.name == "deep.cost").axes[0].patches
    assert [bar.get_hatch() for bar in bars] == ["///", None]
    assert drawn["deep.latency"].axes[0].get_ylabel() == "match latency, mean [ns]"


def test_many_presets_are_drawn_in_a_panel_for_each_engine(comparison: mb.Comparison, tmp_path: Path) -> None:
    crowd = [("linear", f"p{at}") for at in range(7)] + [("ideal", f"p{at}") for at in range(4)]

    def repeated(table: pl.DataFrame) -> pl.DataFrame:
        one = table.filter(engine="linear", preset="qsnet2")
        names = [(pl.lit(engine).alias("engine"), pl.lit(preset).alias("preset")) for engine, preset in crowd]
        return pl.concat([one.with_columns(*both) for both in names])

    many = dataclasses.replace(
        comparison,
        **{name: repeated(getattr(comparison, name)) for name in ("results", "depths", "timeline")},
        remarks=tuple(mb.Remark(trace="deep", engine=f"{e}:{p}", text="slow") for e, p in crowd),
    )
    drawn = {plot.name: plot.draw() for plot in plots.planned(many.results, many.depths, many.timeline)}
    panels = {ax.get_title("left"): ax.get_legend_handles_labels()[1] for ax in drawn["deep.latency"].axes}
    assert panels == {"ideal": [f"p{at}" for at in range(4)], "linear": [f"p{at}" for at in range(7)]}
    assert [ax.get_title("left") for ax in drawn["deep.queues"].axes] == ["linear:p0", "ideal:p0"]
    assert len(set(plots.colours([f"{engine}:{preset}" for engine, preset in crowd]).values())) == len(crowd)
    many.write(tmp_path / "r")
    page = (tmp_path / "r" / "report.html").read_text(encoding="utf-8")
    assert page.count("slow</p>") == page.count("every engine: slow</p>") == 1


def test_a_remark_on_many_engines_is_one_line() -> None:
    remarks = [mb.Remark(trace="t", engine=f"e:{at}", text="slow") for at in range(3)]
    remarks += [mb.Remark(trace="t", engine="e:0", text=f"odd {at}") for at in range(5)]
    assert list(summary.remark_lines(remarks, most=2)) == [
        "t on e:0 and 2 more: slow",
        "t on e:0: odd 0",
        "t: 4 more remarks in report.html",
    ]


@given(ns=st.floats(0, 1e15))
def test_a_printed_time_is_off_by_less_than_a_thousandth(ns: float) -> None:
    text, unit = tables.time(ns).split(" ")
    printed = float(text) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit]
    assert printed == pytest.approx(ns, rel=1e-3)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(part=st.floats(0, 1))
def test_an_exception_in_progress_stops_the_work_and_leaves_no_files(
    tmp_path_factory: pytest.TempPathFactory, part: float
) -> None:
    class Stop(Exception):  # noqa: N818 - no error, a signal
        pass

    def progress(done: int, total: int) -> None:
        if done >= part * total:
            raise Stop

    directory = tmp_path_factory.mktemp("stopped")
    with pytest.raises(Stop):
        mb.generate("halo3d", directory / "n" / "t", ranks=8, settings={"iterations": 2}, progress=progress)
    assert list(directory.iterdir()) == []


def test_progress_ends_with_the_total(deep: mb.Trace) -> None:
    told: list[tuple[int, int]] = []
    mb.compare(deep, ENGINES, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (3000, 3000)


@pytest.mark.parametrize(("number", "line"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")])
def test_a_signal_ends_a_comparison_with_one_line_and_no_output(
    tmp_path: Path, number: signal.Signals, line: str
) -> None:
    mb.generate("halo3d", tmp_path / "long", ranks=64, settings={"iterations": 3000})
    # On every engine, so that a fast machine is not done before the signal comes.
    words = [sys.executable, "-m", "matchbench", "compare", "long", "-o", "r"]
    with (
        Terminal() as terminal,
        started(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=terminal.end) as process,
    ):
        terminal.passed_on()
        terminal.wait_for("[1-9]%")  # the replays are under way
        process.send_signal(number)
        # After the codes that remove the bar.
        assert terminal.rest().rpartition("\x1b[2K")[2] == f"matchbench: {line}\r\n"
        assert "Traceback" not in terminal.text
        assert process.wait() == 128 + number
        assert process.stdout is not None
        assert process.stdout.read() == b""
    assert [entry.name for entry in tmp_path.iterdir()] == ["long"]


@pytest.mark.parametrize("module", ["click", "polars", "rich.console", "matplotlib.figure"])
def test_an_interrupt_of_an_import_is_one_line(deep: mb.Trace, tmp_path: Path, module: str) -> None:
    code = """
import os, signal, sys

class Interrupting:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == module:
            os.kill(os.getpid(), signal.SIGINT)

module = sys.argv.pop(1)
sys.meta_path.insert(0, Interrupting)
from matchbench.__main__ import main
sys.exit(main())
"""
    words = [module, "compare", str(deep.path), "-e", "ideal", "--plots", "-o", "r"]
    done = subprocess.run(
        [sys.executable, "-c", code, *words], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (128 + signal.SIGINT, "matchbench: interrupted\n")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_of_the_plots_is_one_line(deep: mb.Trace, halo: mb.Trace, tmp_path: Path) -> None:
    """As from a terminal: it reaches the processes that draw, too, while they import matplotlib."""
    # With fewer plots no other process would draw.
    third = mb.generate("halo3d", tmp_path / "third", ranks=8, settings={"iterations": 5}).path
    words = [sys.executable, "-m", "matchbench", "compare", *map(str, (deep.path, halo.path, third))]
    with started(
        [*words, "-e", "linear", "--plots", "-o", "r"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        wait_until(lambda: list(tmp_path.glob(".r.partial-*/plots")) and children(process), process)
        os.killpg(process.pid, signal.SIGINT)
        assert process.communicate(timeout=PATIENCE_S)[1] == "matchbench: interrupted\n"
        assert process.returncode == 128 + signal.SIGINT
    assert [entry.name for entry in tmp_path.iterdir()] == ["third"]


def test_an_engine_takes_parameters_as_keywords() -> None:
    engine = mb.engine("linear", preset="qsnet2", entry="0.025 us")
    assert repr(engine) == 'Engine("linear:qsnet2", entry="25 ns")'
    assert engine == mb.engine("linear:qsnet2", entry=25)
    assert engine != mb.engine("linear:qsnet2")
    assert repr(mb.engine("lhs", hwp=False, join=0.5)) == 'Engine("lhs:dimmnet2", join="0.5 ns", hwp="off")'
    assert repr(mb.Network("papers200", latency=500)) == 'Network("papers200", latency="500 ns")'


@pytest.mark.parametrize(
    ("preset", "parameters", "message"),
    [
        (
            "qsnet2",
            {"entyr": 3},
            "engine `linear`: unknown parameter `entyr`; did you mean `entry`? "
            "expected one of: entry, operation, placement",
        ),
        (
            "qsnet2",
            {"entry": "25 MHz"},
            "engine `linear`: parameter `entry`: found `25 MHz`, "
            "expected a number without a unit or with one of: ps, ns, us, ms, s",
        ),
        (
            "qsnet2",
            {"entry": -1},
            "engine `linear`: parameter `entry`: found `-1`, "
            "expected 0 to 1000000 ns with at most three decimals",
        ),
        (
            "qsnet3",
            {},
            "engine `linear`: unknown preset `qsnet3`; did you mean `qsnet2`? "
            "expected one of: qsnet2, bgp, dimmnet2, dimmnet2_lhs, software, software_l2",
        ),
    ],
)
def test_a_wrong_parameter_is_refused(preset: str, parameters: dict[str, str | int], message: str) -> None:
    with pytest.raises(mb.MatchbenchError) as refused:
        mb.engine("linear", preset=preset, **parameters)
    assert str(refused.value) == message
