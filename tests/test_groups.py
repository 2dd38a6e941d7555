# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The tests of a file run in one process, so that a fixture of the file is made once."""

import shutil
import subprocess
import sys
from pathlib import Path

CONFTEST = Path(__file__).parents[1] / "conftest.py"
# Each test waits, so that both processes get work.
TESTS = """
import os, pathlib, time, pytest

@pytest.mark.parametrize("number", range(4))
def test_process(number):
    time.sleep(0.1)
    pathlib.Path(f"{pathlib.Path(__file__).stem}-{number}.pid").write_text(str(os.getpid()))
"""


def test_a_file_is_one_group_and_files_are_spread(tmp_path: Path) -> None:
    shutil.copy(CONFTEST, tmp_path)
    for name in ("test_one.py", "test_two.py"):
        (tmp_path / name).write_text(TESTS, encoding="utf-8")
    words = [sys.executable, "-m", "pytest", "--quiet", "--numprocesses", "2"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout
    one, two = ({pid.read_text() for pid in tmp_path.glob(f"test_{name}-*.pid")} for name in ("one", "two"))
    assert (len(one), len(two), len(one | two)) == (1, 1, 2)
