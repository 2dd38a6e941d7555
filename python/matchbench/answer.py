# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The answer of a comparison: what its tables say about the programs, in five sentences.

The numbers are computed here from the tables; :mod:`matchbench.answer_text` writes the sentences.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from matchbench.comparison import Comparison

MATTERS = 0.01
"""Share of the run time from which matching matters, and difference from which engines differ; assumed."""

MATTERS_MUCH = 0.05
"""Share of the run time from which matching matters much; assumed."""

_MOST_OF = 0.9
"""Share of the waiting of all ranks that the ranks named as concerned have together."""
_FEW = 0.25
"""Share of the ranks up to which those are called few."""
_EVEN = 2.0
"""Ratio of the longest wait of a rank to the median up to which ranks are called alike."""
_DEPENDS = 0.1
"""Relative change of the cost, when a parameter is doubled, from which the result depends on it; assumed."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """Which ranks of the worst trace wait for matching on the reference engine.

    Parameters
    ----------
    count
        Ranks of the trace.
    pattern
        `none` waits, a `few` do, `all` about alike, or the waiting is `uneven`.
    concerned
        Ranks with nine tenths of the waiting, longest first; with `all`, all of them.
    share
        Their share of the waiting of all ranks, 0 to 1.
    worst, worst_share
        The rank that waits longest, and the share of its run time that it waits.
    median_share
        Median of this share over the ranks.
    """

    count: int
    pattern: str
    concerned: tuple[int, ...]
    share: float
    worst: int
    worst_share: float
    median_share: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class EngineClass:
    """Engines whose run times differ by less than the threshold in every trace.

    Parameters
    ----------
    engines
        As `engine:preset`, fastest first.
    fastest, slowest
        Smallest and largest slowdown of any of them, geometric means over the traces.
    """

    engines: tuple[str, ...]
    fastest: float
    slowest: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The cost of matching in the worst trace after one change.

    Parameters
    ----------
    change
        `depth`, `matching`, `compute` or `network`, as in table `variations`.
    factor
        Factor by which times were multiplied.
    cost
        Share of the run time that matching costs then.
    """

    change: str
    factor: float
    cost: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """What the result depends on.

    Parameters
    ----------
    varied
        Numeric parameters of the reference engine and the network that were varied.
    depends
        Those on which the cost depends, as `part.parameter`.
    assumed
        Those of `depends` whose source is an assumption.
    low, high
        Smallest and largest cost when one assumed parameter is doubled or halved; None without one.
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
    depends: tuple[str, ...]
    assumed: tuple[str, ...]
    low: float | None
    high: float | None
    oversubscribed: tuple[str, ...]
    ranks_per_processor: float | None
    waiting_share: float | None
    untold: tuple[str, ...]
    incomplete: tuple[str, ...]
    measured: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer of a comparison.

    Parameters
    ----------
    reference
        The engine on which the cost of matching is computed, as `engine:preset`.
    costs
        Share of the run time that matching costs on it, by trace, worst first; without traces that did not
        finish.
    silent
        Whether no message of any trace matched a receive.
    ranks
        Which ranks of the worst trace are concerned; None if no trace finished.
    threshold
        Relative difference of run times below which engines are in one class.
    classes
        Classes of the simulated engines that keep MPI's order, fastest first.
    simulated
        Number of these engines.
    implausible
        What the engines that are in no class did that no engine can do, by `engine:preset`.
    base, changes
        Cost in the worst trace as given, and after each change.
    trust
        What the result rests on.
    """

    reference: str
    costs: Mapping[str, float]
    silent: bool
    ranks: Ranks | None
    threshold: float
    classes: tuple[EngineClass, ...]
    simulated: int
    implausible: Mapping[str, str]
    base: float | None
    changes: tuple[Change, ...]
    trust: Trust

    @property
    def worst(self) -> str | None:
        """The trace in which matching costs the largest share; None if no trace finished."""
        return next(iter(self.costs), None)

    @property
    def sentences(self) -> dict[str, str]:
        """The five sentences: `matters`, `ranks`, `engines`, `changes` and `trust`."""
        from matchbench import answer_text

        return answer_text.sentences(self)

    def to_dict(self) -> dict[str, Any]:
        """Give the sentences and their numbers, as in `results.json`."""
        return {"sentences": self.sentences, **dataclasses.asdict(self)}


def answer(comparison: Comparison) -> Answer:
    """Compute the answer from the tables.

    Parameters
    ----------
    comparison
        The tables `results`, `reference`, `reference_ranks` and `variations`.
    """
    reference = comparison.reference
    costs = reference.filter(pl.col("cost_share").is_not_null()).sort(
        "cost_share", descending=True, maintain_order=True
    )
    by_trace = dict(costs.select("trace", "cost_share").iter_rows())
    variations = comparison.variations
    base = variations.filter(change="none")["cost_share"].to_list()
    trust = _trust(comparison, base[0] if base else None)
    noise = [abs(each - base[0]) for each in (trust.low, trust.high) if each is not None]
    threshold = max(MATTERS, *noise, 0.0)
    classes = _classes(comparison.results, threshold)
    first = reference.row(0, named=True) if reference.height else {"engine": "", "preset": ""}
    return Answer(
        reference=f"{first['engine']}:{first['preset']}",
        costs=by_trace,
        silent=not reference["matches"].sum(),
        ranks=_ranks(comparison.reference_ranks.filter(trace=next(iter(by_trace)))) if by_trace else None,
        threshold=threshold,
        classes=classes,
        simulated=sum(len(each.engines) for each in classes),
        implausible=_implausible(comparison.results),
        base=base[0] if base else None,
        changes=_changes(variations),
        trust=trust,
    )


def _ranks(ranks: pl.DataFrame) -> Ranks:
    """Find the ranks that wait for matching."""
    waits = list(ranks.select("rank", "blocked_on_matching_ns").iter_rows())
    waits.sort(key=lambda wait: (-wait[1], wait[0]))
    shares = ranks.select(pl.col("blocked_on_matching_ns") / pl.col("time_ns")).to_series().fill_nan(0)
    whole_ns = sum(wait_ns for _, wait_ns in waits)
    concerned: list[int] = []
    sum_ns = 0.0
    for rank, wait_ns in waits:
        if sum_ns >= _MOST_OF * whole_ns:
            break
        concerned.append(rank)
        sum_ns += wait_ns
    by_rank = dict(zip(ranks["rank"], shares, strict=True))
    worst = waits[0][0]
    median = _number(shares.median())
    if not whole_ns:
        pattern = "none"
    elif by_rank[worst] <= _EVEN * median:
        pattern, concerned, sum_ns = "all", [rank for rank, _ in waits], whole_ns
    else:
        pattern = "few" if len(concerned) <= max(1, _FEW * len(waits)) else "uneven"
    return Ranks(
        count=len(waits),
        pattern=pattern,
        concerned=tuple(concerned),
        share=sum_ns / whole_ns if whole_ns else 0.0,
        worst=worst,
        worst_share=by_rank[worst],
        median_share=median,
    )


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _classes(results: pl.DataFrame, threshold: float) -> tuple[EngineClass, ...]:
    """Group engines, fastest first: one joins a class if it is near all others in every trace."""
    named = pl.format("{}:{}", "engine", "preset").alias("label")
    rows = results.filter(
        pl.col("timing") == "simulated", "keeps_order", ~named.is_in(list(_implausible(results)))
    ).select(named, "trace", "slowdown")
    slowdowns: dict[str, dict[str, float]] = {}
    unfinished = set()
    for label, trace, slowdown in rows.iter_rows():
        slowdowns.setdefault(label, {})[trace] = slowdown
        if slowdown is None:
            unfinished.add(trace)
    for of in slowdowns.values():
        for trace in unfinished:
            of.pop(trace, None)
    means = {label: geometric_mean(list(of.values())) for label, of in slowdowns.items() if of}
    classes: list[list[str]] = []
    for label in sorted(means, key=lambda each: (means[each], each)):
        if classes and all(_near(slowdowns[label], slowdowns[other], threshold) for other in classes[-1]):
            classes[-1].append(label)
        else:
            classes.append([label])
    return tuple(
        EngineClass(engines=tuple(each), fastest=means[each[0]], slowest=means[each[-1]]) for each in classes
    )


def _implausible(results: pl.DataFrame) -> dict[str, str]:
    """Give the reason of each engine that is implausible in a trace: that of the first such trace."""
    rows = results.filter(pl.col("implausible").is_not_null())
    found: dict[str, str] = {}
    for label, reason in rows.select(pl.format("{}:{}", "engine", "preset"), "implausible").iter_rows():
        found.setdefault(label, reason)
    return found


def geometric_mean(values: Sequence[float]) -> float:
    """Give the geometric mean of positive numbers.

    Parameters
    ----------
    values
        At least one number.
    """
    return math.exp(sum(map(math.log, values)) / len(values))


def _near(one: Mapping[str, float], other: Mapping[str, float], threshold: float) -> bool:
    return all(
        max(one[trace], other[trace]) < (1 + threshold) * min(one[trace], other[trace]) for trace in one
    )


def _changes(variations: pl.DataFrame) -> tuple[Change, ...]:
    rows = variations.filter(
        ~pl.col("change").is_in(["none", "parameter"]), pl.col("cost_share").is_not_null()
    )
    return tuple(
        Change(change=change, factor=factor, cost=cost)
        for change, factor, cost in rows.select("change", "factor", "cost_share").iter_rows()
    )


def _trust(comparison: Comparison, base: float | None) -> Trust:
    varied: dict[str, list[dict[str, Any]]] = {}
    for row in comparison.variations.filter(change="parameter").iter_rows(named=True):
        varied.setdefault(f"{row['part']}.{row['parameter']}", []).append(row)
    assumed = {name for name, rows in varied.items() if rows[0]["source"] == "assumed"}
    costs = {
        name: [row["cost_share"] for row in rows if row["cost_share"] is not None]
        for name, rows in varied.items()
    }
    depends = tuple(
        name
        for name, each in costs.items()
        if base is not None and any(abs(cost - base) > _DEPENDS * abs(base) for cost in each)
    )
    extremes = [cost for name in assumed for cost in costs[name]]
    reference, results = comparison.reference, comparison.results
    crowded = reference.filter(pl.col("host_ranks") > pl.col("host_processors"))
    unfinished = results.filter(pl.col("keeps_order"), finished=False)["trace"].to_list()
    cut = reference.filter(pl.col("state") != "complete")["trace"].to_list()
    ratio = crowded.select(pl.col("host_ranks") / pl.col("host_processors")).to_series().max()
    waiting = crowded["waiting_share"].max()
    return Trust(
        varied=len(varied),
        depends=depends,
        assumed=tuple(name for name in depends if name in assumed),
        low=min(extremes, default=None),
        high=max(extremes, default=None),
        oversubscribed=tuple(crowded["trace"]),
        ranks_per_processor=None if ratio is None else _number(ratio),
        waiting_share=None if waiting is None else _number(waiting),
        untold=tuple(reference.filter(pl.col("host_ranks").is_null())["trace"]),
        incomplete=tuple(dict.fromkeys([*unfinished, *cut])),
        measured=results["host"].count(),
    )
