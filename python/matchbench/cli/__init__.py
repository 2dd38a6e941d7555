# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The command line: parses, calls, prints and returns a status.

One file per command, named after it; a command is added by its file and its line in `COMMANDS`.
A command is imported only when it is called. Exit status: 0 done, 1 a check failed, 2 bad input,
130 interrupted; what went wrong is one line on standard error, never a traceback.
"""

import contextlib
import importlib
import io
import os
import sys
from collections.abc import Sequence

import click

from matchbench import MatchbenchError, __version__

COMMANDS = {
    "record": "Run an MPI program and record its calls as a trace.",
    "trace": "Look into a trace: info, check, stats, export.",
    "compare": "Replay traces on engines: table, plots and report of what matching costs.",
    "reproduce": "Measure what a paper claims, claim by claim: ours, theirs, verdict.",
    "engines": "List the receive engines, or show one with the sources of its parameters.",
    "generate": "Make a trace of any size from a pattern of communication.",
    "mpi": "Look at your own MPI: what deep queues cost it.",
    "asm": "Assemble a program for the match unit.",
    "disasm": "Print the program of an image.",
    "mu": "Run a match program on the match unit: run, trace, debug, profile.",
}
"""Command -> the sentence that the overview prints; its module is `matchbench.cli.<command>`."""

BAD_INPUT = 2
INTERRUPTED = 130  # 128 + SIGINT, as shells report it


class Commands(click.Group):
    """The commands of `COMMANDS`, each imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Name the commands in the order of a user's work."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import one command, or say that there is none by returning nothing."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"matchbench.cli.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="""
    Examples:

    \b
      matchbench record -o traces/mine -- mpirun -n 16 ./app
      matchbench trace stats traces/mine
      matchbench compare traces/mine -o out/mine

    Exit status: 0 done, 1 a check failed, 2 bad input.
    """,
)
@click.version_option(__version__, prog_name="matchbench", message="%(prog)s %(version)s")
def cli() -> None:
    """Record an MPI program, replay it on receive engines, see what message matching costs."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Parameters
    ----------
    argv
        Words after the command's name; those of the process by default.
    """
    # A process started with a closed standard stream has none at all; what it prints is discarded.
    sys.stdout = sys.stdout or io.StringIO()
    sys.stderr = sys.stderr or io.StringIO()
    try:
        words = list(sys.argv[1:] if argv is None else argv)
        with cli.make_context("matchbench", words) as context:
            status = cli.invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        sys.stderr.write(f"{error.format_message()}\n")
        return BAD_INPUT
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "matchbench"
        return _refuse(f"{error.format_message().rstrip('.')} (see `{where} --help`)")
    except click.ClickException as error:
        return _refuse(error.format_message())
    except MatchbenchError as error:
        return _refuse(str(error))
    except BrokenPipeError:
        _discard_output()
        return _refuse("standard output was closed before all was written")
    except OSError as error:
        _discard_output()
        return _refuse(
            f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)
        )
    except KeyboardInterrupt:
        _refuse("interrupted")
        return INTERRUPTED
    return status if isinstance(status, int) else 0


def _discard_output() -> None:
    """Let what is still buffered go nowhere: the interpreter writes it at exit, and would fail once more."""
    with contextlib.suppress(OSError):  # a stream without a file has nothing that fails
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refuse(message: str) -> int:
    sys.stderr.write(f"matchbench: {' '.join(message.split())}\n")
    return BAD_INPUT
