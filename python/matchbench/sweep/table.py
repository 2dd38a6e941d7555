# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The table of variants, as the terminal and the page show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from matchbench.compare.implausible import MARK
from matchbench.display import tables
from matchbench.display.document import Shown

if TYPE_CHECKING:
    from matchbench.sweep.result import Sweep

LEGEND = (
    "slowdown: application time relative to ideal:zero, the geometric mean over the traces; worst: the "
    "largest of any trace; match mean: mean match latency, likewise; engine entries: entries of "
    "the whole engine, for both queues, searched at once or cached; memory entries: those in memory on the "
    "NIC; area: hardware results, or published areas, "
    "mm2 normalised to 90 nm; mark: best, the variant with the least time or latency; pareto: no other "
    "variant is at least as good in all objectives and better in one; knee: the point of the curve "
    "farthest below the line between its ends."
)
"""Meaning of the headings."""


def headings(sweep: Sweep) -> list[str]:
    """Give the headings; a leading `>` marks a column of numbers."""
    axes = [f">{axis}" if sweep.variants[axis].dtype.is_numeric() else axis for axis in sweep.axes]
    return [
        "design",
        *axes,
        ">slowdown",
        *_worst(sweep),
        ">match mean",
        *(f">{name}" for name in _costs(sweep)),
        "mark",
    ]


def chosen(sweep: Sweep, most: int) -> pl.DataFrame:
    """Choose variants to show: all if there are few, else those with a mark, then the best.

    Parameters
    ----------
    sweep
        The sweep.
    most
        How many are shown.

    Returns
    -------
    pl.DataFrame
        Rows of its table of variants, in the order in which they were tried.
    """
    if sweep.variants.height <= most:
        return sweep.variants
    marked = pl.any_horizontal("best", "knee", "pareto")
    measure = sweep.measure_column()
    keys = sweep.variants.select(~marked, measure).with_row_index("_at")
    first = keys.sort(keys.columns[1], measure, nulls_last=True, maintain_order=True).head(most)
    return sweep.variants[first["_at"].sort()]


def rows(sweep: Sweep, variants: pl.DataFrame) -> list[tuple[str, ...]]:
    """Give the cells of variants."""
    costs, has_worst = _costs(sweep), bool(_worst(sweep))
    return [_cells(sweep, row, costs, has_worst) for row in variants.iter_rows(named=True)]


def _cells(
    sweep: Sweep,
    row: Mapping[str, Any],
    costs: Sequence[str],
    has_worst: bool,
) -> tuple[str, ...]:
    unfinished = "not finished" if not row["finished"] else "-"
    return (
        row["design"],
        *(_value(row[axis]) for axis in sweep.axes),
        unfinished if row["slowdown"] is None else tables.fixed(row["slowdown"], 4),
        *([tables.fixed(row["slowdown_max"], 4)] if has_worst else []),
        tables.time(row["match_latency_mean_ns"]),
        *(_cost(row, name) for name in costs),
        ", ".join([*(name for name in ("best", "knee", "pareto") if row[name]), *_doubt(row)]),
    )


def _doubt(row: Mapping[str, Any]) -> list[str]:
    return [MARK] if row["implausible"] else []


def _worst(sweep: Sweep) -> list[str]:
    return [">worst"] if len(sweep.study.traces) > 1 else []


def _costs(sweep: Sweep) -> list[str]:
    names = {"engine_entries": "engine entries", "memory_entries": "memory entries", "area": "area"}
    return [shown for name, shown in names.items() if sweep.variants[name].is_not_null().any()]


def _cost(row: Mapping[str, Any], name: str) -> str:
    if name == "area":
        if row["area"] is None:
            return "-"
        mark = "" if row["area_kind"] == "hardware" else f" ({row['area_kind']})"
        return f"{tables.decimal(row['area'])} {row['area_unit']}{mark}"
    value = row[name.replace(" ", "_")]
    return "-" if value is None else tables.count(value)


def _value(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, int | float):
        return Shown(f"{value:g}" if isinstance(value, float) else str(value), value)
    return str(value)
