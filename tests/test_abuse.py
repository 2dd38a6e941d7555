# SPDX-License-Identifier: Apache-2.0 OR MIT
"""A sample of the cases of abuse; `make abuse` runs all."""

import subprocess
import sys

from tests.shared import FULL, ROOT

_EVERY = 1 if FULL else 10


def test_abused_commands_end_as_expected() -> None:
    words = [sys.executable, "-m", "tests.abuse", "--quiet", "--sample", str(_EVERY)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
