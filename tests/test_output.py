# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Outputs: one writer at a time, errors that name the file, and traces and directories of any name."""

import os
import resource
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

import matchbench as mb
from matchbench.display.output import reserved_directory, whole_directory, whole_file
from matchbench.display.tables import printable
from tests.conftest import Command

BAD_INPUT = 2
ODD = os.fsdecode(b'a$b$ <i>&\xff\x1b[31m\xf0\x9f\x98\x80\n"q')
"""A name with bytes that are not UTF-8, control characters, markup, formulas and quotes."""


def test_a_directory_has_one_writer(halo: mb.Trace, tmp_path: Path, matchbench: Command) -> None:
    with reserved_directory(tmp_path / "r", marker="results.json"):
        done = matchbench("compare", halo.path, "-e", "ideal", "-o", "r")
        message = "r: another process is writing to it; wait until it ends or choose another directory"
        assert (done.returncode, done.stdout, done.stderr) == (BAD_INPUT, "", f"matchbench: {message}\n")
    assert list(tmp_path.iterdir()) == []
    assert matchbench("compare", halo.path, "-e", "ideal", "--table-only", "-o", "r").returncode == 0
    assert [entry.name for entry in tmp_path.iterdir()] == ["r"]


def test_a_killed_writer_does_not_block_others(tmp_path: Path) -> None:
    code = (
        "import os, pathlib, sys; from matchbench.display.output import whole_directory; "
        "held = whole_directory(pathlib.Path(sys.argv[1]), marker='m'); held.__enter__(); "
        "os.kill(os.getpid(), 9)"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(tmp_path / "r")], check=False)
    assert killed.returncode == -9
    assert (tmp_path / ".r.lock").exists()
    with whole_directory(tmp_path / "r", marker="m") as partial:
        (partial / "m").touch()
    assert (tmp_path / "r" / "m").exists()


@pytest.mark.parametrize("is_there", [False, True])
def test_files_of_one_command_are_all_in_their_places_or_none(tmp_path: Path, is_there: bool) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    if is_there:
        one.write_text("earlier")
    before = sorted(path.name for path in tmp_path.iterdir())

    def write() -> None:
        with whole_file(other, force=True) as late, whole_file(one, force=True) as early:
            early.write_text("new")
            late.unlink()  # its rename fails, behind that of the other one

    with pytest.raises(OSError, match="No such file"):
        write()
    assert not is_there or one.read_text() == "earlier"
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_a_directory_made_for_a_reservation_is_removed(tmp_path: Path) -> None:
    with reserved_directory(tmp_path / "a" / "b" / "r", marker="m"):
        assert (tmp_path / "a" / "b").exists()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("kib", "words", "file"),
    [
        (0, ("compare", "{trace}", "-e", "ideal", "-o", "r"), "r/results.csv"),
        (6, ("compare", "{trace}", "-e", "ideal", "-o", "r"), "r/results.parquet"),
        (40, ("compare", "{trace}", "-e", "ideal", "-o", "r"), "r/timeline.csv"),
        (0, ("trace", "export", "{trace}", "-o", "r.parquet"), "r.parquet"),
        (1, ("generate", "depth", "-n", "2", "-o", "r"), "r/bundle.mbt"),
        (0, ("reproduce", "tanabe2013", "-o", "r"), "r/counts.csv"),
    ],
)
def test_an_error_of_a_write_names_the_file(
    halo: mb.Trace, tmp_path: Path, kib: int, words: tuple[str, ...], file: str
) -> None:
    """A limit on the size of files stands for a full disk; both fail in the middle of a file."""
    command = [sys.executable, "-m", "matchbench", *(word.format(trace=halo.path) for word in words)]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (kib << 10, kib << 10)),
    )
    assert done.returncode == BAD_INPUT
    assert done.stderr.removesuffix(" (os error 27)\n").rstrip() == f"matchbench: {file}: File too large"
    assert list(tmp_path.iterdir()) == []


def test_a_file_elsewhere_keeps_its_name_in_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as error, whole_file(tmp_path / "mine"):
        (tmp_path / "other").read_bytes()
    assert error.value.filename == str(tmp_path / "other")


def test_odd_names_are_read_written_and_shown(halo: mb.Trace, tmp_path: Path, matchbench: Command) -> None:
    trace = tmp_path / ODD
    trace.symlink_to(halo.directory)
    with tarfile.open(f"{trace}.tar.xz", "w:xz") as archive:
        archive.add(halo.directory, ODD)
    name = r'a$b$ <i>&\xff\x1b[31m😀\x0a"q'
    assert printable(ODD) == name
    done = matchbench("trace", "check", ODD, f"{ODD}.tar.xz")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count(f"{name}: 8 ranks") == 2
    done = matchbench("compare", ODD, "-e", "ideal", "--plots", "-o", f"{ODD}.r", PYTHONUTF8="1")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"\n{name}: 8 ranks" in done.stdout
    plots = [plot.name for plot in (tmp_path / f"{ODD}.r" / "plots").iterdir()]
    assert f"{name}.queues.png" in plots
    assert "<i>&" not in (tmp_path / f"{ODD}.r" / "report.html").read_text(encoding="utf-8")
    done = matchbench("trace", "export", ODD, "-o", f"{ODD}.parquet")
    assert (done.returncode, done.stderr) == (0, "")
    done = matchbench("generate", "depth", "-n", "2", "-o", f"{ODD}.new")
    assert (done.returncode, done.stderr) == (0, "")
    done = matchbench("trace", "info", f"{ODD}.none", PYTHONIOENCODING="ascii:strict")
    shown = r'a$b$ <i>&\xff\x1b[31m\U0001f600 "q.none'
    assert done.returncode == BAD_INPUT
    assert (
        done.stderr
        == f"matchbench: {shown}: found no such file, expected a trace's directory or NAME.tar.xz; "
        "check the path\n"
    )
