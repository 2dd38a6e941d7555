# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The commands and their parameters, from the program."""

from __future__ import annotations

from functools import cache

import click

from matchbench.cli import cli
from matchbench.cli.tree import contexts


@cache
def commands() -> dict[str, click.Command]:
    """Return every command by its words, `trace check`; importing them takes most of the time of a start."""
    return {
        " ".join(words[1:]): context.command
        for words, context in contexts(cli)
        if not isinstance(context.command, click.Group)
    }


def name_of(parameter: click.Parameter) -> str:
    """Return the long name of an option, or the name of an argument in capital letters."""
    if isinstance(parameter, click.Option):
        return max(parameter.opts, key=len)
    return (parameter.name or "").upper()


def parameters() -> dict[tuple[str, str], click.Parameter]:
    """Return every parameter that takes a value, by its command and name."""
    return {
        (words, name_of(parameter)): parameter
        for words, command in commands().items()
        for parameter in command.params
        if not (isinstance(parameter, click.Option) and parameter.is_flag)
    }
