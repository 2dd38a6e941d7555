# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What interactive charts share: data, colours, scales, legends, and the parameter that switches engines."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from matchbench import _native

Spec = dict[str, Any]

LOG_RATIO = 20
"""Ratio of largest to smallest value above which an axis is logarithmic."""
WIDTH = 560
"""Width of the plotted area in pixels; the page adapts it."""
SHOWN = "indexof(shown, datum.label) >= 0"
"""Filter of the rows of engines that are switched on."""
TIMINGS = ("bound", "simulated", "measured")
"""Kinds of times, in the order in which they are shown."""
LABEL = pl.format("{}:{}", "engine", "preset")
"""The name of an engine preset."""
LEGEND: Spec = {"orient": "bottom", "columns": 3, "labelLimit": 260, "symbolLimit": 40}
"""A legend below the plotted area; on a narrow screen the page gives it one column."""
_MANY_POWERS = 5  # powers of ten on an axis from which 2 and 5 times these have no ticks
_PALETTE = [
    *("#4477aa", "#d9711c", "#3a923a", "#c44e52", "#8c63b0", "#8c6d46", "#d170ae", "#767676"),
    *("#a3a32b", "#2aa4b5", "#7fa6d8", "#e8a867", "#86c586", "#e59a9c", "#b9a1d3", "#c2a98a"),
]


def colours(table: pl.DataFrame) -> dict[str, str]:
    """Give each `engine:preset` of a table the colour of its lines.

    The first preset of an engine has the same colour in every report, and the others have free colours while
    there are any, then that of their engine.

    Parameters
    ----------
    table
        A table with the columns `engine` and `preset`; the best preset of an engine first.
    """
    pairs = table.select("engine", "preset").unique(maintain_order=True).rows()
    known = [card["name"] for card in _native.engines()]
    known += sorted({engine for engine, _ in pairs} - set(known))
    base = {engine: _PALETTE[known.index(engine) % len(_PALETTE)] for engine, _ in pairs}
    free = [colour for colour in _PALETTE if colour not in base.values()]
    found: dict[str, str] = {}
    seen = set()
    for engine, preset in pairs:
        is_first = engine not in seen
        seen.add(engine)
        found[f"{engine}:{preset}"] = base[engine] if is_first or not free else free.pop(0)
    return found


def switches(shown: list[str], *, margin: int) -> Spec:
    """Give the parameter with which the page shows some engines, and the pixels beside the plotted area."""
    return {"params": [{"name": "shown", "value": shown}], "usermeta": {"margin": margin}}


def data(table: pl.DataFrame) -> Spec:
    """Give rows as CSV text, a third of the size of JSON, with six digits: more than a screen shows."""
    rounded = table.with_columns(pl.col(pl.Float64).round_sig_figs(6))
    return {"values": rounded.write_csv(), "format": {"type": "csv"}}


def ticks(largest: float, smallest: float = 1.0) -> list[float]:
    """Give 0, and 1, 2 and 5 times powers of ten up to `largest`; on an axis of many powers only these."""
    first, last = math.floor(math.log10(smallest)), math.ceil(math.log10(max(largest, 10)))
    steps = (1, 2, 5) if last - first < _MANY_POWERS else (1,)
    ticks = [step * 10.0**power for power in range(first, last + 1) for step in steps]
    return [0.0, *(tick for tick in ticks if smallest <= tick <= 1.2 * largest)]
