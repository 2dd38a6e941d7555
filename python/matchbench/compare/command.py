# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench compare`: replay traces on engines, print the table, write the results.

What needs polars is imported when the command runs, so that `--help` is fast.
"""

from __future__ import annotations

import datetime as dt
import importlib
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from matchbench._native import MatchbenchError
from matchbench.cli import complete
from matchbench.cli.progress import progress_bar
from matchbench.cli.replay_options import output_options, replay_config, replay_options
from matchbench.cli.set_option import of_engines, set_option
from matchbench.cli.usage import Command
from matchbench.cli.values import Whole
from matchbench.display import tables
from matchbench.display.output import reserved_directory

if TYPE_CHECKING:
    from matchbench.compare.comparison import Comparison

CHECK_FAILED = 1


@click.command(
    cls=Command,
    name="compare",
    epilog="""
    Examples:

    \b
      matchbench compare traces/*.tar.xz
      matchbench compare out/mine --all
      matchbench compare out/run1 out/run2 out/run3 --repeat
      matchbench compare out/mine --engine ideal --engine linear:qsnet2 -o out/results
      matchbench compare out/mine --engine linear --set linear.entry=20 --network papers200
      matchbench compare out/mine --engine match_unit --set program=./mine.mb
      matchbench compare out/mine --engine ./libmy_engine.so --engine linear
      matchbench compare out/mine --collective allreduce=ring --network-set latency=600
      matchbench compare out/mine --engine host_native --engine linear:software --mpi-bench out/bench

    TRACE is a trace's directory or NAME.tar.xz. `matchbench engines` lists engines, presets and networks.
    Exit status: 0 done; 1 a replay did not finish: deadlock, or truncated trace; 2 bad input.
    """,
)
@click.argument("paths", metavar="TRACE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "-e",
    "--engine",
    "engines",
    metavar="NAME[:PRESET]",
    shell_complete=complete.ENGINE,
    multiple=True,
    help="An engine, a preset or an engine's file; repeatable. "
    "[one preset of each engine whose simulation is fast]",
)
@click.option(
    "--all",
    "every",
    is_flag=True,
    help="Every preset that keeps MPI's order, except those that run only when named.",
)
@set_option(
    of_engines("engines"),
    metavar="[ENGINE.]KEY=VALUE",
    help="Set a parameter of ENGINE, or of all engines that have it; repeatable.",
)
@click.option(
    "--mpi-bench",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Result of `matchbench mpi bench`; sets the costs of linear:software and linear:software_l2.",
)
@click.option(
    "--repeat",
    is_flag=True,
    help="The traces are recordings of one program: give intervals over them.",
)
@replay_options
@click.option(
    "-j",
    "--jobs",
    metavar="N",
    type=Whole(1, 1024),
    default=2,
    help="Parallel replays, then parallel plots. [2]",
)
@output_options(
    default="out/compare-DATE-TIME",
    plots="Draw the charts of the report as PNG and SVG too, to DIR/plots.",
)
def command(
    paths: tuple[Path, ...],
    engines: tuple[str, ...],
    parameters: tuple[str, ...],
    mpi_bench: Path | None,
    jobs: int,
    output: Path | None,
    *,
    every: bool,
    repeat: bool,
    plots: bool,
    table_only: bool,
    force: bool,
    **replay: Any,
) -> int:
    """Replay traces on receive engines and compare the cost of matching.

    Prints an answer in five sentences and one table per trace, and writes tables and an HTML report with
    interactive charts to DIR.
    """
    from matchbench.compare.run import compare
    from matchbench.engines.selection import choose_engines
    from matchbench.match_unit.common import reported_errors
    from matchbench.parameters import parse_assignments
    from matchbench.trace.trace import Trace

    if output is None:
        output = Path("out") / f"compare-{dt.datetime.now():%Y%m%d-%H%M%S}"
    if plots and table_only:
        msg = "--plots: cannot be combined with --table-only; give one of them"
        raise MatchbenchError(msg)
    if every and engines:
        msg = "--all: cannot be combined with --engine; give one of them"
        raise MatchbenchError(msg)
    with reported_errors():
        chosen = choose_engines(engines, parse_assignments(parameters), mpi_bench=mpi_bench, every=every)
    config = replay_config(**replay)
    with ExitStack() as stack:
        # Before the work: another command may be writing to it.
        stack.enter_context(reserved_directory(output, marker="results.json", force=force))
        traces = [stack.enter_context(Trace.open(path)) for path in paths]
        if plots:
            # matplotlib takes as long to import as a small trace to replay: both at the same time.
            threading.Thread(target=importlib.import_module, args=("matchbench.display.plots",)).start()
        with reported_errors(), progress_bar("replaying") as progress:
            comparison = compare(traces, chosen, config=config, repeat=repeat, jobs=jobs, progress=progress)
        _show(comparison)
        charts = not table_only
        with progress_bar("drawing") as progress:
            comparison.write(output, force=force, charts=charts, plots=plots, jobs=jobs, progress=progress)
    tables.line(f"results: {output}/report.html")
    return 0 if comparison.finished else CHECK_FAILED


def _show(comparison: Comparison) -> None:
    from matchbench.compare import intervals, summary

    with tables.ignoring_closed_pipe():
        for text in comparison.answer.sentences.values():
            tables.paragraph(text)
        tables.line()
        if comparison.repeat:
            title = intervals.title(comparison.results)
            rows = intervals.cells(comparison.intervals)
            tables.show(title, intervals.HEADINGS, rows, spare=intervals.SPARE)
            tables.line()
        blocks = summary.blocks(comparison.results, comparison.measured, comparison.reference)
        for block in () if comparison.repeat else blocks:
            if block.note:
                tables.line(f"{block.trace}: {block.note}")
            for name, shown, rows in block.tables:
                tables.show(name, summary.headings(shown), rows, spare=summary.spare(shown))
                tables.line()
    with tables.ignoring_closed_pipe():
        for text in summary.remark_lines(comparison.remarks):
            tables.warn(text)
