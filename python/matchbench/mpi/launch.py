# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Finds the user's MPI, builds a C program with it, and runs it with the launcher and a time limit."""

import contextlib
import os
import selectors
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import IO

from matchbench._native import MatchbenchError
from matchbench.input import read_text
from matchbench.record.launchers import launcher_flavour

COMPILE_SECONDS = 120
"""Time limit of the compiler."""

GRACE_SECONDS = 5.0
"""Time for a launcher to end its ranks."""

_SLICES = 8  # parts of a time limit, each of which may expire once
_LAST_LINES = 12  # lines of a failed program's output that are kept
_ROOT_HINT = "to run Open MPI as root, set OMPI_ALLOW_RUN_AS_ROOT=1 and OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a run ended.

    Parameters
    ----------
    status
        The launcher's exit status, as a shell gives it.
    stalled
        Whether it was ended by the time limit.
    said
        The last lines outside of the protocol, standard error included.
    """

    status: int
    stalled: bool
    said: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mpi:
    """One MPI: its compiler and its launcher.

    Parameters
    ----------
    compiler
        Path of `mpicc`.
    launcher
        Words of the launcher. `{ranks}` and `{program}` stand for the number of ranks and the program with
        its arguments; without them `-n RANKS PROGRAM...` follows the words.
    flavour
        Result of `matchbench.launchers.launcher_flavour`.
    variables
        Variables added to the environment of the launcher.
    """

    compiler: str
    launcher: tuple[str, ...]
    flavour: str
    variables: tuple[tuple[str, str], ...] = ()

    def command(self, ranks: int, program: Sequence[str | Path]) -> list[str]:
        """Give the command that starts `program` on `ranks` ranks."""
        words = list(self.launcher)
        if not any("{program}" in word for word in words):
            if not any("{ranks}" in word for word in words):
                words += ["-n", "{ranks}"]
            words.append("{program}")
        command: list[str] = []
        for word in words:
            if word == "{program}":
                command += map(str, program)
            else:
                whole = shlex.join(map(str, program))
                command.append(word.replace("{ranks}", str(ranks)).replace("{program}", whole))
        return command

    def crowded(self) -> "Mpi":
        """Return the same MPI, allowed to start more ranks than there are processors."""
        words = self.launcher
        if self.flavour != "openmpi" or any("oversubscribe" in word.lower() for word in words):
            return self
        return replace(self, launcher=(words[0], "--oversubscribe", *words[1:]))

    def mismatch(self) -> str:
        """Explain why every rank was alone in its world."""
        return (
            f"every rank was alone in its world: `{self.launcher[0]}` is not the launcher of "
            f"`{self.compiler}`; name both, with --mpicc and after --"
        )

    def build(
        self,
        source: Path | Sequence[Path],
        program: Path,
        options: Sequence[str] = ("-O2",),
        libraries: Sequence[str] = (),
    ) -> None:
        """Compile a C program of one or more files; `libraries` follow the files.

        Raises
        ------
        MatchbenchError
            When the compiler fails; quotes its first lines.
        """
        sources = [source] if isinstance(source, Path) else source
        words = [self.compiler, *options, "-o", str(program), *map(str, sources), *libraries]
        try:
            done = subprocess.run(
                words,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=COMPILE_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            msg = (
                f"{self.compiler}: still running after {COMPILE_SECONDS} s, expected its end; "
                "run it by hand to see why"
            )
            raise MatchbenchError(msg) from error
        except OSError as error:
            msg = f"{self.compiler}: {error.strerror}"
            raise MatchbenchError(msg) from error
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            msg = f"{self.compiler}: cannot build {sources[0].name}: {' | '.join(said[:4]) or 'no output'}"
            raise MatchbenchError(msg)

    def run(
        self,
        ranks: int,
        program: Sequence[str | Path],
        *,
        mark: str,
        on_line: Callable[[str], None],
        stall_seconds: float,
        deadline: float = float("inf"),
        grace_seconds: float = GRACE_SECONDS,
    ) -> Ended:
        """Run a program and pass on its marked lines as they arrive.

        The launcher has its own session, so that its ranks end with an interrupted or stalled run.

        Parameters
        ----------
        ranks, program
            As of `command`.
        mark
            Marker of protocol lines; a launcher may print text before it.
        on_line
            Called with each line after its marker.
        stall_seconds
            A run without a marked line for this time is ended.
        deadline
            Value of `time.monotonic` at which the run is ended, whatever it does.
        grace_seconds
            Time for the launcher to end its ranks.

        Raises
        ------
        MatchbenchError
            When the launcher cannot be started.
        """
        words = self.command(ranks, program)
        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                env={**os.environ, **dict(self.variables)},
            )
        except OSError as error:
            msg = f"{words[0]}: {error.strerror}"
            raise MatchbenchError(msg) from error
        said: list[str] = []

        def take(line: str) -> bool:
            _, found, rest = line.partition(mark)
            if found:
                on_line(rest)
            elif line.strip(" -=*"):
                said.append(line.rstrip())
                del said[:-_LAST_LINES]
            return bool(found)

        try:
            with _terminable():
                stalled = not _follow(process, take, stall_seconds, deadline)
                if not stalled:
                    left = max(1.0, deadline - time.monotonic())
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(timeout=min(stall_seconds, left))
        finally:
            end(process, grace_seconds)
        status = process.returncode
        return Ended(status=status if status >= 0 else 128 - status, stalled=stalled, said=tuple(said))


@contextlib.contextmanager
def _terminable() -> Iterator[None]:
    """Let SIGTERM interrupt like Ctrl-C, so that no ranks are left running."""
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    former = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, former)


def end(process: subprocess.Popen[bytes], grace_seconds: float = GRACE_SECONDS) -> None:
    """End a launcher and its ranks: with SIGTERM, which reaches ranks on other hosts, then with SIGKILL."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=grace_seconds)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _follow(
    process: subprocess.Popen[bytes], take: Callable[[str], bool], stall_seconds: float, deadline: float
) -> bool:
    """Pass on lines until both streams end; return false after `stall_seconds` without a marked line.

    The same at the deadline.

    The time is counted in slices, so that time in which this process was stopped counts as one of them: the
    launcher and the ranks were probably stopped too.
    """
    streams: list[IO[bytes]] = [stream for stream in (process.stdout, process.stderr) if stream]
    rest = {stream.fileno(): b"" for stream in streams}
    with selectors.DefaultSelector() as selector:
        for stream in streams:
            selector.register(stream, selectors.EVENT_READ)
        slice_seconds = stall_seconds / _SLICES
        slices_left, slice_ends = _SLICES, time.monotonic() + slice_seconds
        while selector.get_map():
            if time.monotonic() >= deadline:
                return False
            ready = selector.select(max(min(slice_ends, deadline) - time.monotonic(), 0))
            for key, _ in ready:
                chunk = os.read(key.fd, 1 << 16)
                *lines, rest[key.fd] = (rest[key.fd] + chunk).split(b"\n")
                if not chunk:
                    selector.unregister(key.fileobj)
                    lines.append(rest[key.fd])
                for line in lines:
                    if take(line.decode(errors="replace")):
                        slices_left, slice_ends = _SLICES, time.monotonic() + slice_seconds
            if time.monotonic() >= slice_ends:
                slices_left, slice_ends = slices_left - 1, time.monotonic() + slice_seconds
                if slices_left == 0:
                    return False
    return True


def find(compiler: str | None = None, launcher: Sequence[str] = (), hostfile: Path | None = None) -> Mpi:
    """Find compiler and launcher of one MPI.

    Parameters
    ----------
    compiler
        `mpicc`, by name or path; by default `$MPICC`, or what is on the path.
    launcher
        Words of the launcher; by default the one in the compiler's directory.
    hostfile
        A file of hosts, for launchers whose option for it is known.

    Raises
    ------
    MatchbenchError
        When one of them is missing.
    """
    named = compiler or os.environ.get("MPICC") or "mpicc"
    path = shutil.which(named)
    if path is None:
        msg = (
            f"{named}: found no such compiler, expected that of an MPI; "
            "name the mpicc of your MPI with --mpicc or $MPICC"
        )
        raise MatchbenchError(msg)
    words = list(launcher) or [_beside(path)]
    if shutil.which(words[0]) is None:
        msg = f"{words[0]}: found no such program, expected a launcher such as mpirun; name one after --"
        raise MatchbenchError(msg)
    flavour = launcher_flavour(words[0])
    if hostfile is not None:
        read_text(hostfile, "a list of hosts")
        option = {"openmpi": "--hostfile", "hydra": "-f"}.get(flavour)
        if option is None:
            msg = f"{words[0]}: no known option for a file of hosts; give the launcher's own option after --"
            raise MatchbenchError(msg)
        words[1:1] = [option, str(hostfile.absolute())]
    return Mpi(compiler=path, launcher=tuple(words), flavour=flavour)


def _beside(compiler: str) -> str:
    """Find the launcher of a compiler: in the same directory, with the same ending (`mpicc.mpich`)."""
    path = Path(compiler)
    ending = path.name.partition("mpicc")[2] if path.name.startswith("mpicc") else ""
    for name in (f"mpirun{ending}", f"mpiexec{ending}", "mpirun", "mpiexec"):
        if (path.parent / name).exists():
            return str(path.parent / name)
    return "mpirun"


def why(ended: Ended, flavour: str) -> str:
    """Explain in one line why a run failed: its last output, and a hint where one is known."""
    if ended.stalled:
        return "no output within the time limit"
    words = " | ".join(ended.said[-4:]) or "no output"
    hint = ""
    if flavour == "openmpi" and any("root" in line for line in ended.said):
        hint = f"; {_ROOT_HINT}"
    elif any("slots" in line for line in ended.said):
        hint = "; the launcher has fewer slots than ranks: give it --oversubscribe or more hosts"
    return f"exit status {ended.status}: {words}{hint}"
