# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Several recordings of one program: intervals, and what is at a threshold."""

import json
from pathlib import Path

import polars as pl
import pytest

import matchbench as mb
from matchbench.compare import intervals
from tests.conftest import Command
from tests.test_answer import constructed, table


def repeated(costs: list[float], *, engines: dict[str, list[float]] | None = None) -> mb.Comparison:
    """Make a comparison of recordings with these costs of the reference engine."""
    names = {f"run{at}": cost for at, cost in enumerate(costs, start=1)}
    found = constructed(names, engines=engines)
    row = {"engine": "linear", "preset": "software", "timing": "simulated", "recordings": len(costs)}
    by_trace = {**{name: getattr(found, name) for name in mb.Comparison.__slots__}}
    by_trace["intervals"] = table("intervals", [row])
    median = sorted(costs)[len(costs) // 2]
    shown = next(name for name, cost in names.items() if cost == median)
    by_trace["variations"] = table(
        "variations", [{"trace": shown, "change": "none", "factor": 1.0, "cost_share": median}]
    )
    return mb.Comparison(**by_trace)


@pytest.mark.parametrize(
    ("costs", "text"),
    [
        (
            [0.007, 0.014, 0.009],
            "is at the threshold of 1 %: it costs this program 0.7 % to 1.4 % (median 0.9 %) of its run time "
            "with matching in software (linear:software) in 3 recordings.",
        ),
        (
            [0.005, 0.008],
            "does not matter: it costs this program 0.5 % to 0.8 % (median 0.65 %) of its run time with "
            "matching in software (linear:software) in 2 recordings, below the threshold of 1 %.",
        ),
        (
            [0.02, 0.08, 0.03],
            "matters, and is at the threshold of 5 % from which it matters much: it costs this program 2 % "
            "to 8 % (median 3 %) of its run time with matching in software (linear:software) in 3 "
            "recordings.",
        ),
        (
            [0.01, 0.02],
            "matters: it costs this program 1 % to 2 % (median 1.5 %) of its run time with matching in "
            "software (linear:software) in 2 recordings.",
        ),
    ],
)
def test_an_interval_that_straddles_a_threshold_is_at_the_threshold(costs: list[float], text: str) -> None:
    found = repeated(costs).answer
    assert found.sentences["matters"] == f"Matching {text}"
    assert found.interval is not None
    assert found.interval.low <= found.interval.median <= found.interval.high


def test_ranks_and_changes_are_those_of_the_recording_with_the_median() -> None:
    found = repeated([0.007, 0.014, 0.009]).answer
    assert found.shown == "run3"
    assert found.sentences["ranks"].startswith(
        "In run3 on linear:software, all 4 ranks wait about equally long for matching"
    )
    changes = table(
        "variations",
        [
            {"trace": "run3", "change": change, "factor": factor, "cost_share": cost}
            for change, factor, cost in (
                ("none", 1.0, 0.009),
                ("depth", 10.0, 0.04),
                ("matching", 0.1, 0.001),
            )
        ],
    )
    comparison = repeated([0.007, 0.014, 0.009])
    slots = {name: getattr(comparison, name) for name in mb.Comparison.__slots__}
    said = mb.Comparison(**{**slots, "variations": changes}).answer.sentences["changes"]
    assert said == (
        "In run3 on linear:software, matching would cost more with queues 10 times as deep (4 %), and less "
        "with "
        "the engine 10 times as fast (0.1 %)."
    )


def test_an_engine_that_is_near_the_fastest_in_some_recordings_only_is_at_the_threshold() -> None:
    engines = {"a:x": [1.0, 1.1, 1.0], "b:x": [1.008, 1.1022, 1.012], "c:x": [1.5, 1.6, 1.5]}
    found = repeated([0.02, 0.03, 0.02], engines=engines).answer
    assert list(found.borderline) == ["b:x"]
    assert found.sentences["engines"] == (
        "a:x is the fastest of 3 engines (slowdown 1.000); c:x (1.500) is slower; "
        "at the threshold of 1 %: b:x (0.2 % to 1.2 % slower)."
    )
    few = {name: engines[name] for name in ("a:x", "b:x")}
    assert repeated([0.02, 0.03, 0.02], engines=few).answer.sentences["engines"] == (
        "a:x is the fastest of 2 engines (slowdown 1.000); at the threshold of "
        "1 %: b:x (0.2 % to 1.2 % slower)."
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[mb.Trace]:
    """Three recordings of one program, whose computation differs."""
    folder = tmp_path_factory.mktemp("runs")
    return [
        mb.generate(
            "depth",
            folder / f"run{at}",
            ranks=2,
            settings={"iterations": 20, "depth": 16, "compute": compute},
        )
        for at, compute in enumerate((10_000, 14_000, 12_000), start=1)
    ]


def test_the_intervals_are_those_of_the_single_comparisons(runs: list[mb.Trace], tmp_path: Path) -> None:
    engines = ["ideal", "alpu:tanabe2013"]
    found = mb.compare(runs, engines, repeat=True)
    single = [mb.compare(run, [*engines, "linear:software"]) for run in runs]
    for engine, preset in (("alpu", "tanabe2013"), ("linear", "software")):
        row = found.intervals.filter(engine=engine, preset=preset).row(0, named=True)
        values = sorted(
            each.results.filter(engine=engine, preset=preset)["slowdown"].item() for each in single
        )
        assert row["recordings"] == 3
        assert [row[f"slowdown_{which}"] for which in ("low", "median", "high")] == values
        assert row["cost_share_high"] == 1 - 1 / values[2]
    assert found.answer.interval is not None
    costs = [each.answer.base for each in single]
    assert found.answer.base == sorted(cost for cost in costs if cost is not None)[1]
    assert found.answer.shown == "run3"
    assert not single[0].repeat

    found.write(tmp_path / "r")
    everything = json.loads((tmp_path / "r" / "results.json").read_text(encoding="utf-8"))
    assert pl.DataFrame(everything["intervals"], schema=found.intervals.schema).equals(found.intervals)
    assert everything["answer"]["interval"]["recordings"] == 3
    page = (tmp_path / "r" / "report.html").read_text(encoding="utf-8")
    assert "Intervals over the recordings" in page
    assert intervals.title(found.results) in page


def test_the_command_prints_intervals_in_place_of_a_table_for_each_recording(
    runs: list[mb.Trace], matchbench: Command
) -> None:
    paths = [run.path for run in runs]
    said = matchbench(
        "compare", *paths, "-e", "linear:software", "--repeat", "--table-only", "-o", "r"
    ).stdout
    assert "3 recordings (run1, run2, run3): 2 ranks, " in said
    assert "\nrun1: " not in said
    assert " in 3 recordings." in said.splitlines()[0]


def test_what_cannot_be_recordings_of_one_program_is_refused(
    runs: list[mb.Trace], halo: mb.Trace, matchbench: Command
) -> None:
    done = matchbench("compare", runs[0].path, "--repeat")
    assert (done.returncode, done.stderr) == (
        2,
        "matchbench: repeat: found 1 trace, expected recordings of one program; name them all\n",
    )
    with pytest.raises(mb.MatchbenchError) as error:
        mb.compare([runs[0], halo], ["ideal"], repeat=True)
    assert str(error.value) == (
        f"{halo.path}: found 8 ranks, expected 2 as in {runs[0].path}; `repeat` takes recordings of one "
        "program on one number of ranks"
    )
