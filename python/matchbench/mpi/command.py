# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench mpi`: your own MPI; each command is a file `mpi_<command>.py` and a line in `COMMANDS`."""

import importlib

import click

from matchbench.cli.usage import Group

COMMANDS = {
    "bench": "Measure the cost of deep queues.",
    "conform": "Check the matching order against the MPI standard.",
}
"""Command -> its line in the overview; its module is `matchbench.mpi.<command>_command`."""


class _Commands(Group):
    """The commands of `COMMANDS`, each imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Name the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import one command; None if it does not exist."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"matchbench.mpi.{cmd_name}_command").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    name="mpi",
    cls=_Commands,
    epilog="""
    Examples:

    \b
      matchbench mpi bench
      matchbench mpi bench --mpicc mpicc.mpich -o out/mpich -- mpirun.mpich
      matchbench mpi conform --ranks 4
    """,
)
def command() -> None:
    """Measure and check your own MPI library, on this machine or on your hosts."""
