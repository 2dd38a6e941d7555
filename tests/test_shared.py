# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What tests share is made once, also by several processes, and again when what it is made of differs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import shared

ROOT = Path(__file__).resolve().parent.parent
COMPILER = "riscv64-linux-gnu-gcc"


@pytest.fixture(autouse=True)
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the test a session of its own and return its folder."""
    folder = tmp_path / "session"
    folder.mkdir()
    monkeypatch.setenv(shared.SESSION, str(folder))
    return folder


def test_a_thing_is_made_once_and_by_the_next_call_if_that_fails(session: Path) -> None:
    calls = []

    def fail(part: Path) -> None:
        part.mkdir()
        calls.append("fail")
        raise ValueError

    def make(part: Path) -> None:
        part.mkdir()
        calls.append("make")

    with pytest.raises(ValueError):  # noqa: PT011 - the one above
        shared.once("thing", fail)
    assert not (session / "thing").exists()
    assert shared.once("thing", make) == shared.once("thing", make) == session / "thing"
    assert calls == ["fail", "make"]


def test_two_processes_make_a_thing_once(session: Path) -> None:
    code = (
        "import pathlib, time; from tests import shared\n"
        "def make(part):\n"
        "    with open('calls', 'a') as calls: calls.write('made ')\n"
        "    time.sleep(0.3); part.touch()\n"
        "shared.once('thing', make)\n"
    )
    words = [sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"}
    both = [subprocess.Popen(words, cwd=session, env=environment) for _ in range(2)]
    assert [each.wait() for each in both] == [0, 0]
    assert (session / "calls").read_text() == "made "


@pytest.mark.skipif(shutil.which(COMPILER) is None, reason=f"{COMPILER} is not installed")
def test_an_object_is_kept_for_equal_files_alone(session: Path, tmp_path: Path) -> None:
    sources = tmp_path / "sources"
    sources.mkdir()

    def compiled(*options: str) -> bytes:
        words: list[str | Path] = [
            ROOT / "tests" / "compile_once.sh",
            *options,
            "-c",
            "-o",
            tmp_path / "a.o",
            "a.c",
        ]
        subprocess.run(words, cwd=sources, check=True)
        return (tmp_path / "a.o").read_bytes()

    def kept() -> int:
        return len(list((session / "objects").iterdir()))

    (sources / "a.c").write_text('#include "a.h"\nint f(void) { return NUMBER; }\n')
    (sources / "a.h").write_text("#define NUMBER 1\n")
    one = compiled()
    assert (compiled(), kept()) == (one, 1)
    (sources / "a.h").write_text("#define NUMBER 2\n")
    assert compiled() != one
    assert compiled("-O2") != one
    assert kept() == 3
