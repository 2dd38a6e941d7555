# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What runs in the process of `own_process`: the code of a user, whose output goes to standard error."""

from __future__ import annotations

import json
import os
import queue
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

from matchbench._native import Engine, MatchbenchError, Network, Trace
from matchbench.engines import python_engine

_BETWEEN_S = 0.1  # between two lines of progress


def _answer(request: Mapping[str, Any], say: Callable[..., None]) -> Any:
    """Do what a request asks for."""
    work = request["work"]
    if work in {"describe", "make"}:
        found = python_engine.load(request["path"])
        path, sha256, description = python_engine.origin(found)
        if sha256 != request["sha256"]:
            msg = f"{path}: the file changed while it was read; start again"
            raise MatchbenchError(msg)
        if work == "describe":
            return {"name": found.__name__, "description": description}
        return python_engine.placement_of(found, request["values"])
    engine = Engine(request["spec"], **request["values"])
    if engine.origin != request["origin"]:
        msg = f"{request['spec']}: the file changed while it was checked; start again"
        raise MatchbenchError(msg)
    if work == "test":
        return engine.test(lambda text: say(next=text))
    if work == "check":
        engine.check(lambda text: say(next=text))
        return None
    told = 0.0

    def progress(done: int, total: int) -> None:
        nonlocal told
        if time.monotonic() - told > _BETWEEN_S:
            told = time.monotonic()
            say(progress=[done, total])

    name, values = request["network"]
    method = getattr(Trace(Path(request["trace"])), work)
    return method(engine, Network(name, **values), progress=progress, **request["options"])


def _serve(requests: IO[str], answers: IO[str]) -> None:
    """Answer requests until there are no more."""
    came: queue.SimpleQueue[str] = queue.SimpleQueue()

    def read() -> None:
        for line in requests:
            came.put(line)
        os._exit(0)  # our parent has ended, whatever the user's code does

    threading.Thread(target=read, daemon=True).start()

    def say(**what: Any) -> None:
        answers.write(json.dumps(what) + "\n")
        answers.flush()

    while True:
        request = json.loads(came.get())
        try:
            say(result=_answer(request, say))
        except MatchbenchError as error:
            say(error=str(error))
        except BaseException as error:
            text = " ".join(str(error).split())
            place = request.get("path") or (request.get("origin") or {}).get("path")
            say(error=f"{place}: raised {type(error).__name__}{f': {text}' if text else ''}")


def _limit_memory() -> None:
    """Limit the memory to half of that of the machine; files that are mapped do not count."""
    half = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    limit = half if most == resource.RLIM_INFINITY else min(half, most)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, most))


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    sys.dont_write_bytecode = True  # nothing appears beside the user's file
    _limit_memory()
    python_engine.executes_files = True
    # What the user's code prints goes to standard error, and it reads nothing.
    _requests = os.fdopen(os.dup(0), encoding="utf-8")
    _answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    _serve(_requests, _answers)
