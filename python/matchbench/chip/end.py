# SPDX-License-Identifier: Apache-2.0 OR MIT
"""How a run on the chip ended: messages and the exit status."""

import re
from pathlib import Path

from matchbench import MatchbenchError
from matchbench.display import tables
from matchbench.native_types import ChipRun

FAILED = 1

_SIGNALS = range(129, 160)  # 128 and the number of the signal that ended a process
_UNKNOWN_CALL = re.compile(r"^kernel: .*: unknown system call (\d+), pc ", re.MULTILINE)
# setitimer: without it a program, such as that of `mpi conform`, has no time limit of its own.
_TIMERS = {"103"}


def exit_status(program: Path, found: ChipRun, limit: str, wrong: str | None) -> int:
    """Say what was wrong with a run, and return the exit status.

    Parameters
    ----------
    program
        The program.
    found
        What the run gave.
    limit
        The limit of the run with its unit.
    wrong
        An error of the interval of --kanata.
    """
    if found["different_messages"]:
        for line in found["differences"]:
            tables.warn(f"{program}: {line}")
        tables.warn(f"{program}: {found['different_messages']} messages arrived damaged")
        return FAILED
    for rank, status in sorted(found["ranks"]):
        if status:
            tables.warn(f"{program}: rank {rank}: status {status}")
    if found["status"] is not None:
        return _status(program, found, wrong)
    _say_why_it_stopped(program, found, limit)
    return FAILED


def _say_why_it_stopped(program: Path, found: ChipRun, limit: str) -> None:
    reasons = {
        "deadlock": "deadlock: every process waits",
        "limit": f"found it running after {limit}, expected its end; raise --limit",
        "trap_loop": "a core takes traps without making progress",
        "fault": found["fault"],
        "interrupted": "interrupted",
    }
    tables.warn(f"{program}: {reasons[found['end']]}")
    for line in found["waiting"]:
        tables.note(f"  {line}")


def _status(program: Path, found: ChipRun, wrong: str | None) -> int:
    """Return the exit status of a program that ended; `wrong` is an error of the interval of --kanata."""
    status = found["status"] or 0
    if status in _SIGNALS:  # the kernel has named the fault
        return FAILED
    if status == 0 and set(_UNKNOWN_CALL.findall(found["messages"])) - _TIMERS:
        what = "found a system call that the kernel does not have, without which the program continued"
        tables.warn(f"{program}: {what}; expected those of moped/kernel/README.md")
        return FAILED
    if status == 0 and wrong:
        msg = f"--kanata: {wrong}"
        raise MatchbenchError(msg)
    return status
