# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Unpacks `NAME.tar.xz`, a packed trace (`spec/trace.md`, T-2); the file is untrusted.

An archive is refused if it holds anything but one directory with the files of a trace, if it has links,
devices or paths outside of the target, or if it needs more than `limit_bytes` of disk or too much memory.
"""

import io
import lzma
import re
import shutil
import tarfile
from pathlib import Path, PurePosixPath

from matchbench._native import MatchbenchError, TraceError, trace_file_bytes
from matchbench.display.output import make_directory, stream
from matchbench.input import open_file

LIMIT_BYTES = 64 << 30
"""Unpacked size above which an archive is refused: 2^30 records."""

_MEMBER = re.compile(r"meta\.json|bundle\.mbt|rank-\d{5,}\.mbt|README\.md")
_DICTIONARY_BYTES = 256 << 20  # xz -9 needs 65 MiB to unpack
_HEADER_BYTES = 4 << 20  # largest header between the contents of two members
_TRACE_HEADER_BYTES = 64  # T-3
_TEXT_BYTES = 16 << 20  # a command line and 65,536 names of hosts are far shorter
_CHUNK_BYTES = 1 << 18


class _Unxz(io.RawIOBase):
    """A stream of the unpacked bytes of an xz file, limited to the bytes allowed so far."""

    def __init__(self, path: Path) -> None:
        self._file = open_file(path, "a packed trace")
        self._decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_DICTIONARY_BYTES)
        self._allowed = _HEADER_BYTES

    def allow(self, content_bytes: int) -> None:
        """Set the limit to the contents of one member and the next header."""
        self._allowed = content_bytes + _HEADER_BYTES

    def readable(self) -> bool:
        """Return true: the stream is readable."""
        return True

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()

    def read(self, size: int = -1) -> bytes:
        """Unpack `size` bytes, fewer only at the end."""
        parts: list[bytes] = []
        while size > 0 and not self._decoder.eof:
            packed = self._file.read(_CHUNK_BYTES) if self._decoder.needs_input else b""
            part = self._decoder.decompress(packed, size)
            if not part and not packed and self._decoder.needs_input:
                msg = "found the end of the file, expected more packed data"
                raise tarfile.ReadError(msg)
            parts.append(part)
            size -= len(part)
            self._allowed -= len(part)
            if self._allowed < 0:
                msg = "found a header above 4 MiB, expected the headers of a trace"
                raise tarfile.ReadError(msg)
        return b"".join(parts)


def unpack(path: Path, into: Path, *, limit_bytes: int = LIMIT_BYTES) -> Path:
    """Unpack the trace `path` below `into` and return its directory.

    Parameters
    ----------
    path
        A `.tar.xz` file.
    into
        An empty directory; nothing is written outside of it.
    limit_bytes
        Largest unpacked size, in bytes.

    Raises
    ------
    MatchbenchError
        When the file is not a packed trace, or the disk is too small; names the file and the first defect.
    """
    top: str | None = None
    left_bytes = limit_bytes
    try:
        with _Unxz(path) as stream, tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                parts = PurePosixPath(member.name).parts
                top = top or (parts[0] if parts else None)
                is_inside = bool(parts) and parts[0] == top and top not in {"/", ".."}
                is_file = member.isreg() and not member.issparse() and len(parts) == 2
                is_top = member.isdir() and len(parts) == 1
                if not is_inside or not (is_top or (is_file and _MEMBER.fullmatch(parts[1]))):
                    msg = f"found the member `{member.name}`, expected the files of one trace"
                    raise tarfile.ReadError(msg)
                if is_file and parts[1].endswith((".json", ".md")) and member.size > _TEXT_BYTES:
                    msg = f"member `{member.name}` has {member.size} bytes, expected at most {_TEXT_BYTES}"
                    raise tarfile.ReadError(msg)
                left_bytes -= member.size
                if left_bytes < 0:
                    msg = f"found files of more than {limit_bytes} bytes, expected at most this size"
                    raise tarfile.ReadError(msg)
                free_bytes = shutil.disk_usage(into).free
                if member.size > free_bytes:
                    msg = (
                        f"{path}: member `{member.name}` needs {member.size} bytes, found {free_bytes} "
                        f"free in {into}; TMPDIR sets another directory"
                    )
                    raise MatchbenchError(msg)
                stream.allow(member.size)
                make_directory(into / parts[0])
                if is_file:
                    _store(archive, member, into / parts[0] / parts[1])
    except OSError as error:
        if error.filename:
            raise
        msg = f"{path}: cannot be unpacked to {into}: {error.strerror}; TMPDIR sets another directory"
        raise MatchbenchError(msg) from error
    except (tarfile.TarError, lzma.LZMAError, EOFError) as error:
        msg = f"{path}: not a packed trace: {error}"
        raise MatchbenchError(msg) from error
    if top is None:
        msg = f"{path}: not a packed trace: the archive is empty"
        raise MatchbenchError(msg)
    return into / top


def _store(archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    """Write a member's content to `target`; the filters of `tarfile.extract` need Python 3.11.4."""
    content = archive.extractfile(member)
    if content is None:
        msg = f"member `{member.name}` has no content"
        raise tarfile.ReadError(msg)
    with content, stream(target) as file:
        if target.suffix == ".mbt":
            first = content.read(_TRACE_HEADER_BYTES)
            _check_size(member, target, first)
            file.write(first)
        shutil.copyfileobj(content, file)


def _check_size(member: tarfile.TarInfo, target: Path, first: bytes) -> None:
    """Refuse a file that is longer than its header says, before it fills the disk."""
    try:
        expected = trace_file_bytes(target.name, first)
    except TraceError as error:
        raise tarfile.ReadError(str(error)) from error
    if expected is not None and member.size != expected:
        msg = f"{target.name}: found a file of {member.size} bytes, expected {expected} by its header"
        raise tarfile.ReadError(msg)
