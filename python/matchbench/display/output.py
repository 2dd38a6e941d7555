# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Atomic output: written under a temporary name, renamed when complete; one writer at a time."""

from __future__ import annotations

import fcntl
import io
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matchbench._native import MatchbenchError

if TYPE_CHECKING:  # most commands write no table
    import polars as pl

_reserved: set[Path] = set()
"""Directories that this process has reserved."""


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
        msg = f"{path}: found a file, expected a directory; choose another path"
        raise MatchbenchError(msg)
    used = path.is_dir() and any(path.iterdir())
    if used and not (path / marker).exists():
        msg = f"{path}: found other files and no `{marker}` of earlier output; choose another directory"
        raise MatchbenchError(msg)
    if used and not force:
        msg = f"{path}: found earlier output; choose another directory or give --force"
        raise MatchbenchError(msg)
    parent = next(each for each in path.absolute().parents if each.exists())
    try:
        _partial(parent / path.name).mkdir()
        _partial(parent / path.name).rmdir()
    except OSError as error:
        msg = f"{path}: cannot create it in {parent}: {error.strerror}; choose another directory"
        raise MatchbenchError(msg) from error


def check_file(path: Path, *, force: bool = False) -> None:
    """Check, before the work starts, that `whole_file` can write `path`.

    Parameters
    ----------
    path, force
        As of `whole_file`.

    Raises
    ------
    MatchbenchError
        When `path` is a directory, exists without `force`, or cannot be created.
    """
    if path.is_dir():
        msg = f"{path}: found a directory, expected a file; add a name"
        raise MatchbenchError(msg)
    if path.exists() and not force:
        msg = f"{path}: found an existing file; choose another name or give --force"
        raise MatchbenchError(msg)
    parent = next(each for each in path.absolute().parents if each.exists())
    probe = _partial(parent / path.name)
    try:
        probe.touch()
        probe.unlink()
    except OSError as error:
        msg = f"{path}: cannot create it in {parent}: {error.strerror}; choose another directory"
        raise MatchbenchError(msg) from error


@contextmanager
def reserved_directory(path: Path, *, marker: str, force: bool = False) -> Iterator[None]:
    """Keep other processes from writing to `path` while the block runs.

    A lock on the file `.NAME.lock` beside the directory; the system releases it when the process ends.
    On file systems without locks, the directory is not reserved.

    Parameters
    ----------
    path, marker, force
        As of `whole_directory`.

    Raises
    ------
    MatchbenchError
        As `check_directory`, and when another process has reserved `path`.
    """
    shown, path = path, path.absolute()
    if path in _reserved:
        yield
        return
    check_directory(shown, marker=marker, force=force)
    made = make_directory(path.parent)
    lock = path.with_name(f".{path.name}.lock")
    try:
        descriptor = _locked(lock, shown)
        _reserved.add(path)
        try:
            yield
        finally:
            _reserved.discard(path)
            lock.unlink(missing_ok=True)
            os.close(descriptor)
    finally:
        remove_empty(made)


def make_directory(path: Path) -> list[Path]:
    """Create a directory and its parents where they are missing.

    Returns
    -------
    Directories that were created, innermost first.
    """
    path = path.absolute()
    made = [each for each in (path, *path.parents) if not each.exists()]
    path.mkdir(parents=True, exist_ok=True)
    return made


def remove_empty(directories: Iterable[Path]) -> None:
    """Remove directories, innermost first, up to the first that is not empty."""
    with suppress(OSError):  # not empty
        for directory in directories:
            directory.rmdir()


def _locked(lock: Path, path: Path) -> int:
    """Create and lock the file `lock`; return its descriptor."""
    while True:
        descriptor = os.open(lock, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            msg = f"{path}: another process is writing to it; wait until it ends or choose another directory"
            raise MatchbenchError(msg) from None
        except OSError:  # the file system has no locks
            return descriptor
        # The last holder may have removed the file after it was opened here.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), lock.stat()):
                return descriptor
        os.close(descriptor)


@contextmanager
def whole_directory(path: Path, *, marker: str, force: bool = False) -> Iterator[Path]:
    """Yield a new directory, which is renamed to `path` when the block ends without an exception.

    The directory is reserved for this process meanwhile.

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
    shown, path = path, path.absolute()
    partial = _partial(path)
    with reserved_directory(shown, marker=marker, force=force):
        partial.mkdir()
        try:
            with _named(partial, shown):
                yield partial
            if path.exists():
                shutil.rmtree(path)
            partial.rename(path)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def whole_file(path: Path, *, force: bool = False) -> Iterator[Path]:
    """Yield a temporary path, which is renamed to `path` when the block ends without an exception.

    Raises
    ------
    MatchbenchError
        When `path` is a directory, or exists and `force` is not given.
    """
    if path.is_dir():
        msg = f"{path}: found a directory, expected a file; add a name"
        raise MatchbenchError(msg)
    if path.exists() and not force:
        msg = f"{path}: found an existing file; choose another name or give --force"
        raise MatchbenchError(msg)
    path.absolute().parent.mkdir(parents=True, exist_ok=True)
    partial = _partial(path)
    try:
        with _named(partial, path):
            yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def json_rows(whole: Mapping[str, Any]) -> str:
    """Format an object as JSON with one line for each key, and for each item of a list of objects."""

    def text(value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)

    lines = []
    for key, value in whole.items():
        rows = isinstance(value, list) and any(isinstance(item, dict) for item in value)
        content = "[\n  " + ",\n  ".join(map(text, value)) + "\n ]" if rows else text(value)
        lines.append(f" {text(key)}: {content}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def write_file(path: Path, content: bytes | str) -> None:
    """Write a new file; unlike those of `Path.write_bytes`, errors of the write name the file.

    Parameters
    ----------
    path
        The file.
    content
        Its content; text is written as UTF-8.

    Raises
    ------
    OSError
        When the file cannot be written, for example because the disk is full.
    """
    try:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def write_table(table: pl.DataFrame, directory: Path, name: str) -> None:
    """Write a table as `NAME.csv` and `NAME.parquet`.

    Not written by polars itself, whose errors do not name the file.
    """
    content = io.BytesIO()
    table.write_csv(content)
    write_file(directory / f"{name}.csv", content.getvalue())
    content = io.BytesIO()
    table.write_parquet(content)
    write_file(directory / f"{name}.parquet", content.getvalue())


@contextmanager
def _named(partial: Path, path: Path) -> Iterator[None]:
    """Name the output in errors of the operating system, which name its temporary path or none."""
    try:
        yield
    except OSError as error:
        file = Path(os.fsdecode(error.filename)) if error.filename else partial
        if not file.is_relative_to(partial):
            raise
        file = path / file.relative_to(partial)
        raise OSError(error.errno, error.strerror or str(error), str(file)) from error


def _partial(path: Path) -> Path:
    """Give the temporary path of an output that is not complete."""
    return path.with_name(f".{path.name}.partial-{os.getpid()}")
