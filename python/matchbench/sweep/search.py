# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Which variants of a sweep are tried: all, a random sample, or what an optimizer proposes.

All of them choose from the same finite space. What is chosen depends on the study and its seed alone, not
on the number of processes or on what a cache holds.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from matchbench._native import MatchbenchError
from matchbench.sweep.space import Space, number_of

METHODS = ("grid", "random", "optimizer")
"""Every method."""

BATCH = 4
"""Variants that an optimizer proposes at a time: it knows the results of all earlier batches."""

_MOST_REPEATS = 200  # proposals in a row that were known already, after which an optimizer ends


class Search(Protocol):
    """Chooses combinations by their index."""

    def ask(self) -> list[int]:
        """Give the next combinations; none at the end."""

    def tell(self, index: int, objectives: Sequence[float] | None) -> None:
        """Take the objectives of a combination, all minimized; None if it has none."""


class Listed:
    """Combinations that are known from the beginning.

    Parameters
    ----------
    indexes
        Their indexes.
    """

    def __init__(self, indexes: Sequence[int]) -> None:
        self._left = list(indexes)

    def ask(self) -> list[int]:
        """Give all of them at the first call."""
        found, self._left = self._left, []
        return found

    def tell(self, index: int, objectives: Sequence[float] | None) -> None:
        """Ignore the objectives."""


class Optimizer:
    """The tree-structured Parzen estimator of Optuna, for one objective or several.

    Source: Bergstra et al., Algorithms for Hyper-Parameter Optimization, NeurIPS 2011; Akiba et al., Optuna,
    KDD 2019. Values that are numbers are ordered, words are not.

    Parameters
    ----------
    space
        What it chooses from.
    objectives
        How many there are.
    variants
        Combinations that it tries at most.
    seed
        Of its random numbers.

    Raises
    ------
    MatchbenchError
        When Optuna is not installed.
    """

    def __init__(self, space: Space, *, objectives: int, variants: int, seed: int) -> None:
        try:
            import optuna
        except ImportError as error:
            msg = f"optimizer: {error}; install matchbench[optimizer], or choose the method `random`"
            raise MatchbenchError(msg) from error
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._optuna: Any = optuna
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # features that Optuna calls experimental
            sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=max(BATCH, variants // 4))
            self._study: Any = optuna.create_study(sampler=sampler, directions=["minimize"] * objectives)
        self._space = space
        self._left = min(variants, space.size)
        self._trials: dict[int, Any] = {}
        self._known: dict[int, Sequence[float] | None] = {}

    def ask(self) -> list[int]:
        """Propose up to `BATCH` combinations that were not proposed before."""
        found: list[int] = []
        repeats = 0
        while len(found) < min(BATCH, self._left) and repeats < _MOST_REPEATS:
            trial = self._study.ask()
            index = self._index(trial)
            if index in self._known:
                repeats += 1
                self._finish(trial, self._known[index])
            elif index in self._trials:
                repeats += 1
                self._finish(trial, None)
            else:
                self._trials[index] = trial
                found.append(index)
        self._left -= len(found)
        return found

    def tell(self, index: int, objectives: Sequence[float] | None) -> None:
        """Take the objectives of a combination; None if its replay did not finish or it cannot be built."""
        self._known[index] = objectives
        self._finish(self._trials.pop(index), objectives)

    def _finish(self, trial: Any, objectives: Sequence[float] | None) -> None:
        if objectives is None:
            self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
        else:
            self._study.tell(trial, list(objectives))

    def _index(self, trial: Any) -> int:
        designs = self._space.designs
        chosen = (
            trial.suggest_categorical("design", [each.name for each in designs]) if len(designs) > 1 else None
        )
        start = 0
        for design in designs:
            if chosen in (None, design.name):
                return start + self._place(
                    trial, design.name, {axis.key: axis.values for axis in design.axes}
                )
            start += design.size
        raise AssertionError(chosen)

    @staticmethod
    def _place(trial: Any, design: str, axes: Mapping[str, Sequence[str]]) -> int:
        index = 0
        for key, values in axes.items():
            if all(number_of(value) is not None for value in values):
                place = trial.suggest_int(f"{design} {key}", 0, len(values) - 1)
            else:
                place = values.index(trial.suggest_categorical(f"{design} {key}", list(values)))
            index = index * len(values) + place
        return index


def search(space: Space, method: str, *, objectives: int, variants: int, seed: int) -> Search:
    """Return a search of `space`.

    Parameters
    ----------
    space
        What there is.
    method
        One of `METHODS`.
    objectives
        How many there are.
    variants
        Combinations that are tried at most.
    seed
        Of random numbers.

    Raises
    ------
    MatchbenchError
        When a grid is larger than the study permits, or the optimizer is not installed.
    """
    if method == "optimizer":
        return Optimizer(space, objectives=objectives, variants=variants, seed=seed)
    if method == "random":
        chosen = random.Random(seed).sample(range(space.size), min(variants, space.size))  # noqa: S311 - no secret
        return Listed(chosen)
    if space.size > variants:
        msg = (
            f"the grid has {space.size} variants, expected at most {variants}; take fewer values, "
            "more variants (`--variants`), or the method `random`"
        )
        raise MatchbenchError(msg)
    return Listed(range(space.size))
