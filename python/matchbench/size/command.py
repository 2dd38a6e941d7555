# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench size`: how many entries a matching structure needs for a trace.

What needs polars is imported when the command runs, so that `--help` is fast.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from matchbench import _native
from matchbench.cli import complete
from matchbench.cli.progress import progress_bar
from matchbench.cli.replay_options import output_options, replay_config, replay_options
from matchbench.cli.set_option import of_engines, set_option
from matchbench.cli.usage import Command
from matchbench.cli.values import Whole
from matchbench.display import tables
from matchbench.display.output import reserved_directory

if TYPE_CHECKING:
    from matchbench.size.sizing import Sizings

MOST_COMMUNICATORS = 8
"""Communicators in the printed table; the files have all of them."""


@click.command(
    cls=Command,
    name="size",
    epilog="""
    Examples:

    \b
      matchbench size traces/halo3d-64.tar.xz
      matchbench size out/mine --on linear:software -o out/sizes
      matchbench size traces/*.tar.xz --no-costs -o out/sizes
      matchbench size out/mine -e cam_list -e match_unit:mpi --buckets 32
      matchbench size out/mine -e match_unit --set program=./mine.mb

    A structure overflows when an entry is inserted while it is full. docs/sizing.md has the definitions.
    """,
)
@click.argument("paths", metavar="TRACE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--on",
    "engine",
    metavar="NAME[:PRESET]",
    shell_complete=complete.ENGINE,
    default="ideal:zero",
    help="The engine whose replay orders posts and arrivals. [ideal:zero]",
)
@click.option(
    "-e",
    "--engine",
    "costs",
    metavar="NAME[:PRESET]",
    shell_complete=complete.ENGINE,
    multiple=True,
    help="An engine to replay with several sizes; repeatable. [each engine whose structure has a curve]",
)
@set_option(
    of_engines("costs"),
    metavar="[ENGINE.]KEY=VALUE",
    help="Set a parameter of the engines with sizes; repeatable.",
)
@click.option("--no-costs", is_flag=True, help="Do not replay engines with several sizes.")
@click.option(
    "--buckets",
    metavar="N",
    type=Whole(1, 1 << 20),
    multiple=True,
    help="Divide the queues into N buckets by source modulo N; repeatable. [4, 16, 64, 256]",
)
@replay_options
@output_options(default="")
def command(
    paths: tuple[Path, ...],
    engine: str,
    costs: tuple[str, ...],
    parameters: tuple[str, ...],
    buckets: tuple[int, ...],
    output: Path | None,
    *,
    no_costs: bool,
    table_only: bool,
    force: bool,
    **replay: Any,
) -> None:
    """Count how many entries a matching structure needs, and the cost of too few.

    One replay gives the overflows of every size; further replays give the costs on engines with a structure.
    Structure entries are those of one structure, as its parameter counts them; engine and memory entries are
    those of the whole engine, for both queues, as `matchbench sweep` counts them. The last line recommends
    one number.
    """
    from matchbench.engines.selection import choose_engines
    from matchbench.match_unit.common import reported_errors
    from matchbench.parameters import parse_assignments
    from matchbench.size.sizing import BUCKETS, size, with_structure
    from matchbench.trace.trace import Trace

    if no_costs and (costs or parameters):
        other = "--engine" if costs else "--set"
        msg = f"--no-costs: cannot be combined with {other}; give one of them"
        raise _native.MatchbenchError(msg)
    names = [f"{each.name}:{each.preset}" for each in with_structure()]
    with reported_errors():
        limited = choose_engines(costs or names, parse_assignments(parameters))
    config = replay_config(**replay)
    with ExitStack() as stack:
        if output is not None:
            stack.enter_context(reserved_directory(output, marker="sizing.json", force=force))
        traces = [stack.enter_context(Trace.open(path)) for path in paths]
        with reported_errors(), progress_bar("replaying") as progress:
            sizings = size(
                traces,
                engine=engine,
                costs=[] if no_costs else limited,
                buckets=buckets or BUCKETS,
                config=config,
                progress=progress,
            )
        with tables.ignoring_closed_pipe():
            _show(sizings)
        if output is not None:
            sizings.write(output, force=force, charts=not table_only)
    if output is not None:
        tables.line(f"results: {output}/sizing.html")


def _show(sizings: Sizings) -> None:
    from matchbench.size import page as sizing_page

    for text in sizings.answer():
        tables.line(text)
    for trace in sizings.traces:
        blocks: list[tuple[str, tuple[str, ...], list[tuple[Any, ...]]]] = [
            (
                f"{trace}: structure entries that cover a share",
                sizing_page.NEEDS,
                sizing_page.need_rows(sizings, trace),
            ),
            (
                "structure entries that cover the searches of a communicator",
                sizing_page.COMMUNICATORS,
                sizing_page.communicator_rows(sizings, trace, MOST_COMMUNICATORS),
            ),
            (
                "queues in buckets: source modulo their number",
                sizing_page.BUCKETS,
                sizing_page.bucket_rows(sizings, trace),
            ),
            ("engines with a structure of a size", sizing_page.COSTS, sizing_page.cost_rows(sizings, trace)),
        ]
        for title, headings, rows in blocks:
            if rows:
                tables.line()
                tables.show(title, headings, rows)
    tables.line()
    tables.line(str(sizings.recommendation))
