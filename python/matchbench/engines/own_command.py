# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench engine`: an engine of one's own, from a template to the test kit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from matchbench import MatchbenchError
from matchbench.cli import complete
from matchbench.cli.set_option import of_engines, set_option
from matchbench.cli.values import Number
from matchbench.cli.whole_summaries import WholeSummaries
from matchbench.display import tables

if TYPE_CHECKING:
    from matchbench.engines.templates import Language
    from matchbench.native_types import KitReport

CHECK_FAILED = 1

_LAST = {
    "rust": "cd {path} && cargo build --release && matchbench engine test target/release/lib{name}.so",
    "c": "cd {path} && make test",
    "python": "matchbench engine test {path}/{name}.py",
}
"""What to do next."""


@click.group(
    cls=WholeSummaries,
    name="engine",
    epilog="""
    Examples:

    \b
      matchbench engine new my_nic
      matchbench engine test my_nic/target/release/libmy_nic.so
      matchbench compare TRACE --engine my_nic/target/release/libmy_nic.so --engine linear

    `docs/own-engine.md` is a tutorial, from an empty folder to a row in a comparison.
    `matchbench engines` lists the built-in engines.
    """,
)
def command() -> None:
    """Write and test a receive engine of your own."""


@command.command(
    epilog="""
    Examples:

    \b
      matchbench engine new my_nic
      matchbench engine new my_nic --c
      matchbench engine new quick_idea --python -o ideas/quick

    A crate depends on the crates of matchbench: on those of a checkout from which this command runs, or else
    on copies, which are written too. All other crates come from cargo's registry.
    """
)
@click.argument("name")
@click.option("--c", "in_c", is_flag=True, help="Write it in C, for any compiler of C or C++.")
@click.option("--python", "in_python", is_flag=True, help="Write a class in Python: slow, for quick ideas.")
@click.option(
    "-o", "--output", metavar="DIR", type=click.Path(path_type=Path), help="Directory of the engine. [NAME]"
)
@click.option(
    "--matchbench",
    "checkout",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="A checkout of matchbench that the crate depends on.",
)
@click.option("--force", is_flag=True, help="Replace an earlier engine in DIR.")
def new(
    name: str, output: Path | None, checkout: Path | None, *, in_c: bool, in_python: bool, force: bool
) -> None:
    """Write an engine NAME to start from: a crate that keeps MPI's order, its card, a preset and a test."""
    from matchbench.engines import templates

    if in_c and in_python:
        msg = "--c: cannot be combined with --python; give one of them"
        raise MatchbenchError(msg)
    language: Language = "c" if in_c else "python" if in_python else "rust"
    directory = output or Path(name)
    written = templates.write(name, directory, language=language, checkout=checkout, force=force)
    for each in written:
        tables.line(f"{directory}/{each}")
    tables.line(f"next: {_LAST[language].format(path=directory, name=name)}")


@command.command(
    epilog="""
    Examples:

    \b
      matchbench engine test target/release/libmy_nic.so
      matchbench engine test ./quick_idea.py --set entry=5
      matchbench engine test linear:bgp

    Exit status: 0 every check passed, 1 a check failed, 2 bad input.
    """
)
@click.argument("spec", metavar="FILE|NAME[:PRESET]", shell_complete=complete.ENGINE)
@set_option(of_engines("spec"), help="Set a parameter; repeatable. `engines show` lists them.")
@click.option(
    "--silence",
    metavar="SECONDS",
    type=Number(min=0.1),
    default=60.0,
    help="Time without progress after which an engine from a file is stopped. [60]",
)
def test(spec: str, parameters: tuple[str, ...], silence: float) -> int:
    """Run the test kit on an engine: a shared library, a Python file, or a built-in engine.

    It offers the cases of the matching contract and random streams of operations, and compares every
    outcome with that of the reference matcher. Prints what passed, and the first failure with the shortest
    sequence of operations found that leads to it.
    """
    from matchbench.engines import own_engines, own_process
    from matchbench.engines.selection import choose_engines
    from matchbench.match_unit.common import reported_errors
    from matchbench.parameters import parse_assignments

    own_process.describing_s = silence
    with reported_errors():
        (chosen,) = choose_engines([spec], parse_assignments(parameters))
        report = own_engines.run_kit(chosen, silence_s=silence)
    origin = own_engines.describe(chosen.origin)
    tables.line(f"{chosen.name}:{chosen.preset}" + (f" ({origin})" if origin else ""), style="bold")
    _show(report)
    return CHECK_FAILED if report["failure"] else 0


def _show(report: KitReport) -> None:
    rows = [(name, "passed", str(runs), promise) for name, promise, runs in report["passed"]]
    failure = report["failure"]
    if failure:
        rows.append((failure[0], "failed", "-", failure[1]))
    tables.show(None, ["check", "result", ">runs", "what it shows"], rows)
    if failure:
        name, _, clause, text = failure
        where = f" (spec/matching.md, clause {clause})" if clause else ""
        first, *operations = text.splitlines()
        tables.line(f"first failure: {name}{where}: {first}")
        for line in operations:
            tables.line(line)
