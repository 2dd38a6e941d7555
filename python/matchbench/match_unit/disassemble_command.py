# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench match_unit disasm`: the image of a match program back to text."""

from pathlib import Path

import click

from matchbench import _native
from matchbench.cli.usage import Command
from matchbench.display import tables
from matchbench.input import read_bytes


@click.command(
    cls=Command,
    name="disasm",
    epilog="""
    Examples:

    \b
      matchbench match_unit disasm program.img
      matchbench match_unit disasm program.img --listing

    Exit status: 0 done, 2 bad input.
    """,
)
@click.argument("image", type=click.Path(path_type=Path))
@click.option("--listing", is_flag=True, help="Print addresses, encodings and the slots in use instead.")
def command(image: Path, *, listing: bool) -> None:
    """Print the program of IMAGE as text that assembles to the same words.

    An image holds no names: branch targets are named after their addresses.
    """
    program = _native.MatchProgram.load(str(image), read_bytes(image, "an image of `match_unit asm`"))
    tables.write(program.listing() if listing else program.text())
