# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The example programs build without a warning, find their answers under both MPIs, and notice a wrong one.

Every run must end with status 0 and a balanced tally.
An MPI that is not installed is skipped by name.
Sizes are small because the ranks outnumber the cores.
"""

from __future__ import annotations

import os

import pytest

from examples_mpi import (
    PROGRAMS,
    SMALL,
    Mpi,
    build,
    build_synchronous,
    counts_on_buffering,
    read_tally,
    run,
    run_words,
)

# More ranks are recorded in test_recordings.py, where the programs check their answers and count too.
RANKS = (1, 2, 7, 16) if "MATCHBENCH_LONG" in os.environ else (1, 2)
# Pool and probe are the two ways in which `graph` receives.
VARIANTS = {
    **{name: (name, SMALL[name]) for name in PROGRAMS},
    "graph_probe": ("graph", [*SMALL["graph"], "--pool", "0"]),
}


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_program_finds_its_answer(mpi: Mpi, variant: str, ranks: int) -> None:
    """The program checks its answer itself; what was sent must have been received."""
    program, words = VARIANTS[variant]
    done = run(mpi, ranks, [str(build(mpi) / program), *words])
    assert done.returncode == 0, done.stderr
    tally = read_tally(program, done.stdout)
    assert (tally.sent_messages, tally.sent_bytes) == (tally.received_messages, tally.received_bytes)
    assert (tally.sent_messages > 0) == (ranks > 1 or program == "halo3d")


@pytest.mark.parametrize("program", PROGRAMS)
def test_spoiled_message_is_noticed(any_mpi: Mpi, program: str) -> None:
    """A check that accepts anything would let this pass."""
    done = run(any_mpi, 3, [str(build(any_mpi) / program), *SMALL[program], "--corrupt", "1"])
    assert done.returncode != 0
    assert f"{program}: WRONG: " in done.stderr


@pytest.mark.parametrize("program", PROGRAMS)
def test_no_program_needs_mpi_to_buffer(mpi: Mpi, program: str) -> None:
    """With every send synchronous, a program that relies on buffering would hang."""
    done = run(mpi, 5, [*build_synchronous(mpi, program), *SMALL[program]])
    assert done.returncode == 0, done.stderr


def test_a_program_that_needs_mpi_to_buffer_hangs(mpi: Mpi) -> None:
    """The check of the programs would notice it."""
    # timeout(1) ends with 124.
    launch = ["timeout", "3", *mpi.launcher, "2"]
    assert run_words([*launch, *counts_on_buffering(mpi)]).returncode == 124


@pytest.mark.parametrize("program", PROGRAMS)
def test_help_lists_the_options(any_mpi: Mpi, program: str) -> None:
    """One rank prints, and nothing is computed."""
    done = run(any_mpi, 2, [str(build(any_mpi) / program), "--help"])
    assert done.returncode == 0
    assert done.stdout.count(f"usage: {program} [--NAME NUMBER]...") == 1
    assert "--corrupt" in done.stdout


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--colour", "1"], "unknown option `--colour`; --help lists them"),
        (["--corrupt", "2"], "--corrupt takes a number from 0 to 1, found `2`"),
        (["--corrupt", "one"], "--corrupt takes a number from 0 to 1, found `one`"),
        (["--corrupt"], "--corrupt takes a number from 0 to 1, found ``"),
    ],
    ids=["unknown_bad", "range_bad", "number_bad", "missing_bad"],
)
def test_bad_option_is_refused(any_mpi: Mpi, program: str, words: list[str], message: str) -> None:
    """Option parsing does not depend on the MPI."""
    # Without a launcher MPI runs one rank, and the program's own status comes through.
    done = run_words([str(build(any_mpi) / program), *words])
    assert done.returncode == 2
    assert f"{program}: {message}" in done.stderr.splitlines()
