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
def hemmert2007() -> Reproduction:
    return reproduce("hemmert2007")


def test_every_claim_of_the_ledger_has_a_verdict(hemmert2007: Reproduction) -> None:
    ledger = (ROOT / "spec" / "claims.toml").read_text(encoding="utf-8")
    assert hemmert2007.claims["id"].to_list() == re.findall(
        r'^id = "(hemmert2007\..*)"$', ledger, re.MULTILINE
    )
    assert sum(map(hemmert2007.count, VERDICTS)) == hemmert2007.claims.height


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


def test_tables_and_figures_are_written(hemmert2007: Reproduction, tmp_path: Path) -> None:
    hemmert2007.write(tmp_path / "out", figures=True)
    for name, schema in TABLES.items():
        table: pl.DataFrame = getattr(hemmert2007, name)
        assert table.schema == schema
        assert_frame_equal(pl.read_parquet(tmp_path / "out" / f"{name}.parquet"), table)
        assert pl.read_csv(tmp_path / "out" / f"{name}.csv").height == table.height
    rows = json.loads((tmp_path / "out" / "claims.json").read_text(encoding="utf-8"))
    assert [row["id"] for row in rows] == hemmert2007.claims["id"].to_list()
    assert sum(len(row["interpretations"]) for row in rows) == hemmert2007.interpretations.height
    for figure in ("hemmert2007-figure6", "hemmert2007-figure7"):
        assert (tmp_path / "out" / "plots" / f"{figure}.png").read_bytes().startswith(b"\x89PNG")
        assert (
            "match unit (64 headers in a stream)"
            in (tmp_path / "out" / "plots" / f"{figure}.svg").read_text()
        )
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert hemmert2007.counts() in page
    assert all(f">{claim}</td>" in page for claim in hemmert2007.claims["id"])


@pytest.mark.parametrize(
    ("paper", "figures"),
    [
        ("tanabe2013", ["tanabe2013-figure4", "tanabe2013-figure5", "tanabe2013-figure6"]),
        ("xiong2018", ["xiong2018-figure4", "xiong2018-figure5", "all-engines"]),
    ],
)
def test_figures_of_a_study_of_benchmarks_are_drawn(paper: str, figures: list[str], tmp_path: Path) -> None:
    found = reproduce(paper, jobs=2)
    found.write(tmp_path / "out", figures=True)
    assert sorted(path.stem for path in (tmp_path / "out" / "plots").glob("*.png")) == sorted(figures)
    assert found.curves["time_ns"].min() != 0
    assert set(found.data_points["design"]) <= set(found.curves.filter("counts")["design"])


def test_contradictions_of_several_papers_are_printed_and_written(
    matchbench: Command, tmp_path: Path
) -> None:
    ran = matchbench("reproduce", "tanabe2013", "xiong2018", "-o", tmp_path / "papers")
    assert ran.returncode == 0
    printed = ran.stdout
    numbers = []
    for paper in ("tanabe2013", "xiong2018"):
        table = pl.read_csv(tmp_path / "papers" / paper / "contradictions.csv")
        for row in table.iter_rows(named=True):
            numbers.append(row["number"])
            for cell in ("first", "second", "first_measured", "second_measured", "counts"):
                assert row[cell] in printed, f"{row['number']}: {cell}"
    assert numbers == list(range(9, 21))


def test_what_is_given_back_is_shown_and_does_not_count() -> None:
    xiong2018 = reproduce("xiong2018")
    found = xiong2018.only(ids=("xiong2018.ll.cycles_per_element", "xiong2018.overall.logic"))
    assert found.claims.select("verdict", "measured").rows() == [
        ("not testable", "3"),
        ("not testable", "0.1130"),
    ]
    assert found.interpretations["counts"].to_list() == [False, False]
    held = xiong2018.claims.filter(verdict="holds")
    stated = held.filter(origin="stated").height
    assert xiong2018.origins() == (
        f"of the {held.height} that hold, {stated} are stated by the paper and "
        f"{held.height - stated} follow from what it states"
    )


def test_the_same_run_writes_the_same_files(hemmert2007: Reproduction, tmp_path: Path) -> None:
    hemmert2007.write(tmp_path / "one", figures=True)
    reproduce("hemmert2007").write(tmp_path / "two", figures=True)
    for path in (path for path in (tmp_path / "one").rglob("*") if path.is_file()):
        assert path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes(), path


def test_every_column_is_in_the_documentation() -> None:
    page = (ROOT / "docs" / "reproduce.md").read_text(encoding="utf-8")
    for name, schema in TABLES.items():
        (row,) = re.findall(rf"^\| `{name}` \|.*$", page, re.MULTILINE)
        assert all(f"`{column}`" in row for column in schema), name


def test_a_claim_that_differs_without_an_explanation_fails_the_command(
    hemmert2007: Reproduction, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = hemmert2007.claims.with_columns(unexplained=pl.col("id") == "hemmert2007.ucode.total")
    monkeypatch.setattr(cli, "reproduce", lambda _paper, **_: dataclasses.replace(hemmert2007, claims=broken))
    assert main(["reproduce", "hemmert2007"]) == CHECK_FAILED
    assert "no explanation: hemmert2007.ucode.total\n" in capsys.readouterr().out
    assert main(["reproduce", "hemmert2007", "--system", "hw"]) == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["s9"],
            "paper `s9`: not registered; "
            "expected one of: hemmert2007, tanabe2013, xiong2018, gu2011, crowley2000",
        ),
        (
            ["hemmert2007", "--id", "tanabe2013.*"],
            "id `tanabe2013.*`: no claim has such an id; see `spec/claims.toml`",
        ),
        (
            ["hemmert2007", "--verdict", "good"],
            "Invalid value for '--verdict': `good` found; "
            "expected one of: holds, near, differs, not testable (see `matchbench reproduce --help`)",
        ),
        (
            ["hemmert2007", "--system", "mu,nic"],
            "system `nic`: no claim is about it; expected one of: "
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
    done = matchbench("reproduce", "hemmert2007", "--system", "hw", "-o", "out")
    assert done.returncode == BAD_INPUT
    assert done.stderr == "matchbench: out: holds earlier output; choose another directory or give --force\n"
    assert matchbench("reproduce", "hemmert2007", "--system", "hw", "-o", "out", "--force").returncode == 0
    # Of several papers all places are looked at before the first is measured.
    (tmp_path / "out").rename(tmp_path / "gu2011")
    done = matchbench("reproduce", "hemmert2007", "gu2011", "-o", ".")
    assert (done.returncode, done.stdout) == (BAD_INPUT, "")
    assert (
        done.stderr == "matchbench: gu2011: holds earlier output; choose another directory or give --force\n"
    )
    assert [entry.name for entry in tmp_path.iterdir()] == ["gu2011"]


def test_a_paper_without_models_is_not_testable(matchbench: Command, tmp_path: Path) -> None:
    done = matchbench("reproduce", "gu2011", "-o", "out")
    assert not (tmp_path / "out" / "plots").exists()
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^\d+ claims: 0 holds, 0 near, 0 differs, \d+ not testable$", done.stdout, re.MULTILINE)
