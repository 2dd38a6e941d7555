# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Each call of the system that concerns the files of a command fails, or the command is killed there.

A command has then done its work, or says why not in one line and leaves no half result. The same command, run
again, leaves all results and nothing else. `inject.c` counts the calls and lets one fail.
Some of the requests for memory of the compiled module fail too: it may abort then, as if it were killed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import chdir
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from tests.abuse.case import DONE, REFUSED, Case, End, run
from tests.abuse.state import State
from tests.shared import ROOT

WHOLE = "done or refused in one line; then whole"
KILLED = "signal 9; then whole"

ABORTED = "done, refused in one line, or aborted; then whole"
_PROBE = re.compile(r"[a-z0-9_]{8}")
"""What Python's `tempfile` leaves when it is killed while it looks whether a directory can be written."""
_ALLOCATIONS = 12
"""Requests for memory of each command that fail, spread over all of them."""


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
    Command("netproc run router -n 5 -o packets --plots", ("packets",)),
    Command("match_unit new unit", ("unit",)),
    Command(
        "chip run -n 2 --memory 64 --cores 4 --quiet --mode timing --core scalar -o chip.json"
        " --timeline chip.timeline --kanata 10:20 --kanata-file chip.kanata kernel.elf pages",
        ("chip.json", "chip.timeline", "chip.kanata"),
    ),
    Command("cpu run --core ppc440 --kanata 10:20 --kanata-file core.kanata md5.elf", ("core.kanata",)),
)


_GENERATE = ("generate", "depth", "-n", "2", "--depth", "2", "--iterations", "3", "-o")


@cache
def _inputs() -> Path:
    """Make a small trace, as a directory and as an archive, and copy programs."""
    folder = Path(tempfile.mkdtemp(prefix="abuse-inputs-"))
    shutil.copy(ROOT / "moped" / "elf" / "kernel_moped.rv64.elf", folder / "kernel.elf")
    shutil.copy(ROOT / "processor" / "firmware" / "elf" / "md5.rv64.elf", folder / "md5.elf")
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


@dataclass(frozen=True, slots=True)
class Fault:
    """What fails.

    Parameters
    ----------
    at
        Number of the call; 0: none.
    ends
        Whether it ends the process instead.
    is_of_memory
        Whether requests for memory of the compiled module are counted, and not calls of the system.
    """

    at: int
    ends: bool = False
    is_of_memory: bool = False


def _injected(command: Command, folder: Path, fault: Fault) -> tuple[End, State]:
    """Run a command with a fault."""
    concerned, of = ("/nowhere", "_native") if fault.is_of_memory else (folder, "")
    with State(concerned, fault.at, ends=fault.ends, of=of) as state:

        def begin() -> None:
            _forget_temporary()
            state.begin()

        end = run(
            command.words.split(),
            environment={"INJECT": state.path, "TMPDIR": str(folder)},
            before=begin,
        )
        return end, state.read()


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
                end, state = _injected(command, folder, Fault(0))
            calls = state.calls
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


def _find(command: Command, fault: Fault, folder: Path) -> str:
    before = _prepared(folder)
    _, whole = _whole(command)
    end, state = _injected(command, folder, fault)
    hit, told = state.hit, str(end)
    is_ended = told == ("signal 6" if fault.is_of_memory else "signal 9")
    wrong = _differences(before, whole, folder)
    if told == DONE:
        # What could not be removed is left to the next run.
        if wrong and not wrong.startswith("more:"):
            return f"{hit}: {told}, but {wrong}"
    elif not (is_ended and (fault.ends or fault.is_of_memory)) and (fault.ends or told != REFUSED):
        return f"{hit}: {told}: {end.err[-200:]}"
    elif not is_ended:
        left = [name for name in command.outputs if (folder / name).exists()]
        if left and wrong:  # what is whole is no half result, though the command did not end as it should
            return f"{hit}: {told}, but it leaves {', '.join(left)}: {wrong}"
    if wrong:
        for name in {path.name for path in folder.iterdir()} - before.keys() - set(command.outputs):
            os.utime(folder / name, (0, 0))  # temporary directories are removed when they are older
        again = _again(command, folder)
        if str(again) == REFUSED and "--force" in again.err and (is_ended or told == DONE):
            # It ended behind its last rename, or between those of several files.
            again = _again(command, folder, "--force")
        if str(again) != DONE:
            return f"{hit}: {told}; the next run: {again}: {again.err[-200:]}"
        wrong = _differences(before, whole, folder)
        if wrong:
            return f"{hit}: {told}; after the next run {wrong}"
    return ABORTED if fault.is_of_memory else KILLED if fault.ends else WHOLE


def _differences(before: dict[str, str], whole: dict[str, str], folder: Path) -> str:
    """Say what a folder has too much or too little; empty if it is as after a run without a fault."""
    found = {path: digest for path, digest in _digests(folder).items() if path not in before}
    more = sorted(path for path in found.keys() - whole.keys() if not _PROBE.fullmatch(path))
    less = sorted(whole.keys() - found.keys())
    other = sorted(path for path, digest in whole.items() if digest and found.get(path, digest) != digest)
    said = [
        f"{what} {', '.join(paths[:3])}"
        for what, paths in (("more:", more), ("missing:", less), ("other:", other))
        if paths
    ]
    return "; ".join(said)


@cache
def _allocations(command: Command) -> int:
    """Run a command without a fault; give the number of its requests for memory."""
    with tempfile.TemporaryDirectory(prefix="abuse-") as name, chdir(name):
        _prepared(Path(name))
        end, state = _injected(command, Path(name), Fault(0, is_of_memory=True))
    assert str(end) == DONE, f"{command.words}: {end}: {end.err}"
    return state.calls


def cases() -> Iterator[Case]:
    """Give a case for each call of each command, once failing and once ending the process."""
    for command in COMMANDS:
        calls, _ = _whole(command)
        for at in range(1, calls + 1):
            for ends in (False, True):
                what = f"{command.words}: call {at} of {calls} {'ends the process' if ends else 'fails'}"
                yield Case(what, KILLED if ends else WHOLE, partial(_find, command, Fault(at, ends=ends)))
        requests = _allocations(command)
        for part in range(min(_ALLOCATIONS, requests)):
            at = 1 + part * requests // _ALLOCATIONS
            what = f"{command.words}: request {at} of {requests} for memory fails"
            yield Case(what, ABORTED, partial(_find, command, Fault(at, is_of_memory=True)))
