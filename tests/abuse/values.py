# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Every option that takes a number or a word is given numbers out of its range."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import click

from tests.abuse.case import REFUSED, Case, run
from tests.abuse.command_tree import parameters
from tests.abuse.places import MPI, TRACE, UNIT

TAKEN = "status 0 or 1"
VALUES = {"negative": "-1", "zero": "0", "huge": "1" + "0" * 22, "NaN": "nan", "infinite": "inf", "empty": ""}

COMMANDS = {
    "trace export": "trace export a.tar.xz -o x --match-unit --rank 0",
    "compare": "compare a.tar.xz -e ideal --table-only",
    "sweep": "sweep a.tar.xz -e cam_list -s cam=4 -j 1 --table-only --no-cache",
    "size": "size a.tar.xz --table-only --no-costs",
    "reproduce": "reproduce tanabe2013",
    "engine test": "engine test ideal",
    "mpi bench": f"mpi bench {MPI} --hostfile nowhere",
    "mpi conform": f"mpi conform {MPI} --hostfile nowhere",
    "chip protocol": "chip protocol",
    "chip run": "chip run nowhere",
    "chip show": "chip show",
    "netproc build": "netproc build nowhere -o x",
    "netproc compare": "netproc compare null -n 9",
    "netproc generate": "netproc generate -o x.pcap --packets 9",
    "netproc run": "netproc run null -n 9",
    "cpu run": "cpu run nowhere",
    "match_unit debug": "match_unit debug mpi -l l.toml -H h.toml -x quit",
    "match_unit new": "match_unit new p.mb",
    **{
        f"match_unit {name}": f"match_unit {name} mpi -l l.toml -H h.toml"
        for name in ("profile", "run", "trace")
    },
    **{
        f"generate {name}": f"generate {name} -o x -n 4"
        for name in ("halo3d", "transpose", "many_to_one", "random", "depth", "tanabe2013_table1")
    },
    "generate sweep": "generate sweep -o x -n 4",
    "generate xiong2018_depths": "generate xiong2018_depths -o x -n 4 --iterations 1",
}
"""A short run of each command."""

_ALL = set(VALUES)
_ZERO = {"zero"}
ACCEPTED: dict[tuple[str, str], set[str]] = {
    **{
        ("*", option): _ZERO
        for option in (
            *("--seed", "--cpu-scale", "--poll-work", "--bytes", "--bytes-min", "--compute", "--depth"),
            *("--ahead", "--all-to-all-bytes", "--all-to-all-every", "--grid-x", "--grid-y", "--grid-z"),
            *("--position", "--ipv6-percent", "--vlan-percent", "--rank", "--communicator"),
        )
    },
    # Words for other programs, read after the program that these runs lack, or a name for people.
    **{("*", option): _ALL - {"empty"} for option in ("--label", "--cc", "--series")},
    **{("cpu run", option): _ALL - {"empty"} for option in ("--core", "--set", "--env")},
    ("mpi bench", "--depths"): {"negative", "zero", "huge"},
    ("generate many_to_one", "--compute"): set(),
}
"""Command and option, or `*` for all other commands -> the names of values that it takes."""


def cases() -> Iterator[Case]:
    """Give each option each value."""
    for (command, option), parameter in parameters().items():
        is_value = isinstance(parameter, click.Option) and not isinstance(parameter.type, click.Path)
        if not is_value or option == "-x":  # commands, which the debugger refuses in its own words
            continue
        taken = ACCEPTED.get((command, option), ACCEPTED.get(("*", option), set()))
        for what, value in VALUES.items():
            expected = TAKEN if what in taken else REFUSED
            yield Case(f"{command} {option}: {what}", expected, _tried(command, option, value))


def _tried(command: str, option: str, value: str) -> Callable[[Path], str]:
    def find(folder: Path) -> str:
        for name, content in {**TRACE, **UNIT}.items():
            (folder / name).write_bytes(content())
        end = run([*COMMANDS[command].split(), option, value])
        found = str(end)
        return TAKEN if found in {"status 0", "status 1, one line"} or "nowhere:" in end.err else found

    return find
