# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Which files are in the key of a test of Python: all that it can read, and no other test or page."""

import re
import subprocess
from pathlib import Path

import pytest

from tests import reads, unchanged

ROOT = Path(__file__).parents[1]
# Files that any test can read, of each kind.
OF_ALL = (
    "Makefile",
    "mpi/conform/c/interpreter.c",
    "conftest.py",
    "docs/papers.bib",
    "examples/mpi/cg.c",
    "processor/src/lib.rs",
    "python/matchbench/compare/run.py",
    "recorder/src/calls.c",
    "spec/mpi-conform.md",
    "studies/cam_entries/study.toml",
    "tests/forked.c",
    "tests/processes.py",
    "traces/fft-16.tar.xz",
)


def listed(*patterns: str) -> list[str]:
    words = ["git", "ls-files", *patterns]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.parametrize(
    ("test", "read", "not_read"),
    [
        (
            "test_chip",
            ["processor/docs/coherence.md", "tests/test_chip.py"],
            ["docs/tour.md", "tests/test_cpu.py"],
        ),
        ("test_reproduce", ["docs/reproduce.md"], ["CHANGELOG.md", "README.md", "fuzz/Cargo.toml"]),
        # It imports from a test, and names a page in a folder.
        ("test_conform_unfinished", ["tests/test_conform_search.py"], ["tests/test_mpi_conform.py"]),
        ("test_guest_mpi", ["moped/mpi/README.md"], ["processor/firmware/README.md"]),
        # It names a file that every folder has.
        ("test_gu2011_runs", ["README.md", "processor/firmware/README.md"], ["docs/tour.md", "LICENSE-MIT"]),
        # It lists files.
        ("test_groups", ["CHANGELOG.md", "fuzz/Cargo.toml", "tests/test_cpu.py"], []),
    ],
)
def test_a_test_depends_on_what_it_names(test: str, read: list[str], not_read: list[str]) -> None:
    depends_on = reads.of_test(f"tests/{test}.py")
    assert [name for name in [*OF_ALL, *read] if not depends_on(name)] == []
    assert [name for name in not_read if depends_on(name)] == []


def test_a_page_depends_on_itself_and_on_what_its_commands_name() -> None:
    depends_on = reads.of_page("docs/replay.md")
    assert [name for name in [*OF_ALL, "docs/replay.md", reads.PAGES] if not depends_on(name)] == []
    others = ("README.md", "docs/tour.md", "tests/cli/trace.md", "tests/test_chip.py", "CHANGELOG.md")
    assert [name for name in others if depends_on(name)] == []
    # What its text links to is not read, but what a command prints may be.
    assert reads.of_page("docs/cli.md")("docs/sizing.md")


def test_a_search_for_files_is_recognized() -> None:
    for text in ('glob("test_*.py")', 'rglob("*.md")', 'folder / f"{name}.md"', '["git", "ls-files"]'):
        assert reads.LOOKS_FOR.search(text), text
    for text in ("$ ls docs", "$ cat docs/*.md", "$ cd x && find . -name y", "$ grep -lr word ."):
        assert reads.COMMAND_LOOKS_FOR.search(text), text
    assert not reads.COMMAND_LOOKS_FOR.search("ls docs\n$ matchbench trace stats false\n")


def test_the_module_and_the_package_hold_no_prose() -> None:
    included = re.compile(r'include_(?:str|bytes)!\("([^"]*)"\)')
    for source in listed("*.rs"):
        if unchanged.RUST_TESTS.search(source) or source.startswith(("fuzz/", "xtask/")):
            continue
        for path in included.findall((ROOT / source).read_text(encoding="utf-8")):
            name = (ROOT / source).parent.joinpath(path).resolve().relative_to(ROOT)
            assert not reads.NAMED.match(str(name)), f"{source}: name {name} in tests/reads.py"
    assert [name for name in listed("python/matchbench") if reads.NAMED.match(name)] == []
