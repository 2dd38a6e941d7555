# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Options of commands that run a program on a simulated processor."""

import contextlib
import os
import sys
from collections.abc import Iterator

import click

from matchbench import MatchbenchError
from matchbench.display import document

_MOST_KANATA = 1_000_000  # cycles; the diagram is kept in memory


def _interval(_ctx: click.Context, _parameter: click.Parameter, text: str | None) -> tuple[int, int] | None:
    """Parse FROM:TO."""
    if text is None:
        return None
    first, colon, last = text.partition(":")
    if not (colon and first.isdecimal() and last.isdecimal() and int(first) < int(last)):
        msg = f"found `{text}`, expected FROM:TO in cycles, as 10000:10500"
        raise click.BadParameter(msg)
    if int(last) - int(first) > _MOST_KANATA:
        msg = f"found {int(last) - int(first)} cycles, expected at most {_MOST_KANATA}"
        raise click.BadParameter(msg)
    return int(first), int(last)


environment_option = click.option(
    "--env",
    "environment",
    metavar="NAME=VALUE",
    multiple=True,
    help="Set an environment variable of the program; repeatable.",
)
kanata_option = click.option(
    "--kanata", metavar="FROM:TO", callback=_interval, help="Record these cycles for Konata."
)


def check_environment(environment: tuple[str, ...]) -> None:
    """Refuse a value of `--env` without a name.

    Raises
    ------
    MatchbenchError
        If there is one.
    """
    for variable in environment:
        if "=" not in variable:
            msg = f"--env: found `{variable}`, expected NAME=VALUE"
            raise MatchbenchError(msg)


@contextlib.contextmanager
def program_output() -> Iterator[None]:
    """Send the output of a program to standard error, if standard output is for a JSON document."""
    sys.stdout.flush()
    if not document.is_collected():
        yield
        return
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
