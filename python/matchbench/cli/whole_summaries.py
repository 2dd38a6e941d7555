# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A group of commands whose help has the whole summary of each command."""

import click

from matchbench.cli.usage import Group

_NO_LIMIT = 1 << 16


class WholeSummaries(Group):
    """Lists each command with its whole first sentence, which click would cut to one line."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, command.get_short_help_str(_NO_LIMIT)) for name, command in commands if command]
            )
