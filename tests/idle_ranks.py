# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Ranks of the system's MPIs that sleep while they wait, for tests that do not measure their speed.

`mpi/idle.c` gives the reason. `make nightly` runs the tests of MPIs on the unmodified libraries, except
with QUICK=1.
"""

import hashlib
import os
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "tests" / "mpi" / "idle.c"
# Set by `make nightly` where it tests MPIs: ranks wait as the library does.
BUSY = "MATCHBENCH_BUSY_RANKS"


@cache
def library() -> Path:
    """Compile the library to be preloaded, once for each state of its source, and return its path."""
    name = hashlib.blake2b(SOURCE.read_bytes(), digest_size=8).hexdigest()
    built = ROOT / "target" / "idle-ranks" / f"{name}.so"
    if not built.exists():
        built.parent.mkdir(parents=True, exist_ok=True)
        part = built.with_suffix(f".{os.getpid()}")
        options = ["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
        subprocess.run(["cc", *options, "-o", part, SOURCE, "-ldl"], check=True)  # noqa: S607 - of the PATH
        part.replace(built)
    return built


def environment() -> dict[str, str]:
    """Return the environment variables with which ranks sleep while they wait; none if `BUSY` is set.

    Open MPI uses the component that it selects on one host anyway: to look for others takes 0.2 s.
    """
    if BUSY in os.environ:
        return {}
    return {
        "LD_PRELOAD": ":".join(filter(None, (str(library()), os.environ.get("LD_PRELOAD")))),
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_pml": "ob1",
    }
