# SPDX-License-Identifier: Apache-2.0 OR MIT
"""States in sentences which data structures the curves imply.

A sentence appears only when the verdicts that it needs are decided. `docs/mpi-bench.md` has the rules.
"""

from collections.abc import Mapping

from matchbench.display.tables import count
from matchbench.mpi.curves import Curve

AGED = 1.3
"""Ratio of the cost of an entry in a fragmented pool to that in a fresh one above which it is reported."""

REVERSED = 2.0
"""Ratio of the time per message in reverse order to that in order above which it is reported."""

WIDE = 0.25
"""Upper quartile of the spread over depths above which a series is too noisy for ratios."""

_LISTS = {
    ("linear", "linear"): "one list for all sources and communicators",
    ("linear", "flat"): "a list for each communicator, which all its sources share",
    ("flat", "linear"): "a list for each source, which all communicators share",
    ("flat", "flat"): "a list for each source of each communicator",
}
_SUBJECTS = {"preposted": "Posted receives", "unexpected": "Unexpected messages"}


def statements(
    curves: Mapping[str, Curve],
    drains: Mapping[str, Mapping[int, float]] | None = None,
    spreads: Mapping[str, float] | None = None,
) -> list[str]:
    """State what the curves imply.

    Parameters
    ----------
    curves
        By name, `kind/pattern`.
    drains
        Name of a series that drains a queue -> depth -> nanoseconds per message.
    spreads
        Name of a series -> upper quartile over depths of the spread: half the interquartile range over the
        median.
    """
    noisy = {name for name, spread in (spreads or {}).items() if spread > WIDE}
    said: list[str] = []
    for kind, subject in _SUBJECTS.items():
        mine = {
            name.partition("/")[2]: curve for name, curve in curves.items() if name.startswith(f"{kind}/")
        }
        if "tags" in mine:
            said += _queue(subject, mine)
            said += _wildcards(kind, mine)
            said += _memory(subject, mine, ratios=not noisy & {f"{kind}/tags", f"{kind}/aged"})
    said += _break_even(curves.get("preposted/tags"))
    steady = {name: times for name, times in (drains or {}).items() if name not in noisy}
    return said + _orders(steady) + _noise(spreads or {})


def _queue(subject: str, curves: Mapping[str, Curve]) -> list[str]:
    tags = curves["tags"]
    if tags.verdict == "undecided":
        if tags.entry_low_ns is None:
            return [f"{subject}: undecided; measure depths of 256 and more."]
        return [
            f"{subject}: undecided, {_three(max(tags.entry_low_ns, 0))} to {_three(tags.entry_high_ns)} ns "
            "per entry; measure more repetitions, or on a quieter machine."
        ]
    if tags.verdict == "flat":
        return [
            f"{subject} are found by a key that holds the tag, as in a hash: entries with other tags "
            f"cost less than {_three(_at_most(tags))} ns each."
        ]
    if tags.verdict == "sublinear":
        return [
            f"{subject} cost more with depth, but less than a list would: the time grows with depth "
            f"to the power of {_three(tags.exponent)}."
        ]
    sentence = f"{subject} are walked entry by entry{_costs(tags)}"
    scope = tuple(
        "linear" if curve.verdict == "sublinear" else curve.verdict
        for curve in (curves.get("sources"), curves.get("communicators"))
        if curve
    )
    if len(scope) == 2 and scope in _LISTS:
        return [f"{sentence}: {_LISTS[scope]}."]
    return [f"{sentence}; whether sources and communicators share lists is undecided."]


def _wildcards(kind: str, curves: Mapping[str, Curve]) -> list[str]:
    tags, wild, target = curves["tags"], curves.get("any_source"), curves.get("target_any")
    said = []
    if kind == "preposted":
        if wild and wild.verdict == "linear" and tags.verdict == "flat":
            said.append(
                f"Receives from any source are in a list that every message walks{_costs(wild)}: "
                "the key does not help with wildcards."
            )
        elif wild and wild.verdict == "linear" and _verdict(curves, "sources") == "flat":
            said.append(f"Receives from any source slow messages of every source{_costs(wild)}.")
        elif wild and wild.verdict == "flat":
            said.append("Receives from any source with other tags do not slow messages.")
        if target and target.verdict == "linear" and tags.verdict == "flat":
            said.append("A message for a receive from any source walks all receives that are posted.")
    elif wild and wild.verdict == "linear" and tags.verdict == "flat":
        said.append(f"A receive from any source walks all unexpected messages{_costs(wild)}.")
    elif wild and wild.verdict == "flat" and tags.verdict == "flat":
        said.append("A receive from any source finds its unexpected message as fast as other receives.")
    return said


def _memory(subject: str, curves: Mapping[str, Curve], *, ratios: bool) -> list[str]:
    tags, aged = curves["tags"], curves.get("aged")
    said = []
    if tags.cliff and tags.entry_deep_ns and tags.entry_l2_ns:
        said.append(
            f"{subject} have a cliff: {_three(tags.entry_deep_ns)} ns per entry from 16 384 entries on, "
            f"{_three(tags.entry_l2_ns)} ns up to 4096; the list no longer fits in a cache."
        )
    if not aged or tags.verdict != "linear" or not ratios:
        return said
    for where, fresh, old in (
        ("at 1024 to 4096 entries", tags.entry_l2_ns, aged.entry_l2_ns),
        ("from 16 384 entries on", tags.entry_deep_ns, aged.entry_deep_ns),
    ):
        if fresh and old and fresh > 0 and old > AGED * fresh:
            said.append(
                f"{subject} from a fragmented pool cost {_three(old / fresh)} times as much {where}: "
                f"{_three(old)} ns per entry."
            )
    return said


def _break_even(curve: Curve | None) -> list[str]:
    if curve is None or curve.verdict == "undecided":
        return []
    if curve.tenth_depth is None:
        return ["A round trip is not 10 % longer at any depth measured."]
    sentence = f"A round trip is 10 % longer from {_entries(curve.tenth_depth)} on"
    if curve.twice_depth is not None:
        sentence += f", and twice as long from {_entries(curve.twice_depth)} on"
    return [f"{sentence}."]


def _orders(drains: Mapping[str, Mapping[int, float]]) -> list[str]:
    said = []
    for kind, what in (("drain_posted", "posted receives"), ("drain_unexpected", "unexpected messages")):
        straight, back = drains.get(f"{kind}/in_order", {}), drains.get(f"{kind}/reverse", {})
        depth = max(straight.keys() & back.keys(), default=None)
        if depth is None or not straight[depth]:
            continue
        ratio = back[depth] / straight[depth]
        if ratio > REVERSED:
            said.append(
                f"{count(depth)} {what} drain in reverse order in {_three(ratio)} times the time that they "
                "take in order."
            )
    return said


def _noise(spreads: Mapping[str, float]) -> list[str]:
    wide = [name for name, spread in spreads.items() if spread > WIDE]
    if not wide:
        return []
    which = ", ".join(wide[:3]) + (", ..." if len(wide) > 3 else "")
    return [
        f"{len(wide)} of {len(spreads)} series have times that vary by half of their median or more "
        f"({which}): the machine was busy, and costs are noisy."
    ]


def _verdict(curves: Mapping[str, Curve], pattern: str) -> str | None:
    return curves[pattern].verdict if pattern in curves else None


def _costs(curve: Curve) -> str:
    """Give the cost of an entry in the cache levels that were measured."""
    told = [
        f"{_three(cost)} ns each {where}"
        for cost, where in (
            (curve.entry_l1_ns, "among 64 to 256"),
            (curve.entry_l2_ns, "among 1024 to 4096"),
        )
        if cost is not None and cost > 0
    ]
    if not told and curve.entry_ns is not None:
        told = [f"{_three(curve.entry_ns)} ns each"]
    return f" ({', '.join(told)})" if told else ""


def _at_most(curve: Curve) -> float:
    """Round the upper end of the interval up to two decimals, at least 0.01."""
    return max(0.01, -(-max(curve.entry_high_ns or 0.0, 0.0) * 100 // 1) / 100)


def _three(value: float | None) -> str:
    """Format a number with three digits."""
    if value is None:
        return "-"
    return f"{value:.3g}" if abs(value) < 1000 else count(round(value))


def _entries(depth: float) -> str:
    rounded = round(depth)
    return f"{count(rounded)} {'entry' if rounded == 1 else 'entries'}"
