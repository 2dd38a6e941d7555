# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench mpi bench`: measure the cost of deep queues in the user's MPI.

What needs numpy is imported when the command runs, so that `--help` is fast.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from matchbench import MatchbenchError
from matchbench._native import unknown_name
from matchbench.cli.progress import progress_bar
from matchbench.cli.usage import Command
from matchbench.cli.values import Number, Whole
from matchbench.display import document as output_document
from matchbench.display import tables
from matchbench.display.output import make_directory, whole_directory

if TYPE_CHECKING:
    from matchbench.mpi.results import Row

QUICK = {
    "depths": (0, 4, 64, 256, 1024),
    "sweeps": 3,
    "budget_us": 2000,
    "source_ranks": 4,
}
"""Plan of `--quick`: the shape of the curves, with a wide spread."""

_SHOWN = (0, 4, 16, 64, 256, 1024, 4096, 8192, 16384)  # depths of the table, if they were measured


def _depths(_ctx: click.Context, _parameter: click.Parameter, text: str | None) -> tuple[int, ...] | None:
    """Parse a list of depths."""
    if text is None:
        return None
    try:
        return tuple(sorted({int(word) for word in text.split(",")}))
    except ValueError as error:
        msg = f"found `{text}`, expected whole numbers separated by commas"
        raise click.BadParameter(msg) from error


@click.command(
    cls=Command,
    name="bench",
    context_settings={"allow_interspersed_args": False},
    epilog="""
    Examples:

    \b
      matchbench mpi bench
      matchbench mpi bench --quick -- mpirun --mca pml ucx
      matchbench mpi bench --mpicc mpicc.mpich -o out/mpich
      matchbench mpi bench --hostfile hosts -- mpirun --map-by node
      matchbench mpi bench -- srun --ntasks-per-node 1
      matchbench mpi bench --beside out/mpich -o out/openmpi

    `-n RANKS PROGRAM...` is appended to LAUNCHER, or replaces {ranks} and {program} in it. Open MPI, MPICH,
    Intel MPI and MPIs derived from them are supported. With several hosts, DIR must be on a file system
    that all of them share, because the program is built there.

    Exit status: 0 done; 1 a series hung or crashed, and the results name it; 2 bad input, or the MPI
    cannot start a program.
    """,
)
@click.option("--mpicc", metavar="PROGRAM", help="Compiler wrapper of your MPI. [$MPICC or mpicc]")
@click.option(
    "--hostfile",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="File of hosts, passed to the launcher.",
)
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Directory of the results; with the same one, the same command continues an interrupted "
    "measurement. [out/mpi-bench-DATE-TIME]",
)
@click.option(
    "--force",
    is_flag=True,
    help="Replace earlier results in DIR, and series kept from a run with other options.",
)
@click.option("--quick", is_flag=True, help="Fewer depths and repetitions: about ten seconds.")
@click.option(
    "--depths",
    metavar="D,D,...",
    callback=_depths,
    help="Numbers of queued entries. [0 and the powers of two up to 16384]",
)
@click.option("--repetitions", metavar="N", type=Whole(1, 1_000_000), help="Repetitions of each depth. [7]")
@click.option("--series", metavar="NAME", multiple=True, help="Measure only this series or kind; repeatable.")
@click.option(
    "--source-ranks",
    metavar="N",
    type=Whole(3, 1024),
    help="Number of ranks in the series `sources`; all but two sleep. [18]",
)
@click.option(
    "--silence",
    type=Number(min=1),
    default=60,
    show_default=True,
    metavar="SECONDS",
    help="Time without output after which a series is ended.",
)
@click.option("--pin/--no-pin", default=True, help="Pin both ranks to a core each if the launcher does not.")
@click.option("--label", help="Name of this measurement in tables and plots.")
@click.option(
    "--beside",
    metavar="FILE",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Earlier results, or a CSV file of rows, to compare with in plots; repeatable.",
)
@click.option("--table-only", is_flag=True, help="Draw no plots.")
@click.argument("launcher", metavar="[-- LAUNCHER...]", nargs=-1, type=click.UNPROCESSED)
def command(
    mpicc: str | None,
    hostfile: Path | None,
    output: Path | None,
    force: bool,
    quick: bool,
    depths: tuple[int, ...] | None,
    repetitions: int | None,
    series: tuple[str, ...],
    source_ranks: int | None,
    silence: float,
    pin: bool,
    label: str | None,
    beside: tuple[Path, ...],
    table_only: bool,
    launcher: tuple[str, ...],
) -> int:
    """Measure the cost of deep queues in your MPI.

    Builds a small program with your mpicc and runs it with your launcher. It measures round trips with
    other posted receives ahead of the matching one, receives and probes with other unexpected messages
    ahead, the time to drain a queue in several orders, and the memory of a queued item. It infers the
    library's data structures from the times.
    """
    from matchbench.mpi.bench import Plan, measure, wanted_series
    from matchbench.mpi.bench_unfinished import unfinished
    from matchbench.mpi.launch import find
    from matchbench.mpi.results import FILE, document, read_rows, write

    if beside and table_only:
        msg = "--beside: cannot be combined with --table-only; give one of them"
        raise MatchbenchError(msg)
    mpi = find(mpicc, launcher, hostfile)
    if output is None:
        output = Path("out") / f"mpi-bench-{dt.datetime.now():%Y%m%d-%H%M%S}"
    asked: dict[str, Any] = dict(QUICK) if quick else {}
    asked |= {
        key: value
        for key, value in (("depths", depths), ("sweeps", repetitions), ("source_ranks", source_ranks))
        if value is not None
    }
    plan = Plan(**asked, stall_seconds=silence, pin=pin, series=_chosen(series))
    others = [row for path in beside for row in read_rows(path)]
    with (
        whole_directory(output, marker=FILE, force=force) as directory,
        unfinished(output, mpi, plan, force=force) as kept,
    ):
        if kept.runs:
            finished = f"{len(kept.runs)} of {len(wanted_series(plan))} series"
            tables.remark(f"{finished} were measured before")
        try:
            with progress_bar("starting") as tell:
                measurement = measure(mpi, plan, directory, tell, earlier=kept.runs, keep=kept.keep)
        except (KeyboardInterrupt, SystemExit):
            if kept.runs:
                finished = f"{len(kept.runs)} of {len(wanted_series(plan))} series are kept"
                tables.remark(f"{finished}; the same command with -o {output} continues")
            raise
        whole = document(measurement, label=label, now=dt.datetime.now(dt.UTC))
        write(directory, whole)
        if not table_only:
            _draw(directory / "plots", whole["rows"], others)
    if output_document.is_collected():
        output_document.become(whole)
        return 1 if whole["remarks"] else 0
    show(whole)
    tables.line()
    tables.line(f"results: {output / FILE}")
    return 1 if whole["remarks"] else 0


def _chosen(names: Sequence[str]) -> tuple[str, ...]:
    """Select series by name or kind, in the order of measurement."""
    from matchbench.mpi.bench import SERIES

    if not names:
        return SERIES
    for name in names:
        if not any(name in (each, each.partition("/")[0]) for each in SERIES):
            raise click.BadParameter(unknown_name("series", name, SERIES), param_hint="--series")
    return tuple(each for each in SERIES if each in names or each.partition("/")[0] in names)


def _draw(directory: Path, rows: Sequence[Row], others: Sequence[Row]) -> None:
    from matchbench.display.plots import save
    from matchbench.mpi.plots import figures

    make_directory(directory)
    for name, figure in figures(rows, others):
        save(figure, directory, name)


def show(whole: Mapping[str, Any]) -> None:
    """Print what the curves of a measurement imply, then its tables, then remarks on series.

    Parameters
    ----------
    whole
        Result of `matchbench.mpi.results.document`.
    """
    mpi, place, plan = whole["mpi"], whole["place"], whole["plan"]
    hosts = list(dict.fromkeys(place["hosts"]))
    tables.line(whole["label"], style="bold")
    for sentence in whole["structure"]:
        tables.line(sentence)
    tables.line()
    tables.line(f"library:   {mpi['name']}, MPI {mpi['standard']}; {mpi['transport']}")
    tables.line(f"place:     {' and '.join(hosts)}, {place['cpu']}; {_pinning(place)}")
    tables.line(f"times:     medians of {plan['sweeps']} repetitions; spread: half their interquartile range")
    tables.line()
    _show_times(whole)
    if whole["memory"]:
        tables.line()
        tables.show(
            None,
            ["memory of a queued item", ">items", ">each", ">kept afterwards"],
            [
                (
                    _MEMORY.get(row["what"], row["what"]),
                    tables.count(row["items"]),
                    f"{tables.count(round(row['bytes_per_item']))} B",
                    tables.share(row["kept_share"]),
                )
                for row in whole["memory"]
            ],
        )
    if whole["remarks"]:
        tables.line()
    for name, why in whole["remarks"].items():
        tables.line(f"{name}: {why}")


_MEMORY = {
    "posted": "posted receive",
    "unexpected_small": "unexpected message of 8 B",
    "unexpected_large": "unexpected message of 1 KiB",
}


def _pinning(place: Mapping[str, Any]) -> str:
    if place["pinned_by"] == "nobody":
        return "ranks not pinned"
    where = [f"cpu {cpu}" if cpu >= 0 else "several cpus" for cpu in place["pinned"]]
    return f"pinned by the {place['pinned_by']} to {' and '.join(where)}"


def _show_times(whole: Mapping[str, Any]) -> None:
    measured = {row["depth"] for row in whole["rows"]}
    shown = [depth for depth in _SHOWN if depth in measured] or sorted(measured)[:10]
    curves = {(curve["kind"], curve["pattern"]): curve for curve in whole["curves"]}
    lines = []
    for kind, pattern in dict.fromkeys((row["kind"], row["pattern"]) for row in whole["rows"]):
        mine = [row for row in whole["rows"] if (row["kind"], row["pattern"]) == (kind, pattern)]
        median = {row["depth"]: row["ns_median"] for row in mine}
        curve = curves.get((kind, pattern), {})
        lines.append(
            [
                kind,
                pattern,
                *(_short(median.get(depth)) for depth in shown),
                _spread(mine),
                _decimal(curve.get("entry_l1_ns")),
                _decimal(curve.get("entry_l2_ns")),
                _depth(curve.get("tenth_depth")),
                _depth(curve.get("twice_depth")),
                curve.get("verdict"),
            ]
        )
    columns = ["what", "ahead", *(f">{depth}" for depth in shown)]
    columns += [">spread", ">L1 ns/entry", ">L2 ns/entry", ">+10 % at", ">x2 at", "growth"]
    last = len(columns)
    tables.show(
        None,
        columns,
        lines,
        spare=[(last - 6,), tuple(range(3, 2 + len(shown) - 1, 2)), (last - 5, last - 4)],
    )


def _short(ns: float | None) -> str | None:
    """Format a time with three digits."""
    if ns is None:
        return None
    return tables.time(float(f"{ns:.3g}"))


def _spread(rows: Sequence[Row]) -> str | None:
    """Half the interquartile range over the median; the median of all depths."""
    shares = sorted(
        (row["ns_q3"] - row["ns_q1"]) / 2 / row["ns_median"] for row in rows if row["ns_median"] > 0
    )
    return f"{100 * shares[len(shares) // 2]:.0f} %" if shares else None


def _decimal(value: float | None) -> str | None:
    return None if value is None else f"{value:.2f}"


def _depth(value: float | None) -> str | None:
    return None if value is None else tables.count(round(value))
