# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a user-defined engine did in a replay that no engine can do, in words.

The counts are those of `mb_own::judged`; `docs/own-engine.md` gives the reasons. A row with one of these
reasons is *implausible*: it is shown, and not ranked.
"""

from matchbench.display import tables
from matchbench.native_types import Judgement

MARK = "implausible"
"""The word in tables, pages and files."""

_PLACES = {"nic": "on the NIC", "host": "on the host"}


def reason(found: Judgement | None, placement: str) -> str | None:
    """Say what no engine can do, with its numbers; None if there is nothing.

    Parameters
    ----------
    found
        The judgement of a replay; None for an engine of matchbench.
    placement
        Where the engine runs, `nic` or `host`.
    """
    if found is None:
        return None
    parts = []
    matches = tables.count(found["matches"])
    if unvisited := found["unvisited"]:
        mean, most = tables.decimal(found["unvisited_depth_mean"]), found["unvisited_depth_max"]
        parts.append(
            f"{tables.count(unvisited)} of {matches} matches report 0 visits, where the reference lists have "
            f"a depth of {mean} (mean) and {tables.count(most)} (max)"
        )
    if too_fast := found["too_fast"]:
        fastest_ns = found["fastest_ns"]
        bound = f"the bound of {found['least_ns']:g} ns {_PLACES[placement]}"
        took = (
            f"less than {bound}, the fastest {fastest_ns:g} ns" if fastest_ns else f"no time, below {bound}"
        )
        parts.append(f"{tables.count(too_fast)} of {matches} matches took {took}")
    return "; ".join(parts) or None
