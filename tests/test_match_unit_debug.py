# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench match_unit debug` on a terminal, on a pipe and with a script."""

import contextlib
import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.test_match_unit import INPUTS


class Terminal:
    """`match_unit debug` on a terminal of its own."""

    def __init__(self, *words: str | Path) -> None:
        """Start it and wait for its prompt."""
        self.process, self.screen = pty.fork()
        if self.process == 0:
            command = [sys.executable, "-m", "matchbench", "match_unit", "debug", *map(str, words)]
            os.execve(sys.executable, command, {**os.environ, "TERM": "dumb", "COLUMNS": "200"})  # noqa: S606 - our own command
        self.read()

    def read(self, end: str = "(match_unit) ") -> str:
        """Return what appears up to the next prompt, or another end."""
        seen = ""
        while not seen.endswith(end):
            ready, _, _ = select.select([self.screen], [], [], 60)
            assert ready, f"found {seen!r}, expected {end!r}"
            seen += os.read(self.screen, 4096).decode().replace("\r\n", "\n")
        return seen

    def type(self, keys: str, end: str = "(match_unit) ") -> str:
        """Type keys and return what appears up to the next prompt, or another end."""
        os.write(self.screen, keys.encode())
        return self.read(end)

    def interrupt(self) -> str:
        """Press Ctrl-C until the next prompt: one that comes while Python sets the line up is not seen."""
        for _ in range(30):
            os.write(self.screen, b"\x03")
            if select.select([self.screen], [], [], 1)[0]:
                return self.read()
        pytest.fail("found no prompt after Ctrl-C")

    def leave(self, keys: str) -> int:
        """Type keys that end the session and return its exit status."""
        os.write(self.screen, keys.encode())
        with contextlib.suppress(OSError):  # the other side is gone
            while os.read(self.screen, 4096):
                pass
        os.close(self.screen)
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


@pytest.mark.filterwarnings(
    "ignore:This process:DeprecationWarning"
)  # threads of polars, unused in the child
def test_a_terminal_session_survives_errors_and_interrupts() -> None:
    terminal = Terminal("portals_hemmert2007", *INPUTS)
    assert "? unknown command `frob`" in terminal.type("frob\n")
    assert "next header" in terminal.type("step 4\n")
    assert "took header" in terminal.type("step\n")
    assert "took header 0x1000300000007" in terminal.type("\n"), "an empty line steps again"
    terminal.type("half a line", end="half a line")
    assert "took" not in terminal.interrupt(), "Ctrl-C drops the line"
    assert "breakpoint at shared+2" in terminal.type("break shared+2\n")
    assert "decide" in terminal.type("break dec\t\n"), "a tab completes a label"
    assert terminal.leave("\x04") == 0, "Ctrl-D leaves"
    assert Terminal("mpi", *INPUTS).leave("quit\n") == 0


def test_steps_end_when_no_header_is_left() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "matchbench", "match_unit", "debug", "mpi", *map(str, INPUTS)],
        input="step 1000000000\nquit\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("no header is left") == 1


def test_a_script_tells_whether_it_went_well(matchbench: Command, tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("# to the end\nstep 3\ncontinue\n")
    (tmp_path / "wrong.txt").write_text("step 3\nstop\ncontinue\n")
    (tmp_path / "stuck.mb").write_text("loop: wait || _ = in || goto loop\nnop\nnop\n")
    for program, script, status in (
        ("mpi", "good.txt", 0),
        ("mpi", "wrong.txt", 2),
        ("stuck.mb", "good.txt", 1),
    ):
        done = matchbench("match_unit", "debug", program, *INPUTS, "--script", script)
        assert (done.returncode, done.stderr) == (status, "")
        assert done.stdout.count("(match_unit) continue") == 1
