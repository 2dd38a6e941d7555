# SPDX-License-Identifier: Apache-2.0 OR MIT
"""How much of the matching of a program a replay has: shares of calls, bytes and time that are not replayed.

A call that takes part in matching and is not replayed costs nothing in the replay. If such calls match as
much as the others, the true cost is that of the replay divided by the share of the calls that are replayed.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from matchbench import _native

REFUSED = 0.1
"""Share of calls, bytes or time from which too much is missing for an answer: the cost would be wrong by the
tenth of its value from which it is said to depend on something (:data:`matchbench.trust.DEPENDS`)."""

_OF_LOST = {
    "send on a communicator that is not recorded": "send on communicators that are not recorded",
    "receive on a communicator that is not recorded": "receive on communicators that are not recorded",
    "probe on a communicator that is not recorded": "probe on communicators that are not recorded",
    "collective on a communicator that is not recorded": "collective on communicators that are not recorded",
    "start of a request that is not recorded": "start of partitioned or persistent requests",
    "call on a communicator of unknown origin": "call on communicators of unknown origin",
}
_SHARES = (
    ("calls", "the calls that take part in matching"),
    ("bytes", "the bytes"),
    ("time", "the time in these calls"),
)
_SKIPPED = "collective of a form that is not expanded"


def of(trace: _native.Trace, total: Mapping[str, Any]) -> dict[str, Any]:
    """Give the columns of table `reference` about what is not replayed.

    Parameters
    ----------
    trace
        The trace.
    total
        The totals of a replay of it.
    """
    sums = {name: numbers for name, *numbers in trace.calls()}
    calls, known_bytes, wall_ns = sums["detailed"]
    lost, _, lost_ns = sums["lost"]
    one_sided, _, one_sided_ns = sums["one_sided"]
    skipped, skipped_ns = total["collectives_skipped"], total["skipped_ns"]
    return {
        "matching_calls": calls + lost,
        "unreplayed_calls": skipped + lost,
        "unreplayed_calls_share": _share(skipped + lost, calls + lost),
        "unreplayed_bytes_share": _share(total["skipped_bytes"], known_bytes),
        "unreplayed_time_share": _share(skipped_ns + lost_ns, wall_ns + lost_ns),
        "unreplayed": _most(trace, skipped) if skipped + lost else None,
        "one_sided_calls": one_sided,
        "one_sided_time_share": _share(one_sided_ns, wall_ns + lost_ns + one_sided_ns),
        "polls": sums["polls"][0],
    }


def _share(part: float, whole: float) -> float | None:
    return min(part / whole, 1.0) if whole else None


def _most(trace: _native.Trace, skipped: int) -> str:
    """Name the most frequent kind of calls that are not replayed."""
    counts = [(skipped, _SKIPPED)] if skipped else []
    counts += [(calls, _OF_LOST[name]) for _, name, calls, _ in trace.left_out() if name in _OF_LOST]
    if not counts:
        return "calls of partitioned communication"
    count, name = max(counts, key=lambda each: each[0])
    noun, _, rest = name.partition(" ")
    return f"{count} {noun}{'' if count == 1 else 's'} {rest}"


def missing(row: Mapping[str, Any]) -> tuple[float, str]:
    """Give the largest share that is not replayed, and what it is a share of.

    Parameters
    ----------
    row
        A row of table `reference`.
    """
    shares = [(row[f"unreplayed_{what}_share"] or 0.0, noun) for what, noun in _SHARES]
    return max(shares, key=lambda each: each[0])


def is_refused(row: Mapping[str, Any]) -> bool:
    """Whether so much of a program is not replayed that its cost says nothing.

    Parameters
    ----------
    row
        A row of table `reference`.
    """
    return missing(row)[0] >= REFUSED


def note(row: Mapping[str, Any]) -> str:
    """Say why a replay matched nothing, in a sentence.

    Parameters
    ----------
    row
        A row of table `reference`.
    """
    if row["unreplayed_calls"]:
        return "None of the matching of this program is replayed; its cost is unknown."
    if row["one_sided_calls"]:
        return "This program uses one-sided communication only, which is not matched."
    if row["partitioned"]:
        return "The messages of this program are partitioned; their starts are not matched."
    return ""


def remarks(row: Mapping[str, Any]) -> Iterator[str]:
    """Say how much is not replayed, and how much is one-sided.

    Parameters
    ----------
    row
        A row of table `reference`.
    """
    if row["unreplayed_calls"]:
        shares = [(row[f"unreplayed_{what}_share"], noun) for what, noun in _SHARES]
        known = [f"{100 * share:.3g} % of {noun}" for share, noun in shares if share is not None]
        yield f"not replayed: {', '.join(known)}"
    if row["one_sided_calls"]:
        noun = "call" if row["one_sided_calls"] == 1 else "calls"
        yield (
            f"one-sided communication is not matched: {row['one_sided_calls']} {noun}, "
            f"{100 * (row['one_sided_time_share'] or 0.0):.3g} % of the time in calls that communicate"
        )
