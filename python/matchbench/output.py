# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Atomic output: written under a temporary name, renamed when complete."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from matchbench._native import MatchbenchError


def check_directory(path: Path, *, marker: str, force: bool = False) -> None:
    """Check, before the work starts, that `whole_directory` can write to `path`.

    Parameters
    ----------
    path, marker, force
        As of `whole_directory`.

    Raises
    ------
    MatchbenchError
        When `path` is in use without `force`, has other contents, or cannot be written.
    """
    if path.exists() and not path.is_dir():
        msg = f"{path}: is not a directory; choose another path"
        raise MatchbenchError(msg)
    used = path.is_dir() and any(path.iterdir())
    if used and not (path / marker).exists():
        msg = f"{path}: not empty, and no `{marker}` of earlier output in it; choose another directory"
        raise MatchbenchError(msg)
    if used and not force:
        msg = f"{path}: holds earlier output; choose another directory or give --force"
        raise MatchbenchError(msg)
    parent = next(each for each in path.absolute().parents if each.exists())
    try:
        _partial(parent / path.name).mkdir()
        _partial(parent / path.name).rmdir()
    except OSError as error:
        msg = f"{path}: cannot create it in {parent}: {error.strerror}"
        raise MatchbenchError(msg) from error


@contextmanager
def whole_directory(path: Path, *, marker: str, force: bool = False) -> Iterator[Path]:
    """Yield a new directory, which is renamed to `path` when the block ends without an exception.

    Parameters
    ----------
    path
        Final path of the directory.
    marker
        A file that marks a directory of this kind.
    force
        Replace an earlier directory of this kind.

    Raises
    ------
    MatchbenchError
        When `path` is in use without `force`, has other contents, or cannot be written.
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
        with suppress(OSError):  # not empty
            for parent in made:
                parent.rmdir()


@contextmanager
def whole_file(path: Path, *, force: bool = False) -> Iterator[Path]:
    """Yield a temporary path, which is renamed to `path` when the block ends without an exception.

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
    """Give the temporary path of an output that is not complete."""
    return path.with_name(f".{path.name}.partial-{os.getpid()}")
