# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The lists of Python packages with hashes, which `xtask/lock.sh` writes, are those of `pyproject.toml`."""

import re
import tomllib
from collections.abc import Mapping

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.shared import ROOT

_EXTRAS = {"requirements": ["dev"], "cluster": ["cluster", "optimizer"], "dist": ["dist"], "fuzz": ["fuzz"]}
"""File -> the extras whose packages it has; the first has those of the package too."""
_PACKAGE = re.compile(r"([a-z0-9-]+)==(\S+)(?: ; [^\n]*?)?((?: \\\n {4}--hash=sha256:[0-9a-f]{64})+)\n")


def _locked(text: str) -> dict[str, str]:
    """Give the versions in a list; every line belongs to a package with hashes."""
    assert _PACKAGE.sub("", text) == ""
    return {found[1]: found[2] for found in _PACKAGE.finditer(text)}


def _missing(needed: list[str], locked: Mapping[str, str]) -> list[str]:
    def is_locked(each: Requirement) -> bool:
        version = locked.get(canonicalize_name(each.name))
        return version is not None and version in each.specifier

    return [str(each) for each in map(Requirement, needed) if not is_locked(each)]


def test_every_package_that_is_needed_has_a_version_with_hashes() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    locked = {name: _locked((ROOT / "python" / f"{name}.txt").read_text()) for name in _EXTRAS}
    assert _missing(project["dependencies"], locked["requirements"]) == []
    for name, those in _EXTRAS.items():
        for extra in those:
            assert _missing(extras[extra], locked["requirements"] | locked[name]) == [], (name, extra)
    assert sorted(extra for those in _EXTRAS.values() for extra in those) == sorted(extras)


def test_a_package_that_is_missing_or_too_old_is_found() -> None:
    assert _missing(["a>=2", "B_c>=1", "d"], {"a": "1.9", "b-c": "1.0"}) == ["a>=2", "d"]
