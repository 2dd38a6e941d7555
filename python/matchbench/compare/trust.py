# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What an answer rests on, computed from the replays in which one thing was changed."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from matchbench.compare.comparison import Comparison

DEPENDS = 0.1
"""Relative change of the cost, when one thing is changed, from which the result depends on it; assumed."""

_MOST = 3
"""Things named in the answer."""
_OF_RECORDING = ("polls", "shared", "arrivals", "wildcards")
_FILES = ("library", "python", "program")
"""Parameters that name the file of an engine."""
_SAME = {"arrivals": "network.latency"}
"""Parameters that a change of the recording moves further."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """One thing that the answer rests on.

    Parameters
    ----------
    name
        `part.parameter`, or the `change` of table `variations`.
    source
        Source of the parameter; None for what is not one.
    low, high
        Smallest and largest cost after its changes.
    effect
        Largest change of the cost.
    """

    name: str
    source: str | None
    low: float
    high: float
    effect: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """What the result depends on.

    Parameters
    ----------
    varied
        Numeric parameters of the reference engine and the network that were varied.
    changed
        Other things that were varied: values of column `change` of table `variations`.
    rests
        The three things that change the cost most, of those that change it by more than a tenth of its value.
    depends
        Parameters on which the cost depends, as `part.parameter`.
    assumed
        Those of `depends` whose source is an assumption.
    low, high
        Smallest and largest cost when one assumed parameter is doubled or halved; None without one.
    unvaried
        Engines of the comparison whose own parameters are all assumed, as `engine:preset`; none was varied.
    unexpected, unexpected_recorded
        Share of messages that are unexpected in the replay, and the largest one that the recording allows.
    oversubscribed
        Traces recorded with more ranks than processors, with the largest ratio, and the largest share of the
        time in which ranks waited for a processor.
    ranks_per_processor, waiting_share
        These two; None if no trace has this information.
    untold
        Traces that do not say whether ranks shared processors.
    incomplete
        Traces that are not complete, or did not finish their replay.
    measured
        Rows of `results` that were measured on this host.
    """

    varied: int
    changed: tuple[str, ...]
    rests: tuple[Rest, ...]
    depends: tuple[str, ...]
    assumed: tuple[str, ...]
    low: float | None
    high: float | None
    unvaried: tuple[str, ...]
    unexpected: float | None
    unexpected_recorded: float | None
    oversubscribed: tuple[str, ...]
    ranks_per_processor: float | None
    waiting_share: float | None
    untold: tuple[str, ...]
    incomplete: tuple[str, ...]
    measured: int


def trust(comparison: Comparison, base: float | None) -> Trust:
    """Compute it from the tables.

    Parameters
    ----------
    comparison
        The tables `results`, `parameters`, `reference` and `variations`.
    base
        The cost without a change; None if nothing was varied.
    """
    things = _things(comparison.variations)
    of = [each for each in (_rest(name, rows, base) for name, rows in things.items()) if each]
    depends = [each for each in of if each.effect > DEPENDS * abs(base or 0.0)]
    moved = {_SAME.get(each.name) for each in depends}
    ranked = sorted(depends, key=lambda each: (-each.effect, each.name))
    extremes = [cost for each in of if each.source == "assumed" for cost in (each.low, each.high)]
    reference, results = comparison.reference, comparison.results
    crowded = reference.filter(pl.col("host_ranks") > pl.col("host_processors"))
    unfinished = results.filter(pl.col("keeps_order"), finished=False)["trace"].to_list()
    cut = reference.filter(pl.col("state") != "complete")["trace"].to_list()
    ratio = crowded.select(pl.col("host_ranks") / pl.col("host_processors")).to_series().max()
    waiting = crowded["waiting_share"].max()
    shown = reference.filter(trace=next(iter(comparison.variations["trace"]), "")).to_dicts()
    parameters = [each for each in depends if each.source is not None]
    return Trust(
        varied=sum(name not in _OF_RECORDING for name in things),
        changed=tuple(name for name in things if name in _OF_RECORDING),
        rests=tuple(each for each in ranked if each.name not in moved)[:_MOST],
        depends=tuple(each.name for each in parameters),
        assumed=tuple(each.name for each in parameters if each.source == "assumed"),
        low=min(extremes, default=None),
        high=max(extremes, default=None),
        unvaried=_unvaried(comparison),
        unexpected=shown[0]["unexpected_share"] if shown else None,
        unexpected_recorded=shown[0]["unexpected_recorded"] if shown else None,
        oversubscribed=tuple(crowded["trace"]),
        ranks_per_processor=None if ratio is None else _number(ratio),
        waiting_share=None if waiting is None else _number(waiting),
        untold=tuple(reference.filter(pl.col("host_ranks").is_null())["trace"]),
        incomplete=tuple(dict.fromkeys([*unfinished, *cut])),
        measured=results["host"].count(),
    )


def _things(variations: pl.DataFrame) -> dict[str, list[dict[str, Any]]]:
    """Group the replays by what was changed in them: a parameter, or something of the recording."""
    things: dict[str, list[dict[str, Any]]] = {}
    for row in variations.filter(pl.col("change").is_in(["parameter", *_OF_RECORDING])).iter_rows(named=True):
        is_parameter = row["change"] == "parameter"
        name = f"{row['part']}.{row['parameter']}" if is_parameter else row["change"]
        things.setdefault(name, []).append(row)
    return things


def _rest(name: str, rows: list[dict[str, Any]], base: float | None) -> Rest | None:
    costs = [row["cost_share"] for row in rows if row["cost_share"] is not None]
    if base is None or not costs:
        return None
    effect = max(abs(cost - base) for cost in costs)
    return Rest(name=name, source=rows[0]["source"], low=min(costs), high=max(costs), effect=effect)


def _unvaried(comparison: Comparison) -> tuple[str, ...]:
    """Name the simulated engines whose own parameters are all assumed, except the reference."""
    first = comparison.reference.row(0, named=True) if comparison.reference.height else {}
    simulated = {
        (row["engine"], row["preset"]): None
        for row in comparison.results.filter(timing="simulated").iter_rows(named=True)
    }
    found = []
    for engine, preset in simulated:
        mine = comparison.parameters.filter(part="engine", engine=engine, preset=preset)
        sources = mine.filter(~pl.col("parameter").is_in(_FILES))["source"]
        is_reference = (engine, preset) == (first.get("engine"), first.get("preset"))
        if sources.len() and not is_reference and all(sources == "assumed"):
            found.append(f"{engine}:{preset}")
    return tuple(found)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
