# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a sweep shows: which variants no other one dominates, the knee, and what the last doubling gained.

The knee of a falling curve is the point that lies farthest below the straight line between its ends, with
both coordinates scaled to 0..1. Source: Satopaa et al., Finding a "Kneedle" in a Haystack, ICDCS
workshops 2011, section II (the normalised curve and its difference from the chord, without their
smoothing and online threshold).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

KNEE_LEAST = 0.05
"""Least distance of a knee below the line, as a share of the curve's height; less is called no knee."""

GAIN_LEAST = 0.001
"""Least fall of a whole curve, relative to its first value, below which it has no knee."""

LOG_RATIO = 8
"""Ratio of largest to smallest cost from which costs are compared by their logarithm."""


class Point(NamedTuple):
    """A point of a curve: a cost or a parameter, and what is minimized."""

    x: float
    y: float


class Doubling(NamedTuple):
    """The step of a curve to its largest `x` from half of it or less, and the share by which `y` fell."""

    from_x: float
    to_x: float
    gain: float


def pareto(points: Sequence[Sequence[float]]) -> list[bool]:
    """Return for each point whether no other one is at least as good in everything and better in something.

    Parameters
    ----------
    points
        Objectives, all minimized. Equal points do not dominate each other.
    """
    # In this order a point is dominated by an earlier one, if by any, and then by one of the front.
    order = sorted(range(len(points)), key=lambda at: tuple(points[at]))
    front: list[Sequence[float]] = []
    found = [False] * len(points)
    for at in order:
        if not any(_dominates(other, points[at]) for other in front):
            found[at] = True
            front.append(points[at])
    return found


def knee(curve: Sequence[Point]) -> int | None:
    """Return the index of the knee of a falling curve.

    Parameters
    ----------
    curve
        Points with ascending `x`.

    Returns
    -------
    int or None
        None for fewer than three points, a fall below `GAIN_LEAST`, or a knee less deep than `KNEE_LEAST`.
    """
    if len(curve) < 3:
        return None
    xs = scaled([point.x for point in curve])
    first, last = curve[0].y, curve[-1].y
    fall = first - last
    if fall <= GAIN_LEAST * abs(first):
        return None
    below = [(1 - x) - (point.y - last) / fall for x, point in zip(xs, curve, strict=True)]
    deepest = max(range(len(curve)), key=lambda at: below[at])
    return deepest if below[deepest] >= KNEE_LEAST else None


def scaled(xs: Sequence[float]) -> list[float]:
    """Scale ascending values to 0..1, by their logarithm if `is_logarithmic`."""
    if is_logarithmic(xs):
        xs = [math.log(x) for x in xs]
    return [(x - xs[0]) / (xs[-1] - xs[0]) for x in xs]


def is_logarithmic(xs: Sequence[float]) -> bool:
    """Return whether values are compared by their logarithm: positive, of a range of `LOG_RATIO`."""
    return min(xs) > 0 and max(xs) >= LOG_RATIO * min(xs)


def last_doubling(curve: Sequence[Point]) -> Doubling | None:
    """Return what the step to the largest `x` gained, from the largest one that is half of it or less.

    Parameters
    ----------
    curve
        Points with ascending `x`.
    """
    if not curve or curve[-1].x <= 0:
        return None
    last = curve[-1]
    halves = [point for point in curve if 2 * point.x <= last.x]
    if not halves or halves[-1].y == 0:
        return None
    return Doubling(halves[-1].x, last.x, 1 - last.y / halves[-1].y)


def smallest_within(curve: Sequence[Point], share: float) -> int:
    """Return the first index whose `y` is at most the curve's least one times 1 + `share`."""
    bound = min(point.y for point in curve) * (1 + share)
    return next(at for at, point in enumerate(curve) if point.y <= bound)


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean; 0 if a value is 0."""
    if not all(values):
        return 0.0
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def _dominates(one: Sequence[float], other: Sequence[float]) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True)) and any(
        a < b for a, b in zip(one, other, strict=True)
    )


def cost_column(variants: pl.DataFrame, cost: tuple[str, str] | None, axes: Sequence[str]) -> str | None:
    """Name the column over which a knee is sought: the cost, else the only parameter, if it is a number."""
    if cost:
        return cost[0]
    return axes[0] if len(axes) == 1 and variants[axes[0]].dtype.is_numeric() else None


def envelope(rows: pl.DataFrame, column: str, over: str) -> pl.DataFrame:
    """Give the least value of `column` that each value of `over`, or a smaller one, reaches.

    Parameters
    ----------
    rows
        Variants.
    column
        The measure's column.
    over
        The cost's column.

    Returns
    -------
    pl.DataFrame
        A row for each value of `over`, ascending: that of the variant that reaches the value, with its own
        name, and `over` of the row.
    """
    first = rows.drop_nulls([column, over]).sort(over, column, maintain_order=True)
    first = first.unique(over, keep="first", maintain_order=True)
    best_so_far: list[int] = []
    for at, value in enumerate(first[column]):
        best_so_far.append(
            at if not best_so_far or value < first[column][best_so_far[-1]] else best_so_far[-1]
        )
    return first[best_so_far].with_columns(first[over])
