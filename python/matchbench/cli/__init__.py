# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The command line: parses, calls, prints and returns a status.

Each command is a module of its package and a line in `COMMANDS`; it is imported only when it is called.
Exit status: 0 done, 1 a check failed, 2 bad input, 128 + N ended by signal N, as shells report it: 130 for
Ctrl-C, 141 for a closed pipe, as in `| head`. An error is one line on standard error, never a traceback.
"""

import contextlib
import importlib
import io
import os
import resource
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from types import FrameType

import click

from matchbench import MatchbenchError, __version__
from matchbench.cli.usage import Group, usage_message
from matchbench.display import document, tables

COMMANDS = {
    "record": ("record.command", "Run an MPI program and record its calls as a trace."),
    "trace": ("trace.command", "Inspect a trace: info, check, stats, export."),
    "compare": ("compare.command", "Replay traces on engines and report the cost of matching."),
    "sweep": ("sweep.command", "Replay traces on many variants of engines: best, knee and Pareto front."),
    "size": ("size.command", "Count how many entries a matching structure needs for a trace."),
    "reproduce": (
        "reproduce.command",
        "Compare the claims of a paper with our measurements, claim by claim.",
    ),
    "engines": (
        "engines.command",
        "List the receive engines, or show one with the sources of its parameters.",
    ),
    "engine": ("engines.own_command", "Write and test a receive engine of your own: new, test."),
    "generate": ("trace.generate_command", "Generate a trace of any size from a communication pattern."),
    "mpi": ("mpi.command", "Measure and check your own MPI library: bench, conform."),
    "chip": ("chip.command", "Run MPI programs on a simulated chip with MOPED: run, protocol."),
    "netproc": (
        "netproc.command",
        "Run packet handlers on network processors: run, compare, build, generate.",
    ),
    "cpu": ("cpu.command", "Run static RISC-V programs for Linux on core models: run, show, cores."),
    "match_unit": (
        "match_unit.command",
        "Write and run a match program: new, asm, disasm, run, trace, debug, profile.",
    ),
    "files": (
        "shipped.command",
        "Print where the files are that come with matchbench: traces, pages, examples.",
    ),
    "completion": (
        "cli.completion_command",
        "Print the script that completes command lines in a shell: bash, zsh, fish.",
    ),
}
"""Command -> its module below `matchbench`, and its line in the overview."""

_WITH_TABLES = {"compare", "sweep", "size", "reproduce"}
_LEAST_BYTES = 1280 << 20
"""Address space that libraries of tables and plots reserve for their threads; without it they abort."""

BAD_INPUT = 2
COMPLETE = "_MATCHBENCH_COMPLETE"
"""Set by the shell when it completes a word; the name is click's."""
_BY_SIGNAL = 128


class Commands(Group):
    """The commands of `COMMANDS`, each imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Name the commands in the usual order of work."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Import one command; None if it does not exist."""
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in _WITH_TABLES:
            _check_memory()
        module = importlib.import_module(f"matchbench.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


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
    """Record an MPI program, replay it on receive engines, and compare the cost of message matching."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Parameters
    ----------
    argv
        Words after the command's name; those of the process by default.
    """
    # A process started with a closed standard stream has none; its output is discarded.
    sys.stdout = sys.stdout or io.StringIO()
    sys.stderr = sys.stderr or io.StringIO()
    if instruction := os.environ.get(COMPLETE):
        from click.shell_completion import shell_complete

        return shell_complete(cli, {}, "matchbench", COMPLETE, instruction)
    document.begin()
    try:
        words = list(sys.argv[1:] if argv is None else argv)
        with _orderly_end(), cli.make_context("matchbench", words) as context:
            status = _invoke(context)
        sys.stdout.flush()
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        return _print_error(error.format_message())
    except click.UsageError as error:
        return _refuse(usage_message(error))
    except click.ClickException as error:
        return _refuse(error.format_message())
    except MatchbenchError as error:
        return _refuse(str(error))
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "can't start new thread" not in str(error):
            raise
        return _refuse("memory: found too little for this work; raise its limit, or use a smaller trace")
    except BrokenPipeError:
        tables.discard(sys.stdout)
        tables.discard(sys.stderr)
        return _BY_SIGNAL + signal.SIGPIPE
    except OSError as error:
        tables.discard(sys.stdout)
        # Errors of files name them (`matchbench.display.output`).
        where = os.fsdecode(error.filename) if error.filename else "standard output"
        return _refuse(f"{where}: {error.strerror or error}")
    except KeyboardInterrupt:
        _refuse("interrupted")
        return _BY_SIGNAL + signal.SIGINT
    except _Ended as ended:
        _refuse("terminated")
        return _BY_SIGNAL + ended.number
    return status if isinstance(status, int) else 0


def _invoke(context: click.Context) -> object:
    """Run the command, and print its document, if there is one."""
    try:
        status = cli.invoke(context)
    except click.exceptions.Exit as done:
        status = done.exit_code
    if status != BAD_INPUT and (text := document.finished()):
        tables.write(text)
    return status


def _check_memory() -> None:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit not in {resource.RLIM_INFINITY, -1} and limit < _LEAST_BYTES:
        msg = (
            f"memory: found a limit of {limit >> 20} MiB on the address space, expected "
            f"{_LEAST_BYTES >> 20} MiB or more; raise it (`ulimit -v`)"
        )
        raise MatchbenchError(msg)


class _Ended(SystemExit):
    """Unwinds the stack, so that incomplete files are removed and running ranks are ended."""

    def __init__(self, number: int) -> None:
        super().__init__(_BY_SIGNAL + number)
        self.number = number


@contextlib.contextmanager
def _orderly_end() -> Iterator[None]:
    """Unwind on SIGTERM and SIGHUP, as sent by a batch scheduler or a closed terminal."""

    def end(number: int, _frame: FrameType | None) -> None:
        raise _Ended(number)

    former = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:  # `nohup` ignores SIGHUP
                former[number] = signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _refuse(message: str) -> int:
    return _print_error(f"matchbench: {' '.join(message.split())}")


def _print_error(text: str) -> int:
    try:
        tables.note(text)
        sys.stderr.flush()
    except OSError:  # standard error is closed
        tables.discard(sys.stderr)
    return BAD_INPUT
