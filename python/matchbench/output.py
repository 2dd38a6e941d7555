# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Output that is there whole or not at all: written under another name, renamed at the end."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from matchbench._native import MatchbenchError


def check_directory(path: Path, *, marker: str, force: bool = False) -> None:
    """Refuse before the work what `whole_directory` would refuse after it.

    Parameters
    ----------
    path, marker, force
        As of `whole_directory`.

    Raises
    ------
    MatchbenchError
        When `path` is in use and `force` is not given, when it holds something else, or cannot be written.
    """
    if path.exists() and not path.is_dir():
        msg = f"{path}: is no directory"
        raise MatchbenchError(msg)
    used = path.is_dir() and any(path.iterdir())
    if used and not (path / marker).exists():
        msg = f"{path}: is not empty and holds no `{marker}`; choose another directory"
        raise MatchbenchError(msg)
    if used and not force:
        msg = f"{path}: holds earlier output; choose another directory or give --force"
        raise MatchbenchError(msg)
    parent = next(each for each in path.absolute().parents if each.exists())
    try:
        _partial(parent / path.name).mkdir()
        _partial(parent / path.name).rmdir()
    except OSError as error:
        msg = f"{path}: cannot be made in {parent}: {error.strerror}"
        raise MatchbenchError(msg) from error


@contextmanager
def whole_directory(path: Path, *, marker: str, force: bool = False) -> Iterator[Path]:
    """Give a new directory to write into, which becomes `path` when the block ends well.

    Parameters
    ----------
    path
        Where the directory shall be.
    marker
        A file that tells a directory of this kind from others.
    force
        Replace an earlier directory of this kind.

    Raises
    ------
    MatchbenchError
        When `path` is in use and `force` is not given, when it holds something else, or cannot be written.
    """
    check_directory(path, marker=marker, force=force)
    path = path.absolute()
    made = [parent for parent in path.parents if not parent.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = _partial(path)
    partial.mkdir()
    try:
        yield partial
        if path.exists():
            shutil.rmtree(path)
        partial.rename(path)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        with suppress(OSError):  # there is something in it
            for parent in made:
                parent.rmdir()


@contextmanager
def whole_file(path: Path, *, force: bool = False) -> Iterator[Path]:
    """Give a name to write to, which becomes `path` when the block ends well.

    Raises
    ------
    MatchbenchError
        When `path` is a directory, or exists and `force` is not given.
    """
    if path.is_dir():
        msg = f"{path}: is a directory"
        raise MatchbenchError(msg)
    if path.exists() and not force:
        msg = f"{path}: exists; choose another name or give --force"
        raise MatchbenchError(msg)
    path.absolute().parent.mkdir(parents=True, exist_ok=True)
    partial = _partial(path)
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def _partial(path: Path) -> Path:
    """Name what is not whole yet, beside what it becomes."""
    return path.with_name(f".{path.name}.partial-{os.getpid()}")
