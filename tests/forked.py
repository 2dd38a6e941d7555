# SPDX-License-Identifier: Apache-2.0 OR MIT
"""The command `matchbench`, forked from a process that has imported the package.

Importing polars and similar packages takes longer than most commands under test. With MATCHBENCH_FORKED, as
`make test` sets it, pytest starts one server, which imports every module of the package and then forks for
each command of any of its processes. The fork has the standard streams, directory, arguments, environment and
signals of its client (`forked.c`) and runs `matchbench.__main__.main`.
A command is a separate process without this variable (pytest alone, and `make nightly`), with other variables
of the interpreter, and on pages whose commands are started as a user starts them.

Shared by forks: the seed of hashes, modules that a command forgot to import, and within a session what
`tests/shared.py` keeps: measurements of papers, and the C runner of `mpi conform`.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import io
import os
import pkgutil
import selectors
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

from tests import shared

ROOT = Path(__file__).resolve().parent.parent
SWITCH = shared.OF_MAKE_TEST
_CLIENT = Path(__file__).with_suffix(".c")
# Names the process of pytest that a command belongs to; it is not set without several.
_WORKER = "PYTEST_XDIST_WORKER"
_STREAMS = 3
_NUMBER = struct.Struct("i")
# Threads that a fork can do without: jemalloc starts its own again; in no test polars spills data to files.
_SPARED = {"jemalloc_bg_thd", "polars-ooc-clea"}
_REAL = (sys.executable, "-m", "matchbench")


def command(*, as_a_user: bool = False) -> tuple[str, ...]:
    """Return the words that start `matchbench`.

    Parameters
    ----------
    as_a_user
        Start a separate process in any case.
    """
    return _REAL if as_a_user or shared.SERVER not in os.environ else (str(_folder() / "matchbench"),)


def folder() -> Path | None:
    """Return a folder for PATH with the command `matchbench`; None for that of the environment."""
    return _folder() if shared.SERVER in os.environ else None


def processor_seconds() -> float:
    """Return the processor time of the forks that have ended, of commands of this process."""
    if shared.SERVER not in os.environ:
        return 0.0
    with suppress(FileNotFoundError):
        return float(_seconds(os.environ.get(_WORKER, "")).read_text())
    return 0.0


def _folder() -> Path:
    return Path(os.environ[shared.SERVER])


def _seconds(worker: str) -> Path:
    return _folder() / f"seconds-{worker}"


def begin() -> None:
    """Start the server in the process that starts the others; it ends with that process.

    Without MATCHBENCH_FORKED, or if there is a server, as in a pytest that a test starts, this does nothing.
    """
    if SWITCH not in os.environ or shared.SERVER in os.environ:
        return
    folder = Path(tempfile.mkdtemp(prefix="matchbench-forked-"))
    os.environ[shared.SERVER] = str(folder)
    place, client = folder / "socket", folder / "matchbench"
    options = ["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", f'-DSOCKET="{place}"']
    subprocess.run([shutil.which("cc") or "cc", *options, "-o", client, _CLIENT], check=True)
    # It ends when this process does, however that ends: then the other end of the pipe is closed.
    end, held = os.pipe()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(place))
        listening.listen(64)
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.forked", str(listening.fileno()), str(end), str(folder)],
            cwd=ROOT,
            # Threads do not survive a fork.
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.DEVNULL,
            pass_fds=[listening.fileno(), end],
        )
    os.close(end)

    def stop() -> None:
        os.close(held)
        process.wait()

    atexit.register(stop)


@dataclass(frozen=True, slots=True)
class Request:
    """What a client sends: descriptors of its streams, its directory, arguments and environment."""

    streams: tuple[int, ...]
    directory: bytes
    words: list[str]
    environment: dict[bytes, bytes]


def _receive(client: socket.socket) -> Request:
    head, streams, _, _ = socket.recv_fds(client, _NUMBER.size, _STREAMS)
    (left,) = _NUMBER.unpack(head)
    parts = []
    while left:
        part = client.recv(left)
        if not part:
            msg = "the client ended"
            raise ConnectionError(msg)
        parts.append(part)
        left -= len(part)
    directory, count, *words = b"".join(parts).split(b"\0")[:-1]
    pairs = (word.partition(b"=") for word in words[int(count) :])
    return Request(
        streams=tuple(streams),
        directory=directory,
        words=[os.fsdecode(word) for word in words[: int(count)]],
        environment={name: value for name, _, value in pairs},
    )


def _import_everything() -> None:
    """Import the modules of the package, and with them what they use."""
    package = importlib.import_module("matchbench")
    for module in pkgutil.walk_packages(package.__path__, "matchbench."):
        # The cluster's part needs packages that may be missing.
        with suppress(ModuleNotFoundError):
            importlib.import_module(module.name)


def _serve(listening: socket.socket, end: int) -> Request | None:
    """Fork for each client; return the request in the fork, None when the other side of `end` is closed."""
    clients: dict[int, tuple[socket.socket, int, str]] = {}
    seconds: defaultdict[str, float] = defaultdict(float)
    with selectors.DefaultSelector() as selector:
        selector.register(listening, selectors.EVENT_READ)
        selector.register(end, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj == end:
                    return None
                if key.fileobj is listening:
                    client, _ = listening.accept()
                    try:
                        request = _receive(client)
                    except ConnectionError:
                        client.close()
                        continue
                    process = os.fork()
                    if process == 0:
                        for other, watched, _ in clients.values():
                            other.close()
                            os.close(watched)
                        client.close()
                        listening.close()
                        os.close(end)
                        return request
                    for stream in request.streams:
                        os.close(stream)
                    ended = os.pidfd_open(process)
                    worker = os.fsdecode(request.environment.get(os.fsencode(_WORKER), b""))
                    clients[process] = client, ended, worker
                    client.send(_NUMBER.pack(process))
                    selector.register(ended, selectors.EVENT_READ, process)
                    selector.register(client, selectors.EVENT_READ, process)
                    continue
                process = key.data
                client, ended, worker = clients[process]
                if key.fileobj is client:
                    # A client that is killed takes its command with it.
                    selector.unregister(client)
                    os.kill(process, signal.SIGKILL)
                    continue
                _, status, used = os.wait4(process, 0)
                seconds[worker] += used.ru_utime + used.ru_stime
                # Before the client ends: then the test reads it.
                _seconds(worker).with_suffix(".part").write_text(str(seconds[worker]))
                _seconds(worker).with_suffix(".part").replace(_seconds(worker))
                selector.unregister(ended)
                os.close(ended)
                if client in {each.fileobj for each in selector.get_map().values()}:
                    selector.unregister(client)
                with suppress(OSError):
                    client.send(_NUMBER.pack(status))
                client.close()
                del clients[process]


def _become(request: Request) -> None:
    """Take the directory, arguments, environment and streams that a separate process would have."""
    for target, stream in enumerate(request.streams):
        os.dup2(stream, target)
        os.close(stream)
    os.chdir(request.directory)
    os.environb.clear()
    os.environb.update(request.environment)
    sys.argv = ["matchbench", *request.words]
    sys.path[0] = os.fsdecode(request.directory)
    sys.modules["__main__"] = importlib.import_module("matchbench.__main__")
    module = importlib.import_module("matchbench.reproduce.run")
    vars(module)["reproduce"] = partial(shared.reproduction, vars(module)["reproduce"])
    shared.build_runners_once()
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = _written(1, "strict")
    sys.stderr = _written(2, "backslashreplace")


def _written(descriptor: int, errors: str) -> io.TextIOWrapper:
    """Open a standard stream as the interpreter does."""
    raw = io.FileIO(descriptor, "w", closefd=False)
    by_line = raw.isatty() or errors != "strict"
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8", errors=errors, line_buffering=by_line)


def _main() -> None:
    listening = socket.socket(fileno=int(sys.argv[1]))
    _import_everything()
    main = Path("/proc/self/comm").read_text().strip()
    threads = [(each / "comm").read_text().strip() for each in Path("/proc/self/task").iterdir()]
    threads.remove(main)
    if others := set(threads) - _SPARED:
        msg = f"tests/forked.py: a fork would lack these threads of the imports: {', '.join(sorted(others))}"
        raise RuntimeError(msg)
    gc.freeze()
    request = _serve(listening, int(sys.argv[2]))
    if request is None:
        shutil.rmtree(sys.argv[3])
        return
    _become(request)
    from matchbench.__main__ import main as run

    _end(run())


def _end(status: int) -> NoReturn:
    """End the fork without finalizing the interpreter, which would copy most of the server's memory."""
    threading._shutdown()  # type: ignore[attr-defined] # waits for threads, as the interpreter does
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        # The interpreter has a separate status for it.
        sys.exit(status)
    os._exit(status)


if __name__ == "__main__":
    _main()
