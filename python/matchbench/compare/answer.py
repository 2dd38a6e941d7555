# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The answer of a comparison: what its tables say about the programs, in five sentences.

The numbers are computed here from the tables; :mod:`matchbench.answer_text` writes the sentences.
"""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from matchbench.compare import answer_text, coverage
from matchbench.compare.thresholds import MATTERS, MATTERS_MUCH
from matchbench.compare.trust import Trust, trust

if TYPE_CHECKING:
    from matchbench.compare.comparison import Comparison

_MOST_OF = 0.9
"""Share of the waiting of all ranks that the ranks named as concerned have together."""
_FEW = 0.25
"""Share of the ranks up to which those are called few."""
_EVEN = 2.0
"""Ratio of the longest wait of a rank to the median up to which ranks are called alike."""
_ONE_SIDED = 0.1
"""Share of the time in calls from which an answer says that its run time lacks one-sided communication."""


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
        The rank that waits for the largest share of its run time, and this share.
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
class Interval:
    """A number over several recordings of one program.

    Parameters
    ----------
    low, median, high
        Smallest value, median, largest value.
    recordings
        How many have it.
    """

    low: float
    median: float
    high: float
    recordings: int

    def straddles(self, threshold: float) -> bool:
        """Whether some recordings are below a threshold, and others are not.

        Parameters
        ----------
        threshold
            The threshold.
        """
        return self.low < threshold <= self.high


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A trace of which too little is replayed for an answer.

    Parameters
    ----------
    trace
        Its name.
    share, of
        The largest share that is not replayed, and what it is a share of.
    what
        The most frequent kind of calls that are not replayed.
    """

    trace: str
    share: float
    of: str
    what: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class OneSided:
    """One-sided communication of a trace, which matches nothing.

    Parameters
    ----------
    trace
        Its name.
    calls
        Calls.
    share
        Their share of the recorded time in calls that communicate.
    """

    trace: str
    calls: int
    share: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Polling:
    """The replay of unsuccessful tests and probes by the other rule.

    Parameters
    ----------
    rule
        The other rule: `waiting` or `recorded`.
    cost
        Cost of matching by it.
    ratio
        Run time by it, over that of the replay.
    """

    rule: str
    cost: float
    ratio: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer of a comparison.

    Parameters
    ----------
    reference
        The engine on which the cost of matching is computed, as `engine:preset`.
    costs
        Share of the run time that matching costs on it, by trace, worst first; without traces that did not
        finish, and without those in `refused`.
    interval
        Its interval, if the traces are recordings of one program.
    refused
        Traces of which too little is replayed for an answer.
    one_sided
        The trace with the largest share of one-sided communication, if it matters to the answer.
    partitioned
        Partitioned messages, whose starts match nothing.
    silent
        Whether no message of any trace in `costs` matched a receive.
    shown
        The trace of the numbers of single ranks and of changes: the worst one, or of several recordings the
        median; None if no trace finished.
    ranks
        Which ranks of this trace are concerned.
    threshold
        Relative difference of run times below which engines are in one class.
    classes
        Classes of the simulated engines that keep MPI's order, fastest first.
    simulated
        Number of these engines.
    implausible
        What the engines that are in no class did that no engine can do, by `engine:preset`.
    borderline
        Engines that are within the threshold of the fastest one in some recordings and not in others, with
        the interval of the difference; they are in no class.
    base, changes
        Cost in the shown trace as given, and after each change.
    polling
        The replay with the other rule of polls, if it changes the answer.
    trust
        What the result rests on.
    """

    reference: str
    costs: Mapping[str, float]
    interval: Interval | None
    refused: tuple[Refusal, ...]
    one_sided: OneSided | None
    partitioned: int
    silent: bool
    shown: str | None
    ranks: Ranks | None
    threshold: float
    classes: tuple[EngineClass, ...]
    simulated: int
    implausible: Mapping[str, str]
    borderline: Mapping[str, Interval]
    base: float | None
    changes: tuple[Change, ...]
    polling: Polling | None
    trust: Trust

    @property
    def worst(self) -> str | None:
        """The trace in which matching costs the largest share; None if no trace finished."""
        return next(iter(self.costs), None)

    @property
    def sentences(self) -> dict[str, str]:
        """The five sentences: `matters`, `ranks`, `engines`, `changes` and `trust`."""
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
    refused = tuple(_refusal(row) for row in reference.iter_rows(named=True) if coverage.is_refused(row))
    answered = reference.filter(~pl.col("trace").is_in([each.trace for each in refused]))
    costs = answered.filter(pl.col("cost_share").is_not_null()).sort(
        "cost_share", descending=True, maintain_order=True
    )
    by_trace: dict[str, float] = dict(costs.select("trace", "cost_share").iter_rows())
    variations = comparison.variations
    base = variations.filter(change="none")["cost_share"].to_list()
    rests = trust(comparison, base[0] if base else None)
    noise = [abs(each - base[0]) for each in (rests.low, rests.high) if each is not None]
    threshold = max(MATTERS, *noise, 0.0)
    slowdowns = _slowdowns(comparison.results.filter(pl.col("trace").is_in(answered["trace"].to_list())))
    borderline = _borderline(slowdowns, threshold) if comparison.repeat else {}
    simulated = len(slowdowns)
    if comparison.repeat:
        medians = {label: {"": statistics.median(of.values())} for label, of in slowdowns.items()}
        slowdowns = {label: of for label, of in medians.items() if label not in borderline}
    classes = _classes(slowdowns, threshold)
    shown = next(iter(variations["trace"]), next(iter(by_trace), None))
    first = reference.row(0, named=True) if reference.height else {"engine": "", "preset": ""}
    return Answer(
        reference=f"{first['engine']}:{first['preset']}",
        costs=by_trace,
        interval=_interval(list(by_trace.values())) if comparison.repeat and by_trace else None,
        refused=refused,
        one_sided=_one_sided(answered),
        partitioned=int(answered["partitioned"].sum()),
        silent=not answered["matches"].sum(),
        shown=shown,
        ranks=_ranks(comparison.reference_ranks.filter(trace=shown)) if shown else None,
        threshold=threshold,
        classes=classes,
        implausible=_implausible(comparison.results),
        simulated=simulated,
        borderline=borderline,
        base=base[0] if base else None,
        changes=_changes(variations),
        polling=_polling(variations, comparison.results),
        trust=rests,
    )


def _refusal(row: Mapping[str, Any]) -> Refusal:
    share, of = coverage.missing(row)
    return Refusal(trace=row["trace"], share=share, of=of, what=row["unreplayed"])


def _one_sided(reference: pl.DataFrame) -> OneSided | None:
    """Find the trace with most one-sided communication, if that is much or nothing is matched."""
    rows = reference.filter(pl.col("one_sided_calls") > 0).sort(
        "one_sided_time_share", descending=True, nulls_last=True, maintain_order=True
    )
    for row in rows.head(1).iter_rows(named=True):
        share = row["one_sided_time_share"] or 0.0
        if share >= _ONE_SIDED or not row["matches"]:
            return OneSided(trace=row["trace"], calls=row["one_sided_calls"], share=share)
    return None


def _interval(values: Sequence[float]) -> Interval:
    return Interval(
        low=min(values), median=statistics.median(values), high=max(values), recordings=len(values)
    )


def _polling(variations: pl.DataFrame, results: pl.DataFrame) -> Polling | None:
    """Compare the two rules of polls; None unless they differ by more than the threshold."""
    found = variations.filter(pl.col("change").is_in(["none", "polls"]), pl.col("cost_share").is_not_null())
    rows = {row["change"]: row for row in found.iter_rows(named=True)}
    if len(rows) < 2:
        return None
    base, other = rows["none"], rows["polls"]
    ratio = other["time_ns"] / base["time_ns"] if base["time_ns"] else 1.0
    flips = (base["cost_share"] < MATTERS) != (other["cost_share"] < MATTERS)
    differs = abs(base["cost_share"] - other["cost_share"]) >= MATTERS or abs(ratio - 1) >= MATTERS_MUCH
    if not flips and not differs:
        return None
    rule = "waiting" if results["polls"].first() == "recorded" else "recorded"
    return Polling(rule=rule, cost=other["cost_share"], ratio=ratio)


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
    # By share: the rank that waits longest may be one that also runs longest.
    worst = max(by_rank, key=lambda rank: (by_rank[rank], -rank))
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


def _slowdowns(results: pl.DataFrame) -> dict[str, dict[str, float]]:
    """Give the slowdowns of ranked engines by trace, without traces that one of them did not finish."""
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
    return {label: of for label, of in slowdowns.items() if of}


def _borderline(slowdowns: Mapping[str, Mapping[str, float]], threshold: float) -> dict[str, Interval]:
    """Compare every engine with the one of the least median, recording by recording."""
    if not slowdowns:
        return {}
    fastest = min(slowdowns.values(), key=lambda of: statistics.median(of.values()))
    behind = {
        label: _interval([of[trace] / fastest[trace] - 1 for trace in of]) for label, of in slowdowns.items()
    }
    return {label: each for label, each in behind.items() if each.straddles(threshold)}


def _classes(slowdowns: Mapping[str, Mapping[str, float]], threshold: float) -> tuple[EngineClass, ...]:
    """Group engines, fastest first: one joins a class if it is near all others in every trace."""
    means = {label: geometric_mean(list(of.values())) for label, of in slowdowns.items()}
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
        pl.col("change").is_in(["depth", "matching", "compute", "network"]),
        pl.col("cost_share").is_not_null(),
    )
    return tuple(
        Change(change=change, factor=factor, cost=cost)
        for change, factor, cost in rows.select("change", "factor", "cost_share").iter_rows()
    )
