# SPDX-License-Identifier: Apache-2.0 OR MIT
"""All commands, as the program has them."""

from collections.abc import Iterator

import click


def contexts(
    command: click.Command, words: tuple[str, ...] = ("matchbench",), parent: click.Context | None = None
) -> Iterator[tuple[tuple[str, ...], click.Context]]:
    """Yield a command and all commands below it, each by its words and as the context of its help.

    Parameters
    ----------
    command, words
        The first command and its words.
    parent
        The context of the group that it belongs to.
    """
    context = click.Context(command, info_name=words[-1], parent=parent, **command.context_settings)
    yield words, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                yield from contexts(below, (*words, name), context)
