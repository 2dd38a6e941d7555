# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The budget of `matchbench mpi conform`: its shares, and the time that each of them has used.

Whatever hangs, the order of matching gets its share; programs that hang are repeated and shrunk in theirs.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

Share = Literal["order", "hangs", "rest"]

SHARES: Mapping[Share, float] = {"order": 0.4, "hangs": 0.2, "rest": 0.4}
"""Shares of the budget: of the search for order alone, of repeating and shrinking what hangs or crashes, and
of programs with every feature."""

_PAYERS: Mapping[str, Share] = {"order": "order", "stuck": "hangs", "crashed": "hangs"}
_CLOSING = 0.2  # of the budget, kept for shrinking after the search while a kind of failure is not shrunk
_WRITING = 0.04  # of the budget, kept for the end of the last job, the report and the C files
_SLICE = 0.05  # of the budget: the longest job while two searches take turns
_LEAST_SLICE = 2.0  # seconds
_ONE_CONFIRMATION = 0.25  # of the share of hangs: the most that repeating one program takes


def share_of(kind: str) -> Share:
    """Give the share that pays for the shrinking of a kind of failure."""
    return _PAYERS.get(kind, "rest")


@dataclass(slots=True)
class Budget:
    """Time of a command, from its beginning to the last shrinking.

    Parameters
    ----------
    seconds
        The time.
    began
        Value of `time.monotonic` at which the command would have begun without an interruption.
    used
        Seconds that each share has used.
    """

    seconds: float
    began: float = field(default_factory=lambda: time.monotonic())
    used: dict[Share, float] = field(default_factory=lambda: dict.fromkeys(SHARES, 0.0))
    _payer: Share | None = field(default=None, init=False)
    _since: float = field(default=0.0, init=False)

    @property
    def deadline(self) -> float:
        """When no job runs any more; what is left is for writing the report."""
        return self.began + (1 - _WRITING) * self.seconds

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning."""
        return time.monotonic() - self.began

    def left(self) -> float:
        """Give the seconds left, not below 0."""
        return max(0.0, self.deadline - time.monotonic())

    @contextmanager
    def charged_to(self, share: Share) -> Iterator[None]:
        """Let a share pay for the time within the context; an outer share does not pay meanwhile."""
        outer = self._payer
        self._settle()
        self._payer = share
        try:
            yield
        finally:
            self._settle()
            self._payer = outer

    def spent(self, share: Share) -> float:
        """Give the seconds that a share has used until now."""
        self._settle()
        return self.used[share]

    def left_of(self, share: Share) -> float:
        """Give the seconds that are left of a share, and of the budget."""
        return max(0.0, min(SHARES[share] * self.seconds - self.spent(share), self.left()))

    def end_of_search(self, unshrunk: int, shrink_seconds: float) -> float:
        """Give the time at which the search ends, if so many kinds of failure are not shrunk by then."""
        return self.deadline - min(_CLOSING * self.seconds, unshrunk * shrink_seconds)

    def end_of_turn(self) -> float:
        """Give the time at which a job ends that another search waits for."""
        return time.monotonic() + max(_LEAST_SLICE, _SLICE * self.seconds)

    def order_is_behind(self) -> bool:
        """Return whether the order of matching has had less than its share of the time until now."""
        return self.spent("order") < SHARES["order"] * self.elapsed

    def end_of_rest(self, end: float) -> float:
        """Give the time at which only the share of order is left of a search until `end`."""
        return self.began + (1 - SHARES["order"]) * (end - self.began)

    def for_a_confirmation(self, *, search_is_over: bool) -> float:
        """Give the seconds in which a program that may hang is repeated; 0 if the share of hangs is used up.

        After the search all time left is used.
        """
        if search_is_over:
            return self.left()
        most = _ONE_CONFIRMATION * SHARES["hangs"] * self.seconds
        return min(self.left_of("hangs"), max(_LEAST_SLICE, most))

    def _settle(self) -> None:
        now = time.monotonic()
        if self._payer is not None:
            self.used[self._payer] += now - self._since
        self._since = now
