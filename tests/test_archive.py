# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Packed traces: good ones open like directories, hostile ones are refused and leave nothing behind."""

import io
import lzma
import shutil
import tarfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import matchbench as mb
from matchbench.trace.archive import unpack


def pack(path: Path, members: list[tuple[tarfile.TarInfo, bytes]]) -> Path:
    """Pack members as they are given, however wrong."""
    with tarfile.open(path, "w:xz", format=tarfile.PAX_FORMAT) as archive:
        for member, content in members:
            archive.addfile(member, io.BytesIO(content))
    return path


def file(name: str, content: bytes = b"") -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    return member, content


def special(name: str, kind: bytes, target: str = "") -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.type = kind
    member.linkname = target
    return member, b""


def refusal(path: Path, into: Path, limit_bytes: int = 1 << 30) -> str:
    """Unpack what must be refused; return the reason, and see that nothing was written elsewhere."""
    inside = into / "inside"
    inside.mkdir()
    with pytest.raises(mb.MatchbenchError) as error:
        unpack(path, inside, limit_bytes=limit_bytes)
    assert {entry.name for entry in into.iterdir()} <= {"inside", path.name}
    prefix = f"{path}: not a packed trace: "
    assert str(error.value).startswith(prefix)
    return str(error.value).removeprefix(prefix)


def test_a_packed_trace_is_the_trace(halo: mb.Trace, tmp_path: Path) -> None:
    packed = tmp_path / "halo.tar.xz"
    with tarfile.open(packed, "w:xz") as archive:
        archive.add(halo.path, "halo")
    with mb.Trace.open(packed) as trace:
        assert (trace.name, trace.hash, trace.records) == ("halo", halo.hash, halo.records)
        assert trace.stats().total == halo.stats().total
        unpacked = trace.directory
    assert not unpacked.exists()


@pytest.mark.parametrize(
    "name",
    [
        "../meta.json",
        "/etc/meta.json",
        "t/../../meta.json",
        "t/sub/meta.json",
        "t/run.sh",
        "meta.json",
        "t/rank-1.mbt",
    ],
)
def test_a_path_outside_a_trace_is_refused(tmp_path: Path, name: str) -> None:
    path = pack(tmp_path / "x.tar.xz", [file("t/meta.json", b"{}"), file(name, b"x")])
    assert refusal(path, tmp_path) == f"found the member `{name}`, expected the files of one trace"


@pytest.mark.parametrize("name", ["../meta.json", "/meta.json"])
def test_a_first_member_above_the_directory_is_refused(tmp_path: Path, name: str) -> None:
    path = pack(tmp_path / "x.tar.xz", [file(name, b"{}")])
    assert refusal(path, tmp_path) == f"found the member `{name}`, expected the files of one trace"


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_a_member_that_is_not_a_regular_file_is_refused(tmp_path: Path, kind: bytes) -> None:
    path = pack(tmp_path / "x.tar.xz", [special("t/meta.json", kind, "/etc/passwd")])
    assert refusal(path, tmp_path) == "found the member `t/meta.json`, expected the files of one trace"


def test_two_directories_are_refused(tmp_path: Path) -> None:
    path = pack(tmp_path / "x.tar.xz", [file("t/meta.json", b"{}"), file("u/meta.json", b"{}")])
    assert refusal(path, tmp_path) == "found the member `u/meta.json`, expected the files of one trace"


def test_more_bytes_than_allowed_are_refused_before_they_are_written(tmp_path: Path) -> None:
    path = pack(tmp_path / "x.tar.xz", [file("t/bundle.mbt", bytes(2000))])
    assert (
        refusal(path, tmp_path, limit_bytes=1999)
        == "found files of more than 1999 bytes, expected at most this size"
    )
    assert list((tmp_path / "inside").iterdir()) == []


def test_a_header_that_would_exhaust_memory_is_refused(tmp_path: Path) -> None:
    member = tarfile.TarInfo("t/meta.json")
    member.pax_headers = {"comment": "x" * (8 << 20)}
    path = pack(tmp_path / "x.tar.xz", [(member, b"")])
    assert refusal(path, tmp_path) == "found a header above 4 MiB, expected the headers of a trace"


def test_a_sparse_file_of_a_million_terabytes_is_refused(tmp_path: Path) -> None:
    member = tarfile.TarInfo("t/bundle.mbt")
    member.pax_headers = {"GNU.sparse.major": "0", "GNU.sparse.size": str(1 << 60), "GNU.sparse.map": "0,0"}
    path = pack(tmp_path / "x.tar.xz", [(member, b"")])
    assert refusal(path, tmp_path) == "found the member `t/bundle.mbt`, expected the files of one trace"


def test_a_file_longer_than_its_header_says_is_refused_before_it_is_unpacked(
    halo: mb.Trace, tmp_path: Path
) -> None:
    bundle = halo.directory / "bundle.mbt"
    length = bundle.stat().st_size
    content = bundle.read_bytes() + bytes(10 << 20)
    path = pack(tmp_path / "x.tar.xz", [file("t/bundle.mbt", content)])
    expected = f"bundle.mbt: found a file of {len(content)} bytes, expected {length} by its header"
    assert refusal(path, tmp_path) == expected
    assert sum(each.stat().st_size for each in (tmp_path / "inside" / "t").iterdir()) == 0


@pytest.mark.parametrize("content", [b"x" * 63, b"x" * 64, b"x" * (10 << 20)])
def test_a_file_without_a_header_is_refused_before_it_is_unpacked(tmp_path: Path, content: bytes) -> None:
    path = pack(tmp_path / "x.tar.xz", [file("t/rank-00000.mbt", content)])
    assert refusal(path, tmp_path).startswith("rank-00000.mbt: f")
    assert sum(each.stat().st_size for each in (tmp_path / "inside" / "t").iterdir()) == 0


def test_a_file_larger_than_the_disk_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = pack(tmp_path / "x.tar.xz", [file("t/bundle.mbt", bytes(2000))])
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1999))
    inside = tmp_path / "inside"
    inside.mkdir()
    with pytest.raises(mb.MatchbenchError) as error:
        unpack(path, inside)
    found = f"{path}: member `t/bundle.mbt` needs 2000 bytes, found 1999 free in {inside}; "
    assert str(error.value).startswith(found)


def test_an_empty_archive_is_refused(tmp_path: Path) -> None:
    assert refusal(pack(tmp_path / "x.tar.xz", []), tmp_path) == "the archive is empty"


def test_a_truncated_archive_is_refused(halo: mb.Trace, tmp_path: Path) -> None:
    whole = tmp_path / "whole.tar.xz"
    with tarfile.open(whole, "w:xz") as archive:
        archive.add(halo.path, "halo")
    cut = tmp_path / "sub" / "x.tar.xz"
    cut.parent.mkdir()
    cut.write_bytes(whole.read_bytes()[:-1000])
    assert refusal(cut, cut.parent) == "found the end of the file, expected more packed data"


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=2000), packed=st.booleans())
def test_random_bytes_are_refused_without_a_traceback(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, packed: bool
) -> None:
    directory = tmp_path_factory.mktemp("rubbish")
    path = directory / "x.tar.xz"
    path.write_bytes(lzma.compress(content) if packed else content)
    with pytest.raises(mb.MatchbenchError):
        mb.Trace.open(path)
