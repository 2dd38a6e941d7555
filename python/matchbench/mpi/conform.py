# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Searches random test programs for outcomes that MPI does not permit; every search ends with a result.

`conform_search.py` is the search itself. `docs/mpi-conform.md` describes what is checked and why.
"""

from collections.abc import Callable, Mapping
from typing import Any

from matchbench.mpi.conform_budget import SHARES, Budget, share_of
from matchbench.mpi.conform_plan import KINDS, Conformance, Plan, Shrinking
from matchbench.mpi.conform_runner import Runner
from matchbench.mpi.conform_search import Search, Watch
from matchbench.mpi.conform_shrink import Tell, shrink
from matchbench.mpi.conform_state import EarlierSearchError, restore

_SHARE_OF_ORDER = 0.5  # of the time left after the search, for shrinking a violation of the order
_LEAST_SHRINKING = 0.5  # seconds


def conform(
    runner: Runner,
    plan: Plan,
    found: Conformance,
    watch: Watch,
    *,
    earlier: Mapping[str, Any] | None = None,
    budget: Budget | None = None,
) -> None:
    """Run programs until each kind of failure was searched for in the planned number, or the budget is spent.

    Parameters
    ----------
    runner
        The MPI.
    plan
        Programs and limits.
    found
        Filled with the results; valid also when this function is interrupted.
    watch
        The observers.
    earlier
        State of an interrupted search of the same plan on the same MPI: this one continues from there, and
        the budget is that of both.
    budget
        The budget, if it has begun before the search.

    Raises
    ------
    MatchbenchError
        If not even the first job can be started.
    EarlierSearchError
        If `earlier` is not such a state, or the library is not that of the earlier search.
    KeyboardInterrupt, SystemExit
        When interrupted; `found` is valid.
    """
    budget = budget or Budget(plan.budget_seconds)
    search = Search(runner, plan, found, watch, budget)
    if earlier is not None:
        try:
            restore(search, earlier)
        except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
            msg = (
                "found another kind of file, "
                "expected the state of an interrupted `matchbench mpi conform`; remove it to start over"
            )
            raise EarlierSearchError(msg) from error
        budget.began -= found.seconds
    search.keep()
    try:
        search.run()
    except (KeyboardInterrupt, SystemExit):
        found.stopped = "interrupted"
        raise
    finally:
        settle(found, budget)
        found.stack = runner.stack
        found.limit_seconds = runner.patience.limit
        found.longest_seconds = runner.patience.longest


def settle(found: Conformance, budget: Budget) -> None:
    """Note in the results how much of the budget is used."""
    found.seconds = budget.elapsed
    found.used = {share: budget.spent(share) for share in SHARES}


def shrink_rest(
    runner: Runner,
    plan: Plan,
    found: Conformance,
    bar: Callable[[Shrinking], Tell],
    budget: Budget | None = None,
) -> None:
    """Shrink the first failure of each kind, as far as that was not done during the search.

    Violations of the order come first. What is left of the budget is divided among the kinds.

    Parameters
    ----------
    runner, plan, found
        As for `conform`.
    bar
        Called at the beginning of each shrinking; returns a function, called with the number of steps left.
    budget
        The budget of the search; a new one by default.
    """
    budget = budget or Budget(plan.budget_seconds)
    kinds = sorted({failure.kind for failure in found.failures}, key=KINDS.index)
    for at, kind in enumerate(kinds):
        others = len(kinds) - at - 1
        part = _SHARE_OF_ORDER if kind == "order" and others else 1 / (1 + others)
        share = share_of(kind)
        with budget.charged_to(share):
            _shrink_kind(runner, plan, found, kind, bar, (budget, part))
    settle(found, budget)


def _shrink_kind(
    runner: Runner,
    plan: Plan,
    found: Conformance,
    kind: str,
    bar: Callable[[Shrinking], Tell],
    time_: tuple[Budget, float],
) -> None:
    """Shrink the first failure of one kind in a part of the time that is left."""
    budget, part = time_
    ends = budget.elapsed + part * budget.left()

    def left(shrinking: Shrinking) -> float:
        return min(plan.shrink_seconds - shrinking.seconds, ends - budget.elapsed)

    of_kind = [one for one in found.shrinkings if one.failure.kind == kind]
    for one in of_kind:
        # Shrunk before an interruption, which keeps no shrunk programs.
        if one.state == "running" and left(one) >= _LEAST_SHRINKING:
            shrink(runner, plan, one, bar(one), seconds=left(one))
    shrinking = next((one for one in of_kind if one.best is not None), None)
    if shrinking is None:
        tried = {one.failure.name for one in of_kind}
        failure = next((one for one in found.failures if one.kind == kind and one.name not in tried), None)
        if failure is None:
            return
        shrinking = Shrinking(failure=failure, state="time limit")
        found.shrinkings.append(shrinking)
    if shrinking.state != "complete" and left(shrinking) >= _LEAST_SHRINKING:
        shrink(runner, plan, shrinking, bar(shrinking), seconds=left(shrinking))
