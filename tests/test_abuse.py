# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A sample of the cases of abuse; `make abuse` runs all."""

import subprocess
import sys

import pytest

from tests.abuse.__main__ import KINDS
from tests.shared import FULL, ROOT

_FAULTS = [kind for kind in KINDS if "faults" in kind]


@pytest.mark.parametrize(
    ("kinds", "every"), [([kind for kind in KINDS if kind not in _FAULTS], 10), (_FAULTS, 60)]
)
def test_abused_commands_end_as_expected(kinds: list[str], every: int) -> None:
    words = [sys.executable, "-m", "tests.abuse", *kinds, "--quiet", "--sample", "1" if FULL else str(every)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
