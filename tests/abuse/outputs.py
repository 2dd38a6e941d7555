# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Every parameter that names an output is given a place where something is: nothing else may change."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import matchbench as mb
from tests.abuse.case import DONE, REFUSED, Case, End, run
from tests.abuse.command_tree import parameters
from tests.conftest import make_fake_mpi
from tests.shared import ROOT

_EXAMPLES = ROOT / "match_unit" / "examples"
_UNIT = f"portals_hemmert2007 --list {_EXAMPLES}/list.toml --headers {_EXAMPLES}/headers.toml"
_MD5 = ROOT / "processor" / "firmware" / "elf" / "md5.rv64.elf"
_CHIP = "chip run + -n 2 --memory 64 --cores 4"
_TIMED = f"{_CHIP} --mode timing --core scalar"
_MOPED = f"{ROOT}/moped/elf/kernel_moped.rv64.elf pages"
_HANDLER = "enum fate handle(struct packet *p) { return FORWARD; }"


@dataclass(frozen=True, slots=True)
class Output:
    """A parameter that names an output.

    Parameters
    ----------
    words
        The words of a command: `@` is the output, `d` a trace, `+` the place of other options, if it is not
        the end.
    name
        The name of the output.
    is_directory
        Whether it is a directory.
    """

    words: str
    name: str
    is_directory: bool = False


def _directory(words: str) -> Output:
    return Output(words, "out", is_directory=True)


OUTPUTS: dict[tuple[str, str], Output] = {
    ("compare", "--output"): _directory("compare d -e ideal --table-only -o @"),
    ("sweep", "--output"): _directory("sweep d -e cam_list --set cam=4 -j 1 --no-cache --table-only -o @"),
    ("size", "--output"): _directory("size d --no-costs --table-only -o @"),
    ("reproduce", "--output"): _directory("reproduce tanabe2013 -o @"),
    ("engine new", "--output"): _directory("engine new my_nic --c -o @"),
    ("generate depth", "--output"): _directory("generate depth -n 2 --iterations 2 -o @"),
    ("trace export", "--output"): Output("trace export d -o @", "a.parquet"),
    ("mpi bench", "--output"): _directory(
        "mpi bench + --mpicc fake/bin/mpicc --depths 0,4 --repetitions 2 --table-only -o @ -- fake/bin/mpirun"
    ),
    ("chip run", "--output"): Output(f"{_CHIP} -o @ {_MOPED}", "a.json"),
    ("chip run", "--timeline"): Output(f"{_TIMED} --timeline @ {_MOPED}", "a.json"),
    ("chip run", "--kanata-file"): Output(f"{_TIMED} --kanata 10:20 --kanata-file @ {_MOPED}", "a.kanata"),
    ("netproc compare", "--output"): _directory("netproc compare null -a smt1 --packets 9 --table-only -o @"),
    ("netproc generate", "--output"): Output("netproc generate --packets 9 -o @", "a.pcap"),
    ("netproc run", "--output"): _directory("netproc run null --packets 9 --table-only -o @"),
    ("netproc run", "--kanata-file"): Output(
        "netproc run null --packets 9 --kanata 10:20 --kanata-file @", "a.kanata"
    ),
    ("cpu run", "--kanata-file"): Output(
        f"cpu run + --core ppc440 --kanata 10:20 --kanata-file @ {_MD5}", "a.kanata"
    ),
    ("match_unit asm", "--output"): Output(f"match_unit asm {_EXAMPLES}/first.mb -o @", "a.img"),
    ("match_unit new", "PATH"): Output("match_unit new @", "a.mb"),
    ("match_unit run", "--output"): Output(f"match_unit run {_UNIT} -o @", "a.json"),
    ("match_unit trace", "--kanata-file"): Output(
        f"match_unit trace {_UNIT} --no-listing --kanata-file @", "a.kanata"
    ),
    ("match_unit trace", "--vcd-file"): Output(
        f"match_unit trace {_UNIT} --no-listing --vcd-file @", "a.vcd"
    ),
}
"""Parameter -> how it is tried."""

ELSEWHERE = {
    ("chip run", "--trace"): "needs a program with the recorder; `record` and it write no directory anew",
    ("mpi conform", "--output"): "needs an MPI; tests/test_mpi_conform.py",
    ("netproc build", "--output"): "needs a compiler for RV64; the same call as `netproc generate`",
    ("record", "--output"): "needs an MPI; it adds to an empty directory and replaces nothing",
}
"""Parameters that have no cases here, and why."""

_NAMES = {"--output", "--timeline", "--kanata-file", "--vcd-file", "--trace"}
_CONTINUED = ".unfinished"
"""The end of the names of files by which the next run of `mpi bench` continues."""
_KILLS = (0.3, 0.8)  # parts of the time of a run
_DISKS = (8, 64)  # KiB


def cases() -> Iterator[Case]:
    """Give each output each state of its place."""
    yield Case("every parameter that names an output has cases or a reason", "none lacks", _lacking)
    for (command, parameter), output in OUTPUTS.items():
        name = f"{command}, {parameter}"
        states = {**_STATES, **(_OF_DIRECTORIES if output.is_directory else _OF_FILES)}
        for what, (expected, find) in states.items():
            yield Case(f"{name}: {what}", expected, _bound(find, output))


def _bound(find: Callable[[Place], str], output: Output) -> Callable[[Path], str]:
    return lambda folder: find(Place(folder, output))


def _lacking(_folder: Path) -> str:
    known = OUTPUTS | ELSEWHERE
    lacking = [
        f"{words} {name}"
        for words, name in parameters()
        if name in _NAMES and (words, name) not in known and not words.startswith("generate ")
    ]
    return ", ".join(lacking) or "none lacks"


class Place:
    """The place of an output in a folder, and what is around it."""

    def __init__(self, folder: Path, output: Output) -> None:
        self.folder = folder
        self.output = output
        self.path = folder / output.name
        if "fake/" in output.words:
            make_fake_mpi(folder)
        if " d " in output.words:
            mb.generate("depth", folder / "d", ranks=2, settings={"iterations": 2, "depth": 4})
        self.before = self.contents()

    def run(self, *more: str, at: str = "", before: Callable[[], None] | None = None) -> End:
        """Run the command."""
        words = [at or self.output.name if word == "@" else word for word in self.output.words.split()]
        place = words.index("+") if "+" in words else len(words)
        return run([*words[:place], *more, *words[place + 1 :]], before=before)

    def contents(self, below: Path | None = None) -> dict[str, object]:
        """Describe everything in the folder without following links."""
        found: dict[str, object] = {}
        for path in sorted((below or self.folder).rglob("*")):
            name = str(path.relative_to(self.folder))
            if path.is_symlink():
                found[name] = str(path.readlink())
            else:
                found[name] = path.read_bytes() if path.is_file() else path.lstat().st_mode
        return found

    def new(self) -> list[str]:
        """Name what is in the folder now, and was not at the begin; of a directory its name alone."""
        return sorted({name.split("/")[0] for name in self.contents()} - set(self.before))

    def refused(self, end: End) -> str:
        """Describe an end, and whether something changed."""
        changed = {name for name, what in self.contents().items() if self.before.get(name) != what}
        changed |= set(self.before) - set(self.contents())
        return f"{end}; changed: {', '.join(sorted(changed)) or 'nothing'}"

    def done(self, end: End) -> str:
        """Describe an end, and what was left beside the outputs."""
        left = [name for name in self.new() if name.startswith(".") or not name.startswith(self.output.name)]
        there = "" if self.path.exists() else "; no output"
        return f"{end}{there}; left: {', '.join(left) or 'nothing'}"


_REFUSED = f"{REFUSED}; changed: nothing"
_DONE = f"{DONE}; left: nothing"


def _in_the_way(make: Callable[[Path], object]) -> tuple[str, Callable[[Place], str]]:
    def find(place: Place) -> str:
        make(place.path)
        place.before = place.contents()
        return place.refused(place.run("--force"))

    return _REFUSED, find


def _plain(place: Place) -> str:
    return place.done(place.run())


def _twice(place: Place) -> str:
    place.run()
    place.before = place.contents()
    return place.refused(place.run())


def _replaced(place: Place) -> str:
    place.run()
    return place.done(place.run("--force"))


def _left_behind(place: Place) -> str:
    left = place.folder / f".{place.output.name}.partial-4194303"  # above the numbers of processes
    if place.output.is_directory:
        left.mkdir()
        (left / "half").touch()
    else:
        left.touch()
    end = place.run()
    said = "; it says so" if left.name in end.err else ""
    return place.done(end) + said


def _planted(kind: str) -> Callable[[Place], str]:
    def find(place: Place) -> str:
        (place.folder / "victim").write_text("mine")

        def plant() -> None:
            number = f"-{os.getpid()}" if kind == "partial" else ""
            (place.folder / f".{place.output.name}.{kind}{number}").symlink_to("victim")

        end = place.run(before=plant)
        return f"{end}; {(place.folder / 'victim').read_text()}"

    return find


def _unwritable(place: Place) -> str:
    return place.refused(place.run(at=f"/proc/none/{place.output.name}"))


def _full(place: Place) -> str:
    """Run on small disks, or where a mount is not allowed with a limit on the size of files."""
    ends = []
    for kib in _DISKS:
        disk = place.folder / f"disk{kib}"
        disk.mkdir()
        is_mounted = _mounted(disk, kib)

        def limit(kib: int = kib) -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (kib << 10, kib << 10))

        end = place.run(at=str(disk / place.output.name), before=None if is_mounted else limit)
        left = [path.name for path in disk.iterdir() if not path.name.endswith(_CONTINUED)]
        if is_mounted:
            ctypes.CDLL(None).umount(os.fsencode(disk))
        if str(end) == REFUSED and left:
            ends.append(f"{kib} KiB: refused, and left {', '.join(left)}")
        elif str(end) not in {REFUSED, DONE} or any(name.startswith(".") for name in left):
            ends.append(f"{kib} KiB: {end}: {end.err}")
    return "; ".join(ends) or "all or nothing"


_NEW_NAMESPACE = 0x20000  # CLONE_NEWNS
_PRIVATE = 0x44000  # MS_REC | MS_PRIVATE


def _mounted(disk: Path, kib: int) -> bool:
    libc = ctypes.CDLL(None)
    if libc.unshare(_NEW_NAMESPACE) or libc.mount(b"none", b"/", None, _PRIVATE, None):
        return False
    failed: int = libc.mount(b"none", os.fsencode(disk), b"tmpfs", 0, f"size={kib}k".encode())
    return failed == 0


def _killed(place: Place) -> str:
    """End runs without warning, then run to the end."""
    ends = []
    whole = _time_of(place)
    for part in _KILLS:
        seconds = part * whole
        place.run("--force", before=partial(_ended_after, seconds))
        found = place.done(place.run("--force"))
        if found != _DONE:
            ends.append(f"after {seconds:.2f} s: {found}")
    return "; ".join(ends) or _DONE


def _time_of(place: Place) -> float:
    begin = time.monotonic()
    place.run("--force")
    return time.monotonic() - begin


def _ended_after(seconds: float) -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _through_a_link(place: Place) -> str:
    target = place.folder / "scratch"
    target.mkdir()
    place.path.symlink_to("scratch")
    ends = [place.run(), place.run("--force")]
    kept = place.path.is_symlink() and any(target.iterdir())
    left = set(place.new()) - {"scratch", place.output.name}
    return f"{ends[0]}, {ends[1]}; {'link kept' if kept else 'link lost'}; left: {left or 'nothing'}"


def _beside_mine(make: Callable[[Path], object]) -> tuple[str, Callable[[Place], str]]:
    def find(place: Place) -> str:
        place.run()
        make(place.path)
        place.before = place.contents()
        return place.refused(place.run("--force"))

    return _REFUSED, find


def _with_digests(place: Place) -> str:
    place.run()
    if "generate" in place.output.words:  # a trace has no list of files
        return _REFUSED
    _changed(place.path)
    place.before = place.contents()
    return place.refused(place.run("--force"))


def _changed(directory: Path) -> None:
    file = min(path for path in directory.iterdir() if not path.name.startswith("."))
    content = file.read_bytes()
    file.write_bytes(bytes([content[0] ^ 1]) + content[1:])


def _other_directory(path: Path) -> None:
    path.mkdir()
    (path / "thesis.tex").write_text("mine")


def _listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(path.name)  # the path of a socket has at most 108 bytes


def _link_to_mine(path: Path) -> None:
    (path.parent / "thesis.tex").write_text("mine")
    path.symlink_to("thesis.tex")


_STATES: dict[str, tuple[str, Callable[[Place], str]]] = {
    "nothing there": (_DONE, _plain),
    "twice": (_REFUSED, _twice),
    "twice with --force": (_DONE, _replaced),
    "a FIFO with --force": _in_the_way(os.mkfifo),
    "a socket with --force": _in_the_way(_listening),
    "a link to a device with --force": _in_the_way(lambda path: path.symlink_to("/dev/null")),
    "a link to nothing with --force": _in_the_way(lambda path: path.symlink_to("none")),
    "a link to itself with --force": _in_the_way(lambda path: path.symlink_to(path.name)),
    "what an ended process left": (f"{_DONE}; it says so", _left_behind),
    "a link under the temporary name": (f"{REFUSED}; mine", _planted("partial")),
    "a directory that cannot be written": (_REFUSED, _unwritable),
    "small disks": ("all or nothing", _full),
    "killed and run again": (_DONE, _killed),
}
_OF_DIRECTORIES: dict[str, tuple[str, Callable[[Place], str]]] = {
    "a link to a directory": (f"{DONE}, {DONE}; link kept; left: nothing", _through_a_link),
    "a file with --force": _in_the_way(lambda path: path.write_text("mine")),
    "another directory with --force": _in_the_way(_other_directory),
    "my file in it with --force": _beside_mine(lambda path: (path / "mine").write_text("mine")),
    "my folder in it with --force": _beside_mine(lambda path: (path / "mine").mkdir()),
    "my link in it with --force": _beside_mine(lambda path: (path / "mine").symlink_to("/etc")),
    "a bit of a file in it changed with --force": (_REFUSED, _with_digests),
    "a FIFO in it with --force": _beside_mine(lambda path: os.mkfifo(path / "mine")),
    "a link under the name of the lock": (f"{REFUSED}; mine", _planted("lock")),
}
_OF_FILES: dict[str, tuple[str, Callable[[Place], str]]] = {
    "a directory with --force": _in_the_way(Path.mkdir),
    "a link to my file with --force": _in_the_way(_link_to_mine),
}
