# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Each call of the system that concerns the files of a command fails, or the command is killed there.

A command has then done its work, or says why not in one line and leaves no result. The same command, run
again, leaves all results and nothing else. `inject.c` counts the calls and lets one fail.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import struct
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from tests.abuse.case import DONE, REFUSED, Case, End, run

WHOLE = "done or refused in one line; then whole"
KILLED = "signal 9; then whole"

STATE = struct.Struct("<QQQ1024s64s64s")
"""`struct state` of `inject.c`: calls, the failing one, whether it ends the process, folder, object, hit."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command whose calls fail.

    Parameters
    ----------
    words
        Its words; the inputs are in the current folder.
    outputs
        Files and directories that it writes there.
    """

    words: str
    outputs: tuple[str, ...]


COMMANDS = (
    Command("trace check small", ()),
    Command("trace stats small.tar.xz", ()),
    Command("trace export small -o records.parquet", ("records.parquet",)),
    Command("generate depth -n 2 --depth 2 --iterations 3 -o made", ("made",)),
    Command("compare small --engine cam_list -o results", ("results",)),
    Command("compare small.tar.xz --engine cam_list -o results", ("results",)),
    Command("size small -o sizes", ("sizes",)),
    Command("sweep small --engine cam_list --set cam=1,2 -j 1 -o variants", ("variants",)),
    Command(
        "netproc run router -n 5 -o packets.json --plot packets.png",
        ("packets.json", "packets.png", "packets.svg"),
    ),
    Command("match_unit new unit", ("unit",)),
)


_GENERATE = ("generate", "depth", "-n", "2", "--depth", "2", "--iterations", "3", "-o")


@cache
def _inputs() -> Path:
    """Make a small trace, as a directory and as an archive."""
    folder = Path(tempfile.mkdtemp(prefix="abuse-inputs-"))
    with chdir(folder):
        made = run([*_GENERATE, "small"])
        assert str(made) == DONE, made.err
        with tarfile.open("small.tar.xz", "w:xz") as archive:
            archive.add("small")
    return folder


def _digests(folder: Path) -> dict[str, str]:
    """Path -> digest of all files below a folder; of links and other kinds, what they are."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            found[name] = "no file"
        elif path.is_file():
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            found[name] = "directory"
    return found


def _forget_temporary() -> None:
    """Let `tempfile` look at TMPDIR again."""
    tempfile.tempdir = None


def _injected(command: Command, folder: Path, at: int, *, ends: bool) -> tuple[End, int, str]:
    """Run a command whose call number `at` fails; give its end, the number of calls, and which one failed."""
    with tempfile.NamedTemporaryFile() as state:
        state.write(STATE.pack(0, at, ends, os.fsencode(folder), b"", b""))
        state.flush()

        def begin() -> None:
            _forget_temporary()
            assert ctypes.CDLL(None).inject_begin(os.fsencode(state.name)) == 0

        environment = {"INJECT": state.name, "TMPDIR": str(folder)}
        end = run(
            command.words.split(),
            environment=environment,
            before=begin,
        )
        count, _, _, _, _, hit = STATE.unpack(Path(state.name).read_bytes())
        return end, count, hit.rstrip(b"\0").decode()


@cache
def _whole(command: Command) -> tuple[int, dict[str, str]]:
    """Run a command without a fault, twice; give the number of its calls, and its results.

    The digest of a file that differs between the two is left out.
    """
    results = []
    calls = 0
    for _ in range(2):
        with tempfile.TemporaryDirectory(prefix="abuse-") as name:
            folder = Path(name)
            before = _prepared(folder)
            with chdir(folder):
                end, calls, _ = _injected(command, folder, 0, ends=False)
            assert str(end) == DONE, f"{command.words}: {end}: {end.err}"
            results.append({path: digest for path, digest in _digests(folder).items() if path not in before})
    first, second = results
    assert first.keys() == second.keys()
    return calls, {path: digest if second[path] == digest else "" for path, digest in first.items()}


def _prepared(folder: Path) -> dict[str, str]:
    shutil.copytree(_inputs(), folder, dirs_exist_ok=True)
    return _digests(folder)


def _again(command: Command, folder: Path, *more: str) -> End:
    """Run a command without a fault."""
    return run(
        [*command.words.split(), *more],
        environment={"TMPDIR": str(folder)},
        before=_forget_temporary,
    )


def _find(command: Command, at: int, ends: bool, folder: Path) -> str:
    before = _prepared(folder)
    _, whole = _whole(command)
    end, _, hit = _injected(command, folder, at, ends=ends)
    told = str(end)
    wrong = _differences(before, whole, folder)
    if told == DONE:
        # What could not be removed is left to the next run.
        if wrong and not wrong.startswith("more:"):
            return f"{hit}: {told}, but {wrong}"
    elif told != ("signal 9" if ends else REFUSED):
        return f"{hit}: {told}: {end.err[-200:]}"
    elif not ends:
        left = [name for name in command.outputs if (folder / name).exists()]
        if left:
            return f"{hit}: {told}, but it leaves {', '.join(left)}"
    if wrong:
        for name in {path.name for path in folder.iterdir()} - before.keys() - set(command.outputs):
            os.utime(folder / name, (0, 0))  # temporary directories are removed when they are older
        again = _again(command, folder)
        if str(again) == REFUSED and "--force" in again.err and (ends or told == DONE):
            # It ended behind its last rename, or between those of several files.
            again = _again(command, folder, "--force")
        if str(again) != DONE:
            return f"{hit}: {told}; the next run: {again}: {again.err[-200:]}"
        wrong = _differences(before, whole, folder)
        if wrong:
            return f"{hit}: {told}; after the next run {wrong}"
    return KILLED if ends else WHOLE


def _differences(before: dict[str, str], whole: dict[str, str], folder: Path) -> str:
    """Say what a folder has too much or too little; empty if it is as after a run without a fault."""
    found = {path: digest for path, digest in _digests(folder).items() if path not in before}
    more = sorted(found.keys() - whole.keys())
    less = sorted(whole.keys() - found.keys())
    other = sorted(path for path, digest in whole.items() if digest and found.get(path, digest) != digest)
    said = [
        f"{what} {', '.join(paths[:3])}"
        for what, paths in (("more:", more), ("missing:", less), ("other:", other))
        if paths
    ]
    return "; ".join(said)


@cache
def library() -> Path:
    """Compile what is preloaded."""
    made = Path(tempfile.mkdtemp(prefix="abuse-inject-")) / "inject.so"
    source = Path(__file__).with_name("inject.c")
    words = [
        "cc",
        "-shared",
        "-fPIC",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-o",
        str(made),
        str(source),
        "-ldl",
    ]
    subprocess.run(words, check=True, timeout=60)
    return made


def cases() -> Iterator[Case]:
    """Give a case for each call of each command, once failing and once ending the process."""
    for command in COMMANDS:
        calls, _ = _whole(command)
        for at in range(1, calls + 1):
            for ends in (False, True):
                what = f"{command.words}: call {at} of {calls} {'ends the process' if ends else 'fails'}"
                yield Case(what, KILLED if ends else WHOLE, partial(_find, command, at, ends))
