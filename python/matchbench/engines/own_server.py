# SPDX-License-Identifier: Apache-2.0 OR MIT
"""What runs in the process of `own_process`: the code of a user, whose output goes to standard error."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from matchbench._native import Engine, MatchbenchError, Network, Trace, describe_library
from matchbench.engines import own_process, python_engine

_BETWEEN_S = 0.1  # between two lines of progress


def _describe(path: str) -> tuple[str, str, int | None]:
    """Return description, SHA-256 and version of the interface of the engine in a file."""
    if Path(path).suffix != ".py":
        return describe_library(path)
    _, sha256, description = python_engine.origin(python_engine.load(path))
    return description, sha256, None


def _answer(request: Mapping[str, Any], say: Callable[..., None]) -> Any:
    """Do what a request asks for."""
    work = request["work"]
    if work in {"describe", "place"}:
        path = request["path"]
        description, sha256, interface = _describe(path)
        if sha256 != request["sha256"]:
            msg = f"{path}: the file changed while it was read; start again"
            raise MatchbenchError(msg)
        if work == "describe":
            return {"description": description, "interface": interface}
        return Engine(path, **request["values"]).placement
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


def _do(line: bytes, answers: int) -> None:
    """Do a request and say the result, in a process that ends after it."""

    def say(**what: Any) -> None:
        rest = json.dumps(what).encode() + b"\n"
        while rest:
            rest = rest[os.write(answers, rest) :]

    request = json.loads(line)
    try:
        os.chdir(request["folder"])
        say(result=_answer(request, say))
    except MatchbenchError as error:
        say(error=str(error))
    except BaseException as error:
        text = " ".join(str(error).split())
        place = request.get("path") or (request.get("origin") or {}).get("path")
        say(error=f"{place}: raised {type(error).__name__}{f': {text}' if text else ''}")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _serve(requests: int, answers: int) -> None:
    """Do each request in a copy of this process, until there are no more: then our parent has ended."""
    rest = b""
    while True:
        while b"\n" not in rest:
            if not (part := os.read(requests, 1 << 16)):
                return
            rest += part
        line, _, rest = rest.partition(b"\n")
        end, held = os.pipe()  # closed by the end of the copy
        copy = os.fork()
        if copy == 0:
            os.close(requests)
            os.close(end)
            _do(line, answers)
        os.close(held)
        # The next request comes after the end of this one.
        has_no_parent = requests in select.select([end, requests], [], [])[0]
        if has_no_parent:
            os.kill(copy, signal.SIGKILL)
        os.close(end)
        _, status = os.waitpid(copy, 0)
        if has_no_parent:
            return
        os.write(answers, json.dumps({"ended": os.waitstatus_to_exitcode(status)}).encode() + b"\n")


def _limit_memory() -> None:
    """Limit the memory to half of that of the machine; files that are mapped do not count."""
    half = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    limit = half if most == resource.RLIM_INFINITY else min(half, most)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, most))


if __name__ == "__main__":
    sys.dont_write_bytecode = True  # nothing appears beside the user's file
    _limit_memory()
    own_process.runs_code = True
    # What the user's code prints goes to standard error, and it reads nothing.
    _requests, _answers = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    _serve(_requests, _answers)
