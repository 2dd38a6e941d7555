# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Completion of names in a shell: engines with their presets, networks, cores, papers."""

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

from matchbench import _native

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def of_names(names: Callable[[], Iterable[tuple[str, str]]], *, files: bool = False) -> Completer:
    """Return what completes a name.

    Parameters
    ----------
    names
        Gives the names, each with what it is.
    files
        Whether the path of a file may stand for a name.
    """

    def complete(_ctx: click.Context, _parameter: click.Parameter, text: str) -> list[CompletionItem]:
        found = [CompletionItem(name, help=what) for name, what in names() if name.startswith(text)]
        return found or ([CompletionItem(text, type="file")] if files else [])

    return complete


def engines() -> Iterable[tuple[str, str]]:
    """Give the engines, and their presets."""
    for card in _native.engines():
        yield card["name"], card["summary"]
        yield from ((f"{card['name']}:{preset}", card["summary"]) for preset in card["presets"])


def networks() -> Iterable[tuple[str, str]]:
    """Give the networks."""
    return _native.networks()


def cores() -> Iterable[tuple[str, str]]:
    """Give the core models."""
    return ((name, "") for name in _native.core_models())


ENGINE = of_names(engines, files=True)
NETWORK = of_names(networks)
CORE = of_names(cores)
