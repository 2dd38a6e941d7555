# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The plan and the results of `matchbench mpi conform`: failures, trials left out, counts."""

from collections import Counter
from dataclasses import dataclass, field

from matchbench._native import MatchbenchError, TestPrograms
from matchbench.mpi.stack import Stack

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
        Time after which the search ends, programs left or not.
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
    """

    number: int
    kind: str
    text: str
    said: str = ""
    without: tuple[str, ...] = ()
    traits: tuple[str, ...] = ()


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
    """

    failure: Failure
    best: Shrunk | None = None
    state: str = "running"
    seconds: float = 0.0


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
    """

    kind: str
    trait: str
    is_generated: bool
    since: int
    failures: int
    needs: tuple[str, ...]
    is_shrunk: bool
    passed_over: int = 0


@dataclass(slots=True)
class Conformance:
    """Results of a search; valid at any moment."""

    stack: Stack = field(default_factory=Stack)
    lacks: tuple[str, ...] = ()
    """Features that programs cannot have on this library; they are excluded."""
    counts: Counter[str] = field(default_factory=Counter)
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
    limit_seconds: float = 0.0
    """The learned time limit at the end."""
    longest_seconds: float = 0.0
    """Longest time of a program that ended."""
    seconds: float = 0.0
    """Time of the search."""
    stopped: str = "running"
    """Why the search ended: `complete`, `budget`, `no trials left`, `interrupted`, or what failed."""
    remarks: list[str] = field(default_factory=list)

    def failures_of(self, kind: str) -> int:
        """Count the failures of one kind."""
        return sum(failure.kind == kind for failure in self.failures)

    def searched(self) -> dict[str, int]:
        """Give the number of programs in which each kind of failure would have been seen.

        A program that failed in one way does not count for the others.
        """
        found = Counter(failure.kind for failure in self.failures)
        kinds = dict.fromkeys((*KINDS, *found))
        return {kind: self.counts["programs"] + found[kind] for kind in kinds}
