# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The option `--set` and its like, with completion in a shell."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from matchbench import _native
from matchbench._native import MatchbenchError
from matchbench.native_types import Parameter

Function = TypeVar("Function", bound=Callable[..., Any])
Known = Callable[[click.Context], Iterable[tuple[str, Parameter]]]
"""What can be set in the context of a command line: the text before `=`, and the parameter."""


def set_option(
    known: Known,
    *,
    help: str,  # noqa: A002 - the name of the parameter in click.option
    declarations: Iterable[str] = ("-s", "--set", "parameters"),
    metavar: str = "KEY=VALUE",
) -> Callable[[Function], Function]:
    """Add a repeatable option that sets parameters; :func:`parse_assignments` parses its values.

    Parameters
    ----------
    known
        What can be set, for completion.
    help, declarations, metavar
        As of a click option.
    """

    def complete(ctx: click.Context, _parameter: click.Parameter, text: str) -> list[CompletionItem]:
        key, equals, value = text.partition("=")
        try:
            found = list(known(ctx))
        except MatchbenchError:  # a name on the line is not complete
            return []
        if not equals:
            return [
                CompletionItem(f"{name}=", help=each["help"]) for name, each in found if name.startswith(text)
            ]
        words = {word for name, each in found if name == key for word in _words(each)}
        return [CompletionItem(f"{key}={word}") for word in sorted(words) if word.startswith(value)]

    return click.option(*declarations, metavar=metavar, multiple=True, help=help, shell_complete=complete)


def _words(parameter: Parameter) -> list[str]:
    """Return the words that a parameter can have; none for a number."""
    return parameter["domain"].split(", ") if parameter["unit"] == "choice" else []


def of_engines(option: str) -> Known:
    """Give the parameters of the engines that an option names, or of those compared by default."""

    def known(ctx: click.Context) -> Iterable[tuple[str, Parameter]]:
        named = ctx.params.get(option) or ()
        specs = [named] if isinstance(named, str) else list(named)
        default = [card["name"] for card in _native.engines() if card["representative"] is not None]
        engines = [_native.Engine.found(spec) for spec in specs or default]
        every = {each["name"]: each for engine in engines for each in engine.parameters()}
        own = ((f"{engine.name}.{each['name']}", each) for engine in engines for each in engine.parameters())
        return [*every.items(), *own]

    return known


def of_network(ctx: click.Context) -> Iterable[tuple[str, Parameter]]:
    """Give the parameters of the network of `--network`."""
    network = _native.Network(ctx.params.get("network") or _native.networks()[0][0])
    return named(network.parameters())


def named(parameters: Iterable[Parameter]) -> list[tuple[str, Parameter]]:
    """Return parameters with their names."""
    return [(each["name"], each) for each in parameters]
