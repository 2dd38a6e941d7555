# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The state of a search of `matchbench mpi conform`, from which an interrupted one continues."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from matchbench._native import MatchbenchError
from matchbench.mpi.conform_plan import Failure, LeftOut, Shrinking
from matchbench.mpi.conform_runner import Patience
from matchbench.mpi.stack import Stack

if TYPE_CHECKING:
    from matchbench.mpi.conform_search import Search


class EarlierSearchError(MatchbenchError):
    """A state that is invalid, or belongs to a search of another library."""


def describe(search: "Search", next_numbers: Mapping[str, int]) -> dict[str, Any]:
    """Describe a search by values that JSON has, for `restore`.

    Parameters
    ----------
    search
        The search.
    next_numbers
        The next program of each strand.
    """
    found = search.found
    passed_over = [
        sum(
            strand.trials.passed_over_from(next_numbers[name], one) for name, strand in search.strands.items()
        )
        for one in found.left_out
    ]
    return {
        "lacks": list(found.lacks),
        "stack": asdict(search.runner.stack),
        "counts": dict(found.counts),
        "failures": [asdict(failure) for failure in found.failures],
        "unconfirmed": [asdict(failure) for failure in found.unconfirmed],
        "unexplained": found.unexplained,
        "restarts": found.restarts,
        "asked": found.asked,
        "shrinkings": [
            {
                "failure": found.failures.index(one.failure),
                # Shrunk programs are not kept: what was shrunk is shrunk again.
                "state": one.state if one.best is None and one.state == "not seen again" else "running",
            }
            for one in found.shrinkings
        ],
        "suspected": found.suspected,
        "suspected_for_order": found.suspected_for_order,
        "seconds": search.budget.elapsed,
        "used": {share: search.budget.spent(share) for share in search.budget.used},
        "remarks": found.remarks,
        "left_out": [
            {**asdict(one), "passed_over": one.passed_over - not_run}
            for one, not_run in zip(found.left_out, passed_over, strict=True)
        ],
        "strands": {
            name: {
                "trials": strand.trials.state(next_numbers[name]),
                "recent": {
                    kind: [_place(search, one) for one in failures]
                    for kind, failures in strand.recent.items()
                },
                "threshold": strand.threshold,
                "is_exhausted": strand.is_exhausted,
            }
            for name, strand in search.strands.items()
        },
        "patience": asdict(search.runner.patience),
        "jobs": search.jobs,
        "batches": search.batches,
        "has_trouble": search.has_trouble,
    }


def restore(search: "Search", state: Mapping[str, Any]) -> None:
    """Continue from a state.

    Raises
    ------
    EarlierSearchError
        If the library lacks something else than that of the earlier search.
    """
    found = search.found
    stack = Stack(**{**state["stack"], "loaded": tuple(state["stack"]["loaded"])})
    search.library = stack.library
    search.runner.stack = stack
    found.counts.update(state["counts"])
    found.failures.extend(map(_failure, state["failures"]))
    found.unconfirmed.extend(map(_failure, state["unconfirmed"]))
    found.unexplained = state["unexplained"]
    found.restarts, found.asked = state["restarts"], state["asked"]
    found.shrinkings.extend(
        Shrinking(failure=found.failures[one["failure"]], state=one["state"]) for one in state["shrinkings"]
    )
    found.suspected.extend(state["suspected"])
    found.suspected_for_order.extend(state["suspected_for_order"])
    found.seconds = float(state["seconds"])
    search.budget.used.update(state["used"])
    found.remarks.extend(state["remarks"])
    found.left_out.extend(LeftOut(**{**one, "needs": tuple(one["needs"])}) for one in state["left_out"])
    for name, strand in search.strands.items():
        of_strand = state["strands"][name]
        strand.trials.resume(of_strand["trials"])
        strand.recent.update(
            (kind, [_at(search, place) for place in places]) for kind, places in of_strand["recent"].items()
        )
        strand.threshold.update(of_strand["threshold"])
        strand.is_exhausted = of_strand["is_exhausted"]
    search.runner.patience = Patience.resumed(state["patience"])
    search.jobs, search.batches = state["jobs"], state["batches"]
    search.has_trouble = state["has_trouble"]
    if tuple(state["lacks"]) != found.lacks:
        before, now = _listed(state["lacks"]), _listed(found.lacks)
        refuse(f"a library that lacks {before}", f"one that lacks {now}")


def refuse(before: str, now: str) -> None:
    """Refuse to continue with another library.

    Raises
    ------
    EarlierSearchError
        Always.
    """
    msg = (
        f"the search began on {before}, found {now}; "
        "continue where it began, or remove the file to start over"
    )
    raise EarlierSearchError(msg)


def _failure(state: Mapping[str, Any]) -> Failure:
    return Failure(**{**state, "without": tuple(state["without"]), "traits": tuple(state["traits"])})


def _place(search: "Search", failure: Failure) -> tuple[str, int]:
    """Give the list in which a failure is, and its place there."""
    if failure in search.found.unconfirmed:
        return "unconfirmed", search.found.unconfirmed.index(failure)
    return "failures", search.found.failures.index(failure)


def _at(search: "Search", place: Sequence[Any]) -> Failure:
    name, index = str(place[0]), int(place[1])
    found = search.found
    return found.unconfirmed[index] if name == "unconfirmed" else found.failures[index]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "nothing"
