# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench reproduce`: what it prints, what it writes, and how it ends."""

import dataclasses
import importlib
import json
import os
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.patches import Rectangle
from polars.testing import assert_frame_equal

from matchbench.cli import main
from matchbench.display.written import LIST, list_of
from matchbench.reproduce import charts
from matchbench.reproduce.bibliography import Publication, publication
from matchbench.reproduce.evidence import EVIDENCE, VERDICTS
from matchbench.reproduce.report import show
from matchbench.reproduce.run import Reproduction, papers, reproduce
from matchbench.reproduce.tables import TABLES
from tests import shared
from tests.conftest import Command

ROOT = Path(__file__).resolve().parent.parent
MODULE = importlib.import_module("matchbench.reproduce.run")  # its name in the package is the function
CHECK_FAILED = 1
BAD_INPUT = 2


# Its runs are long: `make nightly PARTS=reproduce` judges them. The results of short runs are recorded, and
# compared in `workbench/reproduce/tests`.
LONG = pytest.mark.skipif(
    "MATCHBENCH_LONG" not in os.environ, reason="long; part `reproduce` of make nightly"
)


# Written twice: the paper that takes least, and in `make nightly` the one that takes most too.
TWICE = ("tanabe2013", "hemmert2007") if shared.FULL else ("tanabe2013",)
# The figures of a paper.
FIGURES = {
    "tanabe2013": ["tanabe2013-figure4", "tanabe2013-figure5", "tanabe2013-figure6"],
    "xiong2018": ["xiong2018-figure4", "xiong2018-figure5", "all-engines"],
    "gu2011": [f"gu2011-figure10-{panel}" for panel in ("time", "l1", "private", "global")],
}


@cache
def reproduced(key: str) -> Reproduction:
    """Reproduce a paper once for all tests, with what only figures show if there are some."""
    return reproduce(key, jobs=2 if key in FIGURES else None)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Write a paper with its figures once for all tests, which takes seconds, and return the folder."""
    folder = tmp_path_factory.mktemp("written")

    def write(key: str) -> Path:
        if not (folder / key).exists():
            reproduced(key).write(folder / key, figures=True)
        return folder / key

    return write


@pytest.fixture
def measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give commands that run in this process what the tests share."""
    monkeypatch.setattr(MODULE, "reproduce", lambda key, **_: reproduced(key))


@pytest.fixture(scope="module")
def hemmert2007() -> Reproduction:
    return reproduced("hemmert2007")


def test_every_claim_of_the_ledger_has_a_verdict(hemmert2007: Reproduction) -> None:
    claims = shared.claims()
    assert sorted(hemmert2007.claims["id"]) == sorted(
        name for name in claims if name.startswith("hemmert2007.")
    )
    assert set(hemmert2007.claims["verdict"]) == set(VERDICTS)


@pytest.fixture(
    scope="module",
    params=["hemmert2007", "tanabe2013", "xiong2018", "gu2011", pytest.param("crowley2000", marks=LONG)],
)
def paper(request: pytest.FixtureRequest) -> Reproduction:
    return reproduced(request.param)


def test_every_judged_claim_has_evidence_and_a_reason(paper: Reproduction) -> None:
    judged = paper.claims.filter(pl.col("verdict") != "not testable")
    assert set(judged["evidence"]) <= set(EVIDENCE)
    assert judged["evidence_reason"].str.ends_with(".").all()
    untested = paper.claims.filter(verdict="not testable")
    assert untested["evidence"].is_null().all()
    assert untested["evidence_reason"].is_null().all()


def test_kinds_of_evidence_are_counted_apart_as_the_documentation_says(paper: Reproduction) -> None:
    counts = paper.counts
    assert counts["evidence"].to_list() == list(EVIDENCE)
    held = paper.claims.filter(verdict="holds")
    for row in counts.iter_rows(named=True):
        of_kind = held.filter(evidence=row["evidence"])
        assert row["holds"] == of_kind.height == paper.count("holds", row["evidence"])
        assert row["holds"] == row["holds_stated"] + row["holds_derived"]
    assert paper.count("holds") == 0
    page = (ROOT / "docs" / "reproduce.md").read_text(encoding="utf-8")
    cells = " | ".join(map(str, [f"`{paper.claims['paper'][0]}`", *counts["holds"]]))
    assert f"\n| {cells} |\n" in page


def test_what_is_predicted_comes_first_and_no_sum_is_printed(
    paper: Reproduction, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(MODULE, "reproduce", lambda _paper, **_: paper)
    assert main(["reproduce", paper.claims["paper"][0], "-o", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    kinds = [kind or "" for kind in paper.claims["evidence"]]
    assert kinds == sorted(kinds, key=lambda kind: [*EVIDENCE, ""].index(kind))
    first = paper.claims["id"][0]
    assert printed.splitlines()[1].startswith(f"{first} ")
    assert pl.read_csv(tmp_path / "out" / "claims.csv")["id"][0] == first
    assert json.loads((tmp_path / "out" / "claims.json").read_text())[0]["id"] == first
    assert json.loads((tmp_path / "out" / "counts.json").read_text()) == paper.counts.to_dicts()
    assert pl.read_csv(tmp_path / "out" / "counts.csv")["evidence"].to_list() == list(EVIDENCE)
    summary = printed[printed.index("verdicts by kind of evidence") :].splitlines()
    assert [line.split()[0] for line in summary[2:5]] == list(EVIDENCE)
    for row in paper.claims.filter(verdict="holds").iter_rows(named=True):
        origin = row["origin"] if row["origin"] == "stated" else f"{row['origin']} by us"
        assert re.search(rf"^{row['id']} .* holds +{row['evidence']} +{origin}$", printed, re.MULTILINE)
    total = paper.claims.filter(verdict="holds").height
    assert not any(re.search(rf"\b{total}\b", line) for line in summary[2:5])
    assert not re.search(rf"\b{total} (claims )?holds?\b", printed)


def test_nothing_differs_without_an_explanation(hemmert2007: Reproduction) -> None:
    assert hemmert2007.explained
    assert hemmert2007.claims.filter(pl.col("verdict") == "differs")["reason"].str.len_chars().min() != 0


def test_the_verdict_of_a_claim_is_that_of_the_interpretation_that_counts(hemmert2007: Reproduction) -> None:
    counting = hemmert2007.interpretations.filter("counts").select("id", "measured", "verdict")
    tested = hemmert2007.claims.filter(pl.col("verdict") != "not testable").select(
        "id", "measured", "verdict"
    )
    assert_frame_equal(counting, tested)
    assert not hemmert2007.interpretations.filter("counts")["calibrated"].any()


def test_filters_keep_what_they_name(hemmert2007: Reproduction) -> None:
    kept = hemmert2007.only(
        systems=("lm", "hw"), ids=("*.total_*", "hemmert2007.lm.*"), verdicts=("holds",)
    ).claims
    assert set(kept["systems"]) == {"lm", "hw"}
    assert set(kept["verdict"]) == {"holds"}
    assert "hemmert2007.hw.total_n10" in kept["id"].to_list()
    assert "hemmert2007.hw.time_formula" not in kept["id"].to_list()


def test_the_bound_of_the_figures_is_below_the_unit_at_every_point(hemmert2007: Reproduction) -> None:
    line = hemmert2007.curves.filter("counts")
    both = line.filter(design="bound").join(line.filter(design="unit"), on=["length", "percent"])
    assert (both["time_ns"] < both["time_ns_right"]).all()
    assert both.group_by("length").len().sort("length").rows() == [(10, 11), (30, 11), (100, 11), (300, 11)]


def test_tables_and_figures_are_written(hemmert2007: Reproduction, written: Callable[[str], Path]) -> None:
    out = written("hemmert2007")
    for name, schema in TABLES.items():
        table: pl.DataFrame = getattr(hemmert2007, name)
        assert table.schema == schema
        assert_frame_equal(pl.read_parquet(out / f"{name}.parquet"), table)
        assert pl.read_csv(out / f"{name}.csv").height == table.height
    rows = json.loads((out / "claims.json").read_text(encoding="utf-8"))
    assert [row["id"] for row in rows] == hemmert2007.claims["id"].to_list()
    assert sum(len(row["interpretations"]) for row in rows) == hemmert2007.interpretations.height
    for figure in ("hemmert2007-figure6", "hemmert2007-figure7"):
        assert (out / "plots" / f"{figure}.png").read_bytes().startswith(b"\x89PNG")
        assert "match unit (64 headers in a stream)" in (out / "plots" / f"{figure}.svg").read_text()
    page = (out / "report.html").read_text(encoding="utf-8")
    for row in hemmert2007.counts.iter_rows(named=True):
        assert f'<th scope="row">{row["evidence"]}</th><td class="number">{row["holds"]}</td>' in page
    assert hemmert2007.untested() in page
    assert page.index("predicted") < page.index("recovered") < page.index("recomputed")
    assert "<h1>An Architecture to Perform NIC Based MPI Matching</h1>" in page
    assert (
        page.index("<h1>") < page.index("<a href=") < page.index(hemmert2007.answer()) < page.index("<table")
    )
    names = page.replace("<wbr>", "")
    assert all(f">{claim}</th>" in names for claim in hemmert2007.claims["id"])
    # Every table sorts, and a claim is one row, so that it keeps its reasons.
    assert page.count("<table") == page.count('<table class="sortable verdicts">') >= 4
    verdicts = page[page.index("<h2>Claims</h2>") : page.index("<h2>Figures</h2>")]
    assert verdicts.count('<tr data-engine="">') == hemmert2007.claims.height
    # Inputs are folded away, and what differs is not.
    shown, folded = re.sub(r"<ul>.*?</ul>", "", verdicts, flags=re.DOTALL).split("inputs: claims about", 1)
    assert '<td class="differs">' in shown
    assert '<td class="differs">' not in folded


def test_a_paper_has_its_title_and_a_link() -> None:
    for key in papers():
        found = publication(key)
        assert found.title in (ROOT / "docs/papers.md").read_text(encoding="utf-8")
        assert found.has_doi == found.link.startswith("https://doi.org/10.")
    assert publication("tanabe2013") == Publication(
        title="Network Interface Architecture with Scalable Low-Latency Message Receiving Mechanism",
        authors="Noboru Tanabe, Atsushi Ohta",
        place="IEICE Transactions on Information and Systems, 2013",
        link="https://doi.org/10.1587/transinf.E96.D.2536",
        has_doi=True,
    )


def test_the_answer_counts_each_kind_of_evidence_apart(hemmert2007: Reproduction) -> None:
    counts = {row["evidence"]: row for row in hemmert2007.counts.iter_rows(named=True)}
    for part in hemmert2007.answer().split("; ")[:-1]:
        row = counts.pop(next(kind for kind in EVIDENCE if kind in part))
        assert [int(number) for number in re.findall(r", (\d+) ", part)] == [
            row[verdict] for verdict in ("holds", "near", "differs") if row[verdict]
        ]
    assert all(row["holds"] + row["near"] + row["differs"] == 0 for row in counts.values())
    one = hemmert2007.only(ids=("hemmert2007.mu.total_formula",)).answer()
    assert re.fullmatch(r"Of .*, 1 (holds|is near|differs); 0 of 1 claims are not testable\.", one)


@pytest.mark.parametrize("key", ["tanabe2013", "xiong2018"])
def test_figures_of_a_study_of_benchmarks_are_drawn(key: str, written: Callable[[str], Path]) -> None:
    found = reproduced(key)
    assert sorted(path.stem for path in (written(key) / "plots").glob("*.png")) == sorted(FIGURES[key])
    assert found.curves["time_ns"].min() != 0
    assert set(found.data_points["design"]) <= set(found.curves.filter("counts")["design"])


@pytest.mark.usefixtures("measured_once")
def test_contradictions_of_several_papers_are_printed_and_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["reproduce", "tanabe2013", "xiong2018", "-o", str(tmp_path / "papers")]) == 0
    printed = capsys.readouterr().out
    numbers = []
    for paper in ("tanabe2013", "xiong2018"):
        table = pl.read_csv(tmp_path / "papers" / paper / "contradictions.csv")
        for row in table.iter_rows(named=True):
            numbers.append(row["number"])
            for cell in ("first", "second", "first_measured", "second_measured", "counts"):
                assert row[cell] in printed, f"{row['number']}: {cell}"
    assert numbers == list(range(9, 21))


def test_an_input_that_is_given_back_has_no_verdict_and_arithmetic_is_recomputed() -> None:
    ids = ("xiong2018.ll.cycles_per_element", "xiong2018.overall.logic")
    found = reproduced("xiong2018").only(ids=ids)
    assert found.claims.select("id", "verdict", "evidence", "measured").rows() == [
        ("xiong2018.overall.logic", "holds", "recomputed", "0.1130"),
        ("xiong2018.ll.cycles_per_element", "not testable", None, "3"),
    ]
    assert found.interpretations["counts"].to_list() == [True, False]
    assert found.untested() == "not testable: 1 of 2 claims; measured inputs: 1"


def test_values_of_tables_2_and_3_of_hemmert2007_have_no_verdict(hemmert2007: Reproduction) -> None:
    inputs = hemmert2007.only(ids=("*.dl1_*", "*.lat_*", "*.membw_ratio", "hemmert2007.hw.*_cycles")).claims
    assert set(inputs["verdict"]) == {"not testable"}
    assert inputs["measured"].to_list() == [value if value != "2.0" else "2" for value in inputs["published"]]


@pytest.mark.parametrize(
    ("claim", "evidence", "origin"),
    [
        ("hemmert2007.hw.total_n10", "recovered", "derived"),
        ("hemmert2007.mu.item_time_ns", "recovered", "derived"),
        ("hemmert2007.ucode.total", "recovered", "stated"),
        ("hemmert2007.mu.total_29", "recovered", "derived"),
        ("tanabe2013.lhs.below_mem_latency", "recovered", "stated"),
        ("tanabe2013.dimmnet3_lhs.ns_per_msg", "recovered", "inferred"),
        ("xiong2018.lat.p2l4_cycles_500", "recovered", "derived"),
        ("xiong2018.unload.p2l64_cycles_30000", "recovered", "derived"),
    ],
)
def test_bound_clock_list_cycles_and_the_fitted_loop_are_not_predicted(
    claim: str, evidence: str, origin: str
) -> None:
    (row,) = reproduced(claim.partition(".")[0]).only(ids=(claim,)).claims.to_dicts()
    assert (row["verdict"], row["evidence"], row["origin"]) == ("holds", evidence, origin)


@pytest.mark.parametrize("key", TWICE)
def test_the_same_run_writes_the_same_files(key: str, written: Callable[[str], Path], tmp_path: Path) -> None:
    one, two = written(key), tmp_path / "two"
    reproduce(key, jobs=2 if key in FIGURES else None).write(two, figures=True)
    files = [path for path in one.rglob("*") if path.is_file()]
    assert files
    for path in files:
        assert path.read_bytes() == (two / path.relative_to(one)).read_bytes(), path


def test_every_column_is_in_the_documentation() -> None:
    page = (ROOT / "docs" / "reproduce.md").read_text(encoding="utf-8")
    for name, schema in TABLES.items():
        (row,) = re.findall(rf"^\| `{name}` \|.*$", page, re.MULTILINE)
        assert all(f"`{column}`" in row for column in schema), name


def test_a_claim_that_differs_without_an_explanation_fails_the_command(
    hemmert2007: Reproduction, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = hemmert2007.claims.with_columns(unexplained=pl.col("id") == "hemmert2007.ucode.total")
    found = dataclasses.replace(hemmert2007, claims=broken)
    monkeypatch.setattr(MODULE, "reproduce", lambda _paper, **_: found)
    assert main(["reproduce", "hemmert2007"]) == CHECK_FAILED
    assert "no explanation: hemmert2007.ucode.total\n" in capsys.readouterr().out
    assert main(["reproduce", "hemmert2007", "--system", "hw"]) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["s9"],
            "unknown paper `s9`; expected one of: hemmert2007, tanabe2013, xiong2018, gu2011, crowley2000",
        ),
        (
            ["hemmert2007", "--id", "tanabe2013.*"],
            "id `tanabe2013.*`: matches no claim; `spec/claims.toml` lists the ids",
        ),
        (
            ["hemmert2007", "--verdict", "good"],
            "--verdict: unknown verdict `good`; "
            "expected one of: holds, near, differs, not testable (see `matchbench reproduce --help`)",
        ),
        (
            ["hemmert2007", "--system", "mu,nic"],
            "unknown system `nic`; expected one of: "
            "all, bench, hw, lm, match, mt, mt*, mt1, mt16, mt2, mu, ppc440",
        ),
    ],
)
def test_bad_input_is_refused(matchbench: Command, words: list[str], message: str) -> None:
    done = matchbench("reproduce", *words)
    assert (done.returncode, done.stdout, done.stderr) == (BAD_INPUT, "", f"matchbench: {message}\n")


def test_a_choice_without_claims_is_refused_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(MODULE, "reproduce", lambda _paper, **_: pytest.fail("measured"))
    assert main(["reproduce", "hemmert2007", "tanabe2013", "--system", "lhs"]) == BAD_INPUT
    assert capsys.readouterr().err.startswith("matchbench: unknown system `lhs`; expected one of: all, ")


@pytest.mark.usefixtures("measured_once")
def test_earlier_results_are_kept(matchbench: Command, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "claims.json").write_text("[]")
    (tmp_path / "out" / LIST).write_text(list_of(tmp_path / "out"))
    done = matchbench("reproduce", "hemmert2007", "--system", "hw", "-o", "out")
    assert done.returncode == BAD_INPUT
    assert done.stderr == "matchbench: out: found earlier output; choose another directory or give --force\n"
    words = ["reproduce", "hemmert2007", "--system", "hw", "-o", str(tmp_path / "out"), "--force"]
    assert main(words) == 0
    # Of several papers all places are looked at before the first is measured.
    (tmp_path / "out").rename(tmp_path / "gu2011")
    done = matchbench("reproduce", "hemmert2007", "gu2011", "-o", ".")
    assert (done.returncode, done.stdout) == (BAD_INPUT, "")
    assert (
        done.stderr == "matchbench: gu2011: found earlier output; choose another directory or give --force\n"
    )
    assert [entry.name for entry in tmp_path.iterdir()] == ["gu2011"]


def test_every_result_of_gu2011_has_a_verdict_or_names_the_run_that_is_missing(tmp_path: Path) -> None:
    found = reproduced("gu2011")
    assert found.explained
    results = found.claims.filter(kind="result")
    assert results.height == 28
    missing = results.filter(verdict="not testable")
    assert missing["reason"].str.contains(r"^not run: .*studies/gu2011_figures/measure\.py").all()
    assert sorted(found.contradictions["number"]) == [21, 22, 23]
    found.write(tmp_path / "out", figures=True)
    for panel in FIGURES["gu2011"]:
        assert (tmp_path / "out" / "plots" / f"{panel}.png").stat().st_size > 10_000
        series = found.charts.filter(chart=panel)["series"].unique(maintain_order=True)
        assert series.to_list()[:3] == ["BASEMOPED", "OPTCOPY", "OPTCACHE"]
        # Other chips than the judged one were run for these benchmarks: their bars have a range.
        ranges = found.charts.filter(chart=panel).filter(pl.col("high") > pl.col("low"))
        assert set(ranges["position"]) == {"PP", "XC", "BC", "RD", "MG", "CG", "SP"}
        assert ranges.filter((pl.col("low") > pl.col("y")) | (pl.col("high") < pl.col("y"))).is_empty()


@LONG
def test_nothing_of_crowley2000_differs_without_an_explanation() -> None:
    found = reproduced("crowley2000")
    assert found.explained
    assert found.claims.filter(kind="result").height == 81
    judged = found.claims.filter(pl.col("verdict") != "not testable")
    assert set(judged["kind"]) == {"result"}
    assert sorted(found.contradictions["number"]) == list(range(24, 33))


def test_assumptions_that_were_varied_one_by_one_are_shown(
    hemmert2007: Reproduction, capsys: pytest.CaptureFixture[str]
) -> None:
    values = pl.DataFrame(
        [("fetch policy", "icount", True, False, 20, 20.0, 20)],
        schema=TABLES["assumption_values"],
        orient="row",
    )
    agreements = pl.DataFrame(schema=TABLES["agreements"])
    show(dataclasses.replace(hemmert2007, assumption_values=values, agreements=agreements), whole=True)
    assert "fetch policy  icount" in capsys.readouterr().out


def test_charts_draw_every_series_its_range_and_what_the_paper_says() -> None:
    rows: dict[str, list[tuple[Any, ...]]] = {
        "lines": [("a", None, 1.0, None, 2.0, 1.5, 3.0), ("a", None, 2.0, None, 3.0, 2.0, 4.0)],
        "bars": [("b", None, 0.0, "one", 1.0, 0.5, 1.5), ("c", None, 0.0, "one", 2.0, None, None)],
    }
    records = [
        dict(
            zip(
                TABLES["charts"],
                (form, f"title of {form}", form, "x", "y", series, True, level, x, position, y, low, high),
                strict=True,
            )
        )
        for form, points in rows.items()
        for series, level, x, position, y, low, high in points
    ]
    table = pl.DataFrame(records, schema=TABLES["charts"])
    anchors = pl.DataFrame(
        [
            ("lines", "i", "stated", "a", 1.0, 2.5, False, "at"),
            ("lines", "k", "stated", "a", 2.0, 2.5, True, "at"),
            ("bars", "j", "stated", "c", 0.0, 1.0, True, "above"),
        ],
        schema=TABLES["anchors"],
        orient="row",
    )
    drawn = {name: figure for name, _, figure in charts.draw(table, anchors)}
    assert sorted(drawn) == ["bars", "lines"]
    (ax,) = drawn["lines"].axes
    assert np.array_equal(ax.lines[0].get_ydata(), [2.0, 3.0])
    assert len(ax.collections) >= 1  # the shaded range
    legend = [text.get_text() for text in drawn["lines"].legends[0].get_texts()]
    ratio = "the paper's ratio times a rate measured here"
    assert legend == ["a", "range over assumptions that were varied", "printed in the paper's text", ratio]
    # What the paper says of a line has the colour of the line, and a ratio has a marker of its own.
    colour = ax.lines[0].get_color()
    assert [
        (line.get_marker(), line.get_color()) for line in ax.lines if line.get_markerfacecolor() == "white"
    ] == [
        ("o", colour),
        ("D", colour),
    ]
    (ax,) = drawn["bars"].axes
    assert [patch.get_height() for patch in ax.patches if isinstance(patch, Rectangle)] == [1.0, 2.0]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["one"]
    assert ax.get_ylabel() == "y"
    legend = [text.get_text() for text in drawn["bars"].legends[0].get_texts()]
    assert legend == ["b", "c", "range over assumptions that were varied", "above this by the paper's text"]
    # An arrow on a bar is not drawn in the colour of the bar.
    assert all(line.get_color() == "0.1" for line in ax.lines if line.get_marker() not in ("_", "None"))
