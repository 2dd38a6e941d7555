# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench mpi conform`: check whether the user's MPI matches in the order that MPI requires."""

import contextlib
import json
import re
from dataclasses import replace
from pathlib import Path

import click

from matchbench._native import MatchbenchError, optional_features, program_features
from matchbench.cli.progress import progress_bar
from matchbench.cli.usage import Choice, Command
from matchbench.cli.values import Whole
from matchbench.display import tables
from matchbench.display.output import reserved_directory, whole_directory, write_file
from matchbench.display.partial import Scratch
from matchbench.mpi.conform import conform, shrink_rest
from matchbench.mpi.conform_budget import SHARES, Budget
from matchbench.mpi.conform_matrix_command import run_matrix
from matchbench.mpi.conform_plan import Conformance, Plan, Shrinking
from matchbench.mpi.conform_report import (
    MARKER,
    as_object,
    by_importance,
    c_source,
    commands,
    show,
    show_searched,
    show_shrunk,
    show_unconfirmed,
    source_name,
)
from matchbench.mpi.conform_runner import Runner
from matchbench.mpi.conform_search import Watch
from matchbench.mpi.conform_shrink import Tell
from matchbench.mpi.conform_state import EarlierSearchError
from matchbench.mpi.conform_unfinished import Unfinished, unfinished
from matchbench.mpi.launch import Mpi, find
from matchbench.mpi.matrix import read_matrix, shipped

_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}


_LONGEST_S = 1e9


class Duration(click.ParamType[float]):
    """A time such as `90s`, `10m` or `1h`, in seconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Convert text to seconds."""
        match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", str(value))
        seconds = float(match[1]) * _SECONDS[match[2]] if match else 0
        if not 1 <= seconds <= _LONGEST_S:
            self.fail(
                f"found {value}; expected a time of a second to 10^9 seconds, such as 90s, 10m or 1h",
                param,
                ctx,
            )
        return seconds


@click.command(
    cls=Command,
    name="conform",
    context_settings={"allow_interspersed_args": False},
    epilog="""
    Examples:

    \b
      matchbench mpi conform
      matchbench mpi conform --ranks 4 --programs 2000 --seed 7
      matchbench mpi conform --mpicc mpicc.mpich -o out/mpich -- mpirun.mpich
      matchbench mpi conform -- mpirun --mca pml ucx
      matchbench mpi conform --without null --without cancel
      matchbench mpi conform --matrix mpich --mpicc mpicc.mpich --budget 1m -o out/matrix

    Exit status: 0 MPI permits every outcome; 1 a program failed, exceeded its time limit without time to
    repeat it, or no program ended within the budget; 2 bad input.
    """,
)
@click.option("--mpicc", metavar="PROGRAM", help="Compiler wrapper of your MPI. [$MPICC or mpicc]")
@click.option(
    "--hostfile", metavar="FILE", type=click.Path(path_type=Path), help="Hosts, passed to the launcher."
)
@click.option(
    "--programs",
    metavar="N",
    type=Whole(1),
    default=10_000,
    help="Number of test programs in which each kind of failure is searched for. [10000]",
)
@click.option("--ranks", metavar="N", type=Whole(1, 4), default=2, help="Ranks per program, 1 to 4. [2]")
@click.option("--seed", metavar="N", type=Whole(0, 2**64 - 1), default=1, help="Seed of the generator. [1]")
@click.option(
    "--time-limit",
    metavar="SECONDS",
    type=Whole(1, 3600),
    default=10,
    help="Upper bound of the time limit of a program; the limit adapts to measured run times. [10]",
)
@click.option(
    "--budget",
    metavar="TIME",
    type=Duration(),
    default="10m",
    help="Total time for building, searching, repeating and shrinking, such as 90s, 10m or 1h; with "
    f"--matrix, for each environment. Once a program hangs or crashes, {SHARES['order']:.0%} of it is "
    "reserved for programs that test the matching order only. [10m]",
)
@click.option(
    "--shrink-limit",
    metavar="TIME",
    type=Duration(),
    default="100s",
    help="Longest time for shrinking one program, within the budget. [100s]",
)
@click.option(
    "--without",
    metavar="FEATURE",
    multiple=True,
    type=Choice(program_features()),
    help=f"Exclude {', '.join(program_features())}; may be repeated.",
)
@click.option(
    "--with",
    "including",
    metavar="FEATURE",
    multiple=True,
    type=Choice(optional_features()),
    help=f"Include {', '.join(optional_features())}, which is left out otherwise; may be repeated.",
)
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Directory for the report and the C files; all ranks must be able to access it. With it, the same "
    "command continues an interrupted run. [print only]",
)
@click.option("--force", is_flag=True, help="Replace an earlier report in DIR.")
@click.option(
    "--matrix",
    metavar="FILE",
    help=f"Run in each environment of a file, or of a shipped matrix: {', '.join(shipped())}. Needs -o, "
    "where finished environments are kept: the same command continues an interrupted run.",
)
@click.option(
    "--allow-code",
    is_flag=True,
    help="Let a FILE of --matrix give words of the launcher and variables, which select what is executed "
    "(SECURITY.md).",
)
@click.argument("launcher", metavar="[-- LAUNCHER...]", nargs=-1, type=click.UNPROCESSED)
def command(
    mpicc: str | None,
    hostfile: Path | None,
    programs: int,
    ranks: int,
    seed: int,
    time_limit: int,
    budget: float,
    shrink_limit: float,
    without: tuple[str, ...],
    including: tuple[str, ...],
    output: Path | None,
    force: bool,
    matrix: str | None,
    allow_code: bool,
    launcher: tuple[str, ...],
) -> int:
    """Check whether your MPI matches in MPI's order.

    Random test programs run on your MPI, and each observed outcome is compared with the outcomes that the MPI
    standard permits. A program that fails is shrunk and written as a C file for a bug report.
    """
    optional = (name for name in optional_features() if name not in including)
    plan = Plan(
        programs=programs,
        ranks=ranks,
        seed=seed,
        limit_seconds=time_limit,
        budget_seconds=budget,
        shrink_seconds=shrink_limit,
        without=tuple(dict.fromkeys((*without, *optional))),
    )
    environments = None if matrix is None else read_matrix(matrix, allow_code=allow_code)
    if environments is not None and output is None:
        msg = "--matrix: found no -o, expected -o DIR, where finished environments are kept; add it"
        raise click.UsageError(msg)
    mpi = find(mpicc, launcher, hostfile)
    if environments is not None and output is not None:
        return run_matrix(environments, mpi, plan, output, _examine_quietly, force=force)
    if output is None:
        with Scratch() as directory:
            found, interruption = examine(mpi, plan, Path(directory), shown_in=None)
    else:
        found, interruption = _examine_into(output, mpi, plan, force=force)
    if interruption is not None:
        raise interruption
    return 1 if found.is_bad else 0


def _examine_into(
    output: Path, mpi: Mpi, plan: Plan, *, force: bool
) -> tuple[Conformance, BaseException | None]:
    """Examine an MPI and write the report to a directory, or continue an interrupted run."""
    # The report of the interrupted run is replaced by that of the run that continues.
    replacing = force or unfinished(output, mpi, plan, force=False).has_written(output / MARKER)
    with reserved_directory(output, marker=MARKER, force=replacing):
        kept = unfinished(output, mpi, plan, force=force)
        try:
            with whole_directory(output, marker=MARKER, force=replacing) as directory:
                found, interruption = examine(mpi, plan, directory, shown_in=output, kept=kept)
        except EarlierSearchError as error:
            msg = f"{kept.path}: {error}"
            raise MatchbenchError(msg) from error
        if interruption is None:
            kept.remove()
        else:
            kept.add_report(output / MARKER)
    tables.line(f"report: {output / MARKER}")
    if interruption is not None and kept.state is not None:
        tables.remark(f"{kept.state['asked']} programs are kept; the same command with -o {output} continues")
    return found, interruption


def examine(
    mpi: Mpi,
    plan: Plan,
    directory: Path,
    *,
    shown_in: Path | None,
    program: Path | None = None,
    is_printed: bool = True,
    kept: Unfinished | None = None,
    budget: Budget | None = None,
) -> tuple[Conformance, BaseException | None]:
    """Search, shrink, print and write; return the results, and the exception that interrupted the work.

    Parameters
    ----------
    mpi, plan
        The MPI, and what to run.
    directory
        Place of the report and the C files.
    shown_in
        Path of this directory in what is printed; without one, the first C file is printed.
    program
        The C runner, if it is already built.
    is_printed
        Whether anything is printed.
    kept
        Where the state of the search is kept, and found after an interruption.
    budget
        The budget, if it has begun before.

    Raises
    ------
    MatchbenchError
        If the MPI does not start.
    """
    found = Conformance()
    budget = budget or Budget(plan.budget_seconds)
    interruption: BaseException | None = None
    printing = contextlib.nullcontext if shown_in is None else tables.ignoring_closed_pipe
    with Scratch(directory, "build-") as build:
        runner = Runner(mpi, Path(build), plan.ceiling_seconds, program)
        runner.budget_seconds = plan.budget_seconds
        found.lacks = runner.lacks()
        plan = replace(plan, without=tuple(dict.fromkeys((*plan.without, *found.lacks))))
        try:
            with progress_bar("programs") as bar:
                watch = Watch(progress=bar, note=_note)
                if kept is not None:
                    watch = replace(watch, keep=kept.keep)
                    if kept.state is not None:
                        _note(f"{kept.state['asked']} programs were run before")
                earlier = None if kept is None else kept.state
                conform(runner, plan, found, watch, earlier=earlier, budget=budget)
        except (KeyboardInterrupt, SystemExit) as error:
            interruption = error
        if is_printed:
            with printing():
                show(found, plan, runner.mpi)
        if interruption is None:
            interruption = _shrink_rest(runner, plan, found, budget)
    sources = {one.failure.name: c_source(one, plan, found, runner.mpi) for one in found.shrinkings}
    for name, source in sources.items():
        if source is not None:
            write_file(directory / source_name(name), source)
    report = json.dumps(as_object(found, plan, runner.mpi), indent=2) + "\n"
    write_file(directory / MARKER, report)
    if is_printed:
        with printing():
            for index, one in enumerate(by_importance(found.shrinkings)):
                place = None if shown_in is None else str(shown_in / source_name(one.failure.name))
                source = sources[one.failure.name]
                show_shrunk(one, source, place, commands(one, runner.mpi), is_printed=index == 0)
            show_unconfirmed(found)
            show_searched(found, plan)
    return found, interruption


def _examine_quietly(
    mpi: Mpi, plan: Plan, directory: Path, program: Path, budget: Budget
) -> tuple[Conformance, BaseException | None]:
    """Examine an MPI for a row of a matrix."""
    return examine(mpi, plan, directory, shown_in=None, program=program, is_printed=False, budget=budget)


def _note(text: str) -> None:
    tables.remark(f"{text}")


def _shrink_rest(runner: Runner, plan: Plan, found: Conformance, budget: Budget) -> BaseException | None:
    """Shrink the first failure of each kind; return the exception that interrupted it."""
    with contextlib.ExitStack() as bars:

        def begin(shrinking: Shrinking) -> Tell:
            bar = bars.enter_context(progress_bar(f"shrinking {shrinking.failure.title}"))
            longest = 0

            def progress(steps: int) -> None:
                nonlocal longest
                longest = max(longest, steps)
                bar(longest - steps, longest)

            return progress

        try:
            shrink_rest(runner, plan, found, begin, budget)
        except (KeyboardInterrupt, SystemExit) as error:
            return error
    return None
