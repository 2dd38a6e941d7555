# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a trace lacks is said in a sentence of its own kind."""

from __future__ import annotations

from typing import cast

from matchbench import _native
from matchbench.trace.shortfalls import left_out_lines


class _Trace:
    """A trace with a receive that MPI does not report, and a call that takes no part in matching."""

    def left_out(self) -> list[tuple[str, str, int, int]]:
        return [
            ("unknown", "receive whose source and tag MPI does not report", 1, 0),
            ("not_replayed", "MPI_Put", 2, 0),
        ]


def test_receives_that_mpi_does_not_report_are_said_apart_from_calls_that_are_not_replayed() -> None:
    assert list(left_out_lines(cast("_native.Trace", _Trace()))) == [
        "not reported by this MPI: source, tag and size of what 1 receive of MPI_Isendrecv took;"
        " each is given the oldest message that fits",
        "recorded by name and time only, and not replayed: 2 MPI_Put",
    ]
