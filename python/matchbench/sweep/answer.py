# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The answer of a sweep in sentences, computed from its table of variants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import polars as pl

from matchbench.compare.implausible import MARK
from matchbench.display import tables
from matchbench.sweep import analysis
from matchbench.sweep.analysis import Point, cost_column, envelope

if TYPE_CHECKING:
    from matchbench.sweep.result import Sweep

CLOSE = 0.01
"""Share by which a smaller variant may be slower than the best and still be named."""


def sentences(sweep: Sweep) -> Iterator[str]:
    """Give the answer of a sweep, a sentence each.

    Parameters
    ----------
    sweep
        The sweep; its own `answer` is not read.
    """
    if not sweep.finished:
        yield f"Not finished: {tables.count(sweep.variants.height)} variants have results so far."
    if sweep.study.method != "grid":
        size = sum(design.size for design in sweep.study.designs)
        yield f"Tried {sweep.variants.height} of {size} combinations (method {sweep.study.method})."
    column = sweep.measure_column()
    ranked = sweep.ranked()
    doubtful = sweep.variants.filter(pl.col("implausible").is_not_null())
    if not doubtful.is_empty():
        first, verb = doubtful.row(0, named=True), "is" if doubtful.height == 1 else "are"
        yield (
            f"{doubtful.height} of {sweep.variants.height} variants {verb} {MARK} and not ranked; "
            f"{first['variant']}: {first['implausible']}."
        )
    if ranked.is_empty():
        others = "other " if not doubtful.is_empty() else ""
        yield f"No {others}variant finished on every trace; nothing is ranked."
        return
    if unfinished := sweep.variants.height - ranked.height - doubtful.height:
        yield f"{unfinished} of {sweep.variants.height} variants did not finish."
    traces = len(sweep.study.traces)
    means = f" (geometric mean of {traces} traces)" if traces > 1 else ""
    best = ranked.filter("best").row(0, named=True)
    if ranked.height == 1:
        yield f"The only variant, {best['variant']}, has {_shown(best[column], sweep.measure)}{means}."
        return
    if sweep.measure == "latency" and "latency" not in sweep.study.objectives:
        yield _equal_times(ranked)
    value = f"{_shown(best[column], sweep.measure)}{means}{_costs(sweep, best)}"
    yield f"Best of {ranked.height}: {best['variant']}, with {value}."
    yield from _knee(sweep, ranked, best)
    yield from _curves(sweep, ranked)
    yield from _hardware(sweep, ranked)


def curve(sweep: Sweep, ranked: pl.DataFrame, axis: str, engine: str) -> list[Point]:
    """Give the best value of the measure for each value of a parameter, over all values of the others.

    Parameters
    ----------
    sweep
        The sweep.
    ranked
        The variants that finished.
    axis
        The parameter's column; words have no curve.
    engine
        The engine whose parameter it is.
    """
    if not ranked[axis].dtype.is_numeric():
        return []
    rows = (
        ranked.filter(pl.col("engine") == engine)
        .group_by(axis)
        .agg(pl.col(sweep.measure_column()).min())
        .sort(axis)
    )
    return [Point(float(x), float(y)) for x, y in rows.drop_nulls().rows()]


def _equal_times(ranked: pl.DataFrame) -> str:
    least, most = ranked["slowdown"].min(), ranked["slowdown"].max()
    if not isinstance(least, float) or not isinstance(most, float):
        return "Application times are unknown; match latencies are compared."
    return (
        "The varied parameters hardly change the application time "
        f"(slowdowns {least:.4f} to {most:.4f}, {100 * (most / least - 1):.2g} % apart); "
        "match latencies are compared instead."
    )


def _costs(sweep: Sweep, row: dict[str, Any]) -> str:
    if not sweep.cost:
        return ""
    column, unit = sweep.cost
    value = tables.count(row[column]) if isinstance(row[column], int) else tables.decimal(row[column])
    return f" and {value} {unit}"


def _knee(sweep: Sweep, ranked: pl.DataFrame, best: dict[str, Any]) -> Iterator[str]:
    over = cost_column(sweep.variants, sweep.cost, sweep.axes)
    if not over:
        return
    column = sweep.measure_column()
    line = envelope(ranked, column, over)
    first, least = line[column][0], line[column][-1]
    at_knee = ranked.filter("knee")
    if not at_knee.is_empty():
        knee = at_knee.row(0, named=True)
        yield (
            f"Knee: {knee['variant']}, with {_shown(knee[column], sweep.measure)}{_costs(sweep, knee)}; "
            f"it has {100 * (first - knee[column]) / (first - least):.0f} % of the gain of the best variant "
            "over the smallest."
        )
    elif first == least:
        yield f"No knee: the smallest variant is also the best, {line['variant'][0]}."
    elif line.height > 2:
        yield f"No knee: {sweep.measure} over {over} is nearly linear, nearly constant or concave."
    small = line.row(analysis.smallest_within([Point(0, y) for y in line[column]], CLOSE), named=True)
    if small["variant"] not in (best["variant"], *at_knee["variant"]):
        yield (
            f"Smallest within {100 * CLOSE:.0f} % of the best: {small['variant']}, "
            f"with {_shown(small[column], sweep.measure)}{_costs(sweep, small)}."
        )


def _curves(sweep: Sweep, ranked: pl.DataFrame) -> Iterator[str]:
    for axis in sweep.axes:
        points = curve(sweep, ranked, axis, axis.partition(".")[0])
        doubling = analysis.last_doubling(points)
        if doubling:
            last = "The last doubling" if doubling.to_x == 2 * doubling.from_x else "The last step"
            change = f"{abs(100 * doubling.gain):.2g} %"
            verb = "gains" if doubling.gain >= 0 else "loses"
            what = f"{verb} {change}" if doubling.gain else "gains nothing"
            yield f"{last} of {axis}, from {doubling.from_x:g} to {doubling.to_x:g}, {what}."


def _hardware(sweep: Sweep, ranked: pl.DataFrame) -> Iterator[str]:
    without = ranked.filter(pl.col("area").is_null()).height
    named = {"engine_entries": "engine entries", "memory_entries": "memory entries"}
    if sweep.cost and sweep.cost[0] == "area":
        kinds = ranked["area_kind"].unique(maintain_order=True).to_list()
        sources = ranked["area_source"].unique(maintain_order=True)
        yield f"Areas are {' and '.join(kinds)}: {'; '.join(sources)}."
    elif sweep.cost and without:
        yield (
            f"The area of {without} of {ranked.height} variants is unknown; "
            f"{named[sweep.cost[0]]} are compared instead."
        )
    elif sweep.cost:
        yield f"Areas have different units or do not vary; {named[sweep.cost[0]]} are compared instead."
    else:
        yield "No hardware cost is known for all variants and differs between them; there is no Pareto front."


def _shown(value: float, measure: str) -> str:
    """Format a value of the measure."""
    return (
        f"a slowdown of {value:.4f}" if measure == "time" else f"a mean match latency of {tables.time(value)}"
    )
