# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench files`: where the files are that come with the package."""

import click

from matchbench import shipped
from matchbench._native import MatchbenchError
from matchbench.cli.usage import Command
from matchbench.display import tables

_FOLDERS = {
    "docs": "pages; more in recorder/docs, processor/docs and moped/docs",
    "examples/mpi": "six MPI programs in C, C++ and Fortran; they need mpicc, mpicxx and mpifort",
    "matching": "the Rust crates of an engine of your own",
    "mbmatch": "the matcher library: a header and a source in C",
    "moped/mpi": "the MPI library of the simulated chip; mpicc-chip needs a cross compiler for RISC-V",
    "recorder/build": "the recorder: the library to preload, and the archive for statically linked programs",
    "spec": "the matching contract, and the formats of traces and results",
    "studies": "studies for `sweep`, and the figures of the papers",
    "traces": "recordings of the six programs",
}


@click.command(
    cls=Command,
    name="files",
    epilog="""
    Examples:

    \b
      matchbench files
      matchbench compare "$(matchbench files traces/fft-16.tar.xz)"
      make -C "$(matchbench files examples/mpi)" BUILD=$PWD/build

    Exit status: 0 done, 2 bad input.
    """,
)
@click.argument("name", required=False)
def command(name: str | None) -> None:
    """Print where the files are that come with matchbench, or the path of one, NAME."""
    if name is None:
        tables.line(str(shipped.ROOT))
        tables.show(None, ["name", "what it is"], list(_FOLDERS.items()))
        return
    path = (shipped.ROOT / name).resolve()
    if not path.is_relative_to(shipped.ROOT) or not path.exists():
        msg = f"{name}: found no such file in {shipped.ROOT}; `matchbench files` lists the folders"
        raise MatchbenchError(msg)
    tables.line(str(path))
