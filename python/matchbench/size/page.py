# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The tables and the HTML page of `matchbench size`: the answer, the tables, and a chart of each trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from matchbench import _native
from matchbench.compare.implausible import MARK
from matchbench.compare.report_overview import Chart
from matchbench.display import chart_library, chart_parts, pages, tables
from matchbench.size.queues import QUEUES, worst_rank

if TYPE_CHECKING:
    from matchbench.size.sizing import Sizings

_SHARES = {"p50": "50 %", "p90": "90 %", "p99": "99 %", "p999": "99.9 %", "p100": "100 %"}

NEEDS = ("queue", "of", *(f">{share}" for share in _SHARES.values()), ">worst rank", ">needs")
"""Headings of the structure entries that cover a share; a leading `>` marks a column of numbers."""

COMMUNICATORS = (
    "communicator",
    "queue",
    ">searches",
    *(f">{share}" for share in _SHARES.values()),
    ">longest",
)
"""Headings of the entries by communicator."""

BUCKETS = (
    *(">buckets", "queue", ">longest bucket", ">longest any-source list"),
    *(">compared, median", ">99 %", ">max"),
)
"""Headings of the queues divided by source."""

COSTS = (
    *(
        "engine",
        "parameter",
        ">structure entries",
        ">engine entries",
        ">memory entries",
        ">overflows",
        ">spilled",
        ">refused",
        ">slowdown",
    ),
    *(">match mean", ">search", ">waiting", ">capacity", ">per overflow"),
)
"""Headings of the replays with other sizes."""

_WHOLE = ("engine_entries", "memory_entries")
_WIDTH, _HEIGHT, _MARGIN = 560, 260, 90  # pixels; the margin is beside the plotted area
_COLOURS = {
    "posted, all": "#1f5fa8",
    "posted, rank": "#8fb4dc",
    "unexpected, all": "#d9711c",
    "unexpected, rank": "#efb98c",
    "both": "#3d8f4f",
}
"""Colours by the beginning of a curve's name."""


def need_rows(sizings: Sizings, trace: str) -> list[tuple[Any, ...]]:
    """Give the cells of the entries that cover a share of a trace's searches, time and insertions."""
    needs = sizings.needs.filter(pl.col("trace") == trace, pl.col("communicator").is_null())
    rows: list[tuple[Any, ...]] = []
    for queue in QUEUES:
        mine = needs.filter(queue=queue)
        for row in mine.filter(pl.col("rank").is_null()).iter_rows(named=True):
            worst = worst_rank(mine, row["of"])
            shares = [tables.count(row[share]) for share in _SHARES]
            rows.append((queue, row["of"], *shares, worst["rank"], tables.count(worst["p100"])))
    return rows


def communicator_rows(sizings: Sizings, trace: str, most: int | None = None) -> list[tuple[Any, ...]]:
    """Give the cells of each communicator, those with the most searches first; none if there is only one.

    Parameters
    ----------
    sizings, trace
        What to show.
    most
        Communicators at most.
    """
    needs = sizings.needs.filter(pl.col("trace") == trace, pl.col("communicator").is_not_null())
    if needs["communicator"].n_unique() < 2:
        return []
    searches = needs.filter(of="searches")
    busiest = searches.group_by("communicator").agg(pl.col("total").sum())
    busiest = busiest.sort("total", "communicator", descending=[True, False]).head(most or busiest.height)
    rows: list[tuple[Any, ...]] = []
    for communicator in busiest["communicator"]:
        for row in searches.filter(communicator=communicator).iter_rows(named=True):
            longest = needs.filter(communicator=communicator, queue=row["queue"], of="insertions")["p100"][0]
            shares = [tables.count(row[share]) for share in _SHARES]
            total = tables.count(int(row["total"]))
            rows.append((communicator, row["queue"], total, *shares, tables.count(longest)))
    return rows


def bucket_rows(sizings: Sizings, trace: str) -> list[tuple[Any, ...]]:
    """Give the cells of the queues divided by source."""
    numbers = ("longest", "longest_any", "search_p50", "search_p99", "search_max")
    return [
        (tables.count(row["buckets"]), row["queue"], *(tables.count(row[name]) for name in numbers))
        for row in sizings.buckets.filter(trace=trace).iter_rows(named=True)
    ]


def cost_rows(sizings: Sizings, trace: str) -> list[tuple[Any, ...]]:
    """Give the cells of the replays with other sizes."""
    return [
        (
            f"{row['engine']}:{row['preset']}" + (f" ({MARK})" if row["implausible"] else ""),
            row["parameter"],
            tables.count(row["structure_entries"]),
            *("-" if row[name] is None else tables.count(row[name]) for name in _WHOLE),
            tables.events(row["posted_overflows"] + row["unexpected_overflows"]),
            tables.events(row["spilled"]),
            tables.events(row["refused"]),
            tables.fixed(row["slowdown"], 3),
            tables.time(row["match_latency_mean_ns"]),
            tables.time(row["match_search_mean_ns"]),
            tables.time(row["match_waiting_mean_ns"]),
            tables.time(
                None
                if row["match_beyond_mean_ns"] is None
                else row["match_beyond_mean_ns"] + row["match_refused_mean_ns"]
            ),
            tables.time(row["beyond_per_overflow_ns"]),
        )
        for row in sizings.costs.filter(trace=trace).iter_rows(named=True)
    ]


def page(sizings: Sizings, *, charts: bool = True) -> str:
    """Render the page.

    Parameters
    ----------
    sizings
        What to show.
    charts
        Draw the curves.
    """
    blocks = [
        {
            "trace": trace,
            "tables": [
                ("Structure entries that cover a share", NEEDS, need_rows(sizings, trace)),
                ("By communicator, of its searches", COMMUNICATORS, communicator_rows(sizings, trace)),
                ("Queues in buckets: source modulo their number", BUCKETS, bucket_rows(sizings, trace)),
                ("Engines with a structure of a size", COSTS, cost_rows(sizings, trace)),
            ],
            "charts": _charts(sizings, trace) if charts else [],
        }
        for trace in sizings.traces
    ]
    drawn = any(block["charts"] for block in blocks)
    return pages.render(
        "sizing.html",
        names=sizings.traces,
        engine=sizings.engine,
        version=_native.version(),
        revision=_native.revision(),
        answer=[*sizings.answer(), str(sizings.recommendation)],
        blocks=blocks,
        library=chart_library.script() if drawn else "",
    )


def _charts(sizings: Sizings, trace: str) -> list[Chart]:
    """Give the charts of a trace; none of a queue that was always empty."""
    curves = sizings.curves.filter(trace=trace)
    total = curves.filter(pl.col("rank").is_null())
    if not total.filter(pl.col("measure") == "oldest_of_queue", pl.col("value") > 0).height:
        return []
    overflows, searches = pl.concat(_overflows(sizings, total, trace)), pl.concat(_searches(total))
    return [
        Chart(
            trace=trace,
            kind="overflows",
            title="overflows by size of the structure",
            description=_describe(overflows, "overflows"),
            spec=_steps(overflows, "overflows"),
        ),
        Chart(
            trace=trace,
            kind="searches",
            title="searches that go on beyond the oldest entries",
            description=_describe(searches, "searches"),
            spec=_steps(searches, "searches"),
        ),
    ]


def _describe(rows: pl.DataFrame, what: str) -> str:
    """Say how many lines there are, and from which size on each is zero."""
    ends = rows.filter(value=0).group_by("curve", maintain_order=True).agg(pl.col("structure_entries").min())
    zero = "; ".join(f"{curve}: {entries}" for curve, entries in ends.iter_rows())
    return f"Lines: {rows['curve'].n_unique()}. Structure entries from which on there are no {what}: {zero}."


def _line(curve: pl.DataFrame, label: str) -> pl.DataFrame:
    return curve.select(pl.lit(label).alias("curve"), "structure_entries", "value")


def _overflows(sizings: Sizings, total: pl.DataFrame, trace: str) -> list[pl.DataFrame]:
    needs = sizings.needs.filter(pl.col("trace") == trace, pl.col("communicator").is_null())
    found = []
    for queue in QUEUES:
        found.append(_line(total.filter(queue=queue, measure="oldest_of_queue"), f"{queue}, all ranks"))
        rank = worst_rank(needs.filter(queue=queue), "insertions")["rank"]
        worst = sizings.curves.filter(trace=trace, queue=queue, measure="oldest_of_queue", rank=rank)
        found.append(_line(worst, f"{queue}, rank {rank} (worst)"))
    places = total.filter(measure="places_of_both")
    # The overflows of both queues in one structure: the sum of two step functions.
    sizes = places.select(pl.col("structure_entries").unique().sort())
    parts = [
        sizes.join_asof(places.filter(queue=queue).sort("structure_entries"), on="structure_entries")["value"]
        for queue in QUEUES
    ]
    found.append(_line(sizes.with_columns(value=parts[0] + parts[1]), "both in one structure, all ranks"))
    return found


def _searches(total: pl.DataFrame) -> list[pl.DataFrame]:
    return [_line(total.filter(queue=queue, measure="searches"), f"{queue}, all ranks") for queue in QUEUES]


def _steps(rows: pl.DataFrame, what: str) -> chart_parts.Spec:
    """Draw a step line for each curve; both axes are logarithmic from 1 on, and reach 0."""
    names = rows["curve"].unique(maintain_order=True).to_list()
    return {
        "usermeta": {"margin": _MARGIN},
        "width": _WIDTH,
        "height": _HEIGHT,
        "data": chart_parts.data(rows),
        "params": [{"name": "curves", "select": {"type": "point", "fields": ["curve"]}, "bind": "legend"}],
        "mark": {"type": "line", "interpolate": "step-after", "point": {"size": 14}},
        "encoding": {
            "x": {
                "field": "structure_entries",
                "type": "quantitative",
                "scale": {"type": "symlog", "constant": 1},
                "axis": {"values": _ticks(rows["structure_entries"]), "format": ",.12~g"},
                "title": "structure entries",
            },
            "y": {
                "field": "value",
                "type": "quantitative",
                "scale": {"type": "symlog", "constant": 1},
                "axis": {"values": _ticks(rows["value"]), "format": ",.12~g"},
                "title": what,
            },
            "color": {
                "field": "curve",
                "type": "nominal",
                "sort": None,
                "scale": {"domain": names, "range": [_colour(name) for name in names]},
                "title": None,
                "legend": {"orient": "bottom", "columns": 2, "labelLimit": 300},
            },
            "opacity": {"condition": {"param": "curves", "value": 1}, "value": 0.15},
            "tooltip": [
                {"field": "curve"},
                {
                    "field": "structure_entries",
                    "type": "quantitative",
                    "format": ",",
                    "title": "structure entries",
                },
                {"field": "value", "type": "quantitative", "format": ",", "title": what},
            ],
        },
    }


def _colour(name: str) -> str:
    return next(colour for start, colour in _COLOURS.items() if name.startswith(start))


def _ticks(values: pl.Series) -> list[int]:
    """Give 0 and the powers of two or ten up to the largest value."""
    largest = float(str(values.max() or 1))
    base = 2 if largest <= 1 << 12 else 10
    ticks = [0, 1]
    while ticks[-1] < largest:
        ticks.append(ticks[-1] * base)
    return ticks
