# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Writes an engine to start from: a crate, a file of C, or a class in Python, each with a card and a test.

A crate depends on crates of matchbench. It refers to those of a checkout; from an installed package it gets a
copy, so that it outlives the package's environment and can be moved. All other crates are those of the
registry, in the versions that matchbench was tested with.
"""

import json
import keyword
import re
from pathlib import Path
from typing import Literal, TypeAlias

from matchbench import _native, shipped
from matchbench._native import MatchbenchError
from matchbench.display.output import make_directory, whole_directory, write_file

Language: TypeAlias = Literal["rust", "c", "python"]

MARKER = "README.md"
"""A file that every template has: a directory with it may be replaced."""

_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}")
# Reserved words and crates of Rust that Python does not reserve: an engine's name names a crate and a module.
_RUST_WORDS = (
    "abstract as become box const crate do dyn enum extern final fn gen impl let loop macro match mod move "
    "mut override priv pub ref self static struct super trait type typeof unsafe unsized use virtual where "
    "core std test"
)
_CRATES = [f"matching/{crate}" for crate in ("core", "kit", "plugin", "testkit")]
_MEMBERS = re.compile(r"members = \[[^\]]*\]")
COPY = "matchbench"
"""Folder of the copied crates."""


def write(
    name: str,
    directory: Path,
    *,
    language: Language = "rust",
    checkout: Path | None = None,
    force: bool = False,
) -> list[str]:
    """Write an engine to `directory` and return the names of its files.

    Parameters
    ----------
    name
        Its name: a word of a to z, 0 to 9 and _, with a letter first.
    directory
        Where to write.
    language
        What it is written in.
    checkout
        A checkout of matchbench, whose crates a crate depends on; by default the one that this package runs
        from, or else the crates of this package, which are copied to `directory`.
    force
        Replace an earlier engine in `directory`.

    Raises
    ------
    MatchbenchError
        When the name is not allowed, is that of an engine of matchbench, or the directory is in use.
    """
    _check(name)
    source = _sources(checkout) if language == "rust" else None
    templates = Path(__file__).parent / "_templates" / f"engine_{language}"
    written = []
    with whole_directory(directory, marker=MARKER, force=force) as partial:
        for template in sorted(templates.rglob("*.in")):
            relative = str(template.relative_to(templates).with_suffix("")).replace("@NAME@", name)
            text = template.read_text(encoding="utf-8")
            text = text.replace("@NAME@", name).replace("@TYPE@", name.title().replace("_", ""))
            for folder in _CRATES:
                text = text.replace(f"@SOURCE:{folder}@", f"path = {json.dumps(f'{source}/{folder}')}")
            path = partial / relative
            make_directory(path.parent)
            write_file(path, text)
            written.append(relative)
        if language == "c":
            write_file(partial / "matchbench_engine.h", _native.engine_header())
            written.append("matchbench_engine.h")
        if source is not None:
            root = shipped.ROOT if source == COPY else Path(source)
            write_file(partial / "Cargo.lock", (root / "Cargo.lock").read_text(encoding="utf-8"))
            written.append("Cargo.lock")
        if source == COPY:
            _copy_crates(partial / COPY)
            written.append(COPY)
    return sorted(written)


def _check(name: str) -> None:
    if not _NAME.fullmatch(name):
        msg = f"name: found `{name}`, expected at most 41 of a to z, 0 to 9 and _, a letter first"
        raise MatchbenchError(msg)
    if keyword.iskeyword(name) or name in _RUST_WORDS.split():
        msg = f"name: found `{name}`, a reserved word; choose another name"
        raise MatchbenchError(msg)
    if name in {card["name"] for card in _native.engines()}:
        msg = f"name: found `{name}`, an engine of matchbench; choose another name"
        raise MatchbenchError(msg)


def _sources(checkout: Path | None) -> str:
    """Give the folder of the crates that a crate depends on."""
    if checkout is None and shipped.IS_INSTALLED:
        return COPY
    root = checkout or shipped.ROOT
    for folder in _CRATES:
        if not (root / folder / "Cargo.toml").is_file():
            msg = f"{root}: found no crate in `{folder}`, expected a checkout of matchbench"
            raise MatchbenchError(msg)
    return str(root.resolve())


def _copy_crates(folder: Path) -> None:
    """Copy the crates and the contract that they contain, in a workspace of their own."""
    manifest = (shipped.ROOT / "Cargo.toml").read_text(encoding="utf-8")
    make_directory(folder)
    write_file(folder / "Cargo.toml", _MEMBERS.sub('members = ["matching/*"]', manifest, count=1))
    for name in ("matching", "spec"):
        for path in sorted((shipped.ROOT / name).rglob("*")):
            if path.is_file():
                target = folder / path.relative_to(shipped.ROOT)
                make_directory(target.parent)
                write_file(target, path.read_text(encoding="utf-8"))
