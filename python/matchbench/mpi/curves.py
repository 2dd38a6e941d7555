# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Evaluates a curve of times against depth: cost per entry, break-even depths, and kind of growth.

All times are nanoseconds. A curve consists of repetitions (sweeps): each has one time for each depth,
measured in direct succession, so that drift of the machine affects all depths of a sweep equally.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

FLAT_NS = 0.1
"""Cost per entry below which a structure does not walk entries, in nanoseconds.

Measured (`docs/mpi-bench.md`): the cheapest list of nine MPI stacks costs 1.0 ns per entry, structures
without a list less than 0.01 ns at these depths. The threshold is a tenth of the former and ten times the
latter.
"""

DECIDING_DEPTH = 4096
"""Largest depth for verdicts: beyond it, caches and address translation dominate."""

LEAST_DEPTH = 256
"""Smallest last depth for a verdict."""

CACHED = {"l1": (64, 256), "l2": (1024, 4096), "deep": (16384, 1 << 30)}
"""Depth ranges for the cost per entry: assumed to be lists in the L1 cache, in the L2 cache, and in neither.

A search touches about two lines of 64 bytes of each entry: 32 KB for 256 entries, 512 KB for 4096, 2 MB for
16384.
"""

CLIFF = 2.0
"""Ratio of the cost per entry in no cache to that in the L2 cache above which a curve has a cliff."""

SUBLINEAR = 0.7
"""Exponent of growth below which a curve is not a walk of all entries."""

_SURE = 0.85  # probability with which an interval of order statistics holds the median

Verdict = Literal["flat", "linear", "sublinear", "undecided"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """Times at one depth: median and quartiles of the repetitions, ns.

    Parameters
    ----------
    depth
        Entries queued.
    ns_median, ns_q1, ns_q3
        Median, first and third quartile of the repetitions, each the median of some operations.
    repetitions
        Number of repetitions.
    operations
        Operations of all repetitions.
    """

    depth: int
    ns_median: float
    ns_q1: float
    ns_q3: float
    repetitions: int
    operations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """The evaluation of one curve.

    Parameters
    ----------
    base_ns
        Time at the smallest depth, median.
    verdict
        `flat`, `linear`, `sublinear` or `undecided`.
    entry_ns, entry_low_ns, entry_high_ns
        Cost per entry at the deciding depths, and an interval that contains it with a probability of at least
        85 %; None for a curve that is too short.
    exponent
        p of a growth with depth to the power of p; None where noise hides it.
    entry_l1_ns, entry_l2_ns, entry_deep_ns
        (t(D) - t(0)) / D, median over the depths of `CACHED`; None without such depths.
    tenth_depth, twice_depth
        Depth at which the time is 1.1 and 2 times the base, interpolated; None if it never is.
    """

    base_ns: float
    verdict: Verdict
    entry_ns: float | None
    entry_low_ns: float | None
    entry_high_ns: float | None
    exponent: float | None
    entry_l1_ns: float | None
    entry_l2_ns: float | None
    entry_deep_ns: float | None
    tenth_depth: float | None
    twice_depth: float | None

    @property
    def cliff(self) -> bool:
        """Whether an entry in no cache costs much more than one in the L2 cache."""
        return (
            self.verdict == "linear"
            and self.entry_l2_ns is not None
            and self.entry_deep_ns is not None
            and self.entry_deep_ns > CLIFF * max(self.entry_l2_ns, FLAT_NS)
        )


def point(depth: int, times: Sequence[float], operations: int) -> Point:
    """Summarize the repetitions at one depth."""
    q1, median, q3 = np.quantile(np.asarray(times, dtype=float), (0.25, 0.5, 0.75))
    return Point(
        depth=depth,
        ns_median=float(median),
        ns_q1=float(q1),
        ns_q3=float(q3),
        repetitions=len(times),
        operations=operations,
    )


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Give the narrowest symmetric interval of order statistics that contains the median with 85 % or more.

    With fewer than four values there is none, and the interval is their range.
    """
    ordered = sorted(values)
    count = len(ordered)
    leave = 0

    def missed(leave: int) -> float:
        # The median lies outside when at most `leave` of `count` fair coins fall on one of its sides.
        return float(2 * sum(math.comb(count, each) for each in range(leave + 1)) / 2**count)

    while leave + 1 <= (count - 1) // 2 and missed(leave + 1) <= 1 - _SURE:
        leave += 1
    return ordered[leave], ordered[count - 1 - leave]


def curve(times: Mapping[int, Sequence[float]]) -> Curve:
    """Evaluate a curve.

    Parameters
    ----------
    times
        Times by depth, one for each repetition, in the order of repetitions; at least one depth.
    """
    depths = sorted(depth for depth in times if times[depth])
    median = {depth: float(np.median(times[depth])) for depth in depths}
    base = median[depths[0]]

    def entry(depth: int) -> float:
        return (median[depth] - base) / (depth - depths[0])

    cached = {
        name: [entry(depth) for depth in depths if low <= depth <= high and depth > depths[0]]
        for name, (low, high) in CACHED.items()
    }
    costs = {name: float(np.median(found)) if found else None for name, found in cached.items()}
    measured = _measured(times, depths, base)
    exponent = _exponent(times, depths, base)
    low, high = _interval(measured, times[depths[0]], base, depths) if measured else (None, None)
    return Curve(
        base_ns=base,
        verdict=_verdict(low, high, exponent),
        entry_ns=float(np.median(measured)) if measured else None,
        entry_low_ns=low,
        entry_high_ns=high,
        exponent=exponent,
        entry_l1_ns=costs["l1"],
        entry_l2_ns=costs["l2"],
        entry_deep_ns=costs["deep"],
        tenth_depth=_reaches(median, 1.1 * base),
        twice_depth=_reaches(median, 2 * base),
    )


def _measured(times: Mapping[int, Sequence[float]], depths: Sequence[int], base: float) -> list[float]:
    """Give a cost per entry for each repetition: the median over the deciding depths."""
    deep = _deciding(depths)
    if not deep:
        return []
    repetitions = min(len(times[depth]) for depth in deep)
    return [
        float(np.median([(times[depth][at] - base) / (depth - depths[0]) for depth in deep]))
        for at in range(repetitions)
    ]


def _deciding(depths: Sequence[int]) -> list[int]:
    """Give the deciding depths: the deepest up to `DECIDING_DEPTH`, and those down to a quarter of it."""
    shallow = [depth for depth in depths if depth <= DECIDING_DEPTH]
    if not shallow or shallow[-1] < LEAST_DEPTH:
        return []
    return [depth for depth in shallow if depth >= shallow[-1] / 4 and depth > depths[0]]


def _interval(
    measured: Sequence[float], bases: Sequence[float], base: float, depths: Sequence[int]
) -> tuple[float, float]:
    """Widen the interval of the costs by the uncertainty of the time at the smallest depth."""
    low, high = interval(measured)
    base_low, base_high = interval(bases)
    across = float(np.median(_deciding(depths))) - depths[0]
    return low - (base_high - base) / across, high + (base - base_low) / across


def _exponent(times: Mapping[int, Sequence[float]], depths: Sequence[int], base: float) -> float | None:
    """Fit p of `t(D) - t(0) ~ D^p` on logarithmic axes, where the growth exceeds the spread."""
    noise = max(float(np.ptp(np.quantile(times[depths[0]], (0.25, 0.75)))), 0.05 * base)
    clear = [
        (depth, float(np.median(times[depth])) - base)
        for depth in depths
        if 0 < depth <= DECIDING_DEPTH and np.median(times[depth]) - base > 2 * noise
    ]
    if len(clear) < 3:
        return None
    x, y = np.log([depth for depth, _ in clear]), np.log([excess for _, excess in clear])
    return float(np.polyfit(x, y, 1)[0])


def _verdict(low: float | None, high: float | None, exponent: float | None) -> Verdict:
    if low is None or high is None:
        return "undecided"
    if low > -FLAT_NS and high < FLAT_NS:
        return "flat"
    if low <= FLAT_NS:
        return "undecided"
    return "sublinear" if exponent is not None and exponent < SUBLINEAR else "linear"


def _reaches(median: Mapping[int, float], limit: float) -> float | None:
    """Give the depth from which the curve stays at or above `limit`, interpolated between two depths."""
    depths = sorted(median)
    first = None
    for at in range(len(depths) - 1, 0, -1):
        if median[depths[at]] < limit:
            break
        first = at
    if first is None:
        return None
    near, far = depths[first - 1], depths[first]
    rise = median[far] - median[near]
    if rise <= 0 or median[near] >= limit:
        return float(near)
    return near + (limit - median[near]) / rise * (far - near)
