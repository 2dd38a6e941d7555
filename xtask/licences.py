# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Holds the crates of both lock files to `deny.toml`: licences, sources, and exceptions that have a date.

`cargo deny check licenses bans sources` checks the same and more, and takes minutes to build.
Exits with 1 at objections.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
_UNTIL = re.compile(r"until (\d{4}-\d{2}-\d{2}): .+")


def is_allowed(expression: str, allowed: Sequence[str]) -> bool:
    """Return whether an SPDX expression holds with allowed licences; `/` is an old form of `OR`."""
    words = re.findall(r"[()]|[^\s()/]+|/", expression)

    def either() -> bool:
        holds = both()
        while words and words[0] in ("OR", "/"):
            words.pop(0)
            holds |= both()
        return holds

    def both() -> bool:
        holds = one()
        while words and words[0] == "AND":
            words.pop(0)
            holds &= one()
        return holds

    def one() -> bool:
        name = words.pop(0) if words else ""
        if name == "(":
            holds = either()
            return words[:1] == [")"] and bool(words.pop(0)) and holds
        if words[:1] == ["WITH"]:
            name += f" WITH {words[1]}"
            del words[:2]
        return name in allowed

    return either() and not words


def objections(packages: Sequence[Mapping[str, Any]], deny: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is against `deny` in packages as `cargo metadata` lists them."""
    for package in packages:
        if package["source"] is None:
            continue
        name = f"{package['name']} {package['version']}"
        licence = package["license"] or "none"
        if not is_allowed(licence, deny["licenses"]["allow"]):
            yield f"{name}: found the licence `{licence}`, expected what `licenses.allow` in deny.toml has"
        if not package["source"].startswith(("registry+", "sparse+")):
            yield f"{name}: found the source `{package['source']}`, expected a registry"


def expired(deny: Mapping[str, Any], today: dt.date) -> Iterator[str]:
    """Yield exceptions of advisories without a date, or whose date is past."""
    for each in deny["advisories"].get("ignore", []):
        found = _UNTIL.fullmatch(each.get("reason", "")) if isinstance(each, dict) else None
        if found is None:
            yield f"deny.toml: found {each}, expected `id` and the reason `until YYYY-MM-DD: why`"
        elif dt.date.fromisoformat(found[1]) < today:
            yield f"deny.toml: {each['id']}: found an exception until {found[1]}, which is past; look again"


def _packages(manifest: Path) -> list[dict[str, Any]]:
    words = [
        "cargo",
        "metadata",
        "--quiet",
        "--locked",
        "--format-version",
        "1",
        "--manifest-path",
        str(manifest),
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    packages: list[dict[str, Any]] = json.loads(done.stdout)["packages"]
    return packages


def main() -> int:
    """Check both workspaces."""
    deny = tomllib.loads((ROOT / "deny.toml").read_text("utf-8"))
    packages = [*_packages(ROOT / "Cargo.toml"), *_packages(ROOT / "fuzz" / "Cargo.toml")]
    today = dt.datetime.now(tz=dt.UTC).date()
    found = sorted({*objections(packages, deny), *expired(deny, today)})
    print(*found, sep="\n", end="\n" if found else "")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
