# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Any bytes as a file that Python reads: a value, or a `MatchbenchError`.

`python -m tests.fuzz_readers TARGET [CORPUS] [OPTION...]` fuzzes a reader, with the options of libFuzzer.
It needs the package atheris, which follows what the readers execute.
"""

from __future__ import annotations

import hashlib
import io
import lzma
import sys
import tempfile
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

Reader = Callable[[Path, bytes], object]


def _areas(folder: Path, data: bytes) -> object:
    from matchbench.sweep.hardware import _read_areas

    return _read_areas(_written(folder / "areas.toml", data))


_MEMBERS = ("t/meta.json", "t/bundle.mbt", "t/rank-00000.mbt", "u/meta.json", "../meta.json", "t", "/t/x")
_TYPES = b"021563"
"""A file, a link, a hard link, a directory, a FIFO and a device."""
_WHOLE = 255


@cache
def _trace() -> dict[str, bytes]:
    """Give the files of a small trace."""
    from matchbench import generate

    with tempfile.TemporaryDirectory() as name:
        generate("depth", Path(name) / "t", ranks=2, settings={"iterations": 1, "depth": 1})
        return {f"t/{file.name}": file.read_bytes() for file in (Path(name) / "t").iterdir()}


def _archive(folder: Path, data: bytes) -> object:
    """Unpack a `.tar.xz`.

    The bytes are its tar file behind a zero, since hardly any would pass the checksums of xz.
    Else they are its members: name, type, size and content. Of size 255 are the files of a trace.
    """
    import tarfile

    from matchbench.trace.trace import Trace

    stream, rest = io.BytesIO(), io.BytesIO(data[1:])
    if data[:1] == b"\0":
        stream.write(rest.read())
    else:
        with tarfile.open(fileobj=stream, mode="w") as archive:
            while len(head := rest.read(3)) == 3:
                member = tarfile.TarInfo(_MEMBERS[head[0] % len(_MEMBERS)])
                kind = head[1] % len(_TYPES)
                member.type, member.linkname = _TYPES[kind : kind + 1], "t/meta.json"
                content = _trace().get(member.name, b"") if head[2] == _WHOLE else rest.read(head[2])
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    packed = lzma.compress(stream.getvalue(), check=lzma.CHECK_NONE, preset=0)
    with Trace.open(_written(folder / "trace.tar.xz", packed)) as trace:
        return trace.meta


def _bench_csv(folder: Path, data: bytes) -> object:
    from matchbench.mpi.results import read_rows

    return read_rows(_written(folder / "rows.csv", data))


def _bench_json(folder: Path, data: bytes) -> object:
    from matchbench.mpi.results import read_rows

    return read_rows(_written(folder / "mpi-bench.json", data))


def _bench_series(folder: Path, data: bytes) -> object:
    from matchbench.mpi.bench_unfinished import _read

    return _read(_written(folder / "series", data))


def _cached(folder: Path, data: bytes) -> object:
    """Look for a result that was kept: the bytes are its JSON, with a right checksum."""
    from matchbench import MatchbenchError
    from matchbench.sweep.cache import Cache

    cache, key = Cache(folder), "k"
    packed = zlib.compress(data)
    path = cache._path(key)
    path.parent.mkdir(exist_ok=True)
    _written(path, hashlib.sha256(packed).hexdigest().encode() + packed)
    found = cache.get(key)
    if found is None:
        msg = "damaged"
        raise MatchbenchError(msg)
    return found


def _matrix(folder: Path, data: bytes) -> object:
    from matchbench.mpi import matrix

    return matrix.read_matrix(str(_written(folder / "matrix.toml", data)), allow_code=True)


def _study(folder: Path, data: bytes) -> object:
    from matchbench.sweep import study

    return study.read_study(_written(folder / "study.toml", data))


def _unit_headers(folder: Path, data: bytes) -> object:
    from matchbench.match_unit.files import read_headers

    return read_headers(_written(folder / ("headers.csv" if data[:1] == b"#" else "headers.toml"), data[1:]))


def _unit_list(folder: Path, data: bytes) -> object:
    from matchbench.match_unit.files import read_list

    return read_list(_written(folder / ("list.csv" if data[:1] == b"#" else "list.toml"), data[1:]))


def _written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


TARGETS: dict[str, Reader] = {
    "areas": _areas,
    "archive": _archive,
    "bench_csv": _bench_csv,
    "bench_json": _bench_json,
    "bench_series": _bench_series,
    "cached": _cached,
    "matrix": _matrix,
    "study": _study,
    "unit_headers": _unit_headers,
    "unit_list": _unit_list,
}
"""A reader -> what it does with bytes in a folder of its own."""


def read(target: str, folder: Path, data: bytes) -> str | None:
    """Give bytes to a reader; returns its refusal, or None. Any other exception passes."""
    from matchbench import MatchbenchError

    try:
        TARGETS[target](folder, data)
    except MatchbenchError as refusal:
        return str(refusal)
    return None


def _fuzz() -> None:
    import atheris

    target = sys.argv.pop(1)
    TARGETS[target] = atheris.instrument_func(TARGETS[target])
    # To merge a corpus, it calls itself.
    sys.argv[0] = f"{sys.executable} -m tests.fuzz_readers {target}"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with atheris.instrument_imports(include=["matchbench", "tarfile", "tomllib"]):
            read(target, folder, b"")
        atheris.Setup(sys.argv, lambda data: read(target, folder, data))
        atheris.Fuzz()


if __name__ == "__main__":
    _fuzz()
