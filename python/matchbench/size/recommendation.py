# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The recommendation at the end of `matchbench size`: one number of structure entries, on one engine.

The number follows from the curves: it holds almost all insertions into either queue of every trace. What half
and twice as many cost follows from replays with these sizes (`docs/sizing.md`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from matchbench.compare.answer_text import percent
from matchbench.display import tables

HELD = 0.999
"""Share of the insertions into either queue that the recommended structure holds."""

_SMALLEST_CHANGE = 1e-6
"""Relative change of the run time below which there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """Another number of structure entries.

    Parameters
    ----------
    structure_entries
        The number.
    change
        How much longer the program runs than with the recommended number, as a share; negative if it is
        shorter. Of several traces, that of the trace whose run time changes most.
    """

    structure_entries: int
    change: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendation:
    """How many entries, what they hold, and what half and twice as many cost.

    Parameters
    ----------
    structure_entries
        Entries of one structure; 0 if no receive or message ever waits in a queue.
    holds
        What one structure holds, `oldest_of_queue` or `places_of_both`.
    held
        Share of the insertions into both queues of all traces that do not overflow it.
    covered
        Share of the searches that end within it; None for `places_of_both`, which holds no fixed part of a
        queue.
    engine, parameter
        The engine of the replays as `engine:preset`, and the parameter that has the size; None without
        replays.
    engine_entries, memory_entries
        Entries of the whole engine with this size; None if unknown.
    half, twice
        What these cost; None if they were not replayed, or did not finish.
    """

    structure_entries: int
    holds: str
    held: float
    covered: float | None
    engine: str | None = None
    parameter: str | None = None
    engine_entries: int | None = None
    memory_entries: int | None = None
    half: Alternative | None = None
    twice: Alternative | None = None

    def __str__(self) -> str:
        """Say it in one paragraph."""
        if not self.structure_entries:
            return "Recommendation: no entry; no receive or message ever waits in a queue."
        count = self.structure_entries
        each = "one structure for each queue" if self.holds == "oldest_of_queue" else "one for both queues"
        on = each
        if self.engine is not None:
            whole = [
                f"{tables.count(number)} {name} entries"
                for number, name in ((self.engine_entries, "engine"), (self.memory_entries, "memory"))
                if number is not None
            ]
            on = f"{self.engine} with {self.parameter}={count}, {each}"
            on += f"; {' and '.join(whole)} in all" if whole else ""
        held = f"They hold {percent(self.held)} of the insertions"
        if self.covered is not None:
            held += f", and {percent(self.covered)} of the searches end within them"
        return (
            f"Recommendation: {tables.count(count)} structure {'entry' if count == 1 else 'entries'} ({on}). "
            f"{held}. {self._alternatives()}."
        )

    def _alternatives(self) -> str:
        if self.engine is None:
            return "The cost of half and twice as many was not replayed"
        said = [
            f"with {name} ({tables.count(other.structure_entries)}), {_change(other.change)}"
            for name, other in (("half as many", self.half), ("twice as many", self.twice))
            if other is not None
        ]
        text = "; ".join(said) or "the cost of half and twice as many is unknown: a replay did not finish"
        return text[0].upper() + text[1:]


def _change(change: float) -> str:
    if abs(change) < _SMALLEST_CHANGE:
        return "the run time does not change"
    return f"the program is {percent(abs(change))} {'slower' if change > 0 else 'faster'}"


def least_entries(curves: pl.DataFrame, holds: str) -> int:
    """Give the least number of structure entries that holds almost all insertions into either queue.

    Parameters
    ----------
    curves
        The table of this name, of one trace or of several.
    holds
        What one structure holds.
    """
    rows = curves.filter(pl.col("rank").is_null(), pl.col("measure") == holds)
    least = [0]
    for _, curve in rows.group_by("trace", "queue", maintain_order=True):
        steps = curve.sort("structure_entries")
        allowed = (1 - HELD) * steps["value"][0]
        least.append(steps.filter(pl.col("value") <= allowed)["structure_entries"][0])
    return max(least)


def beyond(curves: pl.DataFrame, measure: str, entries: int) -> tuple[float, float]:
    """Give what is beyond a number of structure entries, and all of it, summed over traces and queues.

    Parameters
    ----------
    curves
        The table of this name.
    measure
        One of its measures.
    entries
        The number.
    """
    rows = curves.filter(pl.col("rank").is_null(), pl.col("measure") == measure).sort("structure_entries")
    left = whole = 0.0
    for _, curve in rows.group_by("trace", "queue", maintain_order=True):
        left += curve.filter(pl.col("structure_entries") <= entries)["value"][-1]
        whole += curve["value"][0]
    return left, whole


def shares(curves: pl.DataFrame, searches: float, holds: str, entries: int) -> tuple[float, float | None]:
    """Give the shares of the insertions held, and of the searches that end within the structure.

    Parameters
    ----------
    curves
        The table of this name.
    searches
        All searches; the curve of searches begins with those that compare an entry.
    holds
        What one structure holds.
    entries
        Its structure entries.
    """
    overflows, insertions = beyond(curves, holds, entries)
    held = 1 - overflows / insertions if insertions else 1.0
    if holds != "oldest_of_queue":
        return held, None
    return held, 1 - beyond(curves, "searches", entries)[0] / searches if searches else 1.0


def alternative(
    entries: int, changed: Mapping[str, float | None], recommended: Mapping[str, float | None]
) -> Alternative | None:
    """Compare the slowdowns of each trace with those of the recommended number.

    Parameters
    ----------
    entries
        The other number of structure entries.
    changed, recommended
        Slowdown by trace, with it and with the recommended number; None if a replay did not finish.
    """
    changes = []
    for trace, base in recommended.items():
        other = changed.get(trace)
        if other is None or not base:
            return None
        changes.append(other / base - 1)
    return Alternative(structure_entries=entries, change=max(changes, key=abs)) if changes else None


def fastest(costs: pl.DataFrame, engines: Sequence[str]) -> str | None:
    """Name the engine on which the programs run fastest with the largest structure that was replayed.

    Parameters
    ----------
    costs
        The table of this name.
    engines
        The engines to choose from, as `engine:preset`; of equal ones the first.
    """
    found: list[tuple[float, int, str]] = []
    for at, label in enumerate(engines):
        rows = costs.filter(pl.format("{}:{}", "engine", "preset") == label)
        if rows.is_empty() or rows["slowdown"].null_count() or rows["implausible"].is_not_null().any():
            continue
        largest = rows.group_by("trace").agg(pl.col("slowdown").sort_by("structure_entries").last())
        logarithms = [math.log(value) for value in largest["slowdown"] if value > 0]
        found.append((round(sum(logarithms) / max(len(logarithms), 1), 9), at, label))
    return min(found)[2] if found else None
