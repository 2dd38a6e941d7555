# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Starts an MPI program with the recorder in every rank, and reports what was recorded.

`recorder/README.md` specifies the environment that the ranks need. The ranks write the trace themselves, so
that it stays readable after a crash.
"""

import datetime as dt
import json
import mmap
import os
import secrets
import shutil
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from matchbench._native import MatchbenchError

VERSION_SECONDS = 10
"""Time limit for a launcher to print its version."""

_LIBRARY = "libmbrecord.so"
_HEADER = struct.Struct("<8sHHIIIIIQQQQ")  # spec/trace.md, section 3
_MAGIC = b"MBTRACE\x01"
_FINALIZED, _STOPPED = 1, 2


@dataclass(frozen=True, slots=True, kw_only=True)
class RankFile:
    """The file of one rank.

    Parameters
    ----------
    rank
        World rank.
    world
        Ranks in the world, by this rank's header.
    records
        Records written.
    finalized
        Whether it reached `MPI_Finalize`.
    stopped
        Whether its recorder stopped early, as with a full disk.
    """

    rank: int
    world: int
    records: int
    finalized: bool
    stopped: bool


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
    size_bytes
        Size of their files.
    """

    directory: Path
    exit_status: int
    ranks: tuple[RankFile, ...]
    size_bytes: int

    @property
    def world(self) -> int:
        """Ranks that should have written a file."""
        return max((rank.world for rank in self.ranks), default=0)

    @property
    def missing(self) -> list[int]:
        """Ranks without a file."""
        return sorted(set(range(self.world)) - {rank.rank for rank in self.ranks})

    @property
    def complete(self) -> bool:
        """Whether every rank wrote a file and no recorder stopped early; a killed rank counts as complete."""
        return bool(self.ranks) and not self.missing and not any(rank.stopped for rank in self.ranks)


def library() -> Path:
    """Find the recorder's library in the installed package or in the source tree.

    Raises
    ------
    MatchbenchError
        When the recorder is not built.
    """
    package = Path(__file__).resolve().parent
    places = [package / "_recorder" / _LIBRARY, package.parents[1] / "recorder" / "build" / _LIBRARY]
    for place in places:
        if place.is_file():
            return place
    msg = f"{places[-1]}: no such file; build the recorder with `make -C recorder` in the source tree"
    raise MatchbenchError(msg)


def launch_command(command: Sequence[str], variables: Mapping[str, str], flavour: str) -> list[str]:
    """Return the command with `variables` in the environment of every rank.

    Parameters
    ----------
    command
        Launcher, its arguments, program, its arguments.
    variables
        Names and values for the environment of every rank.
    flavour
        Result of :func:`launcher_flavour`.

    Raises
    ------
    MatchbenchError
        When a value has a comma, which separates variables for srun.
    """
    launcher, *rest = command
    if flavour == "openmpi":
        words = [word for name, value in variables.items() for word in ("-x", f"{name}={value}")]
        return [launcher, *words, *rest]
    if flavour == "hydra":
        words = [word for name, value in variables.items() for word in ("-genv", name, value)]
        return [launcher, *words, *rest]
    if flavour == "slurm":
        for name, value in variables.items():
            if "," in value:
                msg = (
                    f"srun: found a comma in {name}={value}, which srun cannot pass; use a path without comma"
                )
                raise MatchbenchError(msg)
        ours = ",".join(f"{name}={value}" for name, value in variables.items())
        for at, word in enumerate(rest):
            if word == "--export" and at + 1 < len(rest):
                return [launcher, *rest[:at], _slurm_export(rest[at + 1], ours), *rest[at + 2 :]]
            if word.startswith("--export="):
                return [launcher, *rest[:at], _slurm_export(word.partition("=")[2], ours), *rest[at + 1 :]]
            if not word.startswith("-") and shutil.which(word):
                break  # the program; the following words are its arguments
        return [launcher, f"--export=ALL,{ours}", *rest]
    return list(command)


def _slurm_export(theirs: str, ours: str) -> str:
    return f"--export={ours}" if theirs in ("NONE", "NIL", "") else f"--export={theirs},{ours}"


def launcher_flavour(launcher: str) -> str:
    """Classify a launcher: `openmpi`, `hydra` (MPICH, Intel MPI, MVAPICH), `slurm` or `other`.

    Parameters
    ----------
    launcher
        The first word of the command.
    """
    name = Path(launcher).name
    if name == "srun":
        return "slurm"
    if not name.startswith(("mpirun", "mpiexec", "orterun", "prterun")):
        return "other"
    try:
        asked = subprocess.run(
            [launcher, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=VERSION_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "other"
    head = "\n".join((asked.stdout + asked.stderr).decode(errors="replace").splitlines()[:2])
    if any(word in head for word in ("Open MPI", "OpenRTE", "PRRTE")):
        return "openmpi"
    if any(word in head for word in ("HYDRA", "Intel(R) MPI")):
        return "hydra"
    return "other"


def record(command: Sequence[str], directory: Path) -> Recording:
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
    preload = library()
    if shutil.which(command[0]) is None:
        msg = f"{command[0]}: no such program"
        raise MatchbenchError(msg)
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        what = "holds a trace" if (directory / "meta.json").exists() else "is not an empty directory"
        msg = f"{directory}: {what}; choose another directory"
        raise MatchbenchError(msg)
    directory = directory.absolute()
    run_id = secrets.token_hex(8)
    former = os.environ.get("LD_PRELOAD")
    variables = {
        "LD_PRELOAD": f"{preload}:{former}" if former else str(preload),
        "MATCHBENCH_RECORD_DIR": str(directory),
        "MATCHBENCH_RECORD_RUN_ID": run_id,
    }
    flavour = launcher_flavour(command[0])
    words = launch_command(command, variables, flavour)
    environment = {**os.environ, **variables} if flavour == "other" else None
    if flavour == "other":
        sys.stderr.write(
            f"matchbench: `{command[0]}`: unknown launcher; expected one that passes LD_PRELOAD, "
            "MATCHBENCH_RECORD_DIR and MATCHBENCH_RECORD_RUN_ID from its environment to the ranks\n"
        )
    directory.mkdir(parents=True, exist_ok=True)
    _write_meta(directory / "meta.json", run_id, command)
    status = _run(words, environment)
    (directory / "meta.json.tmp").unlink(missing_ok=True)
    recording = _look(directory, status)
    if not recording.ranks:
        (directory / "meta.json").unlink(missing_ok=True)
        directory.rmdir()
    return recording


def _write_meta(path: Path, run_id: str, command: Sequence[str]) -> None:
    now = dt.datetime.now(dt.UTC)
    meta = {
        "format": "matchbench-trace",
        "version": 1,
        "run_id": run_id,
        "origin": "recorded",
        "command": list(command),
        "date": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "hosts": [socket.gethostname()],
    }
    path.write_text(json.dumps(meta, indent=1) + "\n", encoding="utf-8")


def _run(words: Sequence[str], environment: Mapping[str, str] | None) -> int:
    """Run the command, forward SIGINT and SIGTERM, and return the exit status as a shell reports it."""
    process: subprocess.Popen[bytes] | None = None

    def pass_on(number: int, _frame: FrameType | None) -> None:
        # The terminal sends Ctrl-C to the launcher too; a second one would make it abandon its ranks.
        typed = number == signal.SIGINT and sys.stdin is not None and sys.stdin.isatty()
        if process is not None and not typed:
            process.send_signal(number)

    former = {number: signal.signal(number, pass_on) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        process = subprocess.Popen(words, env=environment)
        status = process.wait()
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
    return status if status >= 0 else 128 - status


def _look(directory: Path, exit_status: int) -> Recording:
    files = sorted(directory.glob("rank-*.mbt"))
    ranks = [rank for rank in map(_read_rank, files) if rank is not None]
    return Recording(
        directory=directory,
        exit_status=exit_status,
        ranks=tuple(sorted(ranks, key=lambda rank: rank.rank)),
        size_bytes=sum(file.stat().st_size for file in files),
    )


def _read_rank(path: Path) -> RankFile | None:
    """Read a rank's header; count the records if the rank did not finish."""
    with path.open("rb") as file:
        head = file.read(_HEADER.size)
        if len(head) < _HEADER.size or not head.startswith(_MAGIC):
            return None
        _, _, _, flags, rank, _, world, _, records, *_ = _HEADER.unpack(head)
        if not flags & _FINALIZED:
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                kinds = content[_HEADER.size :: _HEADER.size]
            unwritten = kinds.find(0)
            records = len(kinds) if unwritten < 0 else unwritten
    return RankFile(
        rank=rank,
        world=world,
        records=records,
        finalized=bool(flags & _FINALIZED),
        stopped=bool(flags & _STOPPED),
    )
