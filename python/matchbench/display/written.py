# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What a command wrote into a directory, by which a later run knows what it may replace."""

import hashlib
import json
import os
import stat
from collections.abc import Sequence
from pathlib import Path

LIST = ".matchbench-files.json"
"""The list: size and SHA-256 of each file by its path in the directory."""

_FORMAT = "matchbench-files"
_SHOWN = 3
_CHUNK_BYTES = 1 << 20


def list_of(directory: Path) -> str:
    """Describe all files of a directory."""
    files = {name: _described(directory / name) for name in _names(directory)}
    rows = ",\n  ".join(f"{json.dumps(name)}: {json.dumps(what)}" for name, what in files.items())
    return f'{{\n "format": "{_FORMAT}",\n "version": 1,\n "files": {{\n  {rows}\n }}\n}}\n'


def others(directory: Path, names: Sequence[str] | None) -> list[str]:
    """Name the contents of a directory that are not those of its list, or are not as they were written.

    Parameters
    ----------
    directory
        The directory.
    names
        Files of a directory that has no list.
    """
    found = _names(directory)
    if names is not None:
        return [name for name in found if name not in names or kind_of(directory / name) != "a file"]
    listed = _listed_files(directory / LIST)
    return [
        name
        for name in found
        if name != LIST
        and (kind_of(directory / name) != "a file" or _described(directory / name) != listed.get(name))
    ]


def listed(names: Sequence[str]) -> str:
    """Name some files, and how many more there are."""
    more = len(names) - _SHOWN
    return ", ".join(f"`{name}`" for name in names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def kind_of(path: Path) -> str | None:
    """Describe what is at a path, without following a link; None if there is nothing."""
    try:
        mode = path.lstat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISLNK(mode):
        return f"a symbolic link to {path.readlink()}"
    kinds = {stat.S_IFREG: "a file", stat.S_IFDIR: "a directory", stat.S_IFIFO: "a FIFO"}
    return kinds.get(stat.S_IFMT(mode), "a socket" if stat.S_ISSOCK(mode) else "a device")


def _names(directory: Path) -> list[str]:
    """Name all contents by their paths; of directories, those that are empty."""
    found = []
    for folder, folders, files in os.walk(directory):
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        found += [Path(folder, name).relative_to(directory).as_posix() for name in (*files, *links)]
        if not (folders or files) and folder != str(directory):
            found.append(Path(folder).relative_to(directory).as_posix())
    return sorted(found)


def _described(path: Path) -> list[object]:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(_CHUNK_BYTES):
            digest.update(part)
        return [file.tell(), digest.hexdigest()]


def _listed_files(path: Path) -> dict[str, list[object]]:
    """Read a list; one that is missing or not such a file names nothing."""
    try:
        if kind_of(path) != "a file":
            return {}
        whole = json.loads(path.read_text(encoding="utf-8"))
        files = whole["files"]
        return files if whole["format"] == _FORMAT and isinstance(files, dict) else {}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
