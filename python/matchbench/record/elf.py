# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Says how a program is linked, to explain why the recorder was not loaded into it or saw no MPI calls.

Source of the layout: System V ABI, chapters 4 (object files) and 5 (program loading).
"""

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from matchbench._native import MatchbenchError
from matchbench.input import open_file

_IDENT = b"\x7fELF\x02\x01"  # 64-bit, little-endian: the platforms of the recorder
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")


class _Header(NamedTuple):
    """The file header (`Elf64_Ehdr`)."""

    ident: bytes
    type: int
    machine: int
    version: int
    entry: int
    segments: int
    sections: int
    flags: int
    size: int
    segment_size: int
    segment_count: int
    section_size: int
    section_count: int
    names: int


class _Segment(NamedTuple):
    """A program header (`Elf64_Phdr`)."""

    type: int
    flags: int
    offset: int
    virtual_address: int
    physical_address: int
    file_size: int
    memory_size: int
    alignment: int


class _Section(NamedTuple):
    """A section header (`Elf64_Shdr`)."""

    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry_size: int


class _Symbol(NamedTuple):
    """An entry of a symbol table (`Elf64_Sym`)."""

    name: int
    info: int
    other: int
    section: int
    value: int
    size: int


_BEGIN = {b"PMPI_Init", b"PMPI_Init_thread", b"PMPI_Session_init"}
_LONGEST = 18  # bytes of the longest of them, and one more
_DYNAMIC, _INTERPRETER, _SYMBOLS = 2, 3, 2  # PT_DYNAMIC, PT_INTERP, SHT_SYMTAB
_ENTRY = struct.Struct("<qQ")
_FLAGS, _PIE = 0x6FFFFFFB, 0x08000000  # DT_FLAGS_1, DF_1_PIE
_EXECUTABLE, _SHARED = 2, 3  # ET_EXEC, ET_DYN


@dataclass(frozen=True, slots=True, kw_only=True)
class Linkage:
    """How a program is linked.

    Parameters
    ----------
    is_static
        It is a program without interpreter, so that nothing can be preloaded.
    has_mpi
        It contains an MPI library, by its symbol table or, if that is stripped, by the library's messages.
    """

    is_static: bool
    has_mpi: bool


def linkage(path: Path) -> Linkage | None:
    """Read how the program `path` is linked; None if it is not a 64-bit ELF file.

    Parameters
    ----------
    path
        An executable file.
    """
    try:
        with (
            open_file(path, "a program") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content,
        ):
            if content[:6] != _IDENT:
                return None
            header = _Header(*_HEADER.unpack_from(content))
            places = (header.segments + at * _SEGMENT.size for at in range(header.segment_count))
            segments = [_Segment(*_SEGMENT.unpack_from(content, place)) for place in places]
            is_program = header.type == _EXECUTABLE or (
                header.type == _SHARED and _is_program(content, segments)
            )
            is_static = is_program and all(segment.type != _INTERPRETER for segment in segments)
            return Linkage(is_static=is_static, has_mpi=_defines(content, header))
    except (MatchbenchError, OSError, ValueError, OverflowError, IndexError, struct.error):
        return None


def _is_program(content: mmap.mmap, segments: list[_Segment]) -> bool:
    """Whether a file of the type of shared libraries is a program."""
    for segment in segments:
        if segment.type == _INTERPRETER:
            return True
        if segment.type == _DYNAMIC:
            end = segment.offset + segment.file_size // _ENTRY.size * _ENTRY.size
            entries = _ENTRY.iter_unpack(content[segment.offset : end])
            if any(tag == _FLAGS and value & _PIE for tag, value in entries):
                return True
    return False


def _defines(content: mmap.mmap, header: _Header) -> bool:
    """Whether the symbol table defines MPI's first call; without one, whether MPI's messages are there."""
    places = (header.sections + at * _SECTION.size for at in range(header.section_count))
    table = [_Section(*_SECTION.unpack_from(content, place)) for place in places]
    symbols = next((section for section in table if section.type == _SYMBOLS), None)
    if symbols is None:
        return any(content.find(text) >= 0 for text in (b"MPICH Version:", b"Open MPI v", b"mpich error"))
    names = table[symbols.link].offset
    entry_places = range(symbols.offset, symbols.offset + symbols.size - _SYMBOL.size + 1, _SYMBOL.size)
    entries = (_Symbol(*_SYMBOL.unpack_from(content, place)) for place in entry_places)
    defined = (names + entry.name for entry in entries if entry.section)
    return any(content[start : start + _LONGEST].split(b"\0")[0] in _BEGIN for start in defined)
