# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Writes an engine to start from: a crate, a file of C, or a class in Python, each with a card and a test."""

import json
import keyword
import re
from pathlib import Path
from typing import Literal, TypeAlias

from matchbench import _native
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
_REPOSITORY = "https://github.com/matchbench/matchbench"


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
        from, or else the repository on the network, at the revision of this package.
    force
        Replace an earlier engine in `directory`.

    Raises
    ------
    MatchbenchError
        When the name is not allowed, is that of an engine of matchbench, or the directory is in use.
    """
    _check(name)
    source = _sources(checkout) if language == "rust" else {}
    templates = Path(__file__).parent / "_templates" / f"engine_{language}"
    written = []
    with whole_directory(directory, marker=MARKER, force=force) as partial:
        for template in sorted(templates.rglob("*.in")):
            relative = str(template.relative_to(templates).with_suffix("")).replace("@NAME@", name)
            text = template.read_text(encoding="utf-8")
            text = text.replace("@NAME@", name).replace("@TYPE@", name.title().replace("_", ""))
            for folder, dependency in source.items():
                text = text.replace(f"@SOURCE:{folder}@", dependency)
            path = partial / relative
            make_directory(path.parent)
            write_file(path, text)
            written.append(relative)
        if language == "c":
            write_file(partial / "matchbench_engine.h", _native.engine_header())
            written.append("matchbench_engine.h")
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


def _sources(checkout: Path | None) -> dict[str, str]:
    """Give the dependency on each crate, by its folder."""
    folders = [f"matching/{crate}" for crate in ("core", "kit", "plugin", "testkit")]
    here = Path(__file__).resolve().parents[3]
    found = checkout or (here if (here / folders[0] / "Cargo.toml").is_file() else None)
    if found is None:
        revision = _native.revision()
        at = f', rev = "{revision}"' if revision != "unknown" else ""
        return dict.fromkeys(folders, f'git = "{_REPOSITORY}"{at}')
    for folder in folders:
        if not (found / folder / "Cargo.toml").is_file():
            msg = f"{found}: found no crate in `{folder}`, expected a checkout of matchbench"
            raise MatchbenchError(msg)
    return {folder: f"path = {json.dumps(str(found.resolve() / folder))}" for folder in folders}
