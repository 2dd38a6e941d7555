# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench mpi bench`: what deep queues cost the user's MPI."""

import datetime as dt
from pathlib import Path

import click

from matchbench import tables
from matchbench.cli.progress import progress_bar
from matchbench.mpi.bench import Measurement, Plan, library_name, measure, transport
from matchbench.mpi.launch import find
from matchbench.output import check_directory, whole_directory

MARKER = "mpi-bench.json"


@click.command(
    name="bench",
    context_settings={"ignore_unknown_options": False, "allow_interspersed_args": False},
    epilog="""
    Examples:

    \b
      matchbench mpi bench
      matchbench mpi bench --quick -- mpirun --mca pml ucx
      matchbench mpi bench --mpicc mpicc.mpich -o out/mpich -- mpirun.mpich -hosts node1,node2
      matchbench mpi bench -- srun -N 2 --ntasks-per-node 1
    """,
)
@click.option("--mpicc", metavar="PROGRAM", help="The compiler of your MPI. [$MPICC or mpicc]")
@click.option(
    "--hostfile", metavar="FILE", type=click.Path(path_type=Path), help="Hosts, handed to the launcher."
)
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Results. [out/mpi-bench-DATE-TIME]",
)
@click.option("--quick", is_flag=True, help="Fewer depths and repetitions: some ten seconds.")
@click.argument("launcher", metavar="[-- LAUNCHER...]", nargs=-1, type=click.UNPROCESSED)
def command(
    mpicc: str | None, hostfile: Path | None, output: Path | None, quick: bool, launcher: tuple[str, ...]
) -> int:
    """Measure what deep queues cost your MPI."""
    mpi = find(mpicc, launcher, hostfile)
    if output is None:
        output = Path("out") / f"mpi-bench-{dt.datetime.now():%Y%m%d-%H%M%S}"
    check_directory(output, marker=MARKER)
    plan = (
        Plan(depths=(0, 64, 256, 1024), sweeps=3, budget_us=2000, source_ranks=4, stall_seconds=30)
        if quick
        else Plan()
    )
    with whole_directory(output, marker=MARKER) as directory:
        with progress_bar("starting") as bar:
            measurement = measure(mpi, plan, directory, lambda _, done, total: bar(done, total))
        _show(measurement)
        (directory / MARKER).write_text("{}\n")
    return 1 if measurement.remarks else 0


def _show(measurement: Measurement) -> None:
    tables.line(f"{library_name(measurement.hello.library)}: {transport(measurement.hello)}")
    depths = measurement.plan.depths
    rows = []
    for series in measurement.series:
        median = {point.depth: point.ns_median for point in series.points}
        curve = series.curve
        rows.append(
            [series.name, *(tables.time(median.get(depth)) for depth in depths), curve and curve.verdict]
        )
    tables.show(None, ["series", *(f">{depth}" for depth in depths), "grows"], rows)
    for name, memory in measurement.memory.items():
        tables.line(f"{name}: {(memory.full - memory.before) / memory.items:.0f} B")
    for name, remark in measurement.remarks.items():
        tables.line(f"{name}: {remark}")
