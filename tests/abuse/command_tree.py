# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The commands and their parameters, from the program."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import click

from matchbench.cli import cli


@cache
def commands() -> dict[str, click.Command]:
    """Return every command by its words, `trace check`; importing them takes most of the time of a start."""
    return dict(_below(cli, [], None))


def _below(
    command: click.Command, words: list[str], parent: click.Context | None
) -> Iterator[tuple[str, click.Command]]:
    context = click.Context(command, info_name=words[-1] if words else "matchbench", parent=parent)
    if not isinstance(command, click.Group):
        yield " ".join(words), command
        return
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        yield from _below(below, [*words, name], context)


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
