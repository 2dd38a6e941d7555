# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The state of `inject.c`: which call of the system fails, and which one did."""

from __future__ import annotations

import ctypes
import os
import struct
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Self

_LAYOUT = struct.Struct("<QQQ1024s64s64s")
"""`struct state`: calls, the failing one, whether it ends the process, folder, object, hit."""


class State:
    """A call that fails, as a context manager.

    Parameters
    ----------
    folder
        Calls that concern files below it count.
    at
        Number of the call that fails, from 1 on; 0: none.
    ends
        Whether it ends the process instead.
    of
        A part of the path of a loaded object whose requests for memory count too.
    """

    def __init__(self, folder: Path | str, at: int, *, ends: bool, of: str = "") -> None:
        self._file = tempfile.NamedTemporaryFile()  # noqa: SIM115 - closed by `__exit__`
        self.path = self._file.name
        self._file.write(_LAYOUT.pack(0, at, ends, os.fsencode(folder), of.encode(), b""))
        self._file.flush()
        self.calls = 0
        self.hit = ""

    def __enter__(self) -> Self:
        """Return the state."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove its file."""
        self._file.close()

    def begin(self) -> None:
        """Count calls of this process from now on."""
        assert ctypes.CDLL(None).inject_begin(os.fsencode(self.path)) == 0

    def read(self) -> Self:
        """Read the number of calls, and the name of the one that failed."""
        self.calls, *_, hit = _LAYOUT.unpack(Path(self.path).read_bytes())
        self.hit = hit.rstrip(b"\0").decode()
        return self


@cache
def library() -> Path:
    """Compile what is preloaded."""
    made = Path(tempfile.mkdtemp(prefix="abuse-inject-")) / "inject.so"
    source = Path(__file__).with_name("inject.c")
    strict = ("-O1", "-Wall", "-Wextra", "-Werror")
    words = ["cc", "-shared", "-fPIC", *strict, "-o", str(made), str(source), "-ldl"]
    subprocess.run(words, check=True, timeout=60)
    return made
