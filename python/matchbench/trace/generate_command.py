# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench generate`: a trace from a communication pattern, whose parameters become options."""

from pathlib import Path

import click

from matchbench import _native
from matchbench.cli.progress import progress_bar
from matchbench.cli.usage import Command
from matchbench.cli.values import Whole
from matchbench.cli.whole_summaries import WholeSummaries
from matchbench.display import tables
from matchbench.native_types import Pattern

_MOST_RANKS = (1 << 31) - 1
_MOST_SEED = (1 << 64) - 1


class Patterns(WholeSummaries):
    """One command per pattern of the trace library."""

    kind = "pattern"

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """List the patterns."""
        return [pattern["name"] for pattern in _native.patterns()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's signature
        """Make the command of one pattern; None if it does not exist."""
        found = [pattern for pattern in _native.patterns() if pattern["name"] == cmd_name]
        return _command(found[0]) if found else None


@click.group(
    cls=Patterns,
    name="generate",
    epilog="""
    Examples:

    \b
      matchbench generate halo3d --ranks 64 -o out/halo
      matchbench generate depth --help
    """,
)
def command() -> None:
    """Generate a trace of any size from a communication pattern."""


def _command(pattern: Pattern) -> click.Command:
    name = pattern["name"]

    def run(output: Path, ranks: int, seed: int, *, force: bool, **settings: str | None) -> None:
        # Imported here because polars slows `--help`.
        from matchbench.trace.generate import generate

        given = {key: value for key, value in settings.items() if value is not None}
        with progress_bar("generating") as progress:
            trace = generate(
                name, output, ranks=ranks, seed=seed, settings=given, force=force, progress=progress
            )
        tables.line(f"{output}: {tables.count(trace.ranks)} ranks, {tables.count(trace.records)} records")

    options: list[click.Parameter] = [
        click.Option(
            ["-o", "--output"],
            metavar="DIR",
            required=True,
            type=click.Path(path_type=Path),
            help="Directory of the trace.",
        ),
        click.Option(
            ["-n", "--ranks"],
            metavar="N",
            required=True,
            type=Whole(max=_MOST_RANKS),
            help=f"Number of ranks, {pattern['least_ranks']} or more.",
        ),
        click.Option(
            ["--seed"],
            default=1,
            show_default=True,
            type=Whole(0, _MOST_SEED),
            metavar="N",
            help="Seed of the random choices.",
        ),
        click.Option(["--force"], is_flag=True, help="Replace an earlier trace in DIR."),
    ]
    for setting in pattern["settings"]:
        unit = setting["unit"] if setting["unit"] not in ("count", "choice") else "N"
        options.append(
            click.Option(
                [f"--{setting['name'].replace('_', '-')}", setting["name"]],
                metavar="|".join(setting["choices"]) or unit,
                help=f"{setting['help']} [default: {setting['default']}]",
            )
        )
    return Command(
        name,
        callback=run,
        params=options,
        help=pattern["summary"],
        epilog=f"Example: matchbench generate {name} --ranks 64 -o out/{name}",
    )
