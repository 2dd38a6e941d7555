# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Every parameter that takes a file is given what is no such file."""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import click

from tests.abuse.case import DONE, REFUSED, Case, run
from tests.abuse.command_tree import parameters
from tests.abuse.places import NO_FILES, PLACES, Place
from tests.conftest import make_fake_mpi

ORDERLY = "status 0 or 1, or refused in one line"
_SEED = 48
_FLIPS = 3


def _random() -> random.Random:
    return random.Random(_SEED)  # noqa: S311 - no secret


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(os.path.relpath(path))  # the path of a socket has at most 108 bytes


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _link(target: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(target)


def _bytes(content: bytes) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_bytes(content)

    return write


_DEEP = 100_000
HOSTILE: dict[str, Callable[[Path], object]] = {
    "nothing": lambda _path: None,
    "a directory": Path.mkdir,
    "a FIFO": _fifo,
    "a socket": _socket,
    "a link to itself": _loop,
    "/dev/zero": _link("/dev/zero"),
    "/dev/full": _link("/dev/full"),
    "/dev/tty": _link("/dev/tty"),
    "/proc/kmsg": _link("/proc/kmsg"),
    "/proc/self/maps": _link("/proc/self/maps"),
    "/proc/self/mem": _link("/proc/self/mem"),
    "an empty file": _bytes(b""),
    "random bytes": _bytes(_random().randbytes(5000)),
    "zeros": _bytes(bytes(5000)),
    "deep nesting of TOML": _bytes(b"a = " + b"[" * _DEEP + b"]" * _DEEP + b"\n"),
    "deep nesting of JSON": _bytes(b'{"a":' * _DEEP + b"1" + b"}" * _DEEP),
    "no UTF-8": _bytes(b'name = "\xff\xfe"\n'),
    "1 TiB of zeros": _sparse,
}
"""What is no file of any kind that a command reads."""


def cases() -> Iterator[Case]:
    """Give each parameter each hostile file, and damaged forms of a valid one."""
    yield Case("every parameter has a case", "none is left out", lambda _folder: _left_out())
    for (command, parameter), places in PLACES.items():
        for place in places:
            name = f"{command} {parameter} as {place.name}"
            for what, make in HOSTILE.items():
                expected = DONE if what in place.accepts else REFUSED
                yield Case(f"{name}: {what}", expected, _hostile(place, make))
            if place.content is not None:
                yield Case(f"{name}: a valid file", place.valid, _valid(place))
                yield Case(f"{name}: cut and with other bits", ORDERLY, _damaged(place))


def _left_out() -> str:
    """Name parameters without a case, and those of cases that do not exist."""
    asked = {key for key, parameter in parameters().items() if not _is_of_values(parameter)}
    named = {*PLACES, *(key for key in asked if key[1] in NO_FILES)}
    return ", ".join(" ".join(key) for key in sorted(asked ^ named)) or "none is left out"


def _is_of_values(parameter: click.Parameter) -> bool:
    """Whether a parameter takes numbers or words of a list, and so no file."""
    return isinstance(parameter.type, click.Choice | click.types.IntParamType | click.types.FloatParamType)


def _prepare(folder: Path, place: Place) -> None:
    """Write the other files."""
    if "fake/" in place.words:
        make_fake_mpi(folder)
    (folder / place.name).parent.mkdir(exist_ok=True)
    for name, content in place.others.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content())
    (folder / place.name).unlink(missing_ok=True)


def _words(place: Place) -> list[str]:
    return place.words.replace("@", place.name).split()


def _end(place: Place) -> str:
    end = replace(run(_words(place)), diagnosed=(f"{place.name}:",))
    return REFUSED if place.refused != REFUSED and str(end) == place.refused else str(end)


def _hostile(place: Place, make: Callable[[Path], object]) -> Callable[[Path], str]:
    def find(folder: Path) -> str:
        _prepare(folder, place)
        make(folder / place.name)
        return _end(place)

    return find


def _valid(place: Place) -> Callable[[Path], str]:
    def find(folder: Path) -> str:
        assert place.content is not None
        _prepare(folder, place)
        (folder / place.name).write_bytes(place.content())
        return _end(place)

    return find


def _is_orderly(place: Place, end: str) -> bool:
    if place.runs:
        return end.startswith("status ") and "traceback" not in end
    return end in {DONE, "status 1, one line", REFUSED}


def _damaged(place: Place) -> Callable[[Path], str]:
    def find(folder: Path) -> str:
        assert place.content is not None
        valid = place.content()
        _prepare(folder, place)
        choice = _random()
        ends = []
        for _ in range(_FLIPS):
            flipped = bytearray(valid)
            flipped[choice.randrange(len(valid))] ^= 1 << choice.randrange(8)
            for content in (bytes(flipped), valid[: choice.randrange(len(valid))]):
                (folder / place.name).write_bytes(content)
                ends.append(_end(place))
        bad = [end for end in ends if not _is_orderly(place, end)]
        return bad[0] if bad else ORDERLY

    return find
