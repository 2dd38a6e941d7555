# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The tests of a file run in one process, which makes its fixtures once; tests that passed are left out."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import engines_used, shared, unchanged
from tests.processes import PATIENCE_S

ROOT = Path(__file__).parents[1]
# xdist gives each process a group before it runs the first.
TESTS = """
import os, pathlib, pytest

@pytest.mark.parametrize("number", range(4))
def test_process(number):
    pathlib.Path(f"{pathlib.Path(__file__).stem}-{number}.pid").write_text(str(os.getpid()))
"""


def repository(folder: Path) -> None:
    """Give a folder the configuration of the tests of this repository."""
    (folder / "tests").mkdir()
    own = (
        "__init__",
        "engines_used",
        "forked",
        "idle_ranks",
        "reads",
        "rust_programs",
        "shared",
        "unchanged",
    )
    for name in ("conftest.py", "tests/seconds.json", *(f"tests/{each}.py" for each in own)):
        shutil.copy(ROOT / name, folder / name)


def test_a_file_is_one_group_and_files_are_spread(tmp_path: Path) -> None:
    repository(tmp_path)
    for name in ("test_one.py", "test_two.py"):
        (tmp_path / name).write_text(TESTS, encoding="utf-8")
    words = [sys.executable, "-m", "pytest", "--quiet", "--numprocesses", "2"]
    # Without the record of `make test`, which needs a repository.
    variables = {name: value for name, value in os.environ.items() if name != "MATCHBENCH_PASSED"}
    done = subprocess.run(
        words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=PATIENCE_S, env=variables
    )
    assert done.returncode == 0, done.stdout
    one, two = ({pid.read_text() for pid in tmp_path.glob(f"test_{name}-*.pid")} for name in ("one", "two"))
    assert (len(one), len(two), len(one | two)) == (1, 1, 2)


def test_a_test_that_passed_is_left_out_until_a_file_changes(tmp_path: Path) -> None:
    repository(tmp_path)
    (tmp_path / ".gitignore").write_text("/record.json\n__pycache__/\n.pytest_cache/\n")
    engine, other = (tmp_path / "engines" / name / "src" / "lib.rs" for name in ("linear", "lhs"))
    for source in (engine, other):
        source.parent.mkdir(parents=True)
        source.write_text("fn engine() {}\n")
    right = "def test_right():\n    assert True\n"
    # As the module of a build for tests notes them: in a call, in a fixture, and in what is remembered.
    runs = (
        "import os, pathlib, pytest\n"
        "from tests.engines_used import remembered\n"
        "def note():\n"
        "    pathlib.Path(os.environ['MATCHBENCH_ENGINES_USED'], 'linear').mkdir()\n"
        "def test_call():\n    note()\n"
        "@pytest.fixture(scope='module')\ndef fixture():\n    note()\n"
        "def test_fixture_is_made(fixture):\n    assert True\n"
        "def test_fixture_is_there(fixture):\n    assert True\n"
        "@remembered\ndef value(number):\n    note()\n"
        "def test_value_is_computed():\n    value('1')\n"
        "def test_value_is_there():\n    value('1')\n"
        "def test_without():\n    assert True\n"
    )
    wrong = "def test_wrong():\n    assert sum(range(10_000_000)) == 0\n"
    (tmp_path / "tests" / "test_launchers.py").write_text(right)  # one of those without engines
    (tmp_path / "tests" / "test_cli.py").write_text(right + wrong)
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)  # noqa: S607 - the git of the PATH
    record = tmp_path / "record.json"

    def results(*options: str, **environment: str) -> tuple[int, str]:
        words = [sys.executable, "-m", "pytest", "--quiet", "-p", "no:cacheprovider", "-p", "xdist", *options]
        variables = {
            **os.environ,
            "MATCHBENCH_PASSED": str(record),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        for name in ("MATCHBENCH_ALL", "MATCHBENCH_PARAMETERS"):
            variables.pop(name, None)
        done = subprocess.run(
            words,
            cwd=tmp_path,
            env={**variables, **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
        return done.returncode, done.stdout

    status, printed = results("--numprocesses", "2")
    assert (status, "1 failed, 2 passed" in printed, "left out" in printed) == (1, True, False), printed
    # The file whose test works is above the other one.
    _, _, shown = printed.partition("processor time: ")
    assert re.search(r" s tests/test_cli\.py\n[\d.]+ s tests/test_launchers\.py\n", shown), printed
    # What failed runs again; what passed does not, also in another session with another server of commands.
    status, printed = results(**{shared.SERVER: "another", shared.SESSION: "another"})
    assert (status, "1 failed in" in printed) == (1, True), printed
    assert "\n2 tests left out: they passed before on the same files (make test ALL=1 runs them)" in printed
    # If it is not recorded which engines run, a change to one concerns every file but those without engines.
    engine.write_text("fn engine() {} // changed\n")
    status, printed = results()
    assert (status, "1 failed, 1 passed" in printed, "\n1 tests left out" in printed) == (1, True, True), (
        printed
    )
    # Otherwise it concerns the tests that used it.
    (tmp_path / "tests" / "test_cli.py").write_text(right)
    (tmp_path / "tests" / "test_compare.py").write_text(runs)
    notes = {"MATCHBENCH_PARAMETERS": shutil.which("true") or "true"}
    status, printed = results("--numprocesses", "2", **notes)
    assert (status, "8 passed" in printed) == (0, True), printed
    other.write_text("fn engine() {} // changed\n")
    status, printed = results(**notes)
    assert (status, "\n8 tests left out" in printed) == (0, True), printed
    engine.write_text("fn engine() {} // changed again\n")
    status, printed = results(**notes)
    assert (status, "5 passed" in printed, "\n3 tests left out" in printed) == (0, True, True), printed
    (tmp_path / "tests" / "test_compare.py").unlink()
    status, printed = results(MATCHBENCH_ALL="1")
    assert (status, "2 passed" in printed, "left out" in printed) == (0, True, False), printed
    # Another file of tests, and a page that no test names, concern no test of these.
    (tmp_path / "CHANGELOG.md").write_text("text\n")
    (tmp_path / "tests" / "test_cli.py").write_text(right + "# changed\n")
    status, printed = results()
    assert (status, "1 passed" in printed, "\n1 tests left out" in printed) == (0, True, True), printed
    # What every test may read concerns both.
    (tmp_path / "Makefile").write_text("all:\n")
    status, printed = results()
    assert (status, "2 passed" in printed, "left out" in printed) == (0, True, False), printed
    # What changes before the first test runs, but after the files were read, has not been tested.
    edit = "def pytest_collection_finish():\n    open('Makefile', 'a').write('\\n')\n"
    (tmp_path / "edits.py").write_text(edit)
    record.unlink()
    for options in (("-p", "edits"), ()):
        status, printed = results(*options)
        assert (status, "2 passed" in printed, "left out" in printed) == (0, True, False), printed
    status, printed = results()
    assert (status, "\n2 tests left out" in printed) == (0, True), printed


def read_outside(source: str, text: str) -> set[str]:
    """Find the top-level folders that a Rust source names by paths out of its crate, except to include."""
    crate = source.rpartition("/src/" if "/src/" in source else "/tests/")[0]
    found = set()
    for line in text.splitlines():
        if re.search(r"include(_str|_bytes)?!|#\[path", line):
            continue
        for path in re.findall(r'"/?(\.\.(?=["/])[^"{]*)', line):
            found.add(os.path.normpath(f"{crate}/{path}").partition("/")[0] + "/")
    return found


def test_rust_tests_read_only_what_is_in_their_keys() -> None:
    assert read_outside("a/b/tests/c.rs", 'x("../d/e"); y("/../../spec/f"); z("..")') == {"a/", "spec/"}
    assert read_outside("a/src/c.rs", 'include_str!("../../docs/x.md")') == set()
    words = ["git", "ls-files", "*/src/*.rs", "*/tests/*.rs"]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    wrong = {
        source: outside
        for source in listed
        if not source.startswith(("xtask/", "fuzz/"))
        and (outside := read_outside(source, (ROOT / source).read_text()) - set(unchanged.READ_BY_RUST))
    }
    assert wrong == {}, "name these folders in READ_BY_RUST of tests/unchanged.py"


def test_pages_without_commands_of_engines_are_recognized() -> None:
    assert unchanged.ENGINE_COMMANDS.search("text\n$ time matchbench compare out\n")
    assert unchanged.ENGINE_COMMANDS.search("$ cd x && matchbench engines show linear")
    assert not unchanged.ENGINE_COMMANDS.search(
        "text with matchbench compare\n$ matchbench trace stats compare\n"
    )


def test_a_damaged_record_is_none_and_the_slowest_group_is_first(tmp_path: Path) -> None:
    damaged = tmp_path / "record.json"
    for text in ("{", "[]", '{"a": 1}', '{"a": {"key": null}}'):
        damaged.write_text(text)
        assert unchanged.load(damaged) == {}, text
    seconds = {"a:1": 1.0, "a:2": 2.0, "b:1": 5.0}
    ordered = unchanged.slowest_first(
        ["a:1", "d:1", "b:1", "a:2", "c:1"],
        lambda name: name.partition(":")[0],
        seconds,
        {"c": 4.0, "b": 1.0},
    )
    assert ordered == ["b:1", "c:1", "a:1", "a:2", "d:1"]


def test_the_usual_times_are_those_of_files_that_exist() -> None:
    usual = unchanged.usual_seconds()
    assert usual
    for name in usual:
        assert (ROOT / name.partition("::")[0].partition(" ")[0]).exists(), name


def test_what_tests_share_is_known_to_the_record() -> None:
    cached = re.compile(r"^@(?:functools\.)?(?:lru_)?cache\b", re.MULTILINE)
    tests = [
        path for folder in ("tests", "recorder", "examples") for path in (ROOT / folder).rglob("test_*.py")
    ]
    found = {path.name for path in tests if cached.search(path.read_text(encoding="utf-8"))}
    # What these keep is not a result of an engine.
    assert found == {"test_guest_mpi.py", "test_rust.py"}, "use `remembered` of tests/engines_used.py"


@pytest.mark.skipif(unchanged.PARAMETERS not in os.environ, reason="only a build for tests notes engines")
def test_a_build_for_tests_notes_the_engines_that_are_used(tmp_path: Path) -> None:
    source = "import matchbench as mb; mb.engines(); mb.compare(mb.Trace.open('{}'), ['ideal', 'linear:bgp'])"
    [trace, *_] = sorted((ROOT / "traces").glob("tasks-*.tar.xz"))
    words = [sys.executable, "-c", source.format(trace)]
    subprocess.run(words, env={**os.environ, engines_used.VARIABLE: str(tmp_path)}, check=True)
    assert sorted(note.name for note in tmp_path.iterdir()) == ["ideal", "linear"]
