# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Options of how traces are replayed and where results go, which several commands have."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from matchbench import _native
from matchbench.cli import complete
from matchbench.cli.set_option import of_network, set_option
from matchbench.cli.usage import Choice
from matchbench.cli.values import Number
from matchbench.compare.replay_config import ReplayConfig

Function = TypeVar("Function", bound=Callable[..., Any])

OPTIONS = {
    "network": "--network",
    "network_set": "--network-set",
    "cpu_scale": "--cpu-scale",
    "free_wildcards": "--free-wildcards",
    "polls": "--polls",
    "poll_work_ns": "--poll-work",
    "collectives": "--collective",
}
"""Option by the name of its argument; those of `replay_options`."""


def replay_options(function: Function) -> Function:
    """Add the options of a replay; :func:`replay_config` takes their values."""
    decorators = [
        click.option(
            "--network",
            metavar="PRESET",
            shell_complete=complete.NETWORK,
            help=f"Network preset. [{_native.networks()[0][0]}]",
        ),
        set_option(
            of_network,
            declarations=("--network-set",),
            help="Set a parameter of the network; repeatable.",
        ),
        click.option(
            "--cpu-scale",
            metavar="X",
            type=Number(max=1e6),
            help="Factor on recorded compute time; 0 replays communication only. [1]",
        ),
        click.option(
            "--free-wildcards",
            is_flag=True,
            help="Let wildcard receives match the first message that arrives, not the recorded one.",
        ),
        click.option(
            "--polls",
            type=Choice(["waiting", "recorded"]),
            help="How loops of unsuccessful tests and probes are replayed: as one wait for the event that "
            "ended the loop, or call by call as recorded. [waiting]",
        ),
        click.option(
            "--poll-work",
            "poll_work_ns",
            metavar="NS",
            type=Number(),
            help="Shortest computation between two polls that is replayed, in ns. "
            f"[{_native.poll_work_ns():g}]",
        ),
        click.option(
            "--collective",
            "collectives",
            metavar="OP=ALGORITHM",
            multiple=True,
            help="Algorithm that expands the collective OP; repeatable.",
        ),
    ]
    for decorate in reversed(decorators):
        function = decorate(function)
    return function


def given_option(values: Mapping[str, object], options: Mapping[str, str] = OPTIONS) -> str | None:
    """Name the first of some options that was given, or return None.

    Parameters
    ----------
    values
        Values by the names of arguments.
    options
        The options by the names of arguments.
    """
    for name, option in options.items():
        # A number may be 0; what was not given is None, False or empty.
        if values[name] is not None and values[name] is not False and values[name] != ():
            return option
    return None


def replay_config(
    *,
    network: str | None,
    network_set: tuple[str, ...],
    cpu_scale: float | None,
    free_wildcards: bool,
    polls: str | None,
    poll_work_ns: float | None,
    collectives: tuple[str, ...],
) -> ReplayConfig:
    """Return how to replay.

    Raises
    ------
    MatchbenchError
        When a value is wrong.
    """
    from matchbench.parameters import parse_assignments

    algorithms = parse_assignments(collectives, option="--collective", form="OP=ALGORITHM")
    return ReplayConfig(
        network=network or _native.networks()[0][0],
        network_parameters=parse_assignments(network_set, option="--network-set"),
        cpu_scale=1.0 if cpu_scale is None else cpu_scale,
        free_wildcards=free_wildcards,
        recorded_polls=polls == "recorded",
        poll_work_ns=_native.poll_work_ns() if poll_work_ns is None else poll_work_ns,
        collectives={collective: str(algorithm) for collective, algorithm in algorithms.items()},
    )


def output_options(*, default: str, plots: str | None = None) -> Callable[[Function], Function]:
    """Add the options of where results go.

    Parameters
    ----------
    default
        What the directory is without the option; empty if nothing is written then.
    plots
        Help of the option `--plots`; None: there is none.
    """

    def decorated(function: Function) -> Function:
        decorators = [
            click.option(
                "-o",
                "--output",
                metavar="DIR",
                type=click.Path(path_type=Path),
                help=f"Directory of the results. [{default}]"
                if default
                else "Write tables and a page with charts.",
            ),
            *([click.option("--plots", is_flag=True, help=plots)] if plots else []),
            click.option("--table-only", is_flag=True, help="Draw no charts; the page has tables only."),
            click.option("--force", is_flag=True, help="Replace earlier results in DIR."),
        ]
        for decorate in reversed(decorators):
            function = decorate(function)
        return function

    return decorated
