# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The command `matchbench`, also as `python -m matchbench`."""

import os
import signal
import sys
import threading
from contextlib import suppress
from types import FrameType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_RETRY_SECONDS = 0.005
_BY_SIGNAL = 128


def main() -> int:
    """Run the command line, and print one line for Ctrl-C even while modules are imported."""
    status = _run()
    if status > _BY_SIGNAL and threading.active_count() > 1:
        _leave(status)
    return status


def _run() -> int:
    try:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not ignored, as in the background
            signal.signal(signal.SIGALRM, _interrupt)
            sys.unraisablehook = _swallowed
        from matchbench.cli import main as run

        return run()
    except KeyboardInterrupt:
        sys.stderr.write("matchbench: interrupted\n")
        return _BY_SIGNAL + signal.SIGINT
    finally:
        # The exit status is known; the interpreter would print a traceback for a signal while it ends.
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _leave(status: int) -> None:
    """End the process; the interpreter would first wait for threads, whose native work may take long."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(status)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _swallowed(what: "UnraisableHookArgs") -> None:
    """Retry an interrupt that a callback swallowed, such as that of a weak reference."""
    if what.exc_type is KeyboardInterrupt:
        signal.setitimer(signal.ITIMER_REAL, _RETRY_SECONDS)
    else:
        sys.__unraisablehook__(what)


if __name__ == "__main__":
    sys.exit(main())
