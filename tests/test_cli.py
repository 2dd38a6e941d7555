# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The command line as a process: what it prints, and its exit status, word for word."""

import subprocess
import sys

from matchbench import __version__


def matchbench(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a user does."""
    return subprocess.run(
        [sys.executable, "-m", "matchbench", *words], capture_output=True, text=True, check=False, timeout=300
    )


def test_version_is_one_line() -> None:
    done = matchbench("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"matchbench {__version__}\n", "")


def test_an_unknown_command_is_bad_input() -> None:
    done = matchbench("conpare")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == "matchbench: No such command 'conpare' (see `matchbench --help`)\n"
