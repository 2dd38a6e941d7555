# SPDX-License-Identifier: Apache-2.0 OR MIT
"""mpi4py, of the registry and of Debian: what it sends and receives is in the trace.

That of the registry serves several MPIs: it loads a library, asks what it is, and tests each newer function.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from harness import HERE, Mpi, check_frame, read_trace

OF_DEBIAN = "/usr/bin/python3"


@pytest.mark.parametrize("source", ["registry", "debian"])
def test_objects_of_python_are_recorded(source: str, mpi: Mpi, trace: Path, tmp_path: Path) -> None:
    if mpi.name.endswith("_abi"):
        pytest.skip("mpi4py has no module for this interface")
    library = mpi.library()
    if not mpi.library_path:  # mpi4py asks for a name that Debian's MPICH does not have
        library = tmp_path / f"libmpi.so.{40 if mpi.open_mpi else 12}"
        library.symlink_to(mpi.library().resolve())
    path = f"LD_LIBRARY_PATH={library.parent}:{mpi.library_path}"
    words = ["env", path, f"MPI4PY_LIBMPI={library}", sys.executable]
    if source == "debian":
        if mpi.name != "openmpi":
            pytest.skip("Debian's mpi4py is for Debian's Open MPI")
        if subprocess.run([OF_DEBIAN, "-c", "import mpi4py"], capture_output=True, check=False).returncode:
            pytest.skip("python3-mpi4py is not installed")
        words = [OF_DEBIAN]
    elif importlib.util.find_spec("mpi4py") is None:
        pytest.skip("mpi4py is not installed: run `make .venv/packages.stamp`")
    done = mpi.record(trace, 2, [*words, str(HERE / "programs" / "objects.py")])
    sizes = [int(word) for word in done.stdout.split()[1:]]
    sender, receiver = read_trace(trace)
    assert [(each.tag, each.bytes) for each in sender.of("Send")] == list(enumerate(sizes))
    assert [each.tag for each in receiver.of("Probe")] == list(range(4))
    assert [(each.flags & 16, each.bytes) for each in receiver.of("Recv")] == [(16, size) for size in sizes]
    found, received = receiver.of("Done")[::2], receiver.of("Done")[1::2]
    for done_records in (found, received):
        assert [(each.peer, each.tag, each.bytes) for each in done_records] == [
            (0, tag, size) for tag, size in enumerate(sizes)
        ]
    assert len(receiver.of("Done")) == 8
    for rank in (sender, receiver):
        check_frame(rank)
