# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The one way out: every file and directory that a command writes is written here.

An output is written under a temporary name beside its place, `.NAME.partial-PID`, and renamed when complete.
It or the place is locked while the process runs, so that the next run of the same output finds what an ended
one left. `docs/output.md` has the rules; `tests/test_output.py` refuses other ways of writing.
"""

from __future__ import annotations

import csv
import fcntl
import io
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from matchbench._native import MatchbenchError
from matchbench.display import written
from matchbench.display.partial import new_file, partial_name, reclaim
from matchbench.display.tables import FORMULA, cell_text
from matchbench.display.written import kind_of

if TYPE_CHECKING:  # most commands write no table
    import polars as pl

_reserved: set[Path] = set()
"""Directories that this process has reserved, without links."""


def check_file(path: Path, *, force: bool = False) -> None:
    """Check, before the work starts, that `whole_file` can write `path`.

    Parameters
    ----------
    path, force
        As of `whole_file`.

    Raises
    ------
    MatchbenchError
        When `path` is no regular file, exists without `force`, or cannot be created.
    """
    found = kind_of(path)
    if found == "a directory":
        msg = f"{path}: found a directory, expected a file; add a name"
        raise MatchbenchError(msg)
    if found not in {None, "a file"}:
        msg = f"{path}: found {found}, expected a regular file or none; name another file"
        raise MatchbenchError(msg)
    if found and not force:
        msg = f"{path}: found an existing file; choose another name or give --force"
        raise MatchbenchError(msg)
    _probe(path, path.absolute())


def _directory(path: Path) -> Path:
    """Give the directory that an output path means; a link to a directory means that directory."""
    found = kind_of(path)
    place = Path(os.path.realpath(path))
    if found and not place.is_dir():
        msg = f"{path}: found {found}, expected a directory; choose another path"
        raise MatchbenchError(msg)
    if os.path.ismount(place):
        msg = f"{path}: found a mount point, expected a directory that can be replaced; name one in it"
        raise MatchbenchError(msg)
    return place


def _probe(path: Path, place: Path) -> None:
    """Refuse an output whose directory cannot be written."""
    parent = next(each for each in place.parents if each.exists())
    probe = partial_name(parent / place.name)
    try:
        probe.mkdir()
        with suppress(FileNotFoundError):  # another process took it for what an ended one left
            probe.rmdir()
    except OSError as error:
        raise _cannot_create(path, parent, error) from error


def _cannot_create(path: Path, parent: Path, error: OSError) -> MatchbenchError:
    msg = f"{path}: cannot create it in {parent}: {error.strerror}; choose another directory"
    return MatchbenchError(msg)


@contextmanager
def reserved_directory(
    path: Path, *, marker: str, force: bool = False, names: Sequence[str] | None = None, adds: bool = False
) -> Iterator[Path]:
    """Keep other processes from writing to `path` while the block runs; yield the directory.

    A lock on the file `.NAME.lock` beside the directory; the system releases it when the process ends.
    On file systems without locks, the directory is not reserved.

    Parameters
    ----------
    path, marker, force, names
        As of `whole_directory`.
    adds
        The command adds to what is there and replaces nothing.

    Raises
    ------
    MatchbenchError
        When `path` is in use without `force`, has contents that the command did not write, cannot be
        written, or is reserved by another process.
    """
    place = _directory(path)
    if place in _reserved:
        yield place
        return
    parent = next(each for each in place.parents if each.exists())
    made: list[Path] = []
    lock = place.with_name(f".{place.name}.lock")
    try:
        try:
            made = make_directory(place.parent)
            descriptor = _locked(lock, path)
        except OSError as error:
            raise _cannot_create(path, parent, error) from error
        try:
            # Under the lock: no other process is between two steps of a replacement.
            reclaim(place, path)
            _check_contents(path, place, marker, names, force=force, adds=adds)
            _probe(path, place)
            _reserved.add(place)
            yield place
        finally:
            _reserved.discard(place)
            lock.unlink(missing_ok=True)
            os.close(descriptor)
    finally:
        remove_empty(made)


def _check_contents(
    path: Path, place: Path, marker: str, names: Sequence[str] | None, *, force: bool, adds: bool
) -> None:
    if not place.is_dir() or not any(place.iterdir()):
        return
    if not (place / marker).is_file():
        msg = f"{path}: found other files and no `{marker}` of earlier output; choose another directory"
        raise MatchbenchError(msg)
    if not force:
        msg = f"{path}: found earlier output; choose another directory or give --force"
        raise MatchbenchError(msg)
    if not adds and (others := written.others(place, names)):
        msg = (
            f"{path}: found {written.listed(others)}, which this command did not write so, "
            "expected its output alone; move what is yours or choose another directory"
        )
        raise MatchbenchError(msg)


def make_directory(path: Path) -> list[Path]:
    """Create a directory and its parents where they are missing.

    Returns
    -------
    Directories that were created, innermost first.
    """
    path = path.absolute()
    made = [each for each in (path, *path.parents) if not each.exists()]
    if made:
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
        descriptor = os.open(lock, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
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
def whole_directory(
    path: Path, *, marker: str, force: bool = False, names: Sequence[str] | None = None
) -> Iterator[Path]:
    """Yield a new directory, which is renamed to `path` when the block ends without an exception.

    The directory is reserved for this process meanwhile. A list of its files is added, by which a later
    run knows what it may replace.

    Parameters
    ----------
    path
        Final path of the directory; a link to a directory means that directory.
    marker
        A file that marks a directory of this kind.
    force
        Replace an earlier directory of this kind, if it holds nothing else.
    names
        All files that the directory can have, in place of the list: of formats that have no other file.

    Raises
    ------
    MatchbenchError
        When `path` is in use without `force`, has other contents, or cannot be written.
    """
    with reserved_directory(path, marker=marker, force=force, names=names) as place:
        partial = partial_name(place)
        partial.mkdir()
        try:
            with _named(partial, path):
                yield partial
                if names is None:
                    write_file(partial / written.LIST, written.list_of(partial))
            _replace(place, partial, names)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def _replace(place: Path, partial: Path, names: Sequence[str] | None) -> None:
    """Put a complete directory in its place; what came there meanwhile from elsewhere is kept."""
    if not place.exists():
        partial.rename(place)
        return
    earlier = place.with_name(f".{place.name}.earlier-{os.getpid()}")
    place.rename(earlier)
    partial.rename(place)
    for name in written.others(earlier, names):
        if kind_of(place / name) is None:
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (earlier / name).rename(place / name)
    shutil.rmtree(earlier, ignore_errors=True)


def remove_directory(path: Path, *, marker: str) -> None:
    """Remove a directory of `whole_directory`.

    Parameters
    ----------
    path, marker
        As of `whole_directory`; nothing happens if there is none.

    Raises
    ------
    MatchbenchError
        When it holds other files.
    """
    if not path.is_symlink() and (path / marker).is_file():
        with reserved_directory(path, marker=marker, force=True):
            shutil.rmtree(path)


class _Together:
    """Files of blocks in each other: all are renamed when the outermost block ends, or none."""

    def __init__(self) -> None:
        self.complete: list[tuple[Path, Path]] = []
        """Temporary file and place."""
        self.left = ExitStack()
        """Removes the temporary files."""

    def rename(self) -> None:
        """Rename the files; where that fails, what was in their places comes back."""
        moved = []
        with ExitStack() as undo:
            for partial, path in self.complete:
                is_new = not path.exists()
                if not is_new and len(self.complete) > 1:
                    moved.append(path.with_name(f".{path.name}.earlier-{os.getpid()}"))
                    path.rename(moved[-1])
                    undo.callback(moved[-1].replace, path)
                with _named(partial, path):
                    partial.replace(path)
                if is_new:
                    undo.callback(path.unlink, missing_ok=True)
            undo.pop_all()
        for earlier in moved:
            earlier.unlink()


_together: ContextVar[_Together | None] = ContextVar("_together", default=None)


@contextmanager
def whole_file(path: Path, *, force: bool = False) -> Iterator[Path]:
    """Yield a temporary file, which is renamed to `path` when the block ends without an exception.

    Of several files of one command, the blocks are nested: when the outermost ends, all are renamed or none.

    Raises
    ------
    MatchbenchError
        When `path` is no regular file, or exists and `force` is not given.
    """
    check_file(path, force=force)
    outer = _together.get()
    files = outer or _Together()
    with ExitStack() as stack:
        if outer is None:
            stack.enter_context(files.left)
            token = _together.set(files)
            stack.callback(_together.reset, token)
        files.left.callback(remove_empty, make_directory(path.absolute().parent))
        partial = partial_name(path.absolute())
        reclaim(path.absolute(), path)
        files.left.callback(os.close, new_file(partial))
        files.left.callback(partial.unlink, missing_ok=True)
        with _named(partial, path):
            yield partial
        files.complete.append((partial, path.absolute()))
        if outer is None:
            files.rename()


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
    """Write a file in a directory or under a name of this module; errors of the write name the file.

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


def write_files(contents: Mapping[Path, bytes | str], *, force: bool = False) -> None:
    """Write the output files of a command, all of them or none.

    Parameters
    ----------
    contents
        The content of each file.
    force
        As of `whole_file`.

    Raises
    ------
    MatchbenchError, OSError
        As `whole_file` and `write_file`.
    """
    with ExitStack() as stack:
        partials = [stack.enter_context(whole_file(path, force=force)) for path in contents]
        for partial, content in zip(partials, contents.values(), strict=True):
            write_file(partial, content)


def stream(path: Path) -> IO[bytes]:
    """Open a file in a directory or under a name of this module, to write it in parts."""
    return path.open("wb")


def text_stream(path: Path) -> IO[str]:
    """Open a file in a directory or under a name of this module, to write text as UTF-8 in parts."""
    return path.open("w", encoding="utf-8", newline="")


def append_lines(path: Path, objects: Iterable[object]) -> None:
    """Add objects to a file of JSON, a line for each; the file is created if there is none."""
    descriptor = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(each)}\n" for each in objects)


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Format rows as CSV; text that a spreadsheet would read as a formula is marked as text."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([cell_text(cell) for cell in row] for row in rows)
    return text.getvalue()


def write_table(table: pl.DataFrame, directory: Path, name: str) -> None:
    """Write a table as `NAME.csv` and `NAME.parquet`.

    Not written by polars itself, whose errors do not name the file.
    """
    write_file(directory / f"{name}.csv", _csv_bytes(table))
    content = io.BytesIO()
    table.write_parquet(content)
    write_file(directory / f"{name}.parquet", content.getvalue())


def write_parts(parts: Iterable[pl.DataFrame], directory: Path, name: str) -> None:
    """Write a table as `write_table` does, part by part, so that it need not be in memory.

    Parameters
    ----------
    parts
        The rows; at least one part, all with the same columns.
    directory, name
        As of `write_table`.
    """
    import polars as pl
    import pyarrow.parquet as pq

    with ExitStack() as stack:
        text = stack.enter_context(stream(directory / f"{name}.csv"))
        file = stack.enter_context(stream(directory / f"{name}.parquet"))
        writer = None
        for part in parts:
            text.write(_csv_bytes(part, header=writer is None))
            rows = part.to_arrow(compat_level=pl.CompatLevel.oldest())
            writer = writer or stack.enter_context(pq.ParquetWriter(file, rows.schema, compression="zstd"))
            writer.write_table(rows)


def _csv_bytes(table: pl.DataFrame, *, header: bool = True) -> bytes:
    import polars as pl

    text = pl.col(pl.String)
    # As `cell_text`, for whole columns.
    formula = text.str.contains(FORMULA.pattern) & text.cast(pl.Float64, strict=False).is_null()
    shown = table.with_columns(pl.when(formula).then(pl.lit("'") + text).otherwise(text).name.keep())
    content = io.BytesIO()
    shown.write_csv(content, include_header=header)
    return content.getvalue()


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
