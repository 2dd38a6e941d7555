# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench reproduce`: what it prints, what it writes, and how it ends."""

import dataclasses
import json
import re
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from matchbench.cli import main
from matchbench.cli import reproduce as cli
from matchbench.reproduce import TABLES, VERDICTS, Reproduction, reproduce
from tests.conftest import Command

ROOT = Path(__file__).resolve().parent.parent
CHECK_FAILED = 1
BAD_INPUT = 2


@pytest.fixture(scope="module")
def s0() -> Reproduction:
    return reproduce("s0")


def test_every_claim_of_the_ledger_has_a_verdict(s0: Reproduction) -> None:
    ledger = (ROOT / "spec" / "claims.toml").read_text(encoding="utf-8")
    assert s0.claims["id"].to_list() == re.findall(r'^id = "(s0\..*)"$', ledger, re.MULTILINE)
    assert sum(map(s0.count, VERDICTS)) == s0.claims.height


def test_nothing_differs_without_an_explanation(s0: Reproduction) -> None:
    assert s0.explained
    assert s0.claims.filter(pl.col("verdict") == "differs")["reason"].str.len_chars().min() != 0


def test_the_verdict_of_a_claim_is_that_of_the_reading_that_counts(s0: Reproduction) -> None:
    counting = s0.readings.filter("counts").select("id", "ours", "verdict")
    tested = s0.claims.filter(pl.col("verdict") != "not testable").select("id", "ours", "verdict")
    assert_frame_equal(counting, tested)
    assert not s0.readings.filter("counts")["calibrated"].any()


def test_filters_keep_what_they_name(s0: Reproduction) -> None:
    kept = s0.only(systems=("lm", "hw"), ids=("*.total_*", "s0.lm.*"), verdicts=("holds",)).claims
    assert set(kept["systems"]) == {"lm", "hw"}
    assert set(kept["verdict"]) == {"holds"}
    assert "s0.hw.total_n10" in kept["id"].to_list()
    assert "s0.hw.time_formula" not in kept["id"].to_list()


def test_the_bound_of_the_figures_is_below_the_unit_at_every_point(s0: Reproduction) -> None:
    line = s0.curves.filter("counts")
    both = line.filter(design="bound").join(line.filter(design="unit"), on=["length", "percent"])
    assert (both["time_ns"] < both["time_ns_right"]).all()
    assert both.group_by("length").len().sort("length").rows() == [(10, 11), (30, 11), (100, 11), (300, 11)]


def test_tables_and_figures_are_written(s0: Reproduction, tmp_path: Path) -> None:
    s0.write(tmp_path / "out", figures=True)
    for name, schema in TABLES.items():
        table: pl.DataFrame = getattr(s0, name)
        assert table.schema == schema
        assert_frame_equal(pl.read_parquet(tmp_path / "out" / f"{name}.parquet"), table)
        assert pl.read_csv(tmp_path / "out" / f"{name}.csv").height == table.height
    rows = json.loads((tmp_path / "out" / "claims.json").read_text(encoding="utf-8"))
    assert [row["id"] for row in rows] == s0.claims["id"].to_list()
    assert sum(len(row["readings"]) for row in rows) == s0.readings.height
    for figure in ("s0-figure6", "s0-figure7"):
        assert (tmp_path / "out" / "plots" / f"{figure}.png").read_bytes().startswith(b"\x89PNG")
        assert (
            "match unit (64 headers in a stream)"
            in (tmp_path / "out" / "plots" / f"{figure}.svg").read_text()
        )
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert s0.counts() in page
    assert all(f">{claim}</td>" in page for claim in s0.claims["id"])


@pytest.mark.parametrize(
    ("paper", "figures"),
    [
        ("s1", ["s1-figure4", "s1-figure5", "s1-figure6"]),
        ("s2", ["s2-figure4", "s2-figure5", "all-engines"]),
    ],
)
def test_figures_of_a_study_of_benchmarks_are_drawn(paper: str, figures: list[str], tmp_path: Path) -> None:
    found = reproduce(paper, jobs=2)
    found.write(tmp_path / "out", figures=True)
    assert sorted(path.stem for path in (tmp_path / "out" / "plots").glob("*.png")) == sorted(figures)
    assert found.curves["time_ns"].min() != 0
    assert set(found.anchors["design"]) <= set(found.curves.filter("counts")["design"])


def test_contradictions_of_several_papers_are_printed_and_written(
    matchbench: Command, tmp_path: Path
) -> None:
    ran = matchbench("reproduce", "s1", "s2", "-o", tmp_path / "papers")
    assert ran.returncode == 0
    printed = ran.stdout
    numbers = []
    for paper in ("s1", "s2"):
        table = pl.read_csv(tmp_path / "papers" / paper / "contradictions.csv")
        for row in table.iter_rows(named=True):
            numbers.append(row["number"])
            for cell in ("one", "other", "one_ours", "other_ours", "counts"):
                assert row[cell] in printed, f"{row['number']}: {cell}"
    assert numbers == list(range(9, 21))


def test_what_is_given_back_is_shown_and_does_not_count() -> None:
    s2 = reproduce("s2")
    found = s2.only(ids=("s2.ll.cycles_per_element", "s2.overall.logic"))
    assert found.claims.select("verdict", "ours").rows() == [
        ("not testable", "3"),
        ("not testable", "0.1130"),
    ]
    assert found.readings["counts"].to_list() == [False, False]
    held = s2.claims.filter(verdict="holds")
    stated = held.filter(origin="stated").height
    assert s2.origins() == (
        f"of the {held.height} that hold, {stated} are stated by the paper and "
        f"{held.height - stated} follow from what it states"
    )


def test_the_same_run_writes_the_same_files(s0: Reproduction, tmp_path: Path) -> None:
    s0.write(tmp_path / "one", figures=True)
    reproduce("s0").write(tmp_path / "two", figures=True)
    for path in (path for path in (tmp_path / "one").rglob("*") if path.is_file()):
        assert path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes(), path


def test_every_column_is_in_the_documentation() -> None:
    page = (ROOT / "docs" / "reproduce.md").read_text(encoding="utf-8")
    for name, schema in TABLES.items():
        (row,) = re.findall(rf"^\| `{name}` \|.*$", page, re.MULTILINE)
        assert all(f"`{column}`" in row for column in schema), name


def test_a_claim_that_differs_without_an_explanation_fails_the_command(
    s0: Reproduction, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = s0.claims.with_columns(unexplained=pl.col("id") == "s0.ucode.total")
    monkeypatch.setattr(cli, "reproduce", lambda _paper, **_: dataclasses.replace(s0, claims=broken))
    assert main(["reproduce", "s0"]) == CHECK_FAILED
    assert "no explanation: s0.ucode.total\n" in capsys.readouterr().out
    assert main(["reproduce", "s0", "--system", "hw"]) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["s9"], "unknown paper `s9`; expected one of: s0, s1, s2, s3, s4"),
        (["s0", "--id", "s1.*"], "no claim has an id like `s1.*`"),
        (
            ["s0", "--verdict", "good"],
            "Invalid value for '--verdict': `good` is no verdict; "
            "expected one of: holds, near, differs, not testable (see `matchbench reproduce --help`)",
        ),
        (
            ["s0", "--system", "mu,nic"],
            "no claim is about system `nic`; expected one of: "
            "all, bench, hw, lm, match, mt, mt*, mt1, mt16, mt2, mu, ppc440",
        ),
    ],
)
def test_bad_input_is_refused(matchbench: Command, words: list[str], message: str) -> None:
    done = matchbench("reproduce", *words)
    assert (done.returncode, done.stdout, done.stderr) == (BAD_INPUT, "", f"matchbench: {message}\n")


def test_earlier_results_are_kept(matchbench: Command, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "claims.json").write_text("[]")
    done = matchbench("reproduce", "s0", "--system", "hw", "-o", "out")
    assert done.returncode == BAD_INPUT
    assert done.stderr == "matchbench: out: holds earlier output; choose another directory or give --force\n"
    assert matchbench("reproduce", "s0", "--system", "hw", "-o", "out", "--force").returncode == 0
    # Of several papers all places are looked at before the first is measured.
    (tmp_path / "out").rename(tmp_path / "s3")
    done = matchbench("reproduce", "s0", "s3", "-o", ".")
    assert (done.returncode, done.stdout) == (BAD_INPUT, "")
    assert done.stderr == "matchbench: s3: holds earlier output; choose another directory or give --force\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["s3"]


def test_a_paper_without_models_is_not_testable(matchbench: Command, tmp_path: Path) -> None:
    done = matchbench("reproduce", "s3", "-o", "out")
    assert not (tmp_path / "out" / "plots").exists()
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^\d+ claims: 0 holds, 0 near, 0 differs, \d+ not testable$", done.stdout, re.MULTILINE)
