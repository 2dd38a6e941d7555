# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Which files of the repository a Python test can read: those in its key (`tests/unchanged.py`).

These are all files except two kinds, of which a test reads only those that it names:

- other test files: a test depends on those whose names occur in its file, and in the test files that it uses.
- prose and files for developers (`NAMED`): a test depends on those that these files or the helpers of tests
  name; the test of a page depends on that page and on those that its commands name.

A test that asks for all files of a kind, instead of naming them, depends on every file.
"""

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("tests/", "recorder/tests/", "examples/mpi/tests/")
TEST = re.compile(r"(?:^|/)(test_\w+)\.py$")
# Pages of `spec/` are part of the module, and tests build their names.
NAMED = re.compile(
    r"(?!spec/).*\.md$|(?:\.ci|fuzz)/|(?:\.gitignore|CITATION\.cff|LICENSE-\w+|(?:clippy|deny|rustfmt)\.toml)$"
)
PAGE = re.compile(r"[\w./-]*\w\.md\b")
# Text of a test that searches for files or composes their names, and of a command that does so.
LOOKS_FOR = re.compile(r"test_\*|[*}]\.md\b|\bls-files\b")
COMMAND_LOOKS_FOR = re.compile(r"^\$ .*(?:\*\.md|\b(?:find|git|ls|tree)\b|\bgrep -\w*r)", re.MULTILINE)
# This test file searches for pages, and has each as a parameter.
PAGES = "tests/test_pages.py"


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@cache
def _tests() -> dict[str, list[str]]:
    """Return the files of tests, as paths from the root, by the stems of their names."""
    found: dict[str, list[str]] = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).glob("test_*.py")):
            found.setdefault(path.stem, []).append(f"{folder}{path.name}")
    return found


@cache
def _helpers() -> str:
    """Return the text of the modules that tests import and that have no tests."""
    paths = [path for folder in FOLDERS for path in sorted((ROOT / folder).glob("*.py"))]
    own = Path(__file__).name
    return "\n".join(
        path.read_text(encoding="utf-8") for path in paths if not TEST.search(path.name) and path.name != own
    )


def _named_tests(text: str) -> set[str]:
    return {name for stem in re.findall(r"\btest_\w+", text) for name in _tests().get(stem, ())}


@cache
def tests_of(test: str) -> frozenset[str]:
    """Return the files of tests that a file of tests uses, with itself; all are paths from the root."""
    found: set[str] = set()
    left = {test}
    while left:
        name = left.pop()
        found.add(name)
        left |= _named_tests(_text(name)) - found
    return frozenset(found)


@cache
def _pages(text: str) -> frozenset[str]:
    """Return how the paths of the pages end that a text names."""
    return frozenset(f"/{page.lstrip('./')}" for page in PAGE.findall(text))


def _depends_on(tests: frozenset[str], *texts: str) -> Callable[[str], bool]:
    """Return whether a path is one of these test files, or ends as a path in the texts does."""
    pages = tuple(page for text in texts for page in _pages(text))

    def depends_on(name: str) -> bool:
        if TEST.search(name) and name.startswith(FOLDERS):
            return name in tests
        if not NAMED.match(name):
            return True
        if name.endswith(".md"):
            return f"/{name}".endswith(pages)
        return any(name.partition("/")[0] in text for text in texts)

    return depends_on


@cache
def of_test(test: str) -> Callable[[str], bool]:
    """Return whether a file of tests can depend on a file, given its path from the root.

    Parameters
    ----------
    test
        The file of tests, as a path from the root.
    """
    tests = tests_of(test)
    texts = {name: _text(name) for name in tests}
    if any(LOOKS_FOR.search(text) for name, text in texts.items() if name != PAGES):
        return lambda _: True
    return _depends_on(tests, *texts.values(), _helpers())


def of_page(page: str) -> Callable[[str], bool]:
    """Return whether the test of a page can depend on a file; both are paths from the root."""
    commands = "\n".join(re.findall(r"^```console\n(.*?)^```$", _text(page), re.MULTILINE | re.DOTALL))
    if COMMAND_LOOKS_FOR.search(commands):
        return lambda _: True
    depends_on = _depends_on(tests_of(PAGES) | _named_tests(commands), commands)
    return lambda name: name == page or depends_on(name)
