# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench record`: run an MPI program and write its trace."""

import datetime as dt
import sys
from pathlib import Path

import click

from matchbench.record import Recording, record


@click.command(
    name="record",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="""
    Examples:

    \b
      matchbench record -- mpirun -n 16 ./app --size 100
      matchbench record -o traces/app -- srun -n 64 ./app

    The program must be linked dynamically with MPI; it need not be rebuilt. DIR must be on a file system
    that all ranks share. Exit status: that of the program if it is not 0; 1 if any rank was not recorded
    to its end; 2 bad input.
    """,
)
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Directory of the trace. [out/trace-DATE-TIME]",
)
@click.argument("words", metavar="-- COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
def command(output: Path | None, words: tuple[str, ...]) -> int:
    """Run an unmodified MPI program and record its calls as a trace.

    COMMAND starts the program: launcher, its arguments, program, its arguments. Supported are the launchers
    of Open MPI, MPICH, Intel MPI and MVAPICH, and srun; another launcher must pass its environment to the
    ranks.
    """
    if output is None:
        output = Path("out") / f"trace-{dt.datetime.now():%Y%m%d-%H%M%S}"
    recording = record(words, output)
    sys.stderr.writelines(f"{line}\n" for line in summary(recording))
    if recording.exit_status != 0:
        return recording.exit_status
    # An interrupted launcher may return 0.
    whole = recording.complete and all(rank.finalized for rank in recording.ranks)
    return 0 if whole else 1


def summary(recording: Recording) -> list[str]:
    """Summarize the recording, and name the incomplete ranks."""
    if not recording.ranks:
        return [
            "matchbench: no MPI rank was recorded; expected a program that is linked dynamically with MPI"
        ]
    records = sum(rank.records for rank in recording.ranks)
    lines = [
        f"matchbench: {recording.directory}: {len(recording.ranks)} of {recording.world} ranks, "
        f"{records} records, {recording.size_bytes} bytes"
    ]
    lines += [f"matchbench: rank {rank} is missing" for rank in recording.missing]
    for rank in recording.ranks:
        if rank.stopped:
            lines.append(f"matchbench: rank {rank.rank} stopped recording after {rank.records} records")
        elif not rank.finalized:
            lines.append(
                f"matchbench: rank {rank.rank} ended after {rank.records} records without MPI_Finalize"
            )
    return lines
