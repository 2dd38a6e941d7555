# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The one reader of files that a user names; `workbench/input` opens them.

A device, a FIFO, a socket or a file of the kernel is not read, and no file above a limit, which the variable
`MATCHBENCH_MAX_INPUT` replaces. Every error is a `MatchbenchError` of one line.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Literal, NoReturn, TypeAlias

from matchbench._native import MatchbenchError, open_input, read_input

Kind: TypeAlias = Literal["settings", "text", "binary"]
"""Of a limit: 4 MiB, 64 MiB or 1 GiB."""

MOST_NESTED = 64
"""Lists and tables in each other. Readers of nested content use the stack."""
_KEY = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
_LONG_KEY = re.compile(rf"(?<![\w-]){_KEY}(?:[ \t]*\.[ \t]*{_KEY}){{{MOST_NESTED}}}")


def open_file(path: Path, expected: str) -> BinaryIO:
    """Open a regular file for reading.

    Parameters
    ----------
    path
        The file.
    expected
        What it should be, for the message.
    """
    return os.fdopen(open_input(path, expected), "rb")


def read_bytes(path: Path | str, expected: str, *, kind: Kind = "binary") -> bytes:
    """Read a regular file.

    Parameters
    ----------
    path
        The file.
    expected
        What it should be, for the message.
    kind
        Which limit its size has.
    """
    return read_input(path, expected, kind)


def read_text(path: Path, expected: str, *, kind: Kind = "text") -> str:
    """Read a file of UTF-8 text, with or without a byte order mark; takes what `read_bytes` takes."""
    content = read_bytes(path, expected, kind=kind)
    if (zero := content.find(0)) >= 0:
        msg = f"{path}: byte {zero} is zero, as in no text; expected {expected}"
        raise MatchbenchError(msg)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        msg = f"{path}: byte {error.start} is not UTF-8; expected {expected} in UTF-8; convert it"
        raise MatchbenchError(msg) from None


def read_toml(path: Path, expected: str) -> dict[str, Any]:
    """Read a file of TOML."""
    return parse_toml(read_text(path, expected, kind="settings"), path, expected)


def parse_toml(text: str, path: Path, expected: str) -> dict[str, Any]:
    """Parse the text of the TOML file `path`."""
    if _LONG_KEY.search(text):  # for such a key the reader needs time and memory that grow with its square
        _too_deep(path, expected)
    found: dict[str, Any] = _parsed(tomllib.loads, "TOML", text, path, expected)
    return found


def read_json(path: Path, expected: str) -> Any:
    """Read a file of JSON, in which no number is NaN or infinite."""
    parse = partial(json.loads, parse_constant=_refuse_constant)
    return _parsed(parse, "JSON", read_text(path, expected), path, expected)


def _parsed(parse: Callable[[str], Any], form: str, text: str, path: Path, expected: str) -> Any:
    try:
        found = parse(text)
    except RecursionError:
        _too_deep(path, expected)
    except ValueError as error:
        msg = f"{path}: not {form}: {error}; expected {expected}"
        raise MatchbenchError(msg) from None
    _check_depth(found, path, expected)
    return found


def _refuse_constant(name: str) -> NoReturn:
    msg = f"found {name}"
    raise ValueError(msg)


def _check_depth(content: Any, path: Path, expected: str) -> None:
    outer = [content]
    for _ in range(MOST_NESTED + 1):
        outer = [each for each in outer if isinstance(each, (dict, list))]
        outer = [inner for each in outer for inner in (each.values() if isinstance(each, dict) else each)]
        if not outer:
            return
    _too_deep(path, expected)


def _too_deep(path: Path, expected: str) -> NoReturn:
    msg = f"{path}: found more than {MOST_NESTED} lists and tables in each other; expected {expected}"
    raise MatchbenchError(msg)
