# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A sample of the cases of abuse; `make abuse` runs all."""

import subprocess
import sys

import pytest

from tests.abuse.__main__ import FAULTS, TABLE
from tests.shared import FULL, ROOT


@pytest.mark.parametrize(("kinds", "every"), [(TABLE, 10), (FAULTS, 60)])
def test_abused_commands_end_as_expected(kinds: tuple[str, ...], every: int) -> None:
    words = [sys.executable, "-m", "tests.abuse", *kinds, "--quiet", "--sample", "1" if FULL else str(every)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
