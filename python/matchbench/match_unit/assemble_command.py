# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench match_unit asm`: from the text of a match program to the image that a unit loads."""

from pathlib import Path

import click

from matchbench import MatchbenchError, _native
from matchbench.cli.usage import Command
from matchbench.display import tables
from matchbench.display.output import write_files
from matchbench.input import read_bytes


@click.command(
    cls=Command,
    name="asm",
    epilog="""
    Examples:

    \b
      matchbench match_unit asm program.mb
      matchbench match_unit asm program.mb -o program.img
      matchbench match_unit asm program.mb --listing

    Exit status: 0 done, 2 bad input.
    """,
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the image here.")
@click.option("--force", is_flag=True, help="Replace an earlier image.")
@click.option("--listing", is_flag=True, help="Print addresses, encodings and the slots in use.")
def command(file: Path, output: Path | None, *, force: bool, listing: bool) -> int:
    """Assemble a match program and report every error in it.

    Without an option, FILE is only checked.
    """
    text = read_bytes(file, "a match program", kind="text")
    try:
        program = _native.MatchProgram.assemble(str(file), text)
    except MatchbenchError as error:
        # Diagnostics have several lines.
        tables.note(str(error))
        return 2
    if output:
        write_files({output: program.image()}, force=force)
    if listing:
        tables.write(program.listing())
    else:
        tables.line(f"{file}: {len(program)} words, the store holds {program.store}")
    return 0
