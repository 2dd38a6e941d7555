# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench record`: run an MPI program and write its trace."""

import datetime as dt
from pathlib import Path

import click

from matchbench.cli.usage import Passing
from matchbench.display import document, tables
from matchbench.record.run import Recording, record


@click.command(
    cls=Passing,
    name="record",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="""
    Examples:

    \b
      matchbench record -- mpirun -n 16 ./app --size 100
      matchbench record -o traces/app -- srun -n 64 ./app

    The program must be linked dynamically with MPI, load it, or be linked with the recorder
    (recorder/docs/recorder.md). Other profiling tools, linked or preloaded, stay in effect and see each call
    before the recorder. DIR must be on a file system that all ranks share. A trace is complete, stopped
    (by a full disk), cut (by a signal) or aborted (by MPI_Abort). Exit status: that of the program if
    it is not 0; 1 if the trace is not complete; 2 bad input.
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

    COMMAND starts the program: launcher, its arguments, program, its arguments. The launchers of Open MPI,
    MPICH, Intel MPI and MVAPICH and srun are supported; another launcher must pass its environment to the
    ranks.
    """
    if output is None:
        output = Path("out") / f"trace-{dt.datetime.now():%Y%m%d-%H%M%S}"
    recording = record(words, output)
    for line in () if document.is_quiet() and recording.state == "complete" else summary(recording):
        tables.note(line)
    if recording.exit_status != 0:
        return recording.exit_status
    return 0 if recording.state == "complete" else 1  # an interrupted launcher may return 0


def summary(recording: Recording) -> list[str]:
    """Summarize the recording: its state, and what it lacks."""
    lines = [f"matchbench: {text}" for text in recording.remarks]
    if not recording.ranks:
        return lines
    size = f"{len(recording.ranks)} of {recording.world} ranks"
    if recording.state:
        size += f", {recording.records} records, {recording.size_bytes} bytes: {recording.state}"
    return [f"matchbench: {recording.directory}: {size}", *lines]
