# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Chooses trials to leave out when a kind of failure repeats, so that it does not hide other failures.

A failure *needs* traits (`TestPrograms.traits`): those of the shrunk program, or those that failing programs
share and programs that passed lack. Programs without one of these traits cannot fail in this way and are as
good as others for all other kinds. Features are excluded by the generator; other traits are passed over.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from matchbench._native import TestPrograms, program_features
from matchbench.mpi.conform_plan import ENDINGS, Failure, LeftOut, Plan, Shrinking

_SAMPLE = 200  # programs that tell how common a trait is
_MOST_PASSED_OVER = 0.96  # share of programs that may be passed over
_MOST_LACKING = (
    0.85  # programs that passed have a trait that is chosen at most so often, against what is expected
)
_CHUNK = 200  # least number of programs generated at once
_MOST_EXAMINED = 50  # so many times this number are generated before it counts that none is left


@dataclass(slots=True)
class Trials:
    """The programs of a search in the order of their numbers, without those left out.

    Parameters
    ----------
    plan
        Seed, ranks and excluded features.
    left_out
        What is left out of both searches; what ends jobs is left out of both, wherever it was found.
    for_order
        Whether the programs are those for the order of matching alone.
    """

    plan: Plan
    left_out: list[LeftOut] = field(default_factory=list)
    for_order: bool = False
    next_number: int = 0
    _passed_over: list[tuple[int, LeftOut]] = field(default_factory=list)
    _passed_programs: int = 0
    _passed_traits: Counter[str] = field(default_factory=Counter)

    def state(self, next_number: int) -> dict[str, Any]:
        """Describe what is left to be run by values that JSON has, if the next program is `next_number`.

        What is left out is described by the search.
        """
        return {
            "next": next_number,
            "passed_programs": self._passed_programs,
            "passed_traits": dict(self._passed_traits),
        }

    def resume(self, state: Mapping[str, Any]) -> None:
        """Continue from a state."""
        self.next_number = int(state["next"])
        self._passed_programs = int(state["passed_programs"])
        self._passed_traits.update(state["passed_traits"])

    def passed_over_from(self, number: int, reason: LeftOut) -> int:
        """Count programs from `number` on that were passed over for a reason."""
        return sum(passed >= number and why is reason for passed, why in self._passed_over)

    def applied(self) -> list[LeftOut]:
        """Give what is left out of this search."""
        return [one for one in self.left_out if one.for_order == self.for_order or one.kind in ENDINGS]

    def without(self) -> tuple[str, ...]:
        """Give the features that the generator excludes now."""
        return tuple(
            dict.fromkeys((*self.plan.without, *(one.trait for one in self.applied() if one.is_generated)))
        )

    def generate(self, first: int, count: int) -> TestPrograms:
        """Generate programs without the features that are excluded now."""
        return TestPrograms(
            self.plan.seed,
            first,
            count,
            ranks=self.plan.ranks,
            without=self.without(),
            for_order=self.for_order,
        )

    def take(self, wanted: int) -> tuple[list[int], TestPrograms | None]:
        """Take the next programs that are not left out: their numbers, and the programs.

        Gives fewer programs than wanted if many are left out, and none if nearly all are.
        """
        passed_over = [one for one in self.applied() if not one.is_generated]
        if not passed_over:
            numbers = list(range(self.next_number, self.next_number + wanted))
            self.next_number += wanted
            return numbers, self.generate(numbers[0], wanted)
        for count in (max(_CHUNK, 4 * wanted), _MOST_EXAMINED * _CHUNK):
            first = self.next_number
            chunk = self.generate(first, count)
            kept: list[int] = []
            for index in range(count):
                if len(kept) == wanted:
                    break
                self.next_number += 1
                traits = chunk.traits(index)
                reason = next((one for one in passed_over if one.trait in traits), None)
                if reason is None:
                    kept.append(index)
                else:
                    reason.passed_over += 1
                    self._passed_over.append((first + index, reason))
            if kept:
                return [first + at for at in kept], chunk.pick(kept, 1)
        return [], None

    def rewind(self, number: int) -> None:
        """Go back to program `number`, which was taken and not run."""
        for passed, reason in self._passed_over:
            reason.passed_over -= passed >= number
        self._passed_over = [one for one in self._passed_over if one[0] < number]
        self.next_number = number

    def choose(self, failures: Sequence[Failure], shrinking: Shrinking) -> LeftOut | None:
        """Choose what to leave out from now on; `None` if these failures need nothing that is not common.

        Parameters
        ----------
        failures
            Repeated failures of one kind.
        shrinking
            The shrinking of the first of them, finished or not.
        """
        shared = set.intersection(*(set(failure.traits) for failure in failures))
        needs = shared
        if shrinking.best is not None:
            traits = set(shrinking.best.programs.traits(shrinking.best.index))
            needs = traits & shared or traits
        is_shrunk = shrinking.state == "complete"
        share = self._shares()
        lacking = {trait: self._lack(trait, share.get(trait, 0.0)) for trait in needs}
        known = {one.trait for one in self.applied()}
        # The fewest programs change or are lost without the rarest of the traits that are all needed. If it
        # is not known which are, the choice is the one that programs that passed lack most.
        for trait in sorted(
            needs - known,
            key=lambda trait: (0 if is_shrunk else lacking[trait], share.get(trait, 0.0), trait),
        ):
            is_generated = trait in program_features()
            if not is_generated and share.get(trait, 0.0) > _MOST_PASSED_OVER:
                continue
            if not is_shrunk and lacking[trait] > _MOST_LACKING:
                continue
            one = LeftOut(
                kind=failures[0].kind,
                trait=trait,
                is_generated=is_generated,
                since=self.next_number,
                failures=len(failures),
                needs=tuple(sorted(needs)),
                is_shrunk=is_shrunk,
                for_order=self.for_order,
            )
            self.left_out.append(one)
            return one
        return None

    def add_passed(self, traits: Iterable[str]) -> None:
        """Count a program that passed."""
        self._passed_programs += 1
        self._passed_traits.update(traits)

    def _lack(self, trait: str, share: float) -> float:
        """Compare programs that passed with all: 0 if none of them has a trait, 1 if as many as expected."""
        return (self._passed_traits[trait] + 0.5) / (share * self._passed_programs + 0.5)

    def _shares(self) -> dict[str, float]:
        """Give the share of programs that have each trait, among those that are not left out now."""
        sample = self.generate(self.next_number, _SAMPLE)
        passed_over = {one.trait for one in self.applied() if not one.is_generated}
        kept = [traits for index in range(_SAMPLE) if not passed_over & set(traits := sample.traits(index))]
        counts = Counter(trait for traits in kept for trait in traits)
        return {trait: count / len(kept) for trait, count in counts.items()}
