# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The committed guest programs are what their sources build, where their compiler is installed."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# Other versions compile to other bytes.
VERSIONS = {"gcc": "12.2.0", "ld": "2.40"}


def first_line(*command: str) -> str:
    """Return the first line that a command prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")[0]


@pytest.mark.parametrize(
    ("folder", "isa", "target"),
    [
        ("processor/firmware", "ppc32", "powerpc-linux-gnu"),
        ("processor/firmware", "rv64", "riscv64-linux-gnu"),
        ("moped", "rv64", "riscv64-linux-gnu"),
        ("netproc", "rv64", "riscv64-linux-gnu"),
    ],
)
def test_committed_programs_are_what_the_sources_build(
    folder: str, isa: str, target: str, tmp_path: Path
) -> None:
    for name, version in VERSIONS.items():
        tool = f"{target}-{name}"
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
        if version not in (line := first_line(tool, "--version")):
            pytest.skip(f"the files were built with {name} {version}; this is {line}")
    committed = {path.name: path.read_bytes() for path in (ROOT / folder).glob(f"elf/*.{isa}.elf")}
    # The others have programs for one instruction set.
    of_isa = [isa] if folder == "processor/firmware" else []
    command = ["make", "--silent", "-C", str(ROOT / folder), f"OUT={tmp_path}", *of_isa]
    subprocess.run(command, check=True)
    built = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert committed.keys() == built.keys()
    assert [name for name in built if built[name] != committed[name]] == []
