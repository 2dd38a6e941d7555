# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Outputs that are not complete, temporary directories, and what ended processes have left of both."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import time
import weakref
from contextlib import suppress
from pathlib import Path

from matchbench.display.tables import remark

_RANDOM = 8  # characters that `tempfile` adds to a prefix
_NEW_S = 60.0  # age below which a temporary directory is not removed


class Scratch(tempfile.TemporaryDirectory[str]):
    """A temporary directory, which a later one of the same kind removes if its process was killed.

    Parameters
    ----------
    parent
        Where it is; by default the directory that TMPDIR names.
    prefix
        The start of its name.
    """

    def __init__(self, parent: Path | None = None, prefix: str = "matchbench-scratch-") -> None:
        for left in Path(parent or tempfile.gettempdir()).glob(f"{prefix}{'?' * _RANDOM}"):
            with suppress(OSError):
                # A new one is locked a moment after it is made.
                if time.time() - left.lstat().st_mtime > _NEW_S and left.is_dir() and _is_left(left):
                    shutil.rmtree(left)
        super().__init__(prefix=prefix, dir=parent, ignore_cleanup_errors=True)
        held = os.open(self.name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, held)
        with suppress(OSError):
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)


def partial_name(path: Path) -> Path:
    """Give the temporary path of an output that is not complete."""
    return path.with_name(f".{path.name}.partial-{os.getpid()}")


def write_cached(path: Path, content: bytes | str) -> None:
    """Write a file of a cache, whole or not at all, whoever else writes it.

    Needs no compiled module: a cache is filled before there is one.

    Raises
    ------
    OSError
        When the file cannot be written.
    """
    partial = partial_name(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(content.encode() if isinstance(content, str) else content)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise OSError(error.errno, error.strerror, str(path)) from error


def new_file(partial: Path) -> int:
    """Create a temporary file; it is locked until the descriptor is closed, where there are locks."""
    while True:
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(partial, flags, 0o666)
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Before it was locked, another process may have taken it for what an ended one left.
        if os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)


def reclaim(place: Path, shown: Path) -> None:
    """Remove what ended processes have left of an output, and say so.

    An earlier output that was moved aside, and not yet replaced, comes back. Links are not followed.
    """
    for kind in ("earlier", "partial"):
        start = f".{place.name}.{kind}-"
        for left in sorted(place.parent.iterdir()) if place.parent.exists() else ():
            name = left.name
            if not (name.startswith(start) and name.removeprefix(start).isdecimal() and _is_left(left)):
                continue
            if kind == "earlier" and not place.exists():
                left.rename(place)
                what = "put back the earlier output, which an ended process had moved to"
            else:
                shutil.rmtree(left) if left.is_dir() else left.unlink()
                what = "removed what an ended process left:"
            remark(f"{shown}: {what} {name}")


def _is_left(left: Path) -> bool:
    """Return whether a file or directory of this user is locked by no process."""
    try:
        state = left.lstat()
        if state.st_uid != os.geteuid() or not (stat.S_ISREG(state.st_mode) or stat.S_ISDIR(state.st_mode)):
            return False
        flags = os.O_RDONLY if stat.S_ISDIR(state.st_mode) else os.O_RDWR
        descriptor = os.open(left, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True
