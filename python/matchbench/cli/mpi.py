# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench mpi`: the user's own MPI. One file per command, `mpi_<command>.py`; a line in `COMMANDS`."""

import importlib

import click

COMMANDS = {
    "bench": "Measure what deep queues cost your MPI.",
    "conform": "Check whether your MPI matches in MPI's order.",
}
"""Command -> the sentence that the overview prints; its module is `matchbench.cli.mpi_<command>`."""


class _Commands(click.Group):
    """The commands of `COMMANDS`, each imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Name the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import one command, or say that there is none by returning nothing."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"matchbench.cli.mpi_{cmd_name}").command
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
    """,
)
def command() -> None:
    """Look at your own MPI: it is built against, run, and measured on this machine or on your hosts."""
