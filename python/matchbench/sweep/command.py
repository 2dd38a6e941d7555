# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench sweep`: replay many variants of engines, print the answer and the table, write the results."""

from __future__ import annotations

import datetime as dt
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from matchbench._native import MatchbenchError
from matchbench.cli import complete
from matchbench.cli.replay_options import (
    OPTIONS,
    given_option,
    output_options,
    replay_config,
    replay_options,
)
from matchbench.cli.set_option import of_engines, set_option
from matchbench.cli.usage import Command
from matchbench.cli.values import Whole
from matchbench.display import document, tables
from matchbench.display.output import reserved_directory

if TYPE_CHECKING:
    from matchbench.sweep.result import Sweep
    from matchbench.sweep.run import Status
    from matchbench.sweep.study import Study
    from matchbench.sweep.workers import Workers

CHECK_FAILED = 1
_LINE_EVERY_S = 30.0  # progress where standard error is not a terminal
_MOST_ROWS = 20  # of the table on a terminal
_SAID = 1000  # variants from which the writing of results is said
_MOST_REMARKS = 20  # of those on a terminal


@click.command(
    cls=Command,
    name="sweep",
    epilog="""
    Examples:

    \b
      matchbench sweep out/mine --engine cam_list --set "cam_list.cam=16..512 *2"
      matchbench sweep traces/*.tar.xz -e cam_list --set cam=16,64,256 --set lists=1,4
      matchbench sweep out/mine -e cam_list -e alpu --set "cam=16..512 *2" --set "cells=16..512 *2"
      matchbench sweep out/mine -e lhs --set "slots=64..4096 *2" --method random --variants 4
      matchbench sweep studies/cam_entries/study.toml -o out/cam
      matchbench sweep out/mine/study.toml --cluster slurm --jobs 16 --cluster-set queue=short

    TRACE is a trace's directory or NAME.tar.xz; STUDY is a file that ends in .toml.
    A parameter with several values varies: a list 16,32,64, or a range 16..512 *2 or 16..64 +16.
    Exit status: 0 done; 1 a replay did not finish, or the time limit was reached; 2 bad input.
    """,
)
@click.argument("paths", metavar="TRACE...|STUDY", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-e",
    "--engine",
    "engines",
    metavar="NAME[:PRESET]",
    shell_complete=complete.ENGINE,
    multiple=True,
    help="An engine or preset; repeatable.",
)
@set_option(
    of_engines("engines"),
    metavar="[ENGINE.]KEY=VALUES",
    help="A value, a list or a range for ENGINE, or for all engines that have the key; repeatable.",
)
@click.option("--method", metavar="NAME", help="grid, random or optimizer. [grid]")
@click.option(
    "--objectives",
    metavar="LIST",
    help="What is minimized: time, latency, engine_entries, memory_entries, area. "
    "[time, and the cost that varies]",
)
@click.option("--variants", metavar="N", type=Whole(), help="Maximum number of variants. [1000]")
@click.option("--budget", metavar="TIME", help="Start no replay after this time, such as 10 min.")
@click.option("--seed", metavar="N", type=Whole(), help="Seed of random and optimizer. [0]")
@click.option(
    "--areas",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Areas of your hardware results, as TOML.",
)
@replay_options
@click.option(
    "-j",
    "--jobs",
    metavar="N",
    type=Whole(1, 10_000),
    default=2,
    help="Processes, or jobs of the cluster. [2]",
)
@click.option(
    "--allow-code",
    is_flag=True,
    help="Let STUDY name engines of files, which run when it does (SECURITY.md).",
)
@click.option(
    "--cluster", metavar="slurm|ADDRESS", help="Replay on Slurm, or on the Dask scheduler at ADDRESS."
)
@click.option(
    "--cluster-set",
    metavar="KEY=VALUE",
    multiple=True,
    help="Option of a Slurm job, such as queue=short; repeatable.",
)
@click.option(
    "--cache",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Directory in which results of replays are kept. [matchbench/replays in the user's cache folder]",
)
@click.option("--no-cache", is_flag=True, help="Neither use nor keep results of replays.")
@output_options(default="out/sweep-DATE-TIME", plots="Draw the charts as PNG and SVG too, to DIR/plots.")
def command(paths: tuple[Path, ...], output: Path | None, jobs: int, **options: object) -> int:
    """Replay traces on many variants of engines: the best one, the knee, and the gain of each doubling.

    Prints the answer and a table, and writes tables, a page with charts and the study to DIR.
    An interrupted sweep continues when the same command is run again.
    """
    return _sweep(paths, output, jobs, _Options(**options))


class _Options:
    """The options by name, with the types that click gives them."""

    engines: tuple[str, ...]
    parameters: tuple[str, ...]
    method: str | None
    objectives: str | None
    variants: int | None
    budget: str | None
    seed: int | None
    areas: Path | None
    cluster: str | None
    cluster_set: tuple[str, ...]
    cache: Path | None
    no_cache: bool
    allow_code: bool
    plots: bool
    table_only: bool
    force: bool

    def __init__(self, **options: object) -> None:
        self.replay: dict[str, Any] = {name: options.pop(name) for name in OPTIONS}
        self.__dict__.update(options)


def _sweep(paths: tuple[Path, ...], output: Path | None, jobs: int, options: _Options) -> int:
    from matchbench.match_unit.common import reported_errors
    from matchbench.sweep.cache import Cache, default_directory
    from matchbench.sweep.hardware import Costs
    from matchbench.sweep.result import MARKER, result_of
    from matchbench.sweep.run import SweepRun
    from matchbench.sweep.workers import StartedWhenNeeded
    from matchbench.trace.trace import Trace

    for first, second in (("plots", "table_only"), ("cache", "no_cache")):
        if getattr(options, first) and getattr(options, second):
            found, other = (f"--{name.replace('_', '-')}" for name in (first, second))
            msg = f"{found}: cannot be combined with {other}; give one of them"
            raise MatchbenchError(msg)
    study = _study(paths, options)
    if output is None:
        output = Path("out") / f"sweep-{dt.datetime.now():%Y%m%d-%H%M%S}"
    force = options.force or _is_unfinished(output, study)
    with ExitStack() as stack:
        # Before the work: another command may be writing to it.
        stack.enter_context(reserved_directory(output, marker=MARKER, force=force))
        traces = [stack.enter_context(Trace.open(path)) for path in study.traces]
        tell = stack.enter_context(_progress())
        costs = Costs(options.areas)
        cache = Cache(None if options.no_cache else options.cache or default_directory())
        workers = StartedWhenNeeded(lambda: _workers(options, jobs))
        stack.callback(workers.close)
        run = SweepRun(
            study,
            traces,
            workers=workers,
            cache=cache,
            costs=costs,
            shared_paths=bool(options.cluster),
            progress=tell,
        )
        ended: BaseException | None = None
        try:
            with reported_errors():
                run.work()
        except (KeyboardInterrupt, SystemExit) as error:
            ended = error
            workers.close()
        sweep = result_of(run)
        if ended is None and not run.limited and not sweep.variants.height:
            name, why = next(iter(sweep.left_out.items()))
            msg = f"{name}: {why}; expected a valid variant, and none of {len(sweep.left_out)} is"
            raise MatchbenchError(msg)
        if ended is None or sweep.variants.height:
            if sweep.variants.height > _SAID:
                tables.remark(f"writing {sweep.variants.height} variants")
            sweep.write(output, force=force, charts=not options.table_only, plots=options.plots)
    if ended is not None:
        _say_interrupted(run.status, sweep, output, options, jobs)
        raise ended
    _show(sweep, output)
    return _status(run.limited, run.status, sweep)


def _status(limited: bool, status: Status, sweep: Sweep) -> int:
    if status.damaged:
        tables.remark(f"{status.damaged} results in the cache were damaged; replayed again")
    if limited:
        tables.warn("the time limit was reached; the same command continues")
    return CHECK_FAILED if limited or not bool(sweep.variants["finished"].all()) else 0


def _study(paths: tuple[Path, ...], options: _Options) -> Study:
    """Read the study, or make one of the options; options replace what a study says."""
    from dataclasses import replace

    from matchbench.parameters import parse_assignments
    from matchbench.sweep.space import designs_of
    from matchbench.sweep.study import MOST_VARIANTS, Study, read_study, seconds

    changes: dict[str, object] = {}
    if options.method is not None:
        changes["method"] = options.method
    if options.objectives is not None:
        changes["objectives"] = tuple(name.strip() for name in options.objectives.split(","))
    if options.variants is not None:
        changes["variants"] = options.variants
    if options.budget is not None:
        changes["budget_s"] = seconds(options.budget, where="--budget")
    if options.seed is not None:
        changes["seed"] = options.seed
    if any(path.suffix == ".toml" for path in paths):
        given = "--engine" if options.engines else "--set" if options.parameters else None
        given = given or given_option(options.replay)
        if len(paths) > 1 or given:
            what = f"the option {given}" if given else f"{len(paths)} paths"
            msg = f"{paths[0]}: found a study and {what}, expected the study alone; edit the study"
            raise MatchbenchError(msg)
        return replace(read_study(paths[0], allow_code=options.allow_code), **changes)  # type: ignore[arg-type] # fields by name
    if not options.engines:
        msg = "--engine: found none, expected at least one; `matchbench engines` lists them"
        raise MatchbenchError(msg)
    study = Study(
        question="",
        traces=paths,
        designs=tuple(designs_of(options.engines, parse_assignments(options.parameters))),
        config=replay_config(**options.replay),
        variants=MOST_VARIANTS,
    )
    return replace(study, **changes)  # type: ignore[arg-type] # fields by name


def _is_unfinished(output: Path, study: Study) -> bool:
    """Return whether a directory has an unfinished result of the same study, whatever its time limit."""
    from dataclasses import replace

    from matchbench.input import read_json
    from matchbench.sweep.result import MARKER
    from matchbench.sweep.study import read_study

    try:
        finished = read_json(output / MARKER, "the result of a sweep")["finished"]
        earlier = replace(read_study(output / "study.toml", allow_code=True), budget_s=study.budget_s)
    except (KeyError, TypeError, MatchbenchError):
        return False
    return finished is False and earlier.text(output.absolute()) == study.text(output.absolute())


def _workers(options: _Options, jobs: int) -> Workers:
    from matchbench.parameters import parse_assignments

    settings = parse_assignments(options.cluster_set, option="--cluster-set")
    if settings and not options.cluster:
        msg = "--cluster-set: found no --cluster, expected one; give both"
        raise MatchbenchError(msg)
    if options.cluster:
        from matchbench.sweep.cluster import ClusterWorkers

        return ClusterWorkers(options.cluster, jobs, {key: str(value) for key, value in settings.items()})
    from matchbench.sweep.workers import LocalWorkers

    return LocalWorkers(jobs)


@contextmanager
def _progress() -> Iterator[Callable[[Status], None]]:
    """Show a bar with rate and remaining time on a terminal; elsewhere a line now and then."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    console = Console(file=sys.stderr)
    bar = Progress(
        TextColumn("replaying"),
        BarColumn(),
        TextColumn("{task.fields[pace]}"),
        console=console,
        transient=True,
        disable=document.is_quiet() or not console.is_terminal,
    )
    last = time.monotonic()
    with bar:
        task = bar.add_task("", total=None, pace="")

        def tell(status: Status) -> None:
            nonlocal last
            bar.update(task, completed=status.done, total=status.total, pace=_pace(status))
            if not console.is_terminal and time.monotonic() - last >= _LINE_EVERY_S:
                last = time.monotonic()
                tables.remark(f"{_pace(status)}")

        yield tell


def _pace(status: Status) -> str:
    done = f"{status.done} of {status.total} replays"
    if status.cached:
        done += f", {status.cached} from the cache"
    if status.rate is None or status.left_s is None:
        return done
    return f"{done}, {status.rate:.3g}/s, {dt.timedelta(seconds=round(status.left_s))} left"


def _say_interrupted(status: Status, sweep: Sweep, output: Path, options: _Options, jobs: int) -> None:
    done = f"{status.done} of {status.total} replays are done"
    if sweep.variants.height:
        done += f"; {output} has the {sweep.variants.height} variants that are complete"
        if not options.no_cache:
            done += f"; `{_again(output, options, jobs)}` continues"
    elif not options.no_cache:
        done += "; the same command continues"
    tables.warn(f"{done}")


def _again(output: Path, options: _Options, jobs: int) -> str:
    """Give the command that continues a sweep from the study that it wrote."""
    words = ["matchbench", "sweep", f"{output}{os.sep}study.toml", "-o", str(output), "-j", str(jobs)]
    for name in ("cache", "areas", "cluster"):
        if (value := getattr(options, name)) is not None:
            words += [f"--{name}", str(value)]
    for setting in options.cluster_set:
        words += ["--cluster-set", setting]
    from matchbench.sweep.study import names_a_file

    flags = {name: getattr(options, name) for name in ("plots", "table_only", "allow_code")}
    flags["allow_code"] |= any(map(names_a_file, options.engines))
    words += [f"--{name.replace('_', '-')}" for name, given in flags.items() if given]
    return shlex.join(words)


def _show(sweep: Sweep, output: Path) -> None:
    from matchbench.sweep import table
    from matchbench.sweep.result import MARKER

    with tables.ignoring_closed_pipe():
        for sentence in sweep.answer:
            tables.line(sentence)
        tables.line()
        shown = table.chosen(sweep, _MOST_ROWS)
        title = None
        if shown.height < sweep.variants.height:
            title = (
                f"{shown.height} of {sweep.variants.height} variants, those with a mark and the best; "
                f"{output}/variants.csv has all"
            )
        tables.show(title, table.headings(sweep), table.rows(sweep, shown))
        tables.line()
        tables.line(f"results: {output}/report.html")
    with tables.ignoring_closed_pipe():
        from matchbench.compare import summary

        texts = [
            *summary.remark_lines(sweep.remarks),
            *(f"{name}: left out: {why}" for name, why in sweep.left_out.items()),
        ]
        for text in texts[:_MOST_REMARKS]:
            tables.warn(text)
        if len(texts) > _MOST_REMARKS:
            tables.warn(f"{len(texts) - _MOST_REMARKS} more remarks; {output}/{MARKER} has all")
