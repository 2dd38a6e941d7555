# SPDX-License-Identifier: Apache-2.0 OR MIT
"""`matchbench engines`: the receive engines, their presets and the sources of their parameters."""

import click

from matchbench import _native
from matchbench.cli import complete
from matchbench.cli.whole_summaries import WholeSummaries
from matchbench.display import tables
from matchbench.engines.own_engines import describe
from matchbench.native_types import Card
from matchbench.parameters import show as show_parameters


@click.group(
    cls=WholeSummaries,
    name="engines",
    invoke_without_command=True,
    epilog="""
    Examples:

    \b
      matchbench engines
      matchbench engines show linear
      matchbench engines show linear:qsnet2
    """,
)
@click.pass_context
def command(ctx: click.Context) -> None:
    """List the receive engines, or show one with the sources of its parameters."""
    if ctx.invoked_subcommand is None:
        _list()


def _presets(card: Card) -> str:
    """List the presets; mark those that a comparison runs only when named, and one that it runs by default.

    The first preset is the default of the engine's name, and usually that of a comparison.
    """
    marks = dict.fromkeys(card["on_request"], " (on request)") | dict.fromkeys(
        card["literal"], " (breaks order)"
    )
    chosen = card["representative"]
    if chosen is None:
        marks = dict.fromkeys(card["presets"], " (with --all)") | marks
    elif chosen != card["presets"][0]:
        marks[chosen] = " (compared by default)"
    return ", ".join(preset + marks.get(preset, "") for preset in card["presets"])


@command.command(name="list")
def list_command() -> None:
    """List engines, their presets and the networks between ranks."""
    _list()


def _list() -> None:
    cards = _native.engines()
    tables.show(
        None,
        ["engine", "timing", "presets (first: default)", "description"],
        [(card["name"], card["timing"], _presets(card), card["summary"]) for card in cards],
    )
    tables.line()
    tables.show(None, ["network", "description"], _native.networks())


@command.command(
    epilog="""
    Examples:

    \b
      matchbench engines show ideal
      matchbench engines show linear:bgp
      matchbench engines show ./libmy_engine.so
    """
)
@click.argument("spec", metavar="NAME|FILE[:PRESET]", shell_complete=complete.ENGINE)
def show(spec: str) -> None:
    """Print an engine's card and the parameters of its presets, each with unit and source."""
    chosen = _native.Engine.found(spec)
    card = chosen.card()
    tables.line(f"{card['name']}: {card['summary']}", style="bold")
    tables.line(f"reference: {card['reference']}")
    tables.line(f"timing:    {card['timing']}")
    tables.line(f"presets:   {_presets(card)}")
    if chosen.origin is not None:
        tables.line(f"from:      {describe(chosen.origin)}")
    for preset in [chosen.preset] if ":" in spec.rpartition("/")[2] else card["presets"]:
        engine = chosen.of_preset(preset)
        parameters = engine.parameters()
        assumed = sum(parameter["source"] == "assumed" for parameter in parameters)
        tables.line()
        show_parameters(
            f"{card['name']}:{preset} (placement {engine.placement}; "
            f"{assumed} of {len(parameters)} parameters assumed)",
            parameters,
        )
        if engine.breaks_order is not None:
            tables.line(f"{card['name']}:{preset} breaks MPI's order, {engine.breaks_order}", style="bold")
