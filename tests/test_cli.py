# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The command line as a process: what it prints, and its exit status, word for word."""

import subprocess
import sys
from pathlib import Path

from matchbench import __version__, _native


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


def test_an_unknown_engine_names_those_that_exist() -> None:
    done = matchbench("engines", "show", "lienar")
    known = ", ".join(card["name"] for card in _native.engines())
    assert done.returncode == 2
    assert done.stderr == f"matchbench: unknown engine `lienar`; expected one of: {known}\n"


def test_every_preset_of_every_engine_can_be_shown() -> None:
    for card in _native.engines():
        done = matchbench("engines", "show", card["name"])
        assert (done.returncode, done.stderr) == (0, "")
        for preset in card["presets"]:
            assert f"\n{card['name']}:{preset} (placement " in done.stdout


def test_a_reader_that_goes_away_is_one_line() -> None:
    shell = subprocess.run(
        ["/bin/bash", "-c", f"{sys.executable} -m matchbench engines | true; echo ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert shell.stdout in ("0\n", "2\n")  # 0: all was written before the reader was gone
    assert shell.stderr in ("", "matchbench: standard output was closed before all was written\n")


def test_a_full_disk_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "matchbench", "engines"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=300,
        )
    assert (done.returncode, done.stderr) == (2, "matchbench: No space left on device\n")
