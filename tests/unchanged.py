# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Which tests passed before on the same files, and how long each took.

`make test` sets MATCHBENCH_PASSED to a file of results. A test that has passed is left out as long as its key
is the same: a digest of the files that its result can depend on, of the compilers and MPIs, and of the
variables of the environment that change tests. With MATCHBENCH_ALL every test runs. The recorded times order
the tests, the longest group first; without them, those of `tests/seconds.json` do.

A test that runs engines depends on the sources of those that it used: a build for tests notes them in the
folder that MATCHBENCH_ENGINES_USED names (`workbench/catalog/src/used.rs`). What the catalog says about
engines without running them is also part of the key.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TypedDict

from tests import engines_used, shared

ROOT = Path(__file__).resolve().parent.parent
RECORD = "MATCHBENCH_PASSED"
_USUAL = ROOT / "tests" / "seconds.json"
RUN_ALL = "MATCHBENCH_ALL"
PARAMETERS = "MATCHBENCH_PARAMETERS"
# Variables that do not change the result of a test.
_OF_A_RUN = {RECORD, RUN_ALL, engines_used.VARIABLE, shared.SERVER, shared.SESSION}
# Tests call these; their version is part of a key.
TOOLS = (
    "cc",
    "g++",
    "gfortran",
    "mpicc.openmpi",
    "mpicc.mpich",
    "mpirun.openmpi",
    "mpirun.mpich",
    "powerpc-linux-gnu-gcc",
    "riscv64-linux-gnu-gcc",
    "qemu-riscv64",
    "cargo",
    "clippy-driver",
)

# What Rust tests read when they run, besides the files of their own crate. Those of xtask read every file.
READ_BY_RUST = ("examples/", "processor/firmware/", "spec/")
# Sources that the Python module does not contain.
RUST_TESTS = re.compile(r"/(?:benches|tests)/.*\.rs$")
# Commands that run engines: a page without them runs none.
ENGINE_COMMANDS = re.compile(
    r"^\$ .*\bmatchbench (?:compare|engines?|mu|reproduce|size|sweep)\b", re.MULTILINE
)


# Sources of an engine, by its name.
ENGINE_SOURCES = re.compile(r"^engines/(\w+)/src/.*\.rs$")
# Folders from which no Rust program is built, and which none reads.
NOT_OF_RUST = ("benches/", "docs/", "integrations/", "python/", "recorder/", "tests/", "traces/")


class Result(TypedDict):
    """The record of a test: the key with which it passed, if it did, its seconds, and the engines it used.

    Each engine is recorded with a digest of its sources.
    """

    key: str | None
    seconds: float
    engines: dict[str, str]


def load(path: Path) -> dict[str, Result]:
    """Read the results by node id; a file that is missing or damaged has none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {
            name: Result(
                key=result["key"],
                seconds=float(result["seconds"]),
                engines=dict(result["engines"]),
            )
            for name, result in found.items()
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return {}


@cache
def _digests() -> dict[str, bytes]:
    """Return a digest of each file that git does not ignore, by its path from the root."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = {}
    for name in sorted(set(listed.split("\0"))):
        file = ROOT / name
        if name and file.is_file():
            found[name] = hashlib.blake2b(file.read_bytes()).digest()
    return found


@cache
def _surroundings() -> bytes:
    """Return a digest of the tools and variables outside of the repository that can change results."""
    digest = hashlib.blake2b(sys.version.encode())
    for tool in TOOLS:
        path = shutil.which(tool)
        status = Path(path).stat() if path else None
        digest.update(repr((tool, path, status and (status.st_size, status.st_mtime_ns))).encode())
    for name, value in sorted(os.environ.items()):
        if name.startswith(("MATCHBENCH_", "PROPTEST_", "FAKE_MPI")) and name not in _OF_A_RUN:
            digest.update(f"{name}={value}\0".encode())
    return digest.digest()


def read_state() -> None:
    """Read the files, tools and variables that keys contain; changes after this call are not seen."""
    _digests()
    _surroundings()


def key(depends_on: Callable[[str], bool], files: Iterable[Path] = (), text: str = "") -> str:
    """Return the key of a test.

    Parameters
    ----------
    depends_on
        Whether the result can depend on a file of the repository, given its path from the root.
    files
        Further files, such as a compiled program.
    text
        Other data on which it depends.
    """
    digest = hashlib.blake2b(_surroundings() + text.encode())
    for name, content in _digests().items():
        if depends_on(name):
            digest.update(name.encode() + b"\0" + content)
    for file in files:
        digest.update(hashlib.blake2b(file.read_bytes()).digest())
    return digest.hexdigest()


def engines_named(sources: Iterable[str]) -> frozenset[str]:
    """Return the engines whose crates Rust sources name: their code may run without a note.

    Parameters
    ----------
    sources
        Paths from the root.
    """
    words = {
        word
        for name in sources
        for word in re.findall(r"\bmb_\w+", (ROOT / name).read_text(encoding="utf-8"))
    }
    found = set()
    for name in _digests():
        if match := re.fullmatch(r"engines/(\w+)/Cargo\.toml", name):
            package = tomllib.loads((ROOT / name).read_text(encoding="utf-8"))["package"]["name"]
            found |= {match[1]} if package.replace("-", "_") in words else set()
    return frozenset(found)


def rust_sources(folder: str) -> list[str]:
    """Return the Rust sources below a folder; both are paths from the root."""
    return [name for name in _digests() if name.startswith(f"{folder}/") and name.endswith(".rs")]


@cache
def catalog() -> str | None:
    """Return what the catalog says about its engines without running them.

    None if the running build is not one for tests, or if it prints nothing because of a defect.
    """
    program = os.environ.get(PARAMETERS)
    if program is None or not Path(program).exists():
        return None
    tables = subprocess.run([program], capture_output=True, text=True, check=False)
    words = [sys.executable, "-c", "import matchbench; print(matchbench.engines())"]
    cards = subprocess.run(words, capture_output=True, text=True, check=False)
    return None if tables.returncode or cards.returncode else tables.stdout + cards.stdout


@cache
def engine_digest(engine: str) -> str:
    """Return a digest of the sources of an engine, or of all engines if none has this name."""
    of_all = {source[1] for name in _digests() if (source := ENGINE_SOURCES.search(name))}
    digest = hashlib.blake2b(digest_size=16)
    for name, content in _digests().items():
        source = ENGINE_SOURCES.search(name)
        if source and (source[1] == engine or engine not in of_all):
            digest.update(name.encode() + b"\0" + content)
    return digest.hexdigest()


def passed(result: Result, key: str) -> bool:
    """Return whether a test has passed with this key, and the engines that it used are unchanged."""
    if result["key"] != key:
        return False
    return all(engine_digest(name) == digest for name, digest in result["engines"].items())


def usual_seconds() -> dict[str, float]:
    """Return the times of the longest groups, for a clone without a record.

    From a run on two cores; only their order matters.
    """
    return {name: float(seconds) for name, seconds in json.loads(_USUAL.read_text(encoding="utf-8")).items()}


def slowest_first(
    names: Iterable[str], group: Callable[[str], str], seconds: dict[str, float], usual: dict[str, float]
) -> list[str]:
    """Order groups by the sum of their seconds, and keep the order within each.

    Parameters
    ----------
    names, group
        The tests, and the group of each.
    seconds
        Recorded times of tests.
    usual
        Times of groups without a recorded time. Groups that have neither come last.
    """
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(group(name), []).append(name)

    def total(members: list[str]) -> float:
        known = [seconds[name] for name in members if name in seconds]
        return sum(known) if known else usual.get(group(members[0]), 0.0)

    def flat() -> Iterator[str]:
        for members in sorted(groups.values(), key=total, reverse=True):
            yield from members

    return list(flat())
