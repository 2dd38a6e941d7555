# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The parts of a sweep, each on values that are known: ranges, front, knee, cache, costs, charts."""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import matchbench as mb
from matchbench.cli import main
from matchbench.sweep import analysis, table
from matchbench.sweep import report as report_module
from matchbench.sweep import run as run_module
from matchbench.sweep.analysis import Point
from matchbench.sweep.cache import KEPT_DAYS, Cache
from matchbench.sweep.hardware import Area, Hardware, cost_axis, engines_with_entries
from matchbench.sweep.rows import Rows
from matchbench.sweep.run import Status
from matchbench.sweep.space import Variant, designs_of, values_of
from matchbench.sweep.study import Study


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("16,32, 64", ["16", "32", "64"]),
        ("16..512 *2", ["16", "32", "64", "128", "256", "512"]),
        ("16..100*2", ["16", "32", "64"]),
        ("16..64 +16", ["16", "32", "48", "64"]),
        ("-1..1 +1", ["-1", "0", "1"]),
        ("0.1..0.4 +0.1", ["0.1", "0.2", "0.3", "0.4"]),
        ("100..1000 *1.5", ["100", "150", "225", "337.5", "506.25", "759.375"]),
        ("10 ns..40 ns *2", ["10 ns", "20 ns", "40 ns"]),
        ("1..4 *2, 100", ["1", "2", "4", "100"]),
        ("mpi", ["mpi"]),
        ("../mine.mb,./a..b", ["../mine.mb", "./a..b"]),
    ],
)
def test_values_are_lists_and_ranges(text: str, values: list[str]) -> None:
    assert list(values_of(text, where="x")) == values


@pytest.mark.parametrize(
    "text", ["10 ns..40 us *2", "10..40 *2 ns", "1..2 *", "1..x *2", "1.. *2", "1..8 *2 *2"]
)
def test_a_malformed_range_is_refused(text: str) -> None:
    with pytest.raises(mb.MatchbenchError, match=r"^x: found "):
        values_of(text, where="x")


def test_a_key_concerns_every_engine_that_has_it() -> None:
    designs = designs_of(["cam_list", "alpu"], {"clock": "100,200", "cam_list.cam": "4..8 *2", "cells": "64"})
    assert [(design.name, design.size, dict(design.settings)) for design in designs] == [
        ("cam_list:two_level", 4, {}),
        ("alpu:tanabe2013", 2, {"cells": "64"}),
    ]
    assert [axis.key for axis in designs[0].axes] == ["clock", "cam"]
    assert [designs[0].values_at(at)["cam"] for at in range(4)] == ["4", "8", "4", "8"]


def test_the_front_is_what_no_point_dominates() -> None:
    points = [(1, 9), (2, 5), (3, 5), (4, 1), (4, 2), (1, 9)]
    assert analysis.pareto(points) == [True, True, False, True, False, True]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=20))
def test_every_dominated_point_has_a_dominator_on_the_front(points: list[tuple[int, int, int]]) -> None:
    on_front = analysis.pareto(points)
    front = [point for point, is_on in zip(points, on_front, strict=True) if is_on]
    assert front
    for point, is_on in zip(points, on_front, strict=True):
        below = [
            other
            for other in front
            if other != point and all(a <= b for a, b in zip(other, point, strict=True))
        ]
        assert bool(below) is not is_on


def test_the_knee_is_farthest_below_the_chord() -> None:
    # Over the logarithm of 1 to 64, the chord falls by 10 per doubling; below it: 0, 10, 25, 20, 10, 5, 0.
    curve = [Point(2**at, y) for at, y in enumerate((60, 40, 15, 10, 10, 5, 0))]
    assert analysis.knee(curve) == 2
    # Over 1 to 7, the same.
    assert analysis.knee([Point(at + 1, point.y) for at, point in enumerate(curve)]) == 2


@pytest.mark.parametrize(
    "ys",
    [
        (2, 1),  # two points
        (4, 3, 2, 1),  # the chord itself
        (5, 5, 5, 5),  # flat
        (1000, 999.5, 999.4, 999.4),  # falls by less than 0.1 %
        (1, 2, 3, 3),  # rises
        (9, 8, 6, 0),  # above the chord
    ],
)
def test_a_curve_without_a_knee_has_none(ys: tuple[float, ...]) -> None:
    assert analysis.knee([Point(at + 1, y) for at, y in enumerate(ys)]) is None


def test_the_last_doubling_begins_at_half_of_the_last_value_or_less() -> None:
    curve = [Point(1, 10), Point(2, 8), Point(3, 7), Point(4, 6)]
    assert analysis.last_doubling(curve) == (2, 4, 0.25)
    assert analysis.last_doubling(curve[1:3]) is None
    assert analysis.last_doubling([Point(1, 4), Point(8, 5)]) == (1, 8, -0.25)


def test_costs_are_compared_by_area_only_if_all_have_one_of_the_same_unit() -> None:
    def hardware(entries: int | None, area: float | None, unit: str = "ALM") -> Hardware:
        known = Area(value=area, unit=unit, kind="published", source="") if area else None
        return Hardware(engine_entries=entries, memory_entries=7, area=known)

    assert cost_axis([hardware(1, 5), hardware(2, 6)]) == ("area", "ALM")
    assert cost_axis([hardware(1, 5), hardware(2, 6, "mm2")]) == ("engine_entries", "engine entries")
    assert cost_axis([hardware(1, 5), hardware(2, None)]) == ("engine_entries", "engine entries")
    assert cost_axis([hardware(1, 5), hardware(1, 5)]) is None
    assert cost_axis([hardware(None, None), hardware(2, 6)]) is None


def test_entries_are_those_of_engines_that_have_a_structure() -> None:
    """Those that search memory of a processor, or have no hardware, have none."""
    engines = {card["name"] for card in mb.engines()}
    assert engines_with_entries() <= engines
    searched = {"host_native", "ideal", "linear", "list_mt", "list_ooo", "measured", "netproc"}
    assert not engines_with_entries() & searched
    assert {"alpu", "cam_list", "hash_buckets", "lhs", "match_unit", "moped"} <= engines_with_entries()


def test_unused_results_are_removed(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    for key in ("used", "unused"):
        cache.put(key, {"key": key})  # type: ignore[typeddict-item,typeddict-unknown-key] # any content
    old = time.time() - (KEPT_DAYS + 1) * 86_400
    for path in tmp_path.glob("*/*"):
        os.utime(path, (old, old))
    assert cache.get("used") is not None
    cache.prune()
    assert (cache.get("used") is None, cache.get("unused") is None, cache.damaged) == (False, True, 0)


def test_a_page_has_its_charts_and_plots(deep: mb.Trace, halo: mb.Trace, tmp_path: Path) -> None:
    words = ["-e", "cam_list", "--set", "cam=4..16 *2", "--cache", tmp_path / "c"]
    paths = [deep.path, halo.path, "-o", tmp_path / "o", "--plots"]
    assert main(["sweep", *map(str, [*paths, *words])]) == 0
    page = (tmp_path / "o" / "report.html").read_text(encoding="utf-8")
    names = ["curve.cam_list.cam", "pareto", "traces.cam_list.cam"]
    assert page.count('<div class="chart ') == len(names)
    assert sorted(path.name for path in (tmp_path / "o" / "plots").iterdir()) == sorted(
        f"{name}.{kind}" for name in names for kind in ("png", "svg")
    )
    assert "http://" not in page.split("<script>")[0]


def test_a_remark_names_the_variant_by_what_differs(deep: mb.Trace, tmp_path: Path) -> None:
    words = ["-e", "cam_list", "--set", "cam=1,2", "--set", "lists=1,4", "--no-cache", "--table-only"]
    assert main(["sweep", str(deep.path), *words, "-o", str(tmp_path / "o")]) == 0
    page = (tmp_path / "o" / "report.html").read_text(encoding="utf-8")
    for name in ("cam=1 lists=1", "cam=2 lists=1"):
        assert f"deep on {name}: " in page
    assert (
        "two_level+"
        not in page.partition("<h2>Variants</h2>")[2].partition("</html>")[0].split("</table>")[1]
    )


def test_the_rate_counts_no_result_of_the_cache() -> None:
    status = Status(done=12, total=42, cached=7, first_s=100.0, last_s=102.0)
    # Five were replayed, four of them after the first one.
    assert (status.rate, status.left_s) == (2.0, 15.0)
    assert Status(done=8, total=42, cached=7, first_s=100.0, last_s=100.0).left_s is None


def test_rows_made_in_parts_are_those_made_at_once(
    deep: mb.Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"cam": "1..12 +1", "lists": "1,2"}
    study = Study(
        question="How large?",
        traces=(deep.path,),
        designs=tuple(designs_of(["cam_list"], settings)),
        config=mb.ReplayConfig(),
    )
    whole = mb.sweep(study, cache=tmp_path / "cache")
    made: list[int] = []
    add = Rows.add

    def counted(self: Rows, variants: Sequence[Variant], *others: Any) -> None:
        made.append(len(variants))
        add(self, variants, *others)

    monkeypatch.setattr(run_module, "PART", 5)
    monkeypatch.setattr(Rows, "add", counted)
    parts = mb.sweep(study, cache=tmp_path / "cache")
    assert made == [5, 5, 5, 5, 4]
    for name in ("variants", "points", "parameters"):
        assert getattr(parts, name).equals(getattr(whole, name)), name
    assert (parts.answer, parts.remarks) == (whole.answer, whole.remarks)
    whole.write(tmp_path / "whole")
    parts.write(tmp_path / "parts")
    for name in ("variants.csv", "points.csv", "parameters.csv", "sweep.json", "report.html"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "parts" / name).read_bytes(), name
    assert pl.read_parquet(tmp_path / "parts" / "points.parquet").equals(whole.points)


def test_a_page_of_many_variants_has_the_marked_and_the_best(
    deep: mb.Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    designs = designs_of(["cam_list"], {"cam": "1..12 +1"})
    sweep = mb.sweep(
        Study(question="How large?", traces=(deep.path,), designs=tuple(designs), config=mb.ReplayConfig())
    )
    monkeypatch.setattr(report_module, "MOST_ROWS", 4)
    sweep.write(tmp_path / "o", charts=False)
    page = (tmp_path / "o" / "report.html").read_text()
    assert "4 of 12 variants: those with a mark and the best. The file variants.csv has all." in page
    assert page.count("<tr data-engine=") == 4
    best = sweep.variants.sort(sweep.measure_column())["cam_list.cam"][0]
    chosen = table.chosen(sweep, 4)
    assert best in chosen["cam_list.cam"].to_list()
    marked = sweep.variants.filter(pl.any_horizontal("best", "knee", "pareto"))
    assert set(chosen["variant"]) <= set(marked["variant"])


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 3)), max_size=40))
def test_a_front_is_what_no_other_point_dominates(points: list[tuple[int, int, int]]) -> None:
    def dominates(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
        return one != other and all(a <= b for a, b in zip(one, other, strict=True))

    expected = [not any(dominates(other, point) for other in points) for point in points]
    assert analysis.pareto(points) == expected
