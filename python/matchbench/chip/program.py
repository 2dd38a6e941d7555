# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Reads programs for the chip, and refuses files of other kinds."""

import struct
from pathlib import Path

from matchbench import MatchbenchError
from matchbench.input import read_bytes

# e_type and p_type: System V ABI, ELF header and program header.
_ELF_EXECUTABLE, _ELF_SHARED, _ELF_INTERPRETER = 2, 3, 3


def read_program(path: Path) -> bytes:
    """Read a program. What is not for this machine is refused here; the kernel would end with status 255.

    Parameters
    ----------
    path
        The file.
    """
    expected = "a static ELF file for RV64, linked with the library of moped/mpi"
    file = read_bytes(path, expected)
    # Class, byte order and machine (243 is RISC-V): System V ABI, ELF header; RISC-V ELF psABI, section 8.1.
    if file[:6] != b"\x7fELF\x02\x01" or file[18:20] != b"\xf3\x00":
        msg = f"{path}: found another kind of file; expected {expected}; compile it with moped/mpi/mpicc-chip"
        raise MatchbenchError(msg)
    found = _not_static(file)
    if found is not None:
        msg = f"{path}: found {found}; expected {expected}; link it with -static -no-pie"
        raise MatchbenchError(msg)
    return file


def _not_static(file: bytes) -> str | None:
    """Return what an ELF file for RV64 is if it is not a static executable at fixed addresses."""
    try:
        kind, start, size, count = (
            *struct.unpack_from("<H", file, 16),
            *struct.unpack_from("<Q", file, 32),
            *struct.unpack_from("<HH", file, 54),
        )
        segments = {struct.unpack_from("<I", file, start + at * size)[0] for at in range(count)}
    except struct.error:
        return "an ELF file that ends in its headers"
    if _ELF_INTERPRETER in segments:
        return "a dynamically linked program"
    if kind == _ELF_SHARED:
        return "a shared library or a position-independent program"
    return None if kind == _ELF_EXECUTABLE else "an ELF file that is not executable"
