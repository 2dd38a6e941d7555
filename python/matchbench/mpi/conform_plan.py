# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The plan and the results of `matchbench mpi conform`: failures, trials left out, counts."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from matchbench._native import MatchbenchError, TestPrograms
from matchbench.mpi.conform_budget import SHARES, Share
from matchbench.mpi.stack import Stack

_LIMIT_IN_BUDGET = 0.05  # of the budget: the longest time limit of a program

ENDINGS = ("stuck", "crashed")
"""Kinds of failure that end the job."""

KINDS = ("order", "defect", "null", "truncation", "status", *ENDINGS)
"""Kinds of failure, as in `docs/mpi-conform.md`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Which programs to run, and with which limits.

    Parameters
    ----------
    programs
        Number of programs that do not fail: each kind of failure is searched for in so many.
    ranks
        Ranks per program.
    seed
        Seed of the generator.
    limit_seconds
        Longest time limit of a program. The limits in use are learned and shorter; a program that exceeds one
        is repeated with this limit before it counts as stuck.
    budget_seconds
        Time of everything: building, search, shrinking.
    shrink_seconds
        Time after which the shrinking of one program ends with the best result so far.
    without
        Features excluded from every program; names from `matchbench._native.program_features`.
    """

    programs: int = 10_000
    ranks: int = 2
    seed: int = 1
    limit_seconds: int = 10
    budget_seconds: float = 600.0
    shrink_seconds: float = 100.0
    without: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the numbers.

        Raises
        ------
        MatchbenchError
            If a number is out of range.
        """
        for name in ("programs", "limit_seconds", "budget_seconds", "shrink_seconds"):
            value = getattr(self, name)
            if value < 1:
                msg = f"plan: {name}: found {value}, expected at least 1"
                raise MatchbenchError(msg)

    @property
    def ceiling_seconds(self) -> float:
        """The longest time limit of a program that the budget allows."""
        return min(self.limit_seconds, max(1.0, _LIMIT_IN_BUDGET * self.budget_seconds))

    @property
    def programs_for_order(self) -> int:
        """The number of programs of the search for order alone, if that is needed."""
        return math.ceil(SHARES["order"] * self.programs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A program that failed.

    Parameters
    ----------
    number
        Number of the program.
    kind
        One of `KINDS`.
    text
        Description of the failure.
    said
        Last output of the job, if the failure ended it.
    without
        Features that were excluded when the program was generated.
    traits
        What the program makes use of, from `TestPrograms.traits`.
    for_order
        Whether it is a program for the order of matching alone, which are numbered apart.
    """

    number: int
    kind: str
    text: str
    said: str = ""
    without: tuple[str, ...] = ()
    traits: tuple[str, ...] = ()
    for_order: bool = False

    @property
    def name(self) -> str:
        """Name of the program in the names of files."""
        return f"{'order' if self.for_order else 'program'}-{self.number}"

    @property
    def title(self) -> str:
        """Name of the program in text."""
        return f"{'order program' if self.for_order else 'program'} {self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shrunk:
    """A short program that fails in the same way.

    Parameters
    ----------
    programs, index
        A set of programs, and the index of the failing one.
    text
        Description of the last failure.
    runs, failed
        Number of runs, and how many of them failed.
    files
        Outcome files of the ranks from the last failure.
    """

    programs: TestPrograms
    index: int
    text: str
    runs: int
    failed: int
    files: list[bytes]


@dataclass(slots=True, kw_only=True)
class Shrinking:
    """The state of the shrinking of one failure; valid at any moment.

    Parameters
    ----------
    failure
        What is shrunk.
    best
        The shortest program so far that failed in the same way; none before it failed again.
    state
        `running`, `complete` (no simpler program fails), `time limit`, `interrupted` or `not seen again`.
    seconds
        Time spent.
    was_repeated
        Whether the failure itself was seen in more than one run.
    """

    failure: Failure
    best: Shrunk | None = None
    state: str = "running"
    seconds: float = 0.0
    was_repeated: bool = False

    @property
    def is_unconfirmed(self) -> bool:
        """Whether it is a hang or a crash that was seen in no second run."""
        if self.best is None:
            return self.state == "not seen again"
        return self.failure.kind in ENDINGS and not self.was_repeated and self.best.failed < 2


@dataclass(slots=True, kw_only=True)
class LeftOut:
    """Trials that are left out because a kind of failure repeats.

    Parameters
    ----------
    kind
        The kind of failure.
    trait
        What the trials left out have in common, from `TestPrograms.traits`.
    is_generated
        Whether programs are generated without it; otherwise those that have it are passed over.
    since
        Number of the first program to which this applies.
    failures
        Failures of the kind on which the choice is based.
    needs
        Traits of the shrunk program that the failing programs share, or of one of both.
    is_shrunk
        Whether no simpler program fails than the one that has them.
    passed_over
        Programs passed over because of it.
    for_order
        Whether only the search for order alone leaves them out.
    """

    kind: str
    trait: str
    is_generated: bool
    since: int
    failures: int
    needs: tuple[str, ...]
    is_shrunk: bool
    passed_over: int = 0
    for_order: bool = False


@dataclass(slots=True)
class Conformance:
    """Results of a search; valid at any moment."""

    stack: Stack = field(default_factory=Stack)
    lacks: tuple[str, ...] = ()
    """Features that programs cannot have on this library; they are excluded."""
    counts: Counter[str] = field(default_factory=lambda: Counter(of_order=0))
    """Counts over the programs that did not fail; see `spec/mpi-conform.md`."""
    failures: list[Failure] = field(default_factory=list)
    unexplained: int | None = None
    """Number of the first program whose outcome no order of arrivals explains."""
    restarts: int = 0
    asked: int = 0
    """Programs that were run."""
    left_out: list[LeftOut] = field(default_factory=list)
    shrinkings: list[Shrinking] = field(default_factory=list)
    suspected: list[int] = field(default_factory=list)
    """Programs that exceeded a learned time limit and ended when they were repeated."""
    suspected_for_order: list[int] = field(default_factory=list)
    """The same of the programs for order alone."""
    unconfirmed: list[Failure] = field(default_factory=list)
    """Programs that exceeded a learned time limit, and for whose repetition no time was left."""
    used: Mapping[Share, float] = field(default_factory=dict)
    """Seconds that each share of the budget has used."""
    limit_seconds: float = 0.0
    """The learned time limit at the end."""
    longest_seconds: float = 0.0
    """Longest time of a program that ended."""
    seconds: float = 0.0
    """Time of everything."""
    stopped: str = "running"
    """Why the search ended: `complete`, `budget`, `no trials left`, `interrupted`, or what failed."""
    remarks: list[str] = field(default_factory=list)

    @property
    def is_bad(self) -> bool:
        """Whether there is anything that a correct MPI on a reliable machine does not show."""
        return bool(self.failures or self.unconfirmed or self.remarks)

    def failures_of(self, kind: str) -> int:
        """Count the failures of one kind."""
        return sum(failure.kind == kind for failure in self.failures)

    def kinds(self) -> dict[str, int]:
        """Count the failures of each kind, violations of the order first."""
        counts = {kind: self.failures_of(kind) for kind in KINDS}
        return {kind: count for kind, count in counts.items() if count}

    def searched(self) -> dict[str, int]:
        """Give the number of programs in which each kind of failure would have been seen.

        A program that failed in one way does not count for the others, and one for order alone counts for
        order alone.
        """
        found = Counter(
            failure.kind for failure in self.failures if not failure.for_order or failure.kind == "order"
        )
        kinds = dict.fromkeys((*KINDS, *found))
        passed = {kind: self.passed(for_order=False) for kind in kinds}
        passed["order"] = self.counts["programs"]
        return {kind: passed[kind] + found[kind] for kind in kinds}

    def passed(self, *, for_order: bool) -> int:
        """Count the programs of one search that did not fail."""
        of_order = self.counts["of_order"]
        return of_order if for_order else self.counts["programs"] - of_order
