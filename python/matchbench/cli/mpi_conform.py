# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench mpi conform`: check whether the user's MPI matches in the order that MPI requires."""

import contextlib
import datetime as dt
import json
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from matchbench import __version__, tables
from matchbench._native import program_features, revision
from matchbench.cli.progress import progress_bar
from matchbench.mpi.conform import Conformance, Failure, Plan, Runner, Shrunk, conform, shrink
from matchbench.mpi.launch import find
from matchbench.output import check_directory, whole_directory

MARKER = "mpi-conform.json"
FORMAT = "matchbench-mpi-conform"
VERSION = 1
_SHOWN = 3  # failures printed in full


@click.command(
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

    Exit status: 0 MPI permits every outcome, 1 a program failed, 2 bad input.
    """,
)
@click.option("--mpicc", metavar="PROGRAM", help="Compiler wrapper of your MPI. [$MPICC or mpicc]")
@click.option(
    "--hostfile", metavar="FILE", type=click.Path(path_type=Path), help="Hosts, passed to the launcher."
)
@click.option(
    "--programs", metavar="N", type=click.IntRange(1), default=10_000, help="Number of test programs. [10000]"
)
@click.option(
    "--ranks", metavar="N", type=click.IntRange(1, 4), default=2, help="Ranks per program, 1 to 4. [2]"
)
@click.option(
    "--seed", metavar="N", type=click.IntRange(0, 2**64 - 1), default=1, help="Seed of the generator. [1]"
)
@click.option(
    "--time-limit",
    metavar="SECONDS",
    type=click.IntRange(1, 3600),
    default=10,
    help="Time limit per program. [10]",
)
@click.option(
    "--without",
    metavar="FEATURE",
    multiple=True,
    type=click.Choice(program_features()),
    help=f"Exclude {', '.join(program_features())}; may be repeated.",
)
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Directory for the report and the C files; all ranks must be able to access it. [print only]",
)
@click.option("--force", is_flag=True, help="Replace an earlier report in DIR.")
@click.argument("launcher", metavar="[-- LAUNCHER...]", nargs=-1, type=click.UNPROCESSED)
def command(
    mpicc: str | None,
    hostfile: Path | None,
    programs: int,
    ranks: int,
    seed: int,
    time_limit: int,
    without: tuple[str, ...],
    output: Path | None,
    force: bool,
    launcher: tuple[str, ...],
) -> int:
    """Check whether your MPI matches in MPI's order.

    Random test programs run on your MPI, and each observed outcome is compared with the outcomes that the MPI
    standard permits. A program that fails is shrunk and written as a C file for a bug report.
    """
    plan = Plan(programs=programs, ranks=ranks, seed=seed, limit_seconds=time_limit, without=without)
    mpi = find(mpicc, launcher, hostfile)
    if output is not None:
        check_directory(output, marker=MARKER, force=force)
    printing = contextlib.nullcontext if output is None else tables.ignoring_closed_pipe
    with contextlib.ExitStack() as stack:
        if output is None:
            directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="matchbench-conform-")))
        else:
            directory = stack.enter_context(whole_directory(output, marker=MARKER, force=force))
        with tempfile.TemporaryDirectory(prefix="build-", dir=directory) as build:
            runner = Runner(mpi, Path(build))
            with progress_bar("programs") as bar:
                found = conform(runner, plan, bar)
            with printing():
                _show(found, plan)
            shrunk = _shrink_one_of_each(runner, plan, found)
        sources = {failure.number: _source(one, failure, plan, found) for failure, one in shrunk if one}
        with printing():
            for index, (failure, one) in enumerate(shrunk):
                _show_shrunk(failure, one, sources.get(failure.number), index, output)
        if output is not None:
            for number, source in sources.items():
                (directory / _source_name(number)).write_text(source, encoding="utf-8")
            report = json.dumps(_report(runner, found, plan, shrunk), indent=2) + "\n"
            (directory / MARKER).write_text(report, encoding="utf-8")
    if output is not None:
        tables.line(f"report: {output / MARKER}")
    return 1 if found.failures or found.remarks else 0


def _shrink_one_of_each(
    runner: Runner, plan: Plan, found: Conformance
) -> list[tuple[Failure, Shrunk | None]]:
    """Shrink the first failure of each kind."""
    shrunk = []
    for kind in dict.fromkeys(failure.kind for failure in found.failures):
        failure = next(failure for failure in found.failures if failure.kind == kind)
        with progress_bar(f"shrinking program {failure.number}") as bar:
            longest = 0

            def progress(steps: int, bar: Any = bar) -> None:
                nonlocal longest
                longest = max(longest, steps)
                bar(longest - steps, longest)

            shrunk.append((failure, shrink(runner, plan, failure, progress)))
    return shrunk


def _show(found: Conformance, plan: Plan) -> None:
    counts = found.counts
    tables.line(found.library.splitlines()[0] if found.library else "MPI library: no version text")
    rows = [
        ("programs", f"{found.asked} of {plan.programs}, {plan.ranks} ranks, seed {plan.seed}"),
        ("steps", f"{counts['steps']}"),
        ("results checked", f"{counts['outcomes']}"),
        (
            "messages received",
            f"{counts['received']} by receives, {counts['matched_probes']} by matched probes",
        ),
        (
            "among them",
            f"{counts['across_groups']} between two groups, {counts['truncated']} truncated",
        ),
        (
            "sends and requests",
            f"{counts['ready']} ready, {counts['buffered']} buffered,"
            f" {counts['started_together']} started together",
        ),
        ("drain phase", f"{counts['left_to_the_end']} messages received"),
        ("receives cancelled", f"{counts['cancelled']}"),
        (
            "probes",
            f"{counts['probes_found']} found a message without taking it, "
            f"{counts['probes_missed']} found none",
        ),
        ("more than one outcome", f"permitted for at least {counts['free']} programs"),
        ("no order of arrivals", f"explains {counts['unexplained_by_arrival']} programs, which MPI permits"),
        ("restarts", f"{found.restarts}"),
        ("failed", f"{len(found.failures)}"),
    ]
    width = max(len(name) for name, _ in rows) + 2
    for name, value in rows:
        tables.line(f"{name:<{width}}{value}")
    for failure in found.failures[:_SHOWN]:
        tables.line(f"\nprogram {failure.number}: {failure.kind}: {failure.text}")
        if failure.said:
            tables.line(failure.said)
    for remark in found.remarks:
        tables.line(remark)


def _show_shrunk(
    failure: Failure, shrunk: Shrunk | None, source: str | None, index: int, output: Path | None
) -> None:
    if shrunk is None:
        tables.line(f"\nprogram {failure.number} did not fail again")
        return
    steps = shrunk.programs.steps(shrunk.index)
    tables.line(
        f"\nprogram {failure.number} in {steps} steps; it failed {shrunk.failed} times in {shrunk.runs} runs"
    )
    tables.line(shrunk.programs.text(shrunk.index).rstrip())
    tables.line(shrunk.text)
    if output is not None:
        tables.line(f"C file: {output / _source_name(failure.number)}")
    elif source is not None and index == 0:
        tables.line(f"\n{source}")


def _source(shrunk: Shrunk, failure: Failure, plan: Plan, found: Conformance) -> str:
    remarks = [
        f"Generated by matchbench {__version__}: seed {plan.seed}, program {failure.number}, {_without(plan)}"
        f"shrunk to {shrunk.programs.steps(shrunk.index)} steps.",
        f"Failed {shrunk.failed} times in {shrunk.runs} runs on:",
        found.library,
        "",
        "Observed:",
        shrunk.text,
        "",
        "The steps:",
        shrunk.programs.text(shrunk.index),
    ]
    return shrunk.programs.c_source(shrunk.index, remarks, shrunk.files, plan.limit_seconds)


def _without(plan: Plan) -> str:
    return f"without {', '.join(plan.without)}, " if plan.without else ""


def _report(
    runner: Runner, found: Conformance, plan: Plan, shrunk: list[tuple[Failure, Shrunk | None]]
) -> dict[str, Any]:
    """Return the report object defined by `spec/mpi-conform.md`."""

    def shrunk_object(failure: Failure) -> dict[str, Any] | None:
        one = next((one for other, one in shrunk if other is failure), None)
        if one is None:
            return None
        return {
            "steps": one.programs.text(one.index).splitlines(),
            "text": one.text,
            "runs": one.runs,
            "failed": one.failed,
            "source": _source_name(failure.number),
        }

    return {
        "format": FORMAT,
        "version": VERSION,
        "date": dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "matchbench": {"version": __version__, "revision": revision()},
        "mpi": {
            "library": found.library,
            "compiler": runner.mpi.compiler,
            "launcher": list(runner.mpi.launcher),
        },
        "plan": asdict(plan),
        "asked": found.asked,
        "restarts": found.restarts,
        "counts": dict(found.counts),
        "unexplained_program": found.unexplained,
        "ended_by_failures": found.is_ended_by_failures(plan),
        "failures": [{**asdict(failure), "shrunk": shrunk_object(failure)} for failure in found.failures],
        "remarks": found.remarks,
    }


def _source_name(number: int) -> str:
    return f"program-{number}.c"
