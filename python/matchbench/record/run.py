# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Starts an MPI program with the recorder in every rank, and reports what was recorded.

`recorder/docs/recorder.md` specifies the environment that the ranks need. The ranks write the trace
themselves, so that it stays readable after a crash.
"""

import datetime as dt
import fcntl
import json
import os
import secrets
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType

from matchbench import _native, shipped
from matchbench._native import MatchbenchError
from matchbench.arguments import PATH, TEXT, checked, sequence
from matchbench.display import tables
from matchbench.display.output import make_directory, remove_empty, write_file
from matchbench.input import read_bytes
from matchbench.native_types import TraceState
from matchbench.record import elf
from matchbench.record.launchers import PRELOAD, joined, launch_command, launcher_flavour
from matchbench.trace import shortfalls

WAIT_SECONDS = 10
"""Most that ranks may take to end after their launcher."""

_LIBRARY = "recorder/build/libmbrecord.so"
_HEADER = struct.Struct("<8sHHIIIIIQQQQ")  # spec/trace.md, section 3
_MAGIC = b"MBTRACE\x01"
_NOTES = "notes.tmp"  # recorder/docs/recorder.md
_REASON = "refused.tmp"
_LOADED, _PLACED, _SPAWNED, _REFUSED = b"lmsx"
_PAGE = "recorder/docs/recorder.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class RankFile:
    """The file of one rank.

    Parameters
    ----------
    rank
        World rank.
    world
        Ranks in the world, by this rank's header.
    still_runs
        Whether its process had not ended when the launcher had.
    """

    rank: int
    world: int
    still_runs: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """The result of a recorded run.

    Parameters
    ----------
    directory
        The trace.
    exit_status
        That of the command; 128 plus the number of the signal that ended it.
    ranks
        The ranks that wrote a file, in order.
    records
        Records of all ranks, as the trace's reader counts them; 0 if it cannot be read.
    size_bytes
        Size of their files.
    state
        State of the trace (`spec/trace.md`, T-5); None if it cannot be read.
    remarks
        What the trace lacks, or why there is none, in sentences.
    """

    directory: Path
    exit_status: int
    ranks: tuple[RankFile, ...]
    records: int
    size_bytes: int
    state: TraceState | None
    remarks: tuple[str, ...]

    @property
    def world(self) -> int:
        """Ranks that should have written a file."""
        return max((rank.world for rank in self.ranks), default=0)

    @property
    def missing(self) -> list[int]:
        """Ranks without a file."""
        return sorted(set(range(self.world)) - {rank.rank for rank in self.ranks})


def library() -> Path:
    """Find the recorder's library.

    Raises
    ------
    MatchbenchError
        When the recorder is not built.
    """
    place = shipped.ROOT / _LIBRARY
    if not place.is_file():
        hint = "install matchbench again" if shipped.IS_INSTALLED else "build it with `make -C recorder`"
        msg = f"{place}: found no such file; expected the recorder's library; {hint}"
        raise MatchbenchError(msg)
    return place


@checked(command=sequence(TEXT, "words"), directory=PATH)
def record(command: Sequence[str], directory: str | os.PathLike[str]) -> Recording:
    """Run `command` with the recorder in every rank.

    Parameters
    ----------
    command
        Launcher, its arguments, program, its arguments.
    directory
        Directory of the trace, which must not exist or be empty; all ranks must share it.

    Raises
    ------
    MatchbenchError
        When the directory is in use, the recorder is not built, or the command is not found.
    """
    directory = Path(directory)
    preload = library()
    if shutil.which(command[0]) is None:
        hint = "check the name, and that an MPI is installed"
        msg = f"{command[0]}: found no such program, expected a launcher such as mpirun; {hint}"
        raise MatchbenchError(msg)
    check_unused(directory)
    directory = directory.absolute()
    run_id = secrets.token_hex(8)
    former = os.environ.get(PRELOAD, "")
    variables = {
        PRELOAD: str(preload),
        "MATCHBENCH_RECORD_DIR": str(directory),
        "MATCHBENCH_RECORD_RUN_ID": run_id,
    }
    flavour = launcher_flavour(command[0])
    words = launch_command(command, variables, flavour, former)
    inherited = {**os.environ, **variables, PRELOAD: joined(former, str(preload))}
    environment = inherited if flavour == "other" else None
    if flavour == "other":
        tables.remark(
            f"unknown launcher `{command[0]}`; expected one that passes LD_PRELOAD, "
            "MATCHBENCH_RECORD_DIR and MATCHBENCH_RECORD_RUN_ID from its environment to the ranks"
        )
    made = make_directory(directory)
    write_meta(directory, run_id, command, [socket.gethostname()])
    write_file(directory / _NOTES, "")
    status = _run(words, environment, directory)
    (directory / "meta.json.tmp").unlink(missing_ok=True)
    notes = Counter(read_bytes(directory / _NOTES, "what the recorder left"))
    (directory / _NOTES).unlink()
    reason = _taken(directory / _REASON)
    files = sorted(directory.glob("rank-*.mbt"))
    if not files:
        (directory / "meta.json").unlink(missing_ok=True)
        remove_empty(made)
        return Recording(
            directory=directory,
            exit_status=status,
            ranks=(),
            records=0,
            size_bytes=0,
            state=None,
            remarks=tuple(reason or _why_nothing(command, flavour, status, notes)),
        )
    recording = look(directory, files, status, notes)
    return replace(recording, remarks=(*recording.remarks, *reason))


def _taken(path: Path) -> list[str]:
    """Read why an MPI library could not be recorded, and remove the file."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    path.unlink()
    return [f"not recorded: {text}"]


def check_unused(directory: Path) -> None:
    """Check that a trace can be written into `directory`.

    Raises
    ------
    MatchbenchError
        When it exists and is not an empty directory.
    """
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        what = "a trace" if (directory / "meta.json").exists() else "other files"
        msg = f"{directory}: found {what}, expected an empty directory; choose another"
        raise MatchbenchError(msg)


def write_meta(
    directory: Path, run_id: str, command: Sequence[str], hosts: Sequence[str], **more: object
) -> None:
    """Write what is known of a trace before its ranks start (`spec/trace.md`, section 2).

    Parameters
    ----------
    directory
        Directory of the trace.
    run_id
        16 hexadecimal digits.
    command
        The words that start the program.
    hosts
        Names of the hosts.
    more
        Further keys.
    """
    now = dt.datetime.now(dt.UTC)
    meta = {
        "format": "matchbench-trace",
        "version": 1,
        "run_id": run_id,
        "origin": "recorded",
        "command": list(command),
        "date": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "hosts": list(hosts),
        **more,
    }
    write_file(directory / "meta.json", json.dumps(meta, indent=1) + "\n")


def _run(words: Sequence[str], environment: Mapping[str, str] | None, directory: Path) -> int:
    """Run the command, forward SIGINT and SIGTERM, and return the exit status as a shell reports it.

    Waits for the ranks too: a launcher that was interrupted may end before them.
    """
    process: subprocess.Popen[bytes] | None = None
    early: list[int] = []

    def pass_on(number: int, _frame: FrameType | None) -> None:
        # The terminal sends Ctrl-C to the launcher too; a second one would make it abandon its ranks.
        typed = number == signal.SIGINT and sys.stdin is not None and sys.stdin.isatty()
        if process is None:
            early.append(number)
        elif not typed:
            process.send_signal(number)

    former = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        process = subprocess.Popen(words, env=environment)
        for number in early:  # the launcher may run before Popen returns
            process.send_signal(number)
        status = process.wait()
        _wait_for_ranks(directory)
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
    return status if status >= 0 else 128 - status


def _wait_for_ranks(directory: Path) -> None:
    until = time.monotonic() + WAIT_SECONDS
    while any(map(_still_runs, directory.glob("rank-*.mbt"))) and time.monotonic() < until:
        time.sleep(0.02)


def _still_runs(path: Path) -> bool:
    """Whether a process has the lock that a rank holds on its file until it ends."""
    with path.open("rb") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # a file system without locks
            return False
    return False


def look(directory: Path, files: Sequence[Path], exit_status: int, notes: Counter[int]) -> Recording:
    """Read a trace as every other command does, so that their numbers and words agree.

    Parameters
    ----------
    directory
        Directory of the trace.
    files
        The files of its ranks.
    exit_status
        That of the program.
    notes
        The letters that the recorder left (`recorder/docs/recorder.md`).
    """
    ranks = tuple(sorted(filter(None, map(_read_rank, files)), key=lambda rank: rank.rank))
    recording = Recording(
        directory=directory,
        exit_status=exit_status,
        ranks=ranks,
        records=0,
        size_bytes=sum(file.stat().st_size for file in files),
        state=None,
        remarks=tuple(_refused(notes)),
    )
    if recording.missing:
        named = ", ".join(map(str, recording.missing[:8])) + (
            " and more" if len(recording.missing) > 8 else ""
        )
        text = f"no file of rank {named}: the trace cannot be used"
        return replace(recording, remarks=(*recording.remarks, text))
    try:
        trace = _native.Trace(directory)
    except MatchbenchError as error:
        return replace(recording, remarks=(*recording.remarks, f"the trace cannot be used: {error}"))
    said = [
        *shortfalls.rank_lines(trace),
        *(f"rank {rank.rank} still runs" for rank in ranks if rank.still_runs),
        *filter(None, [shortfalls.sharing_line(trace, shortfalls.IN_STATS)]),
        *shortfalls.left_out_lines(trace),
        *recording.remarks,
    ]
    return replace(recording, records=trace.records, state=trace.state, remarks=tuple(said))


def _read_rank(path: Path) -> RankFile | None:
    """Read a rank's header."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEADER.size)
    except OSError as error:
        msg = f"{path}: {error.strerror}; the program has ended, and its trace is there"
        raise MatchbenchError(msg) from None
    if not head.strip(b"\0"):  # it ended before it wrote a header
        return RankFile(rank=int(path.stem.removeprefix("rank-")), world=0, still_runs=_still_runs(path))
    if len(head) < _HEADER.size or not head.startswith(_MAGIC):
        return None
    _, _, _, _, rank, _, world, *_ = _HEADER.unpack(head)
    return RankFile(rank=rank, world=world, still_runs=_still_runs(path))


def _refused(notes: Counter[int]) -> Iterator[str]:
    if refused := notes[_REFUSED]:
        yield (
            f"not recorded: {refused} more processes, whose ranks have a file already; expected one program "
            "in a launch, and the launcher of its own MPI library"
        )


def _why_nothing(command: Sequence[str], flavour: str, status: int, notes: Counter[int]) -> Iterator[str]:
    """Tell a launcher that failed from a program that cannot be preloaded, and from one without MPI."""
    words = command if flavour == "other" else command[1:]
    programs = [(word, found) for word in words if (found := shutil.which(word))]
    linkages = [(word, linked) for word, found in programs if (linked := elf.linkage(Path(found)))]
    static = next((word for word, linked in linkages if linked.is_static), None)
    inside = next((word for word, linked in linkages if linked.has_mpi), None)
    name = programs[0][0] if programs else "the program"
    nothing = "no MPI rank was recorded"
    relink = f"link it with libmatchbench-record.a ({_PAGE}, section `Statically linked programs`)"
    if not notes[_LOADED] and status != 0 and flavour != "other":
        yield (
            f"{nothing}: `{command[0]}` ended with exit status {status} before any process loaded the "
            "recorder: the launcher failed, and its own message says why"
        )
        if not programs:
            yield f"no word after `{command[0]}` is an executable file; expected a program"
        if static:
            yield f"`{static}` is statically linked, so that nothing can be preloaded: {relink}"
    elif static and not notes[_LOADED]:
        yield f"{nothing}: `{static}` is statically linked, so that nothing can be preloaded; {relink}"
    elif inside and not notes[_PLACED]:
        yield f"{nothing}: `{inside}` contains a static MPI library, which cannot be intercepted; {relink}"
    elif not notes[_LOADED]:
        yield (
            f"{nothing}: no process loaded the recorder; expected a launcher that passes LD_PRELOAD, "
            "MATCHBENCH_RECORD_DIR and MATCHBENCH_RECORD_RUN_ID to the ranks"
        )
    elif notes[_SPAWNED]:
        yield f"{nothing}: all processes that called MPI_Init were started by MPI_Comm_spawn"
    elif notes[_PLACED]:
        how = f"ended with exit status {status} before" if status != 0 else "ran without"
        yield (
            f"{nothing}: `{name}` loaded an MPI library and {how} a successful MPI_Init or MPI_Session_init; "
            "expected one of them, of an MPI that the recorder supports"
        )
    elif status != 0:
        yield (
            f"{nothing}: `{name}` ended with exit status {status} before it loaded an MPI library, "
            "or does not use MPI"
        )
    else:
        yield (
            f"{nothing}: `{name}` loaded no MPI library; "
            "expected an MPI program that leaves LD_PRELOAD as it is"
        )
