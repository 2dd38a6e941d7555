# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Every parameter that takes a file is given what is no such file."""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.abuse.case import DONE, REFUSED, Case, run
from tests.shared import ROOT

ORDERLY = "status 0 or 1, or refused in one line"
_SEED = 48
_FLIPS = 3


def _random() -> random.Random:
    return random.Random(_SEED)  # noqa: S311 - no secret


@dataclass(frozen=True, slots=True)
class Place:
    """A parameter that takes a file.

    Parameters
    ----------
    words
        The words of a command; `@` is the file.
    name
        Name of the file.
    content
        Gives a valid content.
    """

    words: str
    name: str
    content: Callable[[], bytes]


@cache
def _archive() -> bytes:
    return (ROOT / "traces" / "tasks-16.tar.xz").read_bytes()


PLACES: dict[tuple[str, str], Place] = {
    ("trace check", "PATHS"): Place("trace check @", "a.tar.xz", _archive),
}
"""Parameter -> how it is tried."""


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(path.name)  # the path of a socket has at most 108 bytes


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
    for (command, parameter), place in PLACES.items():
        name = f"{command}, {parameter}"
        for what, make in HOSTILE.items():
            yield Case(f"{name}: {what}", REFUSED, _hostile(place, make))
        yield Case(f"{name}: a valid file", DONE, _valid(place))
        yield Case(f"{name}: cut and with other bits", ORDERLY, _damaged(place))


def _words(place: Place) -> list[str]:
    return [place.name if word == "@" else word for word in place.words.split()]


def _hostile(place: Place, make: Callable[[Path], object]) -> Callable[[Path], str]:
    def find(folder: Path) -> str:
        make(folder / place.name)
        return str(run(_words(place)))

    return find


def _valid(place: Place) -> Callable[[Path], str]:
    def find(folder: Path) -> str:
        (folder / place.name).write_bytes(place.content())
        return str(run(_words(place)))

    return find


def _damaged(place: Place) -> Callable[[Path], str]:
    def find(folder: Path) -> str:
        valid = place.content()
        choice = _random()
        ends = []
        for _ in range(_FLIPS):
            flipped = bytearray(valid)
            flipped[choice.randrange(len(valid))] ^= 1 << choice.randrange(8)
            for content in (bytes(flipped), valid[: choice.randrange(len(valid))]):
                (folder / place.name).write_bytes(content)
                ends.append(run(_words(place)))
        bad = [str(end) for end in ends if end.status not in {0, 1} and str(end) != REFUSED]
        return bad[0] if bad else ORDERLY

    return find
